// What speculation did for one text: the text in colours, and its rounds on one axis.
import { html, useMemo, useState } from "../base/view.js";
import { number, percent, t } from "../base/words.js";
import { Chart } from "./chart.js";
import { Check } from "./controls.js";
import { RoundFacts, SpanKey, Spans } from "./spans.js";

// Pieces of one round that came apart are one again.
export function joined(rounds) {
  const made = new Map();
  for (const round of rounds) {
    const had = made.get(round.round);
    if (had) had.spans = [...had.spans, ...(round.spans ?? [])];
    else made.set(round.round, { ...round });
  }
  return [...made.values()];
}

const kPhases = [["draft", "c3"], ["verify", "c2"], ["choose", "c5"], ["commit", "c4"]];
const phaseMs = (round, name) => (round[`${name}_us`] ?? 0) / 1000;
const lastsMs = (round) => kPhases.reduce((sum, [name]) => sum + phaseMs(round, name), 0);

// Over the time that rounds took, one behind the other.
function series(rounds) {
  // Each round gives a token besides those that were accepted.
  let tokens = 0, count = 0, ms = 0;
  const x = rounds.map((round) => (ms += lastsMs(round)));
  const mean = rounds.map((round) => {
    count += round.rounds ?? 1;
    tokens += (round.accepted ?? 0) + (round.rounds ?? 1);
    return count > 0 ? tokens / count : 0;
  });
  return { depths: [x, rounds.map((one) => one.depth), rounds.map((one) => one.accepted), mean], times: [x, ...kPhases.map(([name]) => rounds.map((one) => phaseMs(one, name)))] };
}

// What the policy expects of each depth, and what came of those that were chosen.
function byDepth(rounds, expected) {
  const made = new Map();
  for (const round of rounds) {
    if (!made.has(round.depth)) made.set(round.depth, { id: round.depth, rounds: 0, tokens: 0, ms: 0 });
    const one = made.get(round.depth);
    one.rounds += round.rounds ?? 1;
    one.tokens += (round.accepted ?? 0) + (round.rounds ?? 1);
    one.ms += lastsMs(round);
  }
  expected.forEach((_, depth) => made.has(depth) || made.set(depth, { id: depth, rounds: 0, tokens: 0, ms: 0 }));
  const best = Math.max(...expected, 1);
  return [...made.values()].sort((a, b) => a.id - b.id).map((one) => ({ ...one, rate: one.ms > 0 ? (1000 * one.tokens) / one.ms : null, expected: expected[one.id], share: (expected[one.id] ?? 0) / best }));
}

function byPosition(rounds) {
  const tried = [], held = [];
  for (const round of rounds) {
    for (let at = 0; at < round.drafted; ++at) {
      // Behind the first that was wrong nobody was asked.
      if (at > round.accepted) break;
      tried[at] = (tried[at] ?? 0) + 1;
      if (at < round.accepted) held[at] = (held[at] ?? 0) + 1;
    }
  }
  return tried.map((count, at) => ({ id: at, position: at + 1, tried: count, share: (held[at] ?? 0) / count }));
}

const ShareBar = ({ share }) => html`<div class="bar" role="img" aria-label=${percent(share)}><i style=${{ inlineSize: `${100 * share}%`, background: "var(--accepted)" }}></i></div>`;

// rows: { id, share: the bar, says: what stands below it, figures: behind it }
const Shares = ({ name, heads, rows }) => html`<section class="card"><h2>${name}</h2>${rows.length === 0 ? html`<p class="soft">${t("no_drafts")}</p>` : html`<table><caption class="unseen">${name}</caption>
  <thead><tr>${heads.map((head, at) => html`<th scope="col" class=${at > 1 ? "num" : ""}>${head}</th>`)}</tr></thead>
  <tbody>${rows.map((row) => html`<tr><th scope="row">${row.id}</th><td><${ShareBar} share=${row.share} />${row.says}</td>${row.figures.map((one) => html`<td class="num">${one}</td>`)}</tr>`)}</tbody></table>`}</section>`;

const Positions = ({ rows }) => html`<${Shares} name=${t("by_position")} heads=${[t("position"), t("acceptance"), t("guessed")]} rows=${rows.map((row) => ({ id: row.position, share: row.share, says: percent(row.share), figures: [number(row.tried)] }))} />`;
const Depths = ({ rows }) => html`<${Shares} name=${t("expected")} heads=${[t("depth"), t("tokens_s"), t("measured"), t("rounds")]} rows=${rows.map((row) => ({ id: row.id, share: row.share, says: number(row.expected), figures: [number(row.rate), number(row.rounds)] }))} />`;

export function Rounds({ rounds, usage }) {
  const [quiet, setQuiet] = useState(false);
  const [at, setAt] = useState(null);
  const [chosen, setChosen] = useState(null);
  const all = useMemo(() => joined(rounds), [rounds, rounds.length]);
  const { depths, times } = useMemo(() => series(all), [all]);
  const ends = depths[0];
  const roundAt = (ms) => Math.min(Math.max(ends.findIndex((end) => end >= ms), 0), ends.length - 1);
  const choose = (range) => setChosen(range && [roundAt(range[0]), range[1] >= ends.at(-1) ? ends.length - 1 : roundAt(range[1])]);
  const marked = useMemo(() => chosen && [ends[chosen[0] - 1] ?? 0, ends[chosen[1]]], [chosen, ends]);
  const axis = `${t("time")} (ms)`;
  const expected = all.findLast((one, i) => one.expected && i <= (chosen?.[1] ?? all.length))?.expected ?? [];
  const spec = usage?.speculative;
  return html`<section class="card"><div class="row"><h2>${t("text")}</h2><span class="push"></span><${Check} name=${t("only_text")} value=${quiet} on=${setQuiet} /></div>
    <${SpanKey} /><${Spans} rounds=${all} quiet=${quiet} chosen=${chosen} onRound=${(number, fix) => (setAt(number), fix && setChosen([number, number]))} /><${RoundFacts} round=${at === null ? all[chosen?.[0]] : all[at]} />
    <label class="field"><span>${t("round")}</span><input type="range" min="1" max=${Math.max(all.length, 1)} value=${(chosen?.[0] ?? 0) + 1} onInput=${(event) => setChosen([event.target.value - 1, event.target.value - 1])} /></label>
    ${spec && html`<p class="small">${t("rounds")} ${number(spec.rounds)} · ${t("guessed")} ${number(spec.drafted)} · ${t("accepted")} ${number(spec.accepted)} · ${t("per_verify")} ${number(spec.tokens_per_verify, 2)}</p>`}</section>
    <div class="charts"><${Chart} name=${`${t("depth")} · ${t("accepted")} · ${t("per_verify")}`} x=${axis} data=${depths} onSelect=${choose} marked=${marked} series=${[{ name: t("depth"), colour: "c2", stepped: true }, { name: t("accepted"), colour: "c1" }, { name: t("per_verify"), colour: "c5" }]} />
    <${Chart} name=${t("chart.times")} x=${axis} data=${times} stack onSelect=${choose} marked=${marked} series=${kPhases.map(([name, colour]) => ({ name: `${t(name)} (ms)`, colour }))} />
    <${Positions} rows=${byPosition(all)} /><${Depths} rows=${byDepth(all, expected)} /></div>`;
}
