/**
 * `POST /v1/transitions`: records in, and what became of each.
 *
 * ```
 *   who? ─▶ media type ─▶ body ─▶ records ─▶ admission ─▶ taken ─▶ durable ─▶ 200, outcomes
 *   401       415         413                  429 for those that were not taken
 * ```
 *
 * A body is read also where there is no room: what is refused is counted and said line by line, and an unread body would
 * have to be taken off the connection all the same.
 *
 * Poison is answered with 200, in its outcome: it is in the dead letters, and sent again it would only be there twice.
 *
 * @module
 */
import type { DeadLetterReason } from "../../../lib/dead_letter.ts";
import {
  type RecordHash,
  RECORDS_MAX,
  type RecordSpans,
  spansOfJson,
  spansOfLines,
} from "../../../lib/record_spans.ts";
import {
  ACCEPTED,
  DEAD_LETTERED,
  type Delivery,
  type Intake,
  type Receipt,
  REFUSED,
  SKIPPED,
  SUPPRESSED,
} from "../../intake.ts";
import { UnavailableError } from "../../ports.ts";
import type { Format } from "../../../lib/format/format.ts";
import type { Client } from "./access.ts";
import { jsonTextAnswer, problem } from "./answer.ts";
import { recordsOfEvents } from "./cloud_events.ts";
import type { IdempotencyStore, KeptAnswer } from "./idempotency.ts";
import type { RequestBodies } from "./request_body.ts";

/** Seconds after which a refused client may try again. */
const RETRY_AFTER_S = "1";
/** By the specification of the header, a quoted string; most send it bare. */
const KEY = /^"?([!#-~ ]{1,255})"?$/;

/** The words of an answer, by their number. */
const OUTCOMES: Readonly<Record<number, string>> = {
  [ACCEPTED]: "accepted",
  [SUPPRESSED]: "suppressed",
  [DEAD_LETTERED]: "dead_lettered",
  [REFUSED]: "refused",
  [SKIPPED]: "skipped",
};

/** What an answer says. */
export interface TransitionsAnswer {
  /** How many records were taken: all but the refused. */
  readonly taken: number;
  readonly accepted: number;
  readonly suppressed: number;
  readonly dead_lettered: number;
  readonly refused: number;
  /** Messages that were no transition, by source.format. */
  readonly skipped: number;
  /** Of each record, in its order. */
  readonly outcomes: readonly string[];
  /** Why: `record` is the place in `outcomes`, from 1. */
  readonly dead_letters: readonly {
    readonly record: number;
    readonly reason: DeadLetterReason;
    readonly detail: string;
  }[];
}

/** What the route works with. */
export interface TransitionsOptions {
  readonly intake: Intake;
  readonly bodies: RequestBodies;
  readonly idempotency: () => Promise<IdempotencyStore>;
  readonly hash: RecordHash;
  /** What a body has: records of our own, or messages of another format, whose envelope is part of them. */
  readonly format: Pick<Format, "mapping">;
}

/** How a body is cut into records. */
type Cut = (body: Uint8Array, hash: RecordHash) => RecordSpans;

const CUTS: ReadonlyMap<string, Cut> = new Map<string, Cut>([
  ["application/x-ndjson", spansOfLines],
  ["application/ndjson", spansOfLines],
  ["application/jsonl", spansOfLines],
  ["application/json-lines", spansOfLines],
  ["application/json", spansOfJson],
  ["text/plain", spansOfJson],
  ["application/cloudevents+json", recordsOfEvents],
  ["application/cloudevents-batch+json", recordsOfEvents],
]);

