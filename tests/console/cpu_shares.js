// How much of a core processes take, and a browser that nobody drives: whoever drives one has it tell of every request.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const readOr = (file, otherwise) => {
  try {
    return fs.readFileSync(file, "utf8");
  } catch {
    return otherwise; // it has ended
  }
};

// A process and all that came of it.
function family(root) {
  const parents = fs.readdirSync("/proc").filter((name) => /^\d+$/.test(name)).map((name) => {
    const stat = readOr(`/proc/${name}/stat`, "");
    return [Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1])];
  });
  const found = [root];
  for (const one of found) for (const [pid, parent] of parents) if (parent === one) found.push(pid);
  return found;
}

export function cpuSeconds(root) {
  let all = 0;
  for (const pid of family(root)) {
    let threads = [];
    try {
      threads = fs.readdirSync(`/proc/${pid}/task`);
    } catch {
      // It has ended.
    }
    for (const thread of threads) all += Number(readOr(`/proc/${pid}/task/${thread}/schedstat`, "0").split(" ")[0]) / 1e9;
  }
  return all;
}

// roots: by name; percent of a core of each with its children, in so many seconds.
export async function cpuShares(roots, seconds) {
  const used = () => Object.fromEntries(Object.entries(roots).map(([name, pid]) => [name, cpuSeconds(pid)]));
  const from = used(), began = performance.now();
  await pause(seconds * 1000);
  const took = (performance.now() - began) / 1000, then = used();
  return Object.fromEntries(Object.keys(roots).map((name) => [name, (100 * (then[name] - from[name])) / took]));
}

// A window of 1440 × 900 at this address, and its end.
export function openWindow(chromium, address) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "window-"));
  const flags = ["--headless", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--disable-sync", "--window-size=1440,900", "--remote-debugging-port=0", `--user-data-dir=${home}`];
  if (process.getuid?.() === 0) flags.push("--no-sandbox");
  const child = spawn(chromium, [...flags, address], { stdio: "ignore" });
  const close = async () => {
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.kill();
    await ended;
    await pause(500);
    fs.rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  // Where it is told what to do, once it listens.
  const debugging = () => {
    const port = readOr(path.join(home, "DevToolsActivePort"), "").split("\n")[0];
    return port && `http://127.0.0.1:${port}`;
  };
  return { pid: child.pid, debugging, close };
}
