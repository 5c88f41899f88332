/**
 * The outputs of a split whose state is in a directory of this host: of a file or pipe, and of the HTTP intake.
 *
 * @module
 */
import { AssertionFailed } from "../../lib/assert.ts";
import { type Config, sinkKey } from "../../lib/config.ts";
import { type NamedFile, refuseSameFile } from "../adapters/distinct_files.ts";
import type { TopicSinks } from "../adapters/kafka/topic_sinks.ts";
import { KvStore, stateFiles } from "../adapters/kv_store.ts";
import { NdjsonSink } from "../adapters/ndjson_sink.ts";
import { makeOutputs } from "../adapters/output_list.ts";
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import type { SplitPorts } from "../system.ts";

/** Makes them, not yet open. */
export function localOutputs(
  { sinks, deadLetters, checkpoint }: Config,
  { split, webhooks, topics, notice }: {
    /** Its name in the state and the outbox. */
    readonly split: string;
    readonly webhooks: Webhooks | null;
    readonly topics: TopicSinks | null;
    readonly notice: (message: string) => void;
  },
): Omit<SplitPorts, "source"> {
  const file = (path: string): NdjsonSink => new NdjsonSink({ path, onNotice: notice });
  const letters = file(deadLetters.path);
  return {
    sink: makeOutputs(sinks, {
      file,
      topic: (topic) => topics?.sink(topic, notice) ?? assertNever("topics are opened before a split"),
      outbox: () => webhooks?.sink(split, notice) ?? assertNever("webhooks are opened before a split"),
    }, notice),
    deadLetters: webhooks === null ? letters : webhooks.deadLetters(letters, split),
    store: new KvStore({ directory: checkpoint.path, split }),
  };
}

/**
 * Looks whether all files that are read and written are different ones.
 *
 * @param others what is read besides
 * @throws {ConfigError} where two are one
 */
export async function refuseSameLocalFile(
  { sinks, deadLetters, checkpoint }: Config,
  others: readonly NamedFile[],
): Promise<void> {
  await refuseSameFile([
    ...stateFiles(checkpoint.path).map((path) => ({ key: "checkpoint.path", path })),
    ...others,
    ...sinks.flatMap(({ type, path }, i) =>
      type === "ndjson" ? [{ key: `${sinkKey(sinks, i)}.path`, path, descriptor: 1 as const }] : []
    ),
    { key: "dead_letters.path", path: deadLetters.path },
  ]);
}

/**
 * Looks whether another process has the state.
 *
 * @throws {Error} where it has
 */
export async function refuseStateInUse(directory: string, split: string): Promise<void> {
  const store = new KvStore({ directory, split });
  try {
    await store.open();
  } finally {
    store.close();
  }
}

function assertNever(message: string): never {
  throw new AssertionFailed(`Assertion failed: ${message}`);
}
