/**
 * A format: how a producer's messages say what a transition says. Read from JSON, checked, and ready for a decoder.
 *
 * ```
 *   { "records": "/regionActions",                          the array of crossings; without it the message is one
 *     "device_id": "/deviceId", "fence_id": "/regionId",
 *     "kind": "/regionActionType", "kinds": {"ENTRY": "ENTER", "EXIT": "EXIT"},
 *     "event_time": {"at": "/timestamp", "unit": "ms"} }
 * ```
 *
 * Where messages have several shapes, or one says two things, `crossings` lists what to look for, each with its own `when`;
 * what stands beside the list holds for all of it. A message or crossing that meets no `when` is no transition: it is
 * counted, and nothing more. Data and no code: there is nothing in it that could run, loop or grow.
 *
 * @module
 */
import { configError, join, showValue } from "../config_fields.ts";
import type { Json } from "../json.ts";
import { type Kind, KIND_HEARTBEAT, KIND_NAMES } from "../kind.ts";
import { type Condition, readConditions, type Word, wordOf } from "./condition.ts";
import {
  asObject,
  type Place,
  readList,
  readPlaces,
  readText,
  refuseOthers,
  steps,
  type Trees,
} from "./place.ts";
import { PointerTree } from "./pointer_tree.ts";

/** What a word means: a kind, or that the message is no transition. */
export type Meaning = Kind | "skip";

/** A word of the producer's, and what it means. */
export interface KindWord extends Word {
  /** See {@link Meaning}. */
  readonly meaning: Meaning;
}

/** A place of a time, and its unit. */
export interface TimePlace {
  /** Where it is. */
  readonly at: Place;
  /** `rfc3339`, or what its numbers count since 1970. */
  readonly unit: TimeUnit;
}

/** See {@link TimePlace}. */
export type TimeUnit = "rfc3339" | "s" | "ms" | "us" | "ns";

/** What one crossing says, and where. */
export interface CrossingMapping {
  /** All must hold. */
  readonly when: readonly Condition[];
  /** The record as a whole, as our own format has it; then nothing below is used. */
  readonly native: readonly Place[];
  /** Places that are tried in turn. */
  readonly device: readonly Place[];
  /** As {@link device}. */
  readonly fence: readonly Place[];
  /** As {@link device}. */
  readonly kind: readonly Place[];
  /** The words for a kind; null for our own. */
  readonly kinds: readonly KindWord[] | null;
  /** What another word means; null where it is refused. */
  readonly otherKinds: "skip" | null;
  /** As {@link device}. */
  readonly eventTime: readonly TimePlace[];
  /** As {@link device}; none where there is none. */
  readonly ingestTime: readonly TimePlace[];
  /** As {@link device}; none where there is none. */
  readonly seq: readonly Place[];
  /** A value as it stands, or values by name. */
  readonly attributes: Place | readonly (readonly [name: string, place: Place])[] | null;
  /** Ids that may be numbers. */
  readonly numberIds: { readonly device: boolean; readonly fence: boolean };
}

/** See the module's header. */
export interface Mapping {
  /** What must hold of a message. */
  readonly when: readonly Condition[];
  /** Slots of the message, and their pointers, that are tried in turn for its crossings; null where it is one itself. */
  readonly records: readonly { readonly slot: number; readonly pointer: string }[] | null;
  /** What is looked for in each crossing, all of it. */
  readonly crossings: readonly CrossingMapping[];
  /** Finds what the places need. */
  readonly trees: Trees;
  /** Whether it needs to know what came along with a message: topic, key and headers. */
  readonly needsContext: boolean;
  /** The finest that times are known, where that is not what their unit says. */
  readonly precision: TimeUnit | null;
}

/** Things that are looked for in one crossing at most. */
export const CROSSINGS_MAX = 16;
const RECORDS_POINTERS_MAX = 4;
const KIND_WORDS_MAX = 200;
const ATTRIBUTES_MAX = 32;
const TIMES_MAX = 8;
const UNITS: readonly TimeUnit[] = ["rfc3339", "s", "ms", "us", "ns"];

const FIELD_KEYS = [
  "when",
  "native",
  "device_id",
  "fence_id",
  "kind",
  "kinds",
  "other_kinds",
  "event_time",
  "ingest_time",
  "seq",
  "attributes",
  "number_ids",
] as const;
const MESSAGE_KEYS = ["message_when", "records", "crossings", "precision"] as const;

