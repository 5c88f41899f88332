/**
 * The description against the service: it is valid, it has every route that there is, and every answer that it promises
 * is given by a real process and is as described.
 *
 * @module
 */
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020 } from "ajv/dist/2020.js";
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { join } from "node:path";
import { openApiRoute } from "../../actors/adapters/http/openapi/openapi_route.ts";
import type { Route } from "../../actors/adapters/http/service.ts";
import { type Answers, answersOf, type Asked, SERVICES } from "../support/described_answers.ts";
import { inDirectory, killAtOnce } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";

interface Content {
  readonly schema: Record<string, unknown>;
  readonly example?: unknown;
  readonly examples?: Readonly<Record<string, { readonly value: unknown }>>;
}

interface Answer {
  readonly $ref?: string;
  readonly headers?: Readonly<Record<string, { readonly schema: Record<string, unknown> }>>;
  readonly content?: Readonly<Record<string, Content>>;
}

interface Operation {
  readonly security: readonly Record<string, unknown>[];
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> };
  readonly responses: Readonly<Record<string, Answer>>;
}

interface Described {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, unknown>>;
    readonly responses: Readonly<Record<string, Answer>>;
  };
}

const ROOT = "https://fencepost.invalid/openapi.json";

async function describedBy(service: RunningService): Promise<Described> {
  return await (await fetch(`${service.url}/openapi.json`)).json() as Described;
}

/** Checks values against the schemas of a document. */
class Schemas {
  readonly #ajv = new Ajv2020({
    // What "format" says is said by a pattern, too.
    validateFormats: false,
    allowUnionTypes: true,
    // Some schemas say in one place of what kind the values of another are.
    strictTypes: false,
    keywords: ["components", "example"],
  });

  constructor(document: Described) {
    this.#ajv.addSchema({ $id: ROOT, components: document.components }, ROOT);
  }

  check(schema: Record<string, unknown>, value: unknown, what: string): void {
    const text = JSON.stringify(schema).replaceAll('"#/', `"${ROOT}#/`);
    const validate = this.#ajv.compile(JSON.parse(text));
    ok(validate(value), `${what}: ${JSON.stringify(value)}: ${JSON.stringify(validate.errors)}`);
  }
}

function* operationsOf(document: Described): Generator<readonly [name: string, operation: Operation]> {
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      yield [`${method.toUpperCase()} ${path}`, operation];
    }
  }
}

function answerOf(document: Described, operation: Operation, status: string): Answer {
  const answer = operation.responses[status] as Answer;
  const name = answer.$ref?.split("/").at(-1);
  return name === undefined ? answer : document.components.responses[name] as Answer;
}

Deno.test("openapi: the document is valid, and its examples are as its schemas say", async () => {
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", join(directory, "state")]);
    const document = await describedBy(service);
    const result = await new Validator().validate(
      structuredClone(document) as unknown as Record<string, unknown>,
    );
    ok(result.valid, JSON.stringify(result.errors));
    const schemas = new Schemas(document);
    let examples = 0;
    for (const [name, operation] of operationsOf(document)) {
      const contents = [
        operation.requestBody,
        ...Object.keys(operation.responses).map((status) => answerOf(document, operation, status)),
      ].flatMap((part) => Object.entries(part?.content ?? {}));
      for (const [type, { schema, example, examples: several = {} }] of contents) {
        const values = [
          ...(example === undefined ? [] : [example]),
          ...Object.values(several).map(({ value }) => value),
        ];
        for (const value of values) schemas.check(schema, value, `${name} ${type}`);
        examples += values.length;
      }
    }
    ok(examples >= 15, `${examples} examples`);
    // What a request's example says is taken by the service.
    const { content } = document.paths["/v1/transitions"]?.["post"]?.requestBody as {
      content: Record<string, Content>;
    };
    for (const [type, { example, examples: several = {} }] of Object.entries(content)) {
      for (
        const value of example === undefined ? Object.values(several).map((one) => one.value) : [example]
      ) {
        const body = typeof value === "string" ? value : JSON.stringify(value);
        const response = await service.post(body, { "content-type": type });
        equal(response.status, 200, type);
        // The examples' time is not now: nothing but that is wrong with them.
        const { dead_letters } = await response.json() as { dead_letters: { reason: string }[] };
        for (const { reason } of dead_letters) ok(/^TIME_/.test(reason), `${type}: ${reason}`);
      }
    }
    equal((await service.stop()).status, 0);
  });
});

