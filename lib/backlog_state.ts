/**
 * What of a webhook's backlog is kept, and what it is made of.
 *
 * @module
 */

/** A place in the outbox. */
export interface BacklogEntry {
  /** Where its line begins. */
  readonly offset: number;
  /** Where the next one does. */
  readonly next: number;
  /** When it was told, µs since the epoch. */
  readonly toldUs: number;
}

/** A trigger that failed. */
export interface Retry {
  /** Its place. */
  readonly offset: number;
  /** When it was told, µs since the epoch. */
  readonly toldUs: number;
  /** How often it was tried. */
  readonly attempts: number;
  /** When it is tried again, µs since the epoch. */
  readonly dueUs: number;
  /** How the last attempt ended. */
  readonly reason: string;
  /** Whether it was refused then, and did not just fail; states of before this was kept say nothing. */
  readonly refused?: boolean;
}

/** A trigger that was given up. */
export interface Rejected {
  /** Its place. */
  readonly offset: number;
  /** When it was told, µs since the epoch. */
  readonly toldUs: number;
  /** For the dead letter. */
  readonly detail: string;
}

/** What is kept of an endpoint. */
export interface BacklogState {
  /** Everything before this is settled, or among the two below. */
  readonly cursor: number;
  /** To be tried again. */
  readonly retries: readonly Retry[];
  /** To be dead letters. */
  readonly rejected: readonly Rejected[];
}
