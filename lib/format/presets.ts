/**
 * All presets, in the order in which they are shown.
 *
 * @module
 */
import { AWS_LOCATION } from "./presets/aws_location.ts";
import { AZUGA } from "./presets/azuga.ts";
import { AZURE_MAPS } from "./presets/azure_maps.ts";
import { CLOUDEVENTS } from "./presets/cloudevents.ts";
import { CROWDCONNECTED } from "./presets/crowdconnected.ts";
import { HOME_ASSISTANT } from "./presets/home_assistant.ts";
import { NATIVE } from "./presets/native.ts";
import { OWNTRACKS } from "./presets/owntracks.ts";
import { RADAR } from "./presets/radar.ts";
import { SAMSARA } from "./presets/samsara.ts";
import { TELTONIKA } from "./presets/teltonika.ts";
import { TILE38 } from "./presets/tile38.ts";
import { TRACCAR } from "./presets/traccar.ts";
import { TRANSISTORSOFT } from "./presets/transistorsoft.ts";
import type { Preset } from "./preset.ts";

/** See the module's header. */
export const PRESETS: readonly Preset[] = [
  NATIVE,
  CLOUDEVENTS,
  TILE38,
  TRACCAR,
  OWNTRACKS,
  HOME_ASSISTANT,
  AWS_LOCATION,
  AZURE_MAPS,
  RADAR,
  TRANSISTORSOFT,
  SAMSARA,
  AZUGA,
  CROWDCONNECTED,
  TELTONIKA,
];
