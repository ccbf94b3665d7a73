// What the server does and did: charts, totals, requests.
import { html, useEffect, useMemo, useState } from "../base/view.js";
import { bytes, number, percent, seconds, t } from "../base/words.js";
import { cancel, columns, growth, kRanges, lookAtHistory, lookAtRequests, range, ratio, requests, setRange } from "../state/monitor.js";
import { session } from "../state/server.js";
import { Chart } from "../parts/chart.js";
import { Dialog, SignButton, Tabs } from "../parts/controls.js";
import { Table } from "../parts/table.js";

const kDepths = [["depth_0", "0", "c5"], ["depth_1", "1", "c6"], ["depth_2", "2", "c1"], ["depth_3", "3–4", "c2"], ["depth_5", "5–8", "c4"], ["depth_9", "9+", "c3"]];

function depthShares() {
  const grown = kDepths.map(([name]) => growth(name));
  const sums = grown[0].map((_, at) => grown.reduce((sum, column) => sum + (column[at] ?? 0), 0));
  return grown.map((column) => column.map((value, at) => (sums[at] > 0 ? value / sums[at] : 0)));
}

function Charts() {
  const now = columns.value;
  const made = useMemo(() => {
    if (!now || now.time.length === 0) return null;
    const at = now.time, col = (name, scale = 1) => now[name].map((value) => (value === null ? null : value * scale));
    return [
      [t("chart.rate"), [[t("prompt"), "c2", growth("prompt")], [t("output"), "c1", growth("output")]], (value) => number(value, 1)],
      [t("chart.first"), [["p50", "c1", col("first_token_p50")], ["p95", "c3", col("first_token_p95")]], seconds],
      [t("chart.between"), [["p50", "c1", col("between_p50")], ["p95", "c3", col("between_p95")]], seconds],
      [`${t("running")} · ${t("waiting")}`, [[t("running"), "c1", col("running")], [t("waiting"), "c5", col("waiting")]], number],
      [t("chart.kv"), [[t("kv.used"), "c1", col("kv_used")], [t("kv.reserved"), "c2", col("kv_reserved")], [t("cached"), "c5", col("kv_cached")]], bytes],
      [t("chart.depths"), depthShares().map((column, i) => [kDepths[i][1], kDepths[i][2], column]), percent, true],
      [t("acceptance"), [[t("acceptance"), "c1", ratio("accepted", "drafted")]], percent],
      [t("chart.prefix"), [[t("cached"), "c1", ratio("cached", "looked_up")]], percent],
      [t("chart.steps"), [["prompt", "c2"], ["verify", "c1"], ["mixed", "c5"], ["draft", "c3"]].map(([kind, colour]) => [t(kind), colour, ratio(`${kind}_s`, kind === "draft" ? "draftings" : `${kind}_steps`)]), seconds],
      [t("chart.http"), [["2xx", "c1", growth("answers_good")], ["4xx", "c5", growth("answers_refused")], ["5xx", "c3", growth("answers_failed")]], (value) => number(value, 1)],
      [t("memory"), [[t("memory.process"), "c2", col("memory")]], bytes],
    ].map(([name, series, show, stack]) => ({ name, show, stack, series: series.map(([label, colour]) => ({ name: label, colour })), data: [at, ...series.map((one) => one[2])] }));
  }, [now]);
  if (!made) return html`<p class="soft">${t("waiting")}</p>`;
  return html`<div class="charts">${made.map((one) => html`<${Chart} key=${one.name} isTime ...${one} />`)}</div>`;
}

function Totals() {
  const now = columns.value, last = (name) => now?.[name].at(-1) ?? 0;
  const rows = [["requests", "requests"], ["prompt", "prompt"], ["cached", "cached"], ["output", "output"], ["drafted", "guessed"], ["accepted", "accepted"], ["rounds", "rounds"]];
  // A round takes about as long with drafts as without: what was accepted are steps that nobody had to make.
  const perStep = last("verify_steps") > 0 ? last("verify_s") / last("verify_steps") : 0;
  return html`<section class="card"><h2>${t("totals")}</h2><dl class="totals">${rows.map(([column, key]) => html`<div><dt>${t(key)}</dt><dd data-total=${column}>${number(last(column))}</dd></div>`)}
    <div><dt>${t("saved")}</dt><dd>${seconds(Math.max(last("accepted") * perStep - last("draft_s"), 0))}</dd></div></dl></section>`;
}

const kEnds = (row) => row.end || t(row.state === "waiting" ? "waiting" : "running");

function Requests() {
  const [wanted, setWanted] = useState("");
  const [open, setOpen] = useState(null);
  const all = [...requests.value.running, ...requests.value.recent].filter((row) => !wanted || JSON.stringify(row).toLowerCase().includes(wanted.toLowerCase()));
  const columnsOf = [
    { name: t("requests"), of: (row) => row.id, show: (row) => html`<button type="button" class="bare mono small" onClick=${() => setOpen(row)}>${row.id.slice(-10)}</button>` },
    { name: t("wire"), of: (row) => row.route },
    { name: t("state"), of: kEnds, show: (row) => html`${kEnds(row)} ${!row.end && html`<progress aria-label=${t("state")} max="1" value=${row.state === "waiting" ? 0.1 : undefined}></progress>`}` },
    { name: t("prompt"), num: true, of: (row) => row.prompt_tokens, show: (row) => number(row.prompt_tokens) },
    { name: t("cached"), num: true, of: (row) => row.cached_tokens, show: (row) => number(row.cached_tokens) },
    { name: t("output"), num: true, of: (row) => row.output_tokens, show: (row) => number(row.output_tokens) },
    { name: t("tokens_s"), num: true, of: (row) => row.tokens_per_second, show: (row) => number(row.tokens_per_second, 1) },
    { name: t("acceptance"), num: true, of: (row) => row.accepted / (row.drafted || 1), show: (row) => percent(row.drafted ? row.accepted / row.drafted : null) },
    { name: t("per_verify"), num: true, of: (row) => row.tokens_per_verify, show: (row) => number(row.tokens_per_verify, 2) },
    { name: t("age"), num: true, of: (row) => row.age_s, show: (row) => seconds(row.age_s) },
    { name: t("cancel"), show: (row) => (row.end ? "–" : html`<${SignButton} sign="stop" name=${t("cancel")} onClick=${() => cancel(row.id)} />`) },
  ];
  return html`<section class="card"><div class="row"><h2>${t("requests")}</h2><span class="push"></span><input type="search" aria-label=${t("filter")} placeholder=${t("filter")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></div>
    <${Table} caption=${t("requests")} columns=${columnsOf} rows=${all} />
    ${open && html`<${Dialog} name=${open.id} close=${() => setOpen(null)}><pre tabindex="0">${JSON.stringify(open, null, 1)}</pre><//>`}</section>`;
}

export default function MonitorPage() {
  const may = session.value?.manages;
  useEffect(() => {
    if (!may) return;
    const step = () => document.visibilityState === "visible" && Promise.all([lookAtHistory(), lookAtRequests()]).catch(() => {});
    step();
    const timer = setInterval(step, 1000);
    return () => clearInterval(timer);
  }, [may]);
  if (!may) return html`<div class="page"><h1>${t("page.monitor")}</h1><p>${t("needs_admin")}</p></div>`;
  return html`<div class="page"><div class="row"><h1>${t("page.monitor")}</h1><span class="push"></span><${Tabs} name=${t("range")} value=${range.value} options=${Object.entries(kRanges)} on=${setRange} /></div>
    <${Charts} /><${Totals} /><${Requests} /></div>`;
}
