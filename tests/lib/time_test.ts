import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import {
  END_OF_TIME_US,
  FIRST_TIME_US,
  formatDuration,
  formatTimestamp,
  fractionDigits,
  nanosecondsBelowUs,
  parseDuration,
  parseRfc3339,
  TIMESTAMP_BYTES,
  writeTimestamp,
} from "../../lib/time.ts";
import { randomFrom } from "../support/random.ts";

const encoder = new TextEncoder();

function parse(text: string): number {
  const bytes = encoder.encode(text);
  return parseRfc3339(bytes, 0, bytes.length);
}

Deno.test("parseRfc3339: timestamps, as tables", () => {
  const cases: [string, number][] = [
    ["1970-01-01T00:00:00Z", 0],
    ["1970-01-01t00:00:00z", 0],
    ["1970-01-01 00:00:00Z", 0],
    ["1970-01-01T00:00:00.000001Z", 1],
    ["1970-01-01T00:00:00.0000019Z", 1],
    ["1970-01-01T00:00:00.999999999999999999999999Z", 999_999],
    ["1969-12-31T23:59:59.9999999Z", -1],
    ["1969-12-31T23:59:59.999999Z", -1],
    ["1970-01-01T00:00:00.5Z", 500_000],
    ["2026-05-04T08:00:10.250Z", 1_777_881_610_250_000],
    ["2026-05-04T10:00:10.250+02:00", 1_777_881_610_250_000],
    ["2026-05-04T02:15:10.250-05:45", 1_777_881_610_250_000],
    ["2026-05-04T08:00:10.250+00:00", 1_777_881_610_250_000],
    ["2026-05-04T08:00:10.250-00:00", 1_777_881_610_250_000],
    ["1970-01-01T23:59:00+23:59", 0],
    ["1969-12-31T00:01:00-23:59", 0],
    ["2000-02-29T00:00:00Z", 951_782_400_000_000],
    ["2024-02-29T23:59:59.999999Z", 1_709_251_199_999_999],
    ["2400-02-29T00:00:00Z", 13_574_563_200_000_000],
    ["0000-01-01T00:00:00Z", FIRST_TIME_US],
    ["0000-02-29T00:00:00Z", FIRST_TIME_US + 59 * 86_400_000_000],
    ["9999-12-31T00:00:00Z", END_OF_TIME_US - 86_400_000_000],
    ["2255-06-05T23:47:34.740991Z", Number.MAX_SAFE_INTEGER],
  ];
  for (const [text, us] of cases) strictEqual(parse(text), us, text);
});

Deno.test("parseRfc3339: what is none, as tables", () => {
  const texts = [
    "",
    "2026",
    "not-a-time",
    "not-a-time-at-all-really",
    "2026-05-04",
    "2026-05-04T08:00:10",
    "2026-05-04T08:00:10.250",
    "2026-05-04T08:00Z",
    "2026-05-04T08:00:10.Z",
    "2026-05-04T08:00:10,5Z",
    "2026-05-04T08:00:60Z",
    "2026-05-04T08:60:00Z",
    "2026-05-04T24:00:00Z",
    "2026-05-04_08:00:10Z",
    "2026-05-04\x1408:00:10Z",
    "2026/05/04T08:00:10Z",
    "2026-05-04T08.00.10Z",
    "2026-00-04T08:00:10Z",
    "2026-13-04T08:00:10Z",
    "2026-05-00T08:00:10Z",
    "2026-05-32T08:00:10Z",
    "2026-04-31T08:00:10Z",
    "2026-02-29T08:00:10Z",
    "1900-02-29T08:00:10Z",
    "2100-02-29T08:00:10Z",
    "2026-05-04T08:00:10+24:00",
    "2026-05-04T08:00:10+00:60",
    "2026-05-04T08:00:10+0000",
    "2026-05-04T08:00:10+00",
    "2026-05-04T08:00:10+00-00",
    "2026-05-04T08:00:10 +00:00",
    "2026-05-04T08:00:10ZZ",
    "2026-05-04T08:00:10Z ",
    " 2026-05-04T08:00:10Z",
    "2026-05-04T08:00:10\x1a",
    "+2026-05-04T08:00:10Z",
    "-026-05-04T08:00:10Z",
    "20x6-05-04T08:00:10Z",
    "2026-05-04T08:00:1xZ",
    "2026-05-04T08:00:10.2x0Z",
    "２026-05-04T08:00:10Z",
    "1777881600",
    "Mon, 04 May 2026 08:00:10 GMT",
  ];
  for (const text of texts) strictEqual(parse(text), NaN, text);
});

