// What the server does and did: charts, totals, requests.
import { computed, effect, html, untracked, useEffect, useState } from "../base/view.js";
import { bytes, number, percent, seconds, t, time } from "../base/words.js";
import { routingOf } from "../state/lines.js";
import { cancel, columns, earlier, growth, kRanges, lookAtHistory, lookAtRequests, range, ratio, requests, setRange, takeFresh } from "../state/monitor.js";
import { fresh, sample, session } from "../state/server.js";
import { Chart } from "../parts/chart.js";
import { Dialog, SignButton, Tabs } from "../parts/controls.js";
import { WhenSeen } from "../parts/seen.js";
import { Table } from "../parts/table.js";

const kDepths = [["depth_0", "0", "c5"], ["depth_1", "1", "c6"], ["depth_2", "2", "c1"], ["depth_3", "3–4", "c2"], ["depth_5", "5–8", "c4"], ["depth_9", "9+", "c3"]];

function depthShares() {
  const grown = kDepths.map(([name]) => growth(name));
  const sums = grown[0].map((_, at) => grown.reduce((sum, column) => sum + (column[at] ?? 0), 0));
  return grown.map((column) => column.map((value, at) => (sums[at] > 0 ? value / sums[at] : 0)));
}

const col = (name) => columns.value[name];
const kCharts = () => [
  [t("chart.rate"), () => [[t("prompt"), "c2", growth("prompt")], [t("output"), "c1", growth("output")]], (value) => number(value, 1)],
  [t("chart.first"), () => [["p50", "c1", col("first_token_p50")], ["p95", "c3", col("first_token_p95")]], seconds],
  [t("chart.between"), () => [["p50", "c1", col("between_p50")], ["p95", "c3", col("between_p95")]], seconds],
  [`${t("running")} · ${t("waiting")}`, () => [[t("running"), "c1", col("running")], [t("waiting"), "c5", col("waiting")]], number],
  [t("chart.kv"), () => [[t("kv.used"), "c1", col("kv_used")], [t("kv.reserved"), "c2", col("kv_reserved")], [t("cached"), "c5", col("kv_cached")]], bytes],
  [t("chart.depths"), () => depthShares().map((column, i) => [kDepths[i][1], kDepths[i][2], column]), percent, true],
  [t("acceptance"), () => [[t("acceptance"), "c1", ratio("accepted", "drafted")]], percent],
  [t("chart.prefix"), () => [[t("cached"), "c1", ratio("cached", "looked_up")]], percent],
  [t("chart.steps"), () => [["prompt", "c2"], ["verify", "c1"], ["mixed", "c5"], ["draft", "c3"]].map(([kind, colour]) => [t(kind), colour, ratio(`${kind}_s`, kind === "draft" ? "draftings" : `${kind}_steps`)]), seconds],
  [t("chart.http"), () => [["2xx", "c1", growth("answers_good")], ["4xx", "c5", growth("answers_refused")], ["5xx", "c3", growth("answers_failed")]], (value) => number(value, 1)],
  [t("memory"), () => [[t("memory.process"), "c2", col("memory")], ...(col("device_memory")?.at(-1) ? [[t("memory.device"), "c4", col("device_memory")]] : [])], bytes],
];

const hasSamples = computed(() => columns.value?.time.length > 0);
function Charts() {
  if (!hasSamples.value) return html`<p class="soft">${t("waiting")}</p>`;
  return html`<div class="charts">${kCharts().map(([name, make, show, stack]) => html`<${WhenSeen} key=${name} of=${() => {
    if (!columns.value) return null;
    const made = make();
    return html`<${Chart} isTime name=${name} show=${show} stack=${stack} series=${made.map(([label, colour]) => ({ name: label, colour }))} data=${[col("time"), ...made.map((one) => one[2])]} />`;
  }} />`)}</div>`;
}

const kTotals = [["requests", "requests"], ["prompt", "prompt"], ["cached", "cached"], ["output", "output"], ["drafted", "guessed"], ["accepted", "accepted"], ["rounds", "rounds"]];
// A step takes about as long with drafts as without: without them as many more would have been made as each of those that
// were made gave tokens besides its first.
const savedBy = (of) => Math.max((of("verify_s") * of("accepted")) / Math.max(of("output") - of("accepted"), 1) - of("draft_s"), 0);
function Totals() {
  const last = (name) => sample.value?.[name] ?? 0;
  const sums = (mark, of) => [...kTotals.map(([column, key]) => [key, column, number(of(column))]), ["saved", "saved", seconds(savedBy(of))]]
    .map(([key, column, value]) => html`<div><dt>${t(key)}</dt><dd ...${{ [mark]: column }}>${value}</dd></div>`);
  return html`<section class="card"><h2>${t("totals")}</h2><dl class="totals">${sums("data-total", last)}</dl>
    <h2>${t("totals.all")}</h2><dl class="totals">${sums("data-all", (name) => last(name) + (earlier.value[name] ?? 0))}</dl></section>`;
}

