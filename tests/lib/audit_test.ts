import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { Audit } from "../../lib/audit.ts";
import type { AuditCause, AuditFinding } from "../../lib/audit_finding.ts";
import { formatTimestamp } from "../../lib/time.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();
const BUCKET_US = 2_000_000;
/** The start of a bucket. */
const START_US = 1_777_881_600_000_000;

interface Line {
  readonly id?: string;
  readonly kind?: string;
  readonly device_id?: string;
  readonly fence_id?: string;
  /** µs after the start of the bucket. */
  readonly at?: number;
  readonly dwell_s?: number;
  readonly revises?: string;
  readonly seq?: string;
  readonly beyond_window?: boolean;
}

/** A trigger's line; the id is spelled out of a short name. */
function line({ id = "a", at = 0, ...rest }: Line): Uint8Array {
  const fields = { kind: "ENTER", device_id: "truck-7", fence_id: "depot-3", ...rest };
  return encoder.encode(
    JSON.stringify({ id: idOf(id), ...fields, event_time: formatTimestamp(START_US + at) }),
  );
}

function idOf(name: string): string {
  return Array.from(encoder.encode(name), (byte) => byte.toString(16)).join("").padStart(32, "0");
}

function findingsIn(files: readonly (readonly Uint8Array[])[], bucketUs = BUCKET_US): AuditFinding[] {
  const audit = new Audit(bucketUs);
  return files.flatMap((lines, index) => {
    audit.beginFile(`file-${index}`);
    return lines.map((bytes) => audit.feed(bytes)).filter((finding) => finding !== null);
  });
}

Deno.test("Audit: a finding says what, where and why", () => {
  const [finding, ...others] = findingsIn([[
    line({}),
    line({ id: "b", fence_id: "other" }),
    line({ kind: "ENTER", seq: "7" }),
  ]]);
  deepStrictEqual(others, []);
  deepStrictEqual({ ...finding, explanation: "" }, {
    finding: "repeated_id",
    kind: "ENTER",
    device_id: "truck-7",
    fence_id: "depot-3",
    id: idOf("a"),
    first: { file: "file-0", line: 1, event_time: "2026-05-04T08:00:00.000000Z" },
    again: { file: "file-0", line: 3, event_time: "2026-05-04T08:00:00.000000Z" },
    cause: "written_again",
    explanation: "",
  });
});

Deno.test("Audit: a close pair names both ids", () => {
  const [finding] = findingsIn([[line({ at: 1_900_000 })], [line({ id: "b", at: 2_300_000 })]]);
  strictEqual(finding?.finding, "close_pair");
  strictEqual(finding.first_id, idOf("a"));
  strictEqual(finding.id, idOf("b"));
  deepStrictEqual(finding.first, { file: "file-0", line: 1, event_time: "2026-05-04T08:00:01.900000Z" });
  strictEqual(finding.explanation.startsWith("They are 400ms apart, in neighbouring buckets."), true);
});

/** Two triggers, and what is to be said of the second. */
const CAUSES: [string, Line, Line, AuditCause | null][] = [
  ["the same line again", {}, {}, "written_again"],
  ["just within a bucket's width", {}, { at: BUCKET_US - 1 }, "written_again"],
  ["a bucket or more apart: one id can't be", {}, { at: BUCKET_US }, "key"],
  ["another pair with the id", {}, { device_id: "truck-8" }, "key"],
  ["another fence with the id", {}, { fence_id: "depot-4" }, "key"],
  ["another kind with the id", {}, { kind: "EXIT" }, "key"],
  ["a DWELL of ours with the id of one passed on", { kind: "DWELL" }, { kind: "DWELL", dwell_s: 60 }, "key"],
  [
    "a DWELL by another threshold",
    { kind: "DWELL", dwell_s: 60 },
    { kind: "DWELL", dwell_s: 90 },
    "written_again",
  ],
  ["late beyond the window", {}, { beyond_window: true }, "ttl"],
  ["the first one beyond the window", { beyond_window: true }, {}, "written_again"],
  ["a seq again, close by", { seq: "7" }, { seq: "7" }, "written_again"],
  ["a seq again, much later", { seq: "7" }, { seq: "7", at: 86_400_000_000 }, "seq_reused"],
  ["in one bucket with different ids", {}, { id: "b", at: 1_999_999 }, "other_widths"],
  ["at one time with different ids", {}, { id: "b" }, "other_widths"],
  ["across a boundary", { at: 1_999_999 }, { id: "b", at: 2_000_000 }, "jitter"],
  ["across a boundary, the later one first", { at: 2_000_000 }, { id: "b", at: 1_999_999 }, "jitter"],
  ["just closer than a bucket", { at: 500_000 }, { id: "b", at: 500_000 + BUCKET_US - 1 }, "jitter"],
  ["a bucket apart", { at: 500_000 }, { id: "b", at: 500_000 + BUCKET_US }, null],
  ["a bucket apart, the later one first", { at: 500_000 + BUCKET_US }, { id: "b", at: 500_000 }, null],
  ["close, another device", {}, { id: "b", device_id: "truck-8" }, null],
  ["close, another fence", {}, { id: "b", fence_id: "depot-4" }, null],
  ["close, another kind", {}, { id: "b", kind: "EXIT" }, null],
  ["close, ids that join to the same text", { device_id: "a|", fence_id: "b" }, {
    id: "b",
    device_id: "a",
    fence_id: "|b",
  }, null],
  ["close, both with seqs", { seq: "1" }, { id: "b", seq: "2" }, null],
  ["close, one with a seq", { seq: "1" }, { id: "b" }, "seq_on_one"],
  ["close, the other one with a seq", {}, { id: "b", seq: "1", at: 2_000_000 - 1 }, "seq_on_one"],
  ["two thresholds of one visit", { kind: "DWELL", dwell_s: 60 }, {
    id: "b",
    kind: "DWELL",
    dwell_s: 61,
    at: 1_000_000,
  }, null],
  ["one threshold, close", { kind: "DWELL", dwell_s: 60 }, {
    id: "b",
    kind: "DWELL",
    dwell_s: 60,
    at: 2_000_000 - 1,
  }, "other_widths"],
  ["a DWELL and its RETRACT", { kind: "DWELL", dwell_s: 60 }, {
    id: "b",
    kind: "RETRACT",
    revises: idOf("a"),
  }, null],
  ["two DWELLs' RETRACTs", { kind: "RETRACT", revises: idOf("x") }, {
    id: "b",
    kind: "RETRACT",
    revises: idOf("y"),
  }, null],
  ["one DWELL's RETRACTs", { kind: "RETRACT", revises: idOf("x") }, {
    id: "b",
    kind: "RETRACT",
    revises: idOf("x"),
  }, "other_widths"],
];

