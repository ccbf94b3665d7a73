// OpenAI's client: chat and completions.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { at, kKey } from "./server.js";

let client;
const connect = () => (client ??= new OpenAI({ baseURL: at("/v1"), apiKey: kKey, maxRetries: 0 }));

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
  connect();
  const models = [];
  for await (const model of client.models.list()) models.push(model);
  assert.equal(models.length, 1);
  assert.equal(models[0].object, "model");
  assert.equal((await client.models.retrieve(models[0].id)).id, models[0].id);
});

test("chat", async () => {
  connect();
  const answer = await client.chat.completions.create({ model: "default", messages: story, max_tokens: 30, seed: 1 });
  assert.equal(answer.object, "chat.completion");
  assert.ok(answer.choices[0].message.content.length > 10);
  assert.equal(answer.choices[0].finish_reason, "length");
  assert.equal(answer.usage.completion_tokens, 30);
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + 30);
  assert.match(answer._request_id, /^chatcmpl-/);
});

test("a stream is the same text", async () => {
  connect();
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
  connect();
  const runner = client.chat.completions.stream({ model: "default", messages: story, max_tokens: 20, n: 2, seed: 1 });
  const final = await runner.finalChatCompletion();
  assert.equal(final.choices.length, 2);
  assert.ok(final.choices.every((choice) => choice.message.content.length > 0));
});

test("completions", async () => {
  connect();
  const answer = await client.completions.create({
    model: "default", prompt: "Once upon a time", max_tokens: 10, logprobs: 2, temperature: 0,
  });
  const choice = answer.choices[0];
  assert.equal(choice.logprobs.tokens.join(""), choice.text);
  assert.equal(choice.logprobs.token_logprobs.length, choice.logprobs.tokens.length);
});

test("logprobs", async () => {
  connect();
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
  connect();
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
  connect();
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
  connect();
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
  connect();
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
    const text = await (await fetch(at("/metrics"))).text();
    if (/vllm:num_requests_running\{[^}]*\} 0/.test(text)) return;
  }
  assert.fail("the request still runs");
});

