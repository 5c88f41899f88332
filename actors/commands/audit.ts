/**
 * `fencepost audit FILE…`: reads triggers that were written, whoever wrote them, and says which should not be there.
 *
 * @module
 */
import { Audit } from "../../lib/audit.ts";
import type { AuditFinding, AuditSummary } from "../../lib/audit_finding.ts";
import type { AuditArguments } from "./arguments.ts";
import { counted } from "./counted.ts";
import { UsageError } from "./flags.ts";

/** What the command needs of the process it runs in. */
export interface AuditEnvironment {
  /** The lines of a file, `-` being stdin, without their line ends. */
  readonly readLines: (path: string) => AsyncIterable<Uint8Array>;
  /** Whether two paths lead to the same file. */
  readonly isSameFile: (one: string, other: string) => Promise<boolean>;
  /** Writes to stdout. */
  readonly write: (text: string) => Promise<void>;
}

/**
 * Runs the command.
 *
 * @returns the exit status: 1 where something was found, else 0
 * @throws {UsageError} where a file can't be read or is given twice, or none of the lines is a trigger
 */
export async function audit(
  { paths, bucketUs, limit, json }: Omit<AuditArguments, "command">,
  { readLines, isSameFile, write }: AuditEnvironment,
): Promise<number> {
  await refuseRepeated(paths, isSameFile);
  const report = new Audit(bucketUs);
  let found = 0;
  for (const path of paths) {
    report.beginFile(path);
    for await (const line of readable(path, readLines)) {
      const finding = report.feed(line);
      if (finding === null || ++found > limit) continue;
      await write(json ? JSON.stringify(finding) + "\n" : findingText(finding));
    }
  }
  const summary = report.summary();
  await write(json ? JSON.stringify({ finding: "summary", ...summary }) + "\n" : summaryText(summary, limit));
  if (summary.triggers === 0 && summary.other_lines > 0) {
    throw new UsageError(`Cannot audit ${paths.join(", ")}: there are lines, and none of them is a trigger`);
  }
  return found > 0 ? 1 : 0;
}

/** All triggers of a file that is read twice would be duplicates. */
async function refuseRepeated(
  paths: readonly string[],
  isSameFile: AuditEnvironment["isSameFile"],
): Promise<void> {
  for (const [i, path] of paths.entries()) {
    for (const other of paths.slice(0, i)) {
      if (path === other) throw new UsageError(`${path} is given twice`);
      if (await isSameFile(path, other)) throw new UsageError(`${path} is the same file as ${other}`);
    }
  }
}

async function* readable(path: string, readLines: AuditEnvironment["readLines"]): AsyncIterable<Uint8Array> {
  try {
    yield* readLines(path);
  } catch (cause) {
    throw new UsageError(cause instanceof Error ? cause.message : `Cannot read ${path}`, { cause });
  }
}

/** Ids are quoted, since they may hold anything. */
function findingText(
  { finding, kind, device_id, fence_id, id, first, again, explanation }: AuditFinding,
): string {
  const what = finding === "repeated_id"
    ? `has the id of ${first.file}:${first.line} again`
    : "is suspiciously close";
  const other = finding === "repeated_id" ? "" : ` (${first.file}:${first.line}, ${first.event_time})`;
  const pair = `${JSON.stringify(device_id)} ${JSON.stringify(fence_id)}`;
  return `${again.file}:${again.line} ${what}${other}: ${kind} ${pair} ${again.event_time} ${id}\n  ${explanation}.\n`;
}

function summaryText(
  { triggers, other_lines, repeated_ids, close_pairs }: AuditSummary,
  limit: number,
): string {
  const found = repeated_ids + close_pairs;
  const lines = [
    `${
      counted(triggers, "trigger")
    }: ${repeated_ids} ids that occur again, ${close_pairs} suspiciously close`,
    ...(found > limit ? [`${found - limit} findings are not shown; see --limit`] : []),
    ...(other_lines > 0 ? [`lines that are no triggers: ${other_lines}`] : []),
  ];
  return lines.join("\n") + "\n";
}
