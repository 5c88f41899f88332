/**
 * The service over HTTP, on loopback, with the clients on the same machine.
 *
 * ```
 *   deno task bench:http
 *   deno task bench:http --only overload --minutes 5
 * ```
 *
 * Part `throughput`: records a second by batches of 500 as fast as 16 clients get their answers, each answer after its
 * records were durable. Part `overload`: twice that rate for some minutes. What was accepted must be told, each id once;
 * what was refused must have been answered with 429; the answers of accepted requests have a p99; memory is flat, that is
 * no higher at the end than when the window of ids, kept short for this, has filled. Each round has a process of its own.
 *
 * @module
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Report } from "./engine/report.ts";
import { cpuSecondsOf, residentMiBOf } from "./engine/processes.ts";
import { idOfCrossings, IdSum } from "./http/crossings.ts";
import { HttpLoad, percentile, type Tally } from "./http/http_load.ts";

const PARTS = ["throughput", "overload"] as const;
const BATCH = 500;
const CLIENTS = 16;
const OUTSTANDING_MAX = 256;
const TARGET_PER_SECOND = 100_000;
const TARGET_P99_MS = 250;

const MAIN = fileURLToPath(new URL("../actors/main.ts", import.meta.url));

interface Service {
  readonly url: string;
  readonly pid: number;
  /** Stops it, and returns what it has told. */
  stop(): Promise<{ told: IdSum; twice: number; stderr: string }>;
}

async function startService(): Promise<Service> {
  const directory = await Deno.makeTempDir({ prefix: "fencepost-bench-" });
  const child = new Deno.Command(Deno.execPath(), {
    args: [
      ...[
        "run",
        "--quiet",
        "--no-check",
        "--no-prompt",
        "--allow-read",
        "--allow-write",
        "--allow-net",
        "--allow-env",
      ],
      ...[MAIN, "serve", "--listen", "127.0.0.1:0", "--state", join(directory, "state")],
      ...["--set", "identity.ttl=20s", "--set", 'dwell.rules=[{"fence":"*","after":["10m"]}]'],
    ],
    stderr: "piped",
    stdout: "null",
  }).spawn();
  let stderr = "";
  const listening = Promise.withResolvers<string>();
  const reading = (async () => {
    for await (const text of child.stderr.pipeThrough(new TextDecoderStream())) {
      stderr += text;
      const found = /Listening on (\S+)/.exec(stderr);
      if (found !== null) listening.resolve(found[1] as string);
    }
    listening.reject(new Error(`Cannot measure: the service ended: ${stderr}`));
  })();
  const url = await listening.promise;
  while (!(await fetch(`${url}/readyz`)).ok) await new Promise((resolve) => setTimeout(resolve, 50));
  return {
    url,
    pid: child.pid,
    stop: async () => {
      child.kill("SIGTERM");
      await child.status;
      await reading;
      const told = new IdSum();
      const seen = new Set<string>();
      let twice = 0;
      const file = await Deno.open(join(directory, "state", "triggers.ndjson"));
      let rest = "";
      for await (const text of file.readable.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() as string;
        for (const line of lines) {
          const id = line.slice(7, 39);
          told.add(id);
          // A set of all would be gigabytes; copies come close to each other.
          if (seen.has(id)) twice++;
          seen.add(id);
          if (seen.size > 4_000_000) seen.clear();
        }
      }
      await Deno.remove(directory, { recursive: true });
      return { told, twice, stderr };
    },
  };
}

function perSecond(tally: Tally, seconds: number): number {
  return (tally.records.accepted as number) / seconds;
}

