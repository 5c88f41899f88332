/**
 * Who may do what: bearer tokens, each with its scopes.
 *
 * Tokens are compared by their SHA-256, all of them each time, so that neither the time nor the place of the first wrong
 * character tells anything. An address that sends many wrong ones is told to wait; a right one is never refused for that, or
 * a guesser could shut out all who come from behind the same proxy.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import type { HttpConfig, Scope, TokenConfig } from "../../../lib/http_config.ts";
import { problem } from "./answer.ts";

/** The least length of a token: shorter ones can be guessed. */
const TOKEN_LENGTH_MIN = 16;
/** What can be sent in a header, where a space would end it. */
const TOKEN = /^[!-~]{1,512}$/;
const BEARER = /^Bearer +(\S+)$/i;
/** Wrong tokens that an address may send before it has to wait, and for how long, ms. */
const GUESSES_MAX = 20;
const GUESSES_MS = 60_000;
const ADDRESSES_MAX = 10_000;

const encoder = new TextEncoder();

/** A client that may do what it asks for. */
export interface Client {
  /** The token's name, or the address where there are no tokens. */
  readonly name: string;
}

interface Token {
  readonly name: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly hash: Uint8Array;
}

/** See the module's header. */
export class Access {
  readonly #tokens: readonly Token[];
  readonly #guesses = new Map<string, { count: number; sinceMs: number }>();

  private constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  /**
   * Reads the tokens.
   *
   * @throws {Error} where one can't be read, is too short, or is the same as another
   */
  static async create({ tokens }: Pick<HttpConfig, "tokens">): Promise<Access> {
    const read: Token[] = [];
    for (const [i, config] of tokens.entries()) {
      const token = await readToken(config);
      if (token.length < TOKEN_LENGTH_MIN) {
        throw new Error(
          `Cannot use http.tokens[${i}] (${config.name}): a token has at least ${TOKEN_LENGTH_MIN} characters; ` +
            "`openssl rand -hex 32` makes one",
        );
      }
      if (!TOKEN.test(token)) {
        throw new Error(
          `Cannot use http.tokens[${i}] (${config.name}): a token has at most 512 characters, of ASCII and without spaces`,
        );
      }
      const hash = await sha256(token);
      const other = read.find((known) => timingSafeEqual(known.hash, hash));
      if (other !== undefined) {
        throw new Error(
          `Cannot use http.tokens[${i}] (${config.name}): it is the same token as ${other.name}'s`,
        );
      }
      read.push({ name: config.name, scopes: new Set(config.scopes), hash });
    }
    return new Access(read);
  }

  /** Whether anybody may do anything. */
  get isOpen(): boolean {
    return this.#tokens.length === 0;
  }

  /** The client, or the answer that it gets instead. */
  async check(request: Request, peer: string, scope: Scope): Promise<Client | Response> {
    if (this.isOpen) return { name: peer };
    const given = BEARER.exec(request.headers.get("authorization") ?? "")?.[1];
    if (given === undefined || !TOKEN.test(given)) return unauthorized("Send Authorization: Bearer TOKEN");
    const found = this.#find(await sha256(given));
    if (found === null) return this.#guessed(peer) ?? unauthorized("This token is not known");
    if (!found.scopes.has(scope) && !found.scopes.has("admin")) {
      return problem(403, `The token ${found.name} has not the scope ${scope}`);
    }
    return { name: found.name };
  }

  #find(hash: Uint8Array): Token | null {
    let found: Token | null = null;
    for (const token of this.#tokens) if (timingSafeEqual(token.hash, hash)) found = token;
    return found;
  }

  /** Counts a wrong token; the answer of an address that has sent too many. */
  #guessed(peer: string): Response | null {
    const nowMs = performance.now();
    const known = this.#guesses.get(peer);
    const guesses = known === undefined || nowMs - known.sinceMs >= GUESSES_MS
      ? { count: 0, sinceMs: nowMs }
      : known;
    if (guesses.count >= GUESSES_MAX) {
      const waitS = Math.ceil((GUESSES_MS - (nowMs - guesses.sinceMs)) / 1000);
      return problem(429, "Too many wrong tokens from this address", { "retry-after": String(waitS) });
    }
    guesses.count++;
    if (known === undefined && this.#guesses.size >= ADDRESSES_MAX) {
      const [oldest] = this.#guesses.keys();
      this.#guesses.delete(oldest as string);
    }
    this.#guesses.set(peer, guesses);
    return null;
  }
}

function unauthorized(detail: string): Response {
  return problem(401, detail, { "www-authenticate": 'Bearer realm="fencepost"' });
}

async function readToken({ name, file, env }: TokenConfig): Promise<string> {
  if (file !== null) {
    try {
      return (await Deno.readTextFile(file)).replace(/\r?\n$/, "");
    } catch (cause) {
      throw new Error(`Cannot read the token ${name} from ${file}`, { cause });
    }
  }
  const token = Deno.env.get(env as string);
  if (token === undefined) {
    throw new Error(
      `Cannot read the token ${name}: the environment has not the variable that http.tokens names`,
    );
  }
  return token;
}

async function sha256(text: string): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text)));
}
