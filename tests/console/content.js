// What goes into a message and comes out of one besides text: pictures and clips; forms, tools, thoughts.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { answer, drawer, ended, openPage, say } from "./browser.js";
import { here, soon, startServer } from "./server.js";

export function pictures(world) {
  test("a picture in, a description out", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.setInputFiles('input[type="file"][accept^="image"]', path.join(here, "../default_model/picture0.png"));
    await page.waitForFunction(() => /^\d+ tokens/.test(document.querySelector(".pictures figcaption")?.innerText));
    const cost = parseInt(await page.locator(".pictures figcaption").innerText());
    await say(page, "Describe the picture.");
    await ended(page);
    assert.ok((await answer(page)).length > 0);
    const { usage } = await page.evaluate(async () => (await globalThis.room("state/chats")).chat.value.nodes.at(-1));
    const { count } = await (await world.server.post("/tokenize", { messages: [{ role: "user", content: "Describe the picture." }] })).json();
    assert.ok(cost > 1);
    assert.equal(usage.prompt_tokens, count + cost, "it costs what was said before");
    quiet();
    await close();
  });

  test("what is not taken says why, and what is beside it stays", async () => {
    const { page, go, heard, close } = await openPage(world.browser, world.server.base, { expected: ["status of 400"] });
    await go("chat");
    const clip = fs.readFileSync(path.join(here, "../fuzz/video/h264.mp4")), long = Buffer.from(clip);
    // Six frames that last 683 seconds each, and no list that cuts them.
    long.writeUInt32BE(3, long.indexOf("mdhd") + 16);
    long.write("free", long.indexOf("edts"));
    const files = [["good.webm", "video/webm", fs.readFileSync(path.join(here, "../fuzz/video/vp8.webm"))], ["long.mp4", "video/mp4", long], ["none.webm", "video/webm", Buffer.from("nothing that moves")], ["broken.png", "image/png", fs.readFileSync(path.join(here, "../default_model/picture0.png")).subarray(0, 40)], ["none.png", "image/png", Buffer.from("no picture")], ["wide.gif", "image/gif", Buffer.from("GIF89a\xff\xff\xff\xff\0\0\0", "latin1")], ["notes.txt", "text/plain", Buffer.from("words")]];
    const dropped = await page.evaluateHandle((all) => {
      const made = new DataTransfer();
      for (const [name, type, bytes] of all) made.items.add(new File([Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0))], name, { type }));
      return made;
    }, files.map(([name, type, bytes]) => [name, type, bytes.toString("base64")]));
    await page.waitForSelector(".state.good"); // it is known what the model takes
    await page.dispatchEvent(".writer", "drop", { dataTransfer: dropped });
    const wanted = ["broken.png: damaged", "long.mp4: too long", "none.png: unknown format", "none.webm: unknown format", "notes.txt: unknown format", "wide.gif: too large"];
    const told = async () => (await page.locator(".writer [role=alert]").innerText()).split(" · ").sort();
    await soon(async () => (await told()).length === wanted.length, "all are told of");
    assert.deepEqual(await told(), wanted);
    await page.waitForFunction(() => /^\d+ tokens/.test(document.querySelector(".pictures figcaption")?.innerText));
    assert.equal(await page.locator(".pictures figure").count(), 1, "the good one stays");
    const isShown = (where) => page.waitForFunction((place) => document.querySelector(`${place} video`)?.videoWidth > 0, where);
    await isShown(".pictures");
    await page.setInputFiles('input[type="file"][accept^="image"]', path.join(here, "../default_model/picture0.png"));
    await page.waitForFunction(() => document.querySelectorAll(".pictures figure").length === 2);
    assert.equal(await page.locator(".writer [role=alert]").count(), 0, "what was said before goes");
    await say(page, "Describe the clip.");
    await isShown(".thumbs");
    await ended(page);
    assert.ok((await answer(page)).length > 0);
    assert.deepEqual(heard, []);
    await close();
  });

  test("a clip that is larger than the server takes, and one for a model without eyes", async () => {
    const server = await startServer(["--max-body-bytes", "20000"]);
    const { page, go, close } = await openPage(world.browser, server.base, { expected: ["status of 413"] });
    await go("chat");
    const put = (name, bytes) => page.setInputFiles('input[type="file"][accept^="image"]', { name, mimeType: "video/mp4", buffer: Buffer.alloc(bytes) });
    await put("large.mp4", 30000);
    await page.waitForFunction(() => document.querySelector(".writer [role=alert]")?.innerText === "large.mp4: too large");
    assert.equal(await page.locator(".pictures").count(), 0);
    await page.route("**/v1/models", async (route) => {
      const answer = await route.fetch(), list = await answer.json();
      await route.fulfill({ response: answer, json: { ...list, data: list.data.map((one) => ({ ...one, videos: false })) } });
    });
    await page.reload();
    await page.waitForSelector(".state.good");
    await put("small.mp4", 10);
    await page.waitForFunction(() => document.querySelector(".writer [role=alert]")?.innerText === "small.mp4: This model takes no clips");
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await close();
    await server.stop();
  });
}

