// The log of the server, and that of decisions about drafts.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openPage } from "./browser.js";
import { ask, here, soon, startServer } from "./server.js";

export function log(world) {
  test("the log by level, model and request", async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), "console-models-"));
    for (const name of ["small", "other"]) fs.symlinkSync(path.resolve(here, "../../models/default"), path.join(folder, name));
    const server = await startServer(["--models-dir", folder, "--kv-bytes", "64MB"], { env: { PACELINE_MODEL: "" } });
    const ids = [];
    for (const model of ["small", "small", "other"]) ids.push((await (await ask(server, { model, max_tokens: 4 })).json()).id);
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("log");
    const lines = () => page.locator(".loglines div").allInnerTexts();
    const shown = async (...wanted) => {
      const holds = (all) => all.length > 0 && ids.every((id, at) => all.some((line) => line.includes(id)) === wanted.includes(at));
      await soon(async () => holds(await lines()), `those of ${wanted}`);
      return lines();
    };
    await shown(0, 1, 2);
    for (const source of ["Server", "Decisions about drafts"]) {
      await page.locator("main").getByRole("button", { name: source }).click();
      await page.locator("main").getByLabel("Model").selectOption("small");
      assert.ok((await shown(0, 1)).every((line) => line.includes("small")));
      await page.getByLabel("Request").fill(ids[1]);
      await shown(1);
      await page.getByLabel("Request").fill("");
      await page.locator("main").getByLabel("Model").selectOption("");
      await shown(0, 1, 2);
    }
    await page.locator("main").getByRole("button", { name: "Server" }).click();
    await page.getByLabel("Level").selectOption("error");
    await soon(async () => (await lines()).length === 0, "no errors");
    quiet();
    await close();
    await server.stop();
    fs.rmSync(folder, { recursive: true });
  });

  test("decisions about drafts stand in the log as they are made", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await (await ask(world.server, { max_tokens: 4 })).text();
    await go("log");
    await page.locator("main").getByRole("button", { name: "Decisions about drafts" }).click();
    await page.waitForSelector('.loglines[data-source="routing"] div');
    const { id } = await (await ask(world.server, { max_tokens: 8 })).json();
    await page.getByLabel("Filter").fill(id);
    await page.waitForFunction((name) => document.querySelector(".loglines div")?.innerText.includes(name), id);
    assert.equal(JSON.parse(await page.locator(".loglines div").first().innerText()).id, id);
    quiet();
    await close();
  });
}
