// Coding agents, unmodified, each with a task that takes a call of its shell: call, result, answer. The model is the
// shipped one with room for their prompts, which have 10,000 tokens and more; what it says is made certain by proxy.js.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { at, kKey, start, stop } from "../clients/server.js";
import { kAnswer, kCommand, kOutput, startProxy } from "./proxy.js";

const here = path.dirname(fileURLToPath(import.meta.url));
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "paceline-agents-"));
const model = path.join(scratch, "roomy");
const kContext = 32768;

before(async () => {
  fs.cpSync(path.join(here, "../../models/default"), model, { recursive: true });
  const file = path.join(model, "config.json"), config = JSON.parse(fs.readFileSync(file));
  config.text_config.max_position_embeddings = kContext;
  fs.writeFileSync(file, JSON.stringify(config));
  await start(["-m", model, "--served-model-name", "roomy"]);
});
after(async () => {
  await stop();
  fs.rmSync(scratch, { recursive: true, force: true });
});

// What an agent that was started so wrote, and what passed between it and the server.
async function run(name, shell, command) {
  const proxy = await startProxy(Number(new URL(at("/")).port), kKey, shell);
  const home = path.join(scratch, name), work = path.join(home, "work");
  fs.mkdirSync(work, { recursive: true });
  const { program, args, env } = command(proxy.url, home);
  const child = spawn(program, args, {
    cwd: work,
    env: { PATH: process.env.PATH, HOME: home, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let out = "", trouble = "";
  child.stdout.on("data", (bytes) => (out += bytes));
  child.stderr.on("data", (bytes) => (trouble += bytes));
  const code = await new Promise((resolve) => child.on("exit", resolve));
  proxy.stop();
  const heard = proxy.seen.map((one) => `${one.place} ${one.status}: ${one.said.slice(-300)}`).join("\n");
  assert.equal(code, 0, `${name} ended with ${code}\n${out}\n${trouble}\n${heard}`);
  return { out, seen: proxy.seen, heard };
}

// The call went out, its result came back, and the answer was shown.
function expectLoop({ out, seen, heard }, wire) {
  const asked = seen.filter((one) => one.place === wire);
  assert.ok(asked.every((one) => one.status === 200), heard);
  assert.ok(asked.some((one) => one.asked.includes(kOutput)), `the command's output came back\n${heard}`);
  assert.ok(asked.some((one) => one.asked.length > 20_000), "its own prompt is long");
  assert.match(out, new RegExp(kAnswer), "the answer is shown");
}

const bin = (name) => path.join(here, "node_modules/.bin", name);

test("Codex", async () => {
  const shell = { name: "exec_command", arguments: { cmd: kCommand } };
  const seen = await run("codex", shell, (url, home) => {
    const settings = [
      'model = "roomy"', 'model_provider = "paceline"', `model_context_window = ${kContext}`,
      "[model_providers.paceline]", 'name = "paceline"', `base_url = "${url}/v1"`, 'wire_api = "responses"',
    ];
    fs.writeFileSync(path.join(home, "config.toml"), settings.join("\n"));
    const args = ["exec", "--skip-git-repo-check", "--sandbox", "danger-full-access", "Run the command."];
    return { program: bin("codex"), args, env: { CODEX_HOME: home } };
  });
  expectLoop(seen, "/v1/responses");
});

test("Claude Code", async () => {
  const shell = { name: "Bash", arguments: { command: kCommand, description: "Say it" } };
  const seen = await run("claude", shell, (url, home) => ({
    program: bin("claude"),
    args: ["-p", "Run the command.", "--output-format", "json", "--allowedTools", "Bash"],
    env: {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_API_KEY: "x",
      ANTHROPIC_MODEL: "roomy",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      CLAUDE_CONFIG_DIR: home,
      API_TIMEOUT_MS: "600000",
    },
  }));
  expectLoop(seen, "/v1/messages");
});

test("opencode", async () => {
  const shell = { name: "bash", arguments: { command: kCommand, description: "Say it" } };
  const seen = await run("opencode", shell, (url, home) => {
    const provider = {
      npm: "@ai-sdk/openai-compatible",
      name: "paceline",
      options: { baseURL: `${url}/v1`, apiKey: "x" },
      models: { roomy: { name: "roomy", limit: { context: kContext, output: 4096 } } },
    };
    const settings = {
      provider: { paceline: provider },
      model: "paceline/roomy",
      permission: { bash: "allow" },
      autoupdate: false,
      share: "disabled",
    };
    const file = path.join(home, "opencode.json");
    fs.writeFileSync(file, JSON.stringify(settings));
    const program = path.join(here, `node_modules/opencode-linux-${process.arch}/bin/opencode`);
    return { program, args: ["run", "Run the command."], env: { OPENCODE_CONFIG: file } };
  });
  expectLoop(seen, "/v1/chat/completions");
});
