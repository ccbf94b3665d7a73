// The same prompt written in two ways, one after the other, each with a cache scope of its own; kept with the times at which
// its pieces came, to be played side by side.
import { signal } from "../base/view.js";
import { stream } from "../api/http.js";
import { takeChunk } from "./stream.js";

export const kPrompts = {
  story: "Tell a story about a small boat that wanted to see the sea.",
  code: "Write a Python function that returns the largest number of a list.",
  sums: "What is 47 plus 38?",
  json: "Make JSON of this: Anna is 31 years old and lives in Rome.",
  tool: "What is the weather in Paris?",
};
const kTool = [{ type: "function", function: { name: "get_weather", description: "Weather of a city", parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } } }];

export const kWays = { plain: { enabled: false }, auto: {}, d2: { depth: 2 }, d4: { depth: 4 }, d8: { depth: 8 } };
export const race = signal(null); // { lanes: [lane, lane], state, verdict }

async function run(lane, body, show) {
  const node = { role: "assistant", content: "", rounds: [], began: performance.now() };
  lane.node = node;
  for await (const chunk of stream("/v1/chat/completions", body)) {
    takeChunk(node, chunk);
    lane.pieces.push({ at: performance.now() - node.began, end: node.content.length, rounds: node.rounds.length });
    show();
  }
  lane.tookMs = performance.now() - node.began;
  lane.text = node.content + (node.calls ? JSON.stringify(node.calls.map(({ name, arguments: given }) => [name, given])) : "");
  lane.rate = node.timings?.predicted_per_second;
  lane.usage = node.usage;
}

async function digest(text) {
  const bytes = new TextEncoder().encode(text);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return { bytes, sha: [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("") };
}

async function compare(lanes) {
  const [a, b] = await Promise.all(lanes.map((lane) => digest(lane.text)));
  let at = 0;
  while (at < a.bytes.length && a.bytes[at] === b.bytes[at]) ++at;
  const equal = a.sha === b.sha;
  return { equal, bytes: a.bytes.length, sha: a.sha, other: b.sha, differsAt: equal ? null : at };
}

let turns = 0;
export async function startRace({ kind, prompt, ways, model, maxTokens = 256 }) {
  const lanes = ways.map((way) => ({ way, pieces: [], text: "", node: { content: "", rounds: [] } }));
  const seed = Math.floor(Math.random() * 2 ** 31);
  const show = (state = "running", verdict = null) => (race.value = { lanes, state, verdict, kind, prompt, seed });
  show();
  try {
    // Another one is first each time.
    const order = turns++ % 2 ? [1, 0] : [0, 1];
    for (const at of order) {
      const body = { model, messages: [{ role: "user", content: prompt }], seed, max_tokens: maxTokens, stream: true, stream_options: { include_usage: true },
        cache_salt: crypto.randomUUID(), speculative: { trace: true, ...kWays[lanes[at].way] } };
      if (kind === "tool") body.tools = kTool;
      let asked = false;
      await run(lanes[at], body, () => {
        if (asked) return;
        asked = true;
        requestAnimationFrame(() => ((asked = false), race.value?.state === "running" && show()));
      });
    }
    show("done", await compare(lanes));
  } catch (error) {
    show("failed");
    race.value = { ...race.value, problem: error.message };
  }
}

// How much of a text was there after so many milliseconds, and of its rounds.
export function laneAt({ node, pieces }, ms) {
  const last = pieces.findLast((piece) => piece.at <= ms);
  return { text: node.content.slice(0, last?.end ?? 0), rounds: node.rounds.slice(0, last?.rounds ?? 0) };
}

export const reportOf = (now) => JSON.stringify({ prompt: now.prompt, seed: now.seed, verdict: now.verdict, lanes: now.lanes.map(({ way, text, usage }) => ({ way, text, usage })) }, null, 1);
