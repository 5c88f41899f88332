/**
 * Whether a webhook's URL may lead where its text says. A file of its own, loaded with the webhooks: `ipaddr.js` is CommonJS,
 * and loading that takes longer than all the rest of the configuration.
 *
 * @module
 */
import { configError } from "./config_fields.ts";
import { classifyAddress } from "./network_address.ts";
import type { WebhookConfig } from "./webhook_config.ts";

/**
 * Refuses an address that is not public; those of a name are looked at each time it is connected to.
 *
 * @param key of the sink, for messages
 * @throws {ConfigError} where it is none
 */
export function checkWebhookAddress(
  key: string,
  { url, allowPrivate }: Pick<WebhookConfig, "url" | "allowPrivate">,
): void {
  if (allowPrivate) return;
  const { hostname } = new URL(url);
  const address = hostname.replace(/^\[(.*)\]$/, "$1");
  const where = classifyAddress(address) ?? (/(^|\.)localhost\.?$/.test(hostname) ? "loopback" : "public");
  if (where === "public") return;
  const reason = 'must be a public address, or the webhook have "allow_private": true';
  throw configError(`${key}.url`, reason, `${hostname} (${where})`);
}
