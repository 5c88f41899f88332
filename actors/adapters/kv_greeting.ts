/**
 * Asks a Deno KV server whether it is one and lets us in, as KV Connect begins (the metadata exchange), before Deno does.
 *
 * Deno itself can't be trusted with what it may find. 2.4 asks a server that is away for ever and can't be stopped, so
 * each try to open one would stay behind; later versions take a web page and a server that is away for the same kind of
 * failure; and all of them panic at a token with a line end in it, as one that was read from a file may have.
 *
 * @module
 */
import { UnavailableError } from "../ports.ts";

const TOKEN_ENV = "DENO_KV_ACCESS_TOKEN";
const VERSIONS = [1, 2, 3];

/** The server, or what is there instead, won't have us. */
export class RefusedError extends Error {
  override readonly name: string = "RefusedError";
}

/**
 * Resolves where `Deno.openKv` will be let in.
 *
 * @param msMax how long the answer may take
 * @throws {UnavailableError} where none comes, or one that says that it may be otherwise later
 * @throws {RefusedError} where trying again won't help: what is wrong, without the address
 */
export async function greetKvServer(url: string, msMax: number): Promise<void> {
  const { status, text } = await ask(url, { token: readToken(), msMax });
  if (status === 401 || status === 403) {
    throw new RefusedError(`the server refuses the access token in the environment's ${TOKEN_ENV}`);
  }
  if (status >= 500 || status === 408 || status === 429) {
    throw new UnavailableError(`the server answers with status ${status}`);
  }
  if (status === 200 && isMetadata(text)) return;
  throw new RefusedError(
    `what is at this address is no Deno KV server (status ${status}). Correct checkpoint.path`,
  );
}

/** The access token; only one that fits into a header. Never part of a message. */
function readToken(): string {
  const token = Deno.env.get(TOKEN_ENV);
  if (token === undefined || token === "") {
    throw new RefusedError(`there is no access token: put it into the environment's ${TOKEN_ENV}`);
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new RefusedError(
    `the access token in the environment's ${TOKEN_ENV} has a space, a line end or another character that none has`,
  );
}

/** The status and the text of what is at an address. */
interface Answer {
  readonly status: number;
  readonly text: string;
}

async function ask(url: string, { token, msMax }: { token: string; msMax: number }): Promise<Answer> {
  const signal = AbortSignal.timeout(msMax);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "authorization": `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ supportedVersions: VERSIONS }),
      // Deno follows none either.
      redirect: "manual",
      signal,
    });
    // All of it, within the time: what is behind the address may never end.
    return { status: response.status, text: await response.text() };
  } catch (cause) {
    // A right that Deno was not given is one that it won't get.
    if (cause instanceof Deno.errors.NotCapable) throw cause;
    if (signal.aborted) {
      throw new UnavailableError(`the server has not answered for ${msMax / 1000} s`, { cause });
    }
    throw new UnavailableError(reasonOf(cause), { cause });
  }
}

/** What is behind a failed fetch: later versions of Deno say "fetch failed", and why in the cause. */
function reasonOf(failure: unknown): string {
  let reason = failure;
  while (reason instanceof Error && reason.cause instanceof Error) reason = reason.cause;
  return reason instanceof Error ? reason.message : String(reason);
}

function isMetadata(text: string): boolean {
  try {
    const metadata: unknown = JSON.parse(text);
    return typeof metadata === "object" && metadata !== null && "endpoints" in metadata;
  } catch {
    return false;
  }
}
