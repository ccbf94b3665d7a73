// Colours add up, races end with equal texts, and a hopeless drafter is given up.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { ended, kShots, openPage, say } from "./browser.js";
import { startServer } from "./server.js";

const kAnswers = Number(process.env.CONSOLE_ANSWERS ?? 8), kRaces = Number(process.env.CONSOLE_RACES ?? 4);
const kAsked = ["What is 17 plus 25?", "Tell a story about a fox.", "Write a Python function that adds two numbers.", "Make JSON of this: Tom is 5 years old.", "What is the capital of France?"];

// What the page has kept of the newest answer.
const kept = (page) => page.evaluate(async () => {
  const { chat } = await globalThis.room("state/chats");
  const { countRounds } = await globalThis.room("parts/spans");
  const node = chat.value.nodes.at(-1), byOrigin = {};
  for (const { origin, text } of node.rounds.flatMap((round) => round.spans)) byOrigin[origin] = (byOrigin[origin] ?? "") + text;
  return { counts: countRounds(node.rounds), usage: node.usage, content: node.content, spans: node.rounds.flatMap((round) => round.spans.map((span) => span.text)).join(""), problem: node.problem, byOrigin };
});

// What the reader sees of it: its text by colour.
const seen = (page) => page.evaluate(() => {
  const made = {};
  for (const mark of document.querySelectorAll(".message.assistant .spans mark")) made[mark.classList[0]] = (made[mark.classList[0]] ?? "") + mark.textContent;
  return made;
});

export function speculation(world) {
  test(`colours add up to usage.speculative in ${kAnswers} answers`, async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.getByLabel("Show who wrote each token").check();
    for (let i = 0; i < kAnswers; ++i) {
      await go("chat");
      await page.waitForFunction(() => !document.querySelector(".message"));
      await say(page, kAsked[i % kAsked.length]);
      await ended(page);
      const { counts, usage, content, spans, byOrigin, problem } = await kept(page);
      assert.equal(problem, undefined);
      const { speculative } = usage;
      assert.equal(counts.accepted, speculative.accepted);
      assert.equal(counts.rounds, speculative.rounds);
      assert.equal(counts.drafted, speculative.drafted);
      // A round gives what was accepted, and one more.
      assert.ok(Math.abs(counts.accepted + counts.rounds - usage.completion_tokens) <= 1, `${counts.accepted} + ${counts.rounds} tokens, ${usage.completion_tokens} told`);
      assert.equal(spans, content, "the spans' text is the answer's");
      assert.deepEqual(await seen(page), byOrigin, "each piece has its colour");
    }
    await page.screenshot({ path: path.join(kShots, "colours.png") });
    await page.locator(".facts a").click();
    await page.waitForSelector(".chart .uplot");
    await page.getByLabel("Round", { exact: true }).fill("3");
    await page.waitForSelector(".spans mark.marked", { state: "attached" });
    await page.waitForFunction(() => parseFloat(document.querySelector(".u-select").style.width) > 0);
    quiet();
    await close();
  });

  test(`${kRaces} races end with equal texts`, async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base, { height: 1000 });
    await go("speculation");
    const kinds = ["story", "sums", "json", "code"];
    for (let i = 0; i < kRaces; ++i) {
      await page.locator("main select").first().selectOption(kinds[i % kinds.length]);
      const before = await page.evaluate(() => document.querySelector(".verdict")?.textContent ?? "");
      await page.getByRole("button", { name: "Start" }).click();
      await page.waitForFunction((had) => ![had, undefined].includes(document.querySelector(".verdict")?.textContent), before);
      const verdict = await page.locator(".verdict").innerText();
      assert.match(verdict, /The texts are equal: [\d,]+ bytes/);
      assert.match(verdict, /SHA-256 [0-9a-f]{64}/);
    }
    await page.screenshot({ path: path.join(kShots, "race.png") });
    quiet();
    await close();
  });

  test("a hopeless drafter is given up: depth falls to 0 in the chart", async () => {
    const server = await startServer(["--draft", "scripted:0"]);
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("speculation");
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) }));
    // The first race may be needed to learn that nothing holds.
    for (let race = 0; race < 2; ++race) {
      const before = await page.evaluate(() => document.querySelector(".verdict")?.textContent ?? "");
      await page.getByRole("button", { name: "Start" }).click();
      await page.waitForFunction((had) => ![had, undefined].includes(document.querySelector(".verdict")?.textContent), before);
    }
    const table = page.locator(".chart").filter({ has: page.locator("h2", { hasText: "Depth" }) });
    await table.locator("summary").click();
    await table.locator("tbody tr").nth(19).waitFor();
    const depths = await table.locator("tbody tr td:nth-child(2)").allInnerTexts();
    assert.ok(depths.length === 20 && depths.filter((one) => Number(one) === 0).length >= 14, `the last depths: ${depths}`);
    quiet();
    await close();
    await server.stop();
  });

  test("a trace changes no text", async () => {
    const ask = async (speculative) => (await (await world.server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Tell a story." }], seed: 5, max_tokens: 80, speculative })).json()).choices[0].message.content;
    assert.equal(await ask({ trace: true }), await ask({ enabled: false }));
  });
}
