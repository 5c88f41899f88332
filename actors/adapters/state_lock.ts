/**
 * One process a state directory.
 *
 * Two processes that write one Deno KV file stay correct, but more than half of their operations fail with `database is
 * locked`. So the second is refused at once, by a lock on a file of its own. The system drops the lock with the process,
 * however that ends; the file stays, and names the last holder.
 *
 * Where a file system has no locks, or somebody deletes the file, the checkpoint's fence still holds.
 *
 * @module
 */
import { join } from "node:path";
import { UnavailableError } from "../ports.ts";
import { tryLock } from "./file_lock.ts";

/** Another process uses the directory, and may be done with it some time. */
export class StateInUseError extends UnavailableError {
  override readonly name = "StateInUseError";
}

/** A held lock; closing it lets it go. */
export class StateLock {
  readonly #file: Deno.FsFile;

  private constructor(file: Deno.FsFile) {
    this.#file = file;
  }

  /**
   * Takes the lock of a directory, which must exist.
   *
   * @throws {StateInUseError} where another process holds it
   */
  static async take(directory: string): Promise<StateLock> {
    const file = await Deno.open(join(directory, "lock"), { read: true, write: true, create: true });
    try {
      if (!await tryLock(file)) throw await heldBy(directory);
      await file.truncate(0);
      await file.write(new TextEncoder().encode(`${Deno.pid}\n`));
      return new StateLock(file);
    } catch (error) {
      file.close();
      throw error;
    }
  }

  close(): void {
    this.#file.close();
  }
}

async function heldBy(directory: string): Promise<StateInUseError> {
  // Opened once more, since operations on the other would queue up behind the lock that is waited for.
  const pid = (await Deno.readTextFile(join(directory, "lock"))).trim();
  const holder = /^\d+$/.test(pid) ? `process ${pid}` : "another process";
  return new StateInUseError(
    `Cannot use the state in ${directory}: ${holder} is using it. Stop that one first, or give this one another ` +
      `directory with --state`,
  );
}
