// LangChain with both families.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatAnthropic } from "@langchain/anthropic";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { at, kKey } from "./server.js";

process.env.LANGCHAIN_TRACING_V2 = "false";
const openai = (more) => new ChatOpenAI({
  model: "default", apiKey: kKey, temperature: 0, maxTokens: 100, maxRetries: 0, configuration: { baseURL: at("/v1") }, ...more,
});
const models = {
  "openai, chat": () => openai({}),
  "openai, responses": () => openai({ useResponsesApi: true }),
  anthropic: () => new ChatAnthropic({ model: "default", apiKey: kKey, temperature: 0, maxTokens: 100, maxRetries: 0, anthropicApiUrl: at("") }),
};
const weather = tool(() => "sunny", { name: "get_weather", description: "Weather of a city", schema: z.object({ city: z.string() }) });

for (const [name, model] of Object.entries(models)) {
  test(`langchain, ${name}: invoke and stream`, async () => {
    const whole = await model().invoke("What is 12 plus 30?");
    assert.ok(whole.text.length > 1);
    let streamed = "";
    for await (const piece of await model().stream("What is 12 plus 30?")) streamed += piece.text;
    assert.equal(streamed, whole.text);
    assert.ok(whole.usage_metadata.output_tokens > 0);
  });

  test(`langchain, ${name}: a tool`, async () => {
    const called = await model().bindTools([weather], { tool_choice: "any" }).invoke("What is the weather in Paris?");
    assert.equal(called.tool_calls[0].name, "get_weather");
    assert.equal(typeof called.tool_calls[0].args.city, "string");
  });

  test(`langchain, ${name}: a form`, async () => {
    const person = await model().withStructuredOutput(z.object({ name: z.string(), age: z.number() }), { name: "person" })
      .invoke("Make JSON of this: Anna is 31 years old.");
    assert.equal(typeof person.name, "string");
    assert.equal(typeof person.age, "number");
  });
}
