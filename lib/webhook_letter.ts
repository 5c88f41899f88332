/**
 * The dead letter of a trigger that a webhook has given up: its source is `webhook:NAME`, its position a place in the
 * outbox, its record the trigger. So it is told apart from what other outputs refused, and can be sent to its webhook again.
 *
 * @module
 */
import type { DeadLetter } from "./dead_letter.ts";
import type { Json } from "./json.ts";
import { parseJsonObject } from "./json_object.ts";

const SOURCE = "webhook:";

/** Of what it is. */
export interface WebhookLetterPlace {
  /** The webhook's. */
  readonly name: string;
  /** The outbox's id. */
  readonly outbox: string;
  /** In the outbox. */
  readonly offset: number;
}

/** Makes the letter. */
export function webhookLetter(
  place: WebhookLetterPlace,
  { detail, trigger }: { readonly detail: string; readonly trigger: Uint8Array },
): DeadLetter {
  return {
    reason: "SINK_REJECTED",
    detail: `Webhook ${place.name} has given it up: ${detail}`,
    ...webhookOrigin(place),
    record: trigger,
  };
}

/** What a letter says of where it comes from. */
export function webhookOrigin(
  { name, outbox, offset }: WebhookLetterPlace,
): Pick<DeadLetter, "source" | "position"> {
  return { source: SOURCE + name, position: { outbox, offset } };
}

/** The name of the webhook that a letter's source is; null where it is none. */
export function webhookOfLetter(letter: Pick<DeadLetter, "reason" | "source">): string | null {
  return letter.reason === "SINK_REJECTED" && letter.source.startsWith(SOURCE)
    ? letter.source.slice(SOURCE.length)
    : null;
}

/** Where a letter's position says that it was; null where it is none of an outbox. */
export function outboxPlace(position: unknown): { readonly outbox: string; readonly offset: number } | null {
  if (typeof position !== "object" || position === null) return null;
  const { outbox, offset } = position as { readonly [name: string]: Json | undefined };
  return typeof outbox === "string" && typeof offset === "number" ? { outbox, offset } : null;
}

/** Reads a dead letter's line; null where it is none of a webhook. */
export function parseWebhookLetter(line: Uint8Array): WebhookLetterPlace | null {
  const { reason, source, position } = parseJsonObject(line) ?? {};
  if (reason !== "SINK_REJECTED" || typeof source !== "string") return null;
  const name = webhookOfLetter({ reason, source });
  const place = outboxPlace(position);
  return name === null || place === null ? null : { name, ...place };
}
