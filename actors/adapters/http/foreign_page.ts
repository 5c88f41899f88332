/**
 * Keeps web pages from elsewhere out of a service that asks nobody for a token.
 *
 * Loopback is no fence for a browser: any page that is open on this host can post text to `127.0.0.1` without asking, and
 * a page whose name is made to lead to `127.0.0.1` (DNS rebinding) may read the answers as its own. The first says where it
 * comes from, in `Origin`; the second says the wrong name, in `Host`. With tokens neither has one to send.
 *
 * @module
 */
import { isIP } from "node:net";
import { isLoopback } from "../../../lib/http_config.ts";
import { problem } from "./answer.ts";

/** Tells a request that a foreign page has sent: the answer that it gets; null where it may go on. */
export type ForeignPageGuard = (request: Request) => Response | null;

/** @param hostname that is listened on; null where the service may have any name */
export function foreignPageGuard(hostname: string | null): ForeignPageGuard {
  return (request) => {
    const asked = new URL(request.url);
    const name = asked.hostname.replace(/^\[|\]$/g, "");
    const isKnown = hostname === null || name === hostname || isLoopback(name) || isIP(name) !== 0 ||
      name.endsWith(".localhost");
    if (!isKnown) return problem(403, `This service has no tokens and is not called ${name.slice(0, 100)}`);
    const origin = request.headers.get("origin");
    const isOwn = origin === null || URL.canParse(origin) && new URL(origin).host === asked.host;
    if (isOwn || request.method === "GET" || request.method === "HEAD") return null;
    return problem(403, "A page from elsewhere may not send anything to a service without tokens");
  };
}
