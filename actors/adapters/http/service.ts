/**
 * The routes: which request is answered by whom, and who may send it.
 *
 * @module
 */
import type { Scope } from "../../../lib/http_config.ts";
import type { Access, Client } from "./access.ts";
import { problem } from "./answer.ts";
import type { ForeignPageGuard } from "./foreign_page.ts";

/** One route. */
export interface Route {
  /** GET answers HEAD as well. */
  readonly method: "GET" | "POST";
  /** Segments; `:name` is any one, decoded. */
  readonly path: string;
  /** What a token must allow; null for anybody. */
  readonly scope: Scope | null;
  readonly answer: (request: Request, parts: RouteParts) => Promise<Response> | Response;
}

/** What a route is told of its request. */
export interface RouteParts {
  readonly client: Client;
  readonly url: URL;
  /** By the names in its path. */
  readonly params: Readonly<Record<string, string>>;
}

/** Told of the route, null for none, and the answer of each request. */
export type Answered = (
  route: string | null,
  request: Request,
  response: Response,
  startedMs: number,
) => void;

/** Makes the handler of a server. */
export function routed(
  routes: readonly Route[],
  { access, guard, answered }: {
    readonly access: Access;
    readonly guard: ForeignPageGuard;
    readonly answered: Answered;
  },
): (request: Request, peer: string) => Promise<Response> {
  const answer = answering(routes, access, guard);
  return async (request, peer) => {
    const startedMs = performance.now();
    const found: Found = { route: null };
    try {
      const response = await answer(request, peer, found);
      answered(found.route, request, response, startedMs);
      return response;
    } catch (error) {
      answered(found.route, request, new Response(null, { status: 500 }), startedMs);
      throw error;
    }
  };
}

/** The pattern of the route that a request was for. */
interface Found {
  route: string | null;
}

function answering(
  routes: readonly Route[],
  access: Access,
  guard: ForeignPageGuard,
): (request: Request, peer: string, found: Found) => Promise<Response> {
  const split = routes.map((route) => ({ route, segments: route.path.split("/") }));
  return async (request, peer, found) => {
    // A name in the Host header that is none.
    if (!URL.canParse(request.url)) return problem(400, "This is no name of a host, or no path");
    const url = new URL(request.url);
    const asked = pathOf(request.url).split("/");
    const method = request.method === "HEAD" ? "GET" : request.method;
    const allowed = new Set<string>();
    for (const { route, segments } of split) {
      const params = match(segments, asked);
      if (params === null) continue;
      found.route = route.path;
      if (route.method !== method) {
        allowed.add(route.method);
        continue;
      }
      const foreign = route.scope === null ? null : guard(request);
      if (foreign !== null) return foreign;
      const client = route.scope === null ? { name: peer } : await access.check(request, peer, route.scope);
      if (client instanceof Response) return client;
      return await route.answer(request, { client, url, params });
    }
    if (allowed.size > 0) {
      if (allowed.has("GET")) allowed.add("HEAD");
      return problem(405, `This is for ${[...allowed].join(", ")}`, { allow: [...allowed].join(", ") });
    }
    return problem(404, "There is nothing at this path");
  };
}

/** The path as it was sent: in a URL that was parsed, a device that is called `..` would be gone, with what stands before it. */
function pathOf(url: string): string {
  return /^[^:/?#]+:\/\/[^/?#]*([^?#]*)/.exec(url)?.[1] ?? "";
}

function match(segments: readonly string[], asked: readonly string[]): Record<string, string> | null {
  if (segments.length !== asked.length) return null;
  const params: Record<string, string> = {};
  for (const [i, segment] of segments.entries()) {
    const given = asked[i] as string;
    if (!segment.startsWith(":")) {
      if (segment !== given) return null;
      continue;
    }
    try {
      params[segment.slice(1)] = decodeURIComponent(given);
    } catch {
      return null;
    }
  }
  return params;
}
