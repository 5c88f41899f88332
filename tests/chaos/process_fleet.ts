/**
 * Fencepost's processes of a round, and who watches over them: one that is killed is started again at once, and one that
 * ends without having been told to is a fault.
 *
 * What they say on stderr goes into a log each, which tells afterwards how often a partition was taken over.
 *
 * @module
 */
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fencepostCommand, killAtOnce } from "../support/fencepost_process.ts";
import { spawnLogged } from "./spawn_logged.ts";

/** What `deno task start` gives. */
const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];
/** A process has 10 s to obey SIGTERM. */
const TERM_MS_MAX = 15_000;
/** Of what a process that failed has said last. */
const SHOWN_CHARACTERS = 1_500;

/** One process, and its follower where it is killed. */
export interface Member {
  readonly name: string;
  child: Deno.ChildProcess;
  /** Whoever ends it says so first. */
  expected: boolean;
}

/** See the module's header. */
export class ProcessFleet {
  /** What ended unasked, or not as it should. */
  readonly faults: string[] = [];

  readonly #configPath: string;
  readonly #directory: string;
  readonly #members: Member[] = [];
  #started = 0;

  /** @param directory of the logs */
  constructor(configPath: string, directory: string) {
    this.#configPath = configPath;
    this.#directory = directory;
  }

  /** Those that run. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** One more. */
  start(): Member {
    const name = `process-${++this.#started}`;
    const member: Member = { name, child: this.#spawn(name), expected: false };
    this.#members.push(member);
    this.#watch(member);
    return member;
  }

  /** SIGKILL, and a new one in its place at once. */
  async kill(member: Member): Promise<void> {
    member.expected = true;
    const { child } = member;
    killAtOnce(child);
    await child.status;
    this.#restart(member);
  }

  /** SIGTERM: it should drain and end with status 0. */
  async terminate(member: Member): Promise<void> {
    member.expected = true;
    const { child, name } = member;
    child.kill("SIGTERM");
    const giveUp = new AbortController();
    const late = delay(TERM_MS_MAX, null, { signal: giveUp.signal }).catch(() => null);
    const status = await Promise.race([child.status, late]);
    giveUp.abort();
    this.#members.splice(this.#members.indexOf(member), 1);
    if (status === null) {
      killAtOnce(child);
      this.faults.push(`${name} did not end within ${TERM_MS_MAX / 1000} s of SIGTERM`);
    } else if (status.code !== 0 || status.signal !== null) {
      this.faults.push(
        `${name} ended with status ${status.code} (${status.signal ?? "no signal"}) at SIGTERM`,
      );
    }
  }

  /** SIGTERM to all at once. */
  async terminateAll(): Promise<void> {
    await Promise.all(this.#members.map((member) => this.terminate(member)));
  }

  /** Nothing of it runs any more. */
  async abandon(): Promise<void> {
    for (const member of this.#members) {
      member.expected = true;
      killAtOnce(member.child);
      await member.child.status;
    }
  }

  /** How often the logs have a text. */
  async countInLogs(text: string): Promise<number> {
    let count = 0;
    for await (const { name } of Deno.readDir(this.#directory)) {
      if (!name.endsWith(".log")) continue;
      count += (await Deno.readTextFile(join(this.#directory, name))).split(text).length - 1;
    }
    return count;
  }

  #spawn(name: string): Deno.ChildProcess {
    const command = fencepostCommand(["run", "--config", this.#configPath], PERMISSIONS);
    return spawnLogged(command, join(this.#directory, `${name}.log`));
  }

  #restart(member: Member): void {
    member.child = this.#spawn(member.name);
    member.expected = false;
    this.#watch(member);
  }

  #watch(member: Member): void {
    const { child, name } = member;
    void child.status.then(({ code, signal }) => {
      if (member.expected || member.child !== child) return;
      const said = Deno.readTextFileSync(join(this.#directory, `${name}.log`)).slice(-SHOWN_CHARACTERS);
      this.faults.push(`${name} ended by itself with status ${code} (${signal ?? "no signal"}):\n…${said}`);
      this.#restart(member);
    });
  }
}
