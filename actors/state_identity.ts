/**
 * What a state was written with, and whether a split can go on from it.
 *
 * @module
 */
import type { StateIdentity } from "../lib/checkpoint.ts";
import type { Config } from "../lib/config.ts";
import { formatDuration } from "../lib/time.ts";

/**
 * Looks whether the state is of this configuration.
 *
 * @param now the configuration, the kind of its source, and the name of the store for messages
 * @throws {StateMismatchError} where it is not; the message says what differs
 */
export function checkStateIdentity(
  written: StateIdentity,
  now: { readonly config: Config; readonly sourceKind: string; readonly store: string },
): void {
  const { config, sourceKind, store } = now;
  const differences: string[] = [];
  const compare = (name: string, before: unknown, after: unknown): void => {
    if (before !== after) differences.push(`${name} was ${before} and is now ${after}`);
  };
  compare("identity.bucket", formatDuration(written.bucketUs), formatDuration(config.identity.bucketUs));
  compare("identity.guard", formatDuration(written.guardUs), formatDuration(config.identity.guardUs));
  compare("partitions", written.partitions, config.partitions);
  compare("source.type", written.sourceKind, sourceKind);
  if (differences.length === 0) {
    checkGroup(written.group, config, store);
    return;
  }
  throw new StateMismatchError(
    `The state in ${store} was written with another configuration: ${differences.join(", ")}. ` +
      "Set it back, or name another checkpoint.path (--state) to begin afresh",
  );
}

/** Each of two groups reads all records: over one state, each would go on behind what only the other has read. */
function checkGroup(written: string | undefined, { source, deployment }: Config, store: string): void {
  if (source.type !== "kafka" || written === undefined || written === source.group) return;
  throw new StateMismatchError(
    `The state in ${store} is of group ${written}, and source.group is ${source.group}: two groups would share one state ` +
      `and each miss what the other reads. Give this one another deployment than ${deployment}, or set source.group back`,
  );
}

/** The state was written with a configuration that this one can't go on from. */
export class StateMismatchError extends Error {
  override readonly name = "StateMismatchError";
}
