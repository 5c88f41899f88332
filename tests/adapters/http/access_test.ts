import { equal, rejects } from "node:assert/strict";
import { join } from "node:path";
import { Access } from "../../../actors/adapters/http/access.ts";
import type { TokenConfig } from "../../../lib/http_config.ts";
import { inDirectory } from "../../support/fencepost_process.ts";

Deno.test("Access: a token that no request could bring is refused at the start, and is not shown", () =>
  inDirectory(async (directory) => {
    const file = join(directory, "token");
    const tokens: readonly TokenConfig[] = [{ name: "gateway", scopes: ["ingest"], file, env: null }];
    const table: readonly (readonly [token: string, refused: RegExp | null])[] = [
      ["t".repeat(15), /at least 16 characters/],
      ["t".repeat(16), null],
      [`${"t".repeat(16)}\r\n`, null],
      ["t".repeat(512), null],
      ["t".repeat(513), /at most 512 characters/],
      ["correct horse battery staple", /without spaces/],
      [`${"t".repeat(16)} \n`, /without spaces/],
      [`${"t".repeat(16)}\n\n`, /without spaces/],
      ["jeton-à-seize-lettres", /of ASCII/],
    ];
    for (const [token, refused] of table) {
      await Deno.writeTextFile(file, token);
      if (refused !== null) {
        await rejects(Access.create({ tokens }), (error: Error) => {
          equal(refused.test(error.message), true, error.message);
          equal(error.message.includes(token.trim()), false, "it is not shown");
          return true;
        });
        continue;
      }
      const access = await Access.create({ tokens });
      const headers = { authorization: `Bearer ${token.trim()}` };
      const client = await access.check(new Request("http://localhost/", { headers }), "::1", "ingest");
      equal(client instanceof Response ? client.status : client.name, "gateway");
    }
  }));
