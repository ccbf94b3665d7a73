// One conversation on every wire: the same prompt, the same answer, and the beginning is read once.
import assert from "node:assert/strict";
import { test } from "node:test";
import { post } from "./server.js";

// Of this many sentences; each conversation has its own.
let system = "";
const systemOf = (sentences) => `You are helpful assistant ${sentences}. ` + "You answer in short sentences, and call tools where they are of use. ".repeat(sentences);
const question = "What is the weather in Paris?";
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const call = { id: "call_1", city: "Paris" };
const shared = { model: "default", temperature: 1, seed: 7, top_k: 20 };

const chat = (turns) => ({
  ...shared, max_tokens: 40,
  tools: [{ type: "function", function: { name: "get_weather", description: "Weather of a city", parameters: schema } }],
  messages: [
    { role: "system", content: system },
    { role: "user", content: question },
    { role: "assistant", content: null, tool_calls: [{ id: call.id, type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city: call.city }) } }] },
    { role: "tool", tool_call_id: call.id, content: "sunny" },
  ].slice(0, turns),
});

const responses = (turns) => ({
  ...shared, max_output_tokens: 40, instructions: system, store: false,
  tools: [{ type: "function", name: "get_weather", description: "Weather of a city", parameters: schema }],
  input: [
    { role: "user", content: [{ type: "input_text", text: question }] },
    { type: "function_call", call_id: call.id, name: "get_weather", arguments: JSON.stringify({ city: call.city }) },
    { type: "function_call_output", call_id: call.id, output: "sunny" },
  ].slice(0, turns - 1),
});

const messages = (turns) => ({
  ...shared, max_tokens: 40, system: [{ type: "text", text: system, cache_control: { type: "ephemeral" } }],
  tools: [{ name: "get_weather", description: "Weather of a city", input_schema: schema }],
  messages: [
    { role: "user", content: [{ type: "text", text: question }] },
    { role: "assistant", content: [{ type: "tool_use", id: call.id, name: "get_weather", input: { city: call.city } }] },
    { role: "user", content: [{ type: "tool_result", tool_use_id: call.id, content: "sunny" }] },
  ].slice(0, turns - 1),
});

// What each wire says of its answer, in the same words.
const wires = [
  async (turns, more) => {
    const { status, json } = await post("/v1/chat/completions", { ...chat(turns), ...more });
    assert.equal(status, 200, JSON.stringify(json));
    const { message } = json.choices[0];
    return {
      text: message.content ?? "",
      calls: (message.tool_calls ?? []).map((made) => [made.function.name, JSON.parse(made.function.arguments)]),
      prompt: json.usage.prompt_tokens, cached: json.usage.prompt_tokens_details.cached_tokens, output: json.usage.completion_tokens,
    };
  },
  async (turns, more) => {
    const { status, json } = await post("/v1/responses", { ...responses(turns), ...more });
    assert.equal(status, 200, JSON.stringify(json));
    return {
      text: json.output.filter((item) => item.type === "message").map((item) => item.content[0].text).join(""),
      calls: json.output.filter((item) => item.type === "function_call").map((made) => [made.name, JSON.parse(made.arguments)]),
      prompt: json.usage.input_tokens, cached: json.usage.input_tokens_details.cached_tokens, output: json.usage.output_tokens,
    };
  },
  async (turns, more) => {
    const { status, json } = await post("/v1/messages", { ...messages(turns), ...more });
    assert.equal(status, 200, JSON.stringify(json));
    return {
      text: json.content.filter((block) => block.type === "text").map((block) => block.text).join(""),
      calls: json.content.filter((block) => block.type === "tool_use").map((made) => [made.name, made.input]),
      prompt: json.usage.input_tokens + json.usage.cache_read_input_tokens, cached: json.usage.cache_read_input_tokens, output: json.usage.output_tokens,
    };
  },
];

for (const [sentences, more] of [[60, {}], [60, { speculative: { enabled: false } }], [9, {}], [2, {}]]) {
  test(`one conversation on every wire ${sentences} ${JSON.stringify(more)}`, async () => {
    system = systemOf(sentences);
    // After the question, and after the tool has answered.
    for (const turns of [2, 4]) {
      const answers = [];
      for (const ask of wires) answers.push(await ask(turns, more));
      const [first, ...others] = answers;
      for (const other of others) {
        assert.deepEqual({ ...other, cached: 0 }, { ...first, cached: 0 });
        assert.ok(other.cached >= 0.95 * other.prompt, `${other.cached} of ${other.prompt} tokens were cached`);
      }
    }
  });
}
