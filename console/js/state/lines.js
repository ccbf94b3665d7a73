// The server's log and what it decides about drafts, line by line; the newest of them.
import { signal } from "../base/view.js";
import { ask, happenings } from "../api/http.js";

const kMostLines = 2000;
export const serverLines = signal([]);
export const routingLines = signal([]);
let nextLine = 0;

export async function lookAtLog() {
  const found = await ask(`/v1/log?since=${nextLine}`).catch(() => null);
  if (!found || found.next === nextLine) return;
  nextLine = found.next;
  serverLines.value = [...serverLines.value, ...found.lines].slice(-kMostLines);
}

// Those that are known, and from then on each that comes; shown some times in a second.
export async function hearRouting(stopped) {
  let waiting = [];
  const show = setInterval(() => {
    if (waiting.length > 0) routingLines.value = [...routingLines.value, ...waiting].slice(-kMostLines);
    waiting = [];
  }, 250);
  try {
    routingLines.value = await routingOf();
    for await (const [, text] of happenings("routing", stopped)) waiting.push(text);
  } catch {
    // Whoever looks again begins again.
  }
  clearInterval(show);
}

// Lines about one request, or all.
export async function routingOf(id) {
  const lines = String(await ask("/v1/routing")).split("\n").filter(Boolean);
  return id ? lines.filter((line) => line.includes(`"${id}"`)) : lines;
}
