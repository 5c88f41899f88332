/**
 * The supervisor of splits that come and go: a consumer group gives partitions to this process and takes them away.
 *
 * ```
 *   assigned(source) ─▶ open: fence, restore, read back, seek ─▶ run ─┬─ stopped: drained, emitted, checkpointed
 *        ▲                 ▲                                          ├─ the world was away: once more, after a pause
 *        │                 ╰──────────────────────────────────────────┤
 *   consumer group ◀─ revoked(source) waits for "stopped" ────────────┼─ fenced: another process has it, let go
 *                                                                     ╰─ can't be gone on with: the process ends
 * ```
 *
 * A split is never mended in place: whatever a port rejected, the split is thrown away whole and opened anew from its
 * checkpoint, since what the rejected call did is unknown. What is away comes back, so that is tried for ever, with
 * growing pauses and a line each time; a fault of ours a few times; what trying can't help, not at all.
 *
 * @module
 */
import { AssertionFailed } from "../lib/assert.ts";
import { type Clock, FencedError, type Source, UnavailableError } from "./ports.ts";
import { type Opened, SplitActor, type SplitParts, type SplitReport } from "./split_actor.ts";
import { RESTARTS_MAX } from "./system.ts";

const FIRST_PAUSE_US = 250_000;
const PAUSE_US_MAX = 15_000_000;
/** How long the group may take to notice that another process has a partition: the longest session, and a rejoin. */
const FENCED_US = 120_000_000;

/** What a group of splits works with. */
export interface SplitGroupOptions {
  /** Makes the parts of a split around its source, the other ports not yet open. */
  readonly parts: (source: Source) => SplitParts;
  readonly clock: Clock;
  readonly notice: (message: string) => void;
  /** Told each time a split has opened. */
  readonly opened: (name: string, opened: Opened, report: SplitReport) => void;
}

/** One partition that is ours. */
interface Member {
  /** For messages, and for its reports: the same partition has the same name again. */
  readonly name: string;
  split: SplitActor | null;
  readonly letGo: AbortController;
  readonly done: Promise<void>;
}

/** See the module's header. */
export class SplitGroup {
  /** Rejects with what no split can go on with. */
  readonly failed: Promise<never>;

  readonly #options: SplitGroupOptions;
  readonly #members = new Map<Source, Member>();
  /** The last report of each split, by its name: a partition that went is still in the summary. */
  readonly #reports = new Map<string, SplitReport>();
  #fail: (error: unknown) => void = () => {};

  constructor(options: SplitGroupOptions) {
    this.#options = options;
    this.failed = new Promise((_resolve, reject) => this.#fail = reject);
    this.failed.catch(() => {});
  }

  /** The reports of all splits that this process has, or has had. */
  reports(): SplitReport[] {
    for (const { name, split } of this.#members.values()) this.#note(name, split);
    return [...this.#reports.values()];
  }

  /** A partition is ours from here on, until {@link revoked} resolves. */
  assigned(source: Source, name: string): void {
    const letGo = new AbortController();
    const member: Member = {
      name,
      split: null,
      letGo,
      done: Promise.resolve().then(() => this.#keepRunning(source, member)).catch(this.#fail),
    };
    this.#members.set(source, member);
  }

  /** Lets a partition go: resolves when all that was taken of it is emitted and in a checkpoint, or can't be. */
  async revoked(source: Source): Promise<void> {
    const member = this.#members.get(source);
    if (member === undefined) return;
    member.letGo.abort();
    member.split?.stop();
    await member.done;
    this.#members.delete(source);
  }

  async #keepRunning(source: Source, member: Member): Promise<void> {
    const { notice } = this.#options;
    let failures = 0;
    let faults = 0;
    let checkpoints = -1;
    while (!member.letGo.signal.aborted) {
      const parts = this.#options.parts(source);
      const split = new SplitActor(parts);
      member.split = split;
      try {
        const opened = await split.open();
        this.#options.opened(member.name, opened, split.report());
        if (member.letGo.signal.aborted) split.stop();
        await split.run();
        return;
      } catch (error) {
        // A line that is still on its way would come behind the next one's reading back, and so be there twice.
        await split.halt();
        if (error instanceof FencedError) {
          notice(`${member.name}: ${error.message}`);
          await this.#pause(FENCED_US, member);
          if (member.letGo.signal.aborted) return;
          throw new Error(
            `${member.name} is written by another process, and yet the group has given it to this one: do two groups share ` +
              "the name of a deployment?",
            { cause: error },
          );
        }
        const progressed = split.report().checkpoints > checkpoints + 2;
        checkpoints = split.report().checkpoints;
        if (progressed) failures = faults = 0;
        if (error instanceof AssertionFailed) {
          if (++faults > RESTARTS_MAX) {
            throw new Error(`Gave up after ${RESTARTS_MAX} restarts from the checkpoint`, { cause: error });
          }
        } else if (!(error instanceof UnavailableError)) throw error;
        failures++;
        const pauseUs = Math.min(PAUSE_US_MAX, FIRST_PAUSE_US * 2 ** (failures - 1));
        notice(
          `${member.name}: ${(error as Error).message}; going on from the last checkpoint in ${
            pauseUs / 1e6
          } s`,
        );
        await this.#pause(pauseUs, member);
      } finally {
        this.#note(member.name, split);
        member.split = null;
        parts.pairBound.add(-parts.pairBound.value);
        for (const port of [parts.source, parts.sink, parts.deadLetters, parts.store]) port.close();
      }
    }
  }

  /** Waits; not for longer than until the partition is to be let go. */
  async #pause(us: number, { letGo }: Member): Promise<void> {
    try {
      await this.#options.clock.delay(us, letGo.signal);
    } catch (error) {
      if (!letGo.signal.aborted) throw error;
    }
  }

  #note(name: string, split: SplitActor | null): void {
    if (split !== null) this.#reports.set(name, split.report());
  }
}
