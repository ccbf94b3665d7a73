// Anthropic's client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import Anthropic from "@anthropic-ai/sdk";
import { at, kKey, post } from "./server.js";

let client;
const connect = () => (client ??= new Anthropic({ baseURL: at(""), apiKey: kKey, maxRetries: 0 }));
const weather = {
  name: "get_weather", description: "Weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string", maxLength: 20, pattern: "^[A-Z]" } }, required: ["city"] },
};
const asked = { model: "claude-opus-9", max_tokens: 60, temperature: 0 };
const sum = [{ role: "user", content: "What is 12 plus 30?" }];

test("messages: a text, whole and as a stream", async () => {
  connect();
  const whole = await client.messages.create({ ...asked, messages: sum });
  assert.equal(whole.type, "message");
  assert.equal(whole.stop_reason, "end_turn");
  assert.match(whole._request_id, /^msg_/);
  const stream = client.messages.stream({ ...asked, messages: sum });
  let text = "";
  stream.on("text", (piece) => (text += piece));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content, whole.content);
  assert.equal(text, whole.content[0].text);
  const all = final.usage.input_tokens + final.usage.cache_read_input_tokens + final.usage.cache_creation_input_tokens;
  assert.equal(all, whole.usage.input_tokens + whole.usage.cache_read_input_tokens);
});

test("messages: why it ended", async () => {
  connect();
  const story = [{ role: "user", content: "Tell a story about a small boat." }];
  assert.equal((await client.messages.create({ ...asked, max_tokens: 5, messages: story })).stop_reason, "max_tokens");
  const stopped = await client.messages.create({ ...asked, messages: sum, stop_sequences: [" "] });
  assert.equal(stopped.stop_reason, "stop_sequence");
  assert.equal(stopped.stop_sequence, " ");
});

test("messages: a tool is called, and its result is answered", async () => {
  connect();
  const messages = [{ role: "user", content: [{ type: "text", text: "What is the weather in Paris?" }] }];
  const forced = { ...asked, messages, tools: [weather, { type: "web_search_20250305", name: "web_search" }], tool_choice: { type: "any" } };
  const { data: called, response } = await client.messages.create(forced).withResponse();
  assert.match(response.headers.get("paceline-ignored"), /web_search/);
  assert.equal(called.stop_reason, "tool_use");
  const call = called.content.find((block) => block.type === "tool_use");
  assert.equal(call.name, "get_weather");
  assert.equal(typeof call.input.city, "string");
  const streamed = await client.messages.stream(forced).finalMessage();
  assert.deepEqual(streamed.content.find((block) => block.type === "tool_use").input, call.input);
  messages.push({ role: "assistant", content: called.content });
  messages.push({ role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: [{ type: "text", text: "sunny" }] }] });
  const answered = await client.messages.create({ ...asked, messages, tools: [weather] });
  assert.ok(answered.content.length > 0);
  await assert.rejects(
    client.messages.create({ ...asked, messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "no", content: "" }] }] }),
    Anthropic.BadRequestError);
});

// Behind a tool's result the template itself opens a thought where thinking is on: there is one, whatever the model likes.
const behindResult = [
  { role: "user", content: "What is the weather in Paris?" },
  { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get_weather", input: { city: "Paris" } }] },
  { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "sunny" }] },
];

test("messages: thoughts", async () => {
  connect();
  const budget = 16;
  const ask = { ...asked, max_tokens: 200, messages: behindResult, tools: [weather], thinking: { type: "enabled", budget_tokens: budget } };
  const whole = await client.messages.create(ask);
  const [thought, ...rest] = whole.content;
  assert.equal(thought.type, "thinking");
  assert.ok(thought.thinking.length > 0);
  assert.ok(thought.signature.length > 0);
  assert.ok(rest.length > 0, "a thought ends at its budget, and something is said behind it");
  assert.ok(rest.every((block) => block.type !== "thinking"));
  const thinking = whole.usage.output_tokens_details.thinking_tokens;
  assert.ok(thinking > 0 && thinking <= budget + 1, `${thinking} tokens of thought`);
  assert.ok(whole.usage.output_tokens > thinking);

  // The stream says the same: the thought in pieces, its signature, and only then what is said.
  const kinds = [];
  let thinkingText = "", signature = "";
  const stream = client.messages.stream(ask);
  stream.on("streamEvent", (event) => {
    if (event.type === "content_block_start") kinds.push(event.content_block.type);
    if (event.type === "content_block_delta") kinds.push(event.delta.type);
  });
  stream.on("thinking", (piece) => (thinkingText += piece));
  stream.on("signature", (text) => (signature = text));
  const final = await stream.finalMessage();
  assert.deepEqual(final.content, whole.content);
  assert.equal(thinkingText, thought.thinking);
  assert.equal(signature, thought.signature);
  assert.equal(kinds[0], "thinking");
  assert.equal(kinds.lastIndexOf("thinking_delta") + 1, kinds.indexOf("signature_delta"));
  assert.equal(kinds.filter((kind) => kind === "signature_delta").length, 1);
  assert.ok(kinds.indexOf("text") > kinds.indexOf("signature_delta"));

  // Another thought, another signature; without thinking there is none.
  const longer = await client.messages.create({ ...ask, thinking: { type: "enabled", budget_tokens: 2 * budget } });
  assert.notEqual(longer.content[0].thinking, thought.thinking);
  assert.notEqual(longer.content[0].signature, thought.signature);
  const silent = await client.messages.create({ ...ask, thinking: { type: "disabled" } });
  assert.ok(silent.content.every((block) => block.type !== "thinking"));
  assert.equal(silent.usage.output_tokens_details.thinking_tokens, 0);
});

