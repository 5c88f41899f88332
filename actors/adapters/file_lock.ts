/**
 * The lock of an open file, exclusive and between all that ask for it, in this process too. The system drops it as the file
 * is closed, or the process ends, however that happens.
 *
 * @module
 */

/** How long a lock may take to be had where it can't be tried for. */
const WAIT_MS = 500;

/**
 * Takes an open file's lock, unless somebody holds it. Deno 2.4 can only wait for one: there, a lock that was not had in
 * time is still being waited for after this returned false, in a thread that it keeps until then.
 */
export async function tryLock(file: Deno.FsFile): Promise<boolean> {
  const newer: Deno.FsFile & { tryLock?: (exclusive: boolean) => Promise<boolean> } = file;
  if (newer.tryLock !== undefined) return await newer.tryLock(true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), WAIT_MS);
  });
  try {
    return await Promise.race([file.lock(true).then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
