/**
 * The canonical workload: what a fleet's gateway sends, with all that is wrong with it, from a seed.
 *
 * ```
 *   fleet ─▶ crossing ─▶ 50–900 ms to the gateway ─▶ delivered, so slightly out of order ─▶ a line
 *                │                                     ├─▶ a copy: the same bytes again, or seen again and stamped anew
 *                │                                     └─▶ a poison line
 *                └─▶ no coverage: kept by the truck, and uploaded at once much later, newest first half of the time
 * ```
 *
 * Every benchmark and the demo take their records from here, so that their numbers can be compared. The same options
 * give the same bytes on every machine: there is no clock and no chance but the seed's. What the generator returns at
 * its end says what should come out: a trigger for each ENTER and EXIT that is no copy.
 *
 * About 2 µs a record.
 *
 * ```sh
 * deno run bench/load.ts --records 2000000 --seed 1 > load.ndjson
 * ```
 *
 * @module
 */
import { Gateway } from "./gateway.ts";
import { type LoadOptions, type LoadSummary, parseLoadArguments } from "./load_options.ts";

/**
 * Generates a workload as blocks of whole NDJSON lines of about 256 KiB, in the order in which they are delivered.
 * A block is never written again after it was yielded.
 */
export function* generateLoad(options: LoadOptions): Generator<Uint8Array, LoadSummary, void> {
  const gateway = new Gateway(options);
  let bytes = 0;
  for (let lines = 0; lines < options.records; lines++) {
    gateway.writeNext();
    if (!gateway.writer.full && lines + 1 < options.records) continue;
    const block = gateway.writer.take();
    bytes += block.length;
    yield block;
  }
  return gateway.summary(bytes);
}

/** Writes a workload to stdout, and what it was to stderr. */
function main(): void {
  const load = generateLoad(parseLoadArguments(Deno.args));
  let next = load.next();
  for (; !next.done; next = load.next()) {
    for (let at = 0; at < next.value.length;) at += Deno.stdout.writeSync(next.value.subarray(at));
  }
  Deno.stderr.writeSync(new TextEncoder().encode(JSON.stringify(next.value) + "\n"));
}

if (import.meta.main) {
  try {
    main();
  } catch (error) {
    // `load.ts | head` has what it wanted.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}
