/**
 * Damages bytes: as a disk, a crash, a person with an editor or somebody hostile would.
 *
 * | by | what |
 * |---|---|
 * | a disk | bits flipped, bytes set, stretches zeroed or swapped |
 * | a crash | cut at the end, cut in the middle, the end of another behind the beginning |
 * | a person | pieces that mean something put in, taken out, doubled |
 * | somebody hostile | lengths that lie, numbers without end, values nested deeper than any stack |
 *
 * @module
 */
import type { Chance } from "../sim/chance.ts";

const encoder = new TextEncoder();

/** Deeper than recursion goes, and still in a record. */
const DEEP = 30_000;
/** One value in so many is nested so deep; it costs a hundred times what another does. */
const DEEP_ONE_IN = 400;

/** Values in JSON that somebody may not have thought of. */
const ODD_VALUES = [
  ...["null", "true", "false", "0", "-0", "1", "-1", "0.1", "1e3", "1E+400", "-1e-400", "[]", "{}", '""'],
  ...["9007199254740993", "18446744073709551616", "9".repeat(400), "1e308", "253402300800000000"],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\u0000"', '"\\ud83d\\ude00"', '"\\u0065"', '"é车🚧"', '"\u2028"'],
  ...[
    '"__proto__"',
    '{"__proto__":{"x":1}}',
    '{"constructor":1}',
    "[[[[]]]]",
    '{"a":{"b":{"c":[1,{"d":null}]}}}',
  ],
  ...[
    `"${"y".repeat(300)}"`,
    `"${"é".repeat(129)}"`,
    '"2026-05-04T08:00:10.250000Z"',
    '"2026-02-30T00:00:00.000000Z"',
  ],
  ...[
    '"9999-12-31T23:59:59.999999Z"',
    '"0000-01-01T00:00:00.000000Z"',
    '"10m"',
    '"1e3s"',
    '"-5s"',
    '"99999999d"',
  ],
];

/** Pieces that mean something anywhere in JSON. */
export const JSON_PIECES: readonly string[] = [
  ...'{}[]":,\\ \t\n\r-+.eE0123456789xTZzn\x00\x7fé🚧',
  ...[
    "\\u0041",
    "\\n",
    "\\x",
    "\\u12",
    "\\ud800",
    "\ufeff",
    "\u0080",
    "//",
    "/*",
    "NaN",
    "Infinity",
    "undefined",
  ],
  ...ODD_VALUES,
];

/** Numbers that lengths and counts lie with. */
const LIES = [0, 1, 0x7f, 0xff, 0x100, 0x7fff, 0xffff, 0x1_0000, 0x7fff_ffff, 0xffff_ffff];
const FLOAT_LIES = [NaN, Infinity, -Infinity, -0, -1, 0.5, 1e308, 5e-324, 2 ** 53, 2 ** 31];

/** Damages bytes in one to three ways; `other` is what a splice takes its end from. */
export function mutateBytes(
  chance: Chance,
  bytes: Uint8Array,
  { other, pieces = [] }: { readonly other: Uint8Array; readonly pieces?: readonly string[] },
): Uint8Array {
  for (let times = chance.between(1, 3); times > 0; times--) {
    bytes = pieces.length > 0 && chance.happens(0.5)
      ? putPiece(chance, bytes, encoder.encode(chance.pick(pieces)))
      : damage(chance, bytes, other);
  }
  return bytes;
}

function putPiece(chance: Chance, bytes: Uint8Array, piece: Uint8Array): Uint8Array {
  const at = chance.below(bytes.length + 1);
  const until = chance.happens(0.5) ? at : Math.min(bytes.length, at + chance.below(20));
  return joined(bytes.subarray(0, at), piece, bytes.subarray(until));
}

