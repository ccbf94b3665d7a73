// Who wrote each token: colours add up, in an answer and in a race, and a trace changes no text.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { ended, kShots, openPage, say } from "./browser.js";
import { soon } from "./server.js";

const kAnswers = Number(process.env.CONSOLE_ANSWERS ?? 8);
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

export function colours(world) {
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

  // The second to be asked waits until it has been looked at.
  test("a race is in colours while it runs, and when it is played", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("speculation");
    let asked = 0, letOn;
    const seen = new Promise((resolve) => (letOn = resolve));
    await page.route("**/v1/chat/completions", async (route) => {
      if (asked++ === 1) await seen;
      await route.continue();
    });
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".race .lane")[0]?.querySelectorAll("mark.plain").length > 10);
    assert.equal(await page.locator(".verdict").count(), 0, "it runs");
    letOn();
    await page.waitForSelector(".verdict");
    const lanes = () => page.evaluate(() => [...document.querySelectorAll(".race .lane")].map((lane) => ({ text: lane.innerText, colours: [...new Set([...lane.querySelectorAll("mark")].map((mark) => mark.className))] })));
    const all = await lanes();
    assert.deepEqual(all[0].colours, ["plain"]);
    assert.ok(all[1].colours.includes("accepted"), `${all[1].colours}`);
    assert.equal(all[0].text, all[1].text);
    const slider = page.getByLabel("Time:");
    await slider.fill(String(Math.floor(Number(await slider.getAttribute("max")) / 2)));
    await soon(async () => (await lanes()).some((lane) => lane.text.length < all[0].text.length), "a part of it");
    for (const lane of await lanes()) assert.ok(all[0].text.startsWith(lane.text.trimEnd()), lane.text);
    quiet();
    await close();
  });

  test("a trace changes no text", async () => {
    const ask = async (speculative) => (await (await world.server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Tell a story." }], seed: 5, max_tokens: 80, speculative })).json()).choices[0].message.content;
    assert.equal(await ask({ trace: true }), await ask({ enabled: false }));
  });
}
