/**
 * What a message or crossing must be like to be a transition: `{"at": "/_type", "is": ["transition"]}`. All that a condition
 * says must hold, and all conditions of a list.
 *
 * ```
 *   is            one of these: texts, numbers, true, false; null stands for nothing there
 *   is_not        none of these
 *   starts_with   text that begins with one of these
 *   differs_from  another place has something else, or nothing
 * ```
 *
 * Compared is text with text, whole: the number 155 is the same as `"155"`.
 *
 * @module
 */
import { configError, join, showValue } from "../config_fields.ts";
import { asObject, type Place, readList, readPlace, refuseOthers, type Trees } from "./place.ts";

/** A text to compare with, and its UTF-8. */
export interface Word {
  /** As text. */
  readonly text: string;
  /** As UTF-8. */
  readonly bytes: Uint8Array;
}

/** See the module's header. */
export interface Condition {
  /** Where it looks. */
  readonly at: Place;
  /** Null for any; a null among them for nothing there. */
  readonly is: readonly (Word | null)[] | null;
  /** None of these. */
  readonly isNot: readonly (Word | null)[];
  /** Null for any. */
  readonly startsWith: readonly Word[] | null;
  /** Null for none. */
  readonly differsFrom: Place | null;
}

const CONDITIONS_MAX = 16;
const WORDS_MAX = 100;
const OPERATORS = ["is", "is_not", "starts_with", "differs_from"] as const;

const encoder = new TextEncoder();

/** A word of a text. */
export function wordOf(text: string): Word {
  return { text, bytes: encoder.encode(text) };
}

/**
 * Reads a list of conditions; none where nothing is given.
 *
 * @throws {ConfigError} where one of them is none
 */
export function readConditions(value: unknown, key: string, trees: Trees): readonly Condition[] {
  if (value === undefined) return [];
  return readList(value, key, CONDITIONS_MAX).map((condition, i) =>
    readCondition(condition, `${key}[${i}]`, trees)
  );
}

function readCondition(value: unknown, key: string, trees: Trees): Condition {
  const object = asObject(value, key);
  refuseOthers(object, ["at", ...OPERATORS], key);
  if (OPERATORS.every((name) => object[name] === undefined)) {
    throw configError(key, `must have one of ${OPERATORS.join(", ")}`, showValue(value));
  }
  const words = (name: string): readonly (Word | null)[] | null =>
    object[name] === undefined ? null : readWords(object[name], join(key, name));
  const startsWith = words("starts_with");
  if (startsWith?.includes(null) === true) {
    throw configError(join(key, "starts_with"), "must be text", showValue(object["starts_with"]));
  }
  return {
    at: readPlace(object["at"], join(key, "at"), trees),
    is: words("is"),
    isNot: words("is_not") ?? [],
    startsWith: startsWith as readonly Word[] | null,
    differsFrom: object["differs_from"] === undefined
      ? null
      : readPlace(object["differs_from"], join(key, "differs_from"), trees),
  };
}

function readWords(value: unknown, key: string): readonly (Word | null)[] {
  return readList(value, key, WORDS_MAX).map((word, i) => {
    if (word === null) return null;
    if (typeof word === "string" || typeof word === "number" || typeof word === "boolean") {
      return wordOf(String(word));
    }
    throw configError(`${key}[${i}]`, "must be text, a number, true, false or null", showValue(word));
  });
}
