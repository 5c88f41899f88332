/**
 * The quickened encoder writes what kafkajs' own does, byte for byte.
 *
 * @module
 */
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createRequire } from "node:module";
import {
  type EncoderClass,
  type EncoderMethods,
  quickenEncoder,
} from "../../actors/adapters/kafka/quicken_encoder.ts";

interface Encoder extends EncoderMethods {
  readonly buffer: Uint8Array;
  writeVarInt(value: number): this;
  writeVarIntBytes(value: Uint8Array | string | null): this;
}
type Class = EncoderClass & {
  new (size?: number): Encoder;
  sizeOfVarInt(value: number): number;
};

const require = createRequire(import.meta.url);
const PATH = "kafkajs/src/protocol/encoder.js";

/** kafkajs' class as it is on the disk, one that nobody has changed. */
function load(): Class {
  const path = require.resolve(PATH);
  const known = require.cache[path];
  delete require.cache[path];
  const fresh = require(PATH) as Class;
  if (known !== undefined) require.cache[path] = known;
  return fresh;
}

const own = load();
const quick = load();
quickenEncoder(quick);

const NUMBERS = [0, 1, 63, 64, 127, 128, 300, 8191, 8192, 2 ** 20, 2 ** 29 - 1, 2 ** 29, 2 ** 30 - 1];
const MORE = [2 ** 30, 2 ** 31 - 1, -1, -64, -65, -(2 ** 31)];

Deno.test("quicken_encoder: numbers of variable length, also where the buffer is full", () => {
  ok(own !== quick && own.prototype.writeUVarInt !== quick.prototype.writeUVarInt);
  for (const value of [...NUMBERS, ...MORE]) {
    for (const size of [1, 2, 511]) {
      const written = [own, quick].map((encoder) => {
        const { buffer } = new encoder(size).writeVarInt(value).writeUVarInt(value).writeVarInt(-value);
        return [...buffer];
      });
      deepStrictEqual(written[1], written[0], `${value} in ${size}`);
    }
  }
});

Deno.test("quicken_encoder: long numbers, those of 64 bits too", () => {
  for (const value of [...NUMBERS, ...MORE, 2 ** 31, 2 ** 40, 2 ** 53, -(2 ** 40), 1_764_700_000_000]) {
    deepStrictEqual(
      [...new quick().writeVarLong(value).buffer],
      [...new own().writeVarLong(value).buffer],
      String(value),
    );
    strictEqual(quick.sizeOfVarLong(value), own.sizeOfVarLong(value), String(value));
  }
});

Deno.test("quicken_encoder: bytes and text that outgrow the buffer", () => {
  for (const content of [null, "", "häuser", "x".repeat(5000), Buffer.alloc(70_000, 7), Buffer.alloc(0)]) {
    deepStrictEqual(
      [...new quick(8).writeVarIntBytes(content).writeVarInt(9).buffer],
      [...new own(8).writeVarIntBytes(content).writeVarInt(9).buffer],
    );
  }
});
