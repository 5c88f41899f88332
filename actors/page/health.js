// @ts-check
/**
 * Whether all is well, and why not: the field's runbook, as far as one look can tell. Values in, words out.
 *
 * The thresholds are those of the alert rules; what is there for a blink of an eye is no reason to look.
 */
import { count, duration, percent } from "./text.js";

/** @typedef {import("../adapters/http/status.ts").Status} Status */
/** @typedef {import("./samples.js").Samples} Samples */
/**
 * @typedef {object} Reason
 * @property {"ill" | "look"} level
 * @property {string} name short and without numbers: it is read out when it is new
 * @property {string} text
 */
/** @typedef {{ level: "well" | "look" | "ill", reasons: Reason[], note: string }} Health */

/** Seconds over which something is said to rise. */
const RISE_S = 60;
/** Seconds over which the share of copies is taken, and the records below which it says nothing. */
export const RATIO_S = 900;
export const RATIO_RECORDS_MIN = 1000;
/** The share of copies in a healthy stream. */
export const RATIO_LOW = 0.01;
export const RATIO_HIGH = 0.05;
/** From here on it is no producer that retries. */
const RATIO_MANY = 0.3;
/** A change may wait so many intervals, and so many seconds at least, until it is durable. */
const CHECKPOINT_INTERVALS = 20;
const CHECKPOINT_S_MIN = 10;
/** How long a trigger may wait for its webhook. */
const ENDPOINT_S = 900;
/** How far behind the wall clock, besides the lateness, while records come. */
const BEHIND_S = 60;

/**
 * @param {Status} status
 * @param {Samples} samples
 * @returns {Health}
 */
export function healthOf(status, samples) {
  /** @type {Reason[]} */
  const reasons = [
    ...readiness(status),
    ...deadlines(status),
    ...checkpoints(status),
    ...shedding(status, samples),
    ...letters(status, samples),
    ...late(samples),
    ...ratio(samples),
    ...watermarks(status, samples),
    ...mailboxes(status),
    ...windows(status),
    ...endpoints(status),
  ];
  const level = reasons.some((reason) => reason.level === "ill")
    ? "ill"
    : reasons.length > 0
    ? "look"
    : "well";
  return { level, reasons, note: noteOf(status, samples) };
}

/**
 * What to say where there is nothing to look at.
 * @param {Status} status
 * @param {Samples} samples
 * @returns {string}
 */
