/**
 * What was told but is in no checkpoint: triggers that a process wrote before it crashed, read back from the sink.
 *
 * The source is read again from the checkpoint, over the checkpoint's state, so the same triggers come out again, with
 * the same ids, in the same order: each finds itself here once and is not written twice. That is exact even where an id
 * was told twice on purpose, since the window had forgotten it: it stands here twice. Putting the ids into the window
 * instead would be wrong by up to a whole `ttl`, since nobody knows by which clock they went in.
 *
 * The edge ids stand here as well: where the records do not come again as they were (a pipe, a client that retries with
 * another time), a near copy of what was told must still be known.
 *
 * @module
 */

/** A trigger that was told, for {@link ToldLedger.add}. */
export interface ToldEntry {
  /** 32 hex digits. */
  readonly id: string;
  /** The edge id that goes with it, or null. */
  readonly edge: string | null;
  /** Its event time, µs. */
  readonly eventTimeUs: number;
  /** The dedup clock at which it is forgotten: nothing that could bring it again can still be accepted then. */
  readonly expiresUs: number;
  /** When the visit began, of a DWELL that it earned as it lasted, rather than one found among late records; else null. */
  readonly enteredAtUs: number | null;
}

interface Told {
  count: number;
  eventTimeUs: number;
  expiresUs: number;
  enteredAtUs: number | null;
}

/**
 * A trigger as a checkpoint keeps it: id, count, event time, when it is forgotten, beginning of the visit; or an edge id
 * and its count. A count of 0 says that it is there no more.
 */
export type LedgerLine =
  | readonly [string, number, number, number, number | null]
  | readonly [string, number];

/** See the module's header. */
export class ToldLedger {
  readonly #told = new Map<string, Told>();
  readonly #edges = new Map<string, number>();
  /** Ids and edge ids whose lines are not those of the last checkpoint. */
  readonly #changedIds = new Set<string>();
  readonly #changedEdges = new Set<string>();

  /** How many ids there are. */
  get size(): number {
    return this.#told.size;
  }

  /** Notes a trigger that was told. */
  add({ id, edge, eventTimeUs, expiresUs, enteredAtUs }: ToldEntry): void {
    const count = (this.#told.get(id)?.count ?? 0) + 1;
    this.#told.set(id, { count, eventTimeUs, expiresUs, enteredAtUs });
    this.#changedIds.add(id);
    if (edge !== null) this.#setEdge(edge, (this.#edges.get(edge) ?? 0) + 1);
  }

  /** Takes a trigger out, if it is there: it was told, once less is left to come. */
  take(id: string, edge: string | null): boolean {
    const told = this.#told.get(id);
    if (told === undefined) return false;
    if (--told.count === 0) this.#told.delete(id);
    this.#changedIds.add(id);
    if (edge !== null) this.#setEdge(edge, Math.max(0, (this.#edges.get(edge) ?? 0) - 1));
    return true;
  }

  /** Whether a trigger with this id was told. */
  has(id: string): boolean {
    return this.#told.has(id);
  }

  /** Whether this very DWELL was told: with this id, for this event time, by this visit while it was going on. */
  hasDwell(id: string, eventTimeUs: number, enteredAtUs: number): boolean {
    const told = this.#told.get(id);
    return told !== undefined && told.eventTimeUs === eventTimeUs && told.enteredAtUs === enteredAtUs;
  }

  /** Whether a trigger with this edge id was told. */
  hasEdge(edge: string): boolean {
    return this.#edges.has(edge);
  }

  /** Forgets what has expired at this dedup clock. */
  expire(clockUs: number): void {
    for (const [id, told] of this.#told) {
      if (told.expiresUs >= clockUs) continue;
      this.#told.delete(id);
      this.#changedIds.add(id);
    }
    if (this.#told.size > 0) return;
    for (const edge of this.#edges.keys()) this.#setEdge(edge, 0);
  }

  /** All of it, for a checkpoint. */
  takeWhole(): LedgerLine[] {
    this.#changedIds.clear();
    this.#changedEdges.clear();
    return this.#lines(this.#told.keys(), this.#edges.keys());
  }

  /** What has changed since this or {@link takeWhole} was last called. */
  takeChanges(): LedgerLine[] {
    const lines = this.#lines(this.#changedIds, this.#changedEdges);
    this.#changedIds.clear();
    this.#changedEdges.clear();
    return lines;
  }

  /** Takes over a line of a checkpoint, over those that came before it. */
  restore(line: LedgerLine): void {
    if (line.length === 2) {
      this.#setEdge(...line);
      return;
    }
    const [id, count, eventTimeUs, expiresUs, enteredAtUs] = line;
    if (count === 0) this.#told.delete(id);
    else this.#told.set(id, { count, eventTimeUs, expiresUs, enteredAtUs });
    this.#changedIds.add(id);
  }

  #setEdge(edge: string, count: number): void {
    if (count > 0) this.#edges.set(edge, count);
    else this.#edges.delete(edge);
    this.#changedEdges.add(edge);
  }

  #lines(ids: Iterable<string>, edges: Iterable<string>): LedgerLine[] {
    const lines: LedgerLine[] = [];
    for (const id of ids) {
      const told = this.#told.get(id);
      if (told === undefined) lines.push([id, 0, 0, 0, null]);
      else lines.push([id, told.count, told.eventTimeUs, told.expiresUs, told.enteredAtUs]);
    }
    for (const edge of edges) lines.push([edge, this.#edges.get(edge) ?? 0]);
    return lines;
  }
}
