// What the page says is what /metrics says; requests are listed, and can be ended.
import assert from "node:assert/strict";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { openPage } from "./browser.js";
import { ask, soon, startServer } from "./server.js";

const total = async (server, name) => {
  const text = await (await server.get("/metrics")).text();
  return text.split("\n").filter((line) => line.startsWith(`${name}{`)).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
};

// The list of requests is below the charts, and is looked at when it is in view: until they stand it moves.
async function toList(page) {
  await page.waitForSelector(".chart .uplot");
  await page.locator("table.cards").last().evaluate((table) => table.scrollIntoView());
}

export function monitor(world) {
  test("numbers equal /metrics, and 20 requests fill the table", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    for (let i = 0; i < 20; ++i) await (await ask(world.server, { seed: i })).text();
    await go("chat");
    await page.waitForSelector(".strip b"); // it has been told how the server stands
    await go("monitor");
    await page.waitForSelector(".chart .uplot");
    for (const [column, name] of [["output", "vllm:generation_tokens_total"], ["prompt", "vllm:prompt_tokens_total"], ["accepted", "vllm:spec_decode_num_accepted_tokens_total"], ["drafted", "vllm:spec_decode_num_draft_tokens_total"]]) {
      const wanted = await total(world.server, name);
      await soon(async () => Number((await page.locator(`[data-total=${column}]`).innerText()).replaceAll(",", "")) === wanted, `${column} is ${wanted}`);
    }
    await toList(page);
    await soon(async () => (await page.locator("table.cards tbody tr").count()) >= 20, "20 requests in the table");
    const ids = await page.locator("table.cards tbody button[title]").evaluateAll((all) => all.map((one) => one.title));
    assert.deepEqual(ids, [...new Set(ids)], "each once");
    assert.equal(await page.locator(".chart").count(), 11);
    quiet();
    await close();
  });

  test("what servers before this one counted is not lost", async () => {
    const state = fs.mkdtempSync(path.join(os.tmpdir(), "totals-")), env = { XDG_STATE_HOME: state };
    const first = await startServer([], { env });
    const { usage } = await (await ask(first, { ignore_eos: true })).json();
    const newest = async () => {
      const { columns, rows } = await first.json("/v1/history");
      return Object.fromEntries(columns.map((name, at) => [name, rows.at(-1)?.[at]]));
    };
    const counted = await soon(async () => {
      const sample = await newest();
      return sample.output === usage.completion_tokens && sample;
    }, "a sample has it");
    await first.stop();
    const server = await startServer([], { env });
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("monitor");
    await page.waitForFunction((tokens) => document.querySelector("[data-all=output]")?.innerText === String(tokens), usage.completion_tokens);
    assert.equal(await page.locator("[data-total=output]").innerText(), "0");
    assert.equal(await page.locator("[data-total=saved]").innerText(), "0.00 ms");
    const { verify_s: verify, accepted, output, draft_s: draft } = counted, saved = Math.max((verify * accepted) / (output - accepted) - draft, 0);
    assert.equal(await page.locator("[data-all=saved]").innerText(), saved < 1 ? `${(saved * 1000).toFixed(saved < 0.01 ? 2 : 0)} ms` : `${saved.toFixed(2)} s`);
    quiet();
    await close();
    await server.stop();
    fs.rmSync(state, { recursive: true });
  });

  test("those that run and wait have a bar that stands still", async () => {
    const server = await startServer(["--max-running", "1"]), leave = new AbortController();
    const body = JSON.stringify({ messages: [{ role: "user", content: "Tell a story." }], max_tokens: 1500, ignore_eos: true, stream: true });
    const asked = Array.from({ length: 16 }, () => fetch(`${server.base}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, body, signal: leave.signal }).catch(() => {}));
    await soon(async () => (await server.json("/v1/requests")).waiting.length === 15, "all but one wait");
    const { page, go, quiet, close } = await openPage(world.browser, server.base);
    await go("monitor");
    await toList(page);
    const bars = () => page.evaluate(() => [...document.querySelectorAll("progress")].map((bar) => [bar.title, bar.hasAttribute("value")]));
    const seen = await soon(async () => {
      const all = await bars();
      return all.some(([name]) => name === "Output") && all.some(([name]) => name === "Prompt") && all;
    }, "one writes, others wait");
    assert.ok(seen.every(([, hasValue]) => hasValue), "none moves by itself");
    quiet();
    await close();
    leave.abort();
    await Promise.all(asked);
    await server.stop();
  });

  test("a request with all that is known of it, and what was decided for it", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    const { id } = await (await ask(world.server, { max_tokens: 8, speculative: { depth: 2 } })).json();
    await go("monitor");
    await toList(page);
    await page.locator(`button[title="${id}"]`).click();
    await page.waitForFunction((name) => document.querySelector("[data-routing]")?.innerText.includes(name), id);
    assert.match(await page.locator("dialog pre").first().innerText(), /"client": "127.0.0.1"/);
    quiet();
    await close();
  });

  test("one that runs has its depth, acceptance and memory", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base), leave = new AbortController();
    await go("monitor");
    await toList(page);
    const asked = fetch(`${world.server.base}/v1/chat/completions`, { method: "POST", headers: { "content-type": "application/json" }, signal: leave.signal,
      body: JSON.stringify({ messages: [{ role: "user", content: "Tell a story." }], max_tokens: 7000, ignore_eos: true, stream: true, speculative: { depth: 3 } }) });
    await (await asked).body.getReader().read();
    const row = page.locator("table.cards tbody tr").filter({ has: page.locator("progress") });
    const cell = (name) => row.locator(`td[data-name="${name}"]`).innerText();
    await soon(async () => (await row.count()) === 1 && /^\d+%$/.test(await cell("acceptance")), "what holds so far");
    assert.equal(await cell("Depth"), "3");
    assert.match(await cell("KV"), /^[1-9][\d.]* [kM]B$/);
    const id = await row.locator("button.small").getAttribute("title");
    leave.abort();
    // What it had it has given back: none is told, and not 0.
    const then = page.locator("table.cards tbody tr").filter({ has: page.locator(`button[title="${id}"]`) });
    await soon(async () => (await then.locator("progress").count()) === 0 && (await then.count()) === 1, "it has ended");
    assert.equal(await then.locator('td[data-name="KV"]').innerText(), "–");
    quiet();
    await close();
  });

  test("cancel ends a request", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("monitor");
    await toList(page);
    // Whoever has gone before has no such button any more.
    await soon(async () => (await page.locator('button[aria-label="Cancel"]').count()) === 0, "nothing runs");
    // Long enough to be found and ended on a slow machine, too.
    const asked = ask(world.server, { max_tokens: 3000, n: 8, ignore_eos: true, speculative: { enabled: false } });
    await page.locator('button[aria-label="Cancel"]').click();
    const answer = await asked;
    assert.match(await answer.text(), /cancelled/);
    await close();
  });

  test("only what is in view is drawn anew, and asked for", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await page.addInitScript(() => {
      globalThis.drawn = new Map();
      const clear = CanvasRenderingContext2D.prototype.clearRect;
      CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        globalThis.drawn.set(this.canvas, (globalThis.drawn.get(this.canvas) ?? 0) + 1);
        return clear.apply(this, box);
      };
    });
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await go("monitor");
    await page.waitForSelector(".chart .uplot");
    const counts = () => page.evaluate(() => [...document.querySelectorAll(".chart canvas")].map((canvas) => globalThis.drawn.get(canvas) ?? 0));
    const more = async (at, from, times) => soon(async () => (await counts())[at] >= from[at] + times, `chart ${at} drawn ${times} times more`);
    await more(0, await counts(), 1); // by then it is known what is in view
    const before = await counts(), from = asked.length;
    await more(0, before, 2);
    const then = await counts(), last = before.length - 1;
    assert.equal(then[last], before[last], "the last chart is out of view");
    assert.ok(!asked.slice(from).includes("/v1/requests"), "and so is the list of requests");
    await page.locator(".chart").last().scrollIntoViewIfNeeded();
    await more(last, then, 1);
    await toList(page);
    await soon(() => asked.slice(from).includes("/v1/requests"), "the list is asked for");
    quiet();
    await close();
  });

  test("an hour of samples stays within bounds", async () => {
    const { page, go, close } = await openPage(world.browser, world.server.base);
    await go("monitor");
    await page.waitForSelector(".chart .uplot");
    const session = await page.context().newCDPSession(page);
    const heap = async () => {
      await session.send("HeapProfiler.collectGarbage");
      return (await session.send("Runtime.getHeapUsage")).usedSize;
    };
    const rows = await page.evaluate(async () => {
      const { columns, joinSamples, range } = await globalThis.room("state/monitor");
      range.value = "3600";
      const names = Object.keys(columns.value), from = Date.now() / 1000 - 7200;
      let all = null;
      for (let second = 0; second < 7200; second += 60) {
        all = joinSamples(all, names, Array.from({ length: 60 }, (_, i) => names.map((name) => (name === "time" ? from + second + i : second + i + Math.random()))), 3600);
      }
      columns.value = all;
      await new Promise((resolve) => setTimeout(resolve, 800));
      return all.time.length;
    });
    assert.ok(rows >= 3600 && rows <= 4000, `${rows} rows`);
    const used = await heap();
    console.log(`heap with an hour of samples in 11 charts: ${(used / 1e6).toFixed(1)} MB`);
    assert.ok(used < 60e6);
    await close();
  });
}
