/**
 * One process over a round's files.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { fencepostCommand, killAtOnce } from "../support/fencepost_process.ts";
import type { FileWorld } from "./file_world.ts";
import { spawnLogged } from "./spawn_logged.ts";

/** It has so long to reach the input's end, or to notice that it can't. */
const STUCK_MS = 120_000;
const LOOK_MS = 5;

/** How it is started. */
export interface FileProcessOptions {
  /** What becomes of what waits at the input's end; `hold` where not given. */
  readonly atEof?: "hold" | "flush";
  /** Where not that of the round. */
  readonly state?: string;
  readonly stdout?: "null" | "piped";
}

/** See the module's header. */
export class FileProcess {
  readonly child: Deno.ChildProcess;
  /** Whether it has ended. */
  hasEnded = false;

  readonly #world: FileWorld;
  readonly #log: string;
  readonly #writtenBefore: Promise<number>;
  readonly #status: Promise<Deno.CommandStatus>;

  /**
   * Starts one.
   *
   * @param log where its stderr goes: a file of its own
   */
  constructor(world: FileWorld, log: string, options: FileProcessOptions = {}) {
    const { files, configPath } = world;
    const { atEof = "hold", state = files.state, stdout = "null" } = options;
    const paths = ["--input", files.input, "--state", state, "--dead-letters", files.deadLetters];
    this.#world = world;
    this.#log = log;
    this.#writtenBefore = world.written();
    const command = fencepostCommand(["run", "--config", configPath, ...paths, "--at-eof", atEof]);
    this.child = spawnLogged(command, log, stdout);
    this.#status = this.child.status.finally(() => this.hasEnded = true);
  }

  /** Waits until it has written anything; false where it ended instead. */
  async hasWorked(): Promise<boolean> {
    const before = await this.#writtenBefore;
    while (!this.hasEnded && await this.#world.written() === before) await delay(LOOK_MS);
    return !this.hasEnded;
  }

  /** Sends a signal; false where it has ended. */
  signal(signal: Deno.Signal): boolean {
    if (this.hasEnded) return false;
    try {
      this.child.kill(signal);
      return true;
    } catch (error) {
      // "Child process has already terminated".
      if (!(error instanceof TypeError)) throw error;
      return false;
    }
  }

  /** SIGKILL; false where it had ended by itself. */
  async kill(): Promise<boolean> {
    killAtOnce(this.child);
    return (await this.#status).signal === "SIGKILL";
  }

  /**
   * Waits for its end.
   *
   * @returns what is wrong with that: null where it ended as `expected`, or with status 0
   */
  async fault(expected: "done" | "failure" | "killed"): Promise<string | null> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<null>((resolve) => timer = setTimeout(() => resolve(null), STUCK_MS));
    const status = await Promise.race([this.#status, late]);
    clearTimeout(timer);
    const said = await this.said();
    const last = `:\n…${said.slice(-1500)}`;
    if (status === null) {
      await this.kill();
      return `It did not end within ${STUCK_MS / 1000} s${last}`;
    }
    if (status.signal === "SIGKILL" && expected === "killed") return null;
    if (status.signal !== null) return `It ended by ${status.signal}${last}`;
    // What runs without a fault has a line for people, not a stack.
    if (/^\s+at .+:\d+/m.test(said)) return `It ended with a stack trace${last}`;
    if (status.code === 0 || (status.code === 1 && expected === "failure")) return null;
    return `It ended with status ${status.code}${last}`;
  }

  /** Its status, once it has ended; −1 for a signal. */
  async code(): Promise<number> {
    const { code, signal } = await this.#status;
    return signal === null ? code : -1;
  }

  /** What it has written to stderr. */
  async said(): Promise<string> {
    return await Deno.readTextFile(this.#log);
  }
}
