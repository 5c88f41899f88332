// @ts-check
/// <reference lib="dom" />
/**
 * The endpoints that triggers are sent to; where there are none, nothing.
 */
import { byId, count, duration, short, table, visible } from "./text.js";

/** @typedef {import("../adapters/http/status.ts").Status} Status */
/** @typedef {import("../adapters/http/status.ts").EndpointStatus} EndpointStatus */

const HEAD = ["Endpoint", "State", "Delivered", "Failed attempts", "Waiting", "The oldest", "Given up"];

/** See above. */
export class Webhooks {
  /** What is shown now. */
  #shown = "";

  /** @param {Status} status */
  update({ endpoints }) {
    const rows = endpoints.map(rowOf);
    const shown = JSON.stringify(rows);
    if (shown === this.#shown) return;
    this.#shown = shown;
    byId("webhooks-section").hidden = endpoints.length === 0;
    byId("webhooks").replaceChildren(table("Webhooks", HEAD, rows));
  }
}

/**
 * @param {EndpointStatus} endpoint
 * @returns {string[]}
 */
function rowOf({ name, disabled, down, delivered, failed, pending, retrying, oldest_pending_s, rejected }) {
  const state = disabled ? "gone (410)" : down ? "does not answer as it should" : "well";
  const again = retrying > 0 ? `, ${count(retrying)} of them again` : "";
  return [
    visible(name),
    state,
    short(delivered),
    short(failed),
    `${short(pending)}${again}`,
    oldest_pending_s === null ? "" : duration(oldest_pending_s),
    short(rejected),
  ];
}