/**
 * Reads a mapping.
 *
 * @param key names it in messages
 * @throws {ConfigError} where it can't be used: the key, the reason and the value
 */
export function readMapping(json: unknown, key: string): Mapping {
  const object = asObject(json, key);
  refuseOthers(object, [...MESSAGE_KEYS, ...FIELD_KEYS], key);
  const message = new PointerTree();
  const records = object["records"] === undefined
    ? null
    : readRecords(object["records"], join(key, "records"), message);
  const trees = { message, crossing: records === null ? message : new PointerTree() };
  const { crossings: list, ...common } = object;
  const crossings = list === undefined
    ? [readCrossing(common, key, trees)]
    : readList(list, join(key, "crossings"), CROSSINGS_MAX).map((crossing, i) => {
      const crossingKey = `${join(key, "crossings")}[${i}]`;
      const own = asObject(crossing, crossingKey);
      refuseOthers(own, FIELD_KEYS, crossingKey);
      return readCrossing({ ...common, ...own }, crossingKey, trees);
    });
  // Message conditions look at the message alone: in them a pointer is one of the message's.
  const when = readConditions(object["message_when"], join(key, "message_when"), {
    message,
    crossing: message,
  }).map(ofMessage);
  return {
    when,
    records,
    crossings,
    trees,
    needsContext: /"(?:header|key|topic_segment)":/.test(JSON.stringify(json)),
    precision: readPrecision(object["precision"], join(key, "precision")),
  };
}

function readRecords(value: unknown, key: string, tree: PointerTree): NonNullable<Mapping["records"]> {
  const pointers = Array.isArray(value) ? readList(value, key, RECORDS_POINTERS_MAX) : [value];
  return pointers.map((pointer) => {
    if (typeof pointer !== "string") throw configError(key, "must be a JSON Pointer", showValue(pointer));
    return { slot: tree.add(steps(pointer, key)), pointer };
  });
}

function readCrossing(object: Record<string, unknown>, key: string, trees: Trees): CrossingMapping {
  const places = (name: string): readonly Place[] => {
    const value = object[name];
    return value === undefined || value === null ? [] : readPlaces(value, join(key, name), trees);
  };
  const native = places("native");
  const crossing: CrossingMapping = {
    when: readConditions(object["when"], join(key, "when"), trees),
    native,
    device: places("device_id"),
    fence: places("fence_id"),
    kind: places("kind"),
    kinds: readKinds(object["kinds"], join(key, "kinds")),
    otherKinds: readOtherKinds(object["other_kinds"], join(key, "other_kinds")),
    eventTime: readTimes(object["event_time"], join(key, "event_time"), trees),
    ingestTime: readTimes(object["ingest_time"], join(key, "ingest_time"), trees),
    seq: places("seq"),
    attributes: readAttributes(object["attributes"], join(key, "attributes"), trees),
    numberIds: readNumberIds(object["number_ids"], join(key, "number_ids")),
  };
  if (native.length > 0) {
    const other = FIELD_KEYS.find((name) =>
      name !== "native" && name !== "when" && object[name] !== undefined
    );
    if (other !== undefined) {
      throw configError(join(key, other), "does not go with native", showValue(object[other]));
    }
    for (const place of native) checkPointer(place, join(key, "native"));
    return crossing;
  }
  for (const name of ["kind", "device_id", "fence_id", "event_time"] as const) {
    if (object[name] === undefined || object[name] === null) {
      throw configError(join(key, name), "must say where it is found", "nothing");
    }
  }
  checkConstantKinds(crossing, join(key, "kind"));
  return crossing;
}

function checkPointer(place: Place, key: string): void {
  if (place.type !== "crossing" && place.type !== "message") {
    throw configError(key, "must be a JSON Pointer, since it is a whole record", place.shown);
  }
}

/** A constant that is no kind would make a dead letter of each message. */
function checkConstantKinds({ kind, kinds, otherKinds }: CrossingMapping, key: string): void {
  for (const place of kind) {
    if (place.type !== "const") continue;
    const known = kinds?.map(({ text }) => text) ?? KIND_NAMES.slice(0, KIND_HEARTBEAT);
    if (otherKinds === null && !known.includes(place.text)) {
      throw configError(key, `must be one of ${known.join(", ")}`, JSON.stringify(place.text));
    }
  }
}

