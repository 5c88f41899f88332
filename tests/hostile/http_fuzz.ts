/**
 * Hostile requests against a real service: it must not crash, leak, hang, or take what it should not.
 *
 * ```
 *   deno task fuzz:http --requests 100000 --seed 1
 * ```
 *
 * Among them a good request goes in again and again: it must be answered, and what is told in the end must be what these
 * good ones said, and nothing else.
 *
 * @module
 */
import { join } from "node:path";
import { residentMiBOf } from "../../bench/engine/processes.ts";
import { linesOf } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { randomFrom } from "../support/random.ts";
import { hostileRequest } from "./hostile_request.ts";

/** Requests at the same time. */
const CONNECTIONS = 32;
/** A good one comes after so many. */
const GOOD_ONE_IN = 500;
const TOKEN = "a-token-for-the-fuzzer-only";
/** How long an answer may take, ms: longer than the service gives a request. */
const ANSWER_MS = 30_000;

/** What came of it. */
export interface FuzzResult {
  readonly requests: number;
  /** How often each status was the answer; 0 for none, the connection having been closed. */
  readonly statuses: Readonly<Record<number, number>>;
  /** Everything that should not have been. */
  readonly faults: readonly string[];
  /** Resident memory after a fifth of the requests, and at the end, MiB. */
  readonly memory: readonly [early: number, late: number];
}

/** Runs it in a directory of its own. */
export async function fuzzHttp(
  directory: string,
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<FuzzResult> {
  const state = join(directory, "state");
  const tokens = JSON.stringify([{ name: "fuzzer", scopes: ["ingest"], env: "FUZZ_TOKEN" }]);
  const service = await RunningService.start([
    ...["--state", state, "--set", `http.tokens=${tokens}`, "--set", "http.body_bytes_max=65536"],
    ...[
      "--set",
      "http.bodies_bytes_max=1048576",
      "--set",
      "http.request_timeout=2s",
      "--set",
      "dwell.rules=[]",
    ],
  ], { FUZZ_TOKEN: TOKEN });
  const port = Number(new URL(service.url).port);
  const random = randomFrom(seed);
  const statuses: Record<number, number> = {};
  const faults: string[] = [];
  let sent = 0;
  let good = 0;
  let early = NaN;
  const sendGood = async (): Promise<void> => {
    const number = good++;
    const record = { device_id: `good-${number}`, fence_id: "f", kind: "ENTER", event_time_ms: Date.now() };
    const answer = await service.send([JSON.stringify(record)], { authorization: `Bearer ${TOKEN}` });
    if (answer.outcomes?.[0] !== "accepted") faults.push(`a good request got ${JSON.stringify(answer)}`);
  };
  const worker = async (): Promise<void> => {
    while (sent < requests) {
      const nth = ++sent;
      if (nth % GOOD_ONE_IN === 0) await sendGood();
      if (nth === Math.floor(requests / 5)) early = await residentMiBOf(service.started.child.pid);
      const { kind, pieces, hangs } = hostileRequest(random, TOKEN);
      const status = await exchange(port, pieces, hangs);
      statuses[status] = (statuses[status] ?? 0) + 1;
      if (status >= 500 && status !== 503) faults.push(`${kind} was answered with ${status}`);
      if (status === -1) faults.push(`${kind} was never answered, nor cut off`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  await sendGood();
  const late = await residentMiBOf(service.started.child.pid);
  const { status, stderr } = await service.stop();
  if (status !== 0) faults.push(`the service ended with ${status}`);
  if (/A request failed/.test(stderr)) {
    faults.push(stderr.split("\n").find((line) => /A request failed/.test(line)) ?? "");
  }
  if (stderr.includes(TOKEN)) faults.push("the token is in the log");
  const told = (await linesOf(join(state, "triggers.ndjson"))).map((line) =>
    (JSON.parse(line) as { device_id: string }).device_id
  );
  const isGood = (device: string): boolean => device.startsWith("good-");
  // A record that the fuzzer made may be well-formed by chance; one that it sent without a right to may not be told.
  const goodTold = told.filter(isGood);
  if (goodTold.length !== good || new Set(goodTold).size !== good) {
    faults.push(`${good} were good, ${goodTold.length} told`);
  }
  return { requests: sent, statuses, faults, memory: [early, late] };
}

/** Sends, and returns the status of the answer: 0 for none, −1 where the connection stays as it is. */
async function exchange(port: number, pieces: readonly Uint8Array[], hangs: boolean): Promise<number> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port });
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    const late = new Promise<"late">((resolve) => timer = setTimeout(() => resolve("late"), ANSWER_MS));
    const answer = (async () => {
      for (const piece of pieces) {
        for (let at = 0; at < piece.length;) at += await connection.write(piece.subarray(at));
      }
      if (!hangs) await connection.closeWrite();
      const buffer = new Uint8Array(256);
      const count = await connection.read(buffer);
      if (count === null) return 0;
      return Number(
        /^HTTP\/1\.\d (\d{3})/.exec(new TextDecoder().decode(buffer.subarray(0, count)))?.[1] ?? 0,
      );
    })().catch(() => 0);
    const result = await Promise.race([answer, late]);
    return result === "late" ? -1 : result;
  } finally {
    clearTimeout(timer);
    try {
      connection.close();
    } catch {
      // The other end was faster.
    }
  }
}

if (import.meta.main) {
  const given = (name: string, fallback: number): number => {
    const at = Deno.args.indexOf(`--${name}`);
    return at < 0 ? fallback : Number(Deno.args[at + 1]);
  };
  const directory = await Deno.makeTempDir({ prefix: "fencepost-fuzz-" });
  const options = { requests: given("requests", 100_000), seed: given("seed", 1) };
  const write = (text: string): unknown => Deno.stdout.writeSync(new TextEncoder().encode(text));
  write(`seed ${options.seed}, ${options.requests} requests\n`);
  const { requests, statuses, faults, memory } = await fuzzHttp(directory, options);
  write(`${requests} requests, by status: ${JSON.stringify(statuses)}\n`);
  write(`resident: ${memory[0].toFixed(0)} MiB after a fifth, ${memory[1].toFixed(0)} MiB at the end\n`);
  write(
    faults.length === 0 ? "no faults\n" : `${faults.length} faults:\n${faults.slice(0, 20).join("\n")}\n`,
  );
  await Deno.remove(directory, { recursive: true });
  Deno.exit(faults.length === 0 ? 0 : 1);
}
