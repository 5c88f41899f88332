/**
 * A real Chromium for the page's tests: the one of CHROMIUM_BIN, or Debian's; null, said on stderr, where there is none.
 *
 * Each view is a browser's profile of its own. Whatever a page says on its console, throws, or asks of anybody but the
 * service is noted: no test is over before all three were found empty.
 *
 * @module
 */
import { deepEqual } from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";

/** Where screenshots are put; nothing reads them but people. */
export const SCREENSHOTS = fileURLToPath(new URL("../../build/page/", import.meta.url));

/** How somebody looks at the page. */
export interface ViewOptions {
  readonly width?: number;
  readonly dark?: boolean;
  /** Statuses that the browser notes on its console, and that the test expects. */
  readonly expected?: RegExp;
}

/** Starts a browser. */
export async function startBrowser(): Promise<Browser | null> {
  const executablePath = findBrowser();
  if (executablePath === null) {
    const text = "SKIPPED: no Chromium: neither CHROMIUM_BIN nor chromium is there\n";
    Deno.stderr.writeSync(new TextEncoder().encode(text));
    return null;
  }
  // The sandbox needs rights that a container's root has not; the only pages are ours.
  return await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: 120_000 });
}

function findBrowser(): string | null {
  const given = Deno.env.get("CHROMIUM_BIN");
  if (given !== undefined) return given;
  const directories = (Deno.env.get("PATH") ?? "").split(":");
  for (const name of ["chromium", "chromium-browser", "google-chrome"]) {
    for (const directory of directories) {
      const path = join(directory, name);
      try {
        if (Deno.statSync(path).isFile) return path;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
      }
    }
  }
  return null;
}

/** Opens the page, and looks at the end whether it has said, thrown or asked what it should not. */
export async function view(
  browser: Browser,
  url: string,
  { width = 1440, dark = false, expected = /^$/ }: ViewOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({
    viewport: { width, height: 900 },
    colorScheme: dark ? "dark" : "light",
    reducedMotion: "reduce",
  });
  const said: string[] = [];
  const elsewhere: string[] = [];
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    page.on("console", (message) => {
      if (!expected.test(message.text())) said.push(`${message.type()}: ${message.text()}`);
    });
    page.on("pageerror", (error) => said.push(`thrown: ${error.stack ?? error.message}`));
    page.on("request", (request) => {
      if (!request.url().startsWith(`${url}/`)) elsewhere.push(request.url());
    });
    await page.goto(url);
    await use(page);
    deepEqual({ said, elsewhere }, { said: [], elsewhere: [] });
  } finally {
    await context.close();
  }
}

/** Makes a picture of the whole page, for people. */
export async function screenshot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true });
}
