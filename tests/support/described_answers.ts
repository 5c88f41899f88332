/**
 * Every answer that the service's description promises, brought about: services that are set up for it, and what they are
 * asked.
 *
 * @module
 */
import { join } from "node:path";
import { RunningService } from "./http_service.ts";

/** An answer that was given to a request for an operation. */
export interface Asked {
  /** `GET /v1/devices/{device}`. */
  readonly operation: string;
  readonly response: Response;
  readonly text: string;
}

/** By operation and status. */
export type Answers = Map<string, Asked[]>;

/** Asks for an operation, at a path where that is not the operation's own. */
type Ask = (operation: string, request?: RequestInit & { readonly at?: string }) => Promise<void>;

/** One service. */
interface DescribedService {
  /** Before it starts: the state's directory. */
  readonly prepare?: (state: string) => Promise<unknown>;
  readonly args: (state: string) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly until?: "ready" | "listening";
  readonly ask: (ask: Ask, world: World) => Promise<void>;
}

interface World {
  readonly service: RunningService;
  /** All that are described. */
  readonly operations: readonly string[];
  readonly answers: Asked[];
}

const POST = "POST /v1/transitions";
const PAIR = "GET /v1/pairs/{device}/{fence}";
const DEVICE = "GET /v1/devices/{device}";
const TRIGGERS = "GET /v1/triggers";
const OPEN = ["GET /healthz", "GET /readyz", "GET /openapi.json", "GET /"];

const TOKENS = [
  { name: "producer", scopes: ["ingest"], env: "PRODUCER_TOKEN" },
  { name: "reader", scopes: ["read"], env: "READER_TOKEN" },
];
const ENVIRONMENT = {
  PRODUCER_TOKEN: "a-producer-of-transitions",
  READER_TOKEN: "a-reader-of-what-there-is",
};
const TOO_LONG = "x".repeat(257);

/** A body, and whatever else. */
function sent(body: string, headers: Record<string, string> = {}): RequestInit {
  return { method: "POST", body, headers: { "content-type": "application/x-ndjson", ...headers } };
}

function record(kind: string, device: string, secondsAgo: number): string {
  const event_time_ms = Date.now() - secondsAgo * 1000;
  return `${JSON.stringify({ device_id: device, fence_id: "depot", kind, event_time_ms })}\n`;
}

/** By name. */
export const SERVICES: Readonly<Record<string, DescribedService>> = {
  plain: {
    args: () => ["--set", "http.body_bytes_max=4096"],
    ask: async (ask, { operations, answers }) => {
      const late = record("EXIT", "a", 50);
      await ask(
        POST,
        sent(`${record("ENTER", "a", 60)}${record("ENTER", "b", 30)}poison\n${record("STALE", "a", 1)}`),
      );
      await ask(POST, sent(late, { "idempotency-key": "k" }));
      await ask(POST, sent(late, { "idempotency-key": "k" }));
      await ask(POST, sent("", { "idempotency-key": "k" }));
      await ask(POST, sent("", { "idempotency-key": "k".repeat(256) }));
      await ask(POST, sent("x".repeat(4097)));
      await ask(POST, sent("", { "content-type": "image/png" }));
      for (const device of ["a", "nobody", TOO_LONG]) {
        await ask(PAIR, { at: `/v1/pairs/${device}/depot` });
        await ask(DEVICE, { at: `/v1/devices/${device}` });
      }
      await ask(TRIGGERS, { headers: { "last-event-id": "unknown" } });
      await ask(TRIGGERS, { at: "/v1/triggers?kind=x" });
      const done = new Set([POST, PAIR, DEVICE, TRIGGERS]);
      for (const operation of operations.filter((name) => !done.has(name))) await ask(operation);
      const etag = answers.find(({ operation }) => operation === "GET /")?.response.headers.get("etag");
      if (typeof etag === "string") await ask("GET /", { headers: { "if-none-match": etag } });
    },
  },
  tokens: {
    args: () => ["--set", `http.tokens=${JSON.stringify(TOKENS)}`],
    environment: ENVIRONMENT,
    ask: async (ask, { operations }) => {
      const guarded = operations.filter((name) => !OPEN.includes(name));
      const asAll = async (token: (operation: string) => string | null): Promise<void> => {
        for (const operation of guarded) {
          const bearer = token(operation);
          const headers: Record<string, string> = bearer === null
            ? {}
            : { authorization: `Bearer ${bearer}` };
          await ask(operation, operation === POST ? sent("", headers) : { headers });
        }
      };
      await asAll(() => null);
      await asAll((operation) => operation === POST ? ENVIRONMENT.READER_TOKEN : ENVIRONMENT.PRODUCER_TOKEN);
      for (let i = 0; i < 20; i++) {
        await ask(POST, sent("", { authorization: `Bearer wrong-guess-number-${i}` }));
      }
      await asAll(() => "one-guess-too-many");
    },
  },
  small: {
    args: () => ["--partitions", "1", "--set", "mailbox.capacity=16", "--set", "http.streams_max=0"],
    ask: async (ask) => {
      await ask(POST, sent(Array.from({ length: 200 }, (_, i) => record("ENTER", `d${i}`, 60)).join("")));
      await ask(TRIGGERS);
    },
  },
  // It looks for the last line end in an output that has none, which takes longer than the test.
  starting: {
    prepare: async (state) => {
      await (await RunningService.start(["--state", state])).stop();
      await Deno.truncate(join(state, "triggers.ndjson"), 200e9);
    },
    args: () => [],
    until: "listening",
    ask: async (ask) => {
      await ask(POST, sent(""));
      await ask(PAIR);
      await ask(DEVICE);
      await ask("GET /readyz");
    },
  },
  faulty: {
    prepare: (state) => Deno.mkdir(join(state, "requests.kv")),
    args: () => [],
    ask: (ask) => ask(POST, sent("", { "idempotency-key": "k" })),
  },
  impatient: {
    args: () => ["--set", "http.request_timeout=1s"],
    ask: async (_ask, { service, answers }) => {
      const { hostname, port } = new URL(service.url);
      const connection = await Deno.connect({ hostname, port: Number(port) });
      await connection.write(
        new TextEncoder().encode("POST /v1/transitions HTTP/1.1\r\ncontent-length: 9\r\n"),
      );
      const [head, text] = (await new Response(connection.readable).text()).split("\r\n\r\n") as [
        string,
        string,
      ];
      answers.push({
        operation: POST,
        response: new Response(null, { status: Number(head.split(" ")[1]) }),
        text,
      });
    },
  },
};

/** Asks a service all that it is there for. */
export async function answersOf(
  service: RunningService,
  ask: DescribedService["ask"],
  operations: readonly string[],
): Promise<Asked[]> {
  const answers: Asked[] = [];
  await ask(async (operation, { at, ...request } = {}) => {
    const [method, path] = operation.split(" ") as [string, string];
    const place = at ?? path.replaceAll(/\{(\w+)\}/g, "$1");
    const response = await fetch(service.url + place, { method, ...request });
    const isStream = response.headers.get("content-type") === "text/event-stream";
    answers.push({
      operation,
      response,
      text: isStream ? await beginningOf(response) : await response.text(),
    });
  }, { service, operations, answers });
  return answers;
}

/** Of a stream, a few events. */
async function beginningOf(response: Response): Promise<string> {
  let text = "";
  for await (
    const piece of (response.body as ReadableStream<BufferSource>).pipeThrough(new TextDecoderStream())
  ) {
    text += piece;
    if (text.split("\n\n").length > 4) break;
  }
  return text;
}