for (const [name, first, second, cause] of CAUSES) {
  Deno.test(`Audit: ${name}`, () => {
    deepStrictEqual(
      findingsIn([[line(first), line(second)]]).map((finding) => finding.cause),
      cause === null ? [] : [cause],
    );
  });
}

Deno.test("Audit: an id in two files was written by two", () => {
  const findings = findingsIn([[line({}), line({ id: "b", fence_id: "x" })], [], [
    line({ id: "b", fence_id: "x" }),
    line({}),
  ]]);
  deepStrictEqual(
    findings.map(({ cause, first, again }) => [cause, first.file, first.line, again.file, again.line]),
    [
      ["two_writers", "file-0", 2, "file-2", 1],
      ["two_writers", "file-0", 1, "file-2", 2],
    ],
  );
});

Deno.test("Audit: lines that are no triggers are counted, blank ones are not", () => {
  const audit = new Audit(BUCKET_US);
  audit.beginFile("f");
  const lines = ["", "not json", "{}", "null", '{"id":"xyz"}', '{"reason":"LATE"}', "\xff"];
  for (const text of lines) {
    strictEqual(audit.feed(Uint8Array.from(text, (letter) => letter.charCodeAt(0))), null);
  }
  audit.feed(line({}));
  const finding = audit.feed(line({}));
  strictEqual(finding?.again.line, lines.length + 2);
  deepStrictEqual(audit.summary(), {
    triggers: 2,
    other_lines: 6,
    repeated_ids: 1,
    close_pairs: 0,
    causes: { written_again: 1 },
  });
});

Deno.test("Audit: agrees with comparing all with all", () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomFrom(seed);
    const below = (count: number): number => Math.floor(random() * count);
    const lines = Array.from(
      { length: 200 },
      (): Required<Pick<Line, "id" | "device_id" | "kind" | "at">> => ({
        id: `${below(300)}`,
        device_id: `d${below(5)}`,
        kind: below(2) === 0 ? "ENTER" : "EXIT",
        at: below(60) * 700_000 + below(3),
      }),
    );
    const expected: (string | null)[] = [];
    const kept: typeof lines = [];
    for (const next of lines) {
      const repeats = kept.some((one) => one.id === next.id);
      const distances = kept
        .filter((one) => one.device_id === next.device_id && one.kind === next.kind)
        .map((one) => Math.abs(one.at - next.at));
      const closest = Math.min(Infinity, ...distances);
      expected.push(repeats ? "repeated_id" : closest < BUCKET_US ? `close_pair by ${closest}` : null);
      if (!repeats) kept.push(next);
    }
    const audit = new Audit(BUCKET_US);
    audit.beginFile("f");
    const found = lines.map((next) => {
      const finding = audit.feed(line(next));
      if (finding === null || finding.finding === "repeated_id") return finding?.finding ?? null;
      const first = lines[finding.first.line - 1];
      return `close_pair by ${Math.abs((first?.at ?? NaN) - next.at)}`;
    });
    deepStrictEqual(found, expected, `seed ${seed}`);
  }
});

Deno.test("Audit: thousands of one pair within one bucket", () => {
  const audit = new Audit(BUCKET_US);
  audit.beginFile("f");
  let found = 0;
  for (let i = 0; i < 20_000; i++) if (audit.feed(line({ id: `${i}`, seq: `${i}`, at: i })) !== null) found++;
  strictEqual(found, 0);
  strictEqual(audit.feed(line({ id: "none" }))?.cause, "seq_on_one");
  strictEqual(audit.feed(line({ id: "777" }))?.first.line, 778);
});
