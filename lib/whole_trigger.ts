/**
 * Whether a line that is read back is a trigger of ours from its first byte to its last.
 *
 * A disk, a crash and a person with an editor damage lines inside as well. One that has lost its end but not its id must
 * not pass for the trigger: it would be taken as told, be written to the other outputs in the place of the whole one, and
 * be what a webhook's receiver gets. Two look at each line, by its bytes and as JSON, and have to agree.
 *
 * @module
 */
import { parseTrigger } from "./trigger.ts";
import { TriggerLine } from "./trigger_line.ts";

const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The id of a line, with or without its `\n`; null where it is no whole trigger of ours. */
export function wholeTriggerId(line: Uint8Array): string | null {
  const told = parseTrigger(line);
  const seen = new TriggerLine();
  if (told === null || !seen.read(line, 0, line.length)) return null;
  // Of a member that is there twice, one sees the first and the other the last.
  const isSame = decoder.decode(seen.id) === told.id &&
    decoder.decode(seen.device) === told.device.toWellFormed();
  return isSame ? told.id : null;
}
