/**
 * The short form of `deno task chaos`; its kills are those of kill_test.ts.
 *
 * @module
 */
import { deepEqual, ok } from "node:assert/strict";
import { FILE_CHAOS_DEFAULTS, runFileChaos } from "../chaos/files.ts";
import { inDirectory } from "../support/fencepost_process.ts";

Deno.test({
  name:
    "chaos: stops, restarts, full disks, lost rights, closed pipes: each trigger and each dead letter exactly once",
  // Deno can't see processes end that it has lost interest in.
  sanitizeOps: false,
  async fn() {
    await inDirectory(async (directory) => {
      const story: string[] = [];
      const short = { kills: 0, stops: 1, restarts: 2, fullDisks: 3, lostRights: 3, closedPipes: 2, seed: 7 };
      const { outcomes, skipped } = await runFileChaos({ ...FILE_CHAOS_DEFAULTS, ...short }, {
        directory,
        say: (text) => void story.push(text),
      });
      let met = 0;
      for (const { name, faults, differences, triggers, disturbances } of outcomes) {
        deepEqual([faults, differences], [[], 0], `${name}\n${story.join("\n")}`);
        ok(triggers > 5_000, `${name}: ${triggers} triggers`);
        met += disturbances;
      }
      // What a disturbance meets is the machine's: one process or another is done before.
      ok(met > outcomes.length / 2, `${met} disturbances met a process at work\n${story.join("\n")}`);
      ok(outcomes.length + skipped.length === 5, story.join("\n"));
      for (const what of skipped) {
        Deno.stderr.writeSync(new TextEncoder().encode(`SKIPPED: chaos, ${what}\n`));
      }
    });
  },
});
