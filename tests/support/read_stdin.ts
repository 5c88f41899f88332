/** A process that reads its stdin as records and says what it found: stdin can't be had twice in one process. */
import { NdjsonSource } from "../../actors/adapters/ndjson_source.ts";
import type { Json } from "../../lib/json.ts";

const source = new NdjsonSource({ path: "-", live: false, fromStart: false, atEof: "flush" });
await source.open(null);
const records: string[] = [];
let position: Json = null;
for (;;) {
  const batch = await source.read(new AbortController().signal);
  if (batch === null) break;
  for (let i = 0; i < batch.count; i++) {
    records.push(new TextDecoder().decode(batch.bytes.subarray(batch.starts[i], batch.ends[i])));
  }
  position = batch.position;
}
source.close();
await Deno.stdout.write(
  new TextEncoder().encode(JSON.stringify({ rereadable: source.rereadable, records, position })),
);
