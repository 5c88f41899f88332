/**
 * Splits a command line into flags and operands, by a table of the flags that there are.
 *
 * `--name value` and `--name=value` are the same; a switch is `--name`, or `--name=false` to say the opposite. A value
 * that begins with `--` needs the second form, so that a forgotten value does not swallow the next flag. `-` is a value
 * (stdin or stdout), and behind `--` all are operands. A flag that can be given once and is given twice is refused: which
 * of them was meant is a guess.
 *
 * Not `node:util`'s `parseArgs`, since commands reach Node through adapters only, and since it does not tell which flag
 * was probably meant.
 *
 * @module
 */
import { nearest } from "../../lib/nearest.ts";

/** The command line can't be used. The message says which part of it and why. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** One flag. */
export interface Flag {
  /** Without the dashes. */
  readonly name: string;
  /** What its value is called in the help; null for a switch. */
  readonly value: string | null;
  /** Whether it may be given more than once. */
  readonly many?: boolean;
  /** For the help: a sentence without its full stop. */
  readonly about: string;
}

/** What a command line said. */
export class GivenFlags {
  readonly operands: readonly string[];
  readonly #values: ReadonlyMap<string, readonly string[]>;

  constructor(values: ReadonlyMap<string, readonly string[]>, operands: readonly string[]) {
    this.#values = values;
    this.operands = operands;
  }

  /** All values of a flag, in order. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? [];
  }

  /** The value of a flag; null where it was not given. */
  value(name: string): string | null {
    return this.all(name)[0] ?? null;
  }

  /** The position of a switch; null where it was not given. */
  switched(name: string): boolean | null {
    const value = this.value(name);
    return value === null ? null : value === "true";
  }
}

/**
 * Reads a command's part of the command line.
 *
 * @param command the command's name, for messages
 * @param words what follows it
 * @throws {UsageError} where a flag is not known, has no value or one too many, or is given twice
 */
export function parseFlags(command: string, words: readonly string[], flags: readonly Flag[]): GivenFlags {
  const byName = new Map(flags.map((flag) => [flag.name, flag]));
  const values = new Map<string, string[]>();
  const operands: string[] = [];
  for (let at = 0; at < words.length; at++) {
    const word = words[at] as string;
    if (word === "--") {
      operands.push(...words.slice(at + 1));
      break;
    }
    if (!word.startsWith("-") || word === "-") {
      operands.push(word);
      continue;
    }
    const [name, attached] = splitFlag(word);
    const flag = byName.get(name);
    if (flag === undefined || !word.startsWith("--")) throw unknownFlag(command, word, byName.keys());
    const following = attached === null && flag.value !== null ? words[++at] : undefined;
    const given = values.get(name) ?? [];
    if (given.length > 0 && flag.many !== true) throw new UsageError(`--${name} is given twice`);
    given.push(valueOf(flag, attached, following));
    values.set(name, given);
  }
  return new GivenFlags(values, operands);
}

function valueOf(flag: Flag, attached: string | null, following: string | undefined): string {
  if (flag.value !== null) {
    if (attached !== null) return attached;
    if (following !== undefined && !following.startsWith("--")) return following;
    const got = following === undefined
      ? "nothing"
      : `${following} (write --${flag.name}=${following} if it is meant)`;
    throw new UsageError(`--${flag.name} needs a value, ${flag.value}, got ${got}`);
  }
  if (attached === null || attached === "true" || attached === "false") return attached ?? "true";
  throw new UsageError(`--${flag.name} is a switch and takes true or false, got ${attached}`);
}

/** `--name=value` as its two parts. */
function splitFlag(word: string): [string, string | null] {
  const equals = word.indexOf("=");
  const name = equals < 0 ? word : word.slice(0, equals);
  return [name.replace(/^--?/, ""), equals < 0 ? null : word.slice(equals + 1)];
}

function unknownFlag(command: string, word: string, names: Iterable<string>): UsageError {
  const meant = nearest(splitFlag(word)[0], names);
  const hint = meant === null ? `see fencepost ${command} --help` : `did you mean --${meant}?`;
  return new UsageError(`${command} has no flag ${word.split("=", 1)[0]}; ${hint}`);
}
