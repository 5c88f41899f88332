/**
 * The configuration that a command line asks for.
 *
 * ```
 *   the defaults  <  the --config file  <  each --set in its order  <  --input, --output, --state, …
 * ```
 *
 * A flag that has a name of its own is the most deliberate, so it wins; checked is the result only.
 *
 * @module
 */
import { type Config, parseConfig, setConfigKey } from "../../lib/config.ts";
import { ConfigError } from "../../lib/config_fields.ts";
import { hasKey } from "../../lib/config_overlay.ts";
import type { Json } from "../../lib/json.ts";
import type { ConfigArguments } from "./arguments.ts";

/**
 * Reads the configuration.
 *
 * @param readText reads a whole file as text; its errors are passed on as the cause
 * @throws {ConfigError} where the file can't be read, or {@link parseConfig} refuses what comes out
 */
export async function loadConfig(
  asked: ConfigArguments,
  readText: (path: string) => Promise<string>,
): Promise<Config> {
  return parseConfig(await loadConfigJson(asked, readText));
}

/**
 * Reads what is asked for over the defaults, without them and not checked yet.
 *
 * @throws {ConfigError} where the file can't be read, or a setting's key is none
 */
export async function loadConfigJson(
  { file, settings }: ConfigArguments,
  readText: (path: string) => Promise<string>,
): Promise<Json> {
  const base = file === null ? {} : await readJson(file, readText);
  return settings.reduce<Json>((json, { key, value, unlessGiven = [] }) => {
    const isGiven = unlessGiven.some((other) => hasKey(json, other));
    return isGiven ? json : setConfigKey(json, key, value);
  }, base);
}

async function readJson(path: string, readText: (path: string) => Promise<string>): Promise<Json> {
  try {
    const text = await readText(path);
    return JSON.parse(text.replace(/^\uFEFF/, "")) as Json;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const error = new ConfigError(`Cannot read config: ${path}: ${reason}`);
    error.cause = cause;
    throw error;
  }
}
