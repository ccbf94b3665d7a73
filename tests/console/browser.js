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

// Each page, and what stands there once what it shows has come.
const kFilled = {
  chat: ".writer textarea", speculation: ".card select", monitor: ".chart .uplot", benchmark: ".card button.main", models: "[data-model] h2",
  connect: ".grid pre", settings: "table.cards td", log: ".loglines div",
};
export const kPages = Object.keys(kFilled);

// Nothing is to be drawn any more of what has happened so far.
export const drawn = (page) => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(resolve)))));

// The page that was gone to is there, with what belongs to it: its heading is what its link says.
export async function filled(page, name) {
  await page.waitForFunction(([hash, content]) => {
    const link = document.querySelector(`.pages a[href="#/${hash}"][aria-current]`), main = document.querySelector("main");
    return link && main.querySelector("h1")?.textContent === link.textContent && main.querySelector(content);
  }, [name, kFilled[name]]);
  await drawn(page);
}

// What is well is counted, and not described: that would take as long as looking at it.
export async function axe(page, what) {
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(axeSource);
  const found = await page.evaluate(async () => {
    const { passes, violations } = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"], resultTypes: ["violations"] });
    return { passed: passes.length, violations };
  });
  assert.ok(found.passed > 10, `axe: ${what}: ${found.passed} rules hold`);
  const told = found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split("\n")[1] ?? ""}`).join(" | ")}`);
  assert.deepEqual(told, [], `axe: ${what}`);
}

export async function say(page, text) {
  await page.fill(".writer textarea", text);
  await page.keyboard.press("Enter");
}
export const ended = (page) => page.waitForFunction(() => !document.querySelector("[aria-busy]") && document.querySelector(".message.assistant .facts"));
export const answer = (page, at = -1) => page.locator(".message.assistant .text").nth(at).innerText();
// The settings of what is asked for, beside the conversation.
export const drawer = (page) => page.getByRole("button", { name: "Sampling" }).click();
