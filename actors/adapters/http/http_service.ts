/**
 * The service: the server, who may use it, and its routes.
 *
 * @module
 */
import { join } from "node:path";
import xxhash from "xxhash-wasm";
import { type Config, listenOf } from "../../../lib/config.ts";
import type { WebhookReport } from "../../webhook_endpoint.ts";
import type { Intake } from "../../intake.ts";
import type { Onlookers } from "../../onlookers.ts";
import type { SplitReport } from "../../split_actor.ts";
import type { NamedLook } from "../../named_look.ts";
import type { SplitReads } from "../../split_reads.ts";
import type { SplitView } from "../../split_view.ts";
import { Metrics } from "../metrics/metrics.ts";
import { Access } from "./access.ts";
import { type ForeignPageGuard, foreignPageGuard } from "./foreign_page.ts";
import { healthRoutes } from "./health_routes.ts";
import { parseListen } from "../../../lib/http_config.ts";
import { HttpServer } from "./http_server.ts";
import { IdempotencyStore } from "./idempotency.ts";
import { openApiRoute } from "./openapi/openapi_route.ts";
import { pageRoutes } from "./page_routes.ts";
import { readRoutes } from "./read_routes.ts";
import { RequestBodies } from "./request_body.ts";
import { type Route, routed } from "./service.ts";
import { historyOf, type StatusHistory, statusRoutes } from "./status_routes.ts";
import { postTransitions } from "./transitions.ts";
import { TriggerStreams } from "./trigger_streams.ts";

/** What a service shows and takes. */
export interface HttpServiceOptions {
  readonly config: Config;
  readonly notice: (message: string) => void;
  /** Where requests go; null where records come from elsewhere. */
  readonly intake: Intake | null;
  /** How it is doing; null before it has opened. */
  readonly report: () => SplitReport | null;
  /** Its splits; null for one that is to be opened again. */
  readonly reads: () => readonly (SplitReads | null)[];
  readonly onlookers: Onlookers;
  /** The splits, one by one. */
  readonly splits: () => readonly SplitView[];
  /** Whether it is ready without a split, as the member of a group is that has none for it; else it never is. */
  readonly standsBy?: () => boolean;
  /** Endpoints that triggers are sent to. */
  readonly endpoints: () => readonly WebhookReport[];
  /** What is in the splits that run. */
  readonly looks: () => readonly NamedLook[];
}

/** See the module's header. */
export class HttpService {
  readonly #server: HttpServer;
  readonly #idempotency: LazyStore;
  readonly #streams: TriggerStreams;
  readonly #metrics: Metrics;
  readonly #history: StatusHistory;

  private constructor(
    parts: {
      server: HttpServer;
      idempotency: LazyStore;
      streams: TriggerStreams;
      metrics: Metrics;
      history: StatusHistory;
    },
  ) {
    this.#server = parts.server;
    this.#idempotency = parts.idempotency;
    this.#streams = parts.streams;
    this.#metrics = parts.metrics;
    this.#history = parts.history;
  }

