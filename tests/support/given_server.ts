/**
 * Somebody else's server, which a variable of the environment names: it is used, and neither stopped nor killed.
 *
 * @module
 */

/** What may be done to a server that the tests use. */
export interface TestServer {
  /** Whether it was started here, and may be killed. */
  readonly isOurs: boolean;
  /** Ends it for good, and removes its data. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** Starts it again after {@link kill}, on the same port and data. */
  restart(): Promise<void>;
}

/** See the module's header. */
export class GivenServer implements TestServer {
  readonly isOurs = false;
  readonly #variable: string;

  /** @param variable its name */
  constructor(variable: string) {
    this.#variable = variable;
  }

  stop(): Promise<void> {
    return Promise.resolve();
  }

  kill(): Promise<void> {
    return Promise.reject(new Error(`The server of ${this.#variable} is not ours to kill`));
  }

  restart(): Promise<void> {
    return Promise.reject(new Error(`The server of ${this.#variable} is not ours to start`));
  }
}
