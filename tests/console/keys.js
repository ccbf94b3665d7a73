// Who may come in: keys and sessions, other origins, other hosts, and hostile text.
import assert from "node:assert/strict";
import fs from "node:fs";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { openPage } from "./browser.js";
import { startServer } from "./server.js";

const kHostile = [
  "<script>window.broken = 1</script>", "<img src=x onerror=\"window.broken = 2\">", "[click](javascript:window.broken=3)", "![p](https://elsewhere.example/p.png)",
  "[ok](https://elsewhere.example/x)", "<svg onload=\"window.broken = 4\"></svg>", "`<b>`", "| a | b |\n|---|---|\n| <script>1</script> | [x](data:text/html,1) |",
].join("\n\n");

export function keys(world) {
  let locked;
  before(async () => {
    const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "console-")), "admin");
    fs.writeFileSync(file, "admin-key\n");
    locked = await startServer(["--admin-key-file", file], { env: { PACELINE_API_KEYS: "user-key" } });
  });
  after(() => locked?.stop());

  test("wrong key, right key, administrator's key, log-out", async () => {
    const { page, close, heard } = await openPage(world.browser, locked.base, { expected: ["status of 401"] });
    await page.goto(`${locked.base}/#/chat`);
    const enter = async (key) => {
      await page.getByLabel("Key").fill(key);
      await page.getByRole("button", { name: "Log in" }).click();
    };
    await page.waitForSelector("text=A key is needed");
    await enter("nonsense");
    await page.waitForSelector("text=This key is not known.");
    await enter("user-key");
    await page.waitForSelector(".writer textarea");
    await page.goto(`${locked.base}/#/monitor`);
    await page.waitForSelector("text=This needs an administrator's key.");
    await page.getByRole("button", { name: "Log out" }).click();
    await page.waitForSelector("text=A key is needed");
    await enter("admin-key");
    await page.waitForSelector(".chart .uplot");
    const cookies = await page.context().cookies();
    assert.ok(cookies.every((one) => one.httpOnly && one.sameSite === "Strict"));
    const leaked = await page.evaluate(() => JSON.stringify(localStorage) + JSON.stringify(sessionStorage) + document.documentElement.outerHTML + location.href + document.cookie);
    assert.ok(!/admin-key|user-key|paceline_session/.test(leaked), "no key and no session where scripts can read");
    assert.deepEqual(heard, []);
    await close();
  });

  test("a session alone changes nothing without our header", async () => {
    const log = await locked.post("/console/session", { key: "admin-key" }, { "x-paceline-console": "1" });
    const cookie = log.headers.get("set-cookie").split(";")[0];
    assert.equal((await locked.get("/v1/requests", { cookie })).status, 200);
    assert.equal((await locked.post("/v1/settings", { "log-level": "info" }, { cookie })).status, 401);
    assert.equal((await locked.post("/v1/settings", { "log-level": "info" }, { cookie, "x-paceline-console": "1" })).status, 200);
  });

  test("attempts are slowed down", async () => {
    const states = [];
    for (let i = 0; i < 6; ++i) states.push((await locked.post("/console/session", { key: `wrong ${i}` }, { "x-paceline-console": "1" })).status);
    assert.equal(states.at(-1), 429);
  });

  test("a page of another origin can neither read nor act", async () => {
    const other = http.createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>x</title><link rel=icon href=data:,>"));
    await new Promise((resolve) => other.listen(0, "127.0.0.1", resolve));
    const context = await world.browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${other.address().port}/`);
    const before = await (await world.server.get("/metrics")).text();
    const results = await page.evaluate(async (base) => {
      const tries = [["/v1/models", {}], ["/v1/chat/completions", { method: "POST", headers: { "content-type": "text/plain" }, body: '{"messages":[{"role":"user","content":"x"}],"max_tokens":1}' }], ["/v1/settings", { method: "POST", mode: "no-cors", body: '{"log-level":"debug"}' }]];
      const found = [];
      for (const [place, options] of tries) found.push(await fetch(base + place, options).then((answer) => answer.type, () => "refused"));
      return found;
    }, world.server.base);
    assert.deepEqual(results, ["refused", "refused", "opaque"]);
    const settings = await world.server.json("/v1/settings");
    assert.equal(settings.settings.find((one) => one.name === "log-level").value, "info");
    const count = (text) => text.match(/vllm:generation_tokens_total\{.*\} (\S+)/)[1];
    assert.equal(count(await (await world.server.get("/metrics")).text()), count(before));
    await context.close();
    other.close();
  });

  test("a foreign Host is 421", async () => {
    const status = await new Promise((resolve) => http.get({ port: world.server.port, host: "127.0.0.1", headers: { host: "elsewhere.example" } }, (answer) => (answer.resume(), resolve(answer.statusCode))));
    assert.equal(status, 421);
  });

  test("hostile Markdown does nothing", async () => {
    const { page, go, quiet, close } = await openPage(world.browser, world.server.base);
    await go("chat");
    await page.evaluate(async (text) => {
      const { importChats, chats } = await globalThis.room("state/chats");
      importChats(JSON.stringify({ id: "x", title: "<img src=x onerror=1>", leaf: "a", nodes: [{ id: "a", parent: "", role: "assistant", content: text, calls: [{ id: "c", name: "<b>", arguments: "<i>" }] }] }));
      location.hash = `#/chat/${chats.value[0].id}`;
    }, kHostile);
    await page.waitForSelector(".message.assistant .text");
    await page.waitForTimeout(300);
    assert.equal(await page.evaluate(() => window.broken), undefined);
    const links = await page.evaluate(() => [...document.querySelectorAll(".message a[target]")].map((one) => [one.href, one.rel, one.target]));
    assert.deepEqual(links, [["https://elsewhere.example/x", "noopener noreferrer", "_blank"]]);
    assert.equal(await page.locator(".message .text img, .message .text script, .message .text svg:not(.icon)").count(), 0);
    quiet();
    await close();
  });
}
