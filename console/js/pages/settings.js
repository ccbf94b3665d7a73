// The page's own choices, and all settings of the server with where they come from.
import { html, useEffect, useState } from "../base/view.js";
import { kLanguages, t } from "../base/words.js";
import { ask } from "../api/http.js";
import { chooseLanguage, chosenLanguage, density, motion, theme } from "../state/choices.js";
import { session } from "../state/server.js";
import { Choice, download } from "../parts/controls.js";
import { Table } from "../parts/table.js";

const words = (group, names) => names.map((one) => [one, one === "system" ? t("as_system") : t(`${group}.${one}`)]);

const Own = () => html`<section class="card"><h2>${t("own")}</h2><div class="row">
  <${Choice} name=${t("language")} value=${chosenLanguage.value} options=${[["", t("as_browser")], ...Object.entries(kLanguages)]} on=${chooseLanguage} />
  <${Choice} name=${t("theme")} value=${theme.value} options=${words("theme", ["system", "light", "dark"])} on=${(value) => (theme.value = value)} />
  <${Choice} name=${t("density")} value=${density.value} options=${words("density", ["normal", "dense"])} on=${(value) => (density.value = value)} />
  <${Choice} name=${t("motion")} value=${motion.value} options=${words("motion", ["system", "full", "none"])} on=${(value) => (motion.value = value)} /></div></section>`;

// What differs from the defaults, as the configuration file would have it.
function fileText(settings) {
  const lines = settings.filter((one) => one.from !== "default" && !/^(config|open)$/.test(one.name));
  return lines.map((one) => `${one.name} = ${/^(true|false|-?\d+(\.\d+)?)$/.test(one.value) ? one.value : JSON.stringify(one.value)}\n`).join("");
}

export default function SettingsPage() {
  const [settings, setSettings] = useState([]);
  const [problem, setProblem] = useState("");
  const may = session.value?.manages;
  useEffect(() => {
    if (may) ask("/v1/settings").then((found) => setSettings(found.settings), (error) => setProblem(error.message));
  }, [may]);
  const change = (name, value) => ask("/v1/settings", { method: "POST", body: { [name]: value } }).then((found) => setSettings(found.settings), (error) => setProblem(error.message));
  const groups = [...new Set(settings.map((one) => one.group))];
  const columns = [
    { name: t("setting"), of: (row) => row.name, show: (row) => html`<code>--${row.name}</code>` },
    { name: t("value"), of: (row) => row.value, show: (row) => (row.name === "log-level" ? html`<${Choice} name=${html`<span class="unseen">log-level</span>`} value=${row.value} options=${["error", "info", "debug"].map((one) => [one, one])} on=${(value) => change("log-level", value)} />` : html`<code>${row.value || "–"}</code>`) },
    { name: t("from"), of: (row) => row.from, show: (row) => t(`from.${row.from}`) },
    { name: t("changes"), of: (row) => String(row.now), show: (row) => (row.now ? t("changes.now") : t("changes.start")) },
    { name: t("meaning"), show: (row) => html`<span class="small">${row.help}</span>` },
  ];
  return html`<div class="page"><h1>${t("page.settings")}</h1><${Own} />${problem && html`<p class="bad" role="alert">${problem}</p>`}
    ${!may && html`<p>${t("needs_admin")}</p>`}
    ${settings.length > 0 && html`<section class="card"><h2>${t("file")}</h2><pre tabindex="0">${fileText(settings) || "–"}</pre><div class="row"><button type="button" onClick=${() => download("paceline.toml", fileText(settings), "text/plain")}>${t("save")}</button></div></section>`}
    ${groups.map((group) => html`<section class="card"><h2>${group}</h2><${Table} caption=${group} columns=${columns} rows=${settings.filter((one) => one.group === group).map((one) => ({ ...one, id: one.name }))} /></section>`)}</div>`;
}
