/**
 * The files of a round, and the workload on its way into the input, a little at a time and cut anywhere: a file that
 * grows while it is read ends in the middle of a line more often than not.
 *
 * @module
 */
import { join } from "node:path";
import { generateLoad } from "../../bench/load.ts";
import { RunFiles } from "../support/fencepost_process.ts";

/** Records of a pair, about. */
const RECORDS_PER_PAIR = 60;

/** See the module's header. */
export class FileWorld {
  readonly files: RunFiles;
  readonly configPath: string;
  readonly config: Record<string, unknown>;

  readonly #load: Uint8Array;
  #fed = 0;

  /** @param directory in which the files are: it may be a small disk, or one that is taken away */
  constructor(directory: string, { logs, config, records, seed }: {
    /** Where the configuration is kept. */
    readonly logs: string;
    readonly config: Record<string, unknown>;
    readonly records: number;
    readonly seed: number;
  }) {
    this.files = new RunFiles(directory, join(logs, "input.ndjson"));
    this.config = config;
    this.configPath = join(logs, "config.json");
    this.#load = loadOf(records, seed);
    Deno.writeTextFileSync(this.configPath, JSON.stringify(config, null, 2));
    Deno.writeFileSync(this.files.input, new Uint8Array(0));
  }

  /** Whether all of it is in the input. */
  get isFed(): boolean {
    return this.#fed === this.#load.length;
  }

  /** What is in the input. */
  get input(): Uint8Array {
    return this.#load.subarray(0, this.#fed);
  }

  /** So much of it is in the input from now on; 1 is all. */
  async feed(share: number): Promise<void> {
    const until = Math.max(this.#fed, Math.min(this.#load.length, Math.floor(share * this.#load.length)));
    await Deno.writeFile(this.files.input, this.#load.subarray(this.#fed, until), { append: true });
    this.#fed = until;
  }

  /** Bytes that came out so far. */
  async written(): Promise<number> {
    const sizes = await Promise.all([this.files.output, this.files.deadLetters].map(sizeOf));
    return sizes.reduce((sum, size) => sum + size, 0);
  }
}

function loadOf(records: number, seed: number): Uint8Array {
  const blocks = [...generateLoad({
    ...{ seed, records, pairs: Math.ceil(records / RECORDS_PER_PAIR) },
    ...{ duplicateRatio: 0.05, lateRatio: 0.03, poisonRatio: 0.003, staleRatio: 0.03, heartbeatRatio: 0.01 },
  })];
  const load = new Uint8Array(blocks.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const block of blocks) {
    load.set(block, at);
    at += block.length;
  }
  return load;
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await Deno.stat(path)).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
