/**
 * Prometheus's own judge of metrics and rules, where it is installed (Debian's package `prometheus`).
 *
 * @module
 */
import { inDirectory } from "./fencepost_process.ts";

const isThere = await hasPromtool();

async function hasPromtool(): Promise<boolean> {
  try {
    const quiet = { stdin: "null", stdout: "null", stderr: "null" } as const;
    return (await new Deno.Command("promtool", { args: ["--version"], ...quiet }).output()).success;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return false;
  }
}

/** Defines a test that needs it, with a directory of its own; where it is not there, the test's name says so. */
export function promtoolTest(name: string, fn: (directory: string) => Promise<void>): void {
  Deno.test({
    name: isThere ? name : `${name} (SKIPPED: no promtool, apt install prometheus)`,
    ignore: !isThere,
    fn: async () => await inDirectory(fn),
  });
}

/** Runs it; what it said, and whether it was content. */
export async function promtool(
  args: readonly string[],
  input = "",
): Promise<{ readonly isContent: boolean; readonly said: string }> {
  const child = new Deno.Command("promtool", {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const output = child.output();
  const writer = child.stdin.getWriter();
  await writer.write(new TextEncoder().encode(input));
  await writer.close();
  const { success, stdout, stderr } = await output;
  return { isContent: success, said: new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr) };
}
