/**
 * Runs something when all tests of a file have run, on versions of Deno without the hook for it as well.
 *
 * @module
 */

/** What stops what a file's tests share. Where Deno has no hooks, it is begun as the file is left, and not waited for. */
export function afterAll(stop: () => Promise<void>): void {
  const hooks = Deno.test as unknown as { readonly afterAll?: (run: () => Promise<void>) => void };
  if (hooks.afterAll !== undefined) hooks.afterAll(stop);
  else globalThis.addEventListener("unload", () => void stop());
}