export function content(world) {
  test("JSON by schema", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await drawer(page);
    await page.getByLabel("JSON schema of the answer").fill('{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name","age"]}');
    await page.locator('.drawer button[aria-label="Close"]').click();
    await say(page, "Make JSON of this: Anna is 31 years old and lives in Rome.");
    await ended(page);
    const made = JSON.parse(await answer(page));
    assert.equal(typeof made.age, "number");
    await close();
  });

  test("a tool's round, typed in", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await drawer(page);
    await page.getByRole("button", { name: "Add a tool" }).click();
    await page.locator(".drawer").getByLabel("Name", { exact: true }).fill("get_weather");
    await page.getByLabel("Description").fill("Weather of a city");
    await page.getByLabel("JSON schema", { exact: true }).fill('{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}');
    await page.locator(".drawer fieldset").getByRole("button", { name: "Save" }).click();
    await page.getByLabel("Temperature").fill("0");
    await page.getByLabel("Temperature").press("Enter");
    await page.locator('.drawer button[aria-label="Close"]').click();
    // Whatever the model would rather say: first a call, then none.
    let asked = 0;
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), tool_choice: asked++ ? "none" : "required" }) }));
    await say(page, "What is the weather in Paris?");
    await page.waitForSelector(".message .card pre");
    await page.waitForFunction(() => !document.querySelector("[aria-busy]"));
    await page.getByLabel("Result").fill("sunny");
    await page.getByRole("button", { name: "Give the result" }).click();
    await page.waitForFunction(() => document.querySelectorAll(".message.assistant").length === 2);
    await ended(page);
    assert.ok((await answer(page)).length > 0);
    await close();
  });

  // The model that ships with the program has none: it is asked for them, and such a conversation is shown.
  test("thoughts are asked for, and folded", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.locator(".talk header").getByLabel("Thinking").check();
    const asked = page.waitForRequest((request) => request.url().endsWith("/v1/chat/completions"));
    await say(page, "What is 12 plus 30?");
    assert.equal((await asked).postDataJSON().chat_template_kwargs.enable_thinking, true);
    await ended(page);
    await page.evaluate(async () => {
      const { importChats, chats } = await globalThis.room("state/chats");
      importChats(JSON.stringify({ id: "x", title: "x", leaf: "a", nodes: [{ id: "a", parent: "", role: "assistant", content: "42", reasoning: "Add them." }] }));
      location.hash = `#/chat/${chats.value[0].id}`;
    });
    await page.waitForSelector(".thoughts summary");
    assert.equal(await page.locator(".thoughts").evaluate((fold) => fold.open), false);
    await page.locator(".thoughts summary").click();
    await page.waitForSelector("text=Add them.");
    quiet();
    await close();
  });
}
