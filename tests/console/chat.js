// Conversations: stream, stop, write again, branch, come back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { answer, drawer, ended, openPage, say } from "./browser.js";
import { kSlack, soon } from "./server.js";

const press = (page, name, at = -1) => page.locator(`.message.assistant button[aria-label="${name}"]`).nth(at).click();

export function chat(world) {
  test("streams, and writes the same again with the same seed", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await say(page, "What is 12 plus 30?");
    await ended(page);
    const first = await answer(page);
    assert.ok(first.length > 0);
    await press(page, "Again, same seed");
    await page.waitForFunction(() => document.querySelector(".message.assistant .tools")?.innerText.includes("2/2"));
    await ended(page);
    assert.equal(await answer(page), first);
    await press(page, "Earlier branch");
    await soon(async () => (await page.locator(".message.assistant .tools").innerText()).includes("1/2"), "the first of two");
    quiet();
    await close();
  });

  test("edits, branches, and is there after a reload", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await say(page, "What is 20 plus 3?");
    await ended(page);
    await page.locator('.message.user button[aria-label="Edit"]').click();
    await page.locator(".message.user textarea").fill("What is 20 plus 5?");
    await page.locator(".message.user button.main").click();
    await page.waitForFunction(() => document.querySelector(".message.user .body")?.innerText.includes("plus 5"));
    await ended(page);
    const text = await answer(page);
    await page.locator('.message.user button[aria-label="Earlier branch"]').click();
    await soon(async () => (await page.locator(".message.user .body").innerText()).includes("plus 3"), "the first question");
    await page.locator('.message.user button[aria-label="Next branch"]').click();
    await page.waitForTimeout(600);
    await page.reload();
    await page.waitForSelector(".message.assistant .text");
    assert.equal(await answer(page), text);
    quiet();
    await close();
  });

  // What the browser has kept comes when it comes: late, here.
  test("one that is begun before the others are known stays", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await page.addInitScript(() => {
      const all = IDBObjectStore.prototype.getAll;
      IDBObjectStore.prototype.getAll = function (...names) {
        const found = all.apply(this, names);
        // It goes on for as long as more is asked for.
        const hold = () => (globalThis.isLetOn || (this.count().onsuccess = hold));
        hold();
        return found;
      };
    });
    await go("chat");
    await say(page, "What is 2 plus 3?");
    await ended(page);
    await page.evaluate(async () => {
      globalThis.isLetOn = true;
      await (await globalThis.room("state/chats")).loadAllChats();
    });
    assert.equal(await page.locator(".chats li").count(), 1);
    assert.ok((await answer(page)).length > 0);
    quiet();
    await close();
  });

  test("an answer is edited beside the old one", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await say(page, "What is 4 plus 3?");
    await ended(page);
    const first = await answer(page);
    await press(page, "Edit");
    await page.locator(".message.assistant textarea").fill("It is **seven**.");
    await page.locator(".message.assistant button.main").click();
    await page.waitForSelector(".message.assistant strong");
    assert.match(await page.locator(".message.assistant .tools").innerText(), /2\/2/);
    await press(page, "Earlier branch");
    await soon(async () => (await answer(page)) === first, "the model's own");
    quiet();
    await close();
  });

  test("stop cancels at the server", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await drawer(page);
    await page.getByLabel("Most tokens").fill("3000");
    await page.getByLabel("Most tokens").press("Enter");
    await page.locator('.drawer button[aria-label="Close"]').click();
    // A fast machine would have told the whole story before anybody can stop it.
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true }) }));
    await say(page, "Tell a very long story about a boat, a mountain, a river and a town.");
    await page.waitForSelector("[aria-busy]");
    const running = () => world.server.json("/v1/requests").then((found) => found.running.length);
    const began = Date.now();
    await page.locator(".messages").focus();
    await page.keyboard.press("Escape");
    await soon(async () => (await running()) === 0, "nothing runs");
    assert.ok(Date.now() - began < 1000 * kSlack);
    await page.waitForSelector("text=Stopped.");
    await close();
  });

  test("a cut text goes on as it was asked for", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await drawer(page);
    for (const [name, value] of [["Most tokens", "6"], ["Temperature", "0"]]) {
      await page.getByLabel(name).fill(value);
      await page.getByLabel(name).press("Enter");
    }
    await say(page, "Tell a story about a fox.");
    await ended(page);
    const first = (await answer(page)).trim();
    const asked = page.waitForRequest((request) => request.method() === "POST");
    await page.getByRole("button", { name: "Go on" }).click();
    const body = (await asked).postDataJSON();
    assert.equal(body.temperature, 0);
    assert.equal(body.messages.at(-1).content.trim(), first);
    await ended(page);
    await soon(async () => (await answer(page)).trim().length > first.length, "it is longer");
    // At no temperature it is what would have been written at once.
    const whole = (await (await world.server.post("/v1/chat/completions", { messages: body.messages.slice(0, -1), temperature: 0, max_tokens: 12 })).json()).choices[0].message.content;
    assert.equal((await answer(page)).replace(/\s+/g, " ").trim(), whole.replace(/\s+/g, " ").trim());
    quiet();
    await close();
  });

  test("the drawer stands beside what is written, and Escape there stops nothing else", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), ignore_eos: true, max_tokens: 1500 }) }));
    await say(page, "Tell a very long story.");
    await page.waitForSelector("[aria-busy]");
    await drawer(page);
    const [talk, box] = await Promise.all([".talk", ".drawer"].map((one) => page.locator(one).boundingBox()));
    assert.ok(talk.x + talk.width <= box.x, `${talk.x} + ${talk.width}, ${box.x}`);
    await page.getByLabel("Temperature").press("Escape");
    await page.waitForSelector(".drawer", { state: "detached" });
    await page.locator(".messages").focus();
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog[open]", { state: "detached" });
    assert.equal(await page.locator("text=Stopped.").count(), 0);
    // What came before a reload is there after it.
    await page.waitForFunction(() => document.querySelector(".message.assistant .text")?.innerText.length > 40);
    await page.waitForTimeout(600);
    await page.reload();
    await page.waitForFunction(() => document.querySelector(".message.assistant .text")?.innerText.length > 40);
    quiet();
    await close();
  });

  test("conversations are named, pinned, found, saved and read again", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    for (const text of ["What is 3 plus 4?", "What is the capital of France?"]) {
      await go("chat");
      await say(page, text);
      await ended(page);
    }
    const titles = () => page.locator(".chats li").allInnerTexts();
    assert.deepEqual(await titles(), ["What is the capital of France?", "What is 3 plus 4?"]);
    await page.locator(".chats li a").nth(1).click();
    page.once("dialog", (dialog) => dialog.accept("Sums"));
    await page.locator('.chats button[aria-label="Rename"]').click();
    await page.locator('.chats button[aria-label="Pin"]').click();
    await soon(async () => (await titles())[0]?.endsWith("Sums"), "pinned and named");
    await page.getByLabel("Search chats").fill("capital");
    await soon(async () => (await titles()).length === 1, "one of them has the word");
    await page.getByLabel("Search chats").fill("");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.locator('.chats button[aria-label="Export"]').click()]);
    const file = await saved.path(), text = await answer(page);
    await page.locator('.chats button[aria-label="Delete"]').click();
    await soon(async () => (await titles()).length === 1, "gone");
    await page.setInputFiles('.chats input[type="file"]', file);
    await soon(async () => (await titles()).length === 2, "back");
    await page.locator(".chats li a").filter({ hasText: "Sums" }).click();
    await soon(async () => (await answer(page)) === text, "as it was");
    quiet();
    await close();
  });

  test("a text in the address fills the box, and is not sent", async () => {
    const { page, close } = await openPage(world.browser, world.server.base);
    await page.goto(`${world.server.base}/?text=Hello%20there#/chat`);
    await page.waitForSelector(".writer textarea");
    assert.equal(await page.inputValue(".writer textarea"), "Hello there");
    await page.waitForTimeout(300);
    assert.equal(await page.locator(".message").count(), 0);
    await close();
  });

  // To open a long one takes a while: in the long form alone.
  for (const before of kSlack === 1 ? [0, 2000] : [0]) test(`1,000 tokens a second into one message, behind ${before} others, without long frames`, async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base, { reducedMotion: "no-preference" });
    await go("chat");
    const worst = await page.evaluate(async (count) => {
      const { chats, importChats, addNode, keep } = await globalThis.room("state/chats");
      const { running, takeChunk } = await globalThis.room("state/stream");
      importChats(JSON.stringify({ id: "x", title: "x", leaf: `${count - 1}`, nodes: Array.from({ length: count }, (_, i) => ({ id: `${i}`, parent: `${i - 1}`, role: i % 2 ? "assistant" : "user", content: `Message **${i}** with some words, \`code\` and\n\n- a list`, finish: "stop" })) }));
      const [chat] = chats.value;
      location.hash = `#/chat/${chat.id}`;
      while (document.querySelectorAll(".message").length < count) await new Promise((resolve) => setTimeout(resolve, 100));
      const node = addNode(chat, { role: "assistant", rounds: [], began: performance.now() });
      running.value = new Map([[chat.id, { node, stop() {} }]]);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      const box = document.querySelector(".messages");
      let at = box.scrollHeight;
      let worst = 0, last = performance.now(), going = true;
      const frame = (now) => {
        worst = Math.max(worst, now - last);
        last = now;
        if (count > 0) box.scrollTop = at -= 200;
        if (going) requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
      for (let second = 0; second < 3; ++second) {
        for (let part = 0; part < 50; ++part) {
          for (let i = 0; i < 20; ++i) takeChunk(node, { choices: [{ delta: { content: i % 19 ? `word${i} ` : "\n\nA **new** paragraph with `code`: " } }] });
          keep(chat, true);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
      going = false;
      return worst;
    }, before);
    console.log(`longest frame at 1,000 tokens/s behind ${before} messages: ${worst.toFixed(0)} ms`);
    // Behind many others a frame may be late, where it lays out those that come into view; it was seconds when each was made anew.
    assert.ok(worst < (before ? 250 : 50) * kSlack, `longest frame ${worst} ms`);
    await close();
  });
}
