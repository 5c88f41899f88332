/**
 * `fencepost key`: the ids of a transition, and what each is made from.
 *
 * ```
 *   ENTER "truck-7" "depot-3" 2026-11-30T20:30:00.123000Z
 *     id    0ac4…  7:truck-7,7:depot-3,1:E,9:897820200,          its bucket, [20:30:00, 20:30:02)
 *     edge  71fe…  7:truck-7,7:depot-3,1:E,19:897820199~897820200,   the boundary 20:30:00, 123ms behind it
 * ```
 *
 * For whoever asks why two triggers were one or were not, and for another implementation to compare itself with: it goes
 * through the very decoder and {@link Identity} that `run` uses.
 *
 * @module
 */
import {
  CODE_DWELL,
  CODE_ENTER,
  CODE_EXIT,
  CODE_PASSED_ON,
  CODE_RETRACT,
  Identity,
} from "../../lib/identity.ts";
import type { Json } from "../../lib/json.ts";
import { type Kind, KIND_DWELL, KIND_ENTER, KIND_EXIT, KIND_HEARTBEAT, KIND_NAMES } from "../../lib/kind.ts";
import { formatDuration, formatTimestamp } from "../../lib/time.ts";
import { TransitionDecoder } from "../../lib/transition.ts";
import type { Code, KeyArguments } from "./arguments.ts";
import { UsageError } from "./flags.ts";

/** What the command needs of the process it runs in. */
export interface KeyEnvironment {
  /** The lines of a file, `-` being stdin, without their line ends. */
  readonly readLines: (path: string) => AsyncIterable<Uint8Array>;
  /** Writes to stdout. */
  readonly write: (text: string) => Promise<void>;
  /** Writes to stderr. */
  readonly say: (text: string) => void;
}

/** The widths that ids are made with. */
export interface KeyWidths {
  readonly bucketUs: number;
  readonly guardUs: number;
}

/** One id of a transition. */
interface KeyId {
  readonly slot: "bucket" | "edge" | "seq";
  readonly id: string;
  readonly material: string;
  /** In words: which bucket, which boundary. */
  readonly about: string;
}

const CODES: Readonly<Record<Code, number>> = {
  E: CODE_ENTER,
  X: CODE_EXIT,
  D: CODE_DWELL,
  P: CODE_PASSED_ON,
  R: CODE_RETRACT,
};

const CODE_OF_KIND: ReadonlyMap<number, Code> = new Map([[KIND_ENTER, "E"], [KIND_EXIT, "X"], [
  KIND_DWELL,
  "P",
]]);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/**
 * Runs the command.
 *
 * @returns the exit status: 1 where a line was no transition, else 0
 * @throws {UsageError} where what the flags describe is no transition
 */
export async function key(
  { transitions, code, json }: Omit<KeyArguments, "command" | "config">,
  widths: KeyWidths,
  { readLines, write, say }: KeyEnvironment,
): Promise<number> {
  const identity = await Identity.create(widths);
  const describer = new KeyDescriber(identity.keepMaterials());
  let line = 0;
  let refused = 0;
  const lines = "path" in transitions
    ? readLines(transitions.path)
    : [encoder.encode(JSON.stringify(transitions.record))];
  for await (const bytes of lines) {
    line++;
    if (bytes.length === 0) continue;
    const refusal = describer.decode(bytes);
    if (refusal === null) {
      await write(json ? describer.json(code) : describer.text(code));
    } else {
      refused++;
      if (!("path" in transitions)) throw new UsageError(`This is no transition: ${refusal}`);
      say(`fencepost: Line ${line} is no transition: ${refusal}\n`);
    }
  }
  return refused > 0 ? 1 : 0;
}

/** Decodes a record and describes its ids. */
class KeyDescriber {
  readonly #identity: Identity;
  readonly #decoder = new TransitionDecoder();

  constructor(identity: Identity) {
    this.#identity = identity;
  }

  /** Takes a record; returns why it is no transition, or null. */
  decode(bytes: Uint8Array): string | null {
    const outcome = this.#decoder.decode(bytes, 0, bytes.length);
    return outcome === "transition" ? null : `${outcome}: ${this.#decoder.detail}`;
  }

