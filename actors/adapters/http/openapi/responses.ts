/**
 * What the descriptions of several operations share.
 *
 * @module
 */

/** One operation, without what follows from its route. */
export interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly parameters?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly responses: Readonly<Record<string, unknown>>;
}

/** A reference to a schema. */
export function ref(schema: string): { readonly $ref: string } {
  return { $ref: `#/components/schemas/${schema}` };
}

/** An answer in JSON. */
export function json(description: string, schema: string, example?: unknown): Record<string, unknown> {
  return {
    description,
    content: {
      "application/json": { schema: ref(schema), ...(example === undefined ? {} : { example }) },
    },
  };
}

/** An answer that is a problem. */
export function problemOf(
  description: string,
  options: { readonly retry?: true } = {},
): Record<string, unknown> {
  return {
    description,
    ...(options.retry === undefined ? {} : { headers: { "Retry-After": RETRY_AFTER } }),
    content: { "application/problem+json": { schema: ref("Problem") } },
  };
}

/** Seconds. */
export const RETRY_AFTER = {
  description: "Seconds after which to try again",
  schema: { type: "string", pattern: "^[0-9]+$" },
} as const;

/** Answers that stand for many operations. */
export const RESPONSES: Readonly<Record<string, unknown>> = {
  NoToken: {
    ...problemOf("No token was sent, or one that is not known"),
    headers: {
      "WWW-Authenticate": { description: "How to send one", schema: { type: "string", pattern: "^Bearer " } },
    },
  },
  NotAllowed: problemOf("The token has not the scope"),
  TooManyGuesses: problemOf("Too many wrong tokens came from this address", { retry: true }),
};

/** Who may do what. */
export const SECURITY_SCHEMES: Readonly<Record<string, unknown>> = {
  token: {
    type: "http",
    scheme: "bearer",
    description: "A token of http.tokens with the scope that is named, or admin",
  },
};
