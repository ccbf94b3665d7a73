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
process.on("exit", () => fs.rmSync(kState, { recursive: true, force: true }));

export async function startServer(flags = [], { env = {}, port = 0 } = {}) {
  const child = spawn(program, ["serve", "--port", String(port), "--drain-grace", "0", "--drain-seconds", "1", ...flags], {
    env: { ...process.env, XDG_STATE_HOME: kState, ...env }, stdio: ["ignore", "ignore", "pipe"],
  });
  const found = await new Promise((resolve, reject) => {
    let log = "";
    child.stderr.on("data", (bytes) => {
      log += bytes;
      const place = log.match(/console at http:\/\/127\.0\.0\.1:(\d+)/);
      if (place) resolve(Number(place[1]));
    });
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
  const base = `http://127.0.0.1:${found}`;
  return {
    base, port: found, pid: child.pid,
    get: async (place, headers = {}) => fetch(base + place, { headers }),
    json: async (place) => (await fetch(base + place)).json(),
    post: async (place, body, headers = {}) => fetch(base + place, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) }),
    stop: async (signal = "SIGTERM") => {
      const ended = new Promise((resolve) => child.on("exit", resolve));
      child.kill(signal);
      const code = await ended;
      if (signal === "SIGTERM") assert.equal(code, 0, "SIGTERM drains, and the server ends well");
    },
  };
}

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
