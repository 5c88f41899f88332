/**
 * What a sink that sends to endpoints tells of each.
 *
 * @module
 */

/** One endpoint, in this process. */
export interface EndpointReport {
  /** The configuration's name for it. */
  readonly name: string;
  /** Attempts to send by what came of them: a closed set of words, such as `delivered`, `retry`, `gone`, `rejected`. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Triggers that are to be sent. */
  readonly pending: number;
  /** How long the oldest of them has waited, µs; 0 for none. */
  readonly oldestPendingUs: number;
  /** Whether nothing is sent any more until somebody enables it. */
  readonly isDisabled: boolean;
}
