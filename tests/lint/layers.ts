/**
 * A lint plugin that keeps the two laws: `lib/` decides, purely, and `actors/` reach the world through ports only.
 *
 * ```
 *   tests/ bench/  ──▶ anything                       nothing imports them
 *   actors/main.ts ──▶ actors/commands/*  ──▶ actors/adapters/*   npm:, node:, Deno.*: the only doors out
 *                           │                     │
 *                           ▼                     ▼
 *                      actors/*.ts  ──────▶  actors/ports.ts
 *                           │
 *                           ▼
 *                         lib/*          (and packages that are pure computation)
 * ```
 *
 * A rule of the linter and not a habit, since one `Date.now()` in the core makes every replay different and is found
 * weeks later. The rules know names, not scopes: a parameter that is called `performance` is refused in `lib/` too, which
 * is as well. Works on files by their place below this repository; all else is left alone.
 *
 * @module
 */

/** The parts of the repository that have a law of their own. */
type Layer = "lib" | "actors" | "commands" | "adapters" | "page" | "main" | "tests";

const ROOT = new URL("../../", import.meta.url);

/** Which layers a layer may import from. */
const ARROWS: Readonly<Record<Layer, readonly Layer[]>> = {
  lib: ["lib"],
  actors: ["lib", "actors"],
  adapters: ["lib", "actors", "adapters"],
  page: ["page"],
  commands: ["lib", "actors", "adapters", "commands"],
  main: ["lib", "actors", "adapters", "commands"],
  tests: ["lib", "actors", "adapters", "page", "commands", "main", "tests"],
};

/** Packages that a layer may import; `*` is any, `npm:` and `node:` too. */
const PACKAGES: Readonly<Record<Layer, readonly string[]>> = {
  lib: ["xxhash-wasm", "ipaddr.js"],
  actors: [],
  commands: [],
  adapters: ["*"],
  page: [],
  main: [],
  tests: ["*"],
};

/** What brings time, chance, I/O or the host's ways into a file, and the ways around this rule. */
const WORLD: ReadonlySet<string> = new Set([
  "Date",
  "Intl",
  "performance",
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
  "queueMicrotask",
  "crypto",
  "fetch",
  "WebSocket",
  "WebSocketStream",
  "EventSource",
  "XMLHttpRequest",
  "BroadcastChannel",
  "MessageChannel",
  "Worker",
  "SharedWorker",
  "caches",
  "localStorage",
  "sessionStorage",
  "navigator",
  "console",
  "alert",
  "confirm",
  "prompt",
  "process",
  "require",
  "global",
  "globalThis",
  "self",
  "eval",
  "Function",
  "FinalizationRegistry",
  "WeakRef",
]);

/** Where a file stands; null for one that has no law. */
function layerOf(path: string): Layer | null {
  if (path.startsWith("lib/")) return "lib";
  if (path.startsWith("tests/") || path.startsWith("bench/")) return "tests";
  if (path === "actors/main.ts") return "main";
  if (path.startsWith("actors/commands/")) return "commands";
  if (path.startsWith("actors/adapters/")) return "adapters";
  if (path.startsWith("actors/page/")) return "page";
  return path.startsWith("actors/") ? "actors" : null;
}

/** A file's path below the repository with forward slashes; itself where it is relative already. */
function pathBelowRoot(fileName: string): string {
  const root = decodeURIComponent(ROOT.pathname);
  const path = fileName.replaceAll("\\", "/");
  // On Windows the URL's path is `/C:/…` and the file's name `C:/…`.
  for (const prefix of [root, root.slice(1)]) if (path.startsWith(prefix)) return path.slice(prefix.length);
  return path;
}

/** Why a file may not import this; null where it may. */
function refusalOf(path: string, layer: Layer, specifier: string): string | null {
  if (!specifier.startsWith("./") && !specifier.startsWith("../")) {
    const packages = PACKAGES[layer];
    if (packages.includes("*") || packages.includes(specifier)) return null;
    return `${NAMES[layer]} may not import ${specifier}; only actors/adapters/ reach beyond the repository`;
  }
  const target = new URL(specifier, new URL(path, "file:///")).pathname.slice(1);
  const targetLayer = layerOf(target);
  if (targetLayer === null) {
    // The version that `--version` shows is there.
    const known = layer === "tests" || (layer === "main" && target === "deno.json");
    return known ? null : `${target} belongs to no layer`;
  }
  return ARROWS[layer].includes(targetLayer) ? null : `${NAMES[layer]} may not import ${target}`;
}

