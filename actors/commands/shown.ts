/**
 * Work that shows itself over HTTP while it goes on: a run over a file or a topic with `--listen`.
 *
 * @module
 */
import { type Config, listenOf } from "../../lib/config.ts";
import type { SplitObservers } from "../line_observer.ts";
import { Onlookers } from "../onlookers.ts";
import type { SplitReport } from "../split_actor.ts";
import type { NamedLook } from "../named_look.ts";
import type { SplitReads } from "../split_reads.ts";
import type { SplitView } from "../split_view.ts";
import type { WebhookReport } from "../webhook_endpoint.ts";
import type { CommonParts } from "./job.ts";

/** What is shown. */
export interface Shown {
  readonly report: () => SplitReport | null;
  readonly splits: () => readonly SplitView[];
  /** Null for one that is to be opened again. */
  readonly reads: () => readonly (SplitReads | null)[];
  /** What is in those that run. */
  readonly looks: () => readonly NamedLook[];
  /** Endpoints that triggers are sent to. */
  readonly endpoints: () => readonly WebhookReport[];
  /** Null where nobody is shown anything. */
  readonly onlookers: Onlookers | null;
  /** Whether it is ready though it has no split. */
  readonly standsBy?: () => boolean;
}

/** Those to whom a run is shown; null where the configuration says that it does not listen. */
export function onlookersOf(config: Config): Onlookers | null {
  return listenOf(config) === null ? null : new Onlookers();
}

/** What a split is to be given for them. */
export function observedBy(onlookers: Onlookers | null): { readonly observers?: SplitObservers } {
  return onlookers === null ? {} : { observers: onlookers.observers() };
}

/** Works, with the service beside it where the configuration says that it listens (`http.listen`). */
export async function whileShown(
  { config, notice }: CommonParts,
  { onlookers, ...shown }: Shown,
  work: () => Promise<void>,
): Promise<void> {
  if (onlookers === null) return await work();
  // Loaded where it is used: a run that shows itself to nobody is not to wait for it.
  const { HttpService } = await import("../adapters/http/http_service.ts");
  const service = await HttpService.start({ config, notice, intake: null, onlookers, ...shown });
  notice(`Listening on ${service.url}`);
  try {
    await work();
  } finally {
    await service.stop();
  }
}
