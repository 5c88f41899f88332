/**
 * Several outputs as one: each trigger goes to all of them, and a position is durable when it is in all of them.
 *
 * ```
 *   write ─▶ all, and wait for the slowest      position   {"sinks": {"ndjson:/data/triggers.ndjson": …, "kafka:triggers": …}}
 *   flush ─▶ all                                           of one alone its own, as if there were no list
 *
 *   open  ─▶ read the tails ─▶ union ─▶ write to each what it lacks ─▶ flush ─▶ the union is what was read back
 * ```
 *
 * A crash between two outputs leaves a trigger in the one and not in the other. Read back alone, the one would keep it from
 * being told again, and the other would never have it; not read back, it would be twice in the one. So the tails are made
 * equal before anything else happens, and a crash while that is done is mended in the same way.
 *
 * | | |
 * |---|---|
 * | one can't be read back (stdout, a pipe) | it lacks the whole union, which comes again with the same ids: at least once |
 * | one was **added** to a kept state | it begins here, with nothing of what was told before |
 * | one was **removed** | nothing is read back from it; what it alone had comes again for the others |
 * | one fails | the split fails, as with one; the others have had their chance to finish |
 * | one refuses a trigger for ever | it is a dead letter, once, and the others have it |
 * | one is slow | all wait: what is slow by nature (webhooks) has an outbox of its own |
 *
 * An added one that got the union would get it again after a crash before the first checkpoint, since it is unknown then.
 *
 * @module
 */
import type { Json } from "../lib/json.ts";
import { type TailLine, uniteTails } from "../lib/sink_tails.ts";
import { wholeTriggerId } from "../lib/whole_trigger.ts";
import type { LineBatch, RefusedLine, Sink } from "./ports.ts";
import { waitForAll } from "./wait_for_all.ts";

/** Bytes in one write of what was lacking. */
const REPAIR_BYTES = 1 << 19;
const LINE_END = 0x0a;

/** One of them. */
export interface SinkListMember {
  /** Its type and its name, `kafka:triggers`: by this a checkpoint knows it. */
  readonly key: string;
  readonly sink: Sink;
}

/** See the module's header. */
export interface SinkListOptions {
  /** At least one; no key twice. */
  readonly members: readonly SinkListMember[];
  /** The key of a position that is not from a list; null where it is none of an output. */
  readonly keyOf: (position: Json) => string | null;
  readonly notice: (message: string) => void;
}

/** See the module's header. */
export class SinkList implements Sink {
  readonly name: string;
  /** Whether any can. */
  readonly readable: boolean;

  readonly #options: SinkListOptions;
  readonly #members: readonly SinkListMember[];
  /** Null where one alone reads back by itself. */
  #union: readonly TailLine[] | null = [];
  #refused: readonly (readonly [Uint8Array, string])[] = [];

  constructor(options: SinkListOptions) {
    this.#options = options;
    this.#members = options.members;
    this.name = this.#members.map(({ sink }) => sink.name).join(", ");
    this.readable = this.#members.some(({ sink }) => sink.readable);
  }

  /** The names of those that can't be read back. */
  get unreadable(): readonly string[] {
    return this.#members.flatMap(({ sink }) => sink.readable ? [] : [sink.name]);
  }

