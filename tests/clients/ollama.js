// Ollama's client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Ollama } from "ollama";
import { at, kKey } from "./server.js";

const connect = () => new Ollama({ host: at(""), headers: { Authorization: `Bearer ${kKey}` } });
const sum = { model: "default:latest", messages: [{ role: "user", content: "What is 12 plus 30?" }], options: { temperature: 0, num_predict: 60 } };

test("ollama: what there is", async () => {
  const client = connect();
  const { models } = await client.list();
  assert.equal(models[0].name, "default:latest");
  const shown = await client.show({ model: "default" });
  assert.ok(shown.capabilities.includes("tools"));
});

test("ollama: chat, whole and as a stream", async () => {
  const client = connect();
  const whole = await client.chat(sum);
  assert.ok(whole.message.content.length > 1);
  assert.equal(whole.done_reason, "stop");
  assert.ok(whole.eval_count > 0 && whole.eval_duration > 0);
  let text = "", last = null;
  for await (const piece of await client.chat({ ...sum, stream: true })) {
    text += piece.message.content;
    last = piece;
  }
  assert.equal(text, whole.message.content);
  assert.equal(last.done, true);
});

test("ollama: generate, and a form", async () => {
  const client = connect();
  const made = await client.generate({
    model: "default", prompt: "Make JSON of this: Anna is 31 years old.", options: { temperature: 0 },
    format: { type: "object", properties: { name: { type: "string" }, age: { type: "integer" } }, required: ["name", "age"] },
  });
  assert.deepEqual(JSON.parse(made.response), { name: "Anna", age: 31 });
});

test("ollama: a tool is called, and its result is answered; what is wrong is said", async () => {
  const client = connect();
  const tools = [{ type: "function", function: { name: "get_weather", description: "Weather of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } } }];
  const messages = [{ role: "user", content: "What is the weather in Paris?" }];
  const asking = { ...sum, tools, messages };
  const called = await client.chat(asking);
  assert.deepEqual(called.message.tool_calls, [{ function: { name: "get_weather", arguments: { city: "Paris" } } }]);
  const streamed = [];
  for await (const part of await client.chat({ ...asking, stream: true })) streamed.push(...(part.message.tool_calls ?? []));
  assert.deepEqual(streamed, called.message.tool_calls);
  const answered = await client.chat({ ...asking, messages: [...messages, called.message, { role: "tool", tool_name: "get_weather", content: "sunny" }] });
  // Behind a result it speaks, and calls no more.
  assert.ok(answered.message.content.length > 0);
  assert.equal(answered.message.tool_calls, undefined);
  await assert.rejects(client.chat({ ...sum, options: { temperature: 9 } }), /temperature/);
});
