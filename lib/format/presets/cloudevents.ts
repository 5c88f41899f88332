/**
 * CloudEvents 1.0 in structured mode, with a record of our own as their data.
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const CLOUDEVENTS: Preset = {
  name: "cloudevents",
  about: "CloudEvents 1.0 in structured mode, with a record of our own as their data",
  mapping: { native: "/data" },
  clock: "That of the record in data; the event's own time and id are not looked at.",
  skipped: "Nothing.",
  redelivery:
    "Yours to say. A producer that sends again may well make a new event id, which is why it is not used.",
  limits: [
    "Over HTTP a CloudEvent's media type is enough, and source.format stays native; in binary mode, too.",
    "data_base64 is read over HTTP only.",
  ],
};
