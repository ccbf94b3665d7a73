// What it costs the clients that somebody watches: tokens per second of 16 of them, with the console's monitor open in a
// browser and without, in turn; the median of the ratios. On a machine of one's own:
//
//   node watching.js [ROUNDS] [REQUESTS]
//
// The browser runs only when nobody else wants the processor, as if on another machine (CONSOLE_BESIDE=1: beside them).
import { execFile, execFileSync } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { launch, openPage } from "./browser.js";
import { program, startServer } from "./server.js";

const [rounds = 7, requests = 128] = process.argv.slice(2).map(Number);
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];

function asideBrowser() {
  if (process.env.CONSOLE_BESIDE) return;
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "watching-")), "chromium");
  const real = process.env.CHROMIUM ?? execFileSync("sh", ["-c", "command -v chromium"], { encoding: "utf8" }).trim();
  fs.writeFileSync(file, `#!/bin/sh\nexec chrt --idle 0 ${real} "$@"\n`, { mode: 0o755 });
  process.env.CHROMIUM = file;
}

async function throughput(base) {
  const flags = ["bench", "--serve", "--url", base, "--at-once", "16", "--requests", String(requests), "--ways", "auto", "--rounds", "1", "--ignore-eos", "--json", "--out", ""];
  const { stdout } = await promisify(execFile)(program, flags);
  return JSON.parse(stdout).cells[0].tokens_per_s;
}

asideBrowser();
const server = await startServer();
const browser = await launch();
const watched = async () => {
  const { page, go, close } = await openPage(browser, server.base);
  await go("monitor");
  await page.waitForSelector(".chart .uplot");
  const rate = await throughput(server.base);
  const samples = await page.evaluate(async () => (await globalThis.room("state/monitor")).columns.value.time.length);
  await close();
  return { rate, samples };
};
const found = [];
await throughput(server.base);
for (let round = 0; round < rounds; ++round) {
  let alone, seen;
  if (round % 2) alone = await throughput(server.base);
  seen = await watched();
  if (!(round % 2)) alone = await throughput(server.base);
  found.push({ alone, watched: seen.rate, samples: seen.samples, ratio: seen.rate / alone });
  console.error(`round ${round + 1}: ${alone.toFixed(0)} alone, ${seen.rate.toFixed(0)} watched (${seen.samples} samples), ${(seen.rate / alone).toFixed(4)}`);
}
console.log(JSON.stringify({ rounds, requests, alone: median(found.map((one) => one.alone)), watched: median(found.map((one) => one.watched)), ratio: median(found.map((one) => one.ratio)), found }));
await browser.close();
await server.stop();
