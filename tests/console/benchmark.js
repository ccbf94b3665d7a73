// A small run to its end, one that is cancelled, one that is disturbed.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { openPage } from "./browser.js";
import { program, soon, startServer } from "./server.js";

const kSmall = { at_once: [1], requests: 2, rounds: 1, output_tokens: 8 };
const newest = async (server) => (await server.json("/v1/benchmarks")).runs[0];

const shownRates = (page, id, name) => page.evaluate(([run, field]) => [...document.querySelectorAll(`[data-run="${run}"] [data-${field}]`)].map((one) => Number(one.dataset[field])), [id, name]);
const ended = (server) => soon(async () => ((await newest(server)).state === "done" ? newest(server) : null), "it ends");

const downloaded = async (page, id, name) => {
  const [saved] = await Promise.all([page.waitForEvent("download"), page.locator(`[data-run="${id}"]`).getByRole("button", { name, exact: true }).click()]);
  return { name: saved.suggestedFilename(), text: fs.readFileSync(await saved.path(), "utf8") };
};

const cellsOf = (line) => line.split(/,(?=(?:[^"]*"[^"]*")*[^"]*$)/).map((one) => one.replace(/^"|"$/g, ""));
function rowsOf(text) {
  const [names, ...rows] = text.split("\n").map(cellsOf);
  return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]])));
}
// A column of the table is a member of a cell, or of one of its members: first_text_ms_p50.
const figureOf = (cell, name) => {
  const [, group, part] = name.match(/^(.*_ms)_(p\d+)$/) ?? [];
  return String((group ? cell[group][part] : cell[name]) ?? "");
};

export function benchmark(world) {
  test("runs to its end, and shows what the JSON says", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    assert.equal((await world.server.post("/v1/benchmarks", kSmall)).status, 200);
    await go("benchmark");
    const run = await soon(async () => ((await newest(world.server)).state === "done" ? newest(world.server) : null), "it ends");
    await page.waitForSelector(`[data-run="${run.id}"] button:text("JSON")`);
    assert.deepEqual(await shownRates(page, run.id, "rate"), run.report.cells.map((cell) => cell.tokens_per_s));
    assert.deepEqual(await shownRates(page, run.id, "decode"), run.report.cells.map((cell) => cell.decode_tokens_per_s));
    assert.equal(run.others, 0);
    assert.ok((await page.locator(`[data-run="${run.id}"]`).innerText()).includes("quiet"));
    assert.ok(run.report.cells.every((cell) => cell.failed === 0 && cell.tokens_per_s > 0));
    quiet();
    await close();
  });

  test("kinds of text by depths, planned in the page; the same run by the program finds the same", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("benchmark");
    const main = page.locator("main");
    await main.getByRole("group", { name: "What is measured" }).getByRole("button", { name: "Speculation" }).click();
    for (const name of ["code", "sums", "copying", "JSON"]) await main.getByLabel(name, { exact: true }).uncheck();
    await main.getByLabel("Depth").fill("2, auto");
    await main.getByLabel("Most tokens").fill("16");
    await main.getByRole("button", { name: "Start" }).click();
    await main.locator("progress").or(main.locator("[data-run]")).first().waitFor();
    await soon(async () => (await newest(world.server)).plan.kinds.length > 0, "it began");
    const run = await ended(world.server);
    assert.deepEqual(run.report.cells.map((cell) => [cell.text, cell.drafts]), [["prose", "plain"], ["prose", "2"], ["prose", "auto"]]);
    assert.match(run.facts.model.sha256.target ?? "", /^[0-9a-f]{64}$/);
    await page.waitForSelector(`[data-run="${run.id}"] button:text("JSON")`);
    assert.deepEqual(await shownRates(page, run.id, "rate"), run.report.cells.map((cell) => cell.tokens_per_s));
    await main.locator(".chart").first().waitFor();
    const flags = ["bench", "--serve", "--url", world.server.base, "--at-once", "1", "--requests", "6", "--rounds", "1", "--kinds", "prose", "--depths", "2,auto", "--output-tokens", "16", "--json", "--out", ""];
    const told = JSON.parse((await promisify(execFile)(program, flags)).stdout);
    // Times differ; what was asked and, at a depth that is fixed, what became of it does not. (Means are sums in the order in
    // which requests end, so their last bits may differ.)
    const rounded = (mean) => Number(mean.toFixed(9));
    const same = (cell) => [cell.load, cell.drafts, cell.text, cell.requests, cell.failed, ...(cell.drafts === "auto" ? [] : [cell.tokens_per_verify, cell.accepted_of_drafted].map(rounded))];
    assert.deepEqual(told.cells.map(same), run.report.cells.map(same));
    assert.deepEqual(told.cells.map((cell) => Object.keys(cell)), run.report.cells.map((cell) => Object.keys(cell)));
    quiet();
    await close();
  });

  test("what is saved as JSON, CSV and SVG is what the server has", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    assert.equal((await world.server.post("/v1/benchmarks", { ...kSmall, requests: 1, kinds: ["prose", "code"], depths: [2] })).status, 200);
    const run = await ended(world.server), { svg } = await world.server.json(`/v1/benchmarks/${run.id}`);
    await go("benchmark");
    await page.waitForSelector(`[data-run="${run.id}"] button:text("JSON")`);
    const saved = await downloaded(page, run.id, "JSON"), table = await downloaded(page, run.id, "CSV"), picture = await downloaded(page, run.id, "SVG");
    assert.deepEqual([saved, table, picture].map((file) => file.name), ["benchmark.json", "benchmark.csv", "benchmark.svg"]);
    assert.deepEqual(JSON.parse(saved.text), run);
    assert.equal(picture.text, svg);
    assert.match(svg, /^<svg /);
    const rows = rowsOf(table.text);
    assert.equal(run.report.cells.length, 4);
    assert.deepEqual(rows, run.report.cells.map((cell) => Object.fromEntries(Object.keys(rows[0]).map((name) => [name, figureOf(cell, name)]))));
    for (const name of ["load", "drafts", "text", "failed", "tokens_per_s", "decode_tokens_per_s", "ratio_to_plain", "first_text_ms_p50"]) assert.ok(name in rows[0], name);
    quiet();
    await close();
  });
}

