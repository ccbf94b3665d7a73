// Settings that change while the server runs, and the file that they are written to.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openPage } from "./browser.js";
import { soon, startServer } from "./server.js";

export function settings(world) {
  test("a limit changes at once, and the file on request alone", async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "console-")), "paceline.toml");
    fs.writeFileSync(file, "# ours\ndefault-max-tokens = 40\n");
    const server = await startServer(["--config", file, "--max-images", "3"]);
    const { page, go, quiet, close } = await openPage(world.browser, server.base, { expected: ["status of 400"] });
    const written = async () => (await (await server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Tell a story." }], ignore_eos: true })).json()).usage.completion_tokens;
    assert.equal(await written(), 40);
    await go("settings");
    const field = page.getByLabel("default-max-tokens");
    await field.fill("7");
    await field.press("Enter");
    await page.waitForSelector("[data-difference]");
    assert.equal((await page.locator("[data-difference]").innerText()).trim(), "- default-max-tokens = 40\n+ default-max-tokens = 7");
    assert.equal(await written(), 7);
    assert.equal(fs.readFileSync(file, "utf8"), "# ours\ndefault-max-tokens = 40\n");
    await field.fill("none");
    await field.press("Enter");
    await page.waitForSelector("p.bad[role=alert]");
    assert.equal(await written(), 7);
    await page.getByRole("button", { name: "Write to" }).click();
    await page.waitForSelector("text=Nothing differs from the file.");
    assert.equal(fs.readFileSync(file, "utf8"), "# ours\ndefault-max-tokens = 7\n");
    quiet();
    await close();
    await server.stop();
  });

  test("a cap on speculation holds for requests that come then", async () => {
    const drafted = async () => (await (await world.server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Tell a story." }], max_tokens: 24, ignore_eos: true, speculative: { depth: 2 } })).json()).usage.speculative.drafted;
    const set = async (value) => assert.equal((await world.server.post("/v1/settings", { "speculate-up-to-context": value })).status, 200);
    assert.ok((await drafted()) > 0);
    await set(1);
    await soon(async () => (await drafted()) === 0, "no drafts");
    await set(0);
    await soon(async () => (await drafted()) > 0, "drafts again");
    for (const wrong of [{ port: 1 }, { "speculate-up-to-kv": 2 }, { nonsense: 1 }, []]) assert.equal((await world.server.post("/v1/settings", wrong)).status, 400, JSON.stringify(wrong));
  });

  test("what is asked for where a request does not say", async () => {
    const { server } = world, story = { messages: [{ role: "user", content: "Tell a story." }], max_tokens: 24, ignore_eos: true };
    const ask = async (fields = {}) => (await server.post("/v1/chat/completions", { ...story, ...fields })).json();
    const set = async (fields) => assert.equal((await server.post("/v1/settings", fields)).status, 200);
    const told = async () => (await server.json("/props")).default_generation_settings.params.temperature;
    const drafted = async (fields) => (await ask(fields)).usage.speculative.drafted;
    const before = await told();
    await set({ "default-temperature": "0", "default-depth": "0" });
    assert.equal(await told(), 0);
    const coldest = (await ask({ temperature: 0 })).choices[0].message.content;
    assert.equal((await ask()).choices[0].message.content, coldest);
    assert.equal(await drafted(), 0);
    assert.ok((await drafted({ speculative: { depth: 2 } })) > 0, "a request that says goes first");
    await set({ "default-depth": "2" });
    assert.ok((await drafted()) > 0);
    assert.equal(await drafted({ speculative: { enabled: false } }), 0);
    await set({ "default-temperature": "model", "default-depth": "auto" });
    assert.equal(await told(), before);
    const depthOfAll = async () => (await server.json("/v1/models")).data[0].drafter.depth;
    await set({ depth: 3 });
    assert.equal(await depthOfAll(), 3);
    await soon(async () => (await drafted()) > 0, "drafts");
    await set({ depth: 0 });
    await soon(async () => (await drafted()) === 0, "no drafts");
    assert.ok((await drafted({ speculative: { depth: 2 } })) > 0);
    await set({ depth: "auto", "idle-seconds": 30, "model-idle-seconds": 60 });
    assert.equal(await depthOfAll(), "adaptive");
    for (const wrong of [{ depth: 17 }, { depth: "deep" }, { "idle-seconds": 0 }, { "default-temperature": "warm" }, { "default-depth": 17 }, { "default-thinking": "maybe" }]) assert.equal((await server.post("/v1/settings", wrong)).status, 400, JSON.stringify(wrong));
  });
}
