// One measurement: how it goes, what it was of, and its figures.
import { html } from "../base/view.js";
import { counted, dateTime, number, percent, t } from "../base/words.js";
import { csvOf, dropRun, pictureOf } from "../state/benchmarks.js";
import { Check, Pairs, SignButton, download } from "./controls.js";
import { Table } from "./table.js";

const kTextNames = { prose: "prompt.story", code: "prompt.code", arithmetic: "prompt.sums", copying: "prompt.copy" };
export const textName = (kind) => (kind in kTextNames ? t(kTextNames[kind]) : kind.toUpperCase());
export const draftsName = (drafts) => (/^\d+$/.test(drafts) ? t("way.depth", { n: drafts }) : t(`way.${drafts}`));

const figure = (name, of, digits = 1) => ({ name, num: true, of, show: (cell) => number(of(cell), digits) });
const columnsOf = (plan) => [
  { name: t("bench.load"), of: (cell) => cell.at_once },
  ...(plan.kinds.length > 0 ? [{ name: t("text"), of: (cell) => cell.text, show: (cell) => textName(cell.text) }] : []),
  ...(plan.prompt_words.length > 0 ? [figure(t("bench.words"), (cell) => cell.prompt_words, 0)] : []),
  { name: t("page.speculation"), of: (cell) => cell.drafts, show: (cell) => draftsName(cell.drafts) },
  { name: t("bench.wall"), num: true, of: (cell) => cell.tokens_per_s,
    show: (cell) => html`<span data-rate=${cell.tokens_per_s}>${number(cell.tokens_per_s, 1)}</span>${plan.rounds > 1 && html` <span class="soft small">${number(cell.tokens_per_s_least, 0)}–${number(cell.tokens_per_s_most, 0)}</span>`}` },
  { name: t("bench.decode"), num: true, of: (cell) => cell.decode_tokens_per_s, show: (cell) => html`<span data-decode=${cell.decode_tokens_per_s}>${number(cell.decode_tokens_per_s, 1)}</span>` },
  figure(`÷ ${t("way.plain")}`, (cell) => cell.ratio_to_plain || null, 2),
  figure(`${t("first_token")} (ms)`, (cell) => cell.first_text_ms.p50),
  figure("p99", (cell) => cell.first_text_ms.p99),
  { name: t("acceptance"), num: true, of: (cell) => cell.accepted_of_drafted, show: (cell) => percent(cell.accepted_of_drafted) },
  figure(t("per_verify"), (cell) => cell.tokens_per_verify, 2),
  figure(t("model.failed"), (cell) => cell.failed, 0),
];

const RunFacts = ({ facts, version }) => html`<details><summary>${facts.model?.id ?? ""} · paceline ${version}</summary><${Pairs} of=${[
  [t("kernels"), `${facts.model?.engine?.kernels ?? ""} · ${facts.processor} · ${facts.cores}`], [t("quantisation"), facts.model?.quantisation], [t("drafter"), facts.model?.drafter?.name],
  ["SHA-256", html`<span class="mono small">${facts.model?.sha256?.target ?? "–"}</span>`], [`SHA-256 ${t("drafter")}`, html`<span class="mono small">${JSON.stringify(facts.model?.sha256?.drafter)}</span>`],
  [t("page.settings"), Object.entries(facts.settings ?? {}).map(([name, value]) => `--${name} ${value}`).join(" ")]]} /></details>`;

const stateName = (state) => t(state === "failed" ? "model.failed" : state === "running" ? "running" : `bench.${state}`);
const savePicture = async (run) => download("benchmark.svg", await pictureOf(run), "image/svg+xml");

export function Run({ run, isShown, show }) {
  const cells = run.report?.cells?.filter((cell) => cell.requests > 0) ?? [], { plan } = run, when = dateTime(run.began * 1000);
  return html`<section class="card" data-run=${run.id}><div class="row"><h2>${when}</h2><span class=${run.state === "done" ? "good" : run.state === "running" ? "warn" : "bad"}>${stateName(run.state)}</span>
      <span>${run.others > 0 ? html`<b class="bad">${t("bench.disturbed", { count: number(run.others) })}</b>` : run.state === "done" && t("bench.quiet")}</span><span class="push"></span>
      ${cells.length > 0 && html`<${Check} name=${t("bench.over")} value=${isShown} on=${show} />`}
      ${run.state === "done" && html`<button type="button" onClick=${() => download("benchmark.json", JSON.stringify(run, null, 1))}>JSON</button><button type="button" onClick=${() => download("benchmark.csv", csvOf(run), "text/csv")}>CSV</button><button type="button" onClick=${() => savePicture(run)}>SVG</button>`}
      ${run.state === "running" ? html`<button type="button" onClick=${() => dropRun(run)}>${t("cancel")}</button>` : html`<${SignButton} sign="trash" name=${t("delete")} onClick=${() => dropRun(run)} />`}</div>
    ${run.problem && run.state === "failed" && html`<p class="bad">${run.problem}</p>`}
    <p class="small soft">${plan.at_once.join(", ")} × ${plan.requests} × ${plan.rounds} · ${counted(plan.output_tokens, "tokens")}</p><${RunFacts} facts=${run.facts ?? {}} version=${run.version} />
    ${run.state === "running" && html`<progress max=${run.total || 1} value=${run.done} aria-label=${t("running")}></progress><p class="small mono">${run.now}</p>`}
    ${cells.length > 0 && html`<${Table} caption=${when} columns=${columnsOf(plan)} rows=${cells.map((cell) => ({ ...cell, id: cell.load + cell.drafts }))} />`}</section>`;
}
