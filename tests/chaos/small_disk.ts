/**
 * A disk that is soon full: a tmpfs of some megabytes, and a file that takes what is left of it.
 *
 * @module
 */
import { join } from "node:path";
import { succeeds } from "../support/succeeds.ts";

/** See the module's header. */
export class SmallDisk {
  readonly path: string;
  readonly #filler: string;

  private constructor(path: string) {
    this.path = path;
    this.#filler = join(path, "filler");
  }

  /** Mounts one at a path; null where that isn't allowed. */
  static async mount(path: string, megabytes: number): Promise<SmallDisk | null> {
    await Deno.mkdir(path);
    const options = ["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0777`];
    const mounted = await succeeds("mount", [...options, "tmpfs", path]);
    return mounted ? new SmallDisk(path) : null;
  }

  /** Leaves so many bytes. */
  async fill(leaving: number): Promise<void> {
    const { stdout } = await new Deno.Command("stat", { args: ["-f", "-c", "%a %S", this.path] }).output();
    const [blocks = 0, blockBytes = 0] = new TextDecoder().decode(stdout).split(" ").map(Number);
    const bytes = Math.max(0, blocks * blockBytes - leaving);
    try {
      await Deno.writeFile(this.#filler, new Uint8Array(bytes));
    } catch (error) {
      // The process has taken some of it meanwhile: then it is full to the last byte.
      if (!(error instanceof Error && error.message.startsWith("No space left"))) throw error;
    }
  }

  /** Gives all of it back. */
  async free(): Promise<void> {
    await Deno.remove(this.#filler);
  }

  /** The files on it are gone. */
  async unmount(): Promise<void> {
    // At once also where a process that something went wrong with still has files open.
    await succeeds("umount", ["-l", this.path]);
  }
}
