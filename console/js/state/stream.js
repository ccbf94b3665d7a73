// Answers on their way. Pieces are gathered and shown once per frame; a stream goes on whatever page is open.
import { signal } from "../base/view.js";
import { stream } from "../api/http.js";
import { addNode, keep } from "./chats.js";
import { bodyOf } from "./ask_chat.js";
import { runTool } from "./tools.js";

export const running = signal(new Map()); // of conversations' ids: { node, stop }
export const newSeed = () => Math.floor(Math.random() * 2 ** 31);

const kKept = 20000; // rounds of an answer

// Rounds that a piece speaks of, each with its text; what only goes on with the text of an earlier one counts nothing.
function roundsOf({ each, spans, expected, ...all }) {
  const made = new Map((each ?? (all.rounds > 0 ? [all] : [])).map((round) => [round.round, { ...round, spans: [] }]));
  for (const span of spans) {
    const number = span.round ?? all.round;
    if (!made.has(number)) made.set(number, { ...all, round: number, rounds: 0, drafted: 0, accepted: 0, draft_us: 0, verify_us: 0, rejected: "", spans: [] });
    made.get(number).spans.push({ text: span.text, origin: span.origin });
  }
  if (expected && made.has(all.round)) made.get(all.round).expected = expected;
  return [...made.values()].sort((a, b) => a.round - b.round);
}

function takeRounds(node, speculation) {
  for (const round of roundsOf(speculation)) if (node.rounds.length < kKept) node.rounds.push(round);
}

function takeDelta(node, delta) {
  const thought = delta.reasoning ?? delta.reasoning_content;
  if (thought) {
    node.reasoning = (node.reasoning ?? "") + thought;
    node.thoughtMs = performance.now() - node.began;
  }
  if (delta.content) node.content += delta.content;
  for (const piece of delta.tool_calls ?? []) {
    node.calls ??= [];
    const call = (node.calls[piece.index] ??= { id: piece.id, name: "", arguments: "" });
    call.name += piece.function?.name ?? "";
    call.arguments += piece.function?.arguments ?? "";
  }
}

export function takeChunk(node, chunk) {
  const choice = chunk.choices?.[0];
  if (chunk.id) node.request = chunk.id;
  if (choice?.delta && (choice.delta.content || choice.delta.reasoning || choice.delta.tool_calls)) node.firstMs ??= performance.now() - node.began;
  if (choice?.delta) takeDelta(node, choice.delta);
  if (choice?.finish_reason) node.finish = choice.finish_reason;
  if (chunk.speculation) takeRounds(node, chunk.speculation);
  if (chunk.usage) node.usage = chunk.usage;
  if (chunk.timings) node.timings = chunk.timings;
}

function setRunning(id, entry) {
  const next = new Map(running.value);
  if (entry) next.set(id, entry);
  else next.delete(id);
  running.value = next;
}

export const stop = (chat) => running.value.get(chat.id)?.stop();

// Writes the answer into the node; its end is told by finish, stopped or problem.
async function write(chat, node, body) {
  const abort = new AbortController();
  Object.assign(node, { began: performance.now(), rounds: [], model: body.model });
  let asked = false;
  const show = () => {
    asked = false;
    keep(chat, true);
  };
  setRunning(chat.id, { node, stop: () => abort.abort() });
  try {
    for await (const chunk of stream("/v1/chat/completions", body, abort.signal)) {
      takeChunk(node, chunk);
      if (!asked) requestAnimationFrame(show);
      asked = true;
      if (document.hidden) keep(chat, true);
    }
  } catch (error) {
    if (abort.signal.aborted) node.finish = "stopped";
    else node.problem = error.message || "?";
  }
  node.tookMs = performance.now() - node.began;
  setRunning(chat.id, null);
  keep(chat);
}

// An answer to what stands before the end of the branch.
export async function answer(chat, model, seed) {
  const node = addNode(chat, { role: "assistant" });
  node.seed = seed ?? chat.settings.lockedSeed ?? newSeed();
  let body;
  try {
    body = bodyOf(chat, node, node.seed, model);
  } catch (error) {
    node.problem = error.message;
    return keep(chat);
  }
  await write(chat, node, body);
  await answerCalls(chat, node, model);
}

// Tools that run in the page answer by themselves; once all have, the model goes on.
export async function answerCalls(chat, node, model) {
  if (!node.calls?.length || node.finish !== "tool_calls") return;
  for (const call of node.calls) call.result ??= runTool(call.name, call.arguments);
  keep(chat);
  if (node.calls.every((call) => call.result !== undefined) && chat.leaf === node.id) await answer(chat, model);
}

// Another answer beside this one.
export function regenerate(chat, node, model, sameSeed) {
  chat.leaf = node.parent;
  return answer(chat, model, sameSeed ? node.seed : newSeed());
}

export async function send(chat, text, images, model) {
  addNode(chat, { role: "user", content: text, images });
  if (!chat.title) chat.title = text.trim().slice(0, 60) || "…";
  await answer(chat, model);
}

// Beside the old one: nothing is lost.
export async function editAndSend(chat, node, text, model) {
  chat.leaf = node.parent;
  await send(chat, text, node.images, model);
}

// An answer as the reader would have it, beside the old one.
export function rewrite(chat, node, text) {
  chat.leaf = node.parent;
  addNode(chat, { role: "assistant", content: text, model: node.model, seed: node.seed, edited: true });
}

// A text that was cut goes on where it ended, by the wire that can.
export async function goOn(chat, node, model) {
  const { messages, temperature, top_p, top_k, max_tokens = 512, stop: stop_sequences } = bodyOf(chat, node, node.seed, model);
  const system = messages[0]?.role === "system" ? messages.shift().content : undefined, abort = new AbortController();
  setRunning(chat.id, { node, stop: () => abort.abort() });
  node.finish = null;
  try {
    const body = { model, system, messages: [...messages, { role: "assistant", content: node.content }], temperature, top_p, top_k, max_tokens, stop_sequences: stop_sequences && [stop_sequences], stream: true, seed: node.seed };
    for await (const event of stream("/v1/messages", body, abort.signal)) {
      if (event.delta?.type === "text_delta") node.content += event.delta.text;
      if (event.delta?.stop_reason) node.finish = event.delta.stop_reason === "max_tokens" ? "length" : "stop";
      keep(chat, true);
    }
  } catch (error) {
    if (!abort.signal.aborted) node.problem = error.message;
  }
  node.rounds = []; // of a part of the text only
  setRunning(chat.id, null);
  keep(chat);
}
