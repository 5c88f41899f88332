/**
 * `fencepost dead-letters list`: the dead letters, one by one, and how many there are of each reason.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import { DEAD_LETTER_REASONS, type DeadLetterReason } from "../../lib/dead_letter.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { counted } from "./counted.ts";
import type { ListDeadLettersArguments } from "./dead_letters_arguments.ts";
import { type DeadLettersEnvironment, DeadLettersInput, type FoundDeadLetter } from "./dead_letters_input.ts";
import { printable } from "./printable.ts";

/** What the command needs of the process it runs in. */
export interface ListEnvironment extends DeadLettersEnvironment {
  /** Writes to stdout. */
  readonly write: (text: string) => Promise<void>;
}

/** Characters that are written at once: a system call a letter would cost more than the letter. */
const WRITE_LENGTH = 1 << 16;
const COLUMN = 20;

/**
 * Runs the command.
 *
 * @returns the exit status: 1 where a line was no dead letter, else 0
 * @throws {UsageError} where a file can't be opened
 */
export async function listDeadLetters(
  asked: Omit<ListDeadLettersArguments, "command">,
  config: Pick<Config, "deadLetters">,
  environment: ListEnvironment,
): Promise<number> {
  const input = new DeadLettersInput(asked, environment, config.deadLetters);
  const counts = new Map<DeadLetterReason, number>();
  let unwritten = "";
  for await (const found of input.letters(() => Promise.resolve())) {
    const { reason } = found.letter;
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
    unwritten += asked.json ? letterJson(found) : letterText(found);
    if (unwritten.length < WRITE_LENGTH) continue;
    await environment.write(unwritten);
    unwritten = "";
  }
  const summary = asked.json ? summaryJson(counts, input) : summaryText(counts, input);
  await environment.write(unwritten + summary);
  return input.damaged > 0 ? 1 : 0;
}

function letterJson({ letter, log, partition, number }: FoundDeadLetter): string {
  const { reason, detail, source, position, atUs, record, oversize } = letter;
  const at = formatTimestamp(atUs);
  const bytes = oversize?.byteLength ?? record.length;
  const kept = partition === null ? { file: log, line: number } : { topic: log, partition, offset: number };
  return JSON.stringify({ entry: "letter", reason, detail, source, position, at, bytes, ...kept }) + "\n";
}

function letterText({ letter: { reason, detail, source, position, atUs } }: FoundDeadLetter): string {
  // A trigger that the output refused has none.
  const place = position === null ? source : `${source} ${JSON.stringify(position)}`;
  return `${formatTimestamp(atUs)} ${reason} ${printable(place)}\n  ${printable(detail)}\n`;
}

function summaryJson(counts: ReadonlyMap<DeadLetterReason, number>, input: DeadLettersInput): string {
  const summary = {
    entry: "summary",
    dead_letters: total(counts),
    reasons: Object.fromEntries(inOrder(counts)),
    not_asked_for: input.passedOver,
    other_lines: input.damaged,
  };
  return JSON.stringify(summary) + "\n";
}

function summaryText(counts: ReadonlyMap<DeadLetterReason, number>, input: DeadLettersInput): string {
  const all = total(counts) + input.passedOver;
  const lines = [
    `${counted(total(counts), "dead letter")}${input.passedOver > 0 ? ` of ${all}` : ""}`,
    ...inOrder(counts).map(([reason, count]) => `  ${reason.padEnd(COLUMN)}${count}`),
    ...(input.damaged > 0 ? [`lines that are no dead letters: ${input.damaged}`] : []),
  ];
  return lines.join("\n") + "\n";
}

function inOrder(counts: ReadonlyMap<DeadLetterReason, number>): [DeadLetterReason, number][] {
  return DEAD_LETTER_REASONS.flatMap((reason): [DeadLetterReason, number][] => {
    const count = counts.get(reason);
    return count === undefined ? [] : [[reason, count]];
  });
}

function total(counts: ReadonlyMap<DeadLetterReason, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}
