/**
 * The tails of several outputs after a crash, each damaged in its own way: the union has what any of them has, as often
 * as the one that has it most; what each lacks makes it the union, and nothing else.
 *
 * @module
 */
import { deepStrictEqual } from "node:assert/strict";
import { type TailLine, uniteTails } from "../../lib/sink_tails.ts";
import type { Chance } from "../sim/chance.ts";
import type { FuzzTarget } from "./fuzz_target.ts";

/** Ids by tail. */
type Tails = readonly (readonly number[])[];

const LINES_MAX = 30;
const TAILS_MAX = 4;
/** Few, so that they meet. */
const IDS = 20;

/** See the module's header. */
export class TailsTarget implements FuzzTarget<Tails> {
  readonly name = "tails";
  readonly share = 50_000;
  readonly outcomes = ["repaired", "whole"];

  draw(chance: Chance): Tails {
    const written = Array.from({ length: chance.below(LINES_MAX) }, () => chance.below(IDS));
    return Array.from({ length: chance.between(1, TAILS_MAX) }, () => damaged(chance, written));
  }

  judge(tails: Tails): string {
    const lines = tails.map((ids) =>
      ids.map((id): TailLine => ({ id: String(id), bytes: Uint8Array.of(id) }))
    );
    const { union, lacking } = uniteTails(lines);
    const most = new Map<number, number>();
    for (const ids of tails) {
      for (const [id, count] of counted(ids)) most.set(id, Math.max(most.get(id) ?? 0, count));
    }
    const idsOf = (of: readonly TailLine[]): number[] => of.map(({ id }) => Number(id));
    deepStrictEqual(sorted(counted(idsOf(union))), sorted(most), "the union");
    for (const [i, ids] of tails.entries()) {
      const repaired = counted([...ids, ...idsOf(lacking[i] ?? [])]);
      deepStrictEqual(sorted(repaired), sorted(most), `tail ${i}, repaired`);
    }
    return lacking.some(({ length }) => length > 0) ? "repaired" : "whole";
  }

  show(tails: Tails): string {
    return JSON.stringify(tails);
  }
}

/** Cut at its end as a crash does, or anywhere, as retention and people do. */
function damaged(chance: Chance, written: readonly number[]): number[] {
  const tail = written.slice(0, chance.happens(0.5) ? written.length : chance.below(written.length + 1));
  if (chance.happens(0.3)) tail.splice(chance.below(tail.length + 1), chance.below(4));
  if (chance.happens(0.2)) tail.splice(chance.below(tail.length + 1), 0, chance.below(IDS));
  if (chance.happens(0.1)) tail.reverse();
  return tail;
}

function counted(ids: readonly number[]): Map<number, number> {
  const counts = new Map<number, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}

function sorted(counts: ReadonlyMap<number, number>): [number, number][] {
  return [...counts].sort(([a], [b]) => a - b);
}
