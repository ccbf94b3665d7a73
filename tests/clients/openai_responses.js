// OpenAI's client: responses.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { z } from "zod";
import { at, kKey, post } from "./server.js";

let client;
const connect = () => (client ??= new OpenAI({ baseURL: at("/v1"), apiKey: kKey, maxRetries: 0 }));
const weather = {
  type: "function", name: "get_weather", description: "Weather of a city", strict: false,
  parameters: { type: "object", properties: { city: { type: "string", maxLength: 20 } }, required: ["city"] },
};
const asked = { model: "default", temperature: 0, max_output_tokens: 60 };

test("responses: a text, whole and as a stream", async () => {
  connect();
  const whole = await client.responses.create({ ...asked, input: "What is 12 plus 30?" });
  assert.equal(whole.object, "response");
  assert.equal(whole.status, "completed");
  assert.ok(whole.output_text.length > 1);
  assert.equal(whole.usage.total_tokens, whole.usage.input_tokens + whole.usage.output_tokens);
  const stream = client.responses.stream({ ...asked, input: "What is 12 plus 30?" });
  const types = [];
  let next = 0, text = "";
  for await (const event of stream) {
    types.push(event.type);
    assert.equal(event.sequence_number, next++);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const final = await stream.finalResponse();
  assert.equal(final.output_text, whole.output_text);
  assert.equal(text, whole.output_text);
  assert.equal(types[0], "response.created");
  assert.equal(types.at(-1), "response.completed");
});

test("responses: cut off", async () => {
  connect();
  const cut = await client.responses.create({ ...asked, max_output_tokens: 5, input: "Tell a story about a small boat." });
  assert.equal(cut.status, "incomplete");
  assert.equal(cut.incomplete_details.reason, "max_output_tokens");
});

test("responses: a tool is called, and its result is answered", async () => {
  connect();
  const input = [{ role: "user", content: "What is the weather in Paris?" }];
  const called = await client.responses.create({ ...asked, input, tools: [weather], tool_choice: "required", parallel_tool_calls: false });
  const call = called.output.find((item) => item.type === "function_call");
  assert.equal(call.name, "get_weather");
  assert.equal(typeof JSON.parse(call.arguments).city, "string");
  const stream = client.responses.stream({ ...asked, input, tools: [weather], tool_choice: "required", parallel_tool_calls: false });
  assert.equal((await stream.finalResponse()).output.find((item) => item.type === "function_call").arguments, call.arguments);
  input.push(...called.output, { type: "function_call_output", call_id: call.call_id, output: "sunny" });
  const answered = await client.responses.create({ ...asked, input, tools: [weather] });
  assert.ok(answered.output_text.length > 0);
  await assert.rejects(
    client.responses.create({ ...asked, input: [{ type: "function_call_output", call_id: "no", output: "x" }] }),
    OpenAI.BadRequestError);
});

test("responses: tools of every type", async () => {
  connect();
  const { data, response } = await client.responses.create({
    ...asked, input: "What is the weather in Paris?", tool_choice: "required", parallel_tool_calls: false,
    tools: [{ type: "web_search" }, { type: "namespace", name: "mcp", description: "d", tools: [weather] }],
  }).withResponse();
  assert.match(response.headers.get("paceline-ignored"), /web_search/);
  const call = data.output.find((item) => item.type === "function_call");
  assert.equal(call.name, "get_weather");
  assert.equal(call.namespace, "mcp");
  const custom = await client.responses.create({
    ...asked, input: "Write a word.", tool_choice: "required", parallel_tool_calls: false, stream: true,
    tools: [{ type: "custom", name: "write", description: "Writes a text" }],
  });
  let input = null;
  for await (const event of custom) {
    if (event.type === "response.output_item.done" && event.item.type === "custom_tool_call") input = event.item.input;
  }
  assert.equal(typeof input, "string");
});

test("responses: thoughts as content and as summary", async () => {
  connect();
  const ask = { ...asked, max_output_tokens: 120, input: "What is 12 plus 30?" };
  const content = await client.responses.stream({ ...ask, reasoning: { effort: "high" } }).finalResponse();
  const summary = await client.responses.stream({ ...ask, reasoning: { effort: "high", summary: "auto" } }).finalResponse();
  assert.equal(content.output_text, summary.output_text);
  const [thought, shown] = [content, summary].map((answer) => answer.output.find((item) => item.type === "reasoning"));
  if (thought) assert.equal(thought.content[0].text, shown.summary[0].text);
});

test("responses: a form by zod", async () => {
  connect();
  const answer = await client.responses.parse({
    ...asked, max_output_tokens: 200, input: "Make JSON of this: Anna is 31 years old.",
    text: { format: zodTextFormat(z.object({ name: z.string(), age: z.number().int() }), "person") },
  });
  assert.deepEqual(answer.output_parsed, { name: "Anna", age: 31 });
});

test("responses: kept, gone on from, and forgotten", async () => {
  connect();
  const first = await client.responses.create({ ...asked, input: "My name is Anna." });
  const second = await client.responses.create({ ...asked, input: "What is 1 plus 1?", previous_response_id: first.id });
  const anew = await client.responses.create({
    ...asked, store: false,
    input: [{ role: "user", content: "My name is Anna." }, ...first.output, { role: "user", content: "What is 1 plus 1?" }],
  });
  assert.equal(second.output_text, anew.output_text);
  assert.equal(second.usage.input_tokens, anew.usage.input_tokens);
  assert.equal((await client.responses.retrieve(first.id)).output_text, first.output_text);
  assert.equal((await client.responses.inputItems.list(second.id)).data.length, 3);
  await client.responses.delete(first.id);
  await assert.rejects(client.responses.retrieve(first.id), OpenAI.NotFoundError);
  await assert.rejects(
    client.responses.create({ ...asked, input: "x", previous_response_id: first.id }),
    (error) => error.code === "previous_response_not_found");
  await assert.rejects(client.responses.retrieve(anew.id), OpenAI.NotFoundError, "it was not to be kept");
});

test("responses: counting, and cancelling", async () => {
  connect();
  const counted = await client.responses.inputTokens.count({ model: "default", input: "What is 12 plus 30?" });
  const made = await client.responses.create({ ...asked, input: "What is 12 plus 30?" });
  assert.equal(counted.input_tokens, made.usage.input_tokens);
  const stream = await client.responses.create({
    ...asked, max_output_tokens: 3000, ignore_eos: true, stream: true, input: "Tell a story about a small boat.",
  });
  let last = null;
  for await (const event of stream) {
    if (event.type === "response.created") await client.responses.cancel(event.response.id);
    last = event;
  }
  assert.equal(last.type, "response.failed");
  assert.equal(last.response.status, "cancelled");
});

test("responses: what is not known is named, what would be a lie is refused", async () => {
  connect();
  const { response } = await client.responses.create({ ...asked, input: "Hi", max_output_tokens: 5, novelty: 1 }).withResponse();
  assert.equal(response.headers.get("paceline-ignored"), "novelty");
  await assert.rejects(client.responses.create({ ...asked, input: "Hi", background: true }), (error) =>
    error instanceof OpenAI.BadRequestError && error.code === "unsupported" && error.param === "background");
  await assert.rejects(client.responses.create({ ...asked, input: [] }), OpenAI.BadRequestError);
  assert.equal((await post("/responses", { ...asked, input: "Hi", max_output_tokens: 2 })).status, 200);
});
