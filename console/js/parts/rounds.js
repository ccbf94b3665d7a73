// What speculation did for one text: the text in colours, and its rounds on one axis.
import { html, useMemo, useState } from "../base/view.js";
import { number, percent, t } from "../base/words.js";
import { Chart } from "./chart.js";
import { Check } from "./controls.js";
import { RoundFacts, SpanKey, Spans } from "./spans.js";

// Pieces of one round that came apart are one again.
export function joined(rounds) {
  const made = [];
  for (const round of rounds) {
    const last = made.at(-1);
    if (last?.round === round.round) {
      last.spans = [...last.spans, ...(round.spans ?? [])];
      last.rejected ??= round.rejected;
    } else made.push({ ...round });
  }
  return made;
}

function series(rounds) {
  const x = rounds.map((_, at) => at + 1);
  // Each round gives a token besides those that were accepted.
  let tokens = 0, count = 0;
  const mean = rounds.map((round) => {
    count += round.rounds ?? 1;
    tokens += (round.accepted ?? 0) + (round.rounds ?? 1);
    return count > 0 ? tokens / count : 0;
  });
  return { depths: [x, rounds.map((one) => one.depth), rounds.map((one) => one.accepted), mean], times: [x, rounds.map((one) => one.draft_us / 1000), rounds.map((one) => one.verify_us / 1000)] };
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

const Positions = ({ rows }) => html`<section class="card"><h2>${t("by_position")}</h2>${rows.length === 0 ? html`<p class="soft">${t("no_drafts")}</p>` : html`<table><caption class="unseen">${t("by_position")}</caption>
  <thead><tr><th scope="col">${t("position")}</th><th scope="col">${t("acceptance")}</th><th scope="col" class="num">${t("guessed")}</th></tr></thead>
  <tbody>${rows.map((row) => html`<tr><th scope="row">${row.position}</th><td><div class="bar" role="img" aria-label=${percent(row.share)}><i style=${{ inlineSize: `${100 * row.share}%`, background: "var(--accepted)" }}></i></div>${percent(row.share)}</td><td class="num">${number(row.tried)}</td></tr>`)}</tbody></table>`}</section>`;

export function Rounds({ rounds, usage }) {
  const [quiet, setQuiet] = useState(false);
  const [at, setAt] = useState(null);
  const [chosen, setChosen] = useState(null);
  const all = useMemo(() => joined(rounds), [rounds, rounds.length]);
  const { depths, times } = useMemo(() => series(all), [all]);
  const choose = (range) => setChosen(range && [Math.round(range[0]) - 1, Math.round(range[1]) - 1]);
  const spec = usage?.speculative;
  return html`<section class="card"><div class="row"><h2>${t("text")}</h2><span class="push"></span><${Check} name=${t("only_text")} value=${quiet} on=${setQuiet} /></div>
    <${SpanKey} /><${Spans} rounds=${all} quiet=${quiet} chosen=${chosen} onRound=${(number, fix) => (setAt(number), fix && setChosen([number, number]))} /><${RoundFacts} round=${at === null ? all[chosen?.[0]] : all[at]} />
    ${spec && html`<p class="small">${number(spec.rounds)} ${t("rounds")} · ${t("guessed")} ${number(spec.drafted)} · ${t("accepted")} ${number(spec.accepted)} · ${number(spec.tokens_per_verify, 2)} ${t("per_verify")}</p>`}</section>
    <div class="charts"><${Chart} name=${`${t("depth")} · ${t("accepted")} · ${t("per_verify")}`} x=${t("round")} data=${depths} onSelect=${choose} series=${[{ name: t("depth"), colour: "c2", stepped: true }, { name: t("accepted"), colour: "c1" }, { name: t("per_verify"), colour: "c5" }]} />
    <${Chart} name=${t("chart.times")} x=${t("round")} data=${times} stack onSelect=${choose} series=${[{ name: `${t("draft")} (ms)`, colour: "c3" }, { name: `${t("verify")} (ms)`, colour: "c2" }]} />
    <${Positions} rows=${byPosition(all)} /></div>`;
}
