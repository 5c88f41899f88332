/**
 * `fencepost run` over Kafka, as a process of its own.
 *
 * @module
 */
import type { Kafka } from "kafkajs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fencepostCommand, killAtOnce } from "../support/fencepost_process.ts";
import { valuesOf } from "../support/kafka_messages.ts";

const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];
const WAIT_MS_MAX = 60_000;

/** See the module's header. */
export class KafkaRun {
  #hasEnded = false;
  readonly #child: Deno.ChildProcess;
  readonly #ended: Promise<Deno.CommandStatus>;
  #said = "";

  private constructor(configPath: string, env: Record<string, string>) {
    const [command, ...args] = fencepostCommand(["run", "--config", configPath], PERMISSIONS);
    this.#child = new Deno.Command(command, { args, stdin: "null", stdout: "null", stderr: "piped", env })
      .spawn();
    this.#ended = Promise.all([this.#child.status, this.#listen()]).then(([status]) => {
      this.#hasEnded = true;
      return status;
    });
  }

  /** Starts it with a configuration, which it finds in the directory. */
  static async start(
    directory: string,
    config: unknown,
    env: Record<string, string> = {},
  ): Promise<KafkaRun> {
    const path = join(directory, `${crypto.randomUUID()}.json`);
    await Deno.writeTextFile(path, JSON.stringify(config));
    return new KafkaRun(path, env);
  }

  /** Waits until a topic has so many records, which it writes. */
  async until(kafka: Kafka, topic: string, count: number): Promise<void> {
    const giveUpAt = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const values = await valuesOf(kafka, topic);
      if (values.length === count) return;
      if (Date.now() > giveUpAt || values.length > count || this.#hasEnded) {
        throw new Error(
          `${values.length} records in ${topic}, and not ${count}; it says ${await this.end()}`,
        );
      }
      await delay(50);
    }
  }

  /** Waits until it has said something; how it said it. */
  async says(what: RegExp): Promise<RegExpExecArray> {
    const giveUpAt = Date.now() + WAIT_MS_MAX;
    for (;;) {
      const found = what.exec(this.#said);
      if (found !== null) return found;
      if (Date.now() > giveUpAt || this.#hasEnded) {
        throw new Error(`It has not said ${what}; it says ${await this.end()}`);
      }
      await delay(20);
    }
  }

  /** Its exit status, and what it has said, when it has ended by itself; killed where it does not. */
  async ended(): Promise<{ readonly code: number; readonly said: string }> {
    const tooLong = setTimeout(() => killAtOnce(this.#child), WAIT_MS_MAX);
    const { code } = await this.#ended;
    clearTimeout(tooLong);
    return { code, said: this.#said };
  }

  /** Tells it to end; its exit status and what it has said. */
  async end(): Promise<string> {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    const { code, said } = await this.ended();
    return `${code}: ${said}`;
  }

  /** SIGSTOP. */
  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  /** SIGCONT, after {@link pause}. */
  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** SIGKILL; resolves when it is gone. */
  async kill(): Promise<void> {
    killAtOnce(this.#child);
    await this.#ended;
  }

  async #listen(): Promise<void> {
    for await (const text of this.#child.stderr.pipeThrough(new TextDecoderStream())) this.#said += text;
  }
}
