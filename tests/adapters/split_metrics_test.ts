/**
 * The metrics of splits that fail, are restored, go away and come back: what adds up never goes back, and what a split is
 * at is shown only while it is here.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { MetricSet } from "../../actors/adapters/metrics/metric_set.ts";
import { registerSplitMetrics } from "../../actors/adapters/metrics/split_metrics.ts";
import { type LineBatch, type RefusedLine, type Source, UnavailableError } from "../../actors/ports.ts";
import { SplitGroup } from "../../actors/split_group.ts";
import type { SplitView } from "../../actors/split_view.ts";
import { System } from "../../actors/system.ts";
import { AssertionFailed } from "../../lib/assert.ts";
import type { CheckpointChunk, CheckpointCommit, ChunkRange } from "../../lib/chunk.ts";
import { parseConfig } from "../../lib/config.ts";
import {
  SimulatedClock,
  SimulatedSink,
  SimulatedSource,
  SimulatedStore,
  World,
} from "../sim/simulated_ports.ts";
import { Scrape } from "../support/metrics_text.ts";
import { comeAndGo, makeParts, NOON_US, quiesce } from "../support/split_world.ts";

const CONFIG = parseConfig({ partitions: 2, checkpoint: { interval: "0s" } });
const LINES = ["{", '{"kind":"HEARTBEAT","event_time":"2026-03-01T10:00:00Z"}', ...comeAndGo(40)];

/** Looks at the metrics again and again: each scrape must follow the one before. */
class Scraper {
  last = new Scrape("");
  count = 0;
  readonly #set = new MetricSet();

