// The program with the model that it ships with, or with what a test says.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const here = path.dirname(fileURLToPath(import.meta.url));
export const program = process.env.PACELINE_PROGRAM ?? path.join(here, "../../build/release/paceline");

// What it keeps is kept from one server of a test to the next, and no longer.
const kState = fs.mkdtempSync(path.join(os.tmpdir(), "console-state-"));
const running = new Set();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
  fs.rmSync(kState, { recursive: true, force: true });
});

// The port that it serves on, once it does.
const served = (child, log) => new Promise((resolve, reject) => {
  setTimeout(() => reject(new Error(`the server does not serve: ${log.text}`)), kLongestMs).unref();
  child.stderr.on("data", (bytes) => {
    log.text = (log.text + bytes).slice(-10000);
    const place = log.text.match(/console at http:\/\/127\.0\.0\.1:(\d+)/);
    if (place) resolve(Number(place[1]));
  });
  child.on("error", reject);
  child.on("exit", (code, signal) => reject(new Error(`the server ended with ${code ?? signal}: ${log.text}`)));
});

export async function startServer(flags = [], { env = {}, port = 0 } = {}) {
  const child = spawn(program, ["serve", "--port", String(port), "--drain-grace", "0", "--drain-seconds", "1", ...flags], {
    env: { ...process.env, XDG_STATE_HOME: kState, ...env }, stdio: ["ignore", "ignore", "pipe"],
  });
  running.add(child);
  child.on("exit", () => running.delete(child));
  const log = { text: "" };
  const found = await served(child, log);
  // Where one ends that nobody has ended, nothing comes of all that tests would wait for.
  const lost = (code, signal) => {
    console.error(`the server ended by itself with ${code ?? signal}: ${log.text}`);
    process.exit(1);
  };
  child.on("exit", lost);
  const base = `http://127.0.0.1:${found}`;
  return {
    base, port: found, pid: child.pid,
    get: async (place, headers = {}) => fetch(base + place, { headers }),
    json: async (place) => (await fetch(base + place)).json(),
    post: async (place, body, headers = {}) => fetch(base + place, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }),
    stop: async (signal = "SIGTERM") => {
      child.off("exit", lost);
      const ended = new Promise((resolve) => child.on("exit", resolve));
      child.kill(signal);
      const code = await ended;
      if (signal === "SIGTERM") assert.equal(code, 0, "SIGTERM drains, and the server ends well");
    },
  };
}

// A short request to the model.
export const ask = (server, fields = {}) => server.post("/v1/chat/completions", { messages: [{ role: "user", content: "What is 3 plus 4?" }], max_tokens: 24, ...fields });

// Times are what a machine of one's own shows (CONSOLE_STRICT); beside other tests, ten times as much.
export const kSlack = process.env.CONSOLE_STRICT ? 1 : 10;
// Ends what would hang.
export const kLongestMs = Number(process.env.CONSOLE_LONGEST_MS ?? 180000);

export async function soon(holds, what, ms = kLongestMs) {
  const end = Date.now() + ms;
  for (;;) {
    const value = await holds();
    if (value) return value;
    assert.ok(Date.now() < end, `in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
