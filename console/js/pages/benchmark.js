// Measurements that the server makes of itself: planned, watched, kept, laid over each other.
import { html, useEffect, useState } from "../base/view.js";
import { number, t } from "../base/words.js";
import { axisOf, kMeasured, linesOf, lookAtRuns, planOf, requestsOf, runs, startRun, textKinds } from "../state/benchmarks.js";
import { sample, session } from "../state/server.js";
import { Chart } from "../parts/chart.js";
import { Check, Field, Tabs } from "../parts/controls.js";
import { Run, draftsName, textName } from "../parts/run.js";

const kRunColours = ["c1", "c2", "c3", "c4", "c5", "c6"];
const kindName = (kind) => (kind === "spec" ? t("page.speculation") : t(`bench.${kind}`));
const axisName = (axis) => (axis === "depth" ? t("depth") : axis === "words" ? t("bench.words") : t("bench.load"));

// Runs that are drawn over the same: others would say nothing beside it.
function RunCharts({ all }) {
  const axis = axisOf(all[0]), alike = all.filter((run) => axisOf(run) === axis);
  const chart = (name, value, digits = 1) => {
    const { xs, lines } = linesOf(alike, axis, value);
    const series = lines.map((line, at) => ({ name: `${axis === "depth" ? textName(line.name) : draftsName(line.name)}${alike.length > 1 ? ` ${line.run + 1}` : ""}`, colour: kRunColours[at % kRunColours.length] }));
    return html`<${Chart} key=${name + series.length} name=${name} x=${axisName(axis)} data=${[xs, ...lines.map((line) => line.ys)]} series=${series} show=${(one) => number(one, digits)} />`;
  };
  return html`<div class="charts">${axis === "depth" && chart(`÷ ${t("way.plain")}`, (cell) => cell.ratio_to_plain, 2)}
    ${chart(t("bench.wall"), (cell) => cell.tokens_per_s)}${chart(t("bench.decode"), (cell) => cell.decode_tokens_per_s)}${axis !== "depth" && chart(`${t("chart.first")} (ms)`, (cell) => cell.first_text_ms.p50)}</div>`;
}

// Of the time in which the server computed, since its start.
function tokensPerSecond() {
  const { output, prompt_s, verify_s, mixed_s, draft_s } = sample.value ?? {};
  return output > 0 ? output / (prompt_s + verify_s + mixed_s + draft_s) : 100;
}

function Planned({ problem, setProblem }) {
  const [kind, setKind] = useState("one");
  const [fields, setFields] = useState({ ...kMeasured.one, kinds: null, depths: "1, 2, 4, 8, auto", tokens: 64, rounds: 1 });
  const set = (name, value) => setFields({ ...fields, [name]: value });
  const choose = (next) => (setKind(next), setFields({ ...fields, ...kMeasured[next] }));
  const kinds = fields.kinds ?? textKinds.value, has = (name) => kMeasured[kind].fields.includes(name);
  const plan = planOf(kind, { ...fields, kinds });
  const count = requestsOf(plan), guess = (count * fields.tokens) / tokensPerSecond();
  const list = (name, label) => html`<${Field} name=${label}><input value=${fields[name]} onInput=${(event) => set(name, event.target.value)} /><//>`;
  const one = (name, label, most) => html`<${Field} name=${label}><input type="number" min="1" max=${most} value=${fields[name]} onInput=${(event) => set(name, Number(event.target.value))} /><//>`;
  const start = () => startRun(plan).then(() => setProblem(""), (error) => setProblem(error.message));
  return html`<section class="card"><${Tabs} name=${t("bench.kind")} value=${kind} options=${Object.keys(kMeasured).map((name) => [name, kindName(name)])} on=${choose} />
    ${has("kinds") && html`<div class="row" role="group" aria-label=${t("bench.kinds")}>${textKinds.value.map((name) => html`<${Check} name=${textName(name)} value=${kinds.includes(name)} on=${(on) => set("kinds", textKinds.value.filter((other) => (other === name ? on : kinds.includes(other))))} />`)}</div>`}
    <div class="row">${has("load") && list("at_once", t("bench.load"))}${has("words") && list("words", t("bench.words"))}${has("depths") && list("depths", t("depth"))}
      ${one("tokens", t("sampling.max_tokens"), 4096)}${one("rounds", t("bench.rounds"), 9)}
      <span class="soft small">${t("bench.plan", { count: number(count), seconds: number(Math.ceil(guess)) })}</span><span class="push"></span>
      <button class="main" type="button" disabled=${runs.value[0]?.state === "running" || count === 0} onClick=${start}>${t("race.start")}</button></div>${problem && html`<p class="bad" role="alert">${problem}</p>`}</section>`;
}

export default function BenchmarkPage() {
  const [picked, setPicked] = useState(null); // ids; none: the newest
  const [problem, setProblem] = useState("");
  const may = session.value?.manages;
  useEffect(() => {
    if (!may) return;
    // Seldom where nothing runs.
    let looks = 0;
    const look = () => document.visibilityState === "visible" && (looks++ % 5 === 0 || runs.value[0]?.state === "running") && lookAtRuns().catch(() => {});
    look();
    const timer = setInterval(look, 1000);
    return () => clearInterval(timer);
  }, [may]);
  if (!may) return html`<div class="page"><h1>${t("page.benchmark")}</h1><p>${t("needs_admin")}</p></div>`;
  const measured = runs.value.filter((run) => run.report?.cells.some((cell) => cell.requests > 0));
  const ids = picked ?? measured.slice(0, 1).map((run) => run.id);
  const shown = measured.filter((run) => ids.includes(run.id));
  const show = (run) => (on) => setPicked(on ? [...ids, run.id] : ids.filter((id) => id !== run.id));
  return html`<div class="page"><h1>${t("page.benchmark")}</h1><${Planned} problem=${problem} setProblem=${setProblem} />
    ${shown.length > 0 && html`<${RunCharts} all=${shown} />`}
    ${runs.value.map((run) => html`<${Run} key=${run.id} run=${run} isShown=${ids.includes(run.id)} show=${show(run)} />`)}</div>`;
}