Deno.test("openapi: every answer that is described is given, and is as described", async () => {
  await inDirectory(async (directory) => {
    const answers: Answers = new Map();
    let document: Described | null = null;
    for (const [name, { prepare, args, environment, until = "ready", ask }] of Object.entries(SERVICES)) {
      const state = join(directory, name);
      await Deno.mkdir(state);
      await prepare?.(state);
      const service = await RunningService.start(
        ["--state", state, ...args(state)],
        environment ?? {},
        until,
      );
      try {
        document ??= await describedBy(service);
        const names = [...operationsOf(document)].map(([operation]) => operation);
        for (const asked of await answersOf(service, ask, names)) {
          const key = `${asked.operation} ${asked.response.status}`;
          answers.set(key, [...(answers.get(key) ?? []), asked]);
        }
      } finally {
        killAtOnce(service.started.child);
        await service.started.ended;
      }
    }
    const described = document as unknown as Described;
    const schemas = new Schemas(described);
    const missing: string[] = [];
    const operations = new Map(operationsOf(described));
    for (const [name, operation] of operations) {
      for (const status of Object.keys(operation.responses)) {
        const types = Object.keys(answerOf(described, operation, status).content ?? { "": null });
        const given = (answers.get(`${name} ${status}`) ?? []).map(typeOf);
        // Metrics have one of two forms.
        const needed = name === "GET /metrics" ? types.slice(0, 1) : types;
        missing.push(
          ...needed.filter((type) => !given.includes(type)).map((type) => `${name} ${status} ${type}`),
        );
      }
    }
    deepEqual(missing, [], "described, and not given");
    for (const asked of [...answers.values()].flat()) {
      checkAnswer({ described, operation: operations.get(asked.operation) as Operation, schemas }, asked);
    }
  });
});

function checkAnswer(
  { described, operation, schemas }: { described: Described; operation: Operation; schemas: Schemas },
  asked: Asked,
): void {
  const what = `${asked.operation} ${asked.response.status}`;
  const status = String(asked.response.status);
  ok(status in operation.responses, `${what} is not described: ${asked.text}`);
  const { content, headers = {} } = answerOf(described, operation, status);
  for (const [name, { schema }] of Object.entries(headers)) {
    const value = asked.response.headers.get(name);
    if (value !== null) schemas.check(schema, value, `${what} ${name}`);
    else ok(name === "Idempotency-Replayed" || name === "X-Request-Id", `${what} has no ${name}`);
  }
  if (content === undefined) {
    equal(asked.text, "", what);
    return;
  }
  const type = typeOf(asked);
  const described_ = content[type];
  ok(described_ !== undefined, `${what}: ${type} is not described`);
  schemas.check(described_.schema, type.endsWith("json") ? JSON.parse(asked.text) : asked.text, what);
  if (type !== "text/event-stream") return;
  for (const [, event, data] of asked.text.matchAll(/event: (.*)\ndata: (.*)\n/g)) {
    schemas.check(
      { $ref: `#/components/schemas/${event === "gap" ? "Gap" : "Trigger"}` },
      JSON.parse(data as string),
      what,
    );
  }
}

function typeOf({ response }: Asked): string {
  return (response.headers.get("content-type") ?? "").split(";")[0] as string;
}

Deno.test("openapi: a service does not start with a route that nothing describes", () => {
  const route = (path: string): Route => ({ method: "GET", path, scope: null, answer: () => new Response() });
  throws(() => openApiRoute([route("/healthz"), route("/v1/secret")]), /GET \/v1\/secret is described/);
  equal(openApiRoute([route("/healthz"), route("/page/page.js")]).path, "/openapi.json");
});
