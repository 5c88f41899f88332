/** The version, for `--version` and the metrics; that of deno.json. */
export const VERSION = "0.1.0";
