/**
 * Sends triggers that webhooks have given up to them again, at once and one after the other: whoever replays wants to see
 * whether it works now. Beside a run, too: the outbox is not touched, and a receiver knows by the id what it has.
 *
 * @module
 */
import type { Config, SinkConfig } from "../../../lib/config.ts";
import type { StoredDeadLetter } from "../../../lib/dead_letter_line.ts";
import { webhookOfLetter } from "../../../lib/webhook_letter.ts";
import { bodyFormOf, webhookBody } from "../../../lib/webhook_message.ts";
import { wholeTriggerId } from "../../../lib/whole_trigger.ts";
import { judgeAttempt } from "../../../lib/webhook_retry.ts";
import type { Clock } from "../../ports.ts";
import { TIMED_OUT } from "../../webhook_endpoint.ts";
import { readAuthorities, readKeys } from "./endpoint_files.ts";
import { WebhookPost } from "./webhook_post.ts";

/** See the module's header. */
export class WebhookReplay {
  readonly #config: Pick<Config, "sinks" | "deployment">;
  readonly #clock: Clock;
  readonly #senders = new Map<string, WebhookPost>();

  constructor(config: Pick<Config, "sinks" | "deployment">, clock: Clock) {
    this.#config = config;
    this.#clock = clock;
  }

  /** Why the trigger can't be sent, in a sentence without its full stop; null where it can. */
  refusal(letter: StoredDeadLetter): string | null {
    if (this.#sinkOf(letter) === undefined) {
      return `The configuration has no webhook ${webhookOfLetter(letter)}`;
    }
    return wholeTriggerId(letter.record) === null ? "It is no trigger any more" : null;
  }

  /**
   * One attempt.
   *
   * @returns why the webhook did not take it; null where it did
   * @throws {Error} where a secret can't be read
   */
  async send(letter: StoredDeadLetter): Promise<string | null> {
    const sink = this.#sinkOf(letter);
    const id = wholeTriggerId(letter.record);
    if (sink === undefined || id === null) return this.refusal(letter);
    const sender = await this.#senderOf(sink);
    const limit = new AbortController();
    const late = this.#clock.delay(sink.timeoutUs, limit.signal).then(() => limit.abort(TIMED_OUT), () => {});
    const body = webhookBody(letter.record, bodyFormOf(sink, this.#config.deployment));
    const attempt = await sender.post(id, Math.floor(this.#clock.wallUs() / 1e6), body, limit.signal);
    limit.abort();
    await late;
    const { is, reason } = judgeAttempt(attempt, this.#clock.wallUs());
    return is === "delivered" ? null : `Webhook ${sink.name} did not take it: ${reason}`;
  }

  close(): void {
    for (const sender of this.#senders.values()) sender.close();
  }

  #sinkOf(letter: StoredDeadLetter): SinkConfig | undefined {
    const asked = webhookOfLetter(letter);
    return this.#config.sinks.find(({ type, name }) => type === "webhook" && name === asked);
  }

  async #senderOf(sink: SinkConfig): Promise<WebhookPost> {
    const known = this.#senders.get(sink.name);
    if (known !== undefined) return known;
    const [keys, caCerts] = await Promise.all([readKeys(sink), readAuthorities(sink)]);
    const { allowPrivate } = sink;
    const sender = new WebhookPost({ url: new URL(sink.url), keys, allowPrivate, caCerts, idleMax: 1 });
    this.#senders.set(sink.name, sender);
    return sender;
  }
}