test("errors come as the client's classes", async () => {
  connect();
  const ask = (fields) => client.chat.completions.create({ model: "default", messages: story, ...fields });
  await assert.rejects(ask({ temperature: 3 }), (error) =>
    error instanceof OpenAI.BadRequestError && error.param === "temperature" && error.code === "invalid_value");
  await assert.rejects(ask({ model: "gpt-4" }), OpenAI.NotFoundError);
  await assert.rejects(ask({ stream: true, max_tokens: -1 }), OpenAI.BadRequestError);
  const { context_length: context } = (await client.models.list()).data[0];
  await assert.rejects(ask({ messages: [{ role: "user", content: "x ".repeat(2 * context) }] }), (error) =>
    error.code === "context_length_exceeded" && error.message.includes(`${context}`));
  const stranger = new OpenAI({ baseURL: at("/v1"), apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});

test("tools together with a form: the text is either calls or the form", async () => {
  connect();
  const asked = {
    model: "default", temperature: 1, max_tokens: 100, tools: [weather],
    messages: [{ role: "user", content: "Who is Anna?" }],
    response_format: {
      type: "json_schema",
      json_schema: {
        name: "age", schema: { type: "object", properties: { age: { type: "integer", maximum: 120 } }, required: ["age"] },
      },
    },
  };
  for (let seed = 0; seed < 4; ++seed) {
    const { message } = (await client.chat.completions.create({ ...asked, seed })).choices[0];
    if (message.tool_calls) {
      assert.equal(typeof JSON.parse(message.tool_calls[0].function.arguments).city, "string");
    } else {
      assert.ok(JSON.parse(message.content).age <= 120);
    }
  }
});

test("zod: a form and a tool", async () => {
  connect();
  const person = z.object({ name: z.string(), age: z.number().int() });
  const formed = await client.chat.completions.parse({
    model: "default", temperature: 0, max_tokens: 200,
    messages: [{ role: "user", content: "Make JSON of this: Anna is 31 years old." }],
    response_format: zodResponseFormat(person, "person"),
  });
  assert.deepEqual(formed.choices[0].message.parsed, { name: "Anna", age: 31 });
  const called = await client.chat.completions.parse({
    model: "default", temperature: 0, max_tokens: 80, tool_choice: "required", parallel_tool_calls: false,
    messages: [{ role: "user", content: "What is the weather in Paris?" }],
    tools: [zodFunction({ name: "get_weather", parameters: z.object({ city: z.string() }) })],
  });
  assert.equal(typeof called.choices[0].message.tool_calls[0].function.parsed_arguments.city, "string");
});

test("a call streams while it is written, and is the same", async () => {
  connect();
  // So long that the first piece is here before the last is written, whoever is faster.
  const note = { type: "object", properties: { text: { type: "string", minLength: 300, maxLength: 320 } }, required: ["text"] };
  const asked = {
    model: "default", temperature: 0, max_tokens: 600, tool_choice: "required", parallel_tool_calls: false,
    tools: [{ type: "function", function: { name: "write_note", description: "Writes a note", parameters: note } }],
    messages: [{ role: "user", content: "Write a note about the weather in Paris." }],
  };
  const whole = (await client.chat.completions.create(asked)).choices[0].message.tool_calls[0].function;
  let name = "", written = "", pieces = 0;
  for await (const chunk of await client.chat.completions.create({ ...asked, stream: true })) {
    for (const call of chunk.choices[0]?.delta?.tool_calls ?? []) {
      assert.equal(call.index, 0);
      if (pieces++ === 0) {
        assert.match(call.id, /^call_/);
        assert.equal(call.type, "function");
        assert.equal(typeof call.function.arguments, "string");
      } else {
        assert.equal(call.id, undefined);
      }
      name += call.function.name ?? "";
      written += call.function.arguments;
    }
  }
  assert.deepEqual({ name, arguments: written }, whole);
  assert.ok(pieces > 2, `${pieces} pieces`);
});

test("timings and thoughts under both names", async () => {
  connect();
  const answer = await client.chat.completions.create({
    model: "default", temperature: 0, max_tokens: 120, reasoning_effort: "high",
    messages: [{ role: "user", content: "What is 12 plus 30?" }],
  });
  assert.equal(answer.timings.predicted_n, answer.usage.completion_tokens);
  assert.equal(answer.timings.prompt_n + answer.timings.cache_n, answer.usage.prompt_tokens);
  assert.ok(answer.timings.predicted_ms > 0);
  const { message } = answer.choices[0];
  assert.equal(message.reasoning, message.reasoning_content);
});

test("speculation under vLLM's names; keys of strings by format; looking inside", async () => {
  connect();
  const answer = await client.chat.completions.create({
    model: "default", temperature: 0, max_tokens: 60, messages: [{ role: "user", content: "What is 12 plus 30?" }],
    speculative: { report: "detailed" },
  });
  const told = answer.metrics.speculative_decoding;
  assert.equal(told.per_step_drafted.reduce((a, b) => a + b, 0), told.num_draft_tokens);
  assert.equal(told.num_accepted_draft_tokens, answer.usage.speculative.accepted);
  const formed = await client.chat.completions.parse({
    model: "default", temperature: 1, seed: 4, max_tokens: 200, messages: [{ role: "user", content: "Who is Anna?" }],
    response_format: zodResponseFormat(z.object({ mail: z.email(), born: z.iso.date(), code: z.string().regex(/^[A-Z]{3}-\d{2}$/) }), "person"),
  });
  assert.match(formed.choices[0].message.parsed.code, /^[A-Z]{3}-\d{2}$/);
  const headers = { authorization: `Bearer ${kKey}` };
  const seen = await (await fetch(at("/v1/requests"), { headers })).json();
  assert.ok(seen.recent.some((one) => one.id === answer.id && one.output_tokens === answer.usage.completion_tokens));
  const props = await (await fetch(at("/props"), { headers })).json();
  assert.equal(props.model_alias, "default");
  assert.match(props.chat_template, /messages/);
});
