/**
 * The audit: is there a trigger in what was written that should not be there, and what probably led to it?
 *
 * Two things can be seen from the outside. An id that occurs **twice** is a duplicate beyond doubt: the window had
 * forgotten it, or something behind the window wrote it again, or the id is wrong. Two triggers of one pair and kind
 * **too close** with different ids are suspect: copies whose times differ by more than the guard allows for, or a device
 * that really came back so soon.
 *
 * It trusts nothing but the lines: no state, no configuration but the bucket, and their order does not matter but for
 * which of two is called the first.
 *
 * @module
 */
import type { AuditCause, AuditFinding, AuditSummary } from "./audit_finding.ts";
import { AuditLog, NO_ROW } from "./audit_log.ts";
import { formatDuration, formatTimestamp } from "./time.ts";
import { parseTrigger, type ToldTrigger } from "./trigger.ts";

const KIND_OF_CODE = { E: "ENTER", X: "EXIT", D: "DWELL", P: "DWELL", R: "RETRACT" } as const;

/** What is in a trigger's line that {@link parseTrigger} has no use for. */
interface Extras {
  readonly dwell_s?: unknown;
  readonly revises?: unknown;
  readonly beyond_window?: unknown;
}

const decoder = new TextDecoder();

/** See the module's header. */
export class Audit {
  readonly #bucketUs: number;
  readonly #log: AuditLog;
  readonly #lanes = new Uint32Array(4);
  /** Groups by device, then by kind, threshold and fence: one `Map` of all holds 16 million at most. */
  readonly #groups = new Map<string, Map<string, number>>();
  readonly #groupNames: string[] = [];
  readonly #groupDevices: string[] = [];
  /** The files, and the first row of each. */
  readonly #files: { readonly name: string; readonly row: number }[] = [];
  readonly #causes: { [cause in AuditCause]?: number } = {};
  #line = 0;
  #otherLines = 0;
  #repeatedIds = 0;
  #closePairs = 0;

  /** Triggers of a pair and kind that are closer than `bucketUs` µs are suspect. */
  constructor(bucketUs: number) {
    this.#bucketUs = bucketUs;
    this.#log = new AuditLog(bucketUs);
  }

  /** The lines that follow are those of a file. */
  beginFile(name: string): void {
    this.#files.push({ name, row: this.#log.size });
    this.#line = 0;
  }

  /**
   * Takes the next line of the file.
   *
   * @param bytes without the line end
   * @returns what is wrong with it; null for nothing
   */
  feed(bytes: Uint8Array): AuditFinding | null {
    this.#line++;
    if (bytes.length === 0) return null;
    const told = parseTrigger(bytes);
    if (told === null) {
      this.#otherLines++;
      return null;
    }
    for (let word = 0; word < 4; word++) {
      this.#lanes[word] = parseInt(told.id.slice(word * 8, word * 8 + 8), 16);
    }
    const group = this.#groupOf(told, bytes);
    const first = this.#log.find(this.#lanes);
    if (first !== NO_ROW) return this.#repeated(first, told, group, bytes);
    const { eventTimeUs } = told;
    const hasSeq = told.seq !== null;
    const near = this.#log.closest({ group, eventTimeUs, hasSeq });
    this.#log.add({ lanes: this.#lanes, group, hasSeq, eventTimeUs, line: this.#line });
    return near === NO_ROW ? null : this.#close(near, told);
  }

  /** What was found so far, in numbers. */
  summary(): AuditSummary {
    return {
      triggers: this.#log.size + this.#repeatedIds,
      other_lines: this.#otherLines,
      repeated_ids: this.#repeatedIds,
      close_pairs: this.#closePairs,
      causes: { ...this.#causes },
    };
  }

  #groupOf(told: ToldTrigger, bytes: Uint8Array): number {
    let ofDevice = this.#groups.get(told.device);
    if (ofDevice === undefined) this.#groups.set(told.device, ofDevice = new Map());
    const name = `${told.code}${partOf(told, bytes)}|${told.fence}`;
    let group = ofDevice.get(name);
    if (group === undefined) {
      group = this.#groupNames.push(name) - 1;
      this.#groupDevices.push(told.device);
      ofDevice.set(name, group);
    }
    return group;
  }

