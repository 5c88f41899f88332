/**
 * What one raw line says, read by SPEC 1 alone: the oracle's own decoder, which shares nothing with `lib/`.
 *
 * The text is cut into tokens, so that each member is there twice: parsed, and as it was written, without whitespace.
 * The second is what digits past 2^53 and the size of `attributes` are read from. All times are fractions with a power
 * of ten below them, in BigInt: nothing is rounded before the one floor to the microsecond.
 *
 * Where the page leaves a choice:
 * - A heartbeat's ids are not looked at, its times, `seq` and `attributes` are.
 * - A negative integer is a number whose value is one: a valid time, which is too old. As a string it is not digits.
 * - `attributes` without whitespace are counted as they were written: `\u0041` has six bytes.
 * - `Z` may be lower case, as in RFC 3339.
 *
 * @module
 */

/** The kinds of SPEC 1. */
export type OracleKind = "ENTER" | "EXIT" | "DWELL" | "STALE" | "HEARTBEAT";

/** What a record says. */
export interface OracleReading {
  readonly kind: OracleKind;
  /** Empty for a heartbeat. */
  readonly deviceId: string;
  /** Empty for a heartbeat. */
  readonly fenceId: string;
  readonly eventTimeUs: number;
  /** Null where the record does not say. */
  readonly ingestTimeUs: number | null;
  /** `7` for 7 and for `"7"`. */
  readonly seq: string | null;
  /** Parsed; undefined where there are none. */
  readonly attributes: unknown;
  /** `seq` or `attributes` break a rule, which is told only after the times have been checked against the clocks. */
  readonly invalidField: boolean;
}

/** A member: what it is, and how it was written. */
interface Member {
  readonly value: unknown;
  readonly source: string;
}

/** A time: `units` of 10^−`digits` s. */
interface Fraction {
  readonly units: bigint;
  readonly digits: number;
}

const KINDS = new Map<string, OracleKind>([
  ["ENTER", "ENTER"],
  ["E", "ENTER"],
  ["EXIT", "EXIT"],
  ["X", "EXIT"],
  ["DWELL", "DWELL"],
  ["D", "DWELL"],
  ["STALE", "STALE"],
  ["HEARTBEAT", "HEARTBEAT"],
]);
const UNITS: readonly (readonly [suffix: string, digits: number])[] = [["", 0], ["_ms", 3], ["_us", 6], [
  "_ns",
  9,
]];
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;
const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Reads a line without its line end; what comes back as a string is the dead letter's reason. */
export function readOracleRecord(bytes: Uint8Array): OracleReading | string {
  if (bytes.length > 65_536) return "TOO_LARGE";
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return "INVALID_UTF8";
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "NOT_AN_OBJECT";
  } catch {
    return "MALFORMED_JSON";
  }
  const members = membersOf(text);

  const kindName = members.get("kind")?.value ?? null;
  if (kindName === null) return "MISSING_FIELD";
  if (typeof kindName !== "string" || !/^[A-Za-z]+$/.test(kindName)) return "INVALID_KIND";
  const kind = KINDS.get(kindName.toUpperCase());
  if (kind === undefined) return "INVALID_KIND";

  const ids = ["", ""];
  if (kind !== "HEARTBEAT") {
    for (const [i, name] of ["device_id", "fence_id"].entries()) {
      const id = members.get(name)?.value ?? null;
      if (id === null) return "MISSING_FIELD";
      if (typeof id !== "string" || !isText(id, 256)) return "INVALID_ID";
      ids[i] = id;
    }
  }

  const eventTime = timeOf(members, "event_time");
  if (eventTime === "absent") return "MISSING_FIELD";
  if (eventTime === "invalid") return "INVALID_TIME";
  const ingestTime = timeOf(members, "ingest_time");
  if (ingestTime === "invalid") return "INVALID_TIME";

  const seq = seqOf(members.get("seq")?.value ?? null);
  const attributes = members.get("attributes");
  const hasAttributes = attributes !== undefined && attributes.value !== null;
  const attributesBytes = hasAttributes ? new TextEncoder().encode(attributes.source).length : 0;
  return {
    kind,
    deviceId: ids[0] as string,
    fenceId: ids[1] as string,
    eventTimeUs: eventTime,
    ingestTimeUs: ingestTime === "absent" ? null : ingestTime,
    seq: seq === "invalid" ? null : seq.text,
    attributes: hasAttributes ? attributes.value : undefined,
    invalidField: seq === "invalid" || attributesBytes > 16_384,
  };
}

