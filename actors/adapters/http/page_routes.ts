/**
 * The page at `/`: plain files as they are in `actors/page/`, and the charts' library as it is in its package.
 *
 * Nothing is built and nothing comes from elsewhere. The page has no data in it, so anybody may load it; what it shows it
 * asks for with the token of whoever looks.
 *
 * **uplot** is served out of npm's package. Its place is what `import.meta.resolve` says, under `deno run` as well as in a
 * compiled program, which carries the whole of a package that is anywhere in its graph; the import below, which nobody
 * calls, puts it there. Rejected: `with { type: "text" }`, which needs a flag before Deno 2.9; `require.resolve`, which
 * finds nothing in 2.4 without a node_modules; a copy in this repository, which nobody would keep up to date.
 *
 * @module
 */
import type { Route } from "./service.ts";

/** Puts the package into the graph. */
export const uplot = (): Promise<unknown> => import("uplot");

/**
 * The page may load and ask this service only, and runs no script that stands in it: an id that got through as markup
 * would still do nothing.
 */
const POLICY = [
  "default-src 'self'",
  "base-uri 'none'",
  "object-src 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const JAVASCRIPT = "text/javascript; charset=utf-8";
const CSS = "text/css; charset=utf-8";

/** By path: where it is, and what. */
const ASSETS: readonly (readonly [string, string, string])[] = [
  ["/", "../../page/index.html", "text/html; charset=utf-8"],
  ...["base", "figures", "lists"].map((name) =>
    [`/page/${name}.css`, `../../page/${name}.css`, CSS] as const
  ),
  ["/page/fence.svg", "../../page/fence.svg", "image/svg+xml"],
  ...[
    "theme",
    "page",
    "api",
    "health",
    "samples",
    "charts",
    "wheel",
    "splits",
    "webhooks",
    "latest",
    "device",
    "token",
    "text",
  ].map((name) => [`/page/${name}.js`, `../../page/${name}.js`, JAVASCRIPT] as const),
  ["/page/uplot.js", "uplot/dist/uPlot.iife.min.js", JAVASCRIPT],
  ["/page/uplot.css", "uplot/dist/uPlot.min.css", CSS],
];

interface Asset {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly etag: string;
}

/** Routes of all files; each is read when it is first asked for. */
export function pageRoutes(): Route[] {
  return ASSETS.map(([path, place, contentType]) => {
    let asset: Promise<Asset> | null = null;
    return {
      method: "GET" as const,
      path,
      scope: null,
      answer: async (request: Request) => {
        asset ??= read(place);
        const { bytes, etag } = await asset;
        const headers = {
          // Asked for again each time, and sent again when it is another one.
          "cache-control": "no-cache",
          etag,
          "content-security-policy": POLICY,
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin",
          "cross-origin-resource-policy": "same-origin",
        };
        if (isKnown(request, etag)) return new Response(null, { status: 304, headers });
        return new Response(bytes, { headers: { "content-type": contentType, ...headers } });
      },
    };
  });
}

async function read(place: string): Promise<Asset> {
  const url = place.startsWith(".") ? new URL(place, import.meta.url) : new URL(import.meta.resolve(place));
  const bytes = await Deno.readFile(url) as Uint8Array<ArrayBuffer>;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  const hex = [...digest.subarray(0, 12)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { bytes, etag: `"${hex}"` };
}

function isKnown(request: Request, etag: string): boolean {
  const known = (request.headers.get("if-none-match") ?? "").split(",").map((tag) => tag.trim());
  return known.some((tag) => tag === etag || tag === `W/${etag}` || tag === "*");
}
