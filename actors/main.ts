/**
 * The entry: the command line to a command, its outcome to an exit status.
 *
 * | status | |
 * |---|---|
 * | 0 | done |
 * | 1 | failed while running: one line on stderr says with what; a start later goes on from the last checkpoint |
 * | 2 | wrong usage or configuration: nothing was touched |
 *
 * @module
 */
import type { Config } from "../lib/config.ts";
import { ConfigError } from "../lib/config_fields.ts";
import { VERSION } from "../lib/version.ts";
import { isSameFile } from "./adapters/distinct_files.ts";
import { LineReader } from "./adapters/line_reader.ts";
import { NdjsonReplayTarget } from "./adapters/ndjson_replay_target.ts";
import { SystemClock } from "./adapters/system_clock.ts";
import { endAtSignals, onSignal, readLines, say, write } from "./adapters/system_process.ts";
import { parseArguments } from "./commands/arguments.ts";
import { audit } from "./commands/audit.ts";
import { loadConfig, loadConfigJson } from "./commands/configuration.ts";
import type { DeadLettersEnvironment } from "./commands/dead_letters_input.ts";
import { UsageError } from "./commands/flags.ts";
import { explain } from "./commands/explain.ts";
import { formatsText } from "./commands/formats.ts";
import { helpText } from "./commands/help.ts";
import { key } from "./commands/key.ts";
import { listDeadLetters } from "./commands/list_dead_letters.ts";
import { replayDeadLetters } from "./commands/replay_dead_letters.ts";
import { alertsYaml } from "./commands/ops_alerts.ts";
import { grafanaJson } from "./commands/ops_grafana.ts";
import { planCommand } from "./commands/plan.ts";
import { printConfig, run } from "./commands/run.ts";
import { StateMismatchError } from "./state_identity.ts";

/** What is wrong with the command line or the configuration, its state's one included. */
const REFUSALS = [UsageError, ConfigError, StateMismatchError] as const;

/** Runs a command line; returns the exit status. */
async function main(words: readonly string[]): Promise<number> {
  const asked = parseArguments(words);
  // What it loads before it can be told to stop takes half a second.
  if (asked.command === "run") endAtSignals();
  const config = "config" in asked ? await loadConfig(asked.config, Deno.readTextFile) : null;
  switch (asked.command) {
    case "help":
      await write(helpText(asked.of));
      return 0;
    case "version":
      await write(`fencepost ${VERSION}\n`);
      return 0;
    case "audit":
      return await audit(asked, { readLines, isSameFile, write });
    case "explain":
      return await explain(asked, config as NonNullable<typeof config>, {
        readLines,
        write,
        wallUs: new SystemClock().wallUs(),
      });
    case "formats":
      await write(formatsText(asked.name));
      return 0;
    case "key":
      return await key(asked, (config as NonNullable<typeof config>).identity, { readLines, write, say });
    case "dead-letters list":
      return await listDeadLetters(asked, config as NonNullable<typeof config>, {
        ...deadLettersEnvironment(config as NonNullable<typeof config>),
        write,
      });
    case "dead-letters replay": {
      const inForce = config as NonNullable<typeof config>;
      const environment = deadLettersEnvironment(inForce);
      const { WebhookReplay } = await import("./adapters/webhook/webhook_replay.ts");
      return await replayDeadLetters(asked, inForce, {
        ...environment,
        target: (output) => new NdjsonReplayTarget(output),
        topicTarget: async (placeBy) => {
          const { configuredTopicTarget } = await import("./commands/dead_letters_kafka.ts");
          return await configuredTopicTarget(inForce, placeBy, environment);
        },
        webhooks: new WebhookReplay(inForce, new SystemClock()),
        isSameFile,
      });
    }
    case "plan":
      return await planCommand(asked, await loadConfigJson(asked.config, Deno.readTextFile), { write, say });
    case "ops alerts":
      await write(alertsYaml({ job: asked.job, config: config as NonNullable<typeof config> }));
      return 0;
    case "ops grafana":
      await write(grafanaJson());
      return 0;
    case "run": {
      const inForce = config as NonNullable<typeof config>;
      if (asked.printConfig) {
        await write(printConfig(inForce));
        return 0;
      }
      return await run({ config: inForce, summary: asked.summary }, {
        clock: new SystemClock(),
        say,
        terminal: Deno.stderr.isTerminal(),
        onSignal,
        exit: Deno.exit,
      });
    }
  }
}

function deadLettersEnvironment(config: Config): DeadLettersEnvironment {
  const wallUs = new SystemClock().wallUs();
  return {
    open: LineReader.open,
    openTopic: async () => {
      const { openConfiguredTopic } = await import("./commands/dead_letters_kafka.ts");
      return await openConfiguredTopic(config, { say, wallUs });
    },
    wallUs,
    say,
  };
}

/** One line that says what went wrong, with its causes. */
function oneLine(error: unknown): string {
  const parts: string[] = [];
  for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
    if (!parts.some((part) => part.includes((cause as Error).message))) parts.push(cause.message);
  }
  return (parts.length === 0 ? String(error) : parts.join(": ")).replaceAll(/\s*\n\s*/g, " ");
}

if (import.meta.main) {
  let status: number;
  try {
    status = await main(Deno.args);
  } catch (error) {
    status = REFUSALS.some((kind) => error instanceof kind) ? 2 : 1;
    say(`fencepost: ${oneLine(error)}\n`);
  }
  // A read of an idle pipe can't be taken back and would keep the process alive.
  Deno.exit(status);
}
