/**
 * A partition as an actor: takes messages from its bounded mailbox, puts them through the state machine, hands what comes
 * of it to the sink. Everything it owns is its own; what it waits for is room in the sink.
 *
 * A message is a run of transitions with the clocks behind it, a barrier, or the end of the input. A step handles one
 * message, or as much of one as `max_fires_per_turn` allows.
 *
 * | crash after | on restart | outside |
 * |---|---|---|
 * | apply, before emit | state and position of the checkpoint, read again | each trigger once |
 * | emit, before checkpoint | what was written is read back; the same ids come out and are skipped | once over a sink that can be read back, else a repeat with the same id |
 * | checkpoint, before acknowledge | the checkpoint's position wins over the source's | none |
 *
 * @module
 */
import type { EffectBuffer, LateRecord } from "../lib/effect.ts";
import type { Partition } from "../lib/partition.ts";
import type { TransitionBatch } from "../lib/transition_batch.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Actor, Step } from "./scheduler.ts";
import type { SinkActor } from "./sink_actor.ts";

/** Pairs looked at for forgetting at a barrier. */
const SWEEP_ROWS = 2048;

/** What a partition is told. */
export type PartitionMessage =
  /** Transitions, if any, and then the watermark behind them. */
  | { readonly type: "advance"; readonly batch: TransitionBatch | null; readonly watermarkUs: number }
  /** The checkpoint's barrier: everything before it belongs to the checkpoint, which takes it until that is whole. */
  | {
    readonly type: "barrier";
    readonly watermarkUs: number;
    readonly take: () => boolean;
    /** Whether some pairs are looked at for forgetting. */
    readonly sweeps: boolean;
  }
  /** Too much is held: the groups that are due up to here are taken, without time moving on. */
  | { readonly type: "take_held"; readonly dueUs: number }
  /** The input is complete: what still waits is applied. */
  | { readonly type: "finish"; readonly done: () => void };

/** What a partition actor works with. */
export interface PartitionActorParts {
  readonly number: number;
  readonly partition: Partition;
  readonly effects: EffectBuffer;
  readonly mailbox: Mailbox<PartitionMessage>;
  readonly sink: SinkActor;
  /** A batch is done with. */
  readonly recycle: (batch: TransitionBatch) => void;
  /** Records that came too late to leave in order. */
  readonly refuseLate: (records: readonly LateRecord[], epoch: number) => void;
  /** DWELLs were handed over: by their event times. */
  readonly fired?: (timesUs: readonly number[]) => void;
}

/** See the module's header. */
export class PartitionActor implements Actor {
  readonly partition: Partition;
  readonly mailbox: Mailbox<PartitionMessage>;
  readonly #parts: PartitionActorParts;
  readonly #effects: EffectBuffer;
  #message: PartitionMessage | null = null;
  #row = 0;
  /** Whether pairs were looked at for forgetting at the barrier that is being met. */
  #swept = false;
  #epoch = 0;
  /** Those who wait for the end of the message. */
  #lookers: (() => void)[] = [];

  constructor(parts: PartitionActorParts) {
    this.#parts = parts;
    this.partition = parts.partition;
    this.mailbox = parts.mailbox;
    this.#effects = parts.effects;
  }

  /** Whether it has nothing to do. */
  get idle(): boolean {
    return this.#message === null && this.mailbox.length === 0;
  }

  /** Calls when it is between two messages: at once, or when the one that it is at is done. */
  between(look: () => void): void {
    if (this.#message === null) look();
    else this.#lookers.push(look);
  }

  step(): Step {
    if (this.#parts.sink.isFullFor(this.#epoch)) return "idle";
    this.#message ??= this.mailbox.poll();
    if (this.#message === null) return "idle";
    this.partition.beginTurn();
    const message = this.#message;
    const done = this.#handle(message);
    this.#handOver();
    if (!done) return "again";
    if (message.type === "barrier") {
      if (message.sweeps && !this.#swept) this.partition.sweep(SWEEP_ROWS);
      this.#swept = true;
      if (!message.take()) return "again";
      this.#swept = false;
      this.#epoch++;
    }
    this.#message = null;
    this.#row = 0;
    if (this.#lookers.length > 0) { for (const look of this.#lookers.splice(0)) look(); }
    if (message.type === "finish") {
      message.done();
    } else if (message.type === "advance" && message.batch !== null) {
      this.#parts.recycle(message.batch);
    }
    return this.mailbox.length > 0 ? "again" : "idle";
  }

  /** Handles a message as far as this turn allows; whether it is done. */
  #handle(message: PartitionMessage): boolean {
    if (message.type === "finish") return this.partition.finish();
    if (message.type === "take_held") return this.partition.takeHeld(message.dueUs);
    if (message.type === "advance" && message.batch !== null && !this.#receive(message.batch)) return false;
    return this.partition.advanceTo(message.watermarkUs);
  }

  #receive(batch: TransitionBatch): boolean {
    this.#row = this.partition.take(batch, this.#row);
    return this.#row === batch.count;
  }

  #handOver(): void {
    const effects = this.#effects;
    const { number, sink, refuseLate, fired } = this.#parts;
    sink.accept(effects, { epoch: this.#epoch, partition: number, watermarkUs: this.partition.watermarkUs });
    if (effects.firedUs.length > 0) fired?.(effects.firedUs);
    if (effects.lateRecords.length > 0) refuseLate(effects.lateRecords, this.#epoch);
    effects.reset();
  }
}
