/**
 * What should have come out of a round over files, and what did: the oracle over the input against the output and the
 * dead letters, each with all that it says; and what a reader of stdout has got is a part of that.
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { parseConfig } from "../../lib/config.ts";
import { decodeDeadLetter } from "../../lib/dead_letter_line.ts";
import { RECORD_BYTES_MAX } from "../../lib/decoded_transition.ts";
import { differencesOf, triggerText } from "../sim/comparison.ts";
import { makeOracle } from "../sim/oracle.ts";
import { linesOf } from "../support/fencepost_process.ts";
import type { FileWorld } from "./file_world.ts";
import type { Verdict } from "./verdict.ts";

const LINE_END = 0x0a;

/** See the module's header. */
export async function judgeFiles(
  { files, input, config }: FileWorld,
  received: readonly string[],
): Promise<Verdict> {
  const oracle = await makeOracle();
  const lines = linesIn(input);
  const said = oracle(parseConfig(config), lines, { atEof: "flush", wallUs: Date.now() * 1000 });
  const expected = said.triggers.map(triggerText);
  const output = await linesOf(files.output);
  const letters = await linesOf(files.deadLetters);
  const sum = {
    records: lines.length,
    triggers: output.length,
    deadLetters: letters.length,
    differences: 0,
    report: "",
  };
  const compare = (actual: readonly string[], expected: readonly string[], where: string): void => {
    const { count, text } = differencesOf(actual, expected);
    sum.differences += count;
    if (count > 0) sum.report += `${where}:\n${text}\n`;
  };
  compare(output.map(textOfLine), expected, "triggers");
  compare(
    letters.map(textOfLetter),
    said.deadLetters.map(({ line, reason }) => letterText(reason, line, lines[line - 1] as Uint8Array)),
    "dead letters",
  );
  const known = new Set(expected);
  const strange = received.map(textOfLine).filter((text) => !known.has(text));
  compare(strange, [], "what came out of stdout");
  return sum;
}

function linesIn(input: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = [];
  for (let start = 0; start < input.length;) {
    const end = input.indexOf(LINE_END, start);
    lines.push(input.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

function textOfLine(line: string): string {
  try {
    return triggerText(JSON.parse(line) as object);
  } catch {
    return `no JSON: ${line}`;
  }
}

function textOfLetter(line: string): string {
  const letter = decodeDeadLetter(new TextEncoder().encode(line));
  if ("damage" in letter) return `The line ${letter.damage}: ${line}`;
  const { line: number } = letter.position as { readonly line: number };
  return letterText(letter.reason, number, letter.record);
}

/** Of a record that is too large only the beginning is kept. */
function letterText(reason: string, line: number, record: Uint8Array): string {
  return `${line} ${reason} ${Buffer.from(record).subarray(0, RECORD_BYTES_MAX).toString("base64")}`;
}
