/**
 * All metrics of a process, and the route that shows them.
 *
 * @module
 */
import type { Config } from "../../../lib/config.ts";
import type { WebhookReport } from "../../webhook_endpoint.ts";
import type { Intake } from "../../intake.ts";
import type { SplitView } from "../../split_view.ts";
import { textAnswer } from "../http/answer.ts";
import type { Gate } from "../http/gate.ts";
import type { RequestBodies } from "../http/request_body.ts";
import type { Route } from "../http/service.ts";
import { registerEndpointMetrics } from "./endpoint_metrics.ts";
import {
  type Answered,
  registerGateMetrics,
  registerIntakeMetrics,
  registerRequestMetrics,
} from "./http_metrics.ts";
import { MetricSet } from "./metric_set.ts";
import { type EventLoopLag, registerProcessMetrics } from "./process_metrics.ts";
import { registerSplitMetrics } from "./split_metrics.ts";

/** Where they come from. */
export interface MetricsOptions {
  readonly config: Config;
  readonly splits: () => readonly SplitView[];
  /** Endpoints that triggers are sent to. */
  readonly endpoints: () => readonly WebhookReport[];
  /** The gate; null before it listens. */
  readonly gate: () => Gate | null;
  /** Null where records come from elsewhere. */
  readonly intake: { readonly intake: Intake; readonly bodies: RequestBodies } | null;
}

/** See the module's header. */
export class Metrics {
  /** Told of each request. */
  readonly answered: Answered;
  readonly #options: MetricsOptions;
  readonly #set = new MetricSet();
  readonly #lag: EventLoopLag;
  /** The splits as they are at this scrape: each metric asks, and to add them up takes a while. */
  #splits: readonly SplitView[] = [];

  /** Begins to measure the event loop, until {@link stop}. */
  constructor(options: MetricsOptions) {
    this.#options = options;
    const { config, endpoints, gate, intake } = options;
    const set = this.#set;
    const wallUs = (): number => Date.now() * 1000;
    registerSplitMetrics(set, { config, splits: () => this.#splits, wallUs });
    registerEndpointMetrics(set, endpoints);
    if (intake !== null) registerIntakeMetrics(set, intake.intake, intake.bodies);
    this.answered = registerRequestMetrics(set);
    registerGateMetrics(set, gate);
    this.#lag = registerProcessMetrics(set);
  }

  /** All of them as text, in the format that a scraper's `Accept` prefers. */
  async text(accept: string | null): Promise<{ readonly text: string; readonly contentType: string }> {
    this.#splits = this.#options.splits();
    return await this.#set.text(accept);
  }

  /** `GET /metrics`. */
  route(): Route {
    return {
      method: "GET",
      path: "/metrics",
      scope: this.#options.config.http.metricsOpen ? null : "read",
      answer: async (request) => {
        const { text, contentType } = await this.text(request.headers.get("accept"));
        return textAnswer(text, contentType);
      },
    };
  }

  /** Measures no more. */
  stop(): void {
    this.#lag.stop();
  }
}
