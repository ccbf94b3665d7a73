// Models as the server shows them.
import assert from "node:assert/strict";
import { test } from "node:test";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { openPage } from "./browser.js";
import { here, soon, startServer } from "./server.js";

export function models(world) {
  test("the served model, with what it is", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("models");
    const card = page.locator('[data-model="default"]');
    await card.waitFor();
    const text = await card.innerText();
    assert.match(text, /loaded/);
    assert.match(text, /Context/);
    await page.waitForFunction(() => /[0-9a-f]{64}/.test(document.querySelector("[data-model]").innerText));
    // The server's words are in the reader's language, too.
    await go("models", "?lang=de");
    await card.getByText("Text, Bild, Clip").waitFor();
    await card.getByText("(geladen)").waitFor();
    quiet();
    await close();
  });

  test("load, unload, and one that is broken", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "console-models-"));
    fs.symlinkSync(path.resolve(here, "../../models/default"), path.join(folder, "small"));
    fs.cpSync(path.resolve(here, "../../models/default"), path.join(folder, "broken"), { recursive: true });
    fs.truncateSync(path.join(folder, "broken", fs.readdirSync(path.join(folder, "broken")).find((one) => one.endsWith(".safetensors"))), 1000);
    const server = await startServer(["--models-dir", folder], { env: { PACELINE_MODEL: "" } });
    const { page, go, close } = await openPage(world.browser, server.base, { expected: ["Failed to load resource"] });
    await go("models");
    const card = page.locator('[data-model="small"]'), broken = page.locator('[data-model="broken"]');
    await card.getByRole("button", { name: "Load", exact: true }).click();
    await card.getByRole("button", { name: "Unload" }).waitFor();
    await card.getByRole("button", { name: "Unload" }).click();
    await card.getByRole("button", { name: "Load", exact: true }).waitFor();
    await broken.getByRole("button", { name: "Load", exact: true }).click();
    await broken.locator(".bad").first().waitFor();
    for (const name of ["speculation", "benchmark"]) {
      await go(name);
      await page.locator('main .banner a[href="#/models"]').waitFor();
    }
    await close();
    await server.stop();
    fs.rmSync(folder, { recursive: true });
  });

  test("one that does not fit says so; a lazy drafter comes when it is needed", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "console-models-"));
    for (const name of ["small", "other"]) fs.symlinkSync(path.resolve(here, "../../models/default"), path.join(folder, name));
    const server = await startServer(["--models-dir", folder, "--memory", "1MB", "--kv-bytes", "64MB"], { env: { PACELINE_MODEL: "" } });
    const { page, go, close } = await openPage(world.browser, server.base, { expected: ["Failed to load resource"] });
    await go("models");
    const card = page.locator('[data-model="small"]');
    assert.match(await card.innerText(), /Would need [\d.]+ MB, [\d.]+ MB are free/);
    await card.getByRole("button", { name: "Load", exact: true }).click();
    await card.locator(".bad").first().waitFor();
    await close();
    await server.stop();
    const lazy = await startServer(["--models-dir", folder, "--lazy-drafter", "true", "--kv-bytes", "64MB"], { env: { PACELINE_MODEL: "" } });
    const seen = await openPage(world.browser, lazy.base);
    await seen.go("models");
    const drafter = () => seen.page.locator('[data-model="small"]').innerText();
    await seen.page.locator('[data-model="small"]').getByRole("button", { name: "Load", exact: true }).click();
    await soon(async () => /not loaded\)/.test(await drafter()), "its drafter is not there");
    await (await lazy.post("/v1/chat/completions", { model: "small", messages: [{ role: "user", content: "Hello" }], max_tokens: 24, ignore_eos: true, speculative: { depth: 2 } })).text();
    await soon(async () => /\(loaded\)/.test(await drafter()), "its drafter has come");
    // What held is each model's own.
    const told = (await lazy.json("/v1/models")).data.find((one) => one.id === "small").drafter;
    assert.ok(told.drafted > 0 && told.accepted <= told.drafted);
    await soon(async () => (await drafter()).toLowerCase().includes(`acceptance\n${Math.round((100 * told.accepted) / told.drafted)}%`), "and how much of it holds");
    assert.ok(!(await seen.page.locator('[data-model="other"]').innerText()).toLowerCase().includes("acceptance"));
    seen.quiet();
    await seen.close();
    await lazy.stop();
    fs.rmSync(folder, { recursive: true });
  });
}
