/**
 * What a webhook's request says: its body, and what is signed, as Standard Webhooks have it.
 *
 * @module
 */
import { decodeBase64 } from "./base64.ts";
import { TriggerLine } from "./trigger_line.ts";
import type { WebhookConfig } from "./webhook_config.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A request's body and its type. */
export interface WebhookBody {
  /** The value of `content-type`. */
  readonly contentType: string;
  /** The body. */
  readonly bytes: Uint8Array;
}

/** How a body is made: the trigger's line as it is, or a structured-mode CloudEvent 1.0 around it. */
export type BodyForm = { readonly form: "native" } | {
  readonly form: "cloudevents";
  /** Names the deployment, never the process. */
  readonly source: string;
};

/** The form that a webhook's configuration asks for. */
export function bodyFormOf({ body }: Pick<WebhookConfig, "body">, deployment: string): BodyForm {
  return body === "native" ? { form: "native" } : { form: "cloudevents", source: `/fencepost/${deployment}` };
}

/**
 * Makes the body of a trigger. Every attempt has the same bytes.
 *
 * Structured mode and not binary, since the signature is over the body alone: headers could be changed on the way.
 *
 * @param trigger a line that {@link TriggerLine} can read
 */
export function webhookBody(trigger: Uint8Array, form: BodyForm): WebhookBody {
  if (form.form === "native") return { contentType: "application/json", bytes: trigger };
  const line = new TriggerLine();
  line.read(trigger, 0, trigger.length);
  const head = JSON.stringify({
    specversion: "1.0",
    id: decoder.decode(line.id),
    source: form.source,
    type: `fencepost.trigger.${line.kind.toLowerCase()}`,
    subject: decoder.decode(line.device),
    time: decoder.decode(line.eventTime),
    datacontenttype: "application/json",
  });
  // The trigger's own text goes in: read and written again, long numbers in its attributes would lose digits.
  const text = `${head.slice(0, -1)},"data":${decoder.decode(trigger)}}`;
  return { contentType: "application/cloudevents+json; charset=utf-8", bytes: encoder.encode(text) };
}

/** The bytes that are signed: `id.timestamp.body`. */
export function signedBytes(id: string, timestampS: number, body: Uint8Array): Uint8Array {
  const head = encoder.encode(`${id}.${timestampS}.`);
  const bytes = new Uint8Array(head.length + body.length);
  bytes.set(head);
  bytes.set(body, head.length);
  return bytes;
}

const SECRET_PREFIX = "whsec_";
/** Bounds that Standard Webhooks set. */
const SECRET_BYTES_MIN = 24;
const SECRET_BYTES_MAX = 64;

/** A secret's key; or why it is none, without telling it. */
export function parseSecret(text: string): Uint8Array | string {
  const trimmed = text.trim();
  if (!trimmed.startsWith(SECRET_PREFIX)) return `it does not begin with ${SECRET_PREFIX}`;
  const key = decodeBase64(trimmed.slice(SECRET_PREFIX.length));
  if (key === null) return `what follows ${SECRET_PREFIX} is no base64`;
  if (key.length >= SECRET_BYTES_MIN && key.length <= SECRET_BYTES_MAX) return key;
  return `it has ${key.length} bytes, and must have ${SECRET_BYTES_MIN} to ${SECRET_BYTES_MAX}`;
}
