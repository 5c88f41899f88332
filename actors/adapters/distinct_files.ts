/**
 * Refuses a file that is to be read and written, or written twice, whatever paths lead to it.
 *
 * `--input day.ndjson --output ./day.ndjson` would add triggers to the records and read them as records; an output in the
 * place of the state's database would ruin it. The configuration compares paths as text, before anything is touched; links,
 * detours and redirections only the system knows.
 *
 * Two files are one where device and inode are the same; those that are not there yet, where the directory and the name are.
 * A pipe or a device may be given as often as anyone likes.
 *
 * @module
 */
import { fstatSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { configError, showValue } from "../../lib/config_fields.ts";

/** A path and what it is given as. */
export interface NamedFile {
  /** The key of the configuration; that of several files, of the state's. */
  readonly key: string;
  /** `-` for a standard stream. */
  readonly path: string;
  /** The standard stream that `-` means: 0 or 1. */
  readonly descriptor?: 0 | 1;
}

/**
 * Looks whether all of them are different files.
 *
 * @throws {ConfigError} where two are one: it names both keys
 */
export async function refuseSameFile(files: readonly NamedFile[]): Promise<void> {
  const seen = new Map<string, string>();
  for (const file of files) {
    const identity = await identify(file);
    if (identity === null) continue;
    const other = seen.get(identity);
    if (other !== undefined) {
      throw configError(file.key, `must not be the same file as ${other}`, showValue(file.path));
    }
    seen.set(identity, file.key);
  }
}

/** Whether two paths lead to the same file, links of either kind too. One that is not there is no other's. */
export async function isSameFile(one: string, other: string): Promise<boolean> {
  if (one === "-" || other === "-") return false;
  try {
    return await inodeOf(one, await Deno.stat(one)) === await inodeOf(other, await Deno.stat(other));
  } catch {
    return false;
  }
}

/** What only the same file has; null of what may be given twice. */
async function identify({ path, descriptor }: NamedFile): Promise<string | null> {
  try {
    if (path === "-") {
      const stat = fstatSync(descriptor ?? 0);
      return stat.isFile() ? `${stat.dev}:${stat.ino}` : null;
    }
    const info = await Deno.stat(path);
    return info.isFile ? await inodeOf(path, info) : null;
  } catch {
    // What else is wrong with it is said by whoever opens it.
    return path === "-" ? null : join(await realDirectory(dirname(resolve(path))), basename(path));
  }
}

/** A directory without links, so far as it is there. */
async function realDirectory(path: string): Promise<string> {
  try {
    return await Deno.realPath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realDirectory(parent), basename(path));
  }
}

/** Device and inode; where the system has none, the path without links. */
async function inodeOf(path: string, { dev, ino }: Deno.FileInfo): Promise<string> {
  return ino === null ? await Deno.realPath(path) : `${dev}:${ino}`;
}
