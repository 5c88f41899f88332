/**
 * `POST /v1/transitions`, described.
 *
 * @module
 */
import { type Described, json, problemOf, ref, RETRY_AFTER } from "./responses.ts";

const ENTER = {
  device_id: "truck-7",
  fence_id: "depot-3",
  kind: "ENTER",
  event_time: "2026-11-30T20:30:00.123Z",
};
const EXIT = { ...ENTER, kind: "EXIT", event_time: "2026-11-30T20:52:10Z" };
const EVENT = { specversion: "1.0", id: "1", source: "/gateway/4", type: "crossing", data: ENTER };
const LINES = { schema: { type: "string" }, example: `${JSON.stringify(ENTER)}\n${JSON.stringify(EXIT)}\n` };

const ANSWER = {
  taken: 2,
  accepted: 1,
  suppressed: 0,
  dead_lettered: 1,
  refused: 0,
  skipped: 0,
  outcomes: ["accepted", "dead_lettered"],
  dead_letters: [{ record: 2, reason: "MALFORMED_JSON", detail: "The record is no JSON" }],
};

/** See the module's header. */
export const TRANSITIONS_OPERATION: Described = {
  operationId: "postTransitions",
  tags: ["intake"],
  summary: "Send transitions",
  description:
    "Answered when all that was taken is durable. Without an answer it is not known what was taken: " +
    "send it again, which is harmless. Records that are poison do not make the request fail: they are in the dead " +
    "letters, and sent again would only be there twice.",
  parameters: [
    {
      name: "Idempotency-Key",
      in: "header",
      description:
        "The same key with the same body has the same answer, for http.idempotency. Answers of 429 and " +
        "above are not kept",
      schema: { type: "string", minLength: 1, maxLength: 255 },
    },
    {
      name: "X-Request-Id",
      in: "header",
      description: "Names the request in dead letters; one is made where it is not given",
      schema: { type: "string", minLength: 1, maxLength: 128 },
    },
    {
      name: "Content-Encoding",
      in: "header",
      description: "gzip or none",
      schema: { enum: ["gzip", "identity"] },
    },
  ],
  requestBody: {
    required: true,
    description:
      "At most http.body_bytes_max bytes, unpacked; a record has at most 64 KiB. A CloudEvent in binary " +
      "mode is its data with the data's content type. Where no content type is sent, it is application/json",
    content: {
      "application/x-ndjson": LINES,
      "application/ndjson": LINES,
      "application/jsonl": LINES,
      "application/json-lines": LINES,
      "application/json": {
        schema: { oneOf: [ref("Transition"), { type: "array", items: ref("Transition") }] },
        examples: { one: { value: ENTER }, many: { value: [ENTER, EXIT] } },
      },
      "text/plain": { schema: { type: "string" }, example: JSON.stringify(ENTER) },
      "application/cloudevents+json": { schema: ref("CloudEvent"), example: EVENT },
      "application/cloudevents-batch+json": {
        schema: { type: "array", items: ref("CloudEvent") },
        example: [EVENT],
      },
    },
  },
  responses: {
    "200": {
      ...json("All records were taken: what became of each", "TransitionsAnswer", ANSWER),
      headers: {
        "X-Request-Id": { description: "Names the request in dead letters", schema: { type: "string" } },
        "Idempotency-Replayed": {
          description: "This request was answered before, and this is that answer",
          schema: { const: "true" },
        },
      },
    },
    "400": problemOf("The Idempotency-Key is none, or the body did not come whole or is not gzip"),
    "408": { description: "The request did not come within http.request_timeout" },
    "413": problemOf("The body is too large, or has too many records: send it in parts"),
    "415": problemOf("The content type or the content encoding is none of these"),
    "422": problemOf("This Idempotency-Key came with another body before"),
    "429": {
      description:
        "There was no room for some records, which `outcomes` names: send those again after a while. Or " +
        "nothing was taken: a problem says so, or that too many wrong tokens came",
      headers: { "Retry-After": RETRY_AFTER },
      content: {
        "application/json": { schema: ref("TransitionsAnswer") },
        "application/problem+json": { schema: ref("Problem") },
      },
    },
    "500": problemOf("A fault, which is in the log: it is not known whether anything was taken"),
    "503": problemOf(
      "It is starting or stopping: send it again. After a wait it is not known what was taken",
      {
        retry: true,
      },
    ),
  },
};
