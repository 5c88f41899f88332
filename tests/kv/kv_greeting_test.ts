import { ok, strictEqual } from "node:assert/strict";
import { KvServerStore } from "../../actors/adapters/kv_server_store.ts";
import { UnavailableError } from "../../actors/ports.ts";

const TOKEN_ENV = "DENO_KV_ACCESS_TOKEN";
const TOKEN = "a-token-that-nobody-may-see";

/** What the check of an address says, with a token in the environment; null where it lets us in. */
async function failure(url: string, token: string | null = TOKEN): Promise<Error | null> {
  const before = Deno.env.get(TOKEN_ENV);
  if (token === null) Deno.env.delete(TOKEN_ENV);
  else Deno.env.set(TOKEN_ENV, token);
  try {
    await new KvServerStore({ url, split: "file", callMsMax: 500 }).check();
    return null;
  } catch (error) {
    ok(error instanceof Error);
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      ok(!cause.message.includes("nobody-may-see"), cause.message);
      ok(!String(cause.stack).includes("nobody-may-see"), cause.stack);
    }
    return error;
  } finally {
    if (before === undefined) Deno.env.delete(TOKEN_ENV);
    else Deno.env.set(TOKEN_ENV, before);
  }
}

/** Lets a test use something that answers so. */
async function withServer(
  answer: (request: Request) => Response | Promise<Response>,
  use: (url: string) => Promise<void>,
): Promise<void> {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
  try {
    await use(`http://127.0.0.1:${server.addr.port}/`);
  } finally {
    await server.shutdown();
  }
}

const METADATA = {
  version: 3,
  databaseId: "00000000-0000-0000-0000-000000000000",
  endpoints: [{ url: "/v2", consistency: "strong" }],
  token: "other",
  expiresAt: "2100-01-01T00:00:00Z",
};

Deno.test("greetKvServer: the token goes to the server, and a server's answer lets us in", async () => {
  let authorization: string | null = null;
  let body: unknown;
  const answer = async (request: Request): Promise<Response> => {
    authorization = request.headers.get("authorization");
    body = await request.json();
    return Response.json(METADATA);
  };
  await withServer(answer, async (url) => strictEqual(await failure(url), null));
  strictEqual(authorization, `Bearer ${TOKEN}`);
  strictEqual(JSON.stringify(body), '{"supportedVersions":[1,2,3]}');
});

const refusedToken = `the server refuses the access token in the environment's ${TOKEN_ENV}`;
const noServer = (status: number): string =>
  `what is at this address is no Deno KV server (status ${status}). Correct checkpoint.path`;
const ANSWERS: readonly [string, () => Response, string, boolean][] = [
  ["a wrong token", () => new Response("Invalid access token.", { status: 401 }), refusedToken, true],
  ["a token without the right", () => new Response("no", { status: 403 }), refusedToken, true],
  ["a page", () => new Response("<html>"), noServer(200), true],
  ["other JSON", () => Response.json({}), noServer(200), true],
  ["nothing there", () => new Response("Not found", { status: 404 }), noServer(404), true],
  [
    "a way to elsewhere",
    () => new Response(null, { status: 302, headers: { location: "http://127.0.0.1:1/" } }),
    noServer(302),
    true,
  ],
  ["no content", () => new Response(null, { status: 204 }), noServer(204), true],
  [
    "a balancer without a server",
    () => new Response("away", { status: 503 }),
    "the server answers with status 503",
    false,
  ],
  ["too many", () => new Response("", { status: 429 }), "the server answers with status 429", false],
];
for (const [what, answer, reason, isFinal] of ANSWERS) {
  Deno.test(`greetKvServer: ${what} is ${isFinal ? "final" : "tried again"}`, async () => {
    await withServer(answer, async (url) => {
      const error = await failure(url);
      strictEqual(error?.message, `Cannot use the state in ${url}: ${reason}`);
      strictEqual(error instanceof UnavailableError, !isFinal);
    });
  });
}

Deno.test("greetKvServer: an answer that does not come, or does not end, is waited for no longer than a call", async () => {
  const held = Promise.withResolvers<Response>();
  const endless = (): Response =>
    new Response(new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(9)) }));
  for (const answer of [() => held.promise, endless]) {
    await withServer(answer, async (url) => {
      const error = await failure(url);
      strictEqual(
        error?.message,
        `Cannot use the state in ${url}: the server has not answered for 0.5 s`,
      );
      ok(error instanceof UnavailableError);
      held.resolve(new Response());
    });
  }
});

Deno.test("greetKvServer: a server that is away is tried again, and why is said", async () => {
  let nobody = "";
  await withServer(() => new Response(), (url) => {
    nobody = url;
    return Promise.resolve();
  });
  const error = await failure(nobody);
  ok(error instanceof UnavailableError);
  ok(error.message.startsWith(`Cannot use the state in ${nobody}: error sending request`), error.message);
  ok(error.message.includes("Connection refused"), error.message);
});

Deno.test("greetKvServer: no token, or one that Deno would panic at, is final and nobody is asked", async () => {
  const asked = (): Response => {
    throw new Error("asked");
  };
  await withServer(asked, async (url) => {
    for (const token of [null, ""]) {
      strictEqual(
        (await failure(url, token))?.message,
        `Cannot use the state in ${url}: there is no access token: put it into the environment's ${TOKEN_ENV}`,
      );
    }
    for (const token of [`${TOKEN}\n`, `${TOKEN}\r`, `two ${TOKEN}`, `${TOKEN}é`]) {
      strictEqual(
        (await failure(url, token))?.message,
        `Cannot use the state in ${url}: the access token in the environment's ${TOKEN_ENV} has a space, a line end or ` +
          "another character that none has",
      );
    }
  });
});
