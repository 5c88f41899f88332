/**
 * Stdin where it is a regular file (`fencepost run < records.ndjson`): read by position, so that it can be gone on with.
 *
 * `Deno.stdin` can't seek. Opening `/dev/stdin` again would give a file that can, but that takes *all* permissions, since
 * below `/dev` stand other processes' files too; the descriptor that is open already takes none. So it is `node:fs`,
 * which reads a descriptor at a position.
 *
 * @module
 */
import { fstatSync, read } from "node:fs";

const STDIN = 0;

/** What is needed of a file that is read from somewhere in it: of `Deno.FsFile`, or of stdin. */
export interface SeekableFile {
  /** Reads on; null at the end. */
  read(room: Uint8Array<ArrayBuffer>): Promise<number | null>;
  /** Goes to an offset in bytes from the start. */
  seek(offset: number, whence: Deno.SeekMode.Start): Promise<number>;
  stat(): Promise<Pick<Deno.FileInfo, "isFile" | "size" | "dev" | "ino">>;
  close(): void;
}

/** Whether stdin is a regular file; false too where it is closed: reading says so. */
export function isStdinFile(): boolean {
  try {
    return fstatSync(STDIN).isFile();
  } catch {
    return false;
  }
}

/** See the module's header. Begins at the file's start, wherever the descriptor stands. */
export class StdinFile implements SeekableFile {
  #offset = 0;

  read(room: Uint8Array<ArrayBuffer>): Promise<number | null> {
    return new Promise((resolve, reject) =>
      read(STDIN, room, 0, room.length, this.#offset, (error, byteLength) => {
        if (error !== null) return reject(error);
        this.#offset += byteLength;
        resolve(byteLength === 0 ? null : byteLength);
      })
    );
  }

  seek(offset: number): Promise<number> {
    this.#offset = offset;
    return Promise.resolve(offset);
  }

  stat(): ReturnType<SeekableFile["stat"]> {
    const stat = fstatSync(STDIN);
    return Promise.resolve({ isFile: stat.isFile(), size: stat.size, dev: stat.dev, ino: stat.ino });
  }

  /** Leaves it open: it is the process's. */
  close(): void {}
}
