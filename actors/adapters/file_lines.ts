/**
 * Whole lines in a part of a file: where the last one ends, and what they say.
 *
 * @module
 */

const LINE_FEED = 0x0a;
const READ_BYTES = 65_536;

/** A part of a file, in bytes. */
export interface FilePart {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds the end of the last whole line in a part of a file, from behind.
 *
 * @returns the offset behind its `\n`; the part's start where there is no line end in it
 */
export async function endOfLastLine(file: Deno.FsFile, part: FilePart): Promise<number> {
  for (let end = part.end; end > part.start;) {
    const start = Math.max(part.start, end - READ_BYTES);
    const bytes = new Uint8Array(end - start);
    await readFully(file, { bytes, offset: start });
    const at = bytes.lastIndexOf(LINE_FEED);
    if (at !== -1) return start + at + 1;
    end = start;
  }
  return part.start;
}

/** The lines of a part of a file that ends with a whole one, without their `\n`. */
export async function* readLines(
  { path, start, end }: FilePart & { readonly path: string },
): AsyncGenerator<Uint8Array> {
  using file = await Deno.open(path, { read: true });
  let carry = new Uint8Array(0);
  for (let offset = start; offset < end;) {
    const bytes = new Uint8Array(carry.length + Math.min(READ_BYTES, end - offset));
    bytes.set(carry);
    await readFully(file, { bytes: bytes.subarray(carry.length), offset });
    offset += bytes.length - carry.length;
    let from = 0;
    for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, from)) {
      yield bytes.subarray(from, at);
      from = at + 1;
    }
    carry = bytes.subarray(from);
  }
}

async function readFully(
  file: Deno.FsFile,
  to: { readonly bytes: Uint8Array; readonly offset: number },
): Promise<void> {
  await file.seek(to.offset, Deno.SeekMode.Start);
  for (let filled = 0; filled < to.bytes.length;) {
    const byteLength = await file.read(to.bytes.subarray(filled));
    if (byteLength === null) throw new Error("the file became shorter while it was read");
    filled += byteLength;
  }
}
