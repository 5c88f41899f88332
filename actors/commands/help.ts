/**
 * The help: of all commands, or of one with its flags.
 *
 * @module
 */
import { type Command, COMMANDS } from "./command_table.ts";

/** Where the second column begins. */
const COLUMN = 26;

/**
 * The text that `--help` prints.
 *
 * @param name the command, or the first word of several; null for all of them
 */
export function helpText(name: string | null): string {
  const commands = COMMANDS.filter((known) => known.name === name || known.name.startsWith(`${name} `));
  return commands.length === 0 ? overview() : commands.map(describe).join("\n");
}

function overview(): string {
  return paragraphs([
    "Fencepost makes geofence triggers fire once.",
    ["Usage: fencepost COMMAND [flags]", ...COMMANDS.map(({ name, about }) => columns(name, about))].join(
      "\n",
    ),
    [
      columns("COMMAND --help", "Show the flags of a command"),
      columns("--version", "Show the version"),
    ].join("\n"),
  ]);
}

function describe({ name, about, usage, flags, details }: Command): string {
  const rows = flags.map((flag) =>
    columns(flag.value === null ? `--${flag.name}` : `--${flag.name} ${flag.value}`, flag.about)
  );
  return paragraphs([`${about}.`, `Usage: fencepost ${name} ${usage}`, rows.join("\n"), ...details]);
}

function columns(left: string, right: string): string {
  return `  ${left.padEnd(COLUMN)}${right}`;
}

function paragraphs(texts: readonly string[]): string {
  return texts.join("\n\n") + "\n";
}
