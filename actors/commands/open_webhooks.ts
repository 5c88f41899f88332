/**
 * Opens the webhooks of a run, if it has any. Loaded where they are used: without them nothing of them costs a start anything.
 *
 * @module
 */
import type { Webhooks } from "../adapters/webhook/webhooks.ts";
import type { CommonParts } from "./job.ts";

/** Null where the configuration has none. */
export async function openWebhooks(
  { config, clock, notice }: Pick<CommonParts, "config" | "clock" | "notice">,
): Promise<Webhooks | null> {
  if (!config.sinks.some(({ type }) => type === "webhook")) return null;
  const { Webhooks } = await import("../adapters/webhook/webhooks.ts");
  return await Webhooks.open({ config, clock, notice });
}
