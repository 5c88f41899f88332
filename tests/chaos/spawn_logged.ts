/**
 * Starts a process whose stderr goes to the end of a log.
 *
 * @module
 */

/** The shell becomes the process, so that signals meet that one. */
export function spawnLogged(
  command: readonly string[],
  log: string,
  stdout: "null" | "piped" = "null",
): Deno.ChildProcess {
  return new Deno.Command("sh", {
    args: ["-c", 'exec "$@" 2>>"$0"', log, ...command],
    ...{ stdin: "null", stdout, stderr: "null" },
  }).spawn();
}
