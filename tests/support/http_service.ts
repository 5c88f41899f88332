/**
 * The service as a real process, for tests: started on a free port, asked over loopback.
 *
 * @module
 */
import type { TransitionsAnswer } from "../../actors/adapters/http/transitions.ts";
import { type Ended, type Started, startFencepost } from "./fencepost_process.ts";

/** What `deno task serve` may do. */
const PERMISSIONS = ["--allow-read", "--allow-write", "--allow-net", "--allow-env"];

/** See the module's header. */
export class RunningService {
  readonly url: string;
  readonly started: Started;

  private constructor(started: Started, url: string) {
    this.started = started;
    this.url = url;
  }

  /** Starts it, and waits until it is ready, or only until it listens; by a shell, where it is given what that runs. */
  static async start(
    args: readonly string[],
    environment: Readonly<Record<string, string>> = {},
    until: "ready" | "listening" = "ready",
    shell?: string,
  ): Promise<RunningService> {
    const said = Promise.withResolvers<string>();
    const started = startFencepost(["serve", "--listen", "127.0.0.1:0", ...args], {
      permissions: PERMISSIONS,
      environment,
      ...(shell === undefined ? {} : { shell }),
      onStderr: (text) => {
        const found = /Listening on (\S+)/.exec(text);
        if (found !== null) said.resolve(found[1] as string);
      },
    });
    started.ended.then(({ status, stderr }) =>
      said.reject(new Error(`The service ended with ${status}: ${stderr}`))
    );
    const service = new RunningService(started, await said.promise);
    if (until === "ready") await service.whenReady();
    return service;
  }

  /** Resolves when it takes requests. */
  async whenReady(): Promise<void> {
    for (;;) {
      const response = await fetch(`${this.url}/readyz`);
      await response.body?.cancel();
      if (response.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** Sends transitions. */
  async post(
    body: string | Uint8Array<ArrayBuffer>,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    return await fetch(`${this.url}/v1/transitions`, {
      method: "POST",
      headers: { "content-type": "application/x-ndjson", ...headers },
      body,
    });
  }

  /** Sends lines, and returns what the answer says. */
  async send(lines: readonly string[], headers: Record<string, string> = {}): Promise<Answered> {
    const response = await this.post(lines.map((line) => `${line}\n`).join(""), headers);
    return {
      status: response.status,
      headers: response.headers,
      ...await response.json() as TransitionsAnswer,
    };
  }

  /** Ends it as an operator does. */
  async stop(): Promise<Ended> {
    this.started.child.kill("SIGTERM");
    return await this.started.ended;
  }

  /** Ends it without giving it a chance to tidy up. */
  async kill(): Promise<Ended> {
    this.started.child.kill("SIGKILL");
    return await this.started.ended;
  }
}

/** An answer with its status. */
export interface Answered extends TransitionsAnswer {
  readonly status: number;
  readonly headers: Headers;
}
