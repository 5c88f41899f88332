/**
 * The page in a real browser: what it shows, to whom, and what foreign text can do to it.
 *
 * @module
 */
import { deepEqual, equal, ok } from "node:assert/strict";
import type { Page } from "playwright-core";
import { afterAll } from "../support/after_all.ts";
import { screenshot, startBrowser, view, type ViewOptions } from "../support/browser.ts";
import { inDirectory } from "../support/fencepost_process.ts";
import { RunningService } from "../support/http_service.ts";
import { SECRET, WebhookReceiver } from "../support/webhook_receiver.ts";

const browser = await startBrowser();
afterAll(async () => await browser?.close());

/** A test of the page over a service of its own. */
function pageTest(
  name: string,
  use: (
    service: RunningService,
    open: (options: ViewOptions, use: (page: Page) => Promise<void>) => Promise<void>,
  ) => Promise<void>,
  { args = [], environment = {} }: { args?: readonly string[]; environment?: Record<string, string> } = {},
): void {
  Deno.test({
    name: `page: ${name}`,
    ignore: browser === null,
    // The browser's connection is everybody's.
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      if (browser === null) return;
      await inDirectory(async (directory) => {
        const service = await RunningService.start(["--state", `${directory}/state`, ...args], environment);
        try {
          await use(service, (options, use) => view(browser, service.url, options, use));
        } finally {
          await service.stop();
        }
      });
    },
  });
}

function lineOf(kind: string, device: string, more: Record<string, unknown> = {}): string {
  return JSON.stringify({
    device_id: device,
    fence_id: "depot",
    kind,
    event_time_ms: Date.now() - 20_000,
    ...more,
  });
}

/** Waits until an element's text fits. */
async function shows(page: Page, selector: string, text: RegExp): Promise<void> {
  await page.locator(selector).filter({ hasText: text }).first().waitFor();
}

/** Whether anything sticks out at the side. */
async function isTooWide(page: Page): Promise<boolean> {
  return await page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");
}

pageTest("says that all is well, and shows what comes, as it comes", async (service, open) => {
  await open({}, async (page) => {
    await shows(page, "#health h1", /^All is well$/);
    await shows(page, "#health-note", /Nothing has come/);
    await shows(page, '[data-figure="records"] .note', /^0 read$/);
    equal(await page.locator("#triggers-empty").isVisible(), true);
    await service.send([
      lineOf("ENTER", "truck-1"),
      lineOf("ENTER", "truck-2"),
      lineOf("HEARTBEAT", "x", { event_time_ms: Date.now() }),
    ]);
    await shows(page, '[data-figure="records"] .note', /^3 read$/);
    await shows(page, '[data-figure="pending"] dd', /^2$/);
    await shows(page, "#triggers li", /ENTER.*truck-1/);
    await shows(page, "#wheel svg", /2.*dwells pending/);
    await shows(page, "#splits tbody tr", /http.*wall clock|http.*records/);
    equal(await page.locator("#triggers-empty").isVisible(), false);
    await service.send([lineOf("EXIT", "truck-1", { event_time_ms: Date.now() - 10_000 })]);
    await shows(page, "#triggers li:first-child", /EXIT.*truck-1/);
    equal(await page.locator("#charts canvas").count(), 3);
    await shows(page, "#charts .keys li", /^Read [\d.]+\/s$/);
  });
});

pageTest("dead letters are a reason to look, and are shown with theirs", async (service, open) => {
  await open({}, async (page) => {
    await shows(page, "#health h1", /^All is well$/);
    await service.send([lineOf("ENTER", "a"), lineOf("SIDEWAYS", "b"), "<script>window.hacked = 1</script>"]);
    await shows(page, "#health h1", /^Look here$/);
    await shows(page, "#reasons li", /^Dead letters rise.*2 in the last minute/);
    await shows(page, "#announce", /Look here: Dead letters rise/);
    equal(await page.title(), "Look here · Fencepost");
    await shows(page, "#letters-sum li", /^INVALID_KIND 1$/);
    const letter = page.locator("#letters li").filter({ hasText: "MALFORMED_JSON" });
    await letter.locator("summary").click();
    await shows(page, "#letters li pre", /<script>window\.hacked = 1<\/script>/);
    // It stays open while others come.
    await service.send([lineOf("SIDEWAYS", "c")]);
    await shows(page, "#letters-sum li", /^INVALID_KIND 2$/);
    equal(await letter.locator("details").getAttribute("open"), "");
    await screenshot(page, "look-here");
  });
});

