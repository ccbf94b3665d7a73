// The official client of OpenAI against a running server with the default model: what works there works for its users.
// PACELINE_PROGRAM: the program to start; otherwise the one that was built in this tree.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import OpenAI from "openai";

const here = path.dirname(fileURLToPath(import.meta.url));
const program = process.env.PACELINE_PROGRAM ?? path.join(here, "../../build/release/paceline");
const kKey = "test-key";

let server, client, baseURL;

before(async () => {
  server = spawn(program, ["serve", "--port", "0", "--drain-grace", "0", "--drain-seconds", "2"], {
    env: { ...process.env, PACELINE_API_KEYS: kKey },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const port = await new Promise((resolve, reject) => {
    let log = "";
    server.stderr.on("data", (bytes) => {
      log += bytes;
      const found = log.match(/serving .* on http:\/\/127\.0\.0\.1:(\d+)/);
      if (found) resolve(Number(found[1]));
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)));
  });
  baseURL = `http://127.0.0.1:${port}/v1`;
  client = new OpenAI({ baseURL, apiKey: kKey, maxRetries: 0 });
});

after(async () => {
  const ended = new Promise((resolve) => server.on("exit", resolve));
  server.kill("SIGTERM");
  assert.equal(await ended, 0, "SIGTERM drains, and the server ends well");
});

const story = [{ role: "user", content: "Tell a story about a small boat." }];
const weather = {
  type: "function",
  function: {
    name: "get_weather",
    description: "Weather of a city",
    parameters: { type: "object", properties: { city: { type: "string", maxLength: 20 } }, required: ["city"] },
  },
};

test("models", async () => {
  const models = [];
  for await (const model of client.models.list()) models.push(model);
  assert.equal(models.length, 1);
  assert.equal(models[0].object, "model");
  assert.equal((await client.models.retrieve(models[0].id)).id, models[0].id);
});

test("chat", async () => {
  const answer = await client.chat.completions.create({ model: "default", messages: story, max_tokens: 30, seed: 1 });
  assert.equal(answer.object, "chat.completion");
  assert.ok(answer.choices[0].message.content.length > 10);
  assert.equal(answer.choices[0].finish_reason, "length");
  assert.equal(answer.usage.completion_tokens, 30);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + 30);
  assert.match(answer._request_id, /^chatcmpl-/);
});

test("a stream is the same text", async () => {
  const asked = { model: "default", messages: story, max_tokens: 60, seed: 3 };
  const whole = await client.chat.completions.create(asked);
  const stream = await client.chat.completions.create({
    ...asked,
    stream: true,
    stream_options: { include_usage: true },
  });
  let text = "", usage = null, chunks = 0;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
    ++chunks;
  }
  assert.equal(text, whole.choices[0].message.content);
  assert.ok(chunks > 3);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
  assert.ok(usage.speculative.rounds > 0);
});

test("the client's own stream reader", async () => {
  const runner = client.chat.completions.stream({ model: "default", messages: story, max_tokens: 20, n: 2, seed: 1 });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices.length, 2);
  assert.ok(final.choices.every((choice) => choice.message.content.length > 0));
});

test("completions", async () => {
  const answer = await client.completions.create({
    model: "default", prompt: "Once upon a time", max_tokens: 10, logprobs: 2, temperature: 0,
  });
  const choice = answer.choices[0];
  assert.equal(choice.logprobs.tokens.join(""), choice.text);
  assert.equal(choice.logprobs.token_logprobs.length, choice.logprobs.tokens.length);
});

test("logprobs", async () => {
  const answer = await client.chat.completions.create({
    model: "default", messages: story, max_tokens: 10, logprobs: true, top_logprobs: 3, temperature: 0,
  });
  const { content } = answer.choices[0].logprobs;
  assert.equal(content.map((token) => token.token).join(""), answer.choices[0].message.content);
  for (const token of content) {
    assert.equal(token.top_logprobs.length, 3);
    assert.ok(token.logprob <= 0);
    assert.equal(Buffer.from(token.bytes).toString(), token.token);
  }
});

test("tools: a call that is required", async () => {
  const answer = await client.chat.completions.create({
    model: "default", temperature: 0, max_tokens: 80, tools: [weather], tool_choice: "required",
    parallel_tool_calls: false, messages: [{ role: "user", content: "What is the weather in Paris?" }],
  });
  assert.equal(answer.choices[0].finish_reason, "tool_calls");
  const call = answer.choices[0].message.tool_calls[0];
  assert.equal(call.function.name, "get_weather");
  assert.equal(typeof JSON.parse(call.function.arguments).city, "string");
});

test("tools: the client runs them, and goes on with the answer", async () => {
  let asked = null;
  const runner = client.chat.completions.runTools({
    model: "default", temperature: 0, max_tokens: 80, stream: true, tool_choice: { type: "function", function: { name: "get_weather" } },
    messages: [{ role: "user", content: "What is the weather in Paris?" }],
    tools: [{
      type: "function",
      function: {
        ...weather.function,
        parse: JSON.parse,
        function: (parameters) => {
          asked = parameters;
          return "sunny";
        },
      },
    }],
  }, { maxChatCompletions: 2 });
  for await (const chunk of runner) assert.ok(chunk.choices);
  assert.equal(typeof asked.city, "string");
});

test("json_schema", async () => {
  const answer = await client.chat.completions.parse({
    model: "default", temperature: 1, seed: 2, max_tokens: 100,
    messages: [{ role: "user", content: "Who is Anna?" }],
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "person",
        strict: true,
        schema: {
          type: "object",
          properties: { name: { type: "string", maxLength: 12 }, age: { type: "integer", minimum: 0, maximum: 120 } },
          required: ["name", "age"],
          additionalProperties: false,
        },
      },
    },
  });
  const person = JSON.parse(answer.choices[0].message.content);
  assert.deepEqual(Object.keys(person), ["name", "age"]);
  assert.ok(Number.isInteger(person.age) && person.age >= 0 && person.age <= 120);
});

test("abort", async () => {
  const stream = await client.chat.completions.create({
    model: "default", messages: story, max_tokens: 3000, stream: true, ignore_eos: true,
  });
  let chunks = 0;
  for await (const chunk of stream) {
    assert.ok(chunk);
    if (++chunks === 5) stream.controller.abort();
  }
  const deadline = Date.now() + 10_000;
  while (Date.now() < deadline) {
    const text = await (await fetch(baseURL.replace("/v1", "/metrics"))).text();
    if (/vllm:num_requests_running\{[^}]*\} 0/.test(text)) return;
  }
  assert.fail("the request still runs");
});

test("errors come as the client's classes", async () => {
  const ask = (fields) => client.chat.completions.create({ model: "default", messages: story, ...fields });
  await assert.rejects(ask({ temperature: 3 }), (error) =>
    error instanceof OpenAI.BadRequestError && error.param === "temperature" && error.code === "invalid_value");
  await assert.rejects(ask({ model: "gpt-4" }), OpenAI.NotFoundError);
  await assert.rejects(ask({ stream: true, max_tokens: -1 }), OpenAI.BadRequestError);
  await assert.rejects(ask({ messages: [{ role: "user", content: "x ".repeat(10_000) }] }), (error) =>
    error.code === "context_length_exceeded" && error.message.includes("4096"));
  const stranger = new OpenAI({ baseURL, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});
