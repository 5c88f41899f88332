/**
 * The dead letters that a command asks for, out of the files where they are kept.
 *
 * All files are opened before the first is read, so that a name that was mistyped is known before anything was sent. A
 * line that is no dead letter is said, counted and passed over: a crash may have torn it, or a person.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { decodeDeadLetter, type StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import type { LineReader } from "../adapters/line_reader.ts";
import type { DeadLetterSelection, Since } from "./dead_letters_arguments.ts";
import { UsageError } from "./flags.ts";

/** What both commands need of the process they run in. */
export interface DeadLettersEnvironment {
  /** Opens a file, `-` being stdin. */
  readonly open: (path: string) => Promise<Pick<LineReader, "lines" | "close">>;
  /** Writes to stderr. */
  readonly say: (text: string) => void;
  /** The wall clock, µs since the epoch. */
  readonly wallUs: number;
}

/** A dead letter and where it is kept. */
export interface FoundDeadLetter {
  readonly letter: StoredDeadLetter;
  readonly file: string;
  readonly line: number;
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

  /**
   * @param deadLetters the configuration's, for where they are
   * @throws {UsageError} where no file is given and the configuration names none
   */
  constructor(
    selection: DeadLetterSelection,
    environment: DeadLettersEnvironment,
    deadLetters: Config["deadLetters"],
  ) {
    this.#selection = selection;
    this.#environment = environment;
    this.#fromUs = fromUs(selection.since, environment.wallUs);
    if (selection.paths.length === 0 && deadLetters.type !== "ndjson") {
      throw new UsageError("The dead letters are in a Kafka topic, which can't be read yet: give a FILE");
    }
    this.#paths = selection.paths.length === 0 ? [deadLetters.path] : selection.paths;
  }

  /** The files' paths. */
  get paths(): readonly string[] {
    return this.#paths;
  }

  /**
   * Opens all files and hands over their dead letters, in order.
   *
   * @param opened called when all are open and before the first is read
   * @throws {UsageError} where one can't be opened: then nothing was read
   * @throws {Error} where one can't be read on
   */
  async *letters(opened: () => Promise<void>): AsyncGenerator<FoundDeadLetter> {
    const files: [string, Pick<LineReader, "lines" | "close">][] = [];
    try {
      for (const path of this.#paths) files.push([path, await this.#open(path)]);
      await opened();
      for (const [path, file] of files) yield* this.#lettersOf(path, file);
    } finally {
      for (const [, file] of files) file.close();
    }
  }

  async #open(path: string): Promise<Pick<LineReader, "lines" | "close">> {
    try {
      return await this.#environment.open(path);
    } catch (cause) {
      throw new UsageError(`Cannot read ${path}: ${reasonOf(cause)}`, { cause });
    }
  }

  async *#lettersOf(file: string, reader: Pick<LineReader, "lines">): AsyncGenerator<FoundDeadLetter> {
    const lines = reader.lines();
    try {
      for (;;) {
        const next = await readNext(file, lines);
        if (next.done === true) return;
        const { number: line, bytes } = next.value;
        const decoded = bytes === null ? { damage: "is too long for one" } : decodeDeadLetter(bytes);
        if ("damage" in decoded) {
          this.damaged++;
          this.#environment.say(`fencepost: ${file}:${line} is no dead letter: it ${decoded.damage}\n`);
        } else if (this.#isAskedFor(decoded)) {
          yield { letter: decoded, file, line };
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

/** The next line. What goes wrong elsewhere while lines are read must not be taken for a failure to read them. */
async function readNext<T>(file: string, lines: AsyncGenerator<T>): Promise<IteratorResult<T>> {
  try {
    return await lines.next();
  } catch (cause) {
    throw new Error(`Cannot read ${file}: ${reasonOf(cause)}`, { cause });
  }
}

function fromUs(since: Since | null, wallUs: number): number {
  if (since === null) return -Infinity;
  return "atUs" in since ? since.atUs : wallUs - since.agoUs;
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