Deno.test({
  name: "page: each webhook, and that one is disabled is a reason to look at once",
  ignore: browser === null,
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    if (browser === null) return;
    const well = new WebhookReceiver();
    const gone = new WebhookReceiver(() => new Response(null, { status: 410 }));
    await inDirectory(async (directory) => {
      const sink = [well, gone].map(({ url }, i) => ({
        ...{ type: "webhook", name: i === 0 ? "billing" : "dispatch", url, secrets: [{ env: "SECRET" }] },
        allow_private: true,
      }));
      const service = await RunningService.start(
        ["--state", `${directory}/state`, "--set", `sink=${JSON.stringify(sink)}`],
        { SECRET },
      );
      try {
        await view(browser, service.url, {}, async (page) => {
          await shows(page, "#facts", new RegExp(`http ${new URL(service.url).host} `));
          await service.send([lineOf("ENTER", "truck-1")]);
          await shows(page, "#webhooks tbody tr", /^billingwell1/);
          await shows(page, "#webhooks tbody tr", /^dispatchgone \(410\)01/);
          await shows(page, "#reasons li", /^Webhook disabled dispatch has said/);
          await screenshot(page, "webhooks");
        });
      } finally {
        await service.stop();
      }
    });
    await Promise.all([well.close(), gone.close()]);
  },
});

const HOSTILE = [
  "<script>window.hacked = 1</script>",
  '"><img src=x onerror="window.hacked = 1">',
  "javascript:window.hacked=1",
  "\u202Egnitrevni si siht",
  "line\nbreak\u0000\u200B",
  "شاحنة-٧",
  "W".repeat(256),
  "%2e%2e%2fetc/passwd?#&",
];

pageTest("hostile ids are text, whatever is in them", async (service, open) => {
  await service.send(HOSTILE.map((id) => lineOf("ENTER", id, { fence_id: id })));
  for (const width of [1440, 360]) {
    await open({ width }, async (page) => {
      await shows(page, "#triggers li", /<script>window\.hacked = 1<\/script>/);
      const texts = await page.locator("#triggers .id").allTextContents();
      equal(texts.length, 2 * HOSTILE.length);
      for (
        const seen of [
          HOSTILE[0],
          HOSTILE[1],
          "⟨U+202E⟩gnitrevni si siht",
          "line␊break␀⟨U+200B⟩",
          HOSTILE[5],
          HOSTILE[6],
          HOSTILE[7],
        ]
      ) {
        ok(texts.includes(seen as string), seen);
      }
      equal(await page.evaluate("window.hacked"), undefined);
      equal(await page.locator("main script, main iframe, #triggers img").count(), 0);
      equal(await isTooWide(page), false);
    });
  }
});

