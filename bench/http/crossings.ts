/**
 * Transitions for the service, made as fast as they are sent: each device goes in and out of a fence, again and again, so
 * that each record is a crossing of its own, and its trigger's id can be told from the record alone.
 *
 * @module
 */
import { parseConfig } from "../../lib/config.ts";
import { CODE_ENTER, CODE_EXIT, Identity, writeLanesHex } from "../../lib/identity.ts";
import { formatTimestamp } from "../../lib/time.ts";

/** So many devices take turns. */
export const DEVICES = 1_000_000;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** One transition. */
export interface Crossing {
  readonly device: string;
  readonly kind: "ENTER" | "EXIT";
  readonly timeUs: number;
}

/** The n-th crossing of all, which happens now. */
export function crossing(n: number, nowUs: number): Crossing {
  const round = Math.floor(n / DEVICES);
  const device = `truck-${String(n % DEVICES).padStart(6, "0")}`;
  return { device, kind: round % 2 === 0 ? "ENTER" : "EXIT", timeUs: nowUs };
}

/** A batch as NDJSON, some 130 bytes a record. */
export function bodyOf(crossings: readonly Crossing[]): Uint8Array<ArrayBuffer> {
  let text = "";
  let lastUs = NaN;
  let time = "";
  for (const { device, kind, timeUs } of crossings) {
    if (timeUs !== lastUs) time = formatTimestamp(lastUs = timeUs);
    text += `{"device_id":"${device}","fence_id":"depot-3","kind":"${kind}","event_time":"${time}"}\n`;
  }
  return encoder.encode(text) as Uint8Array<ArrayBuffer>;
}

/** A sum over ids that their order does not change: two sets of the same size with the same sum are the same. */
export class IdSum {
  /** How many ids there are. */
  count = 0;
  #words = new BigUint64Array(2);

  /** Adds an id of 32 hex digits. */
  add(id: string): void {
    this.count++;
    this.#words[0] = (this.#words[0] as bigint) + BigInt(`0x${id.slice(0, 16)}`);
    this.#words[1] = (this.#words[1] as bigint) + BigInt(`0x${id.slice(16)}`);
  }

  /** For comparison and print. */
  toString(): string {
    return `${this.count} ids, sum ${this.#words[0]?.toString(16)}:${this.#words[1]?.toString(16)}`;
  }
}

/** Computes the ids that crossings must have. */
export async function idOfCrossings(): Promise<(crossing: Crossing) => string> {
  const identity = await Identity.create(parseConfig({}).identity);
  const hex = new Uint8Array(32);
  return ({ device, kind, timeUs }) => {
    const bytes = encoder.encode(`${device}depot-3`);
    identity.compute(
      kind === "ENTER" ? CODE_ENTER : CODE_EXIT,
      bytes,
      0,
      device.length,
      device.length,
      bytes.length,
      timeUs,
      bytes.length,
      bytes.length,
    );
    writeLanesHex(hex, 0, identity.lanes, 0);
    return decoder.decode(hex);
  };
}
