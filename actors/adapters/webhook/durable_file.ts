/**
 * A small file that is replaced as a whole: after a crash the old one is there or the new one.
 *
 * @module
 */
import { dirname } from "node:path";

/** Writes the file and makes it durable, its name too. */
export async function writeDurably(path: string, bytes: Uint8Array): Promise<void> {
  const temporary = `${path}.new`;
  {
    using file = await Deno.open(temporary, { write: true, create: true, truncate: true });
    for (let written = 0; written < bytes.length;) written += await file.write(bytes.subarray(written));
    await file.sync();
  }
  await Deno.rename(temporary, path);
  if (Deno.build.os === "windows") return;
  using directory = await Deno.open(dirname(path), { read: true });
  await directory.sync();
}