Deno.test("parseRfc3339: a day that is none is not remembered as one, and the other way round", () => {
  const days = ["2024-02-29", "2023-02-29", "2024-02-29", "2024-02-30", "2024-02-28"];
  const result = days.map((day) => parse(`${day}T00:00:00Z`));
  deepStrictEqual(result, [1_709_164_800_000_000, NaN, 1_709_164_800_000_000, NaN, 1_709_078_400_000_000]);
});

Deno.test("parseRfc3339: reads its own range of the bytes only", () => {
  const bytes = encoder.encode('9"2026-05-04T08:00:10.250Z5"');
  strictEqual(parseRfc3339(bytes, 2, 26), 1_777_881_610_250_000);
  strictEqual(parseRfc3339(bytes, 2, 25), NaN);
  strictEqual(parseRfc3339(bytes, 2, 27), NaN);
});

Deno.test("parseRfc3339 and writeTimestamp: every day of 0000 to 9999 agrees with Date", () => {
  const target = new Uint8Array(TIMESTAMP_BYTES);
  const decoder = new TextDecoder();
  for (let us = FIRST_TIME_US, day = 0; us < END_OF_TIME_US; us += 86_400_000_000, day++) {
    writeTimestamp(target, 0, us);
    if (parseRfc3339(target, 0, TIMESTAMP_BYTES) !== us) throw new Error(`day ${day} does not come back`);
    // `Date` is slow: a sample of days, which meets every year's edges somewhere.
    if (day % 29 !== 0) continue;
    strictEqual(decoder.decode(target), new Date(us / 1000).toISOString().replace("Z", "000Z"));
  }
});

Deno.test("parseRfc3339 and writeTimestamp: random times and zones agree with Date", () => {
  const random = randomFrom(7);
  for (let step = 0; step < 20_000; step++) {
    // Up to the year 2200, where microseconds are exact.
    const us = Math.floor(random() * 7_258_118_400_000_000);
    const text = formatTimestamp(us);
    strictEqual(parse(text), us, `step ${step}: ${text}`);
    strictEqual(Date.parse(text.slice(0, 23) + "Z"), Math.floor(us / 1000), `step ${step}: ${text}`);
    const minutes = Math.floor(random() * 2879) - 1439;
    const sign = minutes < 0 ? "-" : "+";
    const zone = sign + pad(Math.floor(Math.abs(minutes) / 60)) + ":" + pad(Math.abs(minutes) % 60);
    strictEqual(
      parse(text.replace("Z", zone)),
      us - minutes * 60_000_000,
      `step ${step}: ${text} at ${zone}`,
    );
  }
});

function pad(value: number): string {
  return String(value).padStart(2, "0");
}

Deno.test("fractionDigits and nanosecondsBelowUs: what a timestamp's last digit is worth", () => {
  const cases: [string, number, number][] = [
    ["2026-05-04T08:00:10Z", 0, 0],
    ["2026-05-04T08:00:10+02:00", 0, 0],
    ["2026-05-04T08:00:10.2Z", 1, 0],
    ["2026-05-04T08:00:10.250Z", 3, 0],
    ["2026-05-04T08:00:10.250000-00:30", 6, 0],
    ["2026-05-04T08:00:10.2500009Z", 7, 900],
    ["2026-05-04T08:00:10.25000098Z", 8, 980],
    ["2026-05-04T08:00:10.250000987+02:00", 9, 987],
    ["2026-05-04T08:00:10.2500009879Z", 10, 987],
  ];
  for (const [text, digits, nanoseconds] of cases) {
    const bytes = encoder.encode(text);
    strictEqual(fractionDigits(bytes, 0, bytes.length), digits, text);
    strictEqual(nanosecondsBelowUs(bytes, 0, bytes.length), nanoseconds, text);
  }
});

