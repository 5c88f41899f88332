/**
 * A live source from end to end, over crashes: the wall clock fires a quiet device's DWELL, and what it fired is neither
 * told twice nor left standing when the backlog knows better. No time passes here but what the test lets.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { SplitActor, type SplitReport } from "../../actors/split_actor.ts";
import { type Config, parseConfig } from "../../lib/config.ts";
import { EMIT_ORDERS, type EmitOrder } from "../support/cases.ts";
import { makeParts, NOON_US, recordAt } from "../support/split_world.ts";
import { type CrashPoint, outputOf } from "./engine.ts";
import { LiveLog, LiveLogSource } from "./live_log.ts";
import { SimulatedClock, type Unflushed, World } from "./simulated_ports.ts";

const SECOND_US = 1_000_000;
const FATES: readonly Unflushed[] = ["kept", "lost", "torn"];

/** A threshold of 10 s, lateness 2 s, settle 5 s: a DWELL fires by the clock 12 s after the ENTER. */
function configOf(emit: EmitOrder, onContradiction: "count" | "retract"): Config {
  return parseConfig({
    emit,
    partitions: 2,
    checkpoint: { interval: "3s" },
    time: { settle: "5s" },
    dwell: {
      rules: [{ fence: "*", after: ["10s"] }],
      lateness: "2s",
      on_contradiction: onContradiction,
    },
  });
}

interface Scene {
  readonly config: Config;
  readonly world: World;
  readonly log: LiveLog;
  /** When its process starts, in seconds after noon. */
  readonly from: number;
}

/** Turns of the event loop, by messages: timers take a millisecond each on some versions. */
class MessageTurns {
  readonly #channel = new MessageChannel();

  /** Resolves in the next turn; simulated ports have answered all that was asked of them by then. */
  next(): Promise<void> {
    const { port1, port2 } = this.#channel;
    return new Promise((resolve) => {
      port1.onmessage = () => resolve();
      port2.postMessage(null);
    });
  }

  close(): void {
    this.#channel.port1.close();
    this.#channel.port2.close();
  }
}

/**
 * Lets a process live from one second to another, with a tick at each, and then drains and stops it.
 *
 * @returns null where it crashed
 */
async function live({ config, world, log, from }: Scene, to: number): Promise<SplitReport | null> {
  const clock = new SimulatedClock(NOON_US + from * SECOND_US);
  const source = new LiveLogSource(world, log);
  const split = new SplitActor(await makeParts(config, { world, source, clock }, []));
  let failure: unknown = null;
  const running = split.open().then(() => split.run()).catch((error: unknown) => failure = error);
  const turns = new MessageTurns();
  await turns.next();
  for (let second = from; second < to && failure === null; second++) {
    clock.advance(SECOND_US);
    await turns.next();
  }
  turns.close();
  split.stop();
  await running;
  await split.halt();
  if (failure === null) return split.report();
  ok(failure instanceof Error && failure.name === "Crash", String(failure));
  return null;
}

/** The same with a crash at a step from here; whether that step came. */
async function liveAndCrash(scene: Scene, to: number, crash: CrashPoint): Promise<boolean> {
  const { world } = scene;
  world.crashAt = world.steps + crash.step;
  world.crashAfterEffect = crash.afterEffect;
  const report = await live(scene, to);
  world.restart(crash.unflushed);
  return report === null;
}

function kindsOf(world: World): string[] {
  return world.triggers.lines().map((line) => (JSON.parse(line) as { kind: string }).kind);
}

function countOf(world: World, kind: string): number {
  return kindsOf(world).filter((told) => told === kind).length;
}

/** Some other device that arrives first. */
const ANOTHER = recordAt(-3, { device: "truck-2", fence: "gate" });

for (const emit of EMIT_ORDERS) {
  Deno.test(`live: a quiet fleet fires by the clock, and once, emit ${emit}`, async () => {
    const world = new World();
    const log = new LiveLog();
    log.append(recordAt(0));
    const config = configOf(emit, "count");
    ok(await live({ config, world, log, from: 0 }, 11) !== null);
    equal(countOf(world, "DWELL"), 0);
    // Open again for less than it takes to settle, and then for longer.
    ok(await live({ config, world, log, from: 11 }, 15) !== null);
    equal(countOf(world, "DWELL"), 0);
    ok(await live({ config, world, log, from: 15 }, 25) !== null);
    deepEqual(kindsOf(world), ["ENTER", "DWELL"]);
    ok(await live({ config, world, log, from: 25 }, 60) !== null);
    deepEqual(kindsOf(world), ["ENTER", "DWELL"]);
  });
}