/** The members of an object that `JSON.parse` has accepted; of several with one name the last. */
function membersOf(text: string): Map<string, Member> {
  const tokens = text.match(TOKEN) ?? [];
  const members = new Map<string, Member>();
  let depth = 0;
  let name: string | null = null;
  let source = "";
  for (const token of tokens) {
    if (depth === 1 && (token === "," || token === "}")) {
      if (name !== null) members.set(name, { value: JSON.parse(source) as unknown, source });
      name = null;
      source = "";
    } else if (depth === 1 && name === null) {
      name = JSON.parse(token) as string;
      source = "";
    } else if (depth > 1 || depth === 1 && token !== ":") {
      source += token;
    }
    if (token === "{" || token === "[") depth++;
    if (token === "}" || token === "]") depth--;
  }
  return members;
}

function isText(text: string, bytesMax: number): boolean {
  const byteLength = new TextEncoder().encode(text).length;
  return text.isWellFormed() && byteLength >= 1 && byteLength <= bytesMax;
}

function seqOf(seq: unknown): { text: string | null } | "invalid" {
  if (seq === null) return { text: null };
  if (typeof seq === "number" && Number.isSafeInteger(seq) && seq >= 0) return { text: String(seq) };
  if (typeof seq === "string" && isText(seq, 64)) return { text: seq };
  return "invalid";
}

/** The time that `name`, `name_ms`, `name_us` and `name_ns` agree on, in µs. */
function timeOf(members: Map<string, Member>, name: string): number | "absent" | "invalid" {
  const times: Fraction[] = [];
  for (const [suffix, digits] of UNITS) {
    const member = members.get(name + suffix);
    if (member === undefined) continue;
    if (member.value === null && name === "ingest_time") continue;
    const time = suffix === "" ? rfc3339(member.value) : integer(member, digits);
    if (time === null) return "invalid";
    times.push(time);
  }
  for (const one of times) {
    for (const other of times) {
      const digits = Math.min(one.digits, other.digits);
      if (floorTo(one, digits) !== floorTo(other, digits)) return "invalid";
    }
  }
  const finest = times.toSorted((a, b) => b.digits - a.digits)[0];
  if (finest === undefined) return "absent";
  return Number(floorTo(finest, 6));
}

function integer({ value, source }: Member, digits: number): Fraction | null {
  if (typeof value === "string") return /^\d{1,20}$/.test(value) ? { units: BigInt(value), digits } : null;
  if (typeof value !== "number") return null;
  if (/^-?\d+$/.test(source)) return { units: BigInt(source), digits };
  return Number.isSafeInteger(value) ? { units: BigInt(value), digits } : null;
}

function rfc3339(value: unknown): Fraction | null {
  const match = typeof value === "string" ? RFC_3339.exec(value) : null;
  if (match === null) return null;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const [fraction = "", sign = "+", offsetHour = "00", offsetMinute = "00"] = match.slice(7);
  if (hour > 23 || minute > 59 || second > 59 || Number(offsetHour) > 23 || Number(offsetMinute) > 59) {
    return null;
  }
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null;
  const offsetS = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60 * (sign === "-" ? -1 : 1);
  const seconds = date.getTime() / 1000 + hour * 3600 + minute * 60 + second - offsetS;
  const digits = fraction.length;
  return {
    units: BigInt(seconds) * 10n ** BigInt(digits) + BigInt(fraction === "" ? "0" : fraction),
    digits,
  };
}

/** A time in whole units of 10^−`digits` s, rounded down. */
function floorTo(time: Fraction, digits: number): bigint {
  if (digits >= time.digits) return time.units * 10n ** BigInt(digits - time.digits);
  const divisor = 10n ** BigInt(time.digits - digits);
  const quotient = time.units / divisor;
  return time.units < 0n && quotient * divisor !== time.units ? quotient - 1n : quotient;
}