function noteOf(status, samples) {
  if (status.sample.read === 0) return "Ready. Nothing has come since this process began.";
  if (samples.grown("read", RISE_S) === 0) return "Ready. Nothing has come in the last minute.";
  return "Records come in, triggers leave, all of it durable.";
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function readiness({ not_ready }) {
  if (not_ready === null) return [];
  return [{ level: "ill", name: "Not ready", text: `${not_ready[0]?.toUpperCase()}${not_ready.slice(1)}` }];
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function deadlines({ splits, pending }) {
  const behind = splits.filter(({ overdue }) => overdue);
  if (behind.length === 0) return [];
  return [{
    level: "ill",
    name: "Deadlines overdue",
    text: `${count(pending.overdue)} dwells should have left in ${
      names(behind)
    }: the partitions can't keep up`,
  }];
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function checkpoints({ splits, checkpoint_interval_s }) {
  const boundS = Math.max(CHECKPOINT_S_MIN, CHECKPOINT_INTERVALS * checkpoint_interval_s);
  const old = splits.filter(({ checkpoint }) => checkpoint.age_s > boundS);
  if (old.length === 0) return [];
  const ageS = Math.max(...old.map(({ checkpoint }) => checkpoint.age_s));
  return [{
    level: "ill",
    name: "Checkpoint old",
    text: `Nothing has become durable for ${duration(ageS)} in ${
      names(old)
    }: is the disk, or the broker, slow?`,
  }];
}

/**
 * @param {Status} status
 * @param {Samples} samples
 * @returns {Reason[]}
 */
function shedding({ in_flight }, samples) {
  const refused = samples.grown("refused", RISE_S);
  if (refused === 0) return [];
  const limit = in_flight === null ? "" : `; ${count(in_flight.limit)} may be in flight`;
  return [{
    level: "look",
    name: "Shedding",
    text: `${count(refused)} records were refused in the last minute${limit}. Clients send them again`,
  }];
}

/**
 * @param {Status} status
 * @param {Samples} samples
 * @returns {Reason[]}
 */
function letters({ dead_letters }, samples) {
  const risen = samples.grown("dead_lettered", RISE_S);
  if (risen === 0) return [];
  const [most] = Object.entries(dead_letters).sort(([, a], [, b]) => b - a);
  const which = most === undefined ? "" : `; most of all so far are ${most[0]}`;
  return [{
    level: "look",
    name: "Dead letters rise",
    text: `${count(risen)} in the last minute${which}. The latest are at the foot of this page`,
  }];
}

/**
 * @param {Samples} samples
 * @returns {Reason[]}
 */
function late(samples) {
  const received = samples.grown("received", RISE_S);
  const share = samples.grown("late", RISE_S) / Math.max(1, received);
  if (received < RATIO_RECORDS_MIN || share <= RATIO_HIGH) return [];
  return [{
    level: "look",
    name: "Late records",
    text: `${
      percent(share)
    } of the last minute's records came behind the watermark: is dwell.lateness too small?`,
  }];
}

/**
 * The share of copies over the last quarter of an hour; null where there are too few records to tell.
 * @param {Samples} samples
 * @returns {number | null}
 */
export function suppressedRatio(samples) {
  const received = samples.grown("received", RATIO_S);
  return received < RATIO_RECORDS_MIN ? null : samples.grown("suppressed", RATIO_S) / received;
}

/**
 * @param {Samples} samples
 * @returns {Reason[]}
 */
function ratio(samples) {
  const share = suppressedRatio(samples);
  if (share === null || (share >= RATIO_LOW && share <= RATIO_HIGH)) return [];
  const usual = "1 to 5 % are usual";
  const text = share > RATIO_MANY
    ? `${percent(share)} are copies, ${usual}: somebody sends all of it again`
    : share > RATIO_HIGH
    ? `${percent(share)} are copies, ${usual}: do producers retry too soon, or are answers late?`
    : `${share === 0 ? "Not one is a copy" : `${percent(share)} are copies`}, ${usual}: ` +
      "has a producer stopped to retry, or does an id change between two attempts?";
  return [{ level: "look", name: "Suppressed ratio", text }];
}

/**
 * @param {Status} status
 * @param {Samples} samples
 * @returns {Reason[]}
 */
function watermarks({ splits, sample, lateness_s }, samples) {
  if (samples.grown("read", RISE_S) === 0) return [];
  const behind = splits.filter(({ watermark, following }) =>
    watermark !== null && !following && sample.at - watermark > (lateness_s + BEHIND_S) * 1000
  );
  if (behind.length === 0) return [];
  const lagS = Math.max(...behind.map(({ watermark }) => (sample.at - (watermark ?? 0)) / 1000));
  return [{
    level: "look",
    name: "Watermark behind",
    text: `${duration(lagS)} behind the wall clock in ${
      names(behind)
    }: old records, or one device's slow clock`,
  }];
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function mailboxes({ splits }) {
  const full = splits.filter(({ mailboxes, mailbox_capacity }) =>
    Math.max(0, ...mailboxes) > mailbox_capacity / 2
  );
  if (full.length === 0) return [];
  return [{
    level: "look",
    name: "Mailboxes high",
    text: `More than half full in ${
      names(full)
    }: the outputs or the partitions are slower than what comes in`,
  }];
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function windows({ splits }) {
  const evicted = splits.reduce((sum, { window }) => sum + window.evicted_live, 0);
  if (evicted === 0) return [];
  return [{
    level: "look",
    name: "Window too small",
    text:
      `${count(evicted)} ids left the dedup window before their time: a copy of them would be told again. ` +
      "Raise identity.capacity",
  }];
}

/**
 * @param {Status} status
 * @returns {Reason[]}
 */
function endpoints({ endpoints }) {
  /** @type {Reason[]} */
  const reasons = [];
  for (const { name, disabled, down, pending, oldest_pending_s } of endpoints) {
    const oldestS = oldest_pending_s ?? 0;
    if (disabled) {
      reasons.push({
        level: "ill",
        name: "Webhook disabled",
        text: `${name} has said that it is gone (410)`,
      });
    } else if (down || oldestS > ENDPOINT_S) {
      const state = down ? "does not take what it is sent" : "is slower than what is told";
      const text = `${name} ${state}: ${count(pending)} wait, the oldest for ${duration(oldestS)}`;
      reasons.push({ level: "look", name: "Webhook behind", text });
    }
  }
  return reasons;
}

/**
 * @param {readonly { readonly name: string }[]} splits
 * @returns {string}
 */
function names(splits) {
  const [first] = splits;
  return splits.length === 1 ? first?.name ?? "" : `${splits.length} splits`;
}