const NAMES: Readonly<Record<Layer, string>> = {
  lib: "lib/",
  actors: "An actor",
  commands: "A command",
  adapters: "An adapter",
  page: "The page",
  main: "actors/main.ts",
  tests: "tests/ and bench/",
};

/** Whether an identifier names a variable, and not a property or a member of a type. Nodes have no identity: ranges do. */
function namesVariable(node: Deno.lint.Identifier): boolean {
  const { parent } = node;
  switch (parent.type) {
    case "MemberExpression":
      return parent.computed || isSame(parent.object, node);
    case "Property":
      return parent.computed || parent.shorthand || !isSame(parent.key, node);
    case "PropertyDefinition":
    case "MethodDefinition":
    case "TSPropertySignature":
    case "TSMethodSignature":
      return parent.computed || !isSame(parent.key, node);
    case "ImportSpecifier":
      return false;
    default:
      return true;
  }
}

function isSame(a: { readonly range: Deno.lint.Range }, b: { readonly range: Deno.lint.Range }): boolean {
  return a.range[0] === b.range[0] && a.range[1] === b.range[1];
}

const imports: Deno.lint.Rule = {
  create(context) {
    const path = pathBelowRoot(context.filename);
    const layer = layerOf(path);
    if (layer === null) return {};
    const check = (source: Deno.lint.Node | null): void => {
      if (source === null) return;
      if (source.type !== "Literal" || typeof source.value !== "string") {
        if (layer !== "tests") {
          context.report({ node: source, message: "What is imported must be written out" });
        }
        return;
      }
      const message = refusalOf(path, layer, source.value);
      if (message !== null) context.report({ node: source, message });
    };
    return {
      ImportDeclaration: (node) => check(node.source),
      ImportExpression: (node) => check(node.source),
      ExportAllDeclaration: (node) => check(node.source),
      ExportNamedDeclaration: (node) => check(node.source),
      TSImportType: ({ argument }) => check(argument.type === "TSLiteralType" ? argument.literal : argument),
    };
  },
};

const world: Deno.lint.Rule = {
  create(context) {
    const layer = layerOf(pathBelowRoot(context.filename));
    if (layer === null || layer === "adapters" || layer === "page" || layer === "tests") return {};
    const pure = layer !== "main";
    const hint = layer === "lib" ? "what it tells is an argument here" : "ask a port for it";
    return {
      Identifier(node) {
        const { name } = node;
        const known = name === "Deno" ? layer !== "main" : pure && WORLD.has(name);
        if (known && namesVariable(node)) {
          context.report({
            node,
            message: `${name} is the world's, ${NAMES[layer]} may not touch it: ${hint}`,
          });
        }
      },
      MemberExpression(node) {
        const { object, property } = node;
        if (object.type !== "Identifier" || object.name !== "Math" || !pure) return;
        const name = property.type === "Identifier"
          ? property.name
          : property.type === "Literal"
          ? property.value
          : "";
        if (name === "random") context.report({ node, message: `Math.random is chance: ${hint}` });
      },
    };
  },
};

const waits: Deno.lint.Rule = {
  create(context) {
    if (layerOf(pathBelowRoot(context.filename)) !== "lib") return {};
    const report = (node: Deno.lint.Node): void => {
      context.report({ node, message: "lib/ never waits: values in, values out" });
    };
    const reportAsync = (node: Deno.lint.Node & { readonly async: boolean }): void => {
      if (node.async) report(node);
    };
    return {
      AwaitExpression: report,
      FunctionDeclaration: reportAsync,
      FunctionExpression: reportAsync,
      ArrowFunctionExpression: reportAsync,
      ForOfStatement(node) {
        if (node.await) report(node);
      },
      VariableDeclaration(node) {
        if (node.kind === "await using") report(node);
      },
    };
  },
};

/** The plugin: `layers/imports`, `layers/world` and `layers/waits`. */
const plugin: Deno.lint.Plugin = { name: "layers", rules: { imports, world, waits } };

export default plugin;
