/**
 * The ledger of what a crashed process told: each trigger is found as often as it was told.
 *
 * @module
 */
import { deepEqual, equal } from "node:assert/strict";
import { type LedgerLine, type ToldEntry, ToldLedger } from "../../lib/told_ledger.ts";
import { randomFrom } from "../support/random.ts";

function entry(id: string, rest: Partial<ToldEntry> = {}): ToldEntry {
  return { id, edge: null, eventTimeUs: 100, expiresUs: 1000, enteredAtUs: null, ...rest };
}

Deno.test("told ledger: what was told is taken as often as it was told", () => {
  const ledger = new ToldLedger();
  equal(ledger.take("a", null), false);
  ledger.add(entry("a"));
  ledger.add(entry("a"));
  ledger.add(entry("b"));
  equal(ledger.size, 2);
  equal(ledger.take("a", null), true);
  equal(ledger.has("a"), true);
  equal(ledger.take("a", null), true);
  equal(ledger.has("a"), false);
  equal(ledger.take("a", null), false);
  equal(ledger.take("b", null), true);
  equal(ledger.size, 0);
});

Deno.test("told ledger: an edge that several triggers share stays until the last of them is taken", () => {
  const ledger = new ToldLedger();
  ledger.add(entry("a", { edge: "e" }));
  ledger.add(entry("b", { edge: "e" }));
  equal(ledger.hasEdge("e"), true);
  equal(ledger.has("e"), false);
  ledger.take("a", "e");
  equal(ledger.hasEdge("e"), true);
  ledger.take("b", "e");
  equal(ledger.hasEdge("e"), false);
});

Deno.test("told ledger: a DWELL is known by its id, its event time and its visit", () => {
  const ledger = new ToldLedger();
  ledger.add(entry("d", { eventTimeUs: 700, enteredAtUs: 100 }));
  const table: readonly (readonly [id: string, eventTimeUs: number, enteredAtUs: number, known: boolean])[] =
    [
      ["d", 700, 100, true],
      ["d", 701, 100, false],
      ["d", 700, 101, false],
      ["e", 700, 100, false],
    ];
  for (const [id, eventTimeUs, enteredAtUs, known] of table) {
    equal(ledger.hasDwell(id, eventTimeUs, enteredAtUs), known, `${id} ${eventTimeUs} ${enteredAtUs}`);
  }
  // One that was found among late records belongs to no visit that could still end.
  ledger.add(entry("l", { eventTimeUs: 700 }));
  equal(ledger.hasDwell("l", 700, 100), false);
  equal(ledger.has("l"), true);
});

Deno.test("told ledger: an entry is kept up to the dedup clock at which it expires", () => {
  for (const [clockUs, known] of [[999, true], [1000, true], [1001, false]] as const) {
    const ledger = new ToldLedger();
    ledger.add(entry("a", { edge: "e" }));
    ledger.expire(clockUs);
    equal(ledger.has("a"), known, `at ${clockUs}`);
    equal(ledger.hasEdge("e"), known, `at ${clockUs}`);
    equal(ledger.take("a", "e"), known, `at ${clockUs}`);
  }
});

Deno.test("told ledger: told again, an entry lives as long as the later one", () => {
  const ledger = new ToldLedger();
  ledger.add(entry("a", { expiresUs: 10 }));
  ledger.add(entry("a", { expiresUs: 20 }));
  ledger.expire(15);
  deepEqual([ledger.take("a", null), ledger.take("a", null), ledger.take("a", null)], [true, true, false]);
});

Deno.test("told ledger: a checkpoint takes what has changed since the one before", () => {
  const ledger = new ToldLedger();
  deepEqual(ledger.takeChanges(), []);
  for (const id of ["a", "a", "b", "c"]) ledger.add(entry(id, { edge: "e" }));
  ledger.add(entry("old", { expiresUs: 10 }));
  deepEqual(ledger.takeWhole(), [
    ["a", 2, 100, 1000, null],
    ["b", 1, 100, 1000, null],
    ["c", 1, 100, 1000, null],
    ["old", 1, 100, 10, null],
    ["e", 4],
  ]);
  deepEqual(ledger.takeChanges(), []);
  ledger.take("a", "e");
  ledger.take("b", "e");
  ledger.expire(11);
  deepEqual(ledger.takeChanges(), [["a", 1, 100, 1000, null], ["b", 0, 0, 0, null], ["old", 0, 0, 0, null], [
    "e",
    2,
  ]]);
  deepEqual(ledger.takeChanges(), []);
  ledger.expire(1001);
  deepEqual(ledger.takeChanges(), [["a", 0, 0, 0, null], ["c", 0, 0, 0, null], ["e", 0]]);
});

Deno.test("told ledger: as a plain list has it, through checkpoints", () => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = randomFrom(seed);
    let ledger = new ToldLedger();
    /** The lines of the checkpoints since the last whole one. */
    let stored: LedgerLine[] = [];
    const model = new Map<string, number>();
    for (let step = 0; step < 400; step++) {
      const where = `seed ${seed}, step ${step}`;
      const number = Math.floor(random() * 15);
      const id = `id ${number}`;
      // A trigger always has the same edge, or none.
      const edge = number % 3 === 0 ? `edge ${number % 2}` : null;
      const count = model.get(id) ?? 0;
      if (random() < 0.5) {
        ledger.add(entry(id, { edge }));
        model.set(id, count + 1);
      } else {
        equal(ledger.take(id, edge), count > 0, where);
        model.set(id, Math.max(0, count - 1));
      }
      if (random() < 0.1) {
        stored = random() < 0.3 ? ledger.takeWhole() : [...stored, ...ledger.takeChanges()];
        const copy = new ToldLedger();
        for (const line of JSON.parse(JSON.stringify(stored)) as LedgerLine[]) copy.restore(line);
        // The order is nobody's: the next checkpoint of the copy is whole again.
        const sorted = (of: ToldLedger): string[] => of.takeWhole().map((line) => line.join(" ")).sort();
        deepEqual(sorted(copy), sorted(ledger), where);
        if (random() < 0.5) ledger = copy;
      }
      for (let other = 0; other < 15; other++) {
        equal(ledger.has(`id ${other}`), (model.get(`id ${other}`) ?? 0) > 0, where);
      }
      for (const parity of [0, 1]) {
        const told = [...model].some(([key, told]) =>
          told > 0 && Number(key.slice(3)) % 3 === 0 && Number(key.slice(3)) % 2 === parity
        );
        equal(ledger.hasEdge(`edge ${parity}`), told, where);
      }
    }
  }
});