  /** The record that was taken last, as a JSON line. */
  json(forced: Code | null): string {
    const { kind, eventTimeUs } = this.#decoder;
    const code = this.#code(forced);
    const seq = this.#seq(code);
    const line: Json = {
      kind: kindName(kind, code),
      code,
      device_id: this.#device(),
      fence_id: this.#fence(),
      event_time: formatTimestamp(eventTimeUs),
      ...(seq === "" ? {} : { seq }),
      ids: this.#ids(code).map(({ slot, id, material }) => ({ slot, id, material })),
    };
    return JSON.stringify(line) + "\n";
  }

  /** The record that was taken last, for people. Ids are quoted, since they may hold anything. */
  text(forced: Code | null): string {
    const { kind, eventTimeUs } = this.#decoder;
    const code = this.#code(forced);
    const ids = this.#ids(code);
    // A heartbeat is no pair's.
    const pair = kind === KIND_HEARTBEAT
      ? []
      : [JSON.stringify(this.#device()), JSON.stringify(this.#fence())];
    const words = [kindName(kind, code), ...pair, formatTimestamp(eventTimeUs)];
    return `${words.join(" ")}, ${CODE_WORDS[code ?? "none"]}\n` +
      ids.map(({ slot, id, material, about }) =>
        `  ${slot === "edge" ? "edge" : "id  "}  ${id}  ${about}\n        of ${JSON.stringify(material)}\n`
      ).join("");
  }

  #code(forced: Code | null): Code | null {
    const code = CODE_OF_KIND.get(this.#decoder.kind) ?? null;
    return code === null ? null : forced ?? code;
  }

  #device(): string {
    const { bytes, deviceStart, deviceEnd } = this.#decoder;
    return decoder.decode(bytes.subarray(deviceStart, deviceEnd));
  }

  #fence(): string {
    const { bytes, fenceStart, fenceEnd } = this.#decoder;
    return decoder.decode(bytes.subarray(fenceStart, fenceEnd));
  }

  /** The seq that goes into the id: our own triggers have none, whatever the record says. */
  #seq(code: Code | null): string {
    const { bytes, seqStart, seqEnd } = this.#decoder;
    return code === "D" || code === "R" ? "" : decoder.decode(bytes.subarray(seqStart, seqEnd));
  }

  /** The ids; none of what makes no trigger. */
  #ids(code: Code | null): readonly KeyId[] {
    if (code === null) return [];
    const { bytes, deviceStart, deviceEnd, fenceStart, fenceEnd, eventTimeUs, seqStart, seqEnd } =
      this.#decoder;
    const identity = this.#identity;
    const hasSeq = this.#seq(code) !== "";
    const count = identity.compute(
      CODES[code],
      bytes,
      deviceStart,
      deviceEnd,
      fenceStart,
      fenceEnd,
      eventTimeUs,
      seqStart,
      hasSeq ? seqEnd : seqStart,
    );
    const startUs = Math.floor(eventTimeUs / identity.bucketUs) * identity.bucketUs;
    const first: KeyId = {
      slot: hasSeq ? "seq" : "bucket",
      id: identity.hex(0),
      material: decoder.decode(identity.material(0)),
      about: hasSeq
        ? "by its seq: the time does not matter"
        : `its bucket, from ${formatTimestamp(startUs)} for ${formatDuration(identity.bucketUs)}`,
    };
    if (count === 1) return [first];
    const intoUs = eventTimeUs - startUs;
    const behind = intoUs < identity.guardUs;
    const distance = formatDuration(behind ? intoUs : identity.bucketUs - intoUs);
    const boundary = formatTimestamp(behind ? startUs : startUs + identity.bucketUs);
    return [first, {
      slot: "edge",
      id: identity.hex(1),
      material: decoder.decode(identity.material(1)),
      about: `the boundary at ${boundary}, ${distance} ${behind ? "before" : "after"} this`,
    }];
  }
}

function kindName(kind: Kind, code: Code | null): string {
  return code === "R" ? "RETRACT" : KIND_NAMES[kind];
}

const CODE_WORDS: Readonly<Record<Code | "none", string>> = {
  E: "code E",
  X: "code X",
  D: "code D, a DWELL of our own",
  P: "code P, a DWELL that is passed on",
  R: "code R, a RETRACT",
  none: "which makes no trigger and has no id",
};
