/**
 * Processes that are measured: the CPU time that one took, or has taken so far.
 *
 * A process can't ask for its children's CPU time here, so a shell does: `times` is in every POSIX shell, and counts all
 * threads of what it has run, user and system. It reads the same clock for what is measured and for its reference.
 *
 * @module
 */
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** Fencepost's command line. */
const MAIN = fileURLToPath(new URL("../../actors/main.ts", import.meta.url));

/** What a process took. */
export interface Took {
  /** User and system, all threads, seconds. */
  readonly cpuSeconds: number;
  readonly wallSeconds: number;
  /** The most that was resident until shortly before its end, MiB; NaN of one that took no longer than a look. */
  readonly peakMiB: number;
  readonly stderr: string;
}

/** `deno run` of Fencepost, the executable first. `--no-check`, as a compiled binary would not check types either. */
export function fencepost(args: readonly string[]): string[] {
  return deno(MAIN, args, []);
}

/**
 * `deno run` of a script, by its path from this directory. It may ask the C library for the time.
 *
 * @param permissions what else it may, as flags
 */
export function script(name: string, args: readonly string[], permissions: readonly string[] = []): string[] {
  return deno(fileURLToPath(new URL(name, import.meta.url)), args, ["--allow-ffi", ...permissions]);
}

/**
 * Runs a command to its end.
 *
 * @throws {Error} where it fails
 */
export async function measureProcess(command: readonly string[]): Promise<Took> {
  const startedMs = performance.now();
  // Its own stdout is out of the way of what `times` prints.
  const shell = new Deno.Command("sh", {
    args: ["-c", '"$@" >/dev/null; status=$?; times; exit $status', "sh", ...command],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  const ended = new AbortController();
  const looking = peakMiBOfChild(shell.pid, ended.signal);
  const { code, stdout, stderr } = await shell.output();
  const wallSeconds = (performance.now() - startedMs) / 1000;
  ended.abort();
  const peakMiB = await looking;
  const said = decoder.decode(stderr);
  if (code !== 0) throw new Error(`Cannot measure ${command.join(" ")}: it ended with ${code}: ${said}`);
  // The shell's own line, then that of what it has run: 0m1.234s 0m0.120s.
  const line = decoder.decode(stdout).trim().split("\n")[1] ?? "";
  const cpuSeconds = line.split(/\s+/).map(parseShellTime).reduce((sum, seconds) => sum + seconds, 0);
  return { cpuSeconds, wallSeconds, peakMiB, stderr: said };
}

/**
 * Runs a script that tells what it measured as JSON on stdout.
 *
 * @throws {Error} where it fails
 */
export async function askProcess<T>(command: readonly string[]): Promise<T> {
  const [executable, ...args] = command as [string, ...string[]];
  const { success, stdout } = await new Deno.Command(executable, { args, stderr: "inherit" }).output();
  if (!success) throw new Error(`Cannot measure: ${command.join(" ")} failed`);
  return JSON.parse(decoder.decode(stdout)) as T;
}

/** CPU time of a running process so far, all threads, seconds. Linux only, as it reads `/proc`, and to the 10 ms. */
export async function cpuSecondsOf(pid: number): Promise<number> {
  const stat = await read(`/proc/${pid}/stat`);
  // The name in parentheses may have blanks; utime and stime are the 12th and 13th behind it.
  const fields = stat.split(") ").at(-1)?.split(" ") ?? [];
  const ticks = Number(fields[11]) + Number(fields[12]);
  if (Number.isNaN(ticks)) throw new Error(`Cannot read the CPU time of process ${pid}`);
  return ticks / TICKS_PER_SECOND;
}

/** Resident memory of a running process, MiB. Linux only, as it reads `/proc`. */
export async function residentMiBOf(pid: number): Promise<number> {
  return await memoryMiBOf(pid, "VmRSS");
}

/** Between two looks at a process's memory. Its peak is the kernel's, so that what is between them is not missed. */
const LOOK_MS = 200;

/** The highest resident memory of the only child of a shell, looked at until the signal is aborted. */
async function peakMiBOfChild(shell: number, ended: AbortSignal): Promise<number> {
  let peakMiB = NaN;
  while (!ended.aborted) {
    // Not there yet, or no more: nothing is read of it then.
    const child = await read(`/proc/${shell}/task/${shell}/children`);
    const lookedMiB = await memoryMiBOf(Number(child), "VmHWM");
    if (!Number.isNaN(lookedMiB)) peakMiB = lookedMiB;
    await delay(LOOK_MS, undefined, { signal: ended }).catch(() => {});
  }
  return peakMiB;
}

async function memoryMiBOf(pid: number, what: "VmRSS" | "VmHWM"): Promise<number> {
  const status = await read(`/proc/${pid}/status`);
  return Number(new RegExp(`${what}:\\s+(\\d+)`).exec(status)?.[1] ?? NaN) / 1024;
}

/** What the kernel tells of a process; by `cat`, since Deno lets nobody read /proc without all permissions. */
async function read(path: string): Promise<string> {
  const { stdout } = await new Deno.Command("cat", { args: [path], stderr: "null" }).output();
  return decoder.decode(stdout);
}

/** Bytes that a running process has had written to disks: none where a file system is in memory. Linux only. */
export async function diskBytesOf(pid: number): Promise<number> {
  const { stdout } = await new Deno.Command("cat", { args: [`/proc/${pid}/io`] }).output();
  return Number(/^write_bytes:\s+(\d+)/m.exec(decoder.decode(stdout))?.[1] ?? NaN);
}

/** `sysconf(_SC_CLK_TCK)`: 100 on every Linux that Deno runs on. */
const TICKS_PER_SECOND = 100;

const decoder = new TextDecoder();

function deno(path: string, args: readonly string[], more: readonly string[]): string[] {
  const permissions = ["--allow-read", "--allow-write", ...more];
  return [Deno.execPath(), "run", "--quiet", "--no-check", "--no-prompt", ...permissions, path, ...args];
}

function parseShellTime(text: string): number {
  const [minutes = NaN, seconds = NaN] = text.replace("s", "").split("m").map(Number);
  return minutes * 60 + seconds;
}
