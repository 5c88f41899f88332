/**
 * A contender in a process of its own, which is filled once and then asked again and again, in turns with the others.
 *
 * ```
 *   bench    ask("round", "2") ──▶ stdin    a line of JSON: words
 *            Promise ◀── stdout             a line of JSON: what was measured
 * ```
 *
 * To fill one for each round would take minutes, and rounds that do not take turns compare the machine at one time with
 * the machine at another. While it is not asked it waits for its stdin, and takes nothing but its memory.
 *
 * @module
 */
import { linesOf } from "./lines.ts";

/** See the module's header. `await using` ends the process. */
export class AskedProcess {
  readonly #command: string;
  readonly #child: Deno.ChildProcess;
  readonly #stdin: WritableStreamDefaultWriter<Uint8Array>;
  readonly #answers: AsyncGenerator<string>;

  /** @param command the executable first, as `script` has it; it answers with {@link answerQuestions} */
  constructor(command: readonly string[]) {
    const [executable, ...args] = command as [string, ...string[]];
    this.#command = command.join(" ");
    const piped = { stdin: "piped", stdout: "piped", stderr: "inherit" } as const;
    this.#child = new Deno.Command(executable, { args, ...piped }).spawn();
    this.#stdin = this.#child.stdin.getWriter();
    this.#answers = linesOf(this.#child.stdout);
  }

  /** Asks, and waits for the answer. One question at a time. */
  async ask<T>(...words: readonly string[]): Promise<T> {
    await this.#stdin.write(encoder.encode(JSON.stringify(words) + "\n"));
    const { value, done } = await this.#answers.next();
    if (done) throw new Error(`Cannot measure ${words.join(" ")}: ${this.#command} ended`);
    return JSON.parse(value) as T;
  }

  /** Ends it. */
  async [Symbol.asyncDispose](): Promise<void> {
    // It may have ended by itself: then there is nobody to say it to.
    await this.#stdin.close().catch(() => {});
    await this.#answers.return(undefined);
    await this.#child.status;
  }
}

/** The other side: answers each question on stdin with a line on stdout, until there are no more. */
export async function answerQuestions(
  answer: (words: readonly string[]) => unknown | Promise<unknown>,
): Promise<void> {
  for await (const line of linesOf(Deno.stdin.readable)) {
    const text = JSON.stringify(await answer(JSON.parse(line) as string[])) + "\n";
    const bytes = encoder.encode(text);
    for (let at = 0; at < bytes.length;) at += Deno.stdout.writeSync(bytes.subarray(at));
  }
}

const encoder = new TextEncoder();
