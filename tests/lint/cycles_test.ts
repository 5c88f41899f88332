import { deepStrictEqual } from "node:assert/strict";

const ROOT = new URL("../../", import.meta.url);

/** A module's imports of this repository, types included: a cycle of types is as hard to read as any other. */
async function importsOf(module: string): Promise<string[]> {
  const source = await Deno.readTextFile(new URL(module, ROOT));
  return Array.from(
    source.matchAll(/^(?:import|export)\b[^;]*?\bfrom "(\.[^"]+)";|^import "(\.[^"]+)";/gm),
    (match) => new URL(match[1] ?? match[2] ?? "", new URL(module, "file:///")).pathname.slice(1),
  );
}

async function graphBelow(...directories: readonly string[]): Promise<Map<string, string[]>> {
  const graph = new Map<string, string[]>();
  for (const directory of directories) {
    for await (const { name, isFile, isDirectory } of Deno.readDir(new URL(directory, ROOT))) {
      if (isDirectory) {
        for (const [module, imports] of await graphBelow(`${directory}${name}/`)) {
          graph.set(module, imports);
        }
      } else if (isFile && name.endsWith(".ts")) {
        graph.set(directory + name, await importsOf(directory + name));
      }
    }
  }
  return graph;
}

/** A cycle of each module that is in one, from that module back to itself. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = [];
  const done = new Set<string>();
  const path: string[] = [];
  const visit = (module: string): void => {
    const at = path.indexOf(module);
    if (at >= 0) cycles.push([...path.slice(at), module].join(" → "));
    if (at >= 0 || done.has(module)) return;
    path.push(module);
    for (const imported of graph.get(module) ?? []) visit(imported);
    path.pop();
    done.add(module);
  };
  for (const module of graph.keys()) visit(module);
  return cycles;
}

Deno.test("cyclesIn: finds them", () => {
  const graph = new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", ["d"]], ["d", ["b"]], ["e", ["e"]], ["f", [
    "a",
  ]]]);
  deepStrictEqual(cyclesIn(graph), ["b → c → d → b", "e → e"]);
  deepStrictEqual(cyclesIn(new Map([["a", ["b", "c"]], ["b", ["c"]], ["c", ["out"]]])), []);
});

Deno.test("lib and actors: no module imports itself, by whatever way", async () => {
  const graph = await graphBelow("lib/", "actors/");
  deepStrictEqual(graph.get("lib/nearest.ts"), []);
  deepStrictEqual(graph.get("lib/config_overlay.ts"), ["lib/config_fields.ts", "lib/json.ts"]);
  deepStrictEqual(cyclesIn(graph), []);
});
