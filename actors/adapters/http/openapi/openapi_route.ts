/**
 * `GET /openapi.json`: the service described by OpenAPI 3.1, as it is here: a process that takes nothing describes no
 * intake.
 *
 * A table beside the routes, and not a part of each: what a route does and how it is described change for different
 * reasons, and a test compares the two, and each answer with its schema.
 *
 * @module
 */
import { assert } from "../../../../lib/assert.ts";
import { jsonAnswer } from "../answer.ts";
import type { Route } from "../service.ts";
import { READ_OPERATIONS } from "./read_operations.ts";
import { type Described, RESPONSES, SECURITY_SCHEMES } from "./responses.ts";
import { SCHEMAS } from "./schemas.ts";
import { SERVICE_OPERATIONS } from "./service_operations.ts";
import { TRANSITIONS_OPERATION } from "./transitions_operation.ts";

const PATH = "/openapi.json";

/** By method and path. */
const OPERATIONS: Readonly<Record<string, Described>> = {
  "POST /v1/transitions": TRANSITIONS_OPERATION,
  ...READ_OPERATIONS,
  ...SERVICE_OPERATIONS,
};

const DESCRIPTION = `Fencepost makes geofence triggers fire once.

Every GET answers HEAD as well. Another method is answered with 405 and \`Allow\`, a path that is not here with 404. What
could not be done is a problem by RFC 9457 (\`application/problem+json\`), but for the answers of the gate in front: 408 to
a request that comes too slowly and 503 where there are too many connections, which have no body.

Where \`http.tokens\` is not given, nobody needs a token. Ids in paths are percent-encoded UTF-8; any character is legal in
them, \`/\` as \`%2F\` and a line end as \`%0A\` too.`;

/** Where the page's parts are, which nobody has to know of. */
const PAGE = "/page/";

/** The route, over all others: each of them has to be described. */
export function openApiRoute(routes: readonly Route[]): Route {
  for (const { method, path } of routes) {
    assert(path.startsWith(PAGE) || `${method} ${path}` in OPERATIONS, `${method} ${path} is described`);
  }
  let document: unknown = null;
  const route: Route = {
    method: "GET",
    path: PATH,
    scope: null,
    answer: () => jsonAnswer(200, document ??= documentOf([...routes, route])),
  };
  return route;
}

/** The document that describes some routes. */
function documentOf(routes: readonly Route[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { method, path, scope } of routes) {
    const operation = OPERATIONS[`${method} ${path}`];
    if (operation === undefined) continue;
    const { responses, ...rest } = operation;
    const guarded = scope === null ? {} : {
      "401": { $ref: "#/components/responses/NoToken" },
      "403": { $ref: "#/components/responses/NotAllowed" },
      "429": { $ref: "#/components/responses/TooManyGuesses" },
    };
    const name = path.replace(/:(\w+)/g, "{$1}");
    (paths[name] ??= {})[method.toLowerCase()] = {
      ...rest,
      // No scope of OAuth, but the role by which a bearer token is known, which 3.1 allows to be said here.
      security: scope === null ? [] : [{}, { token: [scope] }],
      responses: { ...guarded, ...responses },
    };
  }
  return {
    openapi: "3.1.0",
    info: { title: "Fencepost", version: "1", description: DESCRIPTION },
    jsonSchemaDialect: "https://json-schema.org/draft/2020-12/schema",
    // Where this document came from.
    servers: [{ url: "/" }],
    tags: [
      { name: "intake", description: "Transitions in" },
      { name: "reading", description: "Where devices are, and what was told" },
      { name: "operation", description: "How it is doing" },
    ],
    paths,
    components: { schemas: SCHEMAS, responses: RESPONSES, securitySchemes: SECURITY_SCHEMES },
  };
}
