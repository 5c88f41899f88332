/**
 * Dead letters that are read back: by a state after a crash, and by whoever sends their records again, from files that
 * people have edited.
 *
 * Neither throws. What is taken for a whole one is so for the other as well, and can be written and read again as the
 * same; what is damaged says why; whether it may be sent again, and to which partition, can be told of each.
 *
 * @module
 */
import { ok, strictEqual } from "node:assert/strict";
import { parseConfig } from "../../lib/config.ts";
import { decodeKnownDeadLetter, encodeDeadLetter } from "../../lib/dead_letter.ts";
import { decodeDeadLetter, type StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import { ReplayJudge } from "../../lib/replay.ts";
import { replayPlace } from "../../lib/replay_place.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";
import { mutateJson } from "./mutation.ts";
import { RECORDS } from "./record_target.ts";
import { showBytes } from "./show_bytes.ts";
import { TRIGGERS } from "./trigger_target.ts";

const HEAD = '"detail":"kind must be …","source":"field.ndjson","position":{"offset":120,"line":3},' +
  '"at":"2026-05-04T08:00:10.250000Z"';

/** Dead letters as they are written. */
const LETTERS: readonly string[] = [
  ...RECORDS.map((record) => `{"reason":"INVALID_KIND",${HEAD},"record":${JSON.stringify(record)}}`),
  `{"reason":"INVALID_UTF8",${HEAD},"record_base64":"/w=="}`,
  `{"reason":"TOO_LARGE",${HEAD},"record":"aaaa","byte_length":70123,"xxh64":"0123456789abcdef"}`,
  `{"reason":"SINK_REJECTED","detail":"","source":"w","position":null,"at":"2026-05-04T08:00:10.250000Z","record":${
    JSON.stringify(TRIGGERS[0])
  }}`,
  `{"reason":"LATE","detail":"","source":"t","position":{"partition":3,"offset":9},"at":"2026-05-04T08:00:10.250000Z","record":${
    JSON.stringify(RECORDS[0])
  }}`,
];

/** See the module's header. */
export class LetterTarget implements FuzzTarget {
  readonly name = "dead letter";
  readonly share = 150_000;
  readonly outcomes = ["whole", "known only", "damaged"];

  readonly #judge = new ReplayJudge({
    config: parseConfig({}),
    wallUs: Date.UTC(2026, 4, 4, 8, 1) * 1000,
    force: false,
    olderThanTtl: false,
  });

  draw(chance: Chance): Uint8Array {
    return mutateJson(chance, chance.pick(LETTERS), chance.pick(LETTERS));
  }

  judge(input: Uint8Array): string {
    const known = decodeKnownDeadLetter(input);
    const stored = decodeDeadLetter(input);
    if ("damage" in stored) {
      ok(stored.damage.length > 0 && stored.damage.length < 300, `it says why: ${stored.damage}`);
      return known === null ? "damaged" : "known only";
    }
    ok(known !== null || stored.reason === "SINK_REJECTED", "a whole one is known");
    strictEqual(known?.reason ?? stored.reason, stored.reason);
    const again = decodeDeadLetter(encodeDeadLetter(stored, stored.atUs));
    strictEqual(plain(again as StoredDeadLetter), plain(stored), "it can be written and read again");
    const refusal = this.#judge.refusal(stored, NaN);
    ok(refusal === null || refusal.why.length < 1000, "why it is not sent again can be said");
    replayPlace(stored, { partitions: 4, by: null });
    return "whole";
  }

  show(input: Uint8Array): string {
    return showBytes(input);
  }
}

/** Of a record that is too large only whole characters are written; of numbers, what JSON can say. */
function plain({ record, oversize, ...rest }: StoredDeadLetter): string {
  return JSON.stringify({ ...rest, oversize, record: oversize === undefined ? [...record] : [] });
}
