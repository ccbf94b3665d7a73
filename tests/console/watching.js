// What it costs that somebody watches the server: the console's monitor in a browser that nobody drives.
//
//   node watching.js [ROUNDS] [REQUESTS]   tokens per second of 16 clients, watched and not, in turn; the median of the
//                                          ratios. On a machine of one's own.
//   node watching.js shares [SECONDS]      percent of a core that server and browser take, with a blank page, on Chat and
//                                          on Monitor, where nobody asks anything; and Monitor with 16 clients
//
// The browser runs only when nobody else wants the processor, as if on another machine (CONSOLE_BESIDE=1: beside them).
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { cpuShares, openWindow } from "./cpu_shares.js";
import { program, soon, startServer } from "./server.js";

const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const chromium = process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();

function asideBrowser() {
  if (process.env.CONSOLE_BESIDE) return chromium;
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "watching-")), "chromium");
  fs.writeFileSync(file, `#!/bin/sh\nexec chrt --idle 0 ${chromium} "$@"\n`, { mode: 0o755 });
  return file;
}

const benchFlags = (base, requests) => ["bench", "--serve", "--url", base, "--at-once", "16", "--requests", String(requests), "--ways", "auto", "--rounds", "1", "--ignore-eos", "--json", "--out", ""];
async function throughput(base, requests) {
  const { stdout } = await promisify(execFile)(program, benchFlags(base, requests));
  return JSON.parse(stdout).cells[0].tokens_per_s;
}

// Until the page has asked for what it shows, and has drawn it.
async function openConsole(browser, server, page) {
  const asked = async () => (await (await server.get("/metrics")).text()).match(/http_answers_total\{[^}]*route="\/v1\/history"[^}]*\} (\d+)/)?.[1] ?? "0";
  const before = await asked();
  const opened = openWindow(browser, `${server.base}/#/${page}`);
  await soon(async () => (await asked()) !== before, "the page looks at the server");
  await new Promise((resolve) => setTimeout(resolve, 3000));
  return opened;
}

async function compare(rounds = 7, requests = 128) {
  const browser = asideBrowser(), server = await startServer();
  const found = [], rate = () => throughput(server.base, requests);
  const watchedRate = async () => {
    const opened = await openConsole(browser, server, "monitor");
    const seen = await rate();
    await opened.close();
    return seen;
  };
  await rate();
  for (let round = 0; round < rounds; ++round) {
    let alone;
    if (round % 2) alone = await rate();
    const watched = await watchedRate();
    if (!(round % 2)) alone = await rate();
    found.push({ alone, watched, ratio: watched / alone });
    console.error(`round ${round + 1}: ${alone.toFixed(0)} alone, ${watched.toFixed(0)} watched, ${(watched / alone).toFixed(4)}`);
  }
  console.log(JSON.stringify({ rounds, requests, alone: median(found.map((one) => one.alone)), watched: median(found.map((one) => one.watched)), ratio: median(found.map((one) => one.ratio)), found }));
  await server.stop();
}

async function shares(seconds = 15) {
  const server = await startServer(), found = {};
  const take = async (name, open) => {
    const opened = await open?.();
    found[name] = await cpuShares({ server: server.pid, ...(opened && { browser: opened.pid }) }, seconds);
    await opened?.close();
    console.error(`${name}: ${Object.entries(found[name]).map(([who, share]) => `${who} ${share.toFixed(2)} %`).join(", ")}`);
  };
  const blank = async () => {
    const opened = openWindow(chromium, "about:blank");
    await new Promise((resolve) => setTimeout(resolve, 5000));
    return opened;
  };
  await take("nobody");
  await take("blank", blank);
  for (const page of ["chat", "monitor"]) await take(page, () => openConsole(chromium, server, page));
  let isOver = false;
  const asking = (async () => {
    while (!isOver) await throughput(server.base, 64);
  })();
  await take("asked, nobody");
  await take("asked, monitor", () => openConsole(chromium, server, "monitor"));
  isOver = true;
  await asking;
  console.log(JSON.stringify({ seconds, percent_of_a_core: found }));
  await server.stop();
}

const [first, ...rest] = process.argv.slice(2);
if (first === "shares") await shares(...rest.map(Number));
else await compare(...[first, ...rest].filter(Boolean).map(Number));
