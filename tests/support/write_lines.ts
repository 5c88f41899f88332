/**
 * A process that writes lines to a sink until it can't, and says how that ended: `write_lines.ts PATH COUNT BYTES`.
 * Limits on a file's size, and a stdout that nobody reads, can only be given to a process.
 */
import { ClosedPipeError, NdjsonSink } from "../../actors/adapters/ndjson_sink.ts";

const [path = "-", count = "1", byteLength = "16"] = Deno.args;
const line = new TextEncoder().encode(`${"x".repeat(Number(byteLength) - 1)}\n`);
const sink = new NdjsonSink({ path });
const failures: unknown[] = [];
await sink.open(null);
for (let i = 0; i < Number(count) && failures.length === 0; i++) {
  try {
    await sink.write({ bytes: line, byteLength: line.length, count: 1 });
  } catch (error) {
    failures.push(error);
  }
}
// What failed stays failed: nothing may be taken for durable behind a torn line.
let position: unknown = null;
try {
  position = await sink.flush();
} catch (error) {
  failures.push(error);
}
sink.close();
const [first, second] = failures;
const said = {
  position,
  message: first instanceof Error ? first.message : null,
  isClosedPipe: first instanceof ClosedPipeError,
  hasCause: first instanceof Error && first.cause instanceof Error,
  staysFailed: first === second,
};
await Deno.stderr.write(new TextEncoder().encode(JSON.stringify(said)));
