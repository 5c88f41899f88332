/**
 * The floor of everything that takes NDJSON: reads a file's lines and parses them, and does nothing with them.
 *
 * As fast as it can be done with `JSON.parse`: whole blocks are decoded at once, since `TextDecoderStream` and
 * `node:readline` take one and a half to twice as long.
 *
 * @module
 */

const READ_BYTES = 1 << 20;
const LINE_END = 0x0a;

/** Parses a file's lines; returns how many there are, and a sum that keeps the parsing from being optimised away. */
async function parseLines(path: string): Promise<readonly [number, number]> {
  using file = await Deno.open(path);
  const room = new Uint8Array(READ_BYTES);
  const decoder = new TextDecoder();
  let rest: Uint8Array = new Uint8Array(0);
  let lines = 0;
  let sum = 0;
  for (let read = await file.read(room); read !== null; read = await file.read(room)) {
    const bytes = new Uint8Array(rest.length + read);
    bytes.set(rest);
    bytes.set(room.subarray(0, read), rest.length);
    const end = bytes.lastIndexOf(LINE_END) + 1;
    rest = bytes.slice(end);
    for (const line of decoder.decode(bytes.subarray(0, end)).split("\n")) {
      if (line === "") continue;
      const record = JSON.parse(line) as { readonly kind: string };
      sum += record.kind.length;
      lines++;
    }
  }
  return [lines, sum];
}

const counted = await parseLines(Deno.args[0] as string);
Deno.stdout.writeSync(new TextEncoder().encode(JSON.stringify(counted) + "\n"));
