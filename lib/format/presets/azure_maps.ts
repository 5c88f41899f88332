/**
 * Azure Maps, geofence events through Event Grid (CloudEvents or Event Grid's schema).
 *
 * @module
 */
import type { Preset } from "../preset.ts";

/** See the module's header. */
export const AZURE_MAPS: Preset = {
  name: "azure-maps",
  about: "Azure Maps, geofence events through Event Grid (CloudEvents or Event Grid's schema)",
  mapping: {
    records: "/data/geometries",
    device_id: "/deviceId",
    fence_id: { join: ["/udId", "/geometryId"], with: "/" },
    kind: [{ message: "/type" }, { message: "/eventType" }],
    kinds: {
      "Microsoft.Maps.GeofenceEntered": "ENTER",
      "Microsoft.Maps.GeofenceExited": "EXIT",
      "Microsoft.Maps.GeofenceResult": "SKIP",
    },
    event_time: [{ at: { message: "/time" } }, { at: { message: "/eventTime" } }],
  },
  clock: "time (eventTime in Event Grid's schema), the service's as it looked at the position.",
  skipped: "Microsoft.Maps.GeofenceResult, which comes for each query.",
  redelivery:
    "Event Grid sends again until it is answered, with the same bytes; several geometries come in one event.",
  limits: [
    "The event's id is one for all of its geometries, and no id of a crossing.",
    "A fence is udId/geometryId: geometries are numbered in their upload only.",
    "Event Grid asks a webhook for its consent first, which nothing here answers: put an Event Hub (it speaks Kafka) or a relay in between.",
  ],
};