function damage(chance: Chance, bytes: Uint8Array, other: Uint8Array): Uint8Array {
  const at = chance.below(bytes.length + 1);
  const until = Math.min(bytes.length, at + chance.between(1, chance.happens(0.2) ? 200 : 8));
  switch (chance.below(9)) {
    case 0:
      return written(bytes, at, (copy) => copy[at] = (copy[at] as number) ^ (1 << chance.below(8)));
    case 1:
      return written(bytes, at, (copy) => copy[at] = chance.below(256));
    case 2:
      return written(bytes, at, (copy) => copy.fill(0, at, until));
    case 3:
      return bytes.slice(0, at);
    case 4:
      return joined(bytes.subarray(0, at), bytes.subarray(until));
    case 5:
      return joined(bytes.subarray(0, until), bytes.subarray(at));
    case 6:
      return joined(bytes.subarray(0, at), other.subarray(chance.below(other.length + 1)));
    case 7:
      return swapped(chance, bytes);
    default:
      return written(bytes, at, (copy) => lie(chance, copy, at));
  }
}

/** Two neighbouring stretches in the other order. */
function swapped(chance: Chance, bytes: Uint8Array): Uint8Array {
  const [a = 0, b = 0, c = 0] = [0, 0, 0].map(() => chance.below(bytes.length + 1)).sort((x, y) => x - y);
  return joined(bytes.subarray(0, a), bytes.subarray(b, c), bytes.subarray(a, b), bytes.subarray(c));
}

function lie(chance: Chance, bytes: Uint8Array, at: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = chance.pick([1, 2, 4, 8]);
  if (at + width > bytes.length) return;
  const number = chance.pick(LIES);
  if (width === 1) view.setUint8(at, number);
  else if (width === 2) view.setUint16(at, number, true);
  else if (width === 4) view.setUint32(at, number, true);
  else view.setFloat64(at, chance.pick(FLOAT_LIES), true);
}

/** Damages the line of a JSON object: the text, or a member's value, name or place, or all at once. */
export function mutateJson(chance: Chance, line: string, other: string): Uint8Array {
  const text = chance.happens(0.6) ? mutateMember(chance, line, other) : line;
  const bytes = encoder.encode(text);
  if (text !== line && chance.happens(0.7)) return bytes;
  return mutateBytes(chance, bytes, { other: encoder.encode(other), pieces: JSON_PIECES });
}

/** A value that may be nested deeper than any stack. */
export function oddValue(chance: Chance): string {
  if (chance.below(DEEP_ONE_IN) > 0) return chance.pick(ODD_VALUES);
  return chance.happens(0.5)
    ? "[".repeat(DEEP) + "]".repeat(DEEP)
    : '{"a":'.repeat(DEEP / 6) + "1" + "}".repeat(DEEP / 6);
}

function mutateMember(chance: Chance, line: string, other: string): string {
  const members = membersOf(line);
  const strangers = membersOf(other);
  if (members.length === 0 || strangers.length === 0) return line;
  for (let times = chance.between(1, 2); times > 0; times--) {
    const at = chance.below(members.length);
    const [name, value] = members[at] ?? ['"a"', "1"];
    switch (chance.below(6)) {
      case 0:
        members.splice(at, 1);
        break;
      case 1:
        members.splice(chance.below(members.length + 1), 0, chance.pick(strangers));
        break;
      case 2:
        members[at] = [chance.pick(strangers)[0], value];
        break;
      case 3:
        members[at] = [name, chance.pick(strangers)[1]];
        break;
      default:
        members[at] = [name, oddValue(chance)];
    }
    if (members.length === 0) break;
  }
  return `{${members.map(([name, value]) => `${name}:${value}`).join(",")}}`;
}

/** The members of an object of which the text is known to be one, as text. */
function membersOf(line: string): [name: string, value: string][] {
  const value = JSON.parse(line) as Record<string, unknown>;
  return Object.entries(value).map(([name, member]) => [JSON.stringify(name), JSON.stringify(member)]);
}

function written(bytes: Uint8Array, at: number, write: (copy: Uint8Array) => void): Uint8Array {
  if (at >= bytes.length) return bytes;
  const copy = bytes.slice();
  write(copy);
  return copy;
}

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
