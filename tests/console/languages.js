// Thirteen languages with the same keys, and two that are made up; the keyboard alone; a server that goes and comes back.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { filled, kPages, openPage, say } from "./browser.js";
import { here, startServer } from "./server.js";

const folder = path.join(here, "../../console");
const read = (name) => JSON.parse(fs.readFileSync(path.join(folder, "lang", `${name}.json`), "utf8"));
const kNames = ["en", "de", "es", "fr", "ja", "ko", "pt-BR", "ru", "zh", "zh-TW", "cs", "pl", "uk"];
const sources = fs.readdirSync(path.join(folder, "js"), { recursive: true }).filter((one) => one.endsWith(".js")).map((one) => [one, fs.readFileSync(path.join(folder, "js", one), "utf8")]);
const holes = (text) => [...text.matchAll(/\{\w+\}/g)].map((found) => found[0]).sort();

export function languages(world) {
  test("same keys and placeholders everywhere; none unused, none missing", () => {
    const english = read("en");
    for (const name of kNames) {
      const own = read(name);
      assert.deepEqual(Object.keys(own).sort(), Object.keys(english).sort(), name);
      for (const [key, text] of Object.entries(own)) {
        assert.deepEqual(holes(text), holes(english[key]), `${name}: ${key}`);
        assert.ok(text.trim().length > 0, `${name}: ${key}`);
      }
    }
    const all = sources.map(([, text]) => text).join("\n");
    const used = new Set([...all.matchAll(/"([a-z_]+(?:\.[a-z_0-9]+)*)"/g)].map((found) => found[1]));
    const made = [...all.matchAll(/`([a-z_]+\.)\$\{/g)].map((found) => found[1]).concat([...all.matchAll(/words\("(\w+)"/g)].map((found) => `${found[1]}.`), ["page."]);
    const unused = Object.keys(english).filter((key) => !used.has(key) && !made.some((start) => key.startsWith(start)));
    assert.deepEqual(unused, [], "no key unused");
    const asked = [...all.matchAll(/\bt\("([^"]+)"/g)].map((found) => found[1]);
    assert.deepEqual(asked.filter((key) => !(key in english)), [], "no key missing");
  });

  test("no text outside the files", () => {
    // Names, units and what is typed.
    const known = /^(paceline|curl|JSON|CSV|SVG|KV|SHA-256|Alt|Esc|ms|µs|s|SDK|AI|Open|WebUI|LangChain|×)$/;
    const found = sources.flatMap(([name, text]) => [...text.matchAll(/html`([^`]*)`/g)].flatMap(([, template]) => {
      const words = template.replace(/\$\{[^}]*\}?/g, " ").replace(/<[^>]*>?/g, " ").match(/[A-Za-zµ][\w-]+/g) ?? [];
      return words.filter((word) => !known.test(word)).map((word) => `${name}: ${word}`);
    }));
    assert.deepEqual(found, []);
  });

  test("as many as there are, in each language's own form", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    const told = { en: ["1 token", "2 tokens", "5 tokens"], pl: ["1 token", "2 tokeny", "5 tokenów"], ru: ["1 токен", "2 токена", "5 токенов"], de: ["1 Token", "2 Tokens", "5 Tokens"], ja: ["1 トークン", "2 トークン", "5 トークン"] };
    for (const [name, wanted] of Object.entries(told)) {
      await go("chat", `?lang=${name}`);
      await page.evaluate(async () => {
        const { importChats, chats } = await globalThis.room("state/chats");
        importChats(JSON.stringify({ id: "x", title: "x", leaf: "5", nodes: [1, 2, 5].map((count, at, all) => ({ id: `${count}`, parent: `${all[at - 1]}`, role: "assistant", content: "x", usage: { completion_tokens: count } })) }));
        location.hash = `#/chat/${chats.value[0].id}`;
      });
      await page.waitForFunction(() => document.querySelectorAll(".facts").length === 3);
      assert.deepEqual(await page.locator(".facts > span:nth-child(2)").allTextContents(), wanted, name);
    }
    quiet();
    await close();
  });

  test("rooms of the console import what is below them, and files are short", () => {
    const ranks = { base: 0, api: 1, state: 2, parts: 3, pages: 4 };
    for (const [name, text] of sources) {
      const room = name.split("/")[0];
      assert.ok(text.split("\n").length <= 300, `${name}: at most 300 lines`);
      assert.ok(!/innerHTML|outerHTML|\beval\b|new Function|document\.write/.test(text), `${name}: no text becomes code`);
      if (!(room in ranks)) continue;
      for (const found of text.matchAll(/from "\.\.\/(\w+)\//g)) if (found[1] in ranks) assert.ok(ranks[found[1]] < ranks[room], `${name} imports ${found[1]}`);
    }
    const css = fs.readdirSync(path.join(folder, "css")).map((one) => fs.readFileSync(path.join(folder, "css", one), "utf8")).join("");
    assert.ok(!/(margin|padding|border)-(left|right)|[^-](left|right):|text-align: (left|right)/.test(css), "logical properties only");
  });

  test("all languages, one after the other", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base, { width: 360 });
    const english = read("en");
    await go("settings");
    for (const name of [...kNames, "en-XA", "ar-XB"]) {
      // Chosen in the page, but for those that are made up.
      if (!kNames.includes(name)) await go("settings", `?lang=${name}`);
      else await page.locator("main select").filter({ has: page.locator('option[value="zh-TW"]') }).selectOption(name);
      if (kNames.includes(name)) await page.waitForFunction((text) => document.querySelector(".pages li:last-child a").textContent === text, read(name)["page.log"]);
      await filled(page, "settings");
      const text = await page.evaluate(() => document.body.innerText);
      const raw = Object.keys(english).filter((key) => key.includes(".") && new RegExp(`(^|\\s)${key.replaceAll(".", "\\.")}($|\\s)`, "m").test(text));
      assert.deepEqual(raw, [], `${name}: no raw key`);
      for (const hash of [...kPages.filter((one) => one !== "settings"), "settings"]) {
        await page.evaluate((at) => (location.hash = `#/${at}`), hash);
        await filled(page, hash);
        const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth - innerWidth, document.querySelector("main").scrollWidth - document.querySelector("main").clientWidth));
        assert.ok(wide <= 0, `${name}, ${hash}: fits 360 px, ${wide}`);
      }
    }
    quiet();
    await close();
  });

  test("by keyboard alone", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.waitForSelector(".writer textarea");
    await page.keyboard.press("Tab");
    assert.equal(await page.evaluate(() => document.activeElement.className), "skip");
    await page.keyboard.press("Enter");
    for (let i = 0; i < 30 && (await page.evaluate(() => document.activeElement.tagName)) !== "TEXTAREA"; ++i) await page.keyboard.press("Tab");
    await page.keyboard.type("What is 1 plus 1?");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".message.assistant .facts");
    await page.keyboard.press("Alt+Digit3");
    await page.waitForSelector(".chart");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    await page.goBack();
    await page.waitForSelector(".writer textarea");
    await close();
  });

  test("the server goes, and comes back", async () => {
    let server = await startServer();
    const { page, go, close } = await openPage(world.browser, server.base, { expected: ["ERR_CONNECTION", "Failed to load resource"] });
    await go("chat");
    await page.waitForSelector(".state.good");
    await server.stop("SIGKILL");
    await page.waitForSelector("text=The server does not answer");
    server = await startServer([], { port: server.port });
    await page.waitForSelector(".state.good");
    await say(page, "What is 2 plus 2?");
    await page.waitForSelector(".message.assistant .facts");
    await close();
    await server.stop();
  });
}
