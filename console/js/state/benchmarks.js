// Measurements that the server makes of itself, and keeps: what is planned, what runs, and what was found.
import { signal } from "../base/view.js";
import { ask } from "../api/http.js";

export const runs = signal([]);
export const textKinds = signal([]);

// By what is measured: what stands in the fields at first, as lists that are written down.
export const kMeasured = {
  one: { fields: ["words"], at_once: "1", words: "", requests: 12 },
  many: { fields: ["load"], at_once: "1, 4, 16", words: "", requests: 32 },
  spec: { fields: ["kinds", "depths"], at_once: "1", words: "", requests: 6 },
  long: { fields: ["words"], at_once: "1", words: "250, 500, 1000, 2000", requests: 4 },
};
export const numbersIn = (text) => text.split(/[\s,]+/).filter(Boolean).map((one) => (one === "auto" ? one : Number(one)));

export function planOf(kind, { at_once, words, kinds, depths, tokens, rounds }) {
  const plan = { at_once: numbersIn(at_once), requests: kMeasured[kind].requests, output_tokens: tokens, rounds };
  if (words.trim()) plan.prompt_words = numbersIn(words);
  return kind === "spec" ? { ...plan, kinds, depths: numbersIn(depths) } : plan;
}

export const requestsOf = (plan) =>
  plan.at_once.length * (plan.prompt_words?.length || 1) * (plan.kinds?.length || 1) * (1 + (plan.depths?.length ?? 1)) * (plan.rounds + 1) * plan.requests;

export async function lookAtRuns() {
  const found = await ask("/v1/benchmarks");
  textKinds.value = found.kinds;
  runs.value = found.runs;
}

export const startRun = (plan) => ask("/v1/benchmarks", { method: "POST", body: plan }).then(lookAtRuns);
// One that runs ends; one that has ended goes.
export const dropRun = (run) => ask(`/v1/benchmarks/${run.id}`, { method: "DELETE" }).then(lookAtRuns);
export const pictureOf = async (run) => (await ask(`/v1/benchmarks/${run.id}`)).svg;

// What a run's figures are drawn over.
export const axisOf = (run) => (run.plan.kinds.length > 0 ? "depth" : run.plan.prompt_words.length > 0 ? "words" : "load");
const kPlaces = { depth: (cell) => (cell.drafts === "plain" ? 0 : Number(cell.drafts)), words: (cell) => cell.prompt_words, load: (cell) => cell.at_once };

// Columns for a chart: one line for each kind of text, or for plain and with drafts, of each run.
export function linesOf(all, axis, value) {
  const place = kPlaces[axis], lines = new Map(), places = new Set();
  all.forEach((run, at) => run.report.cells.forEach((cell) => {
    if (!Number.isFinite(place(cell))) return; // as the policy chooses: the table has it
    const name = axis === "depth" ? cell.text : cell.drafts;
    const key = `${at} ${name}`;
    if (!lines.has(key)) lines.set(key, { run: at, name, points: new Map() });
    lines.get(key).points.set(place(cell), value(cell));
    places.add(place(cell));
  }));
  const xs = [...places].sort((a, b) => a - b);
  return { xs, lines: [...lines.values()].map((line) => ({ ...line, ys: xs.map((x) => line.points.get(x) ?? null) })) };
}

const kFigures = ["load", "drafts", "text", "prompt_words", "requests", "failed", "tokens_per_s", "tokens_per_s_least", "tokens_per_s_most", "decode_tokens_per_s", "ratio_to_plain", "accepted_of_drafted", "tokens_per_verify"];
export const csvOf = (run) => [[...kFigures, "first_text_ms_p50", "first_text_ms_p99", "between_pieces_ms_p50"],
  ...run.report.cells.map((cell) => [...kFigures.map((name) => (name === "load" ? `"${cell.load}"` : cell[name])), cell.first_text_ms.p50, cell.first_text_ms.p99, cell.between_pieces_ms.p50])].map((row) => row.join(",")).join("\n");
