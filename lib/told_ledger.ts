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

/** Counts of ids, and the edge ids that go with them. Ids are 32 hex digits. */
export class ToldLedger {
  readonly #counts = new Map<string, number>();
  readonly #edges = new Map<string, number>();
  readonly #expiresUs = new Map<string, number>();

  /** How many ids there are. */
  get size(): number {
    return this.#counts.size;
  }

  /**
   * Notes a trigger that was told.
   *
   * @param edge its edge id, or null
   * @param eventTimeUs what it is forgotten by
   */
  add(id: string, edge: string | null, eventTimeUs: number): void {
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    if (edge !== null) this.#edges.set(edge, (this.#edges.get(edge) ?? 0) + 1);
    this.#expiresUs.set(id, eventTimeUs);
  }

  /** Takes a trigger out, if it is there: it was told, once less is left to come. */
  take(id: string, edge: string | null): boolean {
    const count = this.#counts.get(id);
    if (count === undefined) return false;
    if (count > 1) this.#counts.set(id, count - 1);
    else {
      this.#counts.delete(id);
      this.#expiresUs.delete(id);
    }
    if (edge !== null) {
      const edges = (this.#edges.get(edge) ?? 1) - 1;
      if (edges > 0) this.#edges.set(edge, edges);
      else this.#edges.delete(edge);
    }
    return true;
  }

  /** Whether a trigger with this id was told. */
  has(id: string): boolean {
    return this.#counts.has(id);
  }

  /** Whether a trigger with this edge id was told. */
  hasEdge(edge: string): boolean {
    return this.#edges.has(edge);
  }

  /** Forgets what lies before an event time: no record of it could still come. */
  forgetBefore(eventTimeUs: number): void {
    for (const [id, timeUs] of this.#expiresUs) {
      if (timeUs >= eventTimeUs) continue;
      this.#expiresUs.delete(id);
      this.#counts.delete(id);
    }
    if (this.#counts.size === 0) this.#edges.clear();
  }

  /** As a checkpoint keeps it: id, count, event time; edges and counts. */
  toJson(): { ids: [string, number, number][]; edges: [string, number][] } {
    const ids = [...this.#counts].map(([id, count]): [string, number, number] => [
      id,
      count,
      this.#expiresUs.get(id) ?? 0,
    ]);
    return { ids, edges: [...this.#edges] };
  }

  /** Takes over what {@link toJson} gave. */
  restore(json: { ids: readonly [string, number, number][]; edges: readonly [string, number][] }): void {
    for (const [id, count, timeUs] of json.ids) {
      this.#counts.set(id, count);
      this.#expiresUs.set(id, timeUs);
    }
    for (const [edge, count] of json.edges) this.#edges.set(edge, count);
  }
}
