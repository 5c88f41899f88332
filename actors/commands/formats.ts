/**
 * `fencepost formats [NAME]`: the producers that are known, or the page of one.
 *
 * What maps to what is shown as the mapping itself, since that is also what somebody begins with whose producer differs.
 *
 * @module
 */
import { findPreset, nearestPreset } from "../../lib/format/format.ts";
import type { MappingJson } from "../../lib/format/mapping.ts";
import type { Preset } from "../../lib/format/preset.ts";
import { PRESETS } from "../../lib/format/presets.ts";
import type { Json } from "../../lib/json.ts";
import { UsageError } from "./flags.ts";

/** Where the second column begins, and where lines end. */
const COLUMN = 16;
const WIDTH = 88;

/**
 * The text of the list or of a page.
 *
 * @throws {UsageError} where there is no such preset
 */
export function formatsText(name: string | null): string {
  if (name === null) {
    const rows = PRESETS.map((preset) => row(preset.name, preset.about));
    return `${
      rows.join("")
    }\nfencepost formats NAME shows one; source.format (--format) takes the name, or an object.\n`;
  }
  const preset = findPreset(name);
  if (preset !== null) return page(preset);
  const meant = nearestPreset(name);
  throw new UsageError(
    `There is no format ${name}; ${meant === null ? "see fencepost formats" : `did you mean ${meant}?`}`,
  );
}

function page({ name, about, mapping, clock, skipped, redelivery, limits }: Preset): string {
  const rows = [
    row("Clock", clock),
    row("Skipped", skipped),
    row("Redelivery", redelivery),
    ...limits.map((limit, i) => row(i === 0 ? "To know" : "", limit)),
  ];
  const source = mapping === null
    ? ""
    : `\nThe mapping, as it could stand in source.format:\n\n${mappingText(mapping)}`;
  return `${wrap(`${name}: ${about}.`, 0)}\n${rows.join("")}${source}`;
}

/** A key a line: JSON, and short enough to be looked at. */
function mappingText(mapping: MappingJson): string {
  const lines = Object.entries(mapping).map(([key, value]) =>
    `  ${JSON.stringify(key)}: ${valueText(value)}`
  );
  return `{\n${lines.join(",\n")}\n}\n`;
}

function valueText(value: Json): string {
  const text = JSON.stringify(value);
  if (text.length < WIDTH || !Array.isArray(value)) return text;
  return `[\n${value.map((entry: Json) => `    ${JSON.stringify(entry)}`).join(",\n")}\n  ]`;
}

function row(left: string, right: string): string {
  return left.padEnd(COLUMN) + wrap(right, COLUMN).slice(COLUMN);
}

/** Text in lines, each behind so many spaces. */
function wrap(text: string, indent: number): string {
  const lines: string[] = [];
  let line = " ".repeat(indent);
  for (const word of text.split(" ")) {
    if (line.length + word.length > WIDTH && line.trim() !== "") {
      lines.push(line.trimEnd());
      line = " ".repeat(indent);
    }
    line += `${word} `;
  }
  return [...lines, line.trimEnd(), ""].join("\n");
}
