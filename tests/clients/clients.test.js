// The clients that people use, unmodified, against a running server: what works here works for them.
import { after, before } from "node:test";
import { start, stop } from "./server.js";

before(() => start());
after(() => stop());

await import("./openai_chat.js");
await import("./openai_responses.js");
await import("./anthropic.js");
await import("./vercel.js");
await import("./langchain.js");
await import("./one_conversation.js");
await import("./ollama.js");
