import { deepEqual, equal, ok } from "node:assert/strict";
import { judgeAttempt, parseRetryAfter, pauseUs, RETRY_AFTER_US_MAX } from "../../lib/webhook_retry.ts";

const SECOND_US = 1_000_000;
const NOW_US = Date.UTC(2026, 10, 30, 12) * 1000;

Deno.test("judgeAttempt: each answer, and none", () => {
  const of = (status: number, retryAfter: string | null = null): [string, number] => {
    const { is, retryAfterUs } = judgeAttempt({ outcome: "answered", status, retryAfter }, NOW_US);
    return [is, retryAfterUs];
  };
  for (const status of [200, 201, 204, 299]) deepEqual(of(status, "60"), ["delivered", 0]);
  deepEqual(of(410, "60"), ["gone", 0]);
  for (const status of [300, 301, 307, 408, 425, 429, 501, 503]) {
    deepEqual(of(status), ["failed", 0]);
    deepEqual(of(status, "60"), ["failed", 60 * SECOND_US]);
  }
  for (const status of [400, 401, 404, 409, 411, 413, 422, 499, 500]) {
    deepEqual(of(status), ["refused", 0]);
    deepEqual(of(status, "60"), ["refused", 60 * SECOND_US]);
  }
  for (const outcome of ["timed_out", "unreachable", "refused_address"] as const) {
    deepEqual(judgeAttempt({ outcome, reason: "x" }, NOW_US), { is: "failed", reason: "x", retryAfterUs: 0 });
  }
});

Deno.test("parseRetryAfter: seconds, dates, and what is neither", () => {
  const cases: readonly [string, number][] = [
    ["0", 0],
    ["1", SECOND_US],
    [" 120 ", 120 * SECOND_US],
    ["3600", RETRY_AFTER_US_MAX],
    ["3601", RETRY_AFTER_US_MAX],
    ["31536000", RETRY_AFTER_US_MAX],
    ["9".repeat(400), RETRY_AFTER_US_MAX],
    ["-1", 0],
    ["1.5", 0],
    ["soon", 0],
    ["", 0],
    ["Mon, 30 Nov 2026 12:00:30 GMT", 30 * SECOND_US],
    ["Mon, 30 Nov 2026 11:59:59 GMT", 0],
    ["Tue, 30 Nov 2027 12:00:00 GMT", RETRY_AFTER_US_MAX],
    ["Monday, 30-Nov-26 12:00:30 GMT", 0],
    ["Mon, 30 Foo 2026 12:00:30 GMT", 0],
  ];
  for (const [text, us] of cases) equal(parseRetryAfter(text, NOW_US), us, text.slice(0, 40));
});

Deno.test("parseRetryAfter: dates are those of the platform, over four centuries", () => {
  for (let day = 0; day < 146_097; day += 97) {
    const date = new Date(Date.UTC(1970, 0, 1) + day * 86_400_000 + 45_296_000);
    equal(parseRetryAfter(date.toUTCString(), (date.getTime() - 1000) * 1000), SECOND_US, date.toUTCString());
  }
});

Deno.test("pauseUs: doubles up to an hour, a factor of 0.5 to 1", () => {
  equal(pauseUs(1, 0), 2.5 * SECOND_US);
  equal(pauseUs(2, 0), 5 * SECOND_US);
  for (let attempts = 1; attempts < 2000; attempts += 7) {
    for (const chance of [0, 0.5, 0.999]) {
      const us = pauseUs(attempts, chance);
      ok(us >= 2.5 * SECOND_US && us <= 3600 * SECOND_US, `${attempts} ${chance} ${us}`);
    }
  }
  equal(pauseUs(1000, 0), 1800 * SECOND_US);
});
