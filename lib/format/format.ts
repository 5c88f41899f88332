/**
 * `source.format`: the name of a preset, a mapping, or a preset with some of its keys replaced.
 *
 * ```
 *   "tile38"      {"device_id": "/vehicle", …}      {"preset": "tile38", "device_id": "/meta/vehicle"}
 * ```
 *
 * @module
 */
import { configError, type Field, join, showValue } from "../config_fields.ts";
import type { Json } from "../json.ts";
import { nearest } from "../nearest.ts";
import { type Mapping, type MappingJson, readMapping } from "./mapping.ts";
import type { Preset } from "./preset.ts";
import { PRESETS } from "./presets.ts";

/** What a source's messages are. */
export interface Format {
  /** As it stands in the configuration. */
  readonly json: Json;
  /** Null where each record is a transition by itself, in our own words. */
  readonly mapping: Mapping | null;
}

/** Reads the key. */
export const FORMAT_FIELD: Field<Format> = {
  name: "format",
  fallback: "native",
  // A mapping is set as a whole: half of one is none.
  fields: null,
  write: ({ json }) => json,
  read(value, key) {
    if (typeof value === "string") {
      const { mapping } = presetNamed(value, key);
      return { json: value, mapping: mapping === null ? null : readMapping(mapping, key) };
    }
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      throw configError(key, "must be the name of a preset or an object", showValue(value));
    }
    return { json: value as Json, mapping: readMapping(withPreset(value as MappingJson, key), key) };
  },
};

/** The preset of a name; null where there is none. */
export function findPreset(name: string): Preset | null {
  return PRESETS.find((preset) => preset.name === name) ?? null;
}

/** The name that was probably meant. */
export function nearestPreset(name: string): string | null {
  return nearest(name, PRESETS.map((preset) => preset.name));
}

function presetNamed(name: string, key: string): Preset {
  const preset = findPreset(name);
  if (preset !== null) return preset;
  const meant = nearestPreset(name);
  const hint = meant === null ? " (fencepost formats shows them)" : ` (did you mean ${meant}?)`;
  throw configError(key, `must be the name of a preset or an object${hint}`, showValue(name));
}

/** A mapping laid over the preset that it names. */
function withPreset(json: MappingJson, key: string): MappingJson {
  const { preset: name, ...own } = json;
  if (name === undefined) return json;
  const at = join(key, "preset");
  if (typeof name !== "string") throw configError(at, "must be the name of a preset", showValue(name));
  const { mapping } = presetNamed(name, at);
  if (mapping === null) throw configError(at, "must be one with a mapping", showValue(name));
  return { ...mapping, ...own };
}
