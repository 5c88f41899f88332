/**
 * Files of dead letters for the commands' tests, in memory.
 *
 * @module
 */
import type { DeadLettersEnvironment } from "../../actors/commands/dead_letters_input.ts";
import type { DeadLetterLog, KeptLine } from "../../actors/dead_letter_log.ts";
import { type DeadLetter, encodeDeadLetter } from "../../lib/dead_letter.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** When the tests' commands run, µs. */
export const WALL_US = 1_777_881_610_250_000;

/** A record that nothing is wrong with. */
export const MENDED =
  '{"device_id":"a","fence_id":"f","kind":"ENTER","event_time":"2026-05-04T08:00:00Z","ingest_time":"2026-05-04T08:00:00Z"}';

/** The configuration of a run over the topic `in`, with its dead letters in `dead`. */
export const KAFKA_CONFIG = {
  kafka: { brokers: ["a:1"] },
  dead_letters: { type: "kafka", topic: "dead" },
  source: { type: "kafka", topic: "in" },
  sink: { type: "kafka", topic: "out" },
};

/** A dead letter as its line, without the line end. */
export function letterLine(letter: Partial<DeadLetter>, secondsAgo = 60): string {
  const whole: DeadLetter = {
    reason: "INVALID_KIND",
    detail: "kind must be another",
    source: "field.ndjson",
    position: { offset: 0, line: 1 },
    record: encoder.encode(MENDED),
    ...letter,
  };
  return decoder.decode(encodeDeadLetter(whole, WALL_US - secondsAgo * 1e6)).trimEnd();
}

/** Files by name, a string each line; null for a line that is too long. */
export type LetterFiles = Readonly<Record<string, readonly (string | null)[]>>;

/** Partitions of a topic, whose first offset is 1. */
export type LetterTopic = readonly (readonly (string | null)[])[];

/** What the commands need, over such files and such a topic. */
export class LetterWorld implements DeadLettersEnvironment {
  readonly wallUs = WALL_US;
  /** What was said on stderr. */
  said = "";
  /** What was opened and not closed again. */
  readonly isOpen: string[] = [];

  readonly #files: LetterFiles;

  readonly #topic: LetterTopic | null;

  /** @param topic null where no broker answers */
  constructor(files: LetterFiles, topic: LetterTopic | null = null) {
    this.#files = files;
    this.#topic = topic;
  }

  readonly say = (text: string): void => {
    this.said += text;
  };

  readonly open: DeadLettersEnvironment["open"] = (path) => {
    const lines = this.#files[path];
    if (lines === undefined) return Promise.reject(new Error("there is no such file"));
    this.isOpen.push(path);
    return Promise.resolve(this.#log(path, lines));
  };

  readonly openTopic: DeadLettersEnvironment["openTopic"] = () => {
    if (this.#topic === null) return Promise.reject(new Error("no broker answers"));
    const logs = this.#topic.map((lines, partition) => {
      this.isOpen.push(`[${partition}]`);
      return { name: "dead", partition, ...this.#log(`[${partition}]`, lines) };
    });
    return Promise.resolve(logs);
  };

  #log(opened: string, lines: readonly (string | null)[]): Pick<DeadLetterLog, "lines" | "close"> {
    return {
      lines: () => numbered(lines),
      close: () => {
        this.isOpen.splice(this.isOpen.indexOf(opened), 1);
      },
    };
  }
}

async function* numbered(lines: readonly (string | null)[]): AsyncGenerator<KeptLine> {
  for (const [i, line] of lines.entries()) {
    // What breaks off in the middle of a file.
    if (line === "BREAK") throw new Error("input/output error");
    yield await Promise.resolve({ number: i + 1, bytes: line === null ? null : encoder.encode(line) });
  }
}
