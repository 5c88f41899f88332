import { deepStrictEqual, strictEqual } from "node:assert/strict";
import layers from "./layers.ts";

function rulesBrokenBy(path: string, source: string): string[] {
  const names = Deno.lint.runPlugin(layers, path, source).map(({ id }) => id.replace("layers/", ""));
  return [...new Set(names)].toSorted();
}

const PLACES = {
  lib: "lib/a.ts",
  actor: "actors/a.ts",
  adapter: "actors/adapters/a.ts",
  command: "actors/commands/a.ts",
  main: "actors/main.ts",
  test: "tests/lib/a_test.ts",
  bench: "bench/a.ts",
} as const;

type Place = keyof typeof PLACES;
const ALL = Object.keys(PLACES) as Place[];

/** What is imported, by its path from the top, and who may. */
const IMPORTS: [string, readonly Place[]][] = [
  ["lib/b.ts", ALL],
  ["actors/ports.ts", ["actor", "adapter", "command", "main", "test", "bench"]],
  ["actors/adapters/b.ts", ["adapter", "command", "main", "test", "bench"]],
  ["actors/commands/b.ts", ["command", "main", "test", "bench"]],
  ["actors/main.ts", ["test", "bench"]],
  ["tests/support/b.ts", ["test", "bench"]],
  ["bench/b.ts", ["test", "bench"]],
  ["deno.json", ["main", "test", "bench"]],
  ["README.md", ["test", "bench"]],
  ["xxhash-wasm", ["lib", "adapter", "test", "bench"]],
  ["valibot", ["adapter", "test", "bench"]],
  ["npm:kafkajs@2.2.4", ["adapter", "test", "bench"]],
  ["node:fs", ["adapter", "test", "bench"]],
  ["https://example.com/a.ts", ["adapter", "test", "bench"]],
];

function specifierFrom(path: string, target: string): string {
  if (!/^[a-z]+\/|^deno\.json|^README/.test(target)) return target;
  return "../".repeat(path.split("/").length - 1).concat(target);
}

for (const [target, allowed] of IMPORTS) {
  Deno.test(`layers/imports: who may import ${target}`, () => {
    for (const place of ALL) {
      const path = PLACES[place];
      const specifier = JSON.stringify(specifierFrom(path, target));
      const forms = [
        `import { x } from ${specifier};`,
        `import type { X } from ${specifier};`,
        `import ${specifier};`,
        `export * from ${specifier};`,
        `export { x } from ${specifier};`,
        `type X = import(${specifier}).X;`,
        `const x = import(${specifier});`,
      ];
      const expected = allowed.includes(place) ? [] : ["imports"];
      for (const source of forms) {
        deepStrictEqual(rulesBrokenBy(path, source), expected, `${path}: ${source}`);
      }
    }
  });
}

Deno.test("layers/imports: a path is taken from the file that names it", () => {
  deepStrictEqual(
    rulesBrokenBy("actors/commands/a.ts", 'import "./b.ts"; import "../ports.ts"; import "../../lib/b.ts";'),
    [],
  );
  deepStrictEqual(rulesBrokenBy("lib/a.ts", 'import "./../actors/ports.ts";'), ["imports"]);
  deepStrictEqual(rulesBrokenBy("actors/a.ts", 'import "./main.ts";'), ["imports"]);
});

Deno.test("layers/imports: what is computed is refused", () => {
  deepStrictEqual(rulesBrokenBy("actors/adapters/a.ts", "const x = import(name);"), ["imports"]);
  deepStrictEqual(rulesBrokenBy("tests/a_test.ts", "const x = import(name);"), []);
});

Deno.test("layers/imports: the file's absolute name, as the linter gives it", () => {
  const path = decodeURIComponent(new URL("../../lib/a.ts", import.meta.url).pathname);
  deepStrictEqual(rulesBrokenBy(path, 'import "npm:x";'), ["imports"]);
  deepStrictEqual(rulesBrokenBy("/elsewhere/lib/a.ts", 'import "npm:x";'), []);
});

/** A use of the world, and who may. */
const WORLD: [string, readonly Place[]][] = [
  ["Deno.readFile(path);", ["adapter", "main", "test", "bench"]],
  ["let file: Deno.FsFile;", ["adapter", "main", "test", "bench"]],
  ["const { args } = Deno;", ["adapter", "main", "test", "bench"]],
  ["const all = { Deno };", ["adapter", "main", "test", "bench"]],
  ["const now = Date.now();", ["adapter", "main", "test", "bench"]],
  ["const now = new Date();", ["adapter", "main", "test", "bench"]],
  ["const clock = { now: Date.now };", ["adapter", "main", "test", "bench"]],
  ["const key = names[Date];", ["adapter", "main", "test", "bench"]],
  ["const now = performance.now();", ["adapter", "main", "test", "bench"]],
  ["const x = Math.random();", ["adapter", "main", "test", "bench"]],
  ['const x = Math["random"]();', ["adapter", "main", "test", "bench"]],
  ["const x = crypto.randomUUID();", ["adapter", "main", "test", "bench"]],
  ["setTimeout(f, 1);", ["adapter", "main", "test", "bench"]],
  ["queueMicrotask(f);", ["adapter", "main", "test", "bench"]],
  ["fetch(url);", ["adapter", "main", "test", "bench"]],
  ["console.log(x);", ["adapter", "main", "test", "bench"]],
  ["globalThis.Deno.exit();", ["adapter", "main", "test", "bench"]],
  ["const x = Math.floor(y);", ALL],
  ["const x = { Date: 1, fetch: 2, Deno: 3 };", ALL],
  ["const x = y.Date + y.Deno + y.fetch() + y.performance;", ALL],
  ["interface X { Date: string; fetch(): void }", ALL],
  ["class X { performance = 1; fetch() {} }", ALL],
  ["const text = 'Deno.readFile, Date.now()'; // Deno.exit()", ALL],
];

for (const [source, allowed] of WORLD) {
  Deno.test(`layers/world: ${source}`, () => {
    for (const place of ALL) {
      deepStrictEqual(rulesBrokenBy(PLACES[place], source), allowed.includes(place) ? [] : ["world"], place);
    }
  });
}

const WAITS = [
  "await x;",
  "async function f() {}",
  "const f = async () => {};",
  "const f = async function () {};",
  "class X { async f() {} }",
  "const x = { async f() {} };",
  "for await (const y of x) f(y);",
  "await using x = y;",
];

for (const source of WAITS) {
  Deno.test(`layers/waits: ${source}`, () => {
    for (const place of ALL) {
      deepStrictEqual(rulesBrokenBy(PLACES[place], source), place === "lib" ? ["waits"] : [], place);
    }
  });
}

Deno.test("layers/waits: what does not wait", () => {
  const source = "function f() { for (const y of x) g(y); using z = w; return () => Promise.resolve(1); }";
  deepStrictEqual(rulesBrokenBy("lib/a.ts", source), []);
});

Deno.test("layers: a message says who, what and why", () => {
  const [imported] = Deno.lint.runPlugin(layers, "lib/a.ts", 'import "../actors/ports.ts";');
  strictEqual(imported?.message, "lib/ may not import actors/ports.ts");
  const [touched] = Deno.lint.runPlugin(layers, "lib/a.ts", "Date.now();");
  strictEqual(
    touched?.message,
    "Date is the world's, lib/ may not touch it: what it tells is an argument here",
  );
});