export function runs(world) {
  test("runs outlive the server, and go when they are deleted", async () => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "runs-"));
    let server = await startServer([], { env: { XDG_STATE_HOME: state } });
    await server.post("/v1/benchmarks", kSmall);
    const { id, report } = await ended(server);
    await server.stop();
    server = await startServer([], { env: { XDG_STATE_HOME: state } });
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("benchmark");
    await page.waitForSelector(`[data-run="${id}"] button:text("JSON")`);
    assert.deepEqual(await shownRates(page, id, "rate"), report.cells.map((cell) => cell.tokens_per_s));
    await page.locator(`[data-run="${id}"]`).getByRole("button", { name: "Delete" }).click();
    await page.waitForFunction((run) => !document.querySelector(`[data-run="${run}"]`), id);
    assert.deepEqual((await server.json("/v1/benchmarks")).runs, []);
    assert.equal(fs.readFileSync(path.join(state, "paceline/benchmarks.json"), "utf8"), "[]");
    quiet();
    await close();
    await server.stop();
    fs.rmSync(state, { recursive: true });
  });

  test("a disturbed one says so, and two at once are refused", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    assert.equal((await world.server.post("/v1/benchmarks", { ...kSmall, rounds: 5 })).status, 200);
    assert.equal((await world.server.post("/v1/benchmarks", kSmall)).status, 409);
    await (await world.server.post("/v1/chat/completions", { messages: [{ role: "user", content: "Hi" }], max_tokens: 4 })).text();
    const run = await ended(world.server), card = page.locator(`[data-run="${run.id}"]`);
    assert.equal(run.others, 1, "the other request is counted");
    await go("benchmark");
    await card.getByText("disturbed, requests of others: 1").waitFor();
    assert.ok(!(await card.innerText()).includes("quiet"));
    assert.equal((await world.server.post("/v1/benchmarks", { at_once: [65] })).status, 400);
    quiet();
    await close();
  });

  test("the page's Cancel ends what runs, in the middle of it", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    // Longer than anybody waits.
    assert.equal((await world.server.post("/v1/benchmarks", { ...kSmall, requests: 1000, rounds: 9, output_tokens: 64 })).status, 200);
    const { id } = await newest(world.server), card = page.locator(`[data-run="${id}"]`);
    await go("benchmark");
    await card.locator("progress").waitFor();
    assert.equal(await card.getByRole("button", { name: "JSON" }).count(), 0, "nothing to save yet");
    await card.getByRole("button", { name: "Cancel" }).click();
    const run = await soon(async () => ((await newest(world.server)).state === "cancelled" ? newest(world.server) : null), "it is cancelled");
    assert.deepEqual([run.id, run.done], [id, 0]);
    await card.getByText("cancelled", { exact: true }).waitFor();
    assert.equal(await card.locator("progress").count(), 0);
    assert.equal(await card.getByRole("button", { name: "Cancel" }).count(), 0);
    await soon(async () => (await world.server.json("/v1/requests")).running.length === 0, "nothing of it runs on");
    quiet();
    await close();
  });
}
