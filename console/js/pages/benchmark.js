// Measurements that the server makes of itself: planned, watched, kept, laid over each other.
import { html, useEffect, useState } from "../base/view.js";
import { dateTime, number, percent, t } from "../base/words.js";
import { ask } from "../api/http.js";
import { outputRate, session } from "../state/server.js";
import { Chart } from "../parts/chart.js";
import { Check, Field, Tabs, download } from "../parts/controls.js";
import { Table } from "../parts/table.js";

const kKinds = { one: { at_once: [1], requests: 12 }, many: { at_once: [1, 4, 16], requests: 32 }, long: { at_once: [1, 2], requests: 4, prompt_words: 1500 } };
const kColours = ["c1", "c2", "c3", "c4", "c5", "c6"];
const loadOf = (cell) => Number(cell.load.match(/\d+/)?.[0] ?? 0);

// Plain first, then with drafts, of each chosen run over the loads.
function linesOf(runs, value) {
  const loads = [...new Set(runs.flatMap((run) => run.report.cells.map(loadOf)))].sort((a, b) => a - b);
  const made = { data: [loads], series: [] };
  runs.forEach((run, at) => ["plain", "auto"].forEach((way, i) => {
    made.series.push({ name: `${t(`way.${way}`)}${runs.length > 1 ? ` ${at + 1}` : ""}`, colour: kColours[(2 * at + i) % kColours.length] });
    made.data.push(loads.map((load) => {
      const cell = run.report.cells.find((one) => loadOf(one) === load && one.drafts === way);
      return cell ? value(cell) : null;
    }));
  }));
  return made;
}

const csvOf = (run) => ["load,drafts,requests,failed,tokens_per_s,first_text_ms_p50,between_pieces_ms_p50,accepted_of_drafted,tokens_per_verify",
  ...run.report.cells.map((cell) => [cell.load, cell.drafts, cell.requests, cell.failed, cell.tokens_per_s, cell.first_text_ms.p50, cell.between_pieces_ms.p50, cell.accepted_of_drafted, cell.tokens_per_verify].join(","))].join("\n");

const saveSvg = async (run) => download("benchmark.svg", (await ask(`/v1/benchmarks/${run.id}`)).svg, "image/svg+xml");

const kColumns = () => [
  { name: t("bench.load"), of: loadOf, show: (cell) => cell.load },
  { name: t("page.speculation"), of: (cell) => cell.drafts, show: (cell) => t(`way.${cell.drafts}`) },
  { name: t("bench.wall"), num: true, of: (cell) => cell.tokens_per_s, show: (cell) => html`<span data-rate=${cell.tokens_per_s}>${number(cell.tokens_per_s, 1)}</span>` },
  { name: t("bench.decode"), num: true, of: (cell) => cell.between_pieces_ms.p50, show: (cell) => number(cell.between_pieces_ms.p50, 1) },
  { name: `${t("first_token")} (ms)`, num: true, of: (cell) => cell.first_text_ms.p50, show: (cell) => number(cell.first_text_ms.p50, 1) },
  { name: "p99", num: true, of: (cell) => cell.first_text_ms.p99, show: (cell) => number(cell.first_text_ms.p99, 1) },
  { name: t("acceptance"), num: true, of: (cell) => cell.accepted_of_drafted, show: (cell) => percent(cell.accepted_of_drafted) },
  { name: t("per_verify"), num: true, of: (cell) => cell.tokens_per_verify, show: (cell) => number(cell.tokens_per_verify, 2) },
  { name: t("model.failed"), num: true, of: (cell) => cell.failed },
];

