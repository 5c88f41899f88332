/**
 * The supervisor of splits that come and go: what it opens again and what it gives up, and that a partition which is let
 * go of is whole in its checkpoint.
 *
 * @module
 */
import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import {
  FencedError,
  type LineBatch,
  type RefusedLine,
  type Source,
  UnavailableError,
} from "../../actors/ports.ts";
import { SplitGroup } from "../../actors/split_group.ts";
import { FENCED_US } from "../../actors/split_retries.ts";
import { RESTARTS_MAX } from "../../actors/system.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import { parseConfig } from "../../lib/config.ts";
import { SimulatedClock, SimulatedSink, SimulatedSource, World } from "../sim/simulated_ports.ts";
import { comeAndGo, kindsIn, makeParts, NOON_US, quiesce, runThrough } from "../support/split_world.ts";

const CONFIG = parseConfig({ partitions: 1, checkpoint: { interval: "0s" } });
const LINES = comeAndGo(40);

/** A partition of a log: when all is read it waits for more, as a broker does. */
class LogSource extends SimulatedSource {
  #read = 0;

  override async read(signal: AbortSignal): ReturnType<SimulatedSource["read"]> {
    const batch = await super.read(signal);
    if (batch !== null) {
      this.#read += batch.count;
      return batch;
    }
    return await new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    );
  }
}

/** A sink whose writes meet a fault, the n-th of all attempts together. */
class FaultySink extends SimulatedSink {
  readonly #fault: () => Error | undefined;

  constructor(world: World, fault: () => Error | undefined) {
    super(world, world.triggers);
    this.#fault = fault;
  }

  override write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    const fault = this.#fault();
    return fault === undefined ? super.write(lines, refused) : Promise.reject(fault);
  }
}

interface Scene {
  readonly world: World;
  readonly group: SplitGroup;
  readonly source: Source;
  readonly notices: readonly string[];
  readonly pausesUs: readonly number[];
}

/** A group with one partition, not yet assigned, whose sink meets these faults one after the other. */
async function makeScene(
  faults: readonly (Error | (() => Error))[] = [],
  confirm: () => Promise<void> = () => Promise.resolve(),
): Promise<Scene> {
  const world = new World();
  const pausesUs: number[] = [];
  const clock = new class extends SimulatedClock {
    override delay(us: number, signal?: AbortSignal): Promise<void> {
      pausesUs.push(us);
      return signal?.aborted === true ? Promise.reject(signal.reason) : super.delay(us);
    }
  }(NOON_US);
  const notices: string[] = [];
  const left = [...faults];
  const common = await makeParts(CONFIG, { clock, world }, notices);
  const group = new SplitGroup({
    clock,
    notice: (message) => notices.push(message),
    opened: () => {},
    mayPass: () => false,
    confirm,
    parts: () => ({
      ...common,
      source: new LogSource(world, LINES, { batchRecords: 6 }),
      sink: new FaultySink(world, () => {
        const fault = left.shift();
        return typeof fault === "function" ? fault() : fault;
      }),
    }),
  });
  return { world, group, source: common.source, notices, pausesUs };
}

async function expectedKinds(): Promise<string[]> {
  const world = new World();
  await runThrough({ partitions: 1 }, { world, lines: LINES });
  return kindsIn(world.triggers).toSorted();
}

Deno.test("split group: what was taken is emitted and in the checkpoint when a partition is let go of", async () => {
  const { world, group, source } = await makeScene();
  group.assigned(source, "records/0");
  await quiesce();
  await group.revoked(source);
  const told = kindsIn(world.triggers);
  ok(told.length >= 80, `${told.length} triggers`);
  equal(world.triggers.durable, world.triggers.bytes.length);
  const [report] = group.reports();
  equal(report?.readNow, LINES.length);
  // The next owner, in whatever process, finds all of it.
  world.restart("lost");
  await runThrough({ partitions: 1 }, { world, lines: LINES });
  deepEqual(kindsIn(world.triggers).toSorted(), await expectedKinds());
});

Deno.test("split group: a partition that is let go of before it has opened, or twice, harms nobody", async () => {
  const { group, source } = await makeScene();
  group.assigned(source, "records/0");
  await group.revoked(source);
  await group.revoked(source);
  deepEqual(group.reports().length <= 1, true);
});

Deno.test("split group: what is away is tried for again, with growing pauses, and nothing is lost or doubled", async () => {
  const away = Array.from({ length: 9 }, (_, i) => new UnavailableError(`No broker answers (${i})`));
  const { world, group, source, notices, pausesUs } = await makeScene(away);
  group.assigned(source, "records/0");
  for (let turns = 0; turns < 40; turns++) await quiesce();
  await group.revoked(source);
  equal(notices.filter((notice) => notice.includes("going on from the last checkpoint")).length, 9);
  match(
    notices[0] as string,
    /^records\/0: No broker answers \(0\); going on from the last checkpoint in 0\.25 s$/,
  );
  ok(pausesUs.every((us, i) => i === 0 || us >= (pausesUs[i - 1] as number)), `${pausesUs}`);
  equal(pausesUs.at(-1), 15_000_000);
  world.restart("lost");
  await runThrough({ partitions: 1 }, { world, lines: LINES });
  deepEqual(kindsIn(world.triggers).toSorted(), await expectedKinds());
});

