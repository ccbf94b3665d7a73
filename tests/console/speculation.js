// Races end with equal texts, or say where they differ; a hopeless drafter is given up.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { kShots, openPage } from "./browser.js";
import { startServer } from "./server.js";

const kRaces = Number(process.env.CONSOLE_RACES ?? 4);

export function speculation(world) {
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

  test("texts that differ are told from which byte on, with a report", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("speculation");
    let asked = 0;
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), messages: [{ role: "user", content: asked++ ? "What is 1 plus 1?" : "Tell a story." }] }) }));
    await page.getByRole("button", { name: "Start" }).click();
    await page.waitForSelector(".verdict.bad");
    const [saved] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Save a report" }).click()]);
    const { lanes, verdict } = JSON.parse(fs.readFileSync(await saved.path(), "utf8")), [first, second] = lanes.map((lane) => Buffer.from(lane.text));
    assert.notDeepEqual(first, second);
    assert.deepEqual(first.subarray(0, verdict.differsAt), second.subarray(0, verdict.differsAt));
    assert.notEqual(first[verdict.differsAt], second[verdict.differsAt]);
    assert.ok((await page.locator(".verdict").innerText()).includes(`differ from byte ${verdict.differsAt} on`));
    quiet();
    await close();
  });

  test("a hopeless drafter is given up: depth falls to 0 in the chart", async () => {
    const server = await startServer(["--draft", "scripted:0"]);
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("speculation");
    await page.route("**/v1/chat/completions", (route) => route.continue({ postData: JSON.stringify({ ...route.request().postDataJSON(), max_tokens: 128, ignore_eos: true }) }));
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
    assert.ok(depths.every((one) => /^\d+$/.test(one)), `whole numbers: ${depths}`);
    assert.ok(depths.length === 20 && depths.filter((one) => Number(one) === 0).length >= 14, `the last depths: ${depths}`);
    quiet();
    await close();
    await server.stop();
  });
}
