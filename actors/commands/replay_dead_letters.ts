/**
 * `fencepost dead-letters replay`: sends the records of dead letters again, byte for byte.
 *
 * ```
 *   files or topic ──▶ asked for? ──▶ lib/replay.ts ──▶ can the target carry it? ──▶ file, pipe or topic
 *                                         └────────────────┴─▶ a line on stderr that says why not, and a count
 * ```
 *
 * Triggers that a webhook has given up go to that webhook, whatever else is asked for: there is nowhere else for them.
 *
 * Where the source of the configuration is a topic they go there, unless an output is given. To stdout go the records
 * alone, so that `… | fencepost run` works. They are not taken out of the dead letters: that is
 * a log, and what was sent twice is known by its id.
 *
 * @module
 */
import type { Config } from "../../lib/config.ts";
import type { StoredDeadLetter } from "../../lib/dead_letter_line.ts";
import { ReplayJudge, type ReplayRefusal } from "../../lib/replay.ts";
import type { PlaceBy } from "../../lib/replay_place.ts";
import { webhookOfLetter } from "../../lib/webhook_letter.ts";
import type { WebhookReplay } from "../adapters/webhook/webhook_replay.ts";
import type { ReplayTarget } from "../replay_target.ts";
import { counted } from "./counted.ts";
import type { ReplayDeadLettersArguments } from "./dead_letters_arguments.ts";
import {
  type DeadLettersEnvironment,
  DeadLettersInput,
  type FoundDeadLetter,
  placeText,
} from "./dead_letters_input.ts";
import { UsageError } from "./flags.ts";
import { printable } from "./printable.ts";

/** What the command needs of the process it runs in. */
export interface ReplayEnvironment extends DeadLettersEnvironment {
  /** The target for `--output`. */
  readonly target: (output: string) => ReplayTarget;
  /** The source's topic of the configuration. */
  readonly topicTarget: (placeBy: PlaceBy) => Promise<ReplayTarget>;
  /** The configuration's webhooks, for the triggers that they have given up. */
  readonly webhooks: Pick<WebhookReplay, "refusal" | "send" | "close">;
  /** Whether two paths lead to one file. */
  readonly isSameFile: (one: string, other: string) => Promise<boolean>;
}

/** Why a letter was not sent, for counting. */
type Because = ReplayRefusal["because"] | "target" | "webhook";

/** What the summary says of them, in its order. */
const WORDS: Readonly<Record<Because, string>> = {
  incomplete: "too large, and not kept as a whole",
  trigger: "triggers that the output refused, and no records",
  comes_back: "would only come back (--force sends them all the same)",
  older_than_ttl: "older than identity.ttl (--older-than-ttl sends them all the same)",
  target: "can't go to the output",
  webhook: "not taken by their webhooks",
};

/**
 * Runs the command.
 *
 * @returns the exit status: 1 where something was refused or was no dead letter, else 0
 * @throws {UsageError} where a file can't be opened, or the output is one of them: nothing was sent
 * @throws {Error} where the target fails
 */
export async function replayDeadLetters(
  asked: Omit<ReplayDeadLettersArguments, "command">,
  config: Pick<Config, "deadLetters" | "source" | "identity" | "emit" | "time">,
  environment: ReplayEnvironment,
): Promise<number> {
  const { wallUs, say } = environment;
  const { dryRun, force, olderThanTtl, limit } = asked;
  const input = new DeadLettersInput(asked, environment, config.deadLetters);
  const output = asked.output ?? (config.source.type === "kafka" ? null : "-");
  for (const path of input.paths) {
    if (output !== null && await environment.isSameFile(path, output)) {
      throw new UsageError(`--output must be another file than the dead letters, got ${output}`);
    }
  }
  const judge = new ReplayJudge({ config, wallUs, force, olderThanTtl });
  if (output !== null && asked.placeBy !== null) {
    throw new UsageError(
      "--partition is for records that go to a topic: source.type is no topic, or --output given",
    );
  }
  const target = output === null ? await environment.topicTarget(asked.placeBy) : environment.target(output);
  const refused = new Map<Because, number>();
  let refusedCount = 0;
  let sent = 0;
  let delivered = 0;
  const { webhooks } = environment;
  const refuse = (found: FoundDeadLetter, because: Because, why: string): void => {
    refused.set(because, (refused.get(because) ?? 0) + 1);
    if (refusedCount++ < limit) say(refusalText(found, why));
  };
  try {
    for await (const found of input.letters(() => dryRun ? Promise.resolve() : target.open())) {
      if (webhookOfLetter(found.letter) !== null) {
        const why = webhooks.refusal(found.letter) ?? (dryRun ? null : await webhooks.send(found.letter));
        if (why === null) delivered++;
        else refuse(found, "webhook", why);
        continue;
      }
      const verdict = await judged(found.letter, judge, target);
      if ("firstSeenUs" in verdict) {
        if (!dryRun) await target.send(found.letter, verdict.firstSeenUs);
        sent++;
        continue;
      }
      refuse(found, verdict.because, verdict.why);
    }
    if (!dryRun) await target.flush();
  } finally {
    target.close();
    webhooks.close();
  }
  if (refusedCount > limit) say(`fencepost: ${refusedCount - limit} refusals are not shown; see --limit\n`);
  say(summaryText({ sent, delivered, refused, damaged: input.damaged, to: target.name, dryRun }));
  return refusedCount + input.damaged > 0 ? 1 : 0;
}

/** A letter that is not sent, or when its record was first seen. That is looked up of what would be sent alone. */
async function judged(
  letter: StoredDeadLetter,
  judge: ReplayJudge,
  target: ReplayTarget,
): Promise<{ readonly because: Because; readonly why: string } | { readonly firstSeenUs: number }> {
  const refusal = judge.refusal(letter, NaN);
  if (refusal !== null) return refusal;
  const why = target.refusal(letter);
  if (why !== null) return { because: "target", why };
  const firstSeenUs = await target.firstSeenUs(letter);
  return judge.refusal(letter, firstSeenUs) ?? { firstSeenUs };
}

function refusalText(found: FoundDeadLetter, why: string): string {
  return `fencepost: ${placeText(found)} ${found.letter.reason} is not sent: ${printable(why)}\n`;
}

function summaryText(
  { sent, delivered, refused, damaged, to, dryRun }: {
    readonly sent: number;
    readonly delivered: number;
    readonly refused: ReadonlyMap<Because, number>;
    readonly damaged: number;
    readonly to: string;
    readonly dryRun: boolean;
  },
): string {
  const lines = [`${counted(sent, "record")} ${dryRun ? "would be sent" : "sent"} to ${to}`];
  if (delivered > 0) {
    const triggers = counted(delivered, "trigger");
    lines.push(`${triggers} ${dryRun ? "would be sent" : "delivered"} to their webhooks`);
  }
  for (const [because, words] of Object.entries(WORDS) as [Because, string][]) {
    const count = refused.get(because);
    if (count !== undefined) lines.push(`${count} not: ${words}`);
  }
  if (damaged > 0) lines.push(`lines that are no dead letters: ${damaged}`);
  return lines.map((line) => `fencepost: ${line}\n`).join("");
}