Deno.test("writeTimestamp: writes 27 bytes where it is told to and nothing else", () => {
  const target = new Uint8Array(TIMESTAMP_BYTES + 4).fill(0x2a);
  strictEqual(writeTimestamp(target, 2, 1_777_881_610_250_000), 2 + TIMESTAMP_BYTES);
  strictEqual(new TextDecoder().decode(target), "**2026-05-04T08:00:10.250000Z**");
});

Deno.test("formatTimestamp: boundaries", () => {
  const cases: [number, string][] = [
    [0, "1970-01-01T00:00:00.000000Z"],
    [-1, "1969-12-31T23:59:59.999999Z"],
    [86_399_999_999, "1970-01-01T23:59:59.999999Z"],
    [86_400_000_000, "1970-01-02T00:00:00.000000Z"],
    [951_782_400_000_000, "2000-02-29T00:00:00.000000Z"],
    [FIRST_TIME_US, "0000-01-01T00:00:00.000000Z"],
    [END_OF_TIME_US - 32, "9999-12-31T23:59:59.999968Z"],
  ];
  for (const [us, text] of cases) strictEqual(formatTimestamp(us), text);
  throws(() => formatTimestamp(END_OF_TIME_US), /in a year from 0000 to 9999/);
  throws(() => formatTimestamp(FIRST_TIME_US - 86_400_000_000), /in a year from 0000 to 9999/);
  throws(() => formatTimestamp(NaN), /in a year from 0000 to 9999/);
});

Deno.test("parseDuration: as a table", () => {
  const cases: [string, number][] = [
    ["0s", 0],
    ["300us", 300],
    ["200ms", 200_000],
    ["5s", 5_000_000],
    ["1.5s", 1_500_000],
    ["1.50s", 1_500_000],
    ["0.000001s", 1],
    ["0.0005ms", NaN],
    ["0.0000001s", NaN],
    ["0.3333333333333333d", NaN],
    ["10m", 600_000_000],
    ["2h", 7_200_000_000],
    ["7d", 604_800_000_000],
    ["0.5d", 43_200_000_000],
    ["010m", 600_000_000],
    ["9007199254740991us", Number.MAX_SAFE_INTEGER],
    ["9007199254740992us", NaN],
    ["9999999999999999d", NaN],
    ["99999999999999999d", NaN],
    ["", NaN],
    ["5", NaN],
    ["s", NaN],
    [".5s", NaN],
    ["5.s", NaN],
    ["-5s", NaN],
    ["+5s", NaN],
    ["5 s", NaN],
    [" 5s", NaN],
    ["5s ", NaN],
    ["5s\n", NaN],
    ["5S", NaN],
    ["1e3s", NaN],
    ["1m30s", NaN],
    ["5sec", NaN],
    ["5w", NaN],
  ];
  for (const [text, us] of cases) strictEqual(parseDuration(text), us, text);
});

Deno.test("formatDuration: a whole number of the largest unit, and back", () => {
  const cases: [number, string][] = [
    [0, "0s"],
    [1, "1us"],
    [999, "999us"],
    [1_000, "1ms"],
    [200_000, "200ms"],
    [1_500_000, "1500ms"],
    [5_000_000, "5s"],
    [90_000_000, "90s"],
    [600_000_000, "10m"],
    [86_400_000_000, "1d"],
    [604_800_000_000, "7d"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991us"],
  ];
  for (const [us, text] of cases) {
    strictEqual(formatDuration(us), text);
    strictEqual(parseDuration(text), us);
  }
  const random = randomFrom(11);
  for (let step = 0; step < 2_000; step++) {
    const us = Math.floor(10 ** (random() * 15));
    strictEqual(parseDuration(formatDuration(us)), us, `step ${step}`);
  }
  for (const wrong of [-1, 0.5, NaN, 2 ** 53]) throws(() => formatDuration(wrong), /whole number/);
});
