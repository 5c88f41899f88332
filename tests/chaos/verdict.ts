/**
 * What should have come out of a round, and what did: the oracle over the source's topic against the outputs' topics.
 *
 * ```
 *   in[p], by offset ─▶ oracle ─▶ triggers ───────── the same, each once? ───────── out[p], read committed
 *   (its timestamp where                 dead letters ── the same, each once? ── dl, those of source partition p
 *    it has no ingest time)
 * ```
 *
 * Each source partition is a split with clocks of its own, so the oracle runs over each by itself. Triggers are compared
 * with all their members, dead letters with their reason and their record's bytes.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { type ReadDeadLetter, readDeadLetter } from "../../actors/adapters/kafka/kafka_dead_letters.ts";
import type { ReadMessage } from "../../actors/adapters/kafka/partition_reader.ts";
import type { Config } from "../../lib/config.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import { decodeDeadLetter } from "../../lib/dead_letter_line.ts";
import { differencesOf, triggerText } from "../sim/comparison.ts";
import { makeOracle } from "../sim/oracle.ts";
import { readAll } from "../support/kafka_messages.ts";

const decoder = new TextDecoder();
const strictDecoder = new TextDecoder("utf-8", { fatal: true });
const encoder = new TextEncoder();

/** Where a round was read from and written to. */
export interface RoundTopics {
  readonly input: string;
  readonly output: string;
  readonly deadLetters: string;
  /** Of input and output. */
  readonly partitions: number;
  readonly deadLetterPartitions: number;
}

/** What was found. */
export interface Verdict {
  readonly records: number;
  readonly triggers: number;
  readonly deadLetters: number;
  /** Triggers and dead letters that are missing, too many, or otherwise than they should be. */
  readonly differences: number;
  /** The first of them, for people; empty where there are none. */
  readonly report: string;
}

/** See the module's header. */
export async function judge(kafka: Kafka, topics: RoundTopics, config: Config): Promise<Verdict> {
  const oracle = await makeOracle();
  const sum = { records: 0, triggers: 0, deadLetters: 0, differences: 0, report: "" };
  const compare = (actual: readonly string[], expected: readonly string[], where: string): void => {
    const { count, text } = differencesOf(actual, expected);
    sum.differences += count;
    if (count > 0) sum.report += `${where}:\n${text}\n`;
  };
  const letters = await lettersOf(kafka, topics);
  for (let partition = 0; partition < topics.partitions; partition++) {
    const input = await readAll(kafka, topics.input, { partition });
    const output = await readAll(kafka, topics.output, { partition });
    const said = oracle(config, input.map(withIngestTime), { atEof: "hold", wallUs: Date.now() * 1000 });
    compare(
      output.map(textOfOutput),
      said.triggers.map(triggerText),
      `partition ${partition}, triggers`,
    );
    compare(
      letters[partition] ?? [],
      said.deadLetters.map(({ line, reason }) => letterOf(reason, input[line - 1] as ReadMessage)),
      `partition ${partition}, dead letters`,
    );
    sum.records += input.length;
    sum.triggers += output.length;
    sum.deadLetters += letters[partition]?.length ?? 0;
  }
  return sum;
}

/** Writes down what the topics hold, a file for each partition, with offsets: for whoever looks for what went wrong. */
export async function keepTopics(kafka: Kafka, topics: RoundTopics, directory: string): Promise<void> {
  const { input, output, deadLetters, partitions, deadLetterPartitions } = topics;
  for (
    const [name, topic, count] of [
      ["input", input, partitions],
      ["output", output, partitions],
      ["dead-letters", deadLetters, deadLetterPartitions],
    ] as const
  ) {
    for (let partition = 0; partition < count; partition++) {
      const messages = await readAll(kafka, topic, { partition });
      const lines = messages.map(({ offset, timestampMs, headers, value }) => {
        const texts = [...headers].map(([header, bytes]) => [header, decoder.decode(bytes)]);
        return JSON.stringify({
          ...{ offset, timestampMs, headers: Object.fromEntries(texts) },
          value: decoder.decode(value?.subarray(0, 1000)),
        }) + "\n";
      });
      await Deno.writeTextFile(join(directory, `${name}-${partition}.ndjson`), lines.join(""));
    }
  }
}

/** The dead letters of each source partition, as text. */
async function lettersOf(kafka: Kafka, topics: RoundTopics): Promise<string[][]> {
  const letters = Array.from({ length: topics.partitions }, (): string[] => []);
  for (let partition = 0; partition < topics.deadLetterPartitions; partition++) {
    for (const message of await readAll(kafka, topics.deadLetters, { partition })) {
      const letter = readDeadLetter(message);
      const stored = letter === null ? null : decodeDeadLetter(letter.line);
      if (letter === null || stored === null || "damage" in stored || letter.topic !== topics.input) {
        letters[0]?.push(`unreadable, at offset ${message.offset} of partition ${partition}`);
        continue;
      }
      const { place, partition: source } = letter;
      letters[source]?.push(letterText(stored.reason, { place, value: message.value }));
    }
  }
  return letters;
}

/** That of a record. */
function letterOf(reason: string, { offset, value }: ReadMessage): string {
  return letterText(reason, { place: offset, value });
}

/** Of a record that is too large only the beginning is kept. */
function letterText(
  reason: string,
  { place, value }: Pick<ReadDeadLetter, "place"> & Pick<ReadMessage, "value">,
): string {
  return `${place} ${reason} ${Buffer.from(value ?? []).subarray(0, RECORD_BYTES_MAX).toString("base64")}`;
}

/** As its value says, and what its header and key say of it where they differ. */
function textOfOutput({ key, value, headers, offset }: ReadMessage): string {
  const trigger = JSON.parse(decoder.decode(value ?? undefined)) as { id: string; device_id: string };
  const id = decoder.decode(headers.get("id"));
  const device = decoder.decode(key ?? undefined);
  const agrees = id === trigger.id && device === trigger.device_id;
  return triggerText(trigger) + (agrees ? "" : ` with id ${id} and key ${device} at offset ${offset}`);
}

/** A record as the oracle reads it, which knows nothing of timestamps. */
function withIngestTime({ value, timestampMs }: ReadMessage): Uint8Array {
  const bytes = value ?? new Uint8Array(0);
  if (bytes.length > RECORD_BYTES_MAX) return bytes;
  let text: string;
  let record: unknown;
  try {
    text = strictDecoder.decode(bytes);
    record = JSON.parse(text);
  } catch {
    return bytes;
  }
  if (typeof record !== "object" || record === null || Array.isArray(record)) return bytes;
  if (Object.keys(record).some((name) => name.startsWith("ingest_time"))) return bytes;
  return encoder.encode(`${text.slice(0, text.lastIndexOf("}"))},"ingest_time_ms":${timestampMs}}`);
}
