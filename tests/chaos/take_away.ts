/**
 * Takes the right to write away, in a way that has an effect on whoever runs this: by its mode, or, since that is nothing
 * to root, by making it immutable, which on ext4 and XFS holds for what is open, too.
 *
 * @module
 */
import { succeeds } from "../support/succeeds.ts";

/** What was taken away. */
export interface Taken {
  giveBack(): Promise<void>;
}

/** Whether it can be done where these files are. */
export async function canTakeAway(directory: string): Promise<boolean> {
  const path = await Deno.makeTempFile({ dir: directory });
  try {
    const taken = await takeAway(path);
    if (taken === null) return false;
    try {
      await Deno.writeTextFile(path, "x");
      return false;
    } catch (error) {
      if (!(error instanceof Deno.errors.PermissionDenied)) throw error;
      return true;
    } finally {
      await taken.giveBack();
    }
  } finally {
    await Deno.remove(path);
  }
}

/** Takes a file or a directory away; null where that can't be done, or there is none. */
export async function takeAway(path: string): Promise<Taken | null> {
  // Deno.uid() takes a permission that the tests don't have.
  const isRoot = await succeeds("sh", ["-c", '[ "$(id -u)" = 0 ]']);
  if (!isRoot) {
    const { mode } = await Deno.stat(path);
    await Deno.chmod(path, 0o500);
    return { giveBack: () => Deno.chmod(path, mode ?? 0o700) };
  }
  if (!await succeeds("chattr", ["+i", path])) return null;
  return {
    giveBack: async () => {
      if (!await succeeds("chattr", ["-i", path])) {
        throw new Error(`Cannot give ${path} back: chattr -i ${path}`);
      }
    },
  };
}
