/**
 * Health, the page and this description itself, described.
 *
 * @module
 */
import { type Described, json, RETRY_AFTER } from "./responses.ts";

/** By method and path. */
export const SERVICE_OPERATIONS: Readonly<Record<string, Described>> = {
  "GET /healthz": {
    operationId: "isAlive",
    tags: ["operation"],
    summary: "Whether the process lives",
    responses: { "200": json("It does", "Alive", { status: "alive" }) },
  },
  "GET /readyz": {
    operationId: "isReady",
    tags: ["operation"],
    summary: "Whether it can be given work",
    responses: {
      "200": json("It can", "Ready", { status: "ready" }),
      "503": {
        ...json("It is being restored, or is far behind", "NotReady", {
          status: "not ready",
          reason: "restoring",
        }),
        headers: { "Retry-After": RETRY_AFTER },
      },
    },
  },
  "GET /openapi.json": {
    operationId: "getDescription",
    tags: ["operation"],
    summary: "This description",
    responses: {
      "200": {
        description: "OpenAPI 3.1",
        content: { "application/json": { schema: { type: "object", required: ["openapi", "paths"] } } },
      },
    },
  },
  "GET /": {
    operationId: "getPage",
    tags: ["operation"],
    summary: "The page",
    description: "Its parts are at /page/, and have no description of their own.",
    responses: {
      "200": { description: "For a browser", content: { "text/html": { schema: { type: "string" } } } },
      "304": { description: "It is the one that the client has (If-None-Match)" },
    },
  },
};
