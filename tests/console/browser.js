// Chromium, and pages whose every complaint is heard: messages on the console, breaches of the policy, requests to others.
import assert from "node:assert/strict";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { here, kLongestMs } from "./server.js";

const axeSource = fs.readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const kShots = process.env.CONSOLE_SHOTS ?? path.join(here, "shots");
fs.mkdirSync(kShots, { recursive: true });

export function launch() {
  const asRoot = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: [...asRoot, "--disable-dev-shm-usage"] });
}

// expected: messages that a test provokes.
export async function openPage(browser, base, { width = 1440, height = 900, expected = [], ...options } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, locale: "en", reducedMotion: "reduce", ...options });
  context.setDefaultTimeout(kLongestMs);
  const page = await context.newPage();
  const heard = [];
  page.on("console", (message) => {
    if (!expected.some((one) => message.text().includes(one))) heard.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => heard.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!/^(data|blob):/.test(request.url()) && !request.url().startsWith(base)) heard.push(`request to ${request.url()}`);
  });
  await page.addInitScript(() => addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
  // A room of the page: packed, all are in one file.
  await page.addInitScript(() => {
    globalThis.room = async (name) => {
      const { src } = document.querySelector("script[type=module]");
      const { $ } = await import(src);
      return $ ? $[name] : import(src.replace(/main\.js$/, `${name}.js`));
    };
  });
  return {
    page, heard,
    go: async (hash, query = "") => {
      await page.goto(`${base}/${query}#/${hash}`);
      await page.waitForSelector("main h1", { state: "attached" });
    },
    quiet: () => assert.deepEqual(heard, [], "no message, no breach of the policy, no request to others"),
    close: () => context.close(),
  };
}

export async function axe(page, what) {
  await page.evaluate(axeSource);
  const found = await page.evaluate(() => globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  const told = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  assert.deepEqual(told, [], `axe: ${what}`);
}

export async function say(page, text) {
  await page.fill(".writer textarea", text);
  await page.keyboard.press("Enter");
}
export const ended = (page) => page.waitForFunction(() => !document.querySelector("[aria-busy]") && document.querySelector(".message.assistant .facts"));
