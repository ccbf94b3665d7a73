// The server's log and its decisions about drafts, as they are written.
import { html, useEffect, useRef, useState } from "../base/view.js";
import { t } from "../base/words.js";
import { hearRouting, lookAtLog, routingLines, serverLines } from "../state/lines.js";
import { models, session } from "../state/server.js";
import { Choice, Field, Tabs, download } from "../parts/controls.js";

const levelOf = (line) => line.split(" ", 2)[1];
// Of the server's lines and of decisions alike.
const isOf = (line, model) => line.includes(` model=${model} `) || line.includes(`"model":"${model}"`);

// Looks while somebody does.
function useLines(source, isOn) {
  useEffect(() => {
    if (!isOn) return;
    if (source === "routing") {
      const abort = new AbortController();
      hearRouting(abort.signal);
      return () => abort.abort();
    }
    lookAtLog();
    const timer = setInterval(lookAtLog, 1000);
    return () => clearInterval(timer);
  }, [source, isOn]);
}

export default function LogPage() {
  const [source, setSource] = useState("server");
  const [paused, setPaused] = useState(false);
  const [level, setLevel] = useState("all");
  const [model, setModel] = useState("");
  const [request, setRequest] = useState("");
  const [wanted, setWanted] = useState("");
  const box = useRef();
  const may = session.value?.manages, isServer = source === "server";
  useLines(source, may && !paused);
  const lines = isServer ? serverLines.value : routingLines.value;
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (!may) return html`<div class="page"><h1>${t("page.log")}</h1><p>${t("needs_admin")}</p></div>`;
  const shown = lines.filter((line) => (!isServer || level === "all" || levelOf(line) === level) && (!model || isOf(line, model)) && line.includes(request) && line.toLowerCase().includes(wanted.toLowerCase()));
  const typed = (name, value, set) => html`<${Field} name=${name}><input type="search" value=${value} onInput=${(event) => set(event.target.value.trim())} /><//>`;
  return html`<div class="page"><div class="row"><h1>${t("page.log")}</h1><span class="push"></span><${Tabs} name=${t("page.log")} value=${source} options=${["server", "routing"].map((one) => [one, t(`log.${one}`)])} on=${setSource} /></div><p class="soft small">${t("log.never")}</p>
    <div class="row">${isServer && html`<${Choice} name=${t("level")} value=${level} options=${["all", "error", "info", "debug"].map((one) => [one, one === "all" ? t("all") : one])} on=${setLevel} />`}
      <${Choice} name=${t("model")} value=${model} options=${[["", t("all")], ...models.value.map((one) => [one.id, one.id])]} on=${setModel} />${typed(t("request"), request, setRequest)}${typed(t("filter"), wanted, setWanted)}
      <button type="button" aria-pressed=${String(paused)} onClick=${() => setPaused(!paused)}>${t("pause")}</button>
      <button type="button" onClick=${() => download(isServer ? "paceline.log" : "routing.jsonl", shown.join("\n"), "text/plain")}>${t("save")}</button></div>
    <div class="loglines" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${t("page.log")} data-source=${source}>${shown.map((line) => html`<div class=${isServer ? levelOf(line) : ""}>${line}</div>`)}</div></div>`;
}