/** Answers a request of a client that may send. */
export async function postTransitions(
  request: Request,
  client: Client,
  options: TransitionsOptions,
): Promise<Response> {
  const { intake, bodies, idempotency, hash } = options;
  if (!intake.isOpen) {
    intake.refuseUnread();
    return unavailable("Nothing is taken now: it is starting or stopping");
  }
  const cut = cutOf(request, options.format);
  if (cut instanceof Response) return cut;
  const keyHeader = request.headers.get("idempotency-key");
  const key = keyHeader === null ? null : KEY.exec(keyHeader)?.[1];
  if (key === undefined) return problem(400, "An Idempotency-Key has 1 to 255 printable ASCII characters");
  const body = await bodies.read(request);
  if (body instanceof Response) {
    if (body.status === 429) intake.refuseUnread();
    return body;
  }
  const records = cut(body, hash);
  if (records.count > RECORDS_MAX) {
    return problem(413, `A request has at most ${RECORDS_MAX} records: send them in parts`);
  }
  const id = requestId(request);
  const take = async (): Promise<{ given: Response; kept: KeptAnswer | null }> => {
    const answer = await taken(intake, {
      records,
      request: id,
      client: client.name,
      context: { topic: null, key: null, header: (name) => headerOf(request, name) },
    });
    if (answer instanceof Response) return { given: answer, kept: null };
    const body = JSON.stringify(answer);
    const headers = { "x-request-id": id };
    if (answer.refused > 0) {
      return { given: jsonTextAnswer(429, body, { ...headers, "retry-after": RETRY_AFTER_S }), kept: null };
    }
    return { given: jsonTextAnswer(200, body, headers), kept: { status: 200, body } };
  };
  if (key === null) return (await take()).given;
  const fingerprint = await fingerprintOf(request, body);
  const result = await idempotency().then((store) =>
    store.once({ client: client.name, key, fingerprint }, take)
  )
    .catch((error) => {
      intake.refuseUnread();
      throw error;
    });
  if (result === "other") return problem(422, "This Idempotency-Key came with another body before");
  if (result instanceof Response) return result;
  return jsonTextAnswer(result.status, result.body, { "idempotency-replayed": "true" });
}

async function taken(
  intake: Intake,
  delivery: Delivery,
): Promise<TransitionsAnswer | Response> {
  try {
    return answerOf(await intake.offer(delivery));
  } catch (error) {
    if (error instanceof UnavailableError) return unavailable(error.message);
    throw error;
  }
}

function answerOf({ outcomes, deadLetters, taken }: Receipt): TransitionsAnswer {
  const counts = [0, 0, 0, 0, 0];
  const words = new Array<string>(outcomes.length);
  for (let i = 0; i < outcomes.length; i++) {
    const outcome = outcomes[i] as number;
    counts[outcome] = (counts[outcome] as number) + 1;
    words[i] = OUTCOMES[outcome] as string;
  }
  return {
    taken,
    accepted: counts[ACCEPTED] as number,
    suppressed: counts[SUPPRESSED] as number,
    dead_lettered: counts[DEAD_LETTERED] as number,
    refused: counts[REFUSED] as number,
    skipped: counts[SKIPPED] as number,
    outcomes: words,
    dead_letters: deadLetters.toSorted((a, b) => a.index - b.index).map(({ index, reason, detail }) => ({
      record: index + 1,
      reason,
      detail,
    })),
  };
}

function cutOf(request: Request, { mapping }: Pick<Format, "mapping">): Cut | Response {
  const type = (request.headers.get("content-type") ?? "application/json").split(";", 1)[0] as string;
  const cut = CUTS.get(type.trim().toLowerCase());
  if (cut === recordsOfEvents && mapping !== null) return spansOfJson;
  if (cut !== undefined) return cut;
  return problem(
    415,
    `The content type must be application/x-ndjson, application/json or one of CloudEvents, got ${
      type.slice(0, 80)
    }`,
    { accept: [...CUTS.keys()].join(", ") },
  );
}

function unavailable(detail: string): Response {
  return problem(503, detail, { "retry-after": RETRY_AFTER_S });
}

/** A header that is no secret: what a mapping names can end in triggers. */
function headerOf({ headers }: Request, name: string): string | null {
  return /^(?:authorization|cookie|proxy-authorization)$/i.test(name) ? null : safely(headers, name);
}

/** What can't be a header's name is none. */
function safely(headers: Headers, name: string): string | null {
  return /^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name) ? headers.get(name) : null;
}

/** The client's name for the request, or one of ours. */
function requestId(request: Request): string {
  const given = request.headers.get("x-request-id");
  return given !== null && /^[!-~]{1,128}$/.test(given) ? given : crypto.randomUUID();
}

async function fingerprintOf(request: Request, body: Uint8Array): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", body as Uint8Array<ArrayBuffer>);
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${request.headers.get("content-type") ?? ""} ${hex}`;
}
