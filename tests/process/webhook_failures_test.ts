/**
 * The real process and receivers that don't take triggers: what is given up is a dead letter once and can be replayed, 410
 * disables, and a state whose list of outputs has changed goes on.
 *
 * @module
 */
import { deepEqual, doesNotMatch, equal, match } from "node:assert/strict";
import { join } from "node:path";
import {
  type Ended,
  inDirectory,
  linesOf,
  runFencepost,
  RunFiles,
  type StartOptions,
} from "../support/fencepost_process.ts";
import { SECRET, WebhookReceiver } from "../support/webhook_receiver.ts";

const WITH_NET: StartOptions = { permissions: ["--allow-read", "--allow-write", "--allow-net"] };
const NO_CONTENT = (): Response => new Response(null, { status: 204 });

function record(device: string, second: number): string {
  const time = new Date(Date.now() - 3_600_000 + second * 1000).toISOString();
  return JSON.stringify({ device_id: device, fence_id: "depot", kind: "ENTER", event_time: time });
}

/** A directory with an input, and runs over it with webhooks. */
class Setting {
  readonly files: RunFiles;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
    this.files = new RunFiles(directory);
  }

  async give(...records: readonly string[]): Promise<void> {
    await Deno.writeTextFile(this.files.input, records.map((line) => `${line}\n`).join(""), { append: true });
  }

  /** A webhook of the configuration. */
  async webhook(name: string, url: string, more: object = {}): Promise<object> {
    const file = join(this.#directory, "secret");
    await Deno.writeTextFile(file, SECRET);
    return { type: "webhook", name, url, secrets: [{ file }], allow_private: true, ...more };
  }

  async run(sinks: readonly object[], command: readonly string[] = []): Promise<Ended> {
    const config = join(this.#directory, "config.json");
    const { state, deadLetters } = this.files;
    await Deno.writeTextFile(
      config,
      JSON.stringify({
        checkpoint: { path: state },
        dead_letters: { type: "ndjson", path: deadLetters },
        sink: sinks.length === 1 ? sinks[0] : sinks,
      }),
    );
    const args = command.length > 0 ? command : ["run", "--input", this.files.input, "--at-eof", "hold"];
    return await runFencepost([...args, "--config", config], WITH_NET);
  }
}

interface Letter {
  readonly reason: string;
  readonly detail: string;
  readonly source: string;
  readonly record: string;
}

async function lettersOf(files: RunFiles): Promise<Letter[]> {
  return (await linesOf(files.deadLetters)).map((line) => JSON.parse(line) as Letter);
}

Deno.test("webhooks: what is given up is one dead letter, SINK_REJECTED, and replay brings it to its webhook", () =>
  inDirectory(async (directory) => {
    const setting = new Setting(directory);
    let works = false;
    const receiver = new WebhookReceiver(() => works ? NO_CONTENT() : new Response("no", { status: 500 }));
    try {
      const sinks = [await setting.webhook("erp", receiver.url, { retry_for: "0s" })];
      await setting.give(record("truck-1", 0), record("truck-2", 1), record("truck-3", 2));
      for (let starts = 0; starts < 3; starts++) {
        const { status, stderr } = await setting.run(sinks);
        equal(status, 0, stderr);
      }
      const letters = await lettersOf(setting.files);
      equal(letters.length, 3, "once, however often it is started");
      for (const { reason, detail, source, record } of letters) {
        deepEqual({ reason, detail, source }, {
          reason: "SINK_REJECTED",
          detail: "Webhook erp has given it up: status 500",
          source: "webhook:erp",
        });
        equal((JSON.parse(record) as { kind: string }).kind, "ENTER");
      }
      equal(receiver.deliveries.length, 3, "one attempt each, since they are given up at once");

      const replay = ["dead-letters", "replay"];
      const refused = await setting.run(sinks, replay);
      equal(refused.status, 1);
      match(refused.stderr, /3 not: not taken by their webhooks/);
      works = true;
      const sent = await setting.run(sinks, replay);
      equal(sent.status, 0, sent.stderr);
      match(sent.stderr, /3 triggers delivered to their webhooks/);
      equal(sent.stdout, "", "none of it is a record");
      deepEqual(receiver.deliveries.slice(-3).map(({ body }) => body), letters.map(({ record }) => record));
      deepEqual(receiver.forged, []);
    } finally {
      await receiver.close();
    }
  }));

Deno.test("webhooks: 410 disables, over a restart, until the configuration changes; nothing is lost by it", () =>
  inDirectory(async (directory) => {
    const setting = new Setting(directory);
    let gone = true;
    const receiver = new WebhookReceiver(() => gone ? new Response(null, { status: 410 }) : NO_CONTENT());
    try {
      const sinks = [await setting.webhook("erp", receiver.url, { concurrency: 1 })];
      await setting.give(record("truck-1", 0), record("truck-2", 1));
      const first = await setting.run(sinks);
      equal(first.status, 0, first.stderr);
      match(
        first.stderr,
        /Webhook erp is disabled from here on: its receiver says 410 \(gone\)\. To enable it again/,
      );
      equal(receiver.deliveries.length, 1);
      gone = false;
      await setting.give(record("truck-3", 2));
      const second = await setting.run(sinks);
      match(second.stderr, /Webhook erp is disabled: its receiver has said 410/);
      match(second.stderr, /Webhook erp: 3 triggers wait in the outbox until it is enabled/);
      equal(receiver.deliveries.length, 1, "no attempt while it is disabled");
      const changed = [await setting.webhook("erp", `${receiver.url}&again=1`, { concurrency: 1 })];
      const third = await setting.run(changed);
      match(third.stderr, /Webhook erp is enabled again: its configuration has changed/);
      // What had failed has its time; the others come at once.
      equal(receiver.ids.length, 3, third.stderr);
      deepEqual(await lettersOf(setting.files), []);
    } finally {
      await receiver.close();
    }
  }));

Deno.test("webhooks: a damaged line of the outbox is passed over and said, and holds up nothing", () =>
  inDirectory(async (directory) => {
    const setting = new Setting(directory);
    const receiver = new WebhookReceiver(NO_CONTENT);
    try {
      const sinks = [await setting.webhook("erp", receiver.url)];
      await setting.give(record("truck-1", 0));
      equal((await setting.run(sinks)).status, 0);
      // As a power cut leaves a line whose middle was not written when its end was.
      const segment = join(setting.files.state, "outbox", "0000000000000000.log");
      const line = await Deno.readTextFile(segment);
      const holed = line.replace(/"device_id".*"depot"/, (text) => "\0".repeat(text.length));
      await Deno.writeTextFile(segment, holed, { append: true });
      await setting.give(record("truck-2", 1));
      const { status, stderr } = await setting.run(sinks);
      equal(status, 0, stderr);
      match(stderr, new RegExp(`A line of the outbox, at ${line.length}, is damaged and passed over`));
      equal(receiver.ids.length, 2);
      doesNotMatch(stderr, /waits? in the outbox/);
    } finally {
      await receiver.close();
    }
  }));

Deno.test("webhooks: one is added to a state, one is removed, a file in their place: each has what was told while it was one", () =>
  inDirectory(async (directory) => {
    const setting = new Setting(directory);
    const [one, two] = [new WebhookReceiver(), new WebhookReceiver()];
    const devicesOf = ({ deliveries }: WebhookReceiver): string[] =>
      deliveries.map(({ body }) => (JSON.parse(body) as { device_id: string }).device_id).sort();
    try {
      const [first, second] = [await setting.webhook("one", one.url), await setting.webhook("two", two.url)];
      const file = { type: "ndjson", path: setting.files.output };
      await setting.give(record("truck-1", 0));
      equal((await setting.run([file])).status, 0);
      await setting.give(record("truck-2", 1));
      const added = await setting.run([file, first]);
      match(added.stderr, /The output webhooks is new: it has the triggers that are told from here on/);
      await setting.give(record("truck-3", 2));
      const another = await setting.run([file, first, second]);
      match(another.stderr, /Webhook two is new: it has the triggers that are told from here on/);
      await setting.give(record("truck-4", 3));
      const removed = await setting.run([second]);
      match(removed.stderr, /The output ndjson:.* is no longer one: nothing more is written to it/);
      match(removed.stderr, /Webhook one is no longer configured/);
      deepEqual((await linesOf(setting.files.output)).length, 3);
      deepEqual(devicesOf(one), ["truck-2", "truck-3"]);
      deepEqual(devicesOf(two), ["truck-3", "truck-4"]);
    } finally {
      await one.close();
      await two.close();
    }
  }));

Deno.test("webhooks: what can't be is refused before anything is touched, and no secret is shown", () =>
  inDirectory(async (directory) => {
    const setting = new Setting(directory);
    await setting.give(record("truck-1", 0));
    const webhook = await setting.webhook("erp", "https://127.0.0.1/secret-token", { allow_private: false });
    const { status, stderr } = await setting.run([webhook]);
    equal(status, 2);
    match(
      stderr,
      /sink\.url must be a public address, or the webhook have "allow_private": true, got 127\.0\.0\.1 \(loopback\)/,
    );
    equal(stderr.includes("secret-token"), false);
    const twice = await setting.run([webhook, webhook].map((same) => ({ ...same, allow_private: true })));
    match(twice.stderr, /sink\[1\]\.name must not be sink\[0\]\.name too/);
    await Deno.writeTextFile(join(directory, "secret"), "whsec_bm90IGxvbmcgZW5vdWdo");
    const weak = await setting.run([{ ...webhook, allow_private: true }]);
    equal(weak.status, 2 - 1);
    match(
      weak.stderr,
      /Cannot use a secret of webhook erp from .*secret: it has 15 bytes, and must have 24 to 64/,
    );
  }));
