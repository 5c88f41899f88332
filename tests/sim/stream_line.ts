/**
 * Generated records as raw lines: one crossing in any of the ways in which SPEC 1 lets it be written, and lines that
 * break its rules.
 *
 * @module
 */
import type { Chance } from "./chance.ts";

/** What a line is to say. */
export interface Draft {
  readonly kind: "ENTER" | "EXIT" | "DWELL" | "STALE" | "HEARTBEAT";
  readonly deviceId: string;
  readonly fenceId: string;
  readonly eventUs: number;
  readonly seq: string | null;
  /** JSON, or null for none. */
  readonly attributes: string | null;
}

/** How lines of a stream are written. */
export interface LineStyle {
  /** All in one plain way, or in every way there is. */
  readonly spelling: "plain" | "varied";
}

/** Writes a draft as a line; of two lines of one draft only the ingest time and the spelling differ. */
export function writeLine(chance: Chance, style: LineStyle, draft: Draft, ingestUs: number | null): string {
  const isVaried = style.spelling === "varied";
  const members: string[] = [];
  if (draft.kind !== "HEARTBEAT" || (isVaried && chance.happens(0.5))) {
    members.push(`"device_id":${JSON.stringify(draft.deviceId)}`);
    members.push(`"fence_id":${JSON.stringify(draft.fenceId)}`);
  }
  members.push(`"kind":"${isVaried ? spellKind(chance, draft.kind) : draft.kind}"`);
  members.push(spellTime(chance, style, "event_time", draft.eventUs));
  if (ingestUs !== null) members.push(spellTime(chance, style, "ingest_time", ingestUs));
  if (draft.seq !== null) {
    const isNumber = /^(0|[1-9]\d*)$/.test(draft.seq) && chance.happens(0.5);
    members.push(`"seq":${isNumber ? draft.seq : JSON.stringify(draft.seq)}`);
  }
  if (draft.attributes !== null) members.push(`"attributes":${draft.attributes}`);
  if (!isVaried) return `{${members.join(",")}}`;
  if (chance.happens(0.1)) members.push(`"unknown":{"kind":"EXIT","seq":[1,2]}`);
  if (draft.seq === null && chance.happens(0.1)) members.push('"seq":null');
  const space = chance.pick(["", "", " ", "\t"]);
  // Of two members of one name the last is taken.
  const overruled = chance.happens(0.1) ? '"kind":"STALE",' : "";
  return `{${space}${overruled}${chance.shuffled(members).join(`,${space}`)}}`;
}

/** A line that must become a dead letter, or a record at a bound that only just need not. */
export function writePoison(chance: Chance, draft: Draft, now: { ingestUs: number; wallUs: number }): string {
  const time = `"event_time_us":${draft.eventUs}`;
  const ids = `"device_id":${JSON.stringify(draft.deviceId)},"fence_id":${JSON.stringify(draft.fenceId)}`;
  const ingest = `"ingest_time_us":${now.ingestUs}`;
  return chance.pick([
    `{${ids},"kind":"ENTER"`,
    "null",
    "[]",
    '"ENTER"',
    `{${ids},${time}}`,
    `{${ids},"kind":"INSIDE",${time}}`,
    `{${ids},"kind":"\u017ftale",${time}}`,
    `{${ids},"kind":7,${time}}`,
    `{"device_id":"","fence_id":"f0","kind":"EXIT",${time}}`,
    `{"device_id":null,"fence_id":"f0","kind":"EXIT",${time}}`,
    `{"device_id":"\\ud800","fence_id":"f0","kind":"EXIT",${time}}`,
    `{"device_id":"${"é".repeat(129)}","fence_id":"f0","kind":"EXIT",${time}}`,
    `{${ids},"kind":"EXIT"}`,
    `{${ids},"kind":"EXIT","event_time":${draft.eventUs}}`,
    `{${ids},"kind":"EXIT","event_time":null,${time}}`,
    `{${ids},"kind":"EXIT","event_time_ms":${Math.floor(draft.eventUs / 1000) + 1},${time}}`,
    `{${ids},"kind":"EXIT",${time},"ingest_time":"2026-02-30T00:00:00Z"}`,
    `{${ids},"kind":"EXIT","event_time":"1999-12-31T23:59:59.999999Z",${ingest}}`,
    `{${ids},"kind":"EXIT",${time},${ingest},"seq":-1}`,
    `{${ids},"kind":"EXIT",${time},${ingest},"seq":"${"x".repeat(65)}"}`,
    `{${ids},"kind":"EXIT","event_time_us":1,${ingest},"seq":1.5}`,
    `{${ids},"kind":"EXIT",${time},${ingest},"attributes":"${"a".repeat(16_383)}"}`,
    `{${ids},"kind":"HEARTBEAT",${time},"ingest_time_us":${now.wallUs + 301_000_000}}`,
    `{${ids},"kind":"EXIT","event_time_us":${now.wallUs + 301_000_000}}`,
    `{${ids},"kind":"EXIT",${time},"unknown":"${"a".repeat(65_536)}"}`,
  ]);
}

/** Attributes: any JSON, digits past 2^53 not among them, since a parsed trigger could not show them. */
export function drawAttributes(chance: Chance): string {
  return chance.pick([
    '{"speed":3.5}',
    "[1, 2, {}]",
    '"note \\u0041 \\" é"',
    "0",
    "false",
    '{ "nested" : { "a" : [ null , true ] } }',
  ]);
}

function spellKind(chance: Chance, kind: Draft["kind"]): string {
  const short = { ENTER: "E", EXIT: "x", DWELL: "d", STALE: "Stale", HEARTBEAT: "heartBeat" }[kind];
  return chance.pick([kind, kind, kind.toLowerCase(), short]);
}

function spellTime(chance: Chance, style: LineStyle, name: string, us: number): string {
  const spellings = [`"${name}":"${iso(us)}Z"`];
  if (style.spelling === "varied") {
    spellings.push(`"${name}":"${iso(us + 5400_000_000).replace("T", " ")}+01:30"`);
    spellings.push(`"${name}":"${iso(us - 3600_000_000).replace("T", "t")}999-01:00"`);
    spellings.push(`"${name}_us":${us}`, `"${name}_us":"${us}"`);
    spellings.push(`"${name}_ns":${us}999`, `"${name}_ns":"${us}000"`);
    spellings.push(`"${name}_ns":${us}500,"${name}_ms":${Math.floor(us / 1000)}`);
    if (us % 1000 === 0) spellings.push(`"${name}_ms":${us / 1000}`, `"${name}_ms":${us / 1000}.0`);
  }
  return chance.pick(spellings);
}

/** Without the offset, with six digits. */
function iso(us: number): string {
  return new Date(Math.floor(us / 1000)).toISOString().slice(0, -1) + String(us % 1000).padStart(3, "0");
}
