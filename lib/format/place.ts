/**
 * Where a format finds a value: in a message's JSON, in what came along with it, or nowhere, since it is always the same.
 *
 * ```
 *   "/user/id"                                 of the crossing (where there is no `records`, that is the message)
 *   {"message": "/imei"}                       of the message around it
 *   {"header": "x-limit-u"}  {"key": true}     a Kafka or HTTP header, a Kafka record's key
 *   {"topic_segment": 1}                       jane of the MQTT topic owntracks/jane/phone; Kafka's topic has one segment
 *   {"segment": 1, "of": "/topic"}             the same of any other value
 *   {"join": [place, place], "with": "/"}      one text of several, absent where one of them is
 *   {"const": "yard-7"}
 * ```
 *
 * @module
 */
import { configError, join, showValue, unknownKey } from "../config_fields.ts";
import { parsePointer } from "./pointer.ts";
import type { PointerTree } from "./pointer_tree.ts";

/** See the module's header. */
export type Place = { readonly shown: string } & PlaceOf;

/** What a {@link Place} is, without how it is shown. */
export type PlaceOf =
  | { readonly type: "crossing" | "message"; readonly slot: number }
  | { readonly type: "header"; readonly name: string }
  | { readonly type: "key" | "topic" }
  | { readonly type: "segment"; readonly number: number; readonly of: Place }
  | { readonly type: "join"; readonly parts: readonly Place[]; readonly separator: string }
  | { readonly type: "const"; readonly text: string };

/** Where pointers are noted that are to be found: one tree for crossings, one for messages. */
export interface Trees {
  /** Of each crossing. */
  readonly crossing: PointerTree;
  /** Of the message around them; the same one where the message is the crossing. */
  readonly message: PointerTree;
}

/** Texts in a format are at most this long. */
export const TEXT_LENGTH_MAX = 256;
const PARTS_MAX = 8;
const SEGMENTS_MAX = 100;
const DEPTH_MAX = 4;

/** What makes a place of an object: the key that it has. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  message: ["message"],
  header: ["header"],
  key: ["key"],
  topic_segment: ["topic_segment"],
  segment: ["segment", "of"],
  join: ["join", "with"],
  const: ["const"],
};

/**
 * Reads a place.
 *
 * @param key names it in messages
 * @throws {ConfigError} where it is none
 */
export function readPlace(value: unknown, key: string, trees: Trees, depth = 0): Place {
  if (typeof value === "string") {
    return { type: "crossing", slot: trees.crossing.add(steps(value, key)), shown: value };
  }
  const object = asObject(value, key, 'must be a JSON Pointer or an object such as {"header": "name"}');
  if (depth > DEPTH_MAX) throw configError(key, "must not be nested so deep", showValue(value));
  const shown = JSON.stringify(value);
  const [kind, keys] = Object.entries(KEYS).find(([name]) => Object.hasOwn(object, name)) ?? [null, []];
  if (kind === null) {
    throw configError(key, `must have one of ${Object.keys(KEYS).join(", ")}`, showValue(value));
  }
  refuseOthers(object, keys, key);
  const given = object[kind];
  const at = join(key, kind);
  switch (kind) {
    case "message":
      if (typeof given !== "string") throw configError(at, "must be a JSON Pointer", showValue(given));
      return { type: "message", slot: trees.message.add(steps(given, at)), shown };
    case "header":
      return { type: "header", name: readText(given, at), shown };
    case "key":
      if (given !== true) throw configError(at, "must be true", showValue(given));
      return { type: "key", shown };
    case "const":
      return { type: "const", text: readText(given, at), shown };
    case "topic_segment":
      return { type: "segment", number: readNumber(given, at), of: { type: "topic", shown }, shown };
    case "segment": {
      const of = readPlace(object["of"], join(key, "of"), trees, depth + 1);
      return { type: "segment", number: readNumber(given, at), of, shown };
    }
    default: {
      const parts = readList(given, at, PARTS_MAX).map((part, i) =>
        readPlace(part, `${at}[${i}]`, trees, depth + 1)
      );
      return { type: "join", parts, separator: readText(object["with"], join(key, "with")), shown };
    }
  }
}

/** Reads a place, or a list of them that are tried in turn. */
export function readPlaces(value: unknown, key: string, trees: Trees): readonly Place[] {
  if (!Array.isArray(value)) return [readPlace(value, key, trees)];
  return readList(value, key, PARTS_MAX).map((place, i) => readPlace(place, `${key}[${i}]`, trees));
}

/** A pointer's steps. */
export function steps(pointer: string, key: string): readonly string[] {
  const found = parsePointer(pointer);
  if (found !== null) return found;
  throw configError(
    key,
    'must be a JSON Pointer ("/a/b", with ~1 for a slash in a name)',
    showValue(pointer),
  );
}

/** An object's members; `JSON.parse` makes `__proto__` one like any other. */
export function asObject(value: unknown, key: string, reason = "must be an object"): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    return value as Record<string, unknown>;
  }
  throw configError(key, reason, showValue(value));
}

/** Refuses keys that nothing knows. */
export function refuseOthers(
  object: Readonly<Record<string, unknown>>,
  known: readonly string[],
  key: string,
): void {
  for (const name of Object.keys(object)) {
    if (!known.includes(name)) throw unknownKey(join(key, name), known, key, showValue(object[name]));
  }
}

/** A list with at least one entry. */
export function readList(value: unknown, key: string, lengthMax: number): readonly unknown[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > lengthMax) {
    throw configError(key, `must be a list of 1 to ${lengthMax} entries`, showValue(value));
  }
  return value;
}

/** Text that is not empty. */
export function readText(value: unknown, key: string): string {
  if (typeof value === "string" && value !== "" && value.length <= TEXT_LENGTH_MAX && value.isWellFormed()) {
    return value;
  }
  throw configError(key, `must be text of 1 to ${TEXT_LENGTH_MAX} characters`, showValue(value));
}

function readNumber(value: unknown, key: string): number {
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value < SEGMENTS_MAX) {
    return value;
  }
  throw configError(key, `must be a whole number from 0 to ${SEGMENTS_MAX - 1}`, showValue(value));
}
