/**
 * The supervisor: opens a split, lets it run, and where an invariant of ours failed, restores it from its last checkpoint.
 *
 * Three kinds of errors (STYLE): an outcome that is expected is a return value and never comes here. Where the *world*
 * failed (a full disk, a closed pipe, another owner), going on would fail again: it stops, says so, and a start later
 * goes on where it stopped. Where *we* are wrong, an assertion failed in one partition: the whole split is thrown away,
 * since its partitions share a checkpoint, and restored, a few times with growing pauses; then it gives up loudly. A
 * source that can't be read again (a pipe) would lose what it gave since the checkpoint, so there it stops at once.
 *
 * @module
 */
import { AssertionFailed } from "../lib/assert.ts";
import type { NamedLook } from "./named_look.ts";
import type { CheckpointStore, Clock, Sink, Source } from "./ports.ts";
import { continueReport } from "./report_sums.ts";
import { type Opened, SplitActor, type SplitParts, type SplitReport } from "./split_actor.ts";
import type { SplitReads } from "./split_reads.ts";
import type { SplitView } from "./split_view.ts";

/** Restarts in a row, without a checkpoint between them, before it gives up. */
export const RESTARTS_MAX = 5;
const FIRST_PAUSE_US = 100_000;

/** What has to be opened anew for each attempt. */
export interface SplitPorts {
  readonly source: Source;
  readonly sink: Sink;
  readonly deadLetters: Sink;
  readonly store: CheckpointStore;
}

/** What the system needs besides. */
export interface SystemOptions {
  /** Makes the ports, not yet open. */
  readonly ports: () => SplitPorts;
  /** The rest of what a split works with. */
  readonly split: (ports: SplitPorts) => SplitParts;
  readonly clock: Clock;
  readonly notice: (message: string) => void;
  /** Told each time a split has opened. */
  readonly opened: (opened: Opened) => void;
}

/** Runs one split until its input ends or it is stopped. */
export class System {
  readonly #options: SystemOptions;
  #split: SplitActor | null = null;
  /** What those before it have done in this process. */
  #before: SplitReport | undefined;
  #stopped = false;

  constructor(options: SystemOptions) {
    this.#options = options;
  }

  /** How the split is doing, with what this process has done before it was restarted; null before it opened. */
  report(): SplitReport | null {
    return this.#split === null ? null : continueReport(this.#split.report(), this.#before);
  }

  /** The split, if there is one yet. */
  views(): SplitView[] {
    const report = this.report();
    return report === null ? [] : [{ report, isHere: true }];
  }

  /** For those who ask where a device is; empty before it opened. */
  reads(): SplitReads[] {
    return this.#split === null ? [] : [this.#split.reads];
  }

  /** What is in it now, as a list of one; an empty one before it opened. */
  looks(name: string): NamedLook[] {
    const split = this.#split;
    return split === null ? [] : [{ name, report: split.report(), ...split.look() }];
  }

  /** Stops reading; {@link run} finishes what was taken and makes a last checkpoint. */
  stop(): void {
    this.#stopped = true;
    this.#split?.stop();
  }

  /**
   * Runs.
   *
   * @returns whether the input has ended, rather than having been stopped
   * @throws what the world, or a fault of ours that restarts did not cure, stopped it with
   */
  async run(): Promise<boolean> {
    const { clock, notice } = this.#options;
    let restarts = 0;
    let checkpoints = -1;
    for (;;) {
      const ports = this.#options.ports();
      const split = new SplitActor(this.#options.split(ports));
      this.#before = this.report() ?? undefined;
      this.#split = split;
      try {
        this.#options.opened(await split.open());
        if (this.#stopped) split.stop();
        return await split.run();
      } catch (error) {
        if (!(error instanceof AssertionFailed) || !ports.source.rereadable) throw error;
        if (split.report().checkpoints > checkpoints + 2) restarts = 0;
        checkpoints = split.report().checkpoints;
        if (++restarts > RESTARTS_MAX) {
          throw new Error(`Gave up after ${RESTARTS_MAX} restarts from the checkpoint`, { cause: error });
        }
        // A line that is still on its way would come behind the next one's reading back, and so be there twice.
        await split.halt();
        notice(`${error.message}: restarting from the last checkpoint (${restarts} of ${RESTARTS_MAX})`);
      } finally {
        ports.source.close();
        ports.sink.close();
        ports.deadLetters.close();
        ports.store.close();
      }
      await clock.delay(FIRST_PAUSE_US * 2 ** (restarts - 1));
    }
  }
}
