/**
 * Where the state is, by what `checkpoint.path` says.
 *
 * ```
 *   kafka:fleet-state            a topic
 *   https://kv.example:4512      a Deno KV server
 *   /var/lib/fencepost, C:\fleet a directory of this host
 * ```
 *
 * @module
 */

/** See the module's header. */
export type StatePlace =
  | { readonly type: "topic"; readonly topic: string }
  | { readonly type: "server"; readonly url: string }
  | { readonly type: "directory"; readonly path: string };

/** What the path of a topic begins with. */
export const STATE_TOPIC = "kafka:";

/** Reads a `checkpoint.path`; any text is one. */
export function statePlaceOf(path: string): StatePlace {
  if (path.startsWith(STATE_TOPIC)) return { type: "topic", topic: path.slice(STATE_TOPIC.length) };
  if (/^https?:/.test(path)) return { type: "server", url: path };
  return { type: "directory", path };
}