const kEnds = (row) => row.end || t(["loading", "queued"].includes(row.state) ? "waiting" : "running");
// One that has ended holds nothing any more.
const heldBytes = (row) => (row.end ? null : row.kv_bytes);
const acceptanceOf = (row) => (row.drafted ? row.accepted / row.drafted : null);

// The prompt as it is read, then the text as it is written. It never moves by itself: that would be a frame after the
// other, out of sight, too.
const Progress = ({ row }) => {
  const [name, done, all] = row.state === "writing" ? ["output", row.output_tokens, row.max_tokens] : ["prompt", row.prompt_read, row.prompt_tokens];
  return html`<progress aria-label=${t(name)} title=${t(name)} max=${all || 1} value=${done ?? 0}></progress>`;
};

// All that is known of one, with what was decided for it.
function Details({ row, close }) {
  const [lines, setLines] = useState([]);
  useEffect(() => void routingOf(row.id).then(setLines, () => {}), [row.id]);
  return html`<${Dialog} name=${row.id} close=${close}><pre tabindex="0">${JSON.stringify(row, null, 1)}</pre>
    <h3>${t("log.routing")}</h3><pre tabindex="0" data-routing>${lines.join("\n") || "–"}</pre><//>`;
}

function Requests() {
  const [wanted, setWanted] = useState("");
  const [open, setOpen] = useState(null);
  const all = [...requests.value.waiting, ...requests.value.running, ...requests.value.recent].filter((row) => !wanted || JSON.stringify(row).toLowerCase().includes(wanted.toLowerCase()));
  const figure = (name, field, digits = 0) => ({ name, num: true, of: (row) => row[field], show: (row) => number(row[field], digits) });
  const columnsOf = [
    { name: t("when"), of: (row) => row.began, show: (row) => html`<button type="button" class="bare small" title=${row.id} onClick=${() => setOpen(row)}>${time(row.began * 1000)}</button>` },
    { name: t("model"), of: (row) => row.model }, { name: t("wire"), of: (row) => row.wire }, { name: t("client"), of: (row) => row.client },
    { name: t("state"), of: kEnds, show: (row) => html`${kEnds(row)} ${!row.end && html`<${Progress} row=${row} />`}` },
    { name: t("cancel"), show: (row) => (row.end ? "–" : html`<${SignButton} sign="stop" name=${t("cancel")} onClick=${() => cancel(row.id)} />`) },
    figure(t("prompt"), "prompt_tokens"), figure(t("cached"), "cached_tokens"), figure(t("output"), "output_tokens"), figure(t("tokens_s"), "tokens_per_second", 1),
    figure(t("depth"), "depth"), { name: t("acceptance"), num: true, of: acceptanceOf, show: (row) => percent(acceptanceOf(row)) },
    figure(t("per_verify"), "tokens_per_verify", 2),
    { name: "KV", num: true, of: heldBytes, show: (row) => bytes(heldBytes(row)) },
    { name: t("age"), num: true, of: (row) => row.age_s, show: (row) => seconds(row.age_s) },
  ];
  return html`<section class="card"><div class="row"><h2>${t("requests")}</h2><span class="push"></span><input type="search" aria-label=${t("filter")} placeholder=${t("filter")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></div>
    <${Table} caption=${t("requests")} columns=${columnsOf} rows=${all} isFixed=${(row) => row.end} />
    ${open && html`<${Details} row=${open} close=${() => setOpen(null)} />`}</section>`;
}

let listIsSeen = true;
export default function MonitorPage() {
  const may = session.value?.manages;
  useEffect(() => {
    if (!may) return;
    lookAtHistory().catch(() => {});
    listIsSeen = true;
    return effect(() => {
      const found = fresh.value;
      if (found) untracked(() => takeFresh(found));
      if (listIsSeen) lookAtRequests().catch(() => {});
    });
  }, [may]);
  if (!may) return html`<div class="page"><h1>${t("page.monitor")}</h1><p>${t("needs_admin")}</p></div>`;
  return html`<div class="page"><div class="row"><h1>${t("page.monitor")}</h1><span class="push"></span><${Tabs} name=${t("range")} value=${range.value} options=${Object.entries(kRanges)} on=${setRange} /></div>
    <${Charts} /><${Totals} /><${WhenSeen} of=${() => html`<${Requests} />`} on=${(isSeen) => (listIsSeen = isSeen)} /></div>`;
}
