// The program with the model that it ships with, started once for all clients.
// PACELINE_PROGRAM: the program to start; otherwise the one that was built in this tree.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const program = process.env.PACELINE_PROGRAM ?? path.join(here, "../../build/release/paceline");
export const kKey = "test-key";

let server, port;

export const at = (place) => `http://127.0.0.1:${port}${place}`;

// more: settings beside these.
export async function start(more = []) {
  const flags = ["--port", "0", "--drain-grace", "0", "--drain-seconds", "2", "--aliases", "claude-*", "--ollama", "1"];
  server = spawn(program, ["serve", ...flags, ...more], {
    env: { ...process.env, PACELINE_API_KEYS: kKey },
    stdio: ["ignore", "ignore", "pipe"],
  });
  port = await new Promise((resolve, reject) => {
    let log = "";
    server.stderr.on("data", (bytes) => {
      log += bytes;
      const found = log.match(/serving .* on http:\/\/127\.0\.0\.1:(\d+)/);
      if (found) resolve(Number(found[1]));
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
}

export async function stop() {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  assert.equal(await ended, 0, "SIGTERM drains, and the server ends well");
}

// Without a client.
export async function post(place, body, headers = {}) {
  const answer = await fetch(at(place), {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${kKey}`, ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, headers: answer.headers, json: await answer.json() };
}
