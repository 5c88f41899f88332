/**
 * Formats as their users see them: real processes over the producers' samples, in files and over HTTP.
 *
 * @module
 */
import { deepEqual, equal, match } from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inDirectory, linesOf, runFencepost } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { kindsOf, reasonsOf, runTest, summaryOf } from "../support/run_case.ts";

const NOW_MS = Date.now();

function sample(name: string): string {
  return fileURLToPath(new URL(`../fixtures/formats/${name}`, import.meta.url));
}

runTest(
  "run --format: a producer's messages in, triggers out, and what is none is counted",
  async (files) => {
    await Deno.copyFile(sample("owntracks-transition.ndjson"), files.input);
    const format = { preset: "owntracks", device_id: { const: "jane/phone" } };
    const args = [...files.args, "--set", `source.format=${JSON.stringify(format)}`, "--summary", "json"];
    const ended = await runFencepost(args);
    equal(ended.status, 0, ended.stderr);
    // A whole second is more than the default guard, and it says what would fit.
    match(
      ended.stderr,
      /Event times come in steps of 1s, and identity\.guard \(200ms\).*identity\.bucket 4s/,
    );
    const summary = summaryOf({ ...ended, stderr: ended.stderr.slice(ended.stderr.indexOf('{"read"')) });
    deepEqual([summary["read"], summary["skipped"]], [5, 2]);
    deepEqual((await kindsOf(files.output)).toSorted(), ["ENTER", "ENTER", "EXIT"]);
    deepEqual(await reasonsOf(files.deadLetters), []);
  },
);

runTest("run --format: an unknown name is refused with the one that was meant", async (files) => {
  await Deno.copyFile(sample("tile38-hook.ndjson"), files.input);
  const { status, stderr } = await runFencepost([...files.args, "--format", "tile-38"]);
  equal(status, 2);
  match(stderr, /source\.format must be the name of a preset.*did you mean tile38\?/);
});

function actions(list: readonly (readonly [device: unknown, type: string, secondsAgo: number])[]): string {
  return JSON.stringify({
    appKey: "K",
    regionActions: list.map(([deviceId, regionActionType, secondsAgo]) => ({
      deviceId,
      regionId: "hall",
      regionActionType,
      timestamp: NOW_MS - secondsAgo * 1000,
    })),
  });
}

Deno.test("serve, format: an outcome a message, and its bad crossing is a dead letter beside the good ones", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state, "--format", "crowdconnected"]);
    const messages = [
      actions([["a", "ENTRY", 60], ["b", "ENTRY", 59]]),
      actions([["c", "ENTRY", 58], [7, "EXIT", 57], ["d", "INSIDE", 56]]),
      actions([]),
      "{",
      actions([["a", "ENTRY", 60]]),
      actions([["a", "ENTRY", 60], ["a", "EXIT", 50]]),
    ];
    const answer = await service.send(messages);
    equal(answer.status, 200);
    deepEqual(answer.outcomes, [
      "accepted",
      "dead_lettered",
      "skipped",
      "dead_lettered",
      "suppressed",
      "accepted",
    ]);
    deepEqual(
      [answer.taken, answer.accepted, answer.suppressed, answer.dead_lettered, answer.skipped],
      [6, 2, 1, 2, 1],
    );
    deepEqual(answer.dead_letters.map(({ record, reason }) => [record, reason]), [
      [2, "INVALID_ID"],
      [2, "INVALID_KIND"],
      [4, "MALFORMED_JSON"],
    ]);
    match(answer.dead_letters[0]?.detail ?? "", /^\/regionActions\/1: device_id \(\/deviceId\) must be/);
    // What was answered is durable, all of a message or nothing.
    await service.kill();
    const again = await RunningService.start(["--state", state, "--format", "crowdconnected"]);
    deepEqual((await again.send(messages.slice(0, 1))).outcomes, ["suppressed"]);
    const metrics = await (await fetch(`${again.url}/metrics`)).text();
    match(metrics, /^fencepost_skipped_total(\{.*\})? 0$/m);
    const { status, stderr } = await again.stop();
    equal(status, 0, stderr);
    const triggers = (await linesOf(join(state, "triggers.ndjson"))).map((line) => JSON.parse(line));
    deepEqual(triggers.map(({ kind, device_id }) => `${kind} ${device_id}`).toSorted(), [
      "ENTER a",
      "ENTER b",
      "ENTER c",
      "EXIT a",
    ]);
    const letters = (await linesOf(join(state, "dead-letters.ndjson"))).map((line) => JSON.parse(line));
    deepEqual(letters.map(({ position }) => [position.record, position.part?.pointer ?? null]), [
      [2, "/regionActions/1"],
      [2, "/regionActions/2"],
      [4, null],
    ]);
  });
});

