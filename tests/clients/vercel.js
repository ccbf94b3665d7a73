// Vercel's AI SDK with each of its providers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, Output, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";
import { at, kKey } from "./server.js";

globalThis.AI_SDK_LOG_WARNINGS = false;
const settings = () => ({ baseURL: at("/v1"), apiKey: kKey });
const models = {
  "openai, responses": () => createOpenAI(settings()).responses("default"),
  "openai, chat": () => createOpenAI(settings()).chat("default"),
  compatible: () => createOpenAICompatible({ name: "paceline", supportsStructuredOutputs: true, ...settings() })("default"),
  anthropic: () => createAnthropic(settings())("default"),
};

for (const [name, model] of Object.entries(models)) {
  test(`vercel, ${name}: text and stream`, async () => {
    const ask = { model: model(), temperature: 0, maxOutputTokens: 60, maxRetries: 0, prompt: "What is 12 plus 30?" };
    const { text } = await generateText(ask);
    assert.ok(text.length > 1);
    let streamed = "";
    for await (const piece of streamText(ask).textStream) streamed += piece;
    assert.equal(streamed, text);
  });

  test(`vercel, ${name}: a tool that it runs`, async () => {
    let asked = null;
    const { steps } = await generateText({
      model: model(), temperature: 0, maxOutputTokens: 80, maxRetries: 0, toolChoice: "required", stopWhen: stepCountIs(2),
      prompt: "What is the weather in Paris?",
      tools: {
        get_weather: tool({
          description: "Weather of a city", inputSchema: z.object({ city: z.string() }),
          execute: (input) => { asked = input; return "sunny"; },
        }),
      },
    });
    assert.equal(typeof asked.city, "string");
    assert.ok(steps.length >= 1);
  });

  test(`vercel, ${name}: a form`, async () => {
    const { output } = await generateText({
      model: model(), temperature: 0, maxOutputTokens: 200, maxRetries: 0,
      prompt: "Make JSON of this: Anna is 31 years old.",
      output: Output.object({ schema: z.object({ name: z.string(), age: z.number() }) }),
    });
    assert.equal(typeof output.name, "string");
    assert.equal(typeof output.age, "number");
  });
}
