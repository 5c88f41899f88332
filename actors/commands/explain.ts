/**
 * `fencepost explain`: what each message of a producer would be decoded to, and why not. It touches no state.
 *
 * ```
 *   1  ENTER "truck-01" "depot" 2026-11-30T22:53:00.141134Z  id 9f…
 *   2  skipped: no transition
 *   3  /events/1  MISSING_FIELD: device_id must be given, but there is nothing at /user/deviceId
 * ```
 *
 * It goes through the very decoder and judgement of times that `run` uses; what only a state can tell it leaves open:
 * whether a transition is a copy, whether it is late.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import type { DecodedTransition } from "../../lib/decoded_transition.ts";
import { MessageParts } from "../../lib/format/message_parts.ts";
import type { MessageContext } from "../../lib/format/message_values.ts";
import { hasTimes, type RecordOutcome, recordOutcomes } from "../../lib/format/record_outcomes.ts";
import { coarsestUs, misfit } from "../../lib/format/unit_fit.ts";
import { CODE_ENTER, CODE_EXIT, CODE_PASSED_ON, Identity } from "../../lib/identity.ts";
import type { Json } from "../../lib/json.ts";
import { KIND_DWELL, KIND_ENTER, KIND_EXIT, KIND_HEARTBEAT, KIND_NAMES } from "../../lib/kind.ts";
import { judgeTimes } from "../../lib/plausibility.ts";
import { formatTimestamp } from "../../lib/time.ts";
import type { ExplainArguments } from "./arguments.ts";
import { counted } from "./counted.ts";
import { printable } from "./printable.ts";

/** What the command needs of the process it runs in. */
export interface ExplainEnvironment {
  /** The lines of a file, `-` being stdin, without their line ends. */
  readonly readLines: (path: string) => AsyncIterable<Uint8Array>;
  /** Writes to stdout. */
  readonly write: (text: string) => Promise<void>;
  /** µs since the epoch. */
  readonly wallUs: number;
}

/** Codes of the kinds that make triggers. */
const CODES: ReadonlyMap<number, number> = new Map([
  [KIND_ENTER, CODE_ENTER],
  [KIND_EXIT, CODE_EXIT],
  [KIND_DWELL, CODE_PASSED_ON],
]);
/** Whole seconds may be chance in fewer transitions than this. */
const ALIKE_MIN = 5;
const SECOND_US = 1_000_000;

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * Runs the command.
 *
 * @returns the exit status: 1 where something would be a dead letter, else 0
 */
export async function explain(
  { path, topic, key, headers, json }: Pick<ExplainArguments, "path" | "topic" | "key" | "headers" | "json">,
  config: Pick<Config, "identity" | "time" | "source">,
  { readLines, write, wallUs }: ExplainEnvironment,
): Promise<number> {
  const identity = await Identity.create(config.identity);
  const explainer = new Explainer(config, identity, wallUs);
  const context: MessageContext = {
    topic,
    key: key === null ? null : encoder.encode(key),
    header: (name) => headers.get(name.toLowerCase()) ?? null,
  };
  let line = 0;
  for await (const message of readLines(path)) {
    line++;
    if (message.length === 0) continue;
    const lines = explainer.explain(message, context).map((said) =>
      json ? `${JSON.stringify({ line, ...said })}\n` : text(line, said)
    );
    await write(lines.join(""));
  }
  await write(json ? `${JSON.stringify(explainer.summary())}\n` : summaryText(explainer.summary()));
  return Object.keys(explainer.deadLetters).length > 0 ? 1 : 0;
}

/** What one crossing is, or a message as a whole. */
interface Said {
  /** Where in the message. */
  readonly pointer?: string;
  readonly outcome: "transition" | "skipped" | "dead_letter";
  readonly kind?: string;
  readonly device_id?: string;
  readonly fence_id?: string;
  readonly event_time?: string;
  readonly ingest_time?: string;
  readonly seq?: string;
  readonly attributes?: Json;
  readonly id?: string;
  readonly reason?: string;
  readonly detail?: string;
}

interface Summary {
  readonly messages: number;
  readonly transitions: Readonly<Record<string, number>>;
  readonly skipped: number;
  readonly dead_letters: Readonly<Record<string, number>>;
  readonly warnings: readonly string[];
}

class Explainer {
  readonly deadLetters: Record<string, number> = {};
  readonly #config: Pick<Config, "identity" | "time" | "source">;
  readonly #identity: Identity;
  readonly #wallUs: number;
  readonly #decode: ReturnType<typeof recordOutcomes>;
  readonly #parts: MessageParts | null;
  readonly #transitions: Record<string, number> = {};
  #messages = 0;
  #skipped = 0;
  /** The coarsest step that all event times so far are on. */
  #isWholeSeconds = true;
  #timeCount = 0;
  #dedupClockUs = -Infinity;

  constructor(config: Pick<Config, "identity" | "time" | "source">, identity: Identity, wallUs: number) {
    this.#config = config;
    this.#identity = identity;
    this.#wallUs = wallUs;
    const { format } = config.source;
    this.#decode = recordOutcomes(format);
    this.#parts = format.mapping === null ? null : new MessageParts(format.mapping);
  }

