/**
 * The doors between a webhook's actor and the world, like those in ports.ts.
 *
 * @module
 */
import type { BacklogEntry, BacklogState } from "../lib/backlog_state.ts";
import type { WebhookBody } from "../lib/webhook_message.ts";
import type { Attempt } from "../lib/webhook_retry.ts";

/** A trigger in the outbox. */
export interface OutboxEntry extends BacklogEntry {
  /** The split that told it. */
  readonly split: string;
  /** The trigger's. */
  readonly id: string;
  /** Its line, without a `\n`. */
  readonly trigger: Uint8Array;
}

/** Reads the outbox for one endpoint. */
export interface OutboxReader {
  /** The next trigger; null where there is none yet. */
  next(): Promise<OutboxEntry | null>;
  /** The trigger at a place; null where it is gone. */
  at(offset: number): Promise<OutboxEntry | null>;
}

/** What is kept of an endpoint. */
export interface EndpointState extends BacklogState {
  /** The configuration that the receiver has said to be gone under; null where it has not. */
  readonly disabled: string | null;
}

/** Keeps it: after a crash the old state is there or the new one. */
export type SaveEndpoint = (state: EndpointState) => Promise<void>;

/** POSTs to a receiver. */
export interface WebhookSender {
  /**
   * One attempt. It never rejects: what goes wrong is an outcome.
   *
   * @param id of the trigger
   * @param timestampS when, for the signature, seconds since the epoch
   * @param signal ends it
   */
  post(id: string, timestampS: number, body: WebhookBody, signal: AbortSignal): Promise<Attempt>;
  /** Ends the connections that are kept. */
  close(): void;
}
