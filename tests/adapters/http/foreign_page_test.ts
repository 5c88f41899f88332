/**
 * Pages from elsewhere, as browsers send their requests.
 *
 * @module
 */
import { equal } from "node:assert/strict";
import { foreignPageGuard } from "../../../actors/adapters/http/foreign_page.ts";

Deno.test("foreignPageGuard: by the name that was asked for, and the page that asks", () => {
  const table:
    readonly (readonly [url: string, method: string, origin: string | null, status: number | null])[] = [
      ["http://127.0.0.1:8787/", "POST", null, null],
      ["http://localhost:8787/", "POST", null, null],
      ["http://[::1]:8787/", "GET", null, null],
      ["http://fencepost.localhost/", "GET", null, null],
      ["http://10.0.0.7/", "GET", null, null],
      ["http://depot.example/", "GET", null, null],
      ["http://evil.example/", "GET", null, 403],
      ["http://127.0.0.1.evil.example/", "GET", null, 403],
      ["http://127.0.0.1:8787/", "POST", "http://127.0.0.1:8787", null],
      ["http://127.0.0.1:8787/", "POST", "http://127.0.0.1:9999", 403],
      ["http://127.0.0.1:8787/", "POST", "https://evil.example", 403],
      ["http://127.0.0.1:8787/", "POST", "null", 403],
      ["http://127.0.0.1:8787/", "GET", "https://evil.example", null],
    ];
  const guard = foreignPageGuard("depot.example");
  for (const [url, method, origin, status] of table) {
    const request = new Request(url, { method, headers: origin === null ? {} : { origin } });
    equal(guard(request)?.status ?? null, status, `${method} ${url} from ${origin}`);
  }
  equal(foreignPageGuard(null)(new Request("http://any.example/")), null);
});