  constructor(splits: () => readonly SplitView[]) {
    registerSplitMetrics(this.#set, { config: CONFIG, splits, wallUs: () => NOON_US });
  }

  async scrape(): Promise<Scrape> {
    const scrape = new Scrape((await this.#set.text(null)).text);
    scrape.mustFollow(this.last);
    this.count++;
    return this.last = scrape;
  }
}

/** A sink that is scraped at each write, and fails at some. */
class WatchedSink extends SimulatedSink {
  readonly #look: () => Promise<unknown>;
  readonly #fault: () => Error | undefined;

  constructor(world: World, look: () => Promise<unknown>, fault: () => Error | undefined) {
    super(world, world.triggers);
    this.#look = look;
    this.#fault = fault;
  }

  override async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    await this.#look();
    const fault = this.#fault();
    if (fault !== undefined) throw fault;
    await super.write(lines, refused);
  }
}

/** A store that is scraped while a split is restored and while a checkpoint is written. */
class WatchedStore extends SimulatedStore {
  readonly #look: () => Promise<unknown>;

  constructor(world: World, look: () => Promise<unknown>) {
    super(world);
    this.#look = look;
  }

  override async *read(range: ChunkRange): AsyncIterable<Uint8Array> {
    for await (const chunk of super.read(range)) {
      await this.#look();
      yield chunk;
      await this.#look();
    }
  }

  override async commit(
    commit: CheckpointCommit & { readonly put: readonly CheckpointChunk[] },
  ): Promise<void> {
    await this.#look();
    await super.commit(commit);
    await this.#look();
  }
}

class LogSource extends SimulatedSource {
  readonly partition = 3;

  override async read(signal: AbortSignal): ReturnType<SimulatedSource["read"]> {
    const batch = await super.read(signal);
    if (batch !== null) return batch;
    return await new Promise((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(signal.reason), { once: true })
    );
  }
}

const SPLIT = { partition: "3" };

Deno.test("split metrics: over failures, restores, and a partition that goes and comes back", async () => {
  const world = new World();
  let pauses = 0;
  const clock = new class extends SimulatedClock {
    override async delay(us: number): Promise<void> {
      await super.delay(us);
      pauses++;
      equal((await scraper.scrape()).value("fencepost_split_open", SPLIT), 0);
    }
  }(NOON_US);
  const common = await makeParts(CONFIG, { clock, world }, []);
  let writes = 0;
  const source = (): Source => new LogSource(world, LINES, { batchRecords: 6 });
  const scraper: Scraper = new Scraper(() => group.views());
  const look = (): Promise<unknown> => scraper.scrape();
  const group = new SplitGroup({
    clock,
    notice: () => {},
    opened: () => {},
    mayPass: () => false,
    confirm: () => Promise.resolve(),
    parts: () => ({
      ...common,
      source: source(),
      sink: new WatchedSink(world, look, () => ++writes % 4 === 3 ? new UnavailableError("away") : undefined),
      store: new WatchedStore(world, look),
    }),
  });
  deepEqual((await scraper.scrape()).value("fencepost_records_read_total", SPLIT), NaN);
  const first = source();
  group.assigned(first, "records/3");
  for (let turns = 0; turns < 60; turns++) {
    await quiesce();
    await look();
  }
  ok(writes > 6 && pauses > 1, `${writes} writes, ${pauses} pauses`);
  const here = scraper.last;
  equal(here.value("fencepost_split_open", SPLIT), 1);
  ok(here.value("fencepost_records_read_total", SPLIT) >= LINES.length);
  ok(here.value("fencepost_window_ids_added_total", SPLIT) > 0);
  ok(here.value("fencepost_checkpoints_total", SPLIT) > 0);
  ok(here.value("fencepost_heartbeats_total", SPLIT) >= 1);
  ok(here.value("fencepost_dead_letters_total", { ...SPLIT, reason: "MALFORMED_JSON" }) >= 1);
  ok(here.value("fencepost_checkpoint_duration_seconds_count") > 0);
  await group.revoked(first);
  const gone = await scraper.scrape();
  for (
    const name of ["split_open", "pairs", "window_ids", "watermark_lag_seconds", "checkpoint_age_seconds"]
  ) {
    equal(gone.value(`fencepost_${name}`, SPLIT), NaN, name);
  }
  const told = gone.value("fencepost_triggers_total", { ...SPLIT, kind: "ENTER" });
  ok(told >= 40, `${told}`);
  const second = source();
  group.assigned(second, "records/3");
  for (let turns = 0; turns < 20; turns++) {
    await quiesce();
    await look();
  }
  equal(scraper.last.value("fencepost_split_open", SPLIT), 1);
  equal(scraper.last.value("fencepost_triggers_total", { ...SPLIT, kind: "ENTER" }), told);
  await group.revoked(second);
  ok(scraper.count > 50, `${scraper.count} scrapes`);
});

Deno.test("split metrics: over a restart of a file's split from its checkpoint", async () => {
  const world = new World();
  const clock = new SimulatedClock(NOON_US);
  const common = await makeParts(CONFIG, { clock, world }, []);
  let writes = 0;
  const scraper: Scraper = new Scraper(() => system.views());
  const look = (): Promise<unknown> => scraper.scrape();
  const system = new System({
    clock,
    notice: () => {},
    opened: () => {},
    ports: () => ({
      source: new SimulatedSource(world, LINES, { batchRecords: 6 }),
      sink: new WatchedSink(
        world,
        look,
        () => ++writes === 5 ? new AssertionFailed("a broken invariant") : undefined,
      ),
      deadLetters: new SimulatedSink(world, world.deadLetters),
      store: new WatchedStore(world, look),
    }),
    split: (ports) => ({ ...common, ...ports }),
  });
  equal(await system.run(), true);
  const end = await scraper.scrape();
  ok(writes > 5);
  ok(end.value("fencepost_records_read_total") > LINES.length, "what was read twice is counted twice");
  ok(scraper.count > 20, `${scraper.count} scrapes`);
});

Deno.test("split metrics: no label but the split and closed sets of words", async () => {
  const world = new World();
  const clock = new SimulatedClock(NOON_US);
  const common = await makeParts(CONFIG, { clock, world }, []);
  const system = new System({
    clock,
    notice: () => {},
    opened: () => {},
    ports: () => ({
      source: new SimulatedSource(world, LINES, { batchRecords: 6 }),
      sink: new SimulatedSink(world, world.triggers),
      deadLetters: new SimulatedSink(world, world.deadLetters),
      store: new SimulatedStore(world),
    }),
    split: (ports) => ({ ...common, ...ports }),
  });
  await system.run();
  const scrape = await new Scraper(() => system.views()).scrape();
  const labels = new Set<string>();
  for (const series of scrape.samples.keys()) {
    for (const [, label] of series.matchAll(/[{,]([a-z_]+)=/g)) labels.add(label as string);
    ok(!series.includes("truck") && !series.includes("depot"), series);
  }
  deepEqual([...labels].toSorted(), ["kind", "le", "outcome", "partition", "reason", "source"]);
  // Conservation: what was read is somewhere.
  const sum = (name: string): number =>
    [...scrape.samples].filter(([series]) => series.startsWith(`${name}{`)).reduce(
      (all, [, value]) => all + value,
      0,
    );
  equal(
    sum("fencepost_transitions_total") + sum("fencepost_dead_letters_total") +
      sum("fencepost_heartbeats_total"),
    sum("fencepost_records_read_total"),
  );
});