  async open(position: Json | null): Promise<void> {
    const known = this.#positionsOf(position);
    const [only, ...others] = this.#members as [SinkListMember, ...SinkListMember[]];
    const [before, ...more] = known.keys();
    if (others.length === 0 && more.length === 0 && (before === undefined || isSameType(before, only.key))) {
      // One alone, as it was: where it was moved, it knows what to do itself.
      await only.sink.open(before === undefined ? null : known.get(before) ?? null);
      this.#union = null;
      return;
    }
    if (position !== null) this.#sayChanges(known);
    for (const { key, sink } of this.#members) await sink.open(known.get(key) ?? null);
    await this.#unite(this.#members.filter(({ key }) => known.has(key)).map(({ sink }) => sink));
  }

  async *readBack(): AsyncIterable<Uint8Array> {
    if (this.#union === null) {
      yield* (this.#members[0] as SinkListMember).sink.readBack();
      return;
    }
    const union = this.#union;
    this.#union = [];
    for (const { bytes } of union) yield bytes;
  }

  refusedAtOpen(): readonly (readonly [line: Uint8Array, why: string])[] {
    return this.#refused;
  }

  async write(lines: LineBatch, refused: RefusedLine): Promise<void> {
    const [only, ...others] = this.#members as [SinkListMember, ...SinkListMember[]];
    if (others.length === 0) return await only.sink.write(lines, refused);
    const left = new LeftOut();
    await waitForAll(this.#members.map(({ sink }) => sink.write(lines, (line, why) => left.add(line, why))));
    // Once, however many have refused it, and when the others have it: its dead letter says that it is told.
    for (const [line, why] of left.lines()) refused(line, why);
  }

  async flush(): Promise<Json> {
    const positions = await waitForAll(this.#members.map(({ sink }) => sink.flush()));
    if (positions.length === 1) return positions[0] as Json;
    return { sinks: Object.fromEntries(this.#members.map(({ key }, i) => [key, positions[i] as Json])) };
  }

  close(): void {
    for (const { sink } of this.#members) sink.close();
  }

  #positionsOf(position: Json | null): Map<string, Json> {
    if (position === null) return new Map();
    if (typeof position === "object" && "sinks" in position) {
      const { sinks } = position as { readonly sinks: Readonly<Record<string, Json>> };
      return new Map(Object.entries(sinks));
    }
    // What is none of an output is for the output to refuse, in its words.
    return new Map([[this.#options.keyOf(position) ?? (this.#members[0] as SinkListMember).key, position]]);
  }

  #sayChanges(known: ReadonlyMap<string, Json>): void {
    const { notice } = this.#options;
    const keys = new Set(this.#members.map(({ key }) => key));
    for (const { key } of this.#members) {
      if (!known.has(key)) notice(`The output ${key} is new: it has the triggers that are told from here on`);
    }
    for (const key of known.keys()) {
      if (!keys.has(key)) notice(`The output ${key} is no longer one: nothing more is written to it`);
    }
  }

  /** Makes the tails of those that the checkpoint knows equal. */
  async #unite(sinks: readonly Sink[]): Promise<void> {
    const tails: TailLine[][] = [];
    for (const sink of sinks) tails.push(await tailOf(sink));
    const { union, lacking } = uniteTails(tails);
    const left = new LeftOut();
    for (const [i, sink] of sinks.entries()) {
      const lines = lacking[i] as readonly TailLine[];
      if (lines.length === 0) continue;
      await writeAll(sink, lines, (line, why) => left.add(line, why));
      await sink.flush();
    }
    this.#union = union;
    this.#refused = left.lines();
  }
}

function isSameType(one: string, other: string): boolean {
  return one.split(":", 1)[0] === other.split(":", 1)[0];
}

async function tailOf(sink: Sink): Promise<TailLine[]> {
  const lines: TailLine[] = [];
  if (!sink.readable) return lines;
  for await (const bytes of sink.readBack()) {
    // What somebody else wrote there, or damaged, is for nobody else.
    const id = wholeTriggerId(bytes);
    if (id !== null) lines.push({ id, bytes: bytes.slice() });
  }
  return lines;
}

/** Lines that one or several have refused, and why. */
class LeftOut {
  readonly #whys = new Map<string, { readonly line: Uint8Array; readonly whys: string[] }>();

  add(line: Uint8Array, why: string): void {
    const text = new TextDecoder().decode(line);
    const known = this.#whys.get(text);
    if (known === undefined) this.#whys.set(text, { line: line.slice(), whys: [why] });
    else known.whys.push(why);
  }

  lines(): (readonly [Uint8Array, string])[] {
    return [...this.#whys.values()].map(({ line, whys }) => [line, whys.join("; ")] as const);
  }
}

async function writeAll(sink: Sink, lines: readonly TailLine[], refused: RefusedLine): Promise<void> {
  for (let from = 0; from < lines.length;) {
    let to = from;
    let byteLength = 0;
    while (to < lines.length && byteLength < REPAIR_BYTES) {
      byteLength += (lines[to++] as TailLine).bytes.length + 1;
    }
    const bytes = new Uint8Array(byteLength);
    let at = 0;
    for (const line of lines.slice(from, to)) {
      bytes.set(line.bytes, at);
      at += line.bytes.length;
      bytes[at++] = LINE_END;
    }
    await sink.write({ bytes, byteLength, count: to - from }, refused);
    from = to;
  }
}