test("messages: thoughts of earlier turns", async () => {
  connect();
  const ask = { ...asked, thinking: { type: "enabled", budget_tokens: 1024 } };
  // With its thoughts, and thoughts that nobody can read, it goes on.
  const on = await client.messages.create({
    ...ask, max_tokens: 20,
    messages: [...sum, { role: "assistant", content: [{ type: "thinking", thinking: "Easy.", signature: "" }, { type: "redacted_thinking", data: "x" }, { type: "text", text: "42" }] }, ...sum],
  });
  assert.ok(on.usage.output_tokens > 0);
});

test("messages: tokens are counted as they are charged", async () => {
  connect();
  const ask = { model: "default", messages: sum, tools: [weather], system: [{ type: "text", text: "Be brief." }] };
  const counted = await client.messages.countTokens(ask);
  const { usage } = await client.messages.create({ ...ask, max_tokens: 2 });
  assert.equal(counted.input_tokens, usage.input_tokens + usage.cache_read_input_tokens);
});

test("messages: the billing line is dropped, and the last answer goes on", async () => {
  connect();
  const count = async (system) => (await client.messages.countTokens({ model: "default", messages: sum, system })).input_tokens;
  assert.equal(await count([{ type: "text", text: "x-anthropic-billing-header: 1234" }, { type: "text", text: "Be brief." }]), await count("Be brief."));
  const on = await client.messages.create({ ...asked, messages: [...sum, { role: "assistant", content: "The answer is" }] });
  assert.ok(on.content[0].text.length > 0);
});

test("messages: a picture", async () => {
  connect();
  const png = readFileSync(new URL("../default_model/picture0.png", import.meta.url)).toString("base64");
  const ask = (content) => client.messages.create({ ...asked, max_tokens: 40, messages: [{ role: "user", content }] });
  const picture = (data) => ({ type: "image", source: { type: "base64", media_type: "image/png", data } });
  const text = { type: "text", text: "Describe the picture." };
  const seen = await ask([picture(png), text]);
  assert.match(seen.content[0].text, /brown square/);
  assert.match(seen.content[0].text, /green cross/);
  // Behind the text, as most clients send it, it is seen as well.
  assert.equal((await ask([text, picture(png)])).content[0].text, seen.content[0].text);
  // A file that is none is an error that says which.
  await assert.rejects(ask([picture(png.slice(0, 200)), text]), (error) => error instanceof Anthropic.BadRequestError && /image 0/.test(error.message));
});

test("messages: errors and models", async () => {
  connect();
  await assert.rejects(client.messages.create({ ...asked, messages: [] }), Anthropic.BadRequestError);
  await assert.rejects(client.messages.create({ ...asked, model: "other", messages: sum }), Anthropic.NotFoundError);
  const long = await client.messages.create({ ...asked, messages: [{ role: "user", content: "x ".repeat(10_000) }] }).catch((error) => error);
  const [, tokens, context] = long.message.match(/prompt is too long: (\d+) tokens > (\d+) maximum/);
  assert.ok(Number(tokens) > Number(context));
  const stranger = new Anthropic({ baseURL: at(""), apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.messages.create({ ...asked, messages: sum }), Anthropic.AuthenticationError);
  const models = [];
  for await (const model of client.models.list()) models.push(model);
  assert.equal(models[0].type, "model");
  const raw = await post("/v1/messages", { messages: sum, max_tokens: "x" });
  assert.equal(raw.json.type, "error");
  assert.equal(raw.json.error.type, "invalid_request_error");
  assert.equal(raw.json.request_id, raw.headers.get("request-id"));
  assert.equal(raw.headers.get("request-id"), raw.headers.get("x-request-id"));
});