Deno.test("serve, format: headers say which device it is, and an envelope is part of the message", async () => {
  await inDirectory(async (directory) => {
    const state = join(directory, "state");
    const service = await RunningService.start(["--state", state, "--format", "owntracks"]);
    const tst = Math.floor(NOW_MS / 1000) - 30;
    const body = JSON.stringify({ _type: "transition", tst, event: "enter", rid: "f7676c" });
    const headers = { "content-type": "application/json", "X-Limit-U": "jane", "X-Limit-D": "phone" };
    deepEqual((await (await service.post(body, headers)).json()).outcomes, ["accepted"]);
    const nobody = { "content-type": "application/json" };
    deepEqual((await (await service.post(body, nobody)).json()).outcomes, ["dead_lettered"]);
    equal((await service.stop()).status, 0);
    const [trigger] = (await linesOf(join(state, "triggers.ndjson"))).map((line) => JSON.parse(line));
    equal(trigger.device_id, "jane/phone");
  });
  await inDirectory(async (directory) => {
    const service = await RunningService.start([
      ...["--state", join(directory, "state"), "--format", "azure-maps"],
      ...["--set", "time.max_age=36500d"],
    ]);
    const body = await Deno.readTextFile(sample("azure-maps-geofence.json"));
    for (const type of ["application/cloudevents+json", "application/json"]) {
      const answer = await (await service.post(body, { "content-type": type })).json();
      deepEqual(answer.outcomes, [type === "application/json" ? "suppressed" : "accepted"]);
    }
    equal((await service.stop()).status, 0);
  });
});

Deno.test("explain: of each message what it becomes, with its id, and counts; no state is touched", async () => {
  await inDirectory(async (directory) => {
    const asked = ["explain", "--format", "radar", sample("radar-webhook.json")];
    const { status, stdout, stderr } = await runFencepost(asked, { directory });
    equal(status, 0, stderr);
    match(
      stdout,
      /^1 \/events\/0 {2}ENTER "A0000000-.*" "66a1f0.*f1" 2026-05-04T08:00:10\.535000Z {2}id [0-9a-f]{32}$/m,
    );
    match(stdout, /^1 message: transitions: 1 ENTER, 1 DWELL, 1 EXIT; skipped: 0; dead letters: none$/m);
    deepEqual([...Deno.readDirSync(directory)], []);
    const own = await runFencepost(["explain", sample("native.ndjson")], { directory });
    equal(own.status, 1);
    match(own.stdout, /^2 {5}INVALID_KIND: kind must be ENTER/m);
  });
});

Deno.test("formats: the list, a page, and a name that is none", async () => {
  const list = await runFencepost(["formats"]);
  deepEqual([list.status, list.stdout.split("\n").length > 14], [0, true]);
  const page = await runFencepost(["formats", "tile38"]);
  match(page.stdout, /"del":"STALE"/);
  match(page.stdout, /^Redelivery +A hook sends one event a POST/m);
  const none = await runFencepost(["formats", "tyle38"]);
  equal(none.status, 2);
  match(none.stderr, /did you mean tile38\?/);
});
