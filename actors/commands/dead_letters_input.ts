/**
 * The dead letters that a command asks for, out of the files or the topic where they are kept.
 *
 * All are opened before the first is read, so that a name that was mistyped is known before anything was sent. A line that
 * is no dead letter is said, counted and passed over: a crash may have torn it, or a person.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { decodeDeadLetter, type StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import type { DeadLetterLog } from "../dead_letter_log.ts";
import type { DeadLetterSelection, Since } from "./dead_letters_arguments.ts";
import { UsageError } from "./flags.ts";

/** What both commands need of the process they run in. */
export interface DeadLettersEnvironment {
  /** Opens a file, `-` being stdin. */
  readonly open: (path: string) => Promise<Pick<DeadLetterLog, "lines" | "close">>;
  /** Opens the partitions of the configuration's topic. */
  readonly openTopic: () => Promise<readonly DeadLetterLog[]>;
  /** Writes to stderr. */
  readonly say: (text: string) => void;
  /** The wall clock, µs since the epoch. */
  readonly wallUs: number;
}

/** A dead letter and where it is kept. */
export interface FoundDeadLetter {
  readonly letter: StoredDeadLetter;
  /** The file's path, or the topic. */
  readonly log: string;
  /** Of the topic; null of a file. */
  readonly partition: number | null;
  /** Of the line in the file, or the offset in the partition. */
  readonly number: number;
}

/** See the module's header. */
export class DeadLettersInput {
  /** Lines that are no dead letters, so far. */
  damaged = 0;
  /** Dead letters that were not asked for, so far. */
  passedOver = 0;

  readonly #selection: DeadLetterSelection;
  readonly #environment: DeadLettersEnvironment;
  readonly #paths: readonly string[];
  readonly #fromUs: number;
  /** Null where they are in files. */
  readonly #topic: string | null;

  /** @param deadLetters the configuration's, for where they are if no file is given */
  constructor(
    selection: DeadLetterSelection,
    environment: DeadLettersEnvironment,
    deadLetters: Config["deadLetters"],
  ) {
    this.#selection = selection;
    this.#environment = environment;
    this.#fromUs = fromUs(selection.since, environment.wallUs);
    const { type, path, topic } = deadLetters;
    this.#topic = selection.paths.length === 0 && type === "kafka" ? topic : null;
    this.#paths = selection.paths.length > 0 ? selection.paths : type === "kafka" ? [] : [path];
  }

  /** The files' paths; none where a topic is read. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  /**
   * Opens all files, or the topic, and hands over their dead letters, in order.
   *
   * @param opened called when all are open and before the first is read
   * @throws {UsageError} where one can't be opened: then nothing was read
   * @throws {Error} where one can't be read on
   */
  async *letters(opened: () => Promise<void>): AsyncGenerator<FoundDeadLetter> {
    const logs: DeadLetterLog[] = [];
    try {
      if (this.#topic !== null) logs.push(...await this.#openTopic(this.#topic));
      for (const path of this.#paths) logs.push(await this.#open(path));
      await opened();
      for (const log of logs) yield* this.#lettersOf(log);
    } finally {
      for (const log of logs) log.close();
    }
  }

  async #openTopic(topic: string): Promise<readonly DeadLetterLog[]> {
    try {
      return await this.#environment.openTopic();
    } catch (cause) {
      throw new UsageError(`Cannot read the dead letters of topic ${topic}: ${reasonOf(cause)}`, { cause });
    }
  }

  async #open(path: string): Promise<DeadLetterLog> {
    try {
      const file = await this.#environment.open(path);
      return { name: path, partition: null, lines: () => file.lines(), close: () => file.close() };
    } catch (cause) {
      throw new UsageError(`Cannot read ${path}: ${reasonOf(cause)}`, { cause });
    }
  }

  async *#lettersOf(log: DeadLetterLog): AsyncGenerator<FoundDeadLetter> {
    const { name, partition } = log;
    const lines = log.lines();
    try {
      for (;;) {
        const next = await readNext(name, lines);
        if (next.done === true) return;
        const { number, bytes, damage = "is too long for one" } = next.value;
        const decoded = bytes === null ? { damage } : decodeDeadLetter(bytes);
        if ("damage" in decoded) {
          this.damaged++;
          const place = placeText({ log: name, partition, number });
          this.#environment.say(`fencepost: ${place} is no dead letter: it ${decoded.damage}\n`);
        } else if (this.#isAskedFor(decoded)) {
          yield { letter: decoded, log: name, partition, number };
        } else {
          this.passedOver++;
        }
      }
    } finally {
      await lines.return(undefined);
    }
  }

  #isAskedFor({ reason, atUs }: StoredDeadLetter): boolean {
    const { reasons } = this.#selection;
    return atUs >= this.#fromUs && (reasons === null || reasons.includes(reason));
  }
}

/** Where an entry is: `dead-letters.ndjson:7`, `dead-letters[3]:1041`. */
export function placeText({ log, partition, number }: Omit<FoundDeadLetter, "letter">): string {
  return `${log}${partition === null ? "" : `[${partition}]`}:${number}`;
}

/** The next line. What goes wrong elsewhere while lines are read must not be taken for a failure to read them. */
async function readNext<T>(log: string, lines: AsyncGenerator<T>): Promise<IteratorResult<T>> {
  try {
    return await lines.next();
  } catch (cause) {
    throw new Error(`Cannot read ${log}: ${reasonOf(cause)}`, { cause });
  }
}

function fromUs(since: Since | null, wallUs: number): number {
  if (since === null) return -Infinity;
  return "atUs" in since ? since.atUs : wallUs - since.agoUs;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
