/**
 * The service: the server, who may use it, and its routes.
 *
 * @module
 */
import { join } from "node:path";
import xxhash from "xxhash-wasm";
import { type Config, listenOf } from "../../../lib/config.ts";
import type { Intake } from "../../intake.ts";
import type { Onlookers } from "../../onlookers.ts";
import type { SplitReport } from "../../split_actor.ts";
import type { NamedLook } from "../../split_group.ts";
import type { SplitReads } from "../../split_reads.ts";
import { Access } from "./access.ts";
import { healthRoutes } from "./health_routes.ts";
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
  /** What is in the splits that run. */
  readonly looks: () => readonly NamedLook[];
}

/** See the module's header. */
export class HttpService {
  readonly #server: HttpServer;
  readonly #idempotency: LazyStore;
  readonly #streams: TriggerStreams;
  readonly #history: StatusHistory;

  private constructor(
    server: HttpServer,
    parts: { idempotency: LazyStore; streams: TriggerStreams; history: StatusHistory },
  ) {
    this.#server = server;
    this.#idempotency = parts.idempotency;
    this.#streams = parts.streams;
    this.#history = parts.history;
  }

  /**
   * Listens where the configuration says.
   *
   * @throws {Error} where the address, the certificate or a token can't be used
   */
  static async start(options: HttpServiceOptions): Promise<HttpService> {
    const { config, notice, intake } = options;
    const access = await Access.create(config.http);
    const idempotency = new LazyStore(
      join(config.checkpoint.path, "requests.kv"),
      config.http.idempotencyUs / 1000,
    );
    const routes: Route[] = healthRoutes(() => notReady(options));
    if (intake !== null) {
      const bodies = new RequestBodies({
        bytesMax: config.http.bodyBytesMax,
        allBytesMax: config.http.bodiesBytesMax,
      });
      const { h64Raw } = await xxhash();
      const hash = (bytes: Uint8Array): string => h64Raw(bytes).toString(16).padStart(16, "0");
      routes.push({
        method: "POST",
        path: "/v1/transitions",
        scope: "ingest",
        answer: (request, { client }) =>
          postTransitions(request, client, { intake, bodies, idempotency: () => idempotency.get(), hash }),
      });
    }
    const streams = new TriggerStreams({
      ring: options.onlookers.triggers,
      streamsMax: config.http.streamsMax,
      idleTimeoutMs: config.http.idleTimeoutUs / 1000,
    });
    routes.push(...readRoutes({ ...options, streams, maxAgeUs: config.time.maxAgeUs }));
    const status = { ...options, notReady: () => notReady(options) };
    const history = historyOf(status);
    routes.push(...pageRoutes(), ...statusRoutes(status, history));
    routes.push(openApiRoute(routes));
    const server = await HttpServer.start(listenOf(config)?.value as string, {
      http: config.http,
      handler: routed(routes, access),
      failed: (error) => notice(`A request failed: ${error instanceof Error ? error.message : error}`),
    });
    history.start();
    return new HttpService(server, { idempotency, streams, history });
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
    await this.#idempotency.close();
  }
}

/** Why it can't be given work; null where it can. */
function notReady({ intake, report }: HttpServiceOptions): string | null {
  const now = report();
  if (now === null) return "restoring";
  if (intake !== null && !intake.isOpen) return "restoring";
  if (now.overdue) return "far behind: deadlines are overdue";
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
    return this.#store ??= IdempotencyStore.open(this.#path, { keepMs: this.#keepMs });
  }

  async close(): Promise<void> {
    (await this.#store)?.close();
    this.#store = null;
  }
}
