/**
 * Connections to a broker that lose what a test tells them to: a request that never arrives, or an answer that never
 * comes back although the broker has done what it was asked. Then the broker is away, until the test lets it come back.
 *
 * Plugged in as kafkajs' `socketFactory`: a proxy between them would be bypassed, since brokers advertise their address.
 *
 * @module
 */
import type { ISocketFactory } from "kafkajs";
import { Buffer } from "node:buffer";
import net from "node:net";

/** Kafka's numbers of the requests that tests lose. */
export const API = { produce: 0, addPartitionsToTxn: 24, endTxn: 26 } as const;

type Listen = (event: string, listener: (data: Uint8Array) => void) => net.Socket;

/** See the module's header. */
export class LossySockets {
  /** Asked for each request what becomes of it. */
  fate: (apiKey: number) => "pass" | "lose the request" | "lose the answer" = () => "pass";
  /** Whether connections are refused. */
  away = false;
  /** How many requests or answers were lost. */
  lost = 0;

  /** For `new Kafka({ socketFactory })`. */
  readonly factory: ISocketFactory = ({ host, port, onConnect }) => {
    // Nobody listens on port 1.
    const socket = net.connect({ host, port: this.away ? 1 : port }, onConnect);
    const doomed = new Set<number>();
    const write = socket.write.bind(socket);
    socket.write = (request: Uint8Array | string) => {
      const bytes = typeof request === "string" ? Buffer.from(request, "binary") : Buffer.from(request);
      const fate = this.fate(bytes.readInt16BE(4));
      if (fate === "lose the request") return this.#lose(socket);
      if (fate === "lose the answer") doomed.add(bytes.readInt32BE(8));
      return write(bytes);
    };
    const on = socket.on.bind(socket) as Listen;
    const listen: Listen = (event, listener) => {
      if (event !== "data") return on(event, listener);
      return on(event, (data) => {
        // These answers are small: one comes in one piece, and begins it.
        if (data.length >= 8 && doomed.has(Buffer.from(data).readInt32BE(4))) this.#lose(socket);
        else listener(data);
      });
    };
    socket.on = listen as typeof socket.on;
    return socket as unknown as ReturnType<ISocketFactory>;
  };

  #lose(socket: net.Socket): false {
    this.lost++;
    this.away = true;
    this.fate = () => "pass";
    socket.destroy(Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }));
    return false;
  }
}
