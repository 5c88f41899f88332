/**
 * Work that shows itself over HTTP while it goes on: a run over a file or a topic with `--listen`.
 *
 * @module
 */
import { listenOf } from "../../lib/config.ts";
import type { SplitReport } from "../split_actor.ts";
import type { SplitView } from "../split_view.ts";
import type { CommonParts } from "./job.ts";

/** What is shown. */
export interface Shown {
  readonly report: () => SplitReport | null;
  readonly splits: () => readonly SplitView[];
  /** Whether it is ready though it has no split. */
  readonly standsBy?: () => boolean;
}

/** Works, with the service beside it where the configuration says that it listens (`http.listen`). */
export async function whileShown(
  { config, notice }: CommonParts,
  shown: Shown,
  work: () => Promise<void>,
): Promise<void> {
  if (listenOf(config) === null) return await work();
  // Loaded where it is used: a run that shows itself to nobody is not to wait for it.
  const { HttpService } = await import("../adapters/http/http_service.ts");
  const service = await HttpService.start({ config, notice, intake: null, ...shown });
  notice(`Listening on ${service.url}`);
  try {
    await work();
  } finally {
    await service.stop();
  }
}
