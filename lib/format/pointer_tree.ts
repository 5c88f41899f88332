/**
 * Finds the values of several JSON Pointers in one walk over a message's bytes. Nothing is built.
 *
 * ```
 *   /event/type          {"event":{"id":7,"type":"enter",…},"position":{…},…}
 *   /event/eventTime            ▼              ▼             ▼
 *   /device/uniqueId         descend     slot 0: bytes     skipped, whatever is in it
 * ```
 *
 * The bytes are known to be valid JSON, so brackets only have to be counted. A walk goes no deeper than the pointers do:
 * what nobody asked for is passed over in a loop. Of members with one name the last one counts, as `JSON.parse` has it.
 * Names are compared and never looked up in an object, so `__proto__` is one like any other.
 *
 * Not `JSON.parse` and property reads: that takes twice as long, loses the digits of numbers, and the text of attributes.
 *
 * @module
 */
import { GIVE_UP, isSpace, plainValueEnd, skipSpace } from "../plain_json.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What a byte means to whoever counts brackets. */
const OTHER = 0;
const STRING = 1;
const OPEN = 2;
const CLOSE = 3;
const MEANING = new Uint8Array(256);
MEANING[QUOTE] = STRING;
MEANING[OPEN_BRACE] = MEANING[OPEN_BRACKET] = OPEN;
MEANING[CLOSE_BRACE] = MEANING[CLOSE_BRACKET] = CLOSE;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

interface Node {
  /** The step that leads here, as text, as UTF-8, and as an array's index, −1 where it is none. */
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly index: number;
  readonly children: Node[];
  /** Where the value goes; −1 where nobody asked for it. */
  slot: number;
}

/** Where the values lie that were found: `bytes[starts[slot] .. ends[slot])`; `ends` is 0 of what is not there. */
export class Slots {
  /** Where each begins. */
  readonly starts: Int32Array;
  /** Where each ends. */
  readonly ends: Int32Array;

  /** Room for so many, none found. */
  constructor(count: number) {
    this.starts = new Int32Array(count);
    this.ends = new Int32Array(count);
  }
}

/** See the module's header. Holds the pointers, not what was found. */
export class PointerTree {
  readonly #root: Node = node("");
  /** How many different pointers there are. */
  slotCount = 0;

  /** Adds a pointer by its steps; returns its slot, the same for the same pointer. */
  add(steps: readonly string[]): number {
    let at = this.#root;
    for (const step of steps) {
      let child = at.children.find(({ name }) => name === step);
      if (child === undefined) {
        child = node(step);
        at.children.push(child);
      }
      at = child;
    }
    if (at.slot < 0) at.slot = this.slotCount++;
    return at.slot;
  }

  /**
   * Finds the pointers' values.
   *
   * @param bytes from `at` on have a value in valid JSON
   */
  scan(bytes: Uint8Array, at: number, slots: Slots): void {
    this.#walk(bytes, at, bytes.length, slots, skipValue);
  }

  /**
   * Finds the pointers' values in what may be JSON or not, and checks that it is.
   *
   * @returns whether it is for certain: what is not plain enough to tell has to be parsed, and scanned once more
   */
  scanUnchecked(bytes: Uint8Array, start: number, end: number, slots: Slots): boolean {
    while (end > start && isSpace(bytes[end - 1] as number)) end--;
    const last = bytes[end - 1];
    // Nothing reads past a closing bracket but the loops over strings, which know the end.
    if (end === start || last !== CLOSE_BRACE && last !== CLOSE_BRACKET) return false;
    return this.#walk(bytes, start, end, slots, plainValue) === end;
  }

  #walk(bytes: Uint8Array, at: number, end: number, slots: Slots, skip: Skip): number {
    const { ends } = slots;
    for (let slot = 0; slot < ends.length; slot++) ends[slot] = 0;
    return visit(this.#root, bytes, skipSpace(bytes, at), { end, slots, skip });
  }
}

/** What is behind a value that nobody asked for; {@link GIVE_UP} where it is none for certain. */
type Skip = (bytes: Uint8Array, at: number, end: number) => number;

interface Walk {
  readonly end: number;
  readonly slots: Slots;
  readonly skip: Skip;
}

function plainValue(bytes: Uint8Array, at: number, end: number): number {
  return plainValueEnd(bytes, at, end, "any");
}

function node(name: string): Node {
  const index = /^(0|[1-9][0-9]{0,8})$/.test(name) ? Number(name) : -1;
  return { name, bytes: encoder.encode(name), index, children: [], slot: -1 };
}

