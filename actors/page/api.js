// @ts-check
/// <reference lib="dom" />
/**
 * The one who asks the service, with the token where there is one.
 */

const KEY = "fencepost.token";
const TIMEOUT_MS = 5000;

/** @typedef {import("../adapters/http/status.ts").Status} Status */
/** @typedef {Status & { readonly history?: Readonly<Record<string, number[]>> }} StatusAnswer */

/** What was answered where it was not what was asked for. */
export class Refusal extends Error {
  /**
   * @param {number} status
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** @returns {string | null} */
export function token() {
  return sessionStorage.getItem(KEY);
}

/** @param {string | null} value null to forget it */
export function setToken(value) {
  if (value === null) sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, value);
}

/**
 * Asks for JSON. The path is relative, so that the page works behind a proxy that gives it a place of its own.
 * @param {string} path
 * @returns {Promise<unknown>}
 */
export async function get(path) {
  const kept = token();
  /** @type {Record<string, string>} */
  const headers = kept === null ? {} : { authorization: `Bearer ${kept}` };
  const response = await fetch(path, {
    headers,
    cache: "no-store",
    redirect: "error",
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
  if (response.ok) return await response.json();
  let detail = response.statusText;
  try {
    detail = String((await response.json()).detail ?? detail);
  } catch {
    // It was no problem document: the status has to do.
  }
  throw new Refusal(response.status, detail);
}

/**
 * @param {boolean} withHistory
 * @returns {Promise<StatusAnswer>}
 */
export async function getStatus(withHistory) {
  return /** @type {StatusAnswer} */ (await get(withHistory ? "v1/status?history=1" : "v1/status"));
}