async function throughput(
  report: Report,
  idOf: Awaited<ReturnType<typeof idOfCrossings>>,
  rounds: number,
): Promise<number> {
  const rates: number[] = [];
  const cpus: number[] = [];
  const p99s: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const service = await startService();
    const load = new HttpLoad({ url: service.url, batch: BATCH, idOf });
    const warm = await load.closedLoop(CLIENTS, 3000);
    const before = await cpuSecondsOf(service.pid);
    const startedMs = performance.now();
    const tally = await load.closedLoop(CLIENTS, 10_000);
    const seconds = (performance.now() - startedMs) / 1000;
    const cpu = await cpuSecondsOf(service.pid) - before;
    rates.push(perSecond(tally, seconds));
    cpus.push(cpu / (tally.records.accepted as number) * 1e6);
    p99s.push(percentile(tally.latencies, 0.99));
    const { told, twice, stderr } = await service.stop();
    const accepted = warm.ids.count + tally.ids.count;
    if (told.count !== accepted || twice > 0) {
      report.note(`WRONG: ${accepted} accepted, ${told.count} told, ${twice} twice; ${stderr}`);
    }
    const others = Object.entries(tally.records).filter(([name, count]) => name !== "accepted" && count > 0);
    if (others.length > 0) {
      report.note(`also: ${others.map(([name, count]) => `${count} ${name}`).join(", ")}`);
    }
  }
  report.add({ part: "throughput", name: "records a second", unit: "1/s", rounds: rates });
  report.add({ part: "throughput", name: "CPU of the service", unit: "µs/record", rounds: cpus });
  report.add({ part: "throughput", name: "p99 of an answer", unit: "ms", rounds: p99s });
  report.note(`at least ${TARGET_PER_SECOND} a second are wanted`);
  return Math.max(...rates);
}

async function overload(
  report: Report,
  idOf: Awaited<ReturnType<typeof idOfCrossings>>,
  options: { perSecond: number; minutes: number },
): Promise<void> {
  const service = await startService();
  const load = new HttpLoad({ url: service.url, batch: BATCH, idOf });
  const memory: number[] = [];
  const looking = setInterval(() => residentMiBOf(service.pid).then((mib) => memory.push(mib)), 5000);
  const ms = options.minutes * 60_000;
  const tally = await load.openLoop(2 * options.perSecond, ms, OUTSTANDING_MAX);
  clearInterval(looking);
  const { told, twice, stderr } = await service.stop();
  const { accepted = 0, refused = 0, unknown = 0, suppressed = 0 } = tally.records;
  report.add({ part: "overload", name: "accepted", unit: "1/s", rounds: [accepted / (ms / 1000)] });
  report.add({ part: "overload", name: "refused", unit: "1/s", rounds: [refused / (ms / 1000)] });
  report.add({
    part: "overload",
    name: "p50 of an accepted request",
    unit: "ms",
    rounds: [percentile(tally.latencies, 0.5)],
  });
  report.add({
    part: "overload",
    name: "p99 of an accepted request",
    unit: "ms",
    rounds: [percentile(tally.latencies, 0.99)],
    target: TARGET_P99_MS,
  });
  const third = Math.floor(memory.length / 3);
  const settled = Math.max(...memory.slice(third, 2 * third));
  report.add({ part: "overload", name: "memory, middle third", unit: "MiB", rounds: [settled] });
  report.add({
    part: "overload",
    name: "memory, last third",
    unit: "MiB",
    rounds: [Math.max(...memory.slice(2 * third))],
  });
  report.note(
    `requests by status: ${
      JSON.stringify(tally.statuses)
    }, ${tally.unsent} not sent (${OUTSTANDING_MAX} at most)`,
  );
  const differ = told.toString() !== tally.ids.toString();
  report.note(
    differ || twice > 0 || tally.wrongStatus > 0 || unknown > 0 || suppressed > 0
      ? `WRONG: accepted ${tally.ids}, told ${told}, ${twice} twice, ${tally.wrongStatus} refused without 429, ` +
        `${unknown} unknown, ${suppressed} suppressed; ${stderr}`
      : `told is what was accepted: ${told}; every refused record had a 429`,
  );
}

if (import.meta.main) {
  const given = (name: string, fallback: string): string => {
    const at = Deno.args.indexOf(`--${name}`);
    return at < 0 ? fallback : Deno.args[at + 1] ?? fallback;
  };
  const only = given("only", "");
  if (only !== "" && !(PARTS as readonly string[]).includes(only)) {
    throw new Error(`--only must be one of ${PARTS.join(", ")}, got ${only}`);
  }
  const write = (text: string): void => {
    Deno.stdout.writeSync(new TextEncoder().encode(text));
  };
  const report = new Report(write);
  const idOf = await idOfCrossings();
  let rate = Number(given("rate", "0"));
  if (only !== "overload" || rate === 0) rate = await throughput(report, idOf, Number(given("rounds", "3")));
  if (only !== "throughput") {
    await overload(report, idOf, { perSecond: rate, minutes: Number(given("minutes", "1")) });
  }
}
