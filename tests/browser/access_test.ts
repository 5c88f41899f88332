/**
 * The page for those who use a keyboard, a screen reader, other colours.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { afterAll } from "../support/after_all.ts";
import { screenshot, startBrowser, view, type ViewOptions } from "../support/browser.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";

const AXE = fileURLToPath(import.meta.resolve("axe-core/axe.min.js"));

const browser = await startBrowser();
afterAll(async () => await browser?.close());

/** The page with something of everything in it. */
async function withPage(options: ViewOptions, use: (page: Page) => Promise<void>): Promise<void> {
  if (browser === null) return;
  await inDirectory(async (directory) => {
    const service = await RunningService.start(["--state", `${directory}/state`]);
    try {
      const lineOf = (device: string, kind: string, secondsAgo: number): string =>
        JSON.stringify({
          device_id: device,
          fence_id: "depot",
          kind,
          event_time_ms: Date.now() - secondsAgo * 1000,
        });
      const lines: string[] = [];
      for (let i = 0; i < 300; i++) lines.push(lineOf(`truck-${i}`, "ENTER", 5 + i * 2));
      for (let i = 0; i < 300; i += 3) lines.push(lineOf(`truck-${i}`, "EXIT", 4 + i));
      lines.push(lineOf("x", "SIDEWAYS", 0), "not json", lineOf("x", "HEARTBEAT", 0));
      await service.send(lines);
      await view(browser, service.url, options, async (page) => {
        await page.locator("#triggers li").first().waitFor();
        await use(page);
      });
    } finally {
      await service.stop();
    }
  });
}

function accessTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: `page: ${name}`,
    ignore: browser === null,
    sanitizeOps: false,
    sanitizeResources: false,
    fn,
  });
}

/** What axe finds, as `impact rule: element`. */
async function violationsOf(page: Page): Promise<string[]> {
  // Not as a script of the page, which its policy would refuse.
  await page.evaluate(await Deno.readTextFile(AXE));
  return await page.evaluate(`axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) =>
    violations.flatMap(({ id, impact, nodes }) => nodes.map(({ target }) => impact + " " + id + ": " + target)))`);
}

for (
  const [name, options] of Object.entries({
    light: {},
    dark: { dark: true },
    phone: { width: 360 },
    "phone-dark": { width: 360, dark: true },
  })
) {
  accessTest(`axe finds nothing (${name})`, () =>
    withPage(options, async (page) => {
      await screenshot(page, name);
      deepEqual(await violationsOf(page), []);
      for (const summary of await page.locator("summary").all()) await summary.click();
      await page.locator("#charts-table table").waitFor();
      await page.locator("#wheel-table table").waitFor();
      deepEqual(await violationsOf(page), []);
    }));
}

accessTest("axe finds nothing while nobody answers", () =>
  withPage({ expected: /ERR_/ }, async (page) => {
    await page.route("**/v1/status*", (route) => route.abort());
    await page.locator("#health h1").filter({ hasText: "No answer" }).waitFor();
    deepEqual(await violationsOf(page), []);
  }));

accessTest(
  "each control is reached with Tab, in the order of the page, and is seen to be",
  () =>
    withPage({}, async (page) => {
      const reached: string[] = [];
      for (let presses = 0; presses < 80; presses++) {
        await page.keyboard.press("Tab");
        const { name, outline } = await page.evaluate(`(() => {
        const { activeElement: it } = document;
        const style = getComputedStyle(it);
        const name = it === document.body ? "" : it.id || (it.closest("[id]")?.id ?? "") + " " + it.tagName;
        return { name, outline: style.outlineStyle };
      })()`) as { name: string; outline: string };
        if (name === "") break;
        ok(outline !== "none", `${name} shows that it has the focus`);
        if (reached.at(-1) !== name) reached.push(name);
      }
      deepEqual(
        reached,
        [
          " A",
          "pause",
          "theme",
          "charts-table SUMMARY",
          "wheel-table SUMMARY",
          "splits",
          "device",
          "device-form BUTTON",
          "triggers BUTTON",
          "letters SUMMARY",
        ],
      );
    }),
);

accessTest(
  "the skip link, the buttons and the tables work without a mouse",
  () =>
    withPage({}, async (page) => {
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      equal(await page.evaluate("document.activeElement.id"), "health");
      await page.locator("#pause").focus();
      await page.keyboard.press("Space");
      equal(await page.locator("#pause").getAttribute("aria-pressed"), "true");
      await page.keyboard.press("Space");
      await page.locator("#wheel-table summary").focus();
      await page.keyboard.press("Enter");
      await page.locator("#wheel-table table").waitFor();
      deepEqual(await page.locator("#wheel-table tbody th").allTextContents(), [
        "Overdue",
        "Within 10 s",
        "Within a minute",
        "Within 10 minutes",
        "Within an hour",
        "Within 6 hours",
        "Within a day",
        "Later",
      ]);
    }),
);

accessTest("a screen reader finds its way, and is told only what is new", () =>
  withPage({}, async (page) => {
    for (const role of ["banner", "main", "search"] as const) {
      equal(await page.getByRole(role).count(), 1, role);
    }
    equal(await page.getByRole("heading", { level: 1 }).count(), 1);
    deepEqual(await page.locator("main h2:visible").allTextContents(), [
      "The last quarter of an hour",
      "Timing wheel",
      "Watermark and wall clock",
      "Where is a device?",
      "Latest triggers",
      "Latest dead letters",
    ]);
    equal(await page.getByRole("img", { name: /^\d+ dwells pending, \d+ overdue$/ }).count(), 1);
    // A live region that changed each second would never be silent.
    await page.evaluate(`window.told = 0;
      for (const region of document.querySelectorAll("[role=status], [aria-live]")) {
        new MutationObserver(() => window.told++).observe(region, { childList: true, characterData: true, subtree: true });
      }`);
    const asked = page.waitForResponse(/v1\/status/);
    await asked;
    await page.waitForResponse(/v1\/status/);
    await page.waitForResponse(/v1\/status/);
    equal(await page.evaluate("window.told"), 0);
  }));
