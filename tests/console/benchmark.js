// A small run to its end, one that is cancelled, one that is disturbed.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openPage } from "./browser.js";
import { soon } from "./server.js";

const kSmall = { at_once: [1], requests: 2, rounds: 1, output_tokens: 8 };
const newest = async (server) => (await server.json("/v1/benchmarks")).runs[0];

export function benchmark(world) {
  test("runs to its end, and shows what the JSON says", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    assert.equal((await world.server.post("/v1/benchmarks", kSmall)).status, 200);
    await go("benchmark");
    const run = await soon(async () => ((await newest(world.server)).state === "done" ? newest(world.server) : null), "it ends");
    await page.waitForSelector(`[data-run="${run.id}"] button:text("JSON")`);
    const shown = await page.evaluate((id) => [...document.querySelectorAll(`[data-run="${id}"] [data-rate]`)].map((one) => Number(one.dataset.rate)), run.id);
    assert.deepEqual(shown, run.report.cells.map((cell) => cell.tokens_per_s));
    assert.equal(run.others, 0);
    assert.ok(run.report.cells.every((cell) => cell.failed === 0 && cell.tokens_per_s > 0));
    quiet();
    await close();
  });

  test("cancel ends it; two at once are refused; a disturbed one says so", async () => {
    await world.server.post("/v1/benchmarks", { ...kSmall, requests: 4, rounds: 9 });
    assert.equal((await world.server.post("/v1/benchmarks", kSmall)).status, 409);
    const asked = await world.server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }], max_tokens: 4 });
    await asked.text();
    const { id } = await newest(world.server);
    await fetch(`${world.server.base}/v1/benchmarks/${id}`, { method: "DELETE" });
    const run = await soon(async () => ((await newest(world.server)).state === "cancelled" ? newest(world.server) : null), "it is cancelled");
    assert.ok(run.others >= 1, "the other request is counted");
    assert.equal((await world.server.post("/v1/benchmarks", { at_once: [65] })).status, 400);
  });
}