  explain(message: Uint8Array, context: MessageContext): readonly Said[] {
    this.#messages++;
    const said: Said[] = [];
    for (const decoded of this.#decode(message, context)) {
      const pointer = decoded.part === 0 ? "" : this.#parts?.of(message, decoded.part).pointer ?? "";
      said.push({ ...(pointer === "" ? {} : { pointer }), ...this.#say(decoded) });
    }
    return said;
  }

  summary(): Summary {
    return {
      messages: this.#messages,
      transitions: this.#transitions,
      skipped: this.#skipped,
      dead_letters: this.deadLetters,
      warnings: this.#warnings(),
    };
  }

  #warnings(): readonly string[] {
    const { identity, source: { format: { mapping } } } = this.#config;
    const known = mapping === null ? 0 : coarsestUs(mapping);
    const isSeen = this.#isWholeSeconds && this.#timeCount >= ALIKE_MIN;
    const warning = misfit(isSeen ? Math.max(known, SECOND_US) : known, identity);
    return warning === null ? [] : [warning];
  }

  #say(decoded: RecordOutcome): Said {
    const { outcome, transition, detail } = decoded;
    if (outcome === "skipped") {
      this.#skipped++;
      return { outcome };
    }
    const { eventTimeUs, ingestTimeUs } = transition;
    const times = { eventTimeUs, ingestTimeUs, dedupClockUs: this.#dedupClockUs, wallUs: this.#wallUs };
    const implausible = hasTimes(decoded) ? judgeTimes(times, this.#config.time) : null;
    if (implausible !== null || outcome !== "transition") {
      const reason = implausible?.reason ?? outcome;
      this.deadLetters[reason] = (this.deadLetters[reason] ?? 0) + 1;
      return { outcome: "dead_letter", reason, detail: implausible?.detail ?? detail };
    }
    this.#dedupClockUs = Math.max(this.#dedupClockUs, ingestTimeUs || -Infinity);
    return this.#sayTransition(transition);
  }

  #sayTransition(transition: DecodedTransition): Said {
    const { kind, eventTimeUs, ingestTimeUs } = transition;
    const { bytes, deviceStart, deviceEnd, fenceStart, fenceEnd, seqStart, seqEnd } = transition;
    const { attributesStart, attributesEnd } = transition;
    const textOf = (start: number, end: number): string => decoder.decode(bytes.subarray(start, end));
    const name = KIND_NAMES[kind];
    this.#transitions[name] = (this.#transitions[name] ?? 0) + 1;
    this.#timeCount++;
    if (eventTimeUs % SECOND_US !== 0) this.#isWholeSeconds = false;
    const code = CODES.get(kind);
    if (code !== undefined) {
      this.#identity.compute(
        code,
        bytes,
        deviceStart,
        deviceEnd,
        fenceStart,
        fenceEnd,
        eventTimeUs,
        seqStart,
        seqEnd,
      );
    }
    return {
      outcome: "transition",
      kind: name,
      ...(kind === KIND_HEARTBEAT
        ? {}
        : { device_id: textOf(deviceStart, deviceEnd), fence_id: textOf(fenceStart, fenceEnd) }),
      event_time: formatTimestamp(eventTimeUs),
      ...(Number.isNaN(ingestTimeUs) ? {} : { ingest_time: formatTimestamp(ingestTimeUs) }),
      ...(seqStart === seqEnd ? {} : { seq: textOf(seqStart, seqEnd) }),
      ...(attributesStart === attributesEnd
        ? {}
        : { attributes: JSON.parse(textOf(attributesStart, attributesEnd)) as Json }),
      ...(code === undefined ? {} : { id: this.#identity.hex(0) }),
    };
  }
}

function text(line: number, said: Said): string {
  const where = `${line}${said.pointer === undefined ? "" : ` ${said.pointer}`}`.padEnd(4);
  return `${where}  ${printable(sentence(said))}\n`;
}

function sentence({ outcome, kind, device_id, fence_id, event_time, seq, id, reason, detail }: Said): string {
  switch (outcome) {
    case "skipped":
      return "skipped: no transition";
    case "dead_letter":
      return `${reason}: ${detail}`;
    case "transition": {
      const ids = device_id === undefined ? [] : [JSON.stringify(device_id), JSON.stringify(fence_id)];
      const words = [kind, ...ids, event_time, ...(seq === undefined ? [] : [`seq ${seq}`])];
      return `${words.join(" ")}  ${id === undefined ? "makes no trigger" : `id ${id}`}`;
    }
  }
}

function summaryText({ messages, transitions, skipped, dead_letters, warnings }: Summary): string {
  const tell = (counts: Readonly<Record<string, number>>): string =>
    Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ") || "none";
  return `\n${counted(messages, "message")}: transitions: ${tell(transitions)}; skipped: ${skipped}; ` +
    `dead letters: ${tell(dead_letters)}\n${warnings.map((warning) => `Warning: ${warning}\n`).join("")}`;
}