  #repeated(first: number, told: ToldTrigger, group: number, bytes: Uint8Array): AuditFinding {
    this.#repeatedIds++;
    const [cause, explanation] = this.#causeOfRepeat(first, told, group, bytes);
    return this.#finding({ finding: "repeated_id", first, told, cause, explanation });
  }

  #causeOfRepeat(first: number, told: ToldTrigger, group: number, bytes: Uint8Array): [AuditCause, string] {
    const log = this.#log;
    const apartUs = Math.abs(log.timeUs(first) - told.eventTimeUs);
    if (!this.#tellsTheSame(log.group(first), group)) {
      return [
        "key",
        "The id is at fault: two different triggers can't have one. It was made or changed by something else",
      ];
    }
    if (apartUs >= this.#bucketUs) {
      if (told.seq !== null && log.hasSeq(first)) {
        return [
          "seq_reused",
          `The seq is at fault: the producer used ${JSON.stringify(told.seq)} again for a crossing ` +
          `${
            formatDuration(apartUs)
          } away. A seq that starts again from 0 needs something that tells the runs apart`,
        ];
      }
      return [
        "key",
        `The id is at fault: events ${formatDuration(apartUs)} apart can't share a bucket of ` +
        `${formatDuration(this.#bucketUs)}. It was made with a wider one, or by something else`,
      ];
    }
    if (extrasOf(bytes).beyond_window === true) {
      return [
        "ttl",
        "The window is at fault: it came so late that its id had been forgotten (beyond_window). A longer identity.ttl " +
        "covers such delays",
      ];
    }
    if (this.#fileOf(first) !== this.#files.at(-1)?.name) {
      return [
        "two_writers",
        "Two outputs have it: two processes took the same record, each with its own window, or one output was " +
        "collected twice. Give each device one process",
      ];
    }
    return [
      "written_again",
      "It was written again: after a crash, to an output that can't be read back; from a state that was deleted or " +
      "copied; or the window was full (evicted_live in the summary: raise identity.capacity)",
    ];
  }

  /** Whether two groups are one, but for the threshold: the same DWELL may be earned by another rule. */
  #tellsTheSame(a: number, b: number): boolean {
    if (a === b) return true;
    const [nameA, nameB] = [this.#groupNames[a] as string, this.#groupNames[b] as string];
    return nameA[0] === nameB[0] && this.#groupDevices[a] === this.#groupDevices[b] &&
      nameA.slice(nameA.indexOf("|")) === nameB.slice(nameB.indexOf("|"));
  }

  #close(near: number, told: ToldTrigger): AuditFinding {
    this.#closePairs++;
    const [cause, explanation] = this.#causeOfClose(near, told);
    return this.#finding({ finding: "close_pair", first: near, told, cause, explanation });
  }

  #causeOfClose(near: number, told: ToldTrigger): [AuditCause, string] {
    const nearUs = this.#log.timeUs(near);
    const apart = formatDuration(Math.abs(nearUs - told.eventTimeUs));
    if (this.#log.hasSeq(near) !== (told.seq !== null)) {
      return [
        "seq_on_one",
        `One has a seq and the other, ${apart} away, has none, so that nothing tells that they are copies. A producer ` +
        "should send it with each copy or with none",
      ];
    }
    const bucket = formatDuration(this.#bucketUs);
    if (Math.floor(nearUs / this.#bucketUs) === Math.floor(told.eventTimeUs / this.#bucketUs)) {
      return [
        "other_widths",
        `Both are in one bucket of ${bucket}, ${apart} apart, and have different ids: they were made with another ` +
        "bucket (say --bucket), or not all by Fencepost",
      ];
    }
    return [
      "jitter",
      `They are ${apart} apart, in neighbouring buckets. If they are copies, their times jitter by more than the guard ` +
      "allows for: the bucket is too narrow, so widen identity.bucket and identity.guard, or identity.max_skew. If the " +
      "device really came back so soon, nothing is wrong",
    ];
  }

  #finding(
    { finding, first, told, cause, explanation }: Pick<AuditFinding, "finding" | "cause" | "explanation"> & {
      readonly first: number;
      readonly told: ToldTrigger;
    },
  ): AuditFinding {
    this.#causes[cause] = (this.#causes[cause] ?? 0) + 1;
    const file = this.#files.at(-1)?.name ?? "";
    return {
      finding,
      kind: KIND_OF_CODE[told.code],
      device_id: told.device,
      fence_id: told.fence,
      id: told.id,
      ...(finding === "close_pair" ? { first_id: hexOf(this.#log.lanes(first)) } : {}),
      first: {
        file: this.#fileOf(first),
        line: this.#log.line(first),
        event_time: formatTimestamp(this.#log.timeUs(first)),
      },
      again: { file, line: this.#line, event_time: formatTimestamp(told.eventTimeUs) },
      cause,
      explanation,
    };
  }

  #fileOf(row: number): string {
    return this.#files.findLast((file) => file.row <= row)?.name ?? "";
  }
}

/** What else belongs to a trigger's group: the threshold of our own DWELL, the DWELL that a RETRACT revises. */
function partOf({ code }: ToldTrigger, bytes: Uint8Array): string {
  if (code !== "D" && code !== "R") return "";
  const { dwell_s, revises } = extrasOf(bytes);
  const part = code === "D" ? dwell_s : revises;
  // Anything may stand there, and an array that is nested deep enough is more than String can take.
  return typeof part === "number" || typeof part === "string" ? String(part).replaceAll("|", "") : "";
}

function extrasOf(bytes: Uint8Array): Extras {
  return JSON.parse(decoder.decode(bytes)) as Extras;
}

function hexOf(lanes: Uint32Array): string {
  return Array.from(lanes, (word) => word.toString(16).padStart(8, "0")).join("");
}
