/**
 * The supervisor of splits that come and go: a consumer group gives partitions to this process and takes them away.
 *
 * ```
 *   assigned(source) ─▶ open: fence, restore, read back, seek ─▶ run ─┬─ stopped: drained, emitted, checkpointed
 *        ▲                 ▲                                          ├─ the world was away: once more, after a pause
 *        │                 ╰──────────────────────────────────────────┤
 *   consumer group ◀─ revoked(source) waits for "stopped" ────────────┼─ fenced: another process has it, let go
 *                                                                     ╰─ can't be gone on with, and is ours: the process ends
 * ```
 *
 * **Whether it is ours** the group is asked before a failure ends the process: what another process has by now may look
 * wrong to one that has lost it and has not heard of that.
 *
 * A split is never mended in place: whatever a port rejected, the split is thrown away whole and opened anew from its
 * checkpoint, since what the rejected call did is unknown. How often, and how long it waits: split_retries.ts.
 *
 * @module
 */
import { AssertionFailed } from "../lib/assert.ts";
import type { Clock, Source } from "./ports.ts";
import { continueReport } from "./report_sums.ts";
import type { NamedLook } from "./named_look.ts";
import { type Opened, SplitActor, type SplitParts, type SplitReport } from "./split_actor.ts";
import type { SplitReads } from "./split_reads.ts";
import { FENCED_US, SplitRetries } from "./split_retries.ts";
import type { SplitView } from "./split_view.ts";

/** What a group of splits works with. */
export interface SplitGroupOptions {
  /** Makes the parts of a split around its source, the other ports not yet open. */
  readonly parts: (source: Source) => SplitParts;
  readonly clock: Clock;
  readonly notice: (message: string) => void;
  /** Whether a refusal may be an outage in disguise: it is tried for a while before it is believed. */
  readonly mayPass: (error: unknown) => boolean;
  /** Rejects where another process may have the source's partition by now. */
  readonly confirm: (source: Source) => Promise<void>;
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
  /** What splits that have ended report, by their name: a partition that went is still in the summary. */
  readonly #ended = new Map<string, SplitReport>();
  #fail: (error: unknown) => void = () => {};

  constructor(options: SplitGroupOptions) {
    this.#options = options;
    this.failed = new Promise((_resolve, reject) => this.#fail = reject);
    this.failed.catch(() => {});
  }

  /** The reports of all splits that this process has, or has had. */
  reports(): SplitReport[] {
    return this.views().map(({ report }) => report);
  }

  /** All splits that this process has, or has had. */
  views(): SplitView[] {
    const views = new Map<string, SplitView>();
    for (const [name, report] of this.#ended) views.set(name, { report, isHere: false });
    for (const { name, split } of this.#members.values()) {
      // Between two attempts it is as the last one left it.
      const report = split === null ? this.#ended.get(name) : this.#reportOf(name, split);
      if (report !== undefined) views.set(name, { report, isHere: true });
    }
    return [...views.values()];
  }

  /** For those who ask where a device is: of the splits that this process has; null for one that is between two attempts. */
  reads(): (SplitReads | null)[] {
    return [...this.#members.values()].map(({ split }) => split?.reads ?? null);
  }

  /** What is in those that run now. */
  looks(): NamedLook[] {
    const looks: NamedLook[] = [];
    for (const { name, split } of this.#members.values()) {
      if (split !== null) looks.push({ name, report: this.#reportOf(name, split), ...split.look() });
    }
    return looks;
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
    const { notice, clock, mayPass } = this.#options;
    const { name } = member;
    const retries = new SplitRetries({ name, clock, mayPass });
    while (!member.letGo.signal.aborted) {
      const parts = this.#options.parts(source);
      const split = new SplitActor(parts);
      member.split = split;
      try {
        const opened = await split.open();
        this.#options.opened(name, opened, split.report());
        if (member.letGo.signal.aborted) split.stop();
        await split.run();
        return;
      } catch (error) {
        // A line that is still on its way would come behind the next one's reading back, and so be there twice.
        await split.halt();
        // What another has by now may look wrong to one who read half of it before.
        if (member.letGo.signal.aborted && !(error instanceof AssertionFailed)) {
          notice(`${name}: ${(error as Error).message}; let go of without its last checkpoint`);
          return;
        }
        const { pauseUs, why } = await this.#pauseAfter(
          () => retries.failed(error, split.report().checkpoints),
          source,
        );
        notice(
          `${name}: ${(error as Error).message}${why}; going on from the last checkpoint in ${
            pauseUs / 1e6
          } s`,
        );
        await this.#pause(pauseUs, member);
      } finally {
        this.#ended.set(name, this.#reportOf(name, split));
        member.split = null;
        parts.pairBound.add(-parts.pairBound.value);
        for (const port of [parts.source, parts.sink, parts.deadLetters, parts.store]) port.close();
      }
    }
  }

  /** How long to wait after a failure; throws what the partition is given up with, if it is still ours. */
  async #pauseAfter(
    judge: () => number,
    source: Source,
  ): Promise<{ readonly pauseUs: number; readonly why: string }> {
    try {
      return { pauseUs: judge(), why: "" };
    } catch (final) {
      try {
        await this.#options.confirm(source);
      } catch {
        // As after a fence: to open it at once might take it from the other.
        return { pauseUs: FENCED_US, why: " (another process may have it by now)" };
      }
      throw final;
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

  #reportOf(name: string, split: SplitActor): SplitReport {
    return continueReport(split.report(), this.#ended.get(name));
  }
}
