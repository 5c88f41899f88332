import { Buffer } from "node:buffer";

/** 32 hexadecimal digits, in one piece. */
export function hexOf(lanes: Int32Array): string {
  return Buffer.from(lanes.buffer, lanes.byteOffset, lanes.byteLength).toString("hex");
}