pageTest("a device is found by its id, or from a trigger", async (service, open) => {
  await service.send([
    lineOf("ENTER", HOSTILE[0] as string),
    lineOf("ENTER", "a/b?c#d%"),
    lineOf("HEARTBEAT", "x", { event_time_ms: Date.now() }),
    lineOf("EXIT", "waits", { event_time_ms: Date.now() }),
  ]);
  await open({ expected: /404/ }, async (page) => {
    await page.locator("#triggers button").filter({ hasText: "a/b?c#d%" }).click();
    await shows(page, "#device-answer", /a\/b\?c#d% is inside depot\..*10 min at/s);
    equal(await page.locator("#device").inputValue(), "a/b?c#d%");
    await page.locator("#device").fill(HOSTILE[0] as string);
    await page.locator("#device").press("Enter");
    await shows(page, "#device-answer", /<script>window\.hacked = 1<\/script> is inside depot/);
    await page.locator("#device").fill("waits");
    await page.locator("#device").press("Enter");
    await shows(
      page,
      "#device-answer",
      /^waits is inside no fence\..* 1 of its records wait for the watermark/,
    );
    await screenshot(page, "device");
    await page.locator("#device").fill("nobody");
    await page.getByRole("button", { name: "Look it up" }).click();
    await shows(page, "#device-answer", /^Nothing is known of nobody/);
    equal(await page.evaluate("window.hacked"), undefined);
  });
});

pageTest("light and dark, by the system and by choice, which is kept", async (_service, open) => {
  const ground = (page: Page): Promise<string> =>
    page.evaluate("getComputedStyle(document.body).backgroundColor");
  let light = "";
  await open({}, async (page) => {
    light = await ground(page);
    const button = page.locator("#theme");
    await shows(page, "#theme", /^Theme: system$/);
    await button.click();
    deepEqual([await button.textContent(), await ground(page)], ["Theme: light", light]);
    await button.click();
    equal(await button.textContent(), "Theme: dark");
    const dark = await ground(page);
    ok(dark !== light);
    await page.reload();
    deepEqual([await page.locator("#theme").textContent(), await ground(page)], ["Theme: dark", dark]);
  });
  await open({ dark: true }, async (page) => ok(await ground(page) !== light));
});

pageTest("nothing sticks out at any width", async (service, open) => {
  await service.send([lineOf("ENTER", "truck-1"), lineOf("SIDEWAYS", "x".repeat(200)), "poison"]);
  for (const width of [320, 360, 560, 768, 1101, 1920]) {
    await open({ width }, async (page) => {
      await shows(page, "#triggers li", /truck-1/);
      equal(await isTooWide(page), false, `at ${width}`);
      for (const summary of await page.locator("summary").all()) await summary.click();
      await shows(page, "#charts-table caption", /Rates by minute/);
      equal(await isTooWide(page), false, `at ${width}, opened`);
    });
  }
});

pageTest("says that nobody answers, and goes on when somebody does", async (service, open) => {
  await open({ expected: /ERR_CONNECTION_REFUSED|503/ }, async (page) => {
    await shows(page, "#health h1", /^All is well$/);
    await page.route("**/v1/status*", (route) => route.abort("connectionrefused"));
    await shows(page, "#health h1", /^No answer$/);
    await shows(page, "#health-note", /What is below is of \d\d:\d\d:\d\d/);
    await page.unroute("**/v1/status*");
    await shows(page, "#health h1", /^All is well$/);
    await page.locator("#pause").click();
    equal(await page.locator("#pause").getAttribute("aria-pressed"), "true");
    await service.send([lineOf("ENTER", "truck-1")]);
    await page.locator("#pause").click();
    await shows(page, "#triggers li", /truck-1/);
  });
});

pageTest("asks for a token where one is needed, and keeps it in the tab", async (service, open) => {
  const token = "r".repeat(24);
  await open({ expected: /401|403/ }, async (page) => {
    await shows(page, "#health h1", /^Who are you\?$/);
    await shows(page, "#token-form", /needs the scope read/);
    equal(await page.locator("#charts").isVisible(), false);
    await page.locator("#token").fill("wrong-but-long-enough");
    await page.locator("#token").press("Enter");
    await shows(page, "#token-why", /not known/);
    await page.locator("#token").fill("s".repeat(24));
    await page.locator("#token").press("Enter");
    await shows(page, "#token-why", /has not the scope read/);
    await page.locator("#token").fill(` ${token}\n`);
    await page.locator("#token").press("Enter");
    await shows(page, "#health h1", /^All is well$/);
    equal(await page.locator("#token-form").isVisible(), false);
    equal(await page.locator("#token").inputValue(), "");
    equal(page.url(), `${service.url}/`);
    equal(await page.evaluate("JSON.stringify(localStorage)"), "{}");
    await page.reload();
    await shows(page, "#health h1", /^All is well$/);
    await page.locator("#forget").click();
    await shows(page, "#health h1", /^Who are you\?$/);
    equal(await page.evaluate("sessionStorage.length"), 0);
    await screenshot(page, "token");
  });
}, {
  args: [
    "--set",
    `http.tokens=${
      JSON.stringify([
        { name: "looks", scopes: ["read"], env: "TOKEN_READ" },
        { name: "sends", scopes: ["ingest"], env: "TOKEN_SEND" },
      ])
    }`,
  ],
  environment: { TOKEN_READ: "r".repeat(24), TOKEN_SEND: "s".repeat(24) },
});