/** What the backlog knows after the crash, and whether it contradicts a DWELL of second 10. */
const BACKLOGS: readonly (readonly [name: string, exitSecond: number | null, contradicts: boolean])[] = [
  ["an EXIT before the deadline", 6, true],
  ["an EXIT a microsecond before it", 9.999999, true],
  ["an EXIT at it", 10, false],
  ["an EXIT behind it", 11, false],
  ["nothing", null, false],
];

for (const emit of EMIT_ORDERS) {
  for (const onContradiction of ["count", "retract"] as const) {
    Deno.test(
      `live: killed when the clock has fired, emit ${emit}, on_contradiction ${onContradiction}`,
      async (test) => {
        for (const [i, [name, exitSecond, contradicts]] of BACKLOGS.entries()) {
          await test.step(`the backlog has ${name}`, async () => {
            const outcomes = new Set<string>();
            let came = true;
            for (let step = 1; came; step++) {
              // Each step meets some of what can happen to it here, and the others with the other backlogs.
              const crash = {
                step,
                afterEffect: (step + i) % 2 === 0,
                unflushed: FATES[(step + i) % 3] ?? "lost",
              };
              const scene = {
                config: configOf(emit, onContradiction),
                world: new World(),
                log: new LiveLog(),
              };
              scene.log.append(ANOTHER, recordAt(0));
              came = await liveAndCrash({ ...scene, from: 0 }, 16, crash);
              const where = `crash ${JSON.stringify(crash)}`;
              outcomes.add(await comeBack(scene, { exitSecond, contradicts, step, where }));
            }
            const both = contradicts ? ["contradicted", "never told"] : ["told"];
            deepEqual([...outcomes].sort(), both);
          });
        }
      },
    );
  }
}

/** After the first crash: two more processes, the first of which crashes as well; checks what is told in the end. */
async function comeBack(
  scene: Omit<Scene, "from">,
  after: { exitSecond: number | null; contradicts: boolean; step: number; where: string },
): Promise<"told" | "contradicted" | "never told"> {
  const { world, log, config } = scene;
  const { exitSecond, contradicts, step, where } = after;
  const isTruck1 = (line: string): boolean => line.includes('"truck-1"');
  const toldBefore =
    world.triggers.lines().filter((line) => isTruck1(line) && line.includes('"DWELL"')).length;
  ok(toldBefore <= 1, where);
  if (exitSecond !== null) log.append(recordAt(exitSecond, { kind: "EXIT", ingestSecond: 16 }));
  await liveAndCrash({ ...scene, from: 20 }, 28, {
    step: 1 + step * 7 % 11,
    afterEffect: step % 2 === 0,
    unflushed: FATES[step % 3] ?? "lost",
  });
  const report = await live({ ...scene, from: 36 }, 60);
  ok(report !== null, where);
  const mine = world.triggers.lines().filter(isTruck1).map((line) =>
    JSON.parse(line) as Record<string, unknown>
  );
  const told = (kind: string): number => mine.filter((trigger) => trigger["kind"] === kind).length;
  const isContradicted = contradicts && toldBefore === 1;
  equal(told("ENTER"), 1, where);
  // In order, an EXIT that the clock had passed by the checkpoint is refused, though its pair hears of it.
  const refused = outputOf(world).deadLetters.map(({ reason }) => reason);
  equal(
    refused.filter((reason) => config.emit === "ordered" && reason === "LATE").length,
    refused.length,
    where,
  );
  equal(told("EXIT") + refused.length, exitSecond === null ? 0 : 1, where);
  equal(told("DWELL"), contradicts ? toldBefore : 1, where);
  equal(told("RETRACT"), isContradicted && config.dwell.onContradiction === "retract" ? 1 : 0, where);
  equal(report.counters.dwellContradicted, isContradicted ? 1 : 0, where);
  const dwell = mine.find(({ kind }) => kind === "DWELL");
  const retract = mine.find(({ kind }) => kind === "RETRACT");
  if (retract !== undefined) equal(retract["revises"], dwell?.["id"], where);
  if (told("DWELL") === 0) return "never told";
  return isContradicted ? "contradicted" : "told";
}
