/**
 * A producer's format that Fencepost knows: its mapping, as it could stand in a configuration, and what is to be known of it.
 *
 * @module
 */
import type { MappingJson } from "./mapping.ts";

/** See the module's header. Texts are sentences for the page that `fencepost formats NAME` shows. */
export interface Preset {
  /** As in `source.format`. */
  readonly name: string;
  /** What sends it. */
  readonly about: string;
  /** Null for records of our own, which need none. */
  readonly mapping: MappingJson | null;
  /** Which clock the event time is of, and which one the ingest time. */
  readonly clock: string;
  /** What comes along and is no transition. */
  readonly skipped: string;
  /** What is known of batches, order and redelivery. */
  readonly redelivery: string;
  /** What the producer can't promise, and what to do about that; a paragraph each. */
  readonly limits: readonly string[];
}
