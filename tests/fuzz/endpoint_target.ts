/**
 * What is kept of webhooks: what is taken for a state can be gone on from, and is the same when it is written again.
 *
 * @module
 */
import { ok, strictEqual } from "node:assert/strict";
import { EndpointBacklog } from "../../lib/endpoint_backlog.ts";
import { parseEndpointState } from "../../lib/endpoint_state.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateJson } from "./mutation.ts";
import { showBytes } from "./show_bytes.ts";

const RETRY =
  '{"offset":120,"toldUs":1796241000123000,"attempts":3,"dueUs":1796241060000000.5,"reason":"status 500","refused":true}';
const REJECTED = '{"offset":7,"toldUs":1796241000123000,"detail":"status 400"}';
const STATES: readonly string[] = [
  '{"outbox":"3f0c","cursor":0,"retries":[],"rejected":[],"disabled":null}',
  `{"outbox":"3f0c","cursor":16777984,"retries":[${RETRY}],"rejected":[${REJECTED}],"disabled":"9f86d081"}`,
];
const WALL_US = 1_796_241_030_000_000;

/** See the module's header. */
export class EndpointTarget implements FuzzTarget {
  readonly name = "endpoint";
  readonly share = 50_000;
  readonly outcomes = ["whole", "damaged"];

  draw(chance: Chance): Uint8Array {
    return mutateJson(chance, chance.pick(STATES), chance.pick(STATES));
  }

  judge(input: Uint8Array): string {
    const state = parseEndpointState(input);
    if (state === null) return "damaged";
    const again = parseEndpointState(new TextEncoder().encode(JSON.stringify(state)));
    // JSON has no −0.
    strictEqual(JSON.stringify(again), JSON.stringify(state), "it can be written again");
    const backlog = new EndpointBacklog(state, { concurrency: 2, retryForUs: 60_000_000, disabled: false });
    const step = backlog.next(WALL_US, null);
    ok(!("untilUs" in step) || !Number.isNaN(step.untilUs), "what comes next is at a time");
    return "whole";
  }

  show(input: Uint8Array): string {
    return showBytes(input);
  }
}
