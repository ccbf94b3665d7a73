// The server's log, as it is written.
import { html, useEffect, useRef, useState } from "../base/view.js";
import { t } from "../base/words.js";
import { ask } from "../api/http.js";
import { session } from "../state/server.js";
import { Choice, download } from "../parts/controls.js";

const kMostLines = 2000;
const levelOf = (line) => line.split(" ", 2)[1];

export default function LogPage() {
  const [lines, setLines] = useState([]);
  const [paused, setPaused] = useState(false);
  const [level, setLevel] = useState("all");
  const [wanted, setWanted] = useState("");
  const next = useRef(0), box = useRef();
  const may = session.value?.manages;
  useEffect(() => {
    if (!may || paused) return;
    const step = async () => {
      const found = await ask(`/v1/log?since=${next.current}`).catch(() => null);
      if (!found || found.next === next.current) return;
      next.current = found.next;
      setLines((had) => [...had, ...found.lines].slice(-kMostLines));
    };
    step();
    const timer = setInterval(step, 1000);
    return () => clearInterval(timer);
  }, [may, paused]);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (!may) return html`<div class="page"><h1>${t("page.log")}</h1><p>${t("needs_admin")}</p></div>`;
  const shown = lines.filter((line) => (level === "all" || levelOf(line) === level) && line.toLowerCase().includes(wanted.toLowerCase()));
  return html`<div class="page"><h1>${t("page.log")}</h1><p class="soft small">${t("log.never")}</p>
    <div class="row"><${Choice} name=${t("level")} value=${level} options=${["all", "error", "info", "debug"].map((one) => [one, one === "all" ? t("all") : one])} on=${setLevel} />
      <label class="field"><span>${t("filter")}</span><input type="search" value=${wanted} onInput=${(event) => setWanted(event.target.value)} /></label>
      <button type="button" aria-pressed=${String(paused)} onClick=${() => setPaused(!paused)}>${t("pause")}</button>
      <button type="button" onClick=${() => download("paceline.log", shown.join("\n"), "text/plain")}>${t("save")}</button></div>
    <div class="loglines" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${t("page.log")}>${shown.map((line) => html`<div class=${levelOf(line)}>${line}</div>`)}</div></div>`;
}
