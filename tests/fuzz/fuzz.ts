/**
 * A million damaged inputs of all that is read back, and of what comes in: nothing may crash, hang, or be taken for what
 * it is not.
 *
 * ```sh
 * deno task fuzz                                    # a million, a minute or two
 * deno task fuzz --inputs 20000000 --seed 7         # as long as one likes
 * deno task fuzz --target checkpoint --seed 7 --step 4711   # that one again
 * ```
 *
 * | target | read by | what must hold |
 * |---|---|---|
 * | record | the decoder's two paths | they agree, and with the oracle's decoder |
 * | checkpoint | a restore | what is not what was written is refused |
 * | trigger | who reads tails back, the audit | none throws; a damaged line is no trigger |
 * | tails | the union of outputs | nothing is lost, nothing doubled |
 * | dead letter | a state after a crash, `dead-letters replay` | what is whole comes back the same |
 * | outbox, endpoint | the webhooks | as above |
 * | config | `run`, `--set`, `--print-config` | refused by name, or printed and read as the same |
 *
 * Each input has a seed of its own, so a fault is one step. One that hangs is told by its step after a minute.
 *
 * @module
 */
import type { FuzzFault, FuzzTarget } from "./fuzz_target.ts";
import type { FuzzAnswer, FuzzBeginning, FuzzSlice } from "./fuzz_worker.ts";
import { runTarget } from "./run_target.ts";
import { fuzzTargets } from "./targets.ts";

/** Steps that a worker takes at a time. */
const SLICE = 5_000;
/** Of the slowest step, on a busy machine, many times over. */
const HANG_MS = 60_000;
const LOOK_MS = 1_000;

/** What is asked for. */
interface Options {
  readonly inputs: number;
  readonly seed: number;
  readonly target: string | null;
  readonly step: number | null;
}

/** What came of a target. */
interface Sum {
  inputs: number;
  readonly outcomes: Map<string, number>;
}

function parseArguments(args: readonly string[]): Options {
  const names = fuzzTargets().map(({ name }) => name);
  const given = new Map<string, string>();
  for (let i = 0; i < args.length; i += 2) given.set(args[i] as string, args[i + 1] ?? "");
  const number = (flag: string, fallback: number | null): number | null => {
    const text = given.get(flag);
    given.delete(flag);
    if (text === undefined) return fallback;
    if (!/^\d{1,9}$/.test(text)) throw new RangeError(`${flag} must be a number, got ${text}`);
    return Number(text);
  };
  const options = {
    inputs: number("--inputs", 1_000_000) as number,
    seed: number("--seed", 1) as number,
    step: number("--step", null),
    target: given.get("--target") ?? null,
  };
  given.delete("--target");
  if (given.size > 0) throw new RangeError(`There is no ${[...given.keys()].join(", ")}`);
  if (options.target !== null && !names.includes(options.target)) {
    throw new RangeError(`--target must be one of ${names.join(", ")}`);
  }
  if (options.step !== null && options.target === null) throw new RangeError("--step needs a --target");
  return options;
}

/** What is to be done, large targets in slices, mixed so that no core waits for the last one. */
function slicesOf(targets: readonly FuzzTarget<never>[], { inputs, seed }: Options): FuzzSlice[] {
  const whole = targets.reduce((sum, { share }) => sum + share, 0);
  return targets.flatMap(({ name, share }) => {
    const steps = Math.ceil(inputs * share / whole);
    return Array.from({ length: Math.ceil(steps / SLICE) }, (_, i): FuzzSlice => ({
      ...{ target: name, seed, from: i * SLICE, until: Math.min(steps, (i + 1) * SLICE) },
    }));
  });
}

/** Does all slices, as many at once as there are cores. */
async function runAll(
  slices: FuzzSlice[],
  onResult: (answer: FuzzAnswer) => void,
): Promise<readonly FuzzFault[]> {
  const faults: FuzzFault[] = [];
  const lane = async (): Promise<void> => {
    using worker = new WatchedWorker();
    for (let slice = slices.shift(); slice !== undefined; slice = slices.shift()) {
      const answer = await worker.run(slice);
      if ("fault" in answer) {
        // It does not come back: the others finish what they have begun.
        slices.length = 0;
        faults.push(answer.fault);
        return;
      }
      faults.push(...answer.result.faults);
      onResult(answer);
    }
  };
  await Promise.all(Array.from({ length: navigator.hardwareConcurrency }, lane));
  return faults;
}