function readKinds(value: unknown, key: string): readonly KindWord[] | null {
  if (value === undefined || value === null) return null;
  const entries = Object.entries(asObject(value, key, 'must be an object such as {"enter": "ENTER"}'));
  if (entries.length === 0 || entries.length > KIND_WORDS_MAX) {
    throw configError(key, `must have 1 to ${KIND_WORDS_MAX} words`, String(entries.length));
  }
  return entries.map(([word, name]) => {
    const at = join(key, readText(word, key));
    const kind = KIND_NAMES.slice(0, KIND_HEARTBEAT).findIndex((known) => known === name);
    if (kind < 0 && name !== "SKIP") {
      throw configError(at, "must be ENTER, EXIT, DWELL, STALE or SKIP", showValue(name));
    }
    return { ...wordOf(word), meaning: kind < 0 ? "skip" : kind as Kind };
  });
}

function readOtherKinds(value: unknown, key: string): "skip" | null {
  if (value === undefined || value === "refuse") return null;
  if (value === "skip") return "skip";
  throw configError(key, 'must be "refuse" or "skip"', showValue(value));
}

function readTimes(value: unknown, key: string, trees: Trees): readonly TimePlace[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) return [readTime(value, key, trees)];
  return readList(value, key, TIMES_MAX).map((time, i) => readTime(time, `${key}[${i}]`, trees));
}

function readTime(value: unknown, key: string, trees: Trees): TimePlace {
  if (typeof value === "string") {
    return { at: readPlaces(value, key, trees)[0] as Place, unit: "rfc3339" };
  }
  const object = asObject(
    value,
    key,
    'must be a JSON Pointer or an object such as {"at": "/t", "unit": "ms"}',
  );
  refuseOthers(object, ["at", "unit"], key);
  const { at, unit = "rfc3339" } = object;
  if (Array.isArray(at)) throw configError(join(key, "at"), "must be one place", showValue(at));
  return {
    at: readPlaces(at, join(key, "at"), trees)[0] as Place,
    unit: readUnit(unit, join(key, "unit")),
  };
}

function readUnit(value: unknown, key: string): TimeUnit {
  const unit = UNITS.find((known) => known === value);
  if (unit === undefined) throw configError(key, `must be one of ${UNITS.join(", ")}`, showValue(value));
  return unit;
}

function readPrecision(value: unknown, key: string): TimeUnit | null {
  if (value === undefined || value === null) return null;
  const unit = readUnit(value, key);
  if (unit === "rfc3339") throw configError(key, "must be one of s, ms, us, ns", showValue(value));
  return unit;
}

function readAttributes(value: unknown, key: string, trees: Trees): CrossingMapping["attributes"] {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return readPlaces(value, key, trees)[0] as Place;
  const entries = Object.entries(asObject(value, key, "must be a JSON Pointer or an object of places"));
  if (entries.length === 0 || entries.length > ATTRIBUTES_MAX) {
    throw configError(key, `must have 1 to ${ATTRIBUTES_MAX} names`, String(entries.length));
  }
  return entries.map(([name, place]) => {
    const at = join(key, readText(name, key));
    if (Array.isArray(place)) throw configError(at, "must be one place", showValue(place));
    return [name, readPlaces(place, at, trees)[0] as Place] as const;
  });
}

function readNumberIds(value: unknown, key: string): CrossingMapping["numberIds"] {
  if (value === undefined) return { device: false, fence: false };
  const names = readList(value, key, 2);
  for (const name of names) {
    if (name !== "device_id" && name !== "fence_id") {
      throw configError(key, "must be a list of device_id and fence_id", showValue(name));
    }
  }
  return { device: names.includes("device_id"), fence: names.includes("fence_id") };
}

/** Where only the message is looked at, its pointers are found there. */
function ofMessage(condition: Condition): Condition {
  const { at, differsFrom } = condition;
  return {
    ...condition,
    at: inMessage(at),
    differsFrom: differsFrom === null ? null : inMessage(differsFrom),
  };
}

function inMessage(place: Place): Place {
  switch (place.type) {
    case "crossing":
      return { ...place, type: "message" };
    case "segment":
      return { ...place, of: inMessage(place.of) };
    case "join":
      return { ...place, parts: place.parts.map(inMessage) };
    default:
      return place;
  }
}

/** The mapping as it stands in a configuration. */
export type MappingJson = { readonly [key: string]: Json };
