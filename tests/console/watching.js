// What it costs that somebody watches the server: the console's monitor in a browser that nobody drives.
//
//   node watching.js [PAIRS] [SECONDS] [reader]
//       tokens per second of 16 clients, watched and not, in slices of so many seconds of one load; the ratio of the two,
//       with its error. reader: who watches is no browser, but reads what the page is sent. On a machine of one's own.
//   node watching.js shares [SECONDS]
//       percent of a core that server and browser take, with a blank page, on Chat and on Monitor, where nobody asks
//       anything; and Monitor with 16 clients
//
// The browser runs only when nobody else wants the processor, as if on another machine (CONSOLE_BESIDE=1: beside them).
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { cpuSeconds, cpuShares, openWindow } from "./cpu_shares.js";
import { program, soon, startServer } from "./server.js";

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));
const chromium = process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
const kSettle = 3; // seconds until a page that came or went has done its work

function asideBrowser() {
  if (process.env.CONSOLE_BESIDE) return chromium;
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "watching-")), "chromium");
  fs.writeFileSync(file, `#!/bin/sh\nexec chrt --idle 0 ${chromium} "$@"\n`, { mode: 0o755 });
  return file;
}

// 16 clients that ask and ask, until they are told to stop.
function startLoad(base) {
  const flags = ["bench", "--serve", "--url", base, "--at-once", "16", "--requests", "1000000", "--ways", "auto", "--rounds", "1", "--ignore-eos", "--json", "--out", ""];
  const child = spawn(program, flags, { stdio: "ignore" });
  const ended = new Promise((resolve) => child.on("exit", resolve));
  return { stop: () => (child.kill("SIGKILL"), ended) };
}

const metric = (text, name) => text.split("\n").filter((line) => line.startsWith(`${name}{`)).reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
const metricsOf = async (server) => (await server.get("/metrics")).text();

// Tokens per second of so many seconds, and what a thousand of them cost the server.
async function slice(server, seconds) {
  const look = async () => ({ at: performance.now() / 1000, tokens: metric(await metricsOf(server), "vllm:generation_tokens_total"), used: cpuSeconds(server.pid) });
  const from = await look();
  await pause(seconds);
  const then = await look(), tokens = then.tokens - from.tokens;
  return { rate: tokens / (then.at - from.at), cost: (1000 * (then.used - from.used)) / tokens };
}

// One browser all the time; its page comes and goes.
async function browserWatcher(server) {
  const opened = openWindow(asideBrowser(), "about:blank");
  const address = await soon(opened.debugging, "the browser listens");
  const call = async (what, method = "GET") => (await fetch(`${address}/json/${what}`, { method })).text();
  let id;
  return {
    pid: opened.pid,
    begin: async () => (id = JSON.parse(await call(`new?${encodeURIComponent(`${server.base}/#/monitor`)}`, "PUT")).id),
    end: () => call(`close/${id}`),
    close: opened.close,
  };
}

function readingWatcher(server) {
  let child;
  return {
    begin: () => (child = spawn("curl", ["-sN", `${server.base}/v1/events?only=sample,model`], { stdio: "ignore" })),
    end: () => child.kill(),
    close: () => {},
  };
}

// The mean, and how far off it may be (twice its standard error).
function meanOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(values.length - 1, 1));
  return { mean, error: (2 * spread) / Math.sqrt(values.length) };
}

async function compare(pairs = 20, seconds = 6, kind = "browser") {
  const server = await startServer(), load = startLoad(server.base);
  const watcher = await (kind === "reader" ? readingWatcher : browserWatcher)(server);
  const found = [];
  let isWatched = false;
  const take = async (name) => {
    if (isWatched !== (name === "watched")) {
      await (isWatched ? watcher.end() : watcher.begin());
      isWatched = !isWatched;
      await pause(kSettle);
    }
    return slice(server, seconds);
  };
  await pause(10);
  for (let pair = 0; pair < pairs; ++pair) {
    const made = {};
    for (const name of pair % 2 ? ["watched", "alone"] : ["alone", "watched"]) made[name] = await take(name);
    found.push({ ratio: made.watched.rate / made.alone.rate, cost: made.watched.cost / made.alone.cost, rate: made.alone.rate });
    console.error(`pair ${pair + 1}: ${made.alone.rate.toFixed(0)} alone, ${made.watched.rate.toFixed(0)} watched, ${found.at(-1).ratio.toFixed(4)}; seconds of a core per 1000 tokens ${made.alone.cost.toFixed(4)}, ${made.watched.cost.toFixed(4)}`);
  }
  const of = (name) => meanOf(found.map((one) => one[name]));
  console.log(JSON.stringify({ kind, pairs, seconds, alone: of("rate").mean, ratio: of("ratio"), cost_ratio: of("cost") }));
  await load.stop();
  await watcher.close();
  await server.stop("SIGKILL");
}

async function shares(seconds = 15) {
  const server = await startServer(), found = {};
  const take = async (name, page) => {
    const opened = page && openWindow(chromium, page === "blank" ? "about:blank" : `${server.base}/#/${page}`);
    if (opened) await pause(8);
    found[name] = await cpuShares({ server: server.pid, ...(opened && { browser: opened.pid }) }, seconds);
    await opened?.close();
    console.error(`${name}: ${Object.entries(found[name]).map(([who, share]) => `${who} ${share.toFixed(2)} %`).join(", ")}`);
  };
  await take("nobody");
  for (const page of ["blank", "chat", "monitor"]) await take(page, page);
  const load = startLoad(server.base);
  await take("asked, nobody");
  await take("asked, monitor", "monitor");
  await load.stop();
  console.log(JSON.stringify({ seconds, percent_of_a_core: found }));
  await server.stop("SIGKILL");
}

const [first, ...rest] = process.argv.slice(2);
if (first === "shares") await shares(...rest.map(Number));
else await compare(...[first, rest[0]].map((one) => (one ? Number(one) : undefined)), rest[1]);
