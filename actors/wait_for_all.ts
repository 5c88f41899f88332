/**
 * Waits for all of some work, also where one of it has failed: what is on its way has arrived then, or failed too.
 *
 * @module
 */

/**
 * What all of it resolves with, in order.
 *
 * @throws what the first of it, in order, has rejected with
 */
export async function waitForAll<T>(work: readonly Promise<T>[]): Promise<T[]> {
  const outcomes = await Promise.allSettled(work);
  return outcomes.map((outcome) => {
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  });
}