function Run({ run }) {
  const cells = run.report?.cells ?? [];
  return html`<section class="card" data-run=${run.id}><div class="row"><h2>${dateTime(run.began * 1000)}</h2><span class=${run.state === "done" ? "good" : run.state === "running" ? "warn" : "bad"}>${t(run.state === "failed" ? "model.failed" : run.state === "running" ? "running" : `bench.${run.state}`)}</span>
      <span>${run.others > 0 ? html`<b class="bad">${t("bench.disturbed", { count: number(run.others) })}</b>` : run.state === "done" && t("bench.quiet")}</span><span class="push"></span>
      ${run.state === "done" && html`<button type="button" onClick=${() => download("benchmark.json", JSON.stringify(run, null, 1))}>JSON</button><button type="button" onClick=${() => download("benchmark.csv", csvOf(run), "text/csv")}>CSV</button><button type="button" onClick=${() => saveSvg(run)}>SVG</button>`}
      ${run.state === "running" && html`<button type="button" onClick=${() => ask(`/v1/benchmarks/${run.id}`, { method: "DELETE" })}>${t("cancel")}</button>`}</div>
    ${run.problem && run.state === "failed" && html`<p class="bad">${run.problem}</p>`}
    <p class="small soft">paceline ${run.version} · ${run.plan.at_once.join(", ")} × ${run.plan.requests} × ${run.plan.rounds} · ${run.plan.output_tokens} ${t("tokens")}${run.report ? ` · ${Object.entries(run.report.auto_to_plain).map(([load, ratio]) => `${load}: × ${number(ratio, 2)}`).join(" · ")}` : ""}</p>
    ${run.state === "running" && html`<progress max=${run.total || 1} value=${run.done} aria-label=${t("running")}></progress>`}
    ${cells.length > 0 && html`<${Table} caption=${dateTime(run.began * 1000)} columns=${kColumns()} rows=${cells.map((cell) => ({ ...cell, id: cell.load + cell.drafts }))} />`}</section>`;
}

export default function BenchmarkPage() {
  const [kind, setKind] = useState("one");
  const [tokens, setTokens] = useState(64);
  const [rounds, setRounds] = useState(1);
  const [runs, setRuns] = useState([]);
  const [over, setOver] = useState(false);
  const [problem, setProblem] = useState("");
  const may = session.value?.manages;
  const look = () => ask("/v1/benchmarks").then((found) => setRuns(found.runs), () => {});
  useEffect(() => {
    if (!may) return;
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [may]);
  if (!may) return html`<div class="page"><h1>${t("page.benchmark")}</h1><p>${t("needs_admin")}</p></div>`;
  const plan = { prompt_words: 0, ...kKinds[kind], output_tokens: tokens, rounds };
  const count = plan.at_once.length * 2 * (rounds + 1) * plan.requests;
  const guess = (count * tokens) / Math.max(outputRate.value ?? 0, 100);
  const start = () => ask("/v1/benchmarks", { method: "POST", body: plan }).then(() => (setProblem(""), look()), (error) => setProblem(error.message));
  const shown = runs.filter((run) => run.report?.cells.length > 0).slice(0, over ? 3 : 1);
  return html`<div class="page"><h1>${t("page.benchmark")}</h1><section class="card"><${Tabs} name=${t("bench.kind")} value=${kind} options=${Object.keys(kKinds).map((one) => [one, t(`bench.${one}`)])} on=${setKind} />
    <div class="row"><${Field} name=${t("sampling.max_tokens")}><input type="number" min="1" max="4096" value=${tokens} onChange=${(event) => setTokens(Number(event.target.value))} /><//>
      <${Field} name=${t("bench.rounds")}><input type="number" min="1" max="9" value=${rounds} onChange=${(event) => setRounds(Number(event.target.value))} /><//>
      <span class="soft small">${t("bench.plan", { count: number(count), seconds: number(Math.ceil(guess)) })}</span><span class="push"></span>
      <button class="main" type="button" disabled=${runs[0]?.state === "running"} onClick=${start}>${t("race.start")}</button></div>${problem && html`<p class="bad" role="alert">${problem}</p>`}</section>
    ${shown.length > 0 && html`<div class="row"><${Check} name=${t("bench.over")} value=${over} on=${setOver} /></div><div class="charts"><${Chart} name=${t("bench.wall")} x=${t("bench.load")} ...${linesOf(shown, (cell) => cell.tokens_per_s)} />
      <${Chart} name=${`${t("chart.first")} (ms)`} x=${t("bench.load")} ...${linesOf(shown, (cell) => cell.first_text_ms.p50)} /></div>`}
    ${runs.map((run) => html`<${Run} key=${run.id} run=${run} />`)}</div>`;
}
