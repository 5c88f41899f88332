/**
 * Reads the cases of `tests/fixtures/cases`: each is a small input and what must come of it, in both orders.
 *
 * @module
 */
import { type Config, parseConfig } from "../../lib/config.ts";

/** The two values of `emit`. */
export const EMIT_ORDERS = ["arrival", "ordered"] as const;

/** One of them. */
export type EmitOrder = (typeof EMIT_ORDERS)[number];

/** What must come out. */
export interface CaseExpectation {
  readonly config: Config;
  /** A set: they have no order. */
  readonly triggers: readonly Readonly<Record<string, unknown>>[];
  readonly deadLetters: readonly { readonly line: number; readonly reason: string }[];
  /** Null where the case does not say. */
  readonly suppressed: number | null;
}

/** A case. */
export interface Case {
  readonly name: string;
  readonly whatHappened: string;
  /** The input without its line ends. */
  readonly lines: readonly string[];
  readonly expected: Readonly<Record<EmitOrder, CaseExpectation>>;
}

/** A wall clock that all cases lie before, in µs: 2026-06-01. */
export const CASES_WALL_US = Date.UTC(2026, 5, 1) * 1000;

/** An object of parsed JSON. */
interface Members {
  readonly [name: string]: unknown;
}

interface CaseFile {
  readonly name: string;
  readonly what_happened: string;
  readonly config: Members;
  readonly expected: Readonly<Record<EmitOrder, ExpectationFile>>;
}

interface ExpectationFile {
  readonly config?: Members;
  readonly triggers: readonly Members[];
  readonly dead_letters: readonly (readonly [line: number, reason: string])[];
  readonly suppressed: number | null;
}

/** Reads them all, in the order of their names. */
export async function loadCases(): Promise<Case[]> {
  const directory = new URL("../fixtures/cases/", import.meta.url);
  const names: string[] = [];
  for await (const { name } of Deno.readDir(directory)) {
    if (name.endsWith(".json")) names.push(name);
  }
  return await Promise.all(names.sort().map((name) => loadCase(directory, name)));
}

async function loadCase(directory: URL, fileName: string): Promise<Case> {
  const file = JSON.parse(await Deno.readTextFile(new URL(fileName, directory))) as CaseFile;
  const input = await Deno.readTextFile(new URL(fileName.replace(/json$/, "ndjson"), directory));
  return {
    name: file.name,
    whatHappened: file.what_happened,
    lines: input.split("\n").slice(0, -1),
    expected: { arrival: expectationOf(file, "arrival"), ordered: expectationOf(file, "ordered") },
  };
}

function expectationOf(file: CaseFile, emit: EmitOrder): CaseExpectation {
  const { config, triggers, dead_letters: deadLetters, suppressed } = file.expected[emit];
  return {
    config: parseConfig([file.config, config ?? {}, { emit }].reduce(overlay)),
    triggers,
    deadLetters: deadLetters.map(([line, reason]) => ({ line, reason })),
    suppressed,
  };
}

/** Lays members over others: objects are merged, all else is replaced. */
function overlay(below: Members, above: Members): Members {
  const merged: Record<string, unknown> = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const beneath = merged[name];
    merged[name] = isMembers(value) && isMembers(beneath) ? overlay(beneath, value) : value;
  }
  return merged;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