Deno.test("split group: a fault of ours is cured a few times, another failure never", async () => {
  const faults = Array.from({ length: RESTARTS_MAX + 1 }, () => new AssertionFailed("a broken invariant"));
  const curable = await makeScene(faults.slice(1));
  curable.group.assigned(curable.source, "records/0");
  for (let turns = 0; turns < 20; turns++) await quiesce();
  await curable.group.revoked(curable.source);
  ok(kindsIn(curable.world.triggers).length >= 80);
  const hopeless = await makeScene(faults);
  hopeless.group.assigned(hopeless.source, "records/0");
  await rejects(hopeless.group.failed, /Gave up after 5 restarts/);
  const refused = await makeScene([new Error("TOPIC_AUTHORIZATION_FAILED")]);
  refused.group.assigned(refused.source, "records/0");
  await rejects(refused.group.failed, /TOPIC_AUTHORIZATION_FAILED/);
  equal(refused.pausesUs.length, 0);
});

Deno.test("split group: fenced and not let go of, it goes on after a while; fenced again, two have one name", async () => {
  const fenced = new FencedError("another process has taken over");
  const stoodStill = await makeScene([fenced]);
  stoodStill.group.assigned(stoodStill.source, "records/0");
  for (let turns = 0; turns < 5; turns++) await quiesce();
  await stoodStill.group.revoked(stoodStill.source);
  deepEqual(stoodStill.pausesUs, [FENCED_US]);
  match(stoodStill.notices.join("\n"), /another process has taken over; going on/);
  stoodStill.world.restart("lost");
  await runThrough({ partitions: 1 }, { world: stoodStill.world, lines: LINES });
  deepEqual(kindsIn(stoodStill.world.triggers).toSorted(), await expectedKinds());
  const twoGroups = await makeScene([fenced, fenced]);
  twoGroups.group.assigned(twoGroups.source, "records/0");
  await rejects(twoGroups.group.failed, /do two groups share the name of a deployment/);
});

Deno.test("split group: what fails as a partition is let go of is said, and not tried again", async () => {
  const refusal = new Error("chunk 7 is missing");
  for (
    const error of [new FencedError("another has it"), new UnavailableError("No broker answers"), refusal]
  ) {
    let revoked: Promise<void> | null = null;
    const { group, source, notices, pausesUs } = await makeScene([() => {
      revoked = group.revoked(source);
      return error;
    }]);
    group.assigned(source, "records/0");
    await quiesce();
    await revoked;
    deepEqual(notices, [`records/0: ${error.message}; let go of without its last checkpoint`]);
    deepEqual(pausesUs, []);
  }
});

Deno.test("split group: no failure of a partition that may be another's ends the process, and it goes on if it is not", async () => {
  const refusal = new Error("chunk 7 is missing");
  let asked = 0;
  const lost = await makeScene([refusal], () => {
    asked++;
    return Promise.reject(new Error("UNKNOWN_MEMBER_ID"));
  });
  lost.group.assigned(lost.source, "records/0");
  for (let turns = 0; turns < 10; turns++) await quiesce();
  await Promise.race([lost.group.failed, lost.group.revoked(lost.source)]);
  equal(asked, 1);
  deepEqual(lost.pausesUs, [FENCED_US]);
  match(
    lost.notices[0] as string,
    /chunk 7 is missing \(another process may have it by now\); going on .* in 60 s/,
  );
  lost.world.restart("lost");
  await runThrough({ partitions: 1 }, { world: lost.world, lines: LINES });
  deepEqual(kindsIn(lost.world.triggers).toSorted(), await expectedKinds());
});

Deno.test("split group: what was done for a partition before it failed, and before it went, is still counted", async () => {
  const { group, source } = await makeScene([new UnavailableError("No broker answers")]);
  group.assigned(source, "records/0");
  for (let turns = 0; turns < 5; turns++) await quiesce();
  await group.revoked(source);
  const [before] = group.reports();
  ok(before !== undefined && before.readNow >= LINES.length, `${before?.readNow}`);
  // It comes back, and there is nothing new in it.
  group.assigned(source, "records/0");
  await quiesce();
  await group.revoked(source);
  const [after, ...others] = group.reports();
  equal(others.length, 0);
  equal(after?.readNow, before.readNow);
  deepEqual(after?.countersNow, before.countersNow);
  deepEqual(after?.deadLettersNow, before.deadLettersNow);
});
