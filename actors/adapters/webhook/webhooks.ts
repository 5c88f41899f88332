/**
 * The webhooks of a process: one outbox, an actor for each endpoint, and the ports that splits see of them.
 *
 * ```
 *   split ─▶ OutboxSink ─▶ outbox ─▶ endpoint … ─▶ receiver
 *   split ◀─ RejectedDeadLetters ◀──────╯ what was given up
 * ```
 *
 * The outbox is not a split's but the process's: what a partition has told before it went to another process is delivered
 * from here all the same.
 *
 * @module
 */
import { join } from "node:path";
import { type Config, sinkKey } from "../../../lib/config.ts";
import { statePlaceOf } from "../../../lib/state_place.ts";
import { checkWebhookAddress } from "../../../lib/webhook_address.ts";
import { bodyFormOf } from "../../../lib/webhook_message.ts";
import { WebhookFilter } from "../../../lib/webhook_filter.ts";
import { type Clock, type Sink, UnavailableError } from "../../ports.ts";
import { RejectedDeadLetters, type Rejections } from "../../rejected_dead_letters.ts";
import { type RejectedTrigger, WebhookEndpoint, type WebhookReport } from "../../webhook_endpoint.ts";
import { StateInUseError } from "../state_lock.ts";
import {
  endpointNames,
  fingerprintOf,
  loadEndpoint,
  readAuthorities,
  readKeys,
  saveEndpoint,
  statePath,
} from "./endpoint_files.ts";
import { OutboxLog } from "./outbox_log.ts";
import { LogReader } from "./outbox_reader.ts";
import { OutboxSink } from "./outbox_sink.ts";
import { WebhookPost } from "./webhook_post.ts";

/** A state that was left by a crash is opened within this time, or its tail may be gone: then triggers come again. */
const HOLD_US = 900_000_000;
/** How long attempts that are under way at the end are waited for. */
const PATIENCE_US = 3_000_000;
/** How often it is looked whether all has been tried. */
const LOOK_US = 20_000;
/** Where the outbox is if nothing says it. */
const DEFAULT_DIRECTORY = "fencepost-data";

/** What they work with. */
export interface WebhooksOptions {
  readonly config: Pick<Config, "sinks" | "outbox" | "checkpoint" | "deployment">;
  readonly clock: Clock;
  readonly notice: (message: string) => void;
  /** Of the outbox; its own where not given. */
  readonly segmentBytes?: number;
}

/** See the module's header. */
export class Webhooks implements Rejections {
  /** Rejects with what an endpoint can't go on with. */
  readonly failed: Promise<never>;
  readonly outbox: string;

  readonly #options: WebhooksOptions;
  readonly #log: OutboxLog;
  readonly #endpoints: WebhookEndpoint[] = [];
  readonly #splits = new Map<string, OutboxSink>();
  readonly #openedUs: number;
  #fail: (error: unknown) => void = () => {};
  #runs: Promise<unknown> = Promise.resolve();
  #dropping: Promise<void> | null = null;

