/**
 * Lays single keys over a configuration that is still JSON: what `--set dwell.lateness=2s` does to the file.
 *
 * Over the JSON and not over what was read from it, so that the checks see the whole, once: a bucket from the file and a
 * guard from the command line may only together be wrong.
 *
 * @module
 */
import { configError, type Field, join, showValue, unknownKey } from "./config_fields.ts";
import type { Json } from "./json.ts";

/**
 * Sets a dotted key; objects on its way that are not there yet are made.
 *
 * @param schema knows which keys there are
 * @returns a copy with the key set
 * @throws {ConfigError} where there is no such key
 */
export function setKey(schema: Field<unknown>, json: Json, key: string, value: Json): Json {
  return setBelow(schema, json, "", key.split("."), value);
}

/** Whether a configuration that is still JSON says something of a dotted key. */
export function hasKey(json: Json, key: string): boolean {
  let at: Json | undefined = json;
  for (const name of key.split(".")) at = below(at, name);
  return at !== undefined;
}

function setBelow(
  schema: Field<unknown>,
  json: Json,
  parent: string,
  names: readonly string[],
  value: Json,
): Json {
  const [name, ...rest] = names;
  if (name === undefined) return value;
  if (schema.fields === null) {
    const key = join(parent, names.join("."));
    throw configError(
      parent,
      "has no keys below it and can only be set as a whole",
      `${key}=${showValue(value)}`,
    );
  }
  const key = join(parent, name);
  const field = schema.fields.get(name);
  if (field === undefined) throw unknownKey(key, schema.fields.keys(), parent, showValue(value));
  if (Array.isArray(json) && parent !== "") {
    throw configError(parent, "is a list here and can only be set as a whole", `${key}=${showValue(value)}`);
  }
  // What should be an object and is none is left for the reader to refuse, which says what it found there.
  if (!isObject(json)) return json;
  const inside = below(json, name);
  return { ...json, [name]: setBelow(field, inside === undefined ? {} : inside, key, rest, value) };
}

function below(json: Json | undefined, name: string): Json | undefined {
  return json !== undefined && isObject(json) && Object.hasOwn(json, name) ? json[name] : undefined;
}

function isObject(json: Json): json is { readonly [key: string]: Json } {
  return typeof json === "object" && json !== null && !Array.isArray(json);
}
