/**
 * How one value of the configuration is read from JSON, checked, and written back.
 *
 * ```
 *   const SCHEMA: Schema<Config> = section({
 *     partitions: count("partitions", 16, { min: 1, max: 1024 }),
 *     dwell: section("dwell", { latenessUs: duration("lateness", "5s", …), … }),
 *               ▲                    ▲                  ▲        ▲
 *          key in Config         key in JSON       unit: µs   default
 *   })
 * ```
 *
 * A table rather than code, so that names, defaults, bounds, unknown keys, reading and printing can't drift apart; typed
 * by what it makes, so that a key of `Config` without its line does not compile. By hand and not by a schema library,
 * because these five kinds of values are all there is, and their messages are half of the work.
 *
 * Everything has an upper bound, even where it is generous: `ttl: 7000d` is a slip, not a wish.
 *
 * @module
 */
import type { Json } from "./json.ts";
import { nearest } from "./nearest.ts";
import { clipJson } from "./refusal.ts";
import { formatDuration, parseDuration } from "./time.ts";

/** The configuration can't be used. The message names the key, the reason and the value. */
export class ConfigError extends Error {
  /** The class's name. */
  override readonly name = "ConfigError";
}

/** Makes the error for a key: `Cannot read config: dwell.lateness must be below the smallest threshold, got 12m`. */
export function configError(key: string, reason: string, value: string): ConfigError {
  return new ConfigError(`Cannot read config: ${key} ${reason}, got ${value}`);
}

/** One key of the configuration. */
export interface Field<Value> {
  /** Its name in JSON. */
  readonly name: string;
  /** What holds where it is not given; undefined where it must be. */
  readonly fallback: Json | undefined;
  /** The keys below this one, by name; null for a value. */
  readonly fields: ReadonlyMap<string, Field<unknown>> | null;
  /**
   * Makes the value of what is given.
   *
   * @param key the dotted key, for messages
   * @throws {ConfigError} where it is of the wrong type or out of bounds
   */
  read(value: unknown, key: string): Value;
  /** Makes JSON that {@link read} reads as the same value. */
  write(value: Value): Json;
}

/** A field for each key of what is made. */
export type Fields<Value> = { readonly [Key in keyof Value]: Field<Value[Key]> };

/** Inclusive bounds. */
export interface Bounds<Value> {
  /** The least value. */
  readonly min: Value;
  /** The greatest value. */
  readonly max: Value;
}

/** A value as it is shown in a message: its JSON, clipped. */
export function showValue(value: unknown): string {
  return value === undefined ? "nothing" : clipJson(value);
}

/** An object with known keys. What is not given is taken from the fallbacks; what is not known is an error. */
export function section<Value extends object>(name: string, fields: Fields<Value>): Field<Value> {
  const entries = Object.entries(fields) as [keyof Value & string, Field<unknown>][];
  const byName = new Map(entries.map(([, field]) => [field.name, field]));
  return {
    name,
    fields: byName,
    fallback: Object.fromEntries(
      entries.flatMap(([, field]) => field.fallback === undefined ? [] : [[field.name, field.fallback]]),
    ),
    read(value, key) {
      if (typeof value !== "object" || value === null || Array.isArray(value)) {
        if (key === "") {
          throw new ConfigError(`Cannot read config: it must be an object, got ${showValue(value)}`);
        }
        throw configError(key, "must be an object", showValue(value));
      }
      const given = new Map<string, unknown>(Object.entries(value));
      for (const [givenName, part] of given) {
        if (!byName.has(givenName)) {
          throw unknownKey(join(key, givenName), byName.keys(), key, showValue(part));
        }
      }
      return Object.fromEntries(entries.map(([made, field]) => {
        const part = given.get(field.name);
        return [made, field.read(part === undefined ? field.fallback : part, join(key, field.name))];
      })) as Value;
    },
    write(value) {
      return Object.fromEntries(entries.map(([made, field]) => [field.name, field.write(value[made])]));
    },
  };
}

/** In place of a value that may be a secret. */
export const NOT_SHOWN = "what is not shown";

/** Keys that somebody may give a secret to. */
const SECRET = /passw|secret|token|credential/i;

/** The error for a key that nothing knows, with the one that was probably meant. No log is told a secret. */
export function unknownKey(key: string, names: Iterable<string>, parent: string, value: string): ConfigError {
  const meant = nearest(key.slice(parent === "" ? 0 : parent.length + 1), names);
  const hint = meant === null ? "" : ` (did you mean ${join(parent, meant)}?)`;
  return configError(
    key,
    `is not a key of the configuration${hint}`,
    SECRET.test(key) ? NOT_SHOWN : value,
  );
}

/** The dotted key of a key below another one. */
export function join(parent: string, name: string): string {
  return parent === "" ? name : `${parent}.${name}`;
}

/** A duration such as `"5s"`, in µs. */
export function duration(name: string, fallback: string | undefined, bounds: Bounds<string>): Field<number> {
  const min = parseDuration(bounds.min);
  const max = parseDuration(bounds.max);
  return {
    name,
    fallback,
    fields: null,
    write: formatDuration,
    read(value, key) {
      const us = typeof value === "string" ? parseDuration(value) : NaN;
      if (Number.isNaN(us)) {
        throw configError(
          key,
          'must be a duration such as "500ms", "5s", "10m", "2h" or "7d"',
          showValue(value),
        );
      }
      if (us < min || us > max) {
        throw configError(key, `must be from ${bounds.min} to ${bounds.max}`, String(value));
      }
      return us;
    },
  };
}

