/**
 * npm's `bloom-filters` in front of a `Map` of strings: what the filter does not know is new, and the `Map` need not be
 * asked. A filter forgets nothing, so there are two, and each ttl the older one is thrown away.
 *
 * The package takes some 15 µs to put an id in: the filters, of full size, get the last 250,000 of the filling only, and
 * the copies are of ids since then.
 *
 * A file of its own, since the package is slow to load and wants to read the environment.
 *
 * @module
 */
import bloomFilters from "bloom-filters";
import { hexOf } from "./hex_of.ts";
import { mapOfStrings, type Window, type WindowOptions } from "./windows.ts";

/** A share of false positives. */
const BLOOM_ERROR = 0.01;
/** How many of the filled ids the filters get. */
const BLOOM_FILLED_MAX = 250_000;

/** See the module's header. */
export function bloomOverMap(options: WindowOptions): Window<string> {
  const { ids, ttlUs, clock } = options;
  const create = () => bloomFilters.BloomFilter.create(ids, BLOOM_ERROR);
  const map = mapOfStrings(options);
  let [young, old] = [create(), create()];
  let turnUs = clock.nowUs + ttlUs;
  const add = (id: string): void => {
    if (clock.nowUs >= turnUs) {
      [young, old] = [create(), young];
      turnUs = clock.nowUs + ttlUs;
    }
    young.add(id);
    map.add(id);
  };
  return {
    idOf: hexOf,
    admit(id): boolean {
      map.expire();
      if ((young.has(id) || old.has(id)) && map.has(id)) return false;
      add(id);
      return true;
    },
    fill(id, left): void {
      if (left < BLOOM_FILLED_MAX) add(id);
      else map.add(id);
    },
  };
}
