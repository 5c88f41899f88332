/**
 * The process: its arguments' files, its streams, its signals. For the commands, which get it as functions.
 *
 * @module
 */
import { ClosedPipeError } from "./ndjson_sink.ts";
import { NdjsonSource } from "./ndjson_source.ts";

const BLANK = new Uint8Array();

const encoder = new TextEncoder();

/** The lines of a file or, for `-`, of stdin, without their line ends; one that is blank is empty. */
export async function* readLines(path: string): AsyncGenerator<Uint8Array> {
  const source = new NdjsonSource({ path, live: false, fromStart: false, atEof: "flush" });
  await source.open(null);
  try {
    const never = new AbortController().signal;
    let line = 0;
    for (let batch = await source.read(never); batch !== null; batch = await source.read(never)) {
      for (let i = 0; i < batch.count; i++) {
        // The source passes blank lines over; whoever counts lines needs them.
        while (++line < (batch.lines[i] as number)) yield BLANK;
        yield batch.bytes.subarray(batch.starts[i], batch.ends[i]);
      }
    }
  } finally {
    source.close();
  }
}

/**
 * Writes to stdout.
 *
 * @throws {ClosedPipeError} where nobody reads it any more
 */
export async function write(text: string): Promise<void> {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
  } catch (cause) {
    if (cause instanceof Deno.errors.BrokenPipe) throw new ClosedPipeError("stdout was closed", { cause });
    throw cause;
  }
}

/** Writes to stderr, whoever reads it. */
export function say(text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
  } catch {
    // Nobody to tell.
  }
}

/** Until {@link onSignal} is called a signal ends the process at once, and well: nothing was taken yet. */
export function endAtSignals(): void {
  Deno.addSignalListener("SIGTERM", endAtOnce);
  Deno.addSignalListener("SIGINT", endAtOnce);
}

function endAtOnce(): never {
  Deno.exit(0);
}

/** Calls back at SIGTERM and SIGINT until the returned function is called. */
export function onSignal(callback: () => void): () => void {
  Deno.addSignalListener("SIGTERM", callback);
  Deno.addSignalListener("SIGINT", callback);
  Deno.removeSignalListener("SIGTERM", endAtOnce);
  Deno.removeSignalListener("SIGINT", endAtOnce);
  return () => {
    Deno.removeSignalListener("SIGTERM", callback);
    Deno.removeSignalListener("SIGINT", callback);
  };
}