  private constructor(options: WebhooksOptions, log: OutboxLog) {
    this.#options = options;
    this.#log = log;
    this.outbox = log.id;
    this.#openedUs = options.clock.monotonicUs();
    this.failed = new Promise((_resolve, reject) => this.#fail = reject);
    this.failed.catch(() => {});
  }

  /**
   * Opens the outbox and begins to deliver what is in it.
   *
   * @throws {ConfigError} where a URL's address is not public
   * @throws {Error} where a secret can't be read, or the outbox not be opened
   */
  static async open(options: WebhooksOptions): Promise<Webhooks> {
    const { sinks } = options.config;
    const configs = sinks.filter(({ type }) => type === "webhook");
    for (const config of configs) checkWebhookAddress(sinkKey(sinks, sinks.indexOf(config)), config);
    const keys = await Promise.all(configs.map(readKeys));
    const authorities = await Promise.all(configs.map(readAuthorities));
    const webhooks = new Webhooks(options, await openLog(options));
    try {
      for (const [i, config] of configs.entries()) {
        const parts = { keys: keys[i] as Uint8Array[], caCerts: authorities[i] as string[] };
        await webhooks.#add(config, parts);
      }
      await webhooks.#sayLeft();
    } catch (error) {
      await webhooks.#log.close();
      throw error;
    }
    webhooks.#log.onGrown = (lines) => webhooks.#endpoints.forEach((endpoint) => endpoint.grown(lines));
    webhooks.#runs = Promise.all(webhooks.#endpoints.map((endpoint) => endpoint.run())).catch(webhooks.#fail);
    return webhooks;
  }

  /** The outbox as the output of a split. */
  sink(split: string, notice: (message: string) => void): Sink {
    const sink = new OutboxSink({ log: this.#log, split, clock: this.#options.clock, notice });
    this.#splits.set(split, sink);
    return sink;
  }

  /** A split's dead letters, with those of triggers that were given up. */
  deadLetters(inner: Sink, split: string): Sink {
    return new RejectedDeadLetters(inner, { rejections: this, split, clock: this.#options.clock });
  }

  /** How each endpoint is doing. */
  reports(): WebhookReport[] {
    return this.#endpoints.map((endpoint) => endpoint.report());
  }

  endpoint(name: string): WebhookEndpoint | null {
    return this.#endpoints.find((endpoint) => endpoint.name === name) ?? null;
  }

  async take(split: string): Promise<readonly RejectedTrigger[]> {
    const taken: RejectedTrigger[] = [];
    for (const endpoint of this.#endpoints) {
      if (!endpoint.hasRejected) continue;
      for (const rejected of await endpoint.rejectedTriggers()) {
        // Of a split that is not here any more, whoever is may write it.
        const isOurs = rejected.split === split || this.#splits.get(rejected.split)?.isOpen !== true;
        if (isOurs && endpoint.claim(rejected.offset)) taken.push(rejected);
      }
    }
    return taken;
  }

  /** Resolves when all that is in the outbox was tried, or when the signal comes. */
  async tried(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    while (!signal.aborted && !this.#endpoints.every(({ isIdle }) => isIdle)) {
      await clock.delay(LOOK_US, signal).catch(() => {});
    }
  }

  /** Ends the deliveries, and keeps where each endpoint is. */
  async close(): Promise<void> {
    const { clock, notice } = this.#options;
    const over = new AbortController();
    const patience = clock.delay(PATIENCE_US, over.signal).catch(() => {});
    await Promise.all(this.#endpoints.map((endpoint) => endpoint.stop(patience)));
    over.abort();
    await patience;
    await this.#runs;
    await this.#dropping;
    for (const { name, pending, disabled } of this.reports()) {
      if (pending === 0) continue;
      const waiting = pending === 1 ? "1 trigger waits" : `${pending} triggers wait`;
      const until = disabled ? " until it is enabled" : "; the next run goes on";
      notice(`Webhook ${name}: ${waiting} in the outbox${until}`);
    }
    await this.#log.close();
  }

  async #add(
    config: Config["sinks"][number],
    { keys, caCerts }: { readonly keys: Uint8Array[]; readonly caCerts: string[] },
  ): Promise<void> {
    const { clock, notice, config: { deployment } } = this.#options;
    const log = this.#log;
    const { name, concurrency, timeoutUs, retryForUs, allowPrivate } = config;
    const { state, isNew } = await loadEndpoint(log, name);
    if (isNew && log.end > 0) {
      notice(`Webhook ${name} is new: it has the triggers that are told from here on`);
    }
    const cursor = log.keptFrom(state.cursor);
    const damaged = (offset: number): void => {
      notice(`A line of the outbox, at ${offset}, is damaged and passed over`);
      this.endpoint(name)?.passedOver();
    };
    const fingerprint = fingerprintOf(config);
    this.#endpoints.push(
      new WebhookEndpoint({
        ...{ name, concurrency, timeoutUs, retryForUs, fingerprint, clock, notice },
        state: { ...state, cursor },
        filter: new WebhookFilter(config.filter),
        body: bodyFormOf(config, deployment),
        reader: new LogReader(log, cursor, damaged),
        unread: await log.countLines(cursor),
        sender: new WebhookPost({
          url: new URL(config.url),
          keys,
          allowPrivate,
          caCerts,
          idleMax: concurrency,
        }),
        save: async (saved) => {
          await saveEndpoint(log, name, saved);
          this.#drop();
        },
        chance: Math.random,
        howToEnable: "To enable it again change its url, or anything else of it, and " +
          "start again",
      }),
    );
  }

  /** Says which endpoints are kept here and no longer configured. */
  async #sayLeft(): Promise<void> {
    for (const name of await endpointNames(this.#log)) {
      if (this.endpoint(name) !== null) continue;
      this.#options.notice(
        `Webhook ${name} is no longer configured: nothing is delivered to it. Where it is in the outbox stays in ` +
          `${statePath(this.#log, name)}, and what waits for it for as long as others need it`,
      );
    }
  }

  /** Gives back the space that nobody needs. */
  #drop(): void {
    if (this.#dropping !== null || this.#options.clock.monotonicUs() - this.#openedUs < HOLD_US) return;
    this.#dropping = this.#log.drop((segment) => this.#isNeeded(segment)).catch(this.#fail)
      .finally(() => this.#dropping = null);
  }

  #isNeeded({ start, end }: { readonly start: number; readonly end: number }): boolean {
    const isInside = ({ offset }: { readonly offset: number }): boolean => offset >= start && offset < end;
    const oldestUs = this.#options.clock.monotonicUs() - HOLD_US;
    return this.#endpoints.some(({ saved: { cursor, retries, rejected } }) =>
      cursor < end || retries.some(isInside) || rejected.some(isInside)
    ) || [...this.#splits.values()].some(({ heldFrom, closedUs }) => heldFrom < end && closedUs > oldestUs);
  }
}

async function openLog(
  { config: { outbox, checkpoint }, segmentBytes }: WebhooksOptions,
): Promise<OutboxLog> {
  const state = statePlaceOf(checkpoint.path);
  const parent = state.type === "directory" ? state.path : DEFAULT_DIRECTORY;
  const directory = outbox.path ?? join(parent, "outbox");
  try {
    return await OutboxLog.open({ directory, ...(segmentBytes === undefined ? {} : { segmentBytes }) });
  } catch (error) {
    if (error instanceof StateInUseError) {
      throw new UnavailableError(
        `Cannot use the outbox in ${directory}: another process is using it. Stop that one first, or give this one ` +
          "another directory with outbox.path",
        { cause: error },
      );
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`Cannot use the outbox in ${directory}: ${reason}`, { cause: error });
  }
}