/**
 * An object whose `type` says which of its keys it may have. All are read, with their defaults; those of other types must
 * not be given and are not written.
 *
 * @param field reads `type` and all keys
 * @param keys of each type; the first type is the default
 */
export function byType<Value extends { readonly type: string }>(
  field: Field<Value>,
  keys: { readonly [Type in Value["type"]]: readonly string[] },
): Field<Value> {
  const [defaultType] = Object.keys(keys) as Value["type"][];
  const only = (json: Json, type: Value["type"]): Json =>
    Object.fromEntries(
      Object.entries(json as Record<string, Json>).filter(([name]) =>
        name === "type" || keys[type].includes(name)
      ),
    );
  return {
    name: field.name,
    fields: field.fields,
    fallback: only(field.fallback ?? {}, defaultType as Value["type"]),
    read(value, key) {
      const read = field.read(value, key);
      for (const [name, part] of Object.entries(value as object)) {
        if (name === "type" || keys[read.type as Value["type"]].includes(name)) continue;
        throw configError(
          join(key, name),
          `does not go with ${join(key, "type")} "${read.type}"`,
          showValue(part),
        );
      }
      return read;
    },
    write: (value) => only(field.write(value), value.type),
  };
}

/** A field that may be null as well, which is what it is where it is not given. */
export function nullable<Value>(field: Field<Value>): Field<Value | null> {
  return {
    name: field.name,
    fallback: null,
    fields: field.fields,
    read: (value, key) => value === null ? null : field.read(value, key),
    write: (value) => value === null ? null : field.write(value),
  };
}

/** A whole number. */
export function count(name: string, fallback: number, bounds: Bounds<number>): Field<number> {
  return {
    name,
    fallback,
    fields: null,
    write: (value) => value,
    read(value, key) {
      if (typeof value !== "number" || !Number.isInteger(value)) {
        throw configError(key, "must be a whole number", showValue(value));
      }
      if (value < bounds.min || value > bounds.max) {
        throw configError(key, `must be from ${bounds.min} to ${bounds.max}`, showValue(value));
      }
      return value;
    },
  };
}

/** `true` or `false`. */
export function flag(name: string, fallback: boolean): Field<boolean> {
  return {
    name,
    fallback,
    fields: null,
    write: (value) => value,
    read(value, key) {
      if (typeof value !== "boolean") throw configError(key, "must be true or false", showValue(value));
      return value;
    },
  };
}

/** One of a few words; the first is the default. */
export function choice<Word extends string>(name: string, words: readonly [Word, ...Word[]]): Field<Word> {
  return {
    name,
    fallback: words[0],
    fields: null,
    write: (value) => value,
    read(value, key) {
      const word = words.find((known) => known === value);
      if (word === undefined) {
        throw configError(
          key,
          `must be ${words.map((known) => `"${known}"`).join(" or ")}`,
          showValue(value),
        );
      }
      return word;
    },
  };
}

/** The longest path that Linux takes. */
const TEXT_LENGTH_MAX = 4096;

/** Text that is not empty: a path, a pattern. */
export function text(name: string, fallback: string | undefined, lengthMax = TEXT_LENGTH_MAX): Field<string> {
  return {
    name,
    fallback,
    fields: null,
    write: (value) => value,
    read(value, key) {
      if (typeof value !== "string") throw configError(key, "must be text", showValue(value));
      if (value === "") {
        const hint = fallback === undefined ? "" : `: leave it out for ${showValue(fallback)}`;
        throw configError(key, `must not be empty${hint}`, showValue(value));
      }
      if (value.length > lengthMax || !value.isWellFormed()) {
        throw configError(
          key,
          `must be well-formed text of at most ${lengthMax} characters`,
          showValue(value),
        );
      }
      return value;
    },
  };
}

/** A list, of which each element is read by `element`. */
export function list<Value>(
  field: Field<Value>,
  fallback: readonly Json[] | undefined,
  lengthMax: number,
): Field<readonly Value[]> {
  return {
    name: field.name,
    fallback,
    fields: null,
    write: (values) => values.map((value) => field.write(value)),
    read(value, key) {
      if (!Array.isArray(value)) throw configError(key, "must be a list", showValue(value));
      if (value.length > lengthMax) {
        throw configError(key, `must have at most ${lengthMax} entries`, String(value.length));
      }
      return value.map((entry: unknown, index) => field.read(entry, `${key}[${index}]`));
    },
  };
}

/** One object that `field` reads, or a list of them; one of them is written as it is. */
export function oneOrMore<Value>(field: Field<Value>, lengthMax: number): Field<readonly Value[]> {
  const several = list(field, undefined, lengthMax);
  return {
    name: field.name,
    fallback: field.fallback,
    fields: field.fields,
    write: (values) => values.length === 1 ? field.write(values[0] as Value) : several.write(values),
    read(value, key) {
      if (!Array.isArray(value)) return [field.read(value, key)];
      if (value.length === 0) throw configError(key, "must have at least one entry", "[]");
      return several.read(value, key);
    },
  };
}
