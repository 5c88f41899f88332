/**
 * The outputs that a configuration names, as one: files, topics and, for all webhooks together, the outbox.
 *
 * @module
 */
import { resolve } from "node:path";
import type { SinkConfig } from "../../lib/config.ts";
import type { Json } from "../../lib/json.ts";
import type { Sink } from "../ports.ts";
import { SinkList, type SinkListMember } from "../sink_list.ts";

/** How each type is made. */
export interface OutputMakers {
  readonly file: (path: string) => Sink;
  readonly topic: (config: SinkConfig) => Sink;
  readonly outbox: () => Sink;
}

/** Makes the output of a split. */
export function makeOutputs(
  configs: readonly SinkConfig[],
  make: OutputMakers,
  notice: (message: string) => void,
): SinkList {
  const members = configs.filter(({ type }) => type !== "webhook").map((config): SinkListMember => {
    if (config.type === "kafka") return { key: `kafka:${config.topic}`, sink: make.topic(config) };
    const sink = make.file(config.path);
    return { key: fileKey(sink.name), sink };
  });
  if (members.length < configs.length) members.push({ key: OUTBOX, sink: make.outbox() });
  return new SinkList({ members, keyOf, notice });
}

const OUTBOX = "webhooks";

/** A path as it is written leads elsewhere from another directory. */
function fileKey(path: string): string {
  return `ndjson:${path === "-" ? path : resolve(path)}`;
}

/** By what a position is of. */
function keyOf(position: Json): string | null {
  if (typeof position !== "object" || position === null) return null;
  const { path, topic, outbox } = position as { readonly [name: string]: Json | undefined };
  if (typeof path === "string") return fileKey(path);
  if (typeof topic === "string") return `kafka:${topic}`;
  return typeof outbox === "string" ? OUTBOX : null;
}
