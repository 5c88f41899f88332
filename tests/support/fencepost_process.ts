/**
 * The real process, for tests of what it does with signals, files, pipes and exit statuses.
 *
 * It is `deno run` with the permissions of `deno task start`, or the executable that the environment's FENCEPOST_BIN names,
 * so that the same tests hold for what is shipped.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../actors/main.ts", import.meta.url));

/** What a process left behind. */
export interface Ended {
  readonly status: number;
  readonly signal: Deno.Signal | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How to start it. */
export interface StartOptions {
  /** Bytes for its stdin; none where not given. `"piped"` leaves it open, for the test to write to. */
  readonly input?: string | Uint8Array | "piped";
  /** Run by a shell, with `"$@"` as the command: for redirections, limits and other users. */
  readonly shell?: string;
  /** Where not the test's own. */
  readonly directory?: string;
  /** Deno's flags, where it needs others than a run over files. */
  readonly permissions?: readonly string[];
  /** Over that of the test. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Told all that it has written to stderr so far, each time there is more. */
  readonly onStderr?: (text: string) => void;
}

/** A process that was started. */
export interface Started {
  readonly child: Deno.ChildProcess;
  /** Resolves when it has ended. */
  readonly ended: Promise<Ended>;
}

/** What a run over files needs. */
const FILE_PERMISSIONS = ["--allow-read", "--allow-write"];

/** The command that starts Fencepost, the executable first. */
export function fencepostCommand(
  args: readonly string[],
  permissions: readonly string[] = FILE_PERMISSIONS,
): [string, ...string[]] {
  const executable = executableFromEnvironment();
  if (executable !== null) return [executable, ...args];
  const flags = ["run", "--quiet", "--no-prompt", ...permissions];
  return [Deno.execPath(), ...flags, MAIN, ...args];
}

/** Starts Fencepost with a command line. */
export function startFencepost(args: readonly string[], options: StartOptions = {}): Started {
  const [executable, ...rest] = options.shell === undefined
    ? fencepostCommand(args, options.permissions)
    : ["sh", "-c", options.shell, "fencepost", ...fencepostCommand(args, options.permissions)] as const;
  const child = new Deno.Command(executable, {
    args: rest,
    stdin: options.input === undefined ? "null" : "piped",
    stdout: "piped",
    stderr: "piped",
    ...(options.directory === undefined ? {} : { cwd: options.directory }),
    ...(options.environment === undefined ? {} : { env: options.environment }),
  }).spawn();
  const fed = options.input === undefined || options.input === "piped" ? null : feed(child, options.input);
  return { child, ended: endOf(child, fed, options.onStderr) };
}

/** Runs Fencepost to its end. */
export async function runFencepost(args: readonly string[], options: StartOptions = {}): Promise<Ended> {
  return await startFencepost(args, options).ended;
}

/** Kills a process without giving it a chance to tidy up, unless it has just ended by itself. */
export function killAtOnce(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGKILL");
  } catch (error) {
    // "Child process has already terminated": then its status says how.
    if (!(error instanceof TypeError)) throw error;
  }
}

/** Calls with a directory of its own, which is gone afterwards. */
export async function inDirectory<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-test-" });
  try {
    return await use(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

/** The paths of a run that keeps all in one directory, and the flags that say so. */
export class RunFiles {
  readonly input: string;
  readonly output: string;
  readonly state: string;
  readonly deadLetters: string;

  /** @param input where it is not in the directory */
  constructor(directory: string, input = join(directory, "input.ndjson")) {
    this.input = input;
    this.output = join(directory, "triggers.ndjson");
    this.state = join(directory, "state");
    this.deadLetters = join(directory, "dead-letters.ndjson");
  }

  /** `run` with all of them. */
  get args(): string[] {
    return ["run", "--input", this.input, "--output", this.output, ...this.kept];
  }

  /** The flags of what is neither input nor output. */
  get kept(): string[] {
    return ["--state", this.state, "--dead-letters", this.deadLetters];
  }
}

/** The lines of a file; none where there is none. */
export async function linesOf(path: string): Promise<string[]> {
  try {
    return (await Deno.readTextFile(path)).split("\n").filter((line) => line !== "");
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return [];
    throw error;
  }
}

/** Waits for something of another process; nothing but looking again and again tells of it. */
export async function until(holds: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let looks = 0; looks < 4000; looks++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`Waited in vain for ${what}`);
}

function executableFromEnvironment(): string | null {
  // Without the permission nobody has asked for another executable.
  const { state } = Deno.permissions.querySync({ name: "env", variable: "FENCEPOST_BIN" });
  return state === "granted" ? Deno.env.get("FENCEPOST_BIN") ?? null : null;
}

async function feed(child: Deno.ChildProcess, input: string | Uint8Array): Promise<void> {
  const writer = child.stdin.getWriter();
  const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
  try {
    await writer.write(bytes);
    await writer.close();
  } catch (error) {
    // It ended before it had read all: its status says why.
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

async function endOf(
  child: Deno.ChildProcess,
  fed: Promise<void> | null,
  onStderr: (text: string) => void = () => {},
): Promise<Ended> {
  const [status, stdout, stderr] = await Promise.all([
    child.status,
    new Response(child.stdout).text(),
    readText(child.stderr, onStderr),
    fed,
  ]);
  return { status: status.code, signal: status.signal, stdout, stderr };
}

async function readText(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  onText: (text: string) => void,
): Promise<string> {
  let text = "";
  for await (const piece of stream.pipeThrough(new TextDecoderStream())) {
    text += piece;
    onText(text);
  }
  return text;
}
