/**
 * All that is fuzzed.
 *
 * @module
 */
import { CheckpointTarget } from "./checkpoint_target.ts";
import { ConfigTarget } from "./config_target.ts";
import { EndpointTarget } from "./endpoint_target.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { LetterTarget } from "./letter_target.ts";
import { OutboxTarget } from "./outbox_target.ts";
import { RecordTarget } from "./record_target.ts";
import { TailsTarget } from "./tails_target.ts";
import { TriggerTarget } from "./trigger_target.ts";

/** Makes them anew: some remember what they were shown. */
export function fuzzTargets(): FuzzTarget<never>[] {
  return [
    new RecordTarget(),
    new CheckpointTarget(),
    new TriggerTarget(),
    new TailsTarget(),
    new LetterTarget(),
    new OutboxTarget(),
    new EndpointTarget(),
    new ConfigTarget(),
  ] as unknown as FuzzTarget<never>[];
}
