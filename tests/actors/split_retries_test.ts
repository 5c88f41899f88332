/**
 * What is tried again, for how long, and what is given up.
 *
 * @module
 */
import { deepEqual, equal, throws } from "node:assert/strict";
import { FencedError, UnavailableError } from "../../actors/ports.ts";
import { FENCED_US, REFUSED_US_MAX, SplitRetries } from "../../actors/split_retries.ts";
import { RESTARTS_MAX } from "../../actors/system.ts";
import { AssertionFailed } from "../../lib/assert.ts";

const AWAY = new UnavailableError("No broker answers");
const MISSING = new Error("there is no such topic");
const FAULT = new AssertionFailed("a broken invariant");
const FENCED = new FencedError("another has it");

class Scene {
  nowUs = 0;
  readonly retries = new SplitRetries({
    name: "t[0]",
    clock: { monotonicUs: () => this.nowUs },
    mayPass: (error) => error === MISSING,
  });

  /** The pause after each of these failures, of a split that has made as many checkpoints. */
  pauses(errors: readonly Error[], checkpoints = 0): number[] {
    return errors.map((error) => this.retries.failed(error, checkpoints));
  }
}

Deno.test("SplitRetries: pauses grow, and begin anew once a split has worked", () => {
  const scene = new Scene();
  deepEqual(scene.pauses(new Array(8).fill(AWAY)), [250e3, 500e3, 1e6, 2e6, 4e6, 8e6, 15e6, 15e6]);
  deepEqual(scene.pauses([AWAY], 1), [15e6]);
  deepEqual(scene.pauses([AWAY, AWAY], 10), [250e3, 500e3]);
});

Deno.test("SplitRetries: a refusal that may pass is believed after a while, and any other at once", () => {
  const scene = new Scene();
  throws(() => scene.retries.failed(new Error("the user may not"), 0), /the user may not/);
  deepEqual(scene.pauses([MISSING]), [250e3]);
  scene.nowUs = REFUSED_US_MAX - 1;
  deepEqual(scene.pauses([MISSING, AWAY]), [500e3, 1e6]);
  // It was an outage: the next refusal is the first.
  scene.nowUs = REFUSED_US_MAX;
  deepEqual(scene.pauses([MISSING]), [2e6]);
  scene.nowUs = 2 * REFUSED_US_MAX;
  throws(() => scene.retries.failed(MISSING, 0), MISSING);
});

Deno.test("SplitRetries: failing before the state is known does not make a fault look cured", () => {
  const scene = new Scene();
  scene.pauses([FAULT], 5_000);
  for (let faults = 2; faults <= RESTARTS_MAX; faults++) {
    scene.pauses([AWAY], 0);
    scene.pauses([FAULT], 5_000);
  }
  throws(() => scene.retries.failed(FAULT, 5_000), /Gave up after 5 restarts/);
});

Deno.test("SplitRetries: fenced twice is two groups of one name, unless it is long ago", () => {
  const scene = new Scene();
  equal(scene.retries.failed(FENCED, 10), FENCED_US);
  scene.nowUs = 5 * FENCED_US;
  equal(scene.retries.failed(FENCED, 20), FENCED_US);
  scene.nowUs += 2 * FENCED_US;
  throws(
    () => scene.retries.failed(FENCED, 30),
    /t\[0\] is written by another process.*share the name of a deployment/,
  );
});