/** A worker, and who looks whether it moves. */
class WatchedWorker {
  readonly #at = new Int32Array(new SharedArrayBuffer(4));
  readonly #worker = new Worker(new URL("./fuzz_worker.ts", import.meta.url), { type: "module" });

  constructor() {
    this.#worker.postMessage({ at: this.#at } satisfies FuzzBeginning);
  }

  [Symbol.dispose](): void {
    this.#worker.terminate();
  }

  /** Does a slice, or says at which step it stands still or has ended. */
  async run(slice: FuzzSlice): Promise<FuzzAnswer | { readonly fault: FuzzFault }> {
    const { target, seed } = slice;
    let timer: ReturnType<typeof setInterval> | undefined;
    try {
      return await new Promise((resolve) => {
        const fail = (error: string): void => {
          const step = Atomics.load(this.#at, 0);
          resolve({ fault: { target, seed, step, input: "(look at it with --step)", error } });
        };
        let last = -1;
        let movedMs = performance.now();
        timer = setInterval(() => {
          const step = Atomics.load(this.#at, 0);
          if (step !== last) movedMs = performance.now();
          last = step;
          if (performance.now() - movedMs > HANG_MS) fail(`It hangs: no end after ${HANG_MS / 1000} s`);
        }, LOOK_MS);
        this.#worker.onmessage = ({ data }: MessageEvent<FuzzAnswer>): void => resolve(data);
        this.#worker.onerror = (event): void => {
          event.preventDefault();
          fail(`The worker ended: ${event.message}`);
        };
        this.#worker.postMessage(slice);
      });
    } finally {
      clearInterval(timer);
    }
  }
}

function say(text: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${text}\n`));
}

function sayFault({ target, seed, step, input, error }: FuzzFault): void {
  say(`\nFAULT: deno task fuzz --target "${target}" --seed ${seed} --step ${step}\n  ${input}\n  ${error}`);
}

async function main(): Promise<number> {
  let options: Options;
  try {
    options = parseArguments(Deno.args);
  } catch (error) {
    say((error as Error).message);
    return 2;
  }
  const { seed, step, target } = options;
  const targets = fuzzTargets().filter(({ name }) => target === null || name === target);
  say(`seed ${seed}`);
  if (step !== null) {
    const { faults, outcomes } = runTarget(targets[0] as FuzzTarget<never>, {
      seed,
      from: step,
      until: step + 1,
    });
    faults.forEach(sayFault);
    if (faults.length === 0) say(`step ${step}: ${[...outcomes.keys()].join()}`);
    return faults.length === 0 ? 0 : 1;
  }
  const sums = new Map(targets.map(({ name }): [string, Sum] => [name, { inputs: 0, outcomes: new Map() }]));
  const startedMs = performance.now();
  const faults = await runAll(slicesOf(targets, options), ({ slice, result }) => {
    const sum = sums.get(slice.target) as Sum;
    sum.inputs += result.inputs;
    for (const [name, count] of result.outcomes) {
      sum.outcomes.set(name, (sum.outcomes.get(name) ?? 0) + count);
    }
  });
  let inputs = 0;
  const unmet: string[] = [];
  for (const { name, outcomes } of targets) {
    const sum = sums.get(name) as Sum;
    inputs += sum.inputs;
    const counts = [...sum.outcomes].sort(([, a], [, b]) => b - a).map(([outcome, count]) =>
      `${count} ${outcome}`
    );
    say(`${name}: ${sum.inputs} inputs: ${counts.join(", ")}`);
    for (const outcome of outcomes) if (!sum.outcomes.has(outcome)) unmet.push(`${name}: ${outcome}`);
  }
  faults.forEach(sayFault);
  if (unmet.length > 0) say(`\nNever met, so nothing was tried there: ${unmet.join(", ")}`);
  say(
    `\n${inputs} inputs in ${((performance.now() - startedMs) / 1000).toFixed(0)} s, ${faults.length} faults`,
  );
  return faults.length === 0 && unmet.length === 0 ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
