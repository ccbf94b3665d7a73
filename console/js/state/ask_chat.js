// A conversation as the server is asked to go on with it.
import { ask } from "../api/http.js";
import { branch } from "./chats.js";

const kNumbers = ["temperature", "top_p", "top_k", "min_p", "presence_penalty", "frequency_penalty", "repetition_penalty", "max_tokens"];

const mediaPart = ({ kind, url }) => ({ type: `${kind ?? "image"}_url`, [`${kind ?? "image"}_url`]: { url } });
const userContent = (node) => (node.images?.length ? [...node.images.map(mediaPart), { type: "text", text: node.content }] : node.content);
const withBudget = (budget) => ({ mm_processor_kwargs: { max_soft_tokens: budget } });

// What a picture or a clip adds to the prompt.
export async function mediaTokens(one, budget, model) {
  const count = async (...parts) => (await ask("/tokenize", { method: "POST", body: { model, messages: [{ role: "user", content: [...parts, { type: "text", text: "" }] }], ...withBudget(budget) } })).count;
  return (await count(mediaPart(one))) - (await count());
}

function assistantMessages(node) {
  const calls = node.calls ?? [];
  const message = { role: "assistant", content: node.content };
  if (node.reasoning) message.reasoning = node.reasoning;
  if (calls.length > 0) {
    message.tool_calls = calls.map((call) => ({ id: call.id, type: "function", function: { name: call.name, arguments: call.arguments || "{}" } }));
  }
  return [message, ...calls.filter((call) => call.result !== undefined).map((call) => ({ role: "tool", tool_call_id: call.id, content: call.result }))];
}

export function messagesOf(chat, until) {
  const messages = [];
  if (chat.settings.system.trim()) messages.push({ role: "system", content: chat.settings.system });
  for (const node of branch(chat)) {
    if (node === until) break;
    messages.push(...(node.role === "user" ? [{ role: "user", content: userContent(node) }] : assistantMessages(node)));
  }
  return messages;
}

export function speculativeOf(settings) {
  const made = { trace: true };
  if (settings.speculation === "off") made.enabled = false;
  if (settings.speculation === "fixed") made.depth = settings.depth;
  return made;
}

export function bodyOf(chat, until, seed, model) {
  const { settings } = chat;
  const body = { messages: messagesOf(chat, until), seed, stream: true, stream_options: { include_usage: true }, speculative: speculativeOf(settings) };
  if (model) body.model = model;
  for (const name of kNumbers) if (settings.sampling[name] != null) body[name] = settings.sampling[name];
  if (settings.sampling.stop) body.stop = settings.sampling.stop;
  if (settings.thinking) body.chat_template_kwargs = { enable_thinking: true };
  if (body.messages.some((message) => Array.isArray(message.content))) Object.assign(body, withBudget(settings.budget));
  const tools = settings.tools.filter((tool) => tool.on);
  if (tools.length > 0) {
    body.tools = tools.map((tool) => ({ type: "function", function: { name: tool.name, description: tool.description, parameters: JSON.parse(tool.schema || "{}") } }));
  }
  if (settings.schema.trim()) body.response_format = { type: "json_schema", json_schema: { name: "answer", schema: JSON.parse(settings.schema) } };
  return body;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
export const curlOf = (body) =>
  `curl ${location.origin}/v1/chat/completions -H 'content-type: application/json' -H "authorization: Bearer $KEY" -d ${quoted(JSON.stringify(body))}`;
