/**
 * Which triggers a webhook is told of: those of some fences and kinds.
 *
 * @module
 */
import { FenceRules } from "./fence_rules.ts";
import { parseJsonObject } from "./json_object.ts";
import type { WebhookConfig } from "./webhook_config.ts";

const encoder = new TextEncoder();

/** See the module's header. */
export class WebhookFilter {
  readonly #fences: FenceRules | null;
  readonly #kinds: ReadonlySet<unknown>;

  /** Empty lists let everything pass. */
  constructor({ fences, kinds }: WebhookConfig["filter"]) {
    this.#fences = fences.length === 0
      ? null
      : new FenceRules(fences.map((fence) => ({ fence, afterUs: [] })));
    this.#kinds = new Set(kinds);
  }

  /** Whether a trigger's line is for this webhook. */
  passes(trigger: Uint8Array): boolean {
    if (this.#fences === null && this.#kinds.size === 0) return true;
    const { kind, fence_id: fence } = parseJsonObject(trigger) ?? {};
    if (this.#kinds.size > 0 && !this.#kinds.has(kind)) return false;
    if (this.#fences === null) return true;
    const bytes = encoder.encode(String(fence));
    return this.#fences.match(bytes, 0, bytes.length) > 0;
  }
}
