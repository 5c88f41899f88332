/**
 * Unpacks gzip in small pieces, of all requests one after the other, and gives the event loop back in between.
 *
 * A kilobyte of gzip can be a megabyte. `DecompressionStream` unpacks what it is given at once, so it is given little; and
 * streams go on from promise to promise, with no turn for anybody else until all has come: 200 bodies of 65 KB at once,
 * 64 MiB unpacked each, held up all others for 4 s before they were found too large.
 *
 * @module
 */
import { setImmediate } from "node:timers";

/** Packed bytes that are unpacked at once: at most 1,032 times as many come of them, in some 3 ms. */
const PIECE_BYTES = 1024;
/** How long is unpacked before the event loop has its chance, ms. */
const TURN_MS = 4;

/** See the module's header. */
export class Gunzip {
  #turn: Promise<unknown> = Promise.resolve();
  #sinceMs = -Infinity;

  /** What is in a stream of gzip. It has to be read to its end, or cancelled: others wait for it. */
  unpack(packed: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const { readable, writable } = new DecompressionStream("gzip");
    const writer = writable.getWriter();
    const pieces = new WritableStream<Uint8Array>({
      start(controller) {
        // Where nobody reads on, the packed bytes are not waited for, either.
        writer.closed.catch((error) => controller.error(error));
      },
      write: async (bytes) => {
        for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
          const piece = bytes.subarray(at, at + PIECE_BYTES) as Uint8Array<ArrayBuffer>;
          await this.#inTurn(() => writer.write(piece));
        }
      },
      close: () => writer.close(),
      abort: (reason) => writer.abort(reason),
    });
    // The reader sees the error.
    packed.pipeTo(pieces).catch(() => {});
    return readable;
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(async () => {
      if (performance.now() - this.#sinceMs >= TURN_MS) {
        await new Promise<void>((resolve) => setImmediate(() => resolve()));
        this.#sinceMs = performance.now();
      }
      await work();
    });
    this.#turn = done.catch(() => {});
    return done;
  }
}