  /**
   * Listens where the configuration says.
   *
   * @throws {Error} where the address, the certificate or a token can't be used
   */
  static async start(options: HttpServiceOptions): Promise<HttpService> {
    const { config, notice, intake, splits, endpoints } = options;
    const access = await Access.create(config.http);
    const idempotency = new LazyStore(
      join(config.checkpoint.path, "requests.kv"),
      config.http.idempotencyUs / 1000,
    );
    const bodies = new RequestBodies({
      bytesMax: config.http.bodyBytesMax,
      allBytesMax: config.http.bodiesBytesMax,
      timeoutMs: config.http.requestTimeoutUs / 1000,
    });
    let server: HttpServer | null = null;
    const metrics = new Metrics({
      config,
      splits,
      endpoints,
      gate: () => server?.gate ?? null,
      intake: intake === null ? null : { intake, bodies },
    });
    const routes: Route[] = [...healthRoutes(() => notReady(options)), metrics.route()];
    if (intake !== null) {
      const { h64Raw } = await xxhash();
      const hash = (bytes: Uint8Array): string => h64Raw(bytes).toString(16).padStart(16, "0");
      routes.push({
        method: "POST",
        path: "/v1/transitions",
        scope: "ingest",
        answer: (request, { client }) =>
          postTransitions(request, client, {
            intake,
            bodies,
            idempotency: () => idempotency.get(),
            hash,
            format: config.source.format,
          }),
      });
    }
    const streams = new TriggerStreams({
      ring: options.onlookers.triggers,
      streamsMax: config.http.streamsMax,
      idleTimeoutMs: config.http.idleTimeoutUs / 1000,
    });
    routes.push(...readRoutes({ ...options, streams, maxAgeUs: config.time.maxAgeUs }));
    const status = {
      ...options,
      notReady: () => notReady(options),
      url: () => server?.url ?? "",
    };
    const history = historyOf(status);
    routes.push(...pageRoutes(), ...statusRoutes(status, history));
    routes.push(openApiRoute(routes));
    try {
      server = await HttpServer.start(listenOf(config)?.value as string, {
        http: config.http,
        handler: routed(routes, { access, guard: guardOf(config), answered: metrics.answered }),
        // There may have been transitions in it.
        refused: () => intake?.refuseUnread(),
        failed: (error) => notice(`A request failed: ${error instanceof Error ? error.message : error}`),
      });
    } catch (error) {
      metrics.stop();
      throw error;
    }
    history.start();
    return new HttpService({ server, idempotency, streams, metrics, history });
  }

  /** Where it listens. */
  get url(): string {
    return this.#server.url;
  }

  /** Takes no more connections. */
  stopTaking(): void {
    this.#server.gate.stop();
  }

  /** Answers what is left, and ends. */
  async stop(): Promise<void> {
    await this.#streams.stop();
    this.#history.stop();
    await this.#server.stop();
    this.#metrics.stop();
    await this.#idempotency.close();
  }
}

/** With tokens, a page from elsewhere has none to send. */
function guardOf(config: Config): ForeignPageGuard {
  if (config.http.tokens.length > 0) return () => null;
  const listen = parseListen(listenOf(config)?.value ?? "");
  return foreignPageGuard(config.http.allowAnonymous ? null : listen?.hostname ?? null);
}

/** Why it can't be given work; null where it can. */
function notReady({ intake, splits, standsBy }: HttpServiceOptions): string | null {
  const here = splits().filter(({ isHere }) => isHere).map(({ report }) => report);
  if (here.length === 0) return standsBy?.() === true ? null : "starting";
  if (here.some(({ vitals }) => !vitals.isOpen)) return "restoring";
  if (intake !== null && !intake.isOpen) return "restoring";
  if (here.some(({ overdue }) => overdue)) return "far behind: deadlines are overdue";
  return null;
}

/** Opens the store of answers when it is first asked for: by then the state's directory is there, and ours. */
class LazyStore {
  readonly #path: string;
  readonly #keepMs: number;
  #store: Promise<IdempotencyStore> | null = null;

  constructor(path: string, keepMs: number) {
    this.#path = path;
    this.#keepMs = keepMs;
  }

  get(): Promise<IdempotencyStore> {
    return this.#store ??= this.#open();
  }

  async close(): Promise<void> {
    (await this.#store?.catch(() => null))?.close();
    this.#store = null;
  }

  async #open(): Promise<IdempotencyStore> {
    try {
      return await IdempotencyStore.open(this.#path, { keepMs: this.#keepMs });
    } catch (cause) {
      // The next request may find it mended.
      this.#store = null;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(
        `Cannot use ${this.#path}: ${reason}. Nothing but answers to requests with an Idempotency-Key is in it: if it ` +
          "is damaged, stop and delete it",
        { cause },
      );
    }
  }
}
