/**
 * `/healthz` and `/readyz`: whether the process lives, and whether it can be given work.
 *
 * @module
 */
import { jsonAnswer } from "./answer.ts";
import type { Route } from "./service.ts";

/** @param notReady why it can't be given work now; null where it can */
export function healthRoutes(notReady: () => string | null): Route[] {
  return [
    { method: "GET", path: "/healthz", scope: null, answer: () => jsonAnswer(200, { status: "alive" }) },
    {
      method: "GET",
      path: "/readyz",
      scope: null,
      answer: () => {
        const reason = notReady();
        return reason === null
          ? jsonAnswer(200, { status: "ready" })
          : jsonAnswer(503, { status: "not ready", reason }, { "retry-after": "1" });
      },
    },
  ];
}
