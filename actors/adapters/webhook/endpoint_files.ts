/**
 * What an endpoint keeps beside the outbox, as `NAME.json`, and what it needs of the operator: its secrets.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import { parseEndpointState } from "../../../lib/endpoint_state.ts";
import type { WebhookConfig } from "../../../lib/webhook_config.ts";
import { parseSecret } from "../../../lib/webhook_message.ts";
import type { EndpointState } from "../../webhook_ports.ts";
import { writeDurably } from "./durable_file.ts";
import type { OutboxLog } from "./outbox_log.ts";

/** Keeps an endpoint's state. */
export async function saveEndpoint(log: OutboxLog, name: string, state: EndpointState): Promise<void> {
  const bytes = new TextEncoder().encode(`${JSON.stringify({ outbox: log.id, ...state })}\n`);
  await writeDurably(statePath(log, name), bytes);
}

/**
 * Reads an endpoint's state. A new one begins at the outbox's end, and is kept at once: what is told from here on is for it
 * also if this process ends before it says more. One that was kept with another outbox begins at this one's beginning.
 */
export async function loadEndpoint(
  log: OutboxLog,
  name: string,
): Promise<{ state: EndpointState; isNew: boolean }> {
  const path = statePath(log, name);
  let bytes: Uint8Array | null = null;
  try {
    bytes = await Deno.readFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  if (bytes === null) {
    const state: EndpointState = { cursor: log.end, retries: [], rejected: [], disabled: null };
    await saveEndpoint(log, name, state);
    return { state, isNew: true };
  }
  const stored = parseEndpointState(bytes);
  if (stored === null) {
    throw new Error(
      `Cannot use ${path}: it is damaged. Delete it, and the webhook begins at the outbox's end`,
    );
  }
  const { outbox, ...state } = stored;
  if (outbox === log.id) return { state, isNew: false };
  return { state: { cursor: log.start, retries: [], rejected: [], disabled: state.disabled }, isNew: false };
}

/** The names of all endpoints that have a state here. */
export async function endpointNames(log: OutboxLog): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(log.directory)) {
    if (name.endsWith(STATE)) names.push(name.slice(0, -STATE.length));
  }
  return names.sort();
}

/** The file of an endpoint's state. */
export function statePath(log: Pick<OutboxLog, "directory">, name: string): string {
  return join(log.directory, name + STATE);
}

/**
 * Reads the keys of a webhook's secrets.
 *
 * @throws {Error} where one can't be read or is none; it names the place and never the secret
 */
export async function readKeys(
  { name, secrets }: Pick<WebhookConfig, "name" | "secrets">,
): Promise<Uint8Array[]> {
  return await Promise.all(secrets.map(async ({ env, file }) => {
    const place = file ?? `the environment's ${env}`;
    let text: string | undefined;
    try {
      text = file === null ? Deno.env.get(env ?? "") : await Deno.readTextFile(file);
    } catch (cause) {
      throw new Error(`Cannot read a secret of webhook ${name} from ${place}`, { cause });
    }
    const key = text === undefined ? "there is nothing" : parseSecret(text);
    if (typeof key !== "string") return key;
    throw new Error(`Cannot use a secret of webhook ${name} from ${place}: ${key}`);
  }));
}

/** The authorities in a webhook's file, if it names one. */
export async function readAuthorities(
  { name, caFile }: Pick<WebhookConfig, "name" | "caFile">,
): Promise<string[]> {
  if (caFile === null) return [];
  let text: string;
  try {
    text = await Deno.readTextFile(caFile);
  } catch (cause) {
    throw new Error(`Cannot read ${caFile} (ca_file of webhook ${name})`, { cause });
  }
  if (text.includes("-----BEGIN CERTIFICATE-----")) return [text];
  throw new Error(`Cannot use ${caFile} (ca_file of webhook ${name}): there is no certificate in PEM in it`);
}

/** What an endpoint's configuration is known by; a URL may be a secret, so it is not kept as it is. */
export function fingerprintOf(config: WebhookConfig): string {
  return createHash("sha256").update(JSON.stringify(config)).digest("hex");
}

const STATE = ".json";
