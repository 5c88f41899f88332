/**
 * `fencepost run` without its process: what it says to people and machines, and how it obeys a signal.
 *
 * @module
 */
import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { join } from "node:path";
import { DRAIN_US, printConfig, run, type RunEnvironment } from "../../../actors/commands/run.ts";
import { DEFAULT_CONFIG_JSON, parseConfig } from "../../../lib/config.ts";
import { SimulatedClock } from "../../sim/simulated_ports.ts";
import { inDirectory, linesOf } from "../../support/fencepost_process.ts";
import { comeAndGo, NOON_US } from "../../support/split_world.ts";

/** A process that is not one. */
class Environment implements RunEnvironment {
  readonly clock: SimulatedClock;
  terminal = false;
  said = "";
  readonly exits: number[] = [];
  readonly signals: (() => void)[] = [];
  /** Resolves with the first that listens for signals. */
  readonly listening = Promise.withResolvers<() => void>();

  constructor(clock = new SimulatedClock(NOON_US)) {
    this.clock = clock;
  }

  say = (text: string): void => {
    this.said += text;
  };

  onSignal = (callback: () => void): () => void => {
    this.signals.push(callback);
    this.listening.resolve(callback);
    return () => this.signals.splice(this.signals.indexOf(callback), 1);
  };

  /** A process would end here; what the command does afterwards is of no interest. */
  exit = (status: number): never => {
    this.exits.push(status);
    return undefined as never;
  };
}

/** A configuration of which all is in a directory, and its input is there. */
async function configIn(
  directory: string,
  lines: readonly string[],
): Promise<ReturnType<typeof parseConfig>> {
  const path = join(directory, "input.ndjson");
  await Deno.writeTextFile(path, lines.map((line) => `${line}\n`).join(""));
  return parseConfig({
    partitions: 2,
    checkpoint: { path: join(directory, "state") },
    source: { path },
    sink: { path: join(directory, "triggers.ndjson") },
    dead_letters: { path: join(directory, "dead-letters.ndjson") },
  });
}

Deno.test("run command: the summary for people names what happened and nothing that did not", async () => {
  await inDirectory(async (directory) => {
    const environment = new Environment();
    const config = await configIn(directory, [...comeAndGo(5), "{", comeAndGo(5)[0] ?? ""]);
    equal(await run({ config, summary: "text" }, environment), 0);
    const names = environment.said.trimEnd().split("\n").map((line) => line.slice(0, 30).trimEnd());
    const expected = [
      "read",
      "emitted",
      "suppressed",
      "dead letters: MALFORMED_JSON",
      "late",
      "pairs",
      "pending dwells",
      "took",
    ];
    deepEqual(names, expected, environment.said);
    match(environment.said, /^emitted +5 ENTER, 5 EXIT, 5 DWELL$/m);
    match(environment.said, /^took +\d+\.\d\d s, \d+ records per second$/m);
    equal((await linesOf(config.sinks[0]?.path ?? "")).length, 15);
    deepEqual(environment.signals, [], "nobody listens for signals any more");
  });
});

Deno.test("run command: on a terminal a line shows how it goes, and is gone at the end", async () => {
  await inDirectory(async (directory) => {
    // Each turn of the event loop brings a tick of all timers.
    class TickingClock extends SimulatedClock {
      override async nextTurn(): Promise<void> {
        await super.nextTurn();
        this.advance(1000);
      }
    }
    const environment = new Environment(new TickingClock(NOON_US));
    environment.terminal = true;
    const config = await configIn(directory, comeAndGo(200));
    equal(await run({ config, summary: "json" }, environment), 0);
    const lines = environment.said.split("\r\x1b[K");
    match(lines.at(-2) ?? "", /^400 read \(\d+\/s\) · \d+ triggers · \d+ suppressed · \d+ pending/);
    equal(JSON.parse(lines.at(-1) ?? "").read, 400);
  });
});

Deno.test("run command: a signal that can't be obeyed within 10 s ends the process with status 1", async () => {
  await inDirectory(async (directory) => {
    const drain = Promise.withResolvers<void>();
    class HeldClock extends SimulatedClock {
      override delay(us: number): Promise<void> {
        equal(us, DRAIN_US);
        return drain.promise;
      }
    }
    const environment = new Environment(new HeldClock(NOON_US));
    const config = await configIn(directory, comeAndGo(200));
    const running = run({ config, summary: "json" }, environment);
    const signal = await environment.listening.promise;
    signal();
    signal();
    drain.resolve();
    equal(await running, 0);
    deepEqual(environment.exits, [1]);
    match(environment.said, /Could not finish within 10 s; nothing is lost/);
  });
});

Deno.test("run command: what stops it is thrown, with no summary and the signals given back", async () => {
  await inDirectory(async (directory) => {
    const environment = new Environment();
    const config = await configIn(directory, comeAndGo(1));
    await Deno.remove(config.source.path);
    await rejects(run({ config, summary: "text" }, environment), /Cannot read records from .*no such file/);
    deepEqual([environment.said, environment.signals], ["", []]);
    deepEqual([...Deno.readDirSync(directory)], [], "nothing is left behind");
  });
});

Deno.test("run command: --print-config shows all that is in force, as a configuration", () => {
  deepEqual(parseConfig(JSON.parse(printConfig(parseConfig({})))), parseConfig(DEFAULT_CONFIG_JSON));
  match(printConfig(parseConfig({ partitions: 3 })), /^ {2}"partitions": 3,$/m);
});