/** Notes a value and what is asked for below it; returns where it ends. */
function visit(node: Node, bytes: Uint8Array, at: number, walk: Walk): number {
  let end: number;
  if (node.children.length === 0) end = walk.skip(bytes, at, walk.end);
  else if (bytes[at] === OPEN_BRACE) end = visitMembers(node, bytes, at, walk);
  else if (bytes[at] === OPEN_BRACKET) end = visitElements(node, bytes, at, walk);
  else end = walk.skip(bytes, at, walk.end);
  if (node.slot >= 0 && end >= 0) {
    walk.slots.starts[node.slot] = at;
    walk.slots.ends[node.slot] = end;
  }
  return end;
}

function visitMembers(node: Node, bytes: Uint8Array, at: number, walk: Walk): number {
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACE) return at + 1;
  for (;;) {
    if (bytes[at] !== QUOTE) return GIVE_UP;
    const keyEnd = walk.skip(bytes, at, walk.end);
    if (keyEnd < 0) return GIVE_UP;
    const child = childNamed(node, bytes, at + 1, keyEnd - 1);
    at = skipSpace(bytes, keyEnd);
    if (bytes[at] !== COLON) return GIVE_UP;
    at = skipSpace(bytes, at + 1);
    if (child === null) {
      at = walk.skip(bytes, at, walk.end);
    } else {
      // Of an earlier member with this name nothing may be left.
      if (child.children.length > 0) forget(child, walk.slots);
      at = visit(child, bytes, at, walk);
    }
    if (at < 0) return GIVE_UP;
    at = skipSpace(bytes, at);
    if (bytes[at] === CLOSE_BRACE) return at + 1;
    if (bytes[at] !== COMMA) return GIVE_UP;
    at = skipSpace(bytes, at + 1);
  }
}

function visitElements(node: Node, bytes: Uint8Array, at: number, walk: Walk): number {
  if (node.children.every(({ index }) => index < 0)) return walk.skip(bytes, at, walk.end);
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === CLOSE_BRACKET) return at + 1;
  for (let i = 0;; i++) {
    const child = node.children.find(({ index }) => index === i);
    at = child === undefined ? walk.skip(bytes, at, walk.end) : visit(child, bytes, at, walk);
    if (at < 0) return GIVE_UP;
    at = skipSpace(bytes, at);
    if (bytes[at] === CLOSE_BRACKET) return at + 1;
    if (bytes[at] !== COMMA) return GIVE_UP;
    at = skipSpace(bytes, at + 1);
  }
}

function childNamed(node: Node, bytes: Uint8Array, start: number, end: number): Node | null {
  const length = end - start;
  search: for (const child of node.children) {
    const name = child.bytes;
    if (name.length !== length) continue;
    for (let i = 0; i < length; i++) {
      if (bytes[start + i] !== name[i]) continue search;
    }
    // A name with a backslash in it is escaped in the message, and can't be this one.
    return child.name.includes("\\") ? null : child;
  }
  for (let at = start; at < end; at++) {
    if (bytes[at] !== BACKSLASH) continue;
    const text: unknown = JSON.parse(decoder.decode(bytes.subarray(start - 1, end + 1)));
    return node.children.find(({ name }) => name === text) ?? null;
  }
  return null;
}

function forget(node: Node, slots: Slots): void {
  for (const child of node.children) {
    if (child.slot >= 0) slots.ends[child.slot] = 0;
    forget(child, slots);
  }
}

/** What is behind the string whose quote is at `at`. */
function stringEnd(bytes: Uint8Array, at: number): number {
  for (at++; bytes[at] !== QUOTE; at++) {
    if (bytes[at] === BACKSLASH) at++;
  }
  return at + 1;
}

/** What is behind a value of valid JSON. */
export function skipValue(bytes: Uint8Array, at: number): number {
  const meaning = MEANING[bytes[at] as number];
  if (meaning === STRING) return stringEnd(bytes, at);
  if (meaning !== OPEN) {
    while (at < bytes.length && !endsScalar(bytes[at] as number)) at++;
    return at;
  }
  let depth = 0;
  for (;;) {
    switch (MEANING[bytes[at] as number]) {
      case STRING:
        at = stringEnd(bytes, at);
        continue;
      case OPEN:
        depth++;
        break;
      case CLOSE:
        if (--depth === 0) return at + 1;
        break;
      case OTHER:
    }
    at++;
  }
}

function endsScalar(byte: number): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte);
}
