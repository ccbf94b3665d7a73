// What speculation does: of an answer of the chat, or of a race between two ways to write the same text.
import { html, useEffect, useState } from "../base/view.js";
import { number, t } from "../base/words.js";
import { chats, loadAllChats, changes } from "../state/chats.js";
import { address, within } from "../state/place.js";
import { kPrompts, kWays, laneAt, race, reportOf, startRace } from "../state/race.js";
import { model } from "../state/server.js";
import { Choice, Field, Tabs, download } from "../parts/controls.js";
import { Rounds } from "../parts/rounds.js";
import { Spans } from "../parts/spans.js";

const wayName = (way) => (way[0] === "d" ? t("way.depth", { n: way.slice(1) }) : t(`way.${way}`));

function Verdict({ now }) {
  const { verdict, lanes } = now;
  if (!verdict) return null;
  const ratio = lanes[1].rate / lanes[0].rate;
  return html`<div class=${`verdict ${verdict.equal ? "good" : "bad"}`} role="status"><p><b>${verdict.equal ? t("race.equal", { bytes: number(verdict.bytes) }) : t("race.differ", { at: number(verdict.differsAt) })}</b></p>
    <p class="mono small">SHA-256 ${verdict.sha}</p>
    <p>${wayName(lanes[0].way)}: ${number(lanes[0].rate, 1)} ${t("tokens_s")} · ${wayName(lanes[1].way)}: ${number(lanes[1].rate, 1)} ${t("tokens_s")} · <b>× ${number(ratio, 2)}</b></p>
    ${!verdict.equal && html`<button type="button" onClick=${() => download("race.json", reportOf(now))}>${t("race.report")}</button>`}</div>`;
}

// In colours, as it came.
function Lane({ lane, ms = Infinity }) {
  const { text, rounds } = laneAt(lane, ms);
  return html`<section class="card"><h3>${wayName(lane.way)}</h3>
    <div class="lane" tabindex="0" role="group" aria-label=${wayName(lane.way)}>${rounds.length > 0 ? html`<${Spans} rounds=${rounds} />` : text}${lane.node.calls?.map((call) => html`<p class="mono">${call.name} ${call.arguments}</p>`)}</div></section>`;
}

function Playback({ now }) {
  const longest = Math.max(...now.lanes.map((lane) => lane.tookMs ?? 0));
  const [at, setAt] = useState(longest);
  const [playing, setPlaying] = useState(false);
  useEffect(() => {
    if (!playing) return;
    const began = performance.now() - (at >= longest ? 0 : at);
    let frame;
    const step = () => {
      const ms = performance.now() - began;
      setAt(Math.min(ms, longest));
      if (ms < longest) frame = requestAnimationFrame(step);
      else setPlaying(false);
    };
    frame = requestAnimationFrame(step);
    return () => cancelAnimationFrame(frame);
  }, [playing]);
  return html`<div class="row"><button type="button" onClick=${() => setPlaying(!playing)}>${playing ? t("pause") : t("race.play")}</button>
    <label class="field grow"><span>${t("time")}: ${number(at / 1000, 2)} s</span><input type="range" min="0" max=${Math.ceil(longest)} step="1" value=${at} onInput=${(event) => (setPlaying(false), setAt(Number(event.target.value)))} /></label></div>
    <div class="race">${now.lanes.map((lane) => html`<${Lane} lane=${lane} ms=${at} />`)}</div>`;
}

function Race() {
  const [kind, setKind] = useState("story");
  const [own, setOwn] = useState("");
  const [ways, setWays] = useState(["plain", "auto"]);
  const now = race.value, isRunning = now?.state === "running";
  const start = () => startRace({ kind, prompt: kind === "own" ? own : kPrompts[kind], ways, model: model.value?.id });
  const options = Object.keys(kWays).map((way) => [way, wayName(way)]);
  return html`<section class="card" aria-label=${t("race")}><h2>${t("race")}</h2><p class="soft small">${t("race.how")}</p>
    <div class="row"><${Choice} name=${t("prompt")} value=${kind} options=${[...Object.keys(kPrompts), "own"].map((one) => [one, one === "json" ? "JSON" : t(`prompt.${one}`)])} on=${setKind} />
      ${[0, 1].map((at) => html`<${Choice} name=${`${at + 1}`} value=${ways[at]} options=${options} on=${(way) => setWays(ways.map((one, i) => (i === at ? way : one)))} />`)}
      <button class="main" type="button" disabled=${isRunning || (kind === "own" && !own.trim())} onClick=${start}>${isRunning ? t("running") : t("race.start")}</button></div>
    ${kind === "own" && html`<${Field} name=${t("prompt.own")}><textarea rows="2" value=${own} onInput=${(event) => setOwn(event.target.value)}></textarea><//>`}
    ${now?.problem && html`<p class="bad" role="alert">${now.problem}</p>`}
    ${isRunning && html`<div class="race">${now.lanes.map((lane) => html`<${Lane} lane=${lane} now=${now} />`)}</div>`}
    ${now?.state === "done" && html`<${Verdict} now=${now} /><${Playback} key=${now.seed} now=${now} />`}</section>
    ${now?.state === "done" && html`<${Rounds} rounds=${now.lanes[1].node.rounds} usage=${now.lanes[1].usage} />`}`;
}

function Answers() {
  changes.value;
  const all = chats.value.flatMap((chat) => chat.nodes.filter((node) => node.rounds?.length > 0).map((node) => ({ chat, node }))).sort((a, b) => b.node.time - a.node.time);
  if (all.length === 0) return html`<p class="soft">${t("spec.no_answers")} <a href=${address("chat")}>${t("page.chat")}</a></p>`;
  const [chatId, nodeId] = within.value.split(".");
  const { node } = all.find((one) => one.chat.id === chatId && one.node.id === nodeId) ?? all[0];
  return html`<section class="card"><h2>${t("spec.answers")}</h2><ul>${all.slice(0, 5).map((one) => html`<li><a href=${address("speculation", `${one.chat.id}.${one.node.id}`)} aria-current=${one.node === node ? "true" : undefined}>${one.chat.title} – ${one.node.content.slice(0, 40)}</a></li>`)}</ul></section>
    <${Rounds} key=${node.id} rounds=${node.rounds} usage=${node.usage} />`;
}

export default function SpeculationPage() {
  const [tab, setTab] = useState(within.value ? "answers" : "race");
  useEffect(() => void loadAllChats(), []);
  return html`<div class="page"><div class="row"><h1>${t("page.speculation")}</h1><span class="push"></span>
    <${Tabs} name=${t("page.speculation")} value=${tab} options=${[["race", t("race")], ["answers", t("spec.answers")]]} on=${setTab} /></div>
    ${tab === "race" ? html`<${Race} />` : html`<${Answers} />`}</div>`;
}
