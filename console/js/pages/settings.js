// The page's own choices, and all settings of the server with where they come from.
import { html, useEffect, useState } from "../base/view.js";
import { kLanguages, t } from "../base/words.js";
import { ask } from "../api/http.js";
import { chooseLanguage, chosenLanguage, density, motion, theme } from "../state/choices.js";
import { session } from "../state/server.js";
import { Choice, Field, download } from "../parts/controls.js";
import { Table } from "../parts/table.js";

const words = (group, names) => names.map((one) => [one, one === "system" ? t("as_system") : t(`${group}.${one}`)]);

const Own = () => html`<section class="card"><h2>${t("own")}</h2><div class="row">
  <${Choice} name=${t("language")} value=${chosenLanguage.value} options=${[["", t("as_browser")], ...Object.entries(kLanguages)]} on=${chooseLanguage} />
  <${Choice} name=${t("theme")} value=${theme.value} options=${words("theme", ["system", "light", "dark"])} on=${(value) => (theme.value = value)} />
  <${Choice} name=${t("density")} value=${density.value} options=${words("density", ["normal", "dense"])} on=${(value) => (density.value = value)} />
  <${Choice} name=${t("motion")} value=${motion.value} options=${words("motion", ["system", "full", "none"])} on=${(value) => (motion.value = value)} /></div></section>`;

const kChoices = { "log-level": ["error", "info", "debug"], "speculation-report": ["none", "summary", "detailed"], "default-thinking": ["model", "true", "false"] };

// One that can change while the server runs.
function LiveSetting({ row, change }) {
  const label = html`<span class="unseen">${row.name}</span>`, otherwise = row.name === "depth" ? "auto" : "";
  if (kChoices[row.name]) return html`<${Choice} name=${label} value=${row.value} options=${kChoices[row.name].map((one) => [one, one])} on=${(value) => change(row.name, value)} />`;
  return html`<${Field} name=${label}><input size="9" value=${row.value} placeholder=${otherwise} onChange=${(event) => change(row.name, event.target.value || otherwise)} /><//>`;
}

// What differs from the defaults, as the configuration file would have it.
function fileText(settings) {
  const lines = settings.filter((one) => one.from !== "default" && !/^(config|open)$/.test(one.name));
  return lines.map((one) => `${one.name} = ${/^(true|false|-?\d+(\.\d+)?)$/.test(one.value) ? one.value : JSON.stringify(one.value)}\n`).join("");
}

// Lines that would go, and lines that would come.
function Difference({ file }) {
  const now = file.now.split("\n"), then = file.then.split("\n");
  return html`<pre tabindex="0" data-difference>${now.filter((line) => !then.includes(line)).map((line) => html`<div class="bad">- ${line}</div>`)}${then.filter((line) => !now.includes(line)).map((line) => html`<div class="good">+ ${line}</div>`)}</pre>`;
}

function SettingsFile({ settings, file, write }) {
  const text = fileText(settings);
  return html`<section class="card"><h2>${t("file")}</h2>${file ? html`${file.now === file.then ? html`<p class="soft">${t("file.same")}</p>` : html`<${Difference} file=${file} />`}
      <div class="row"><button type="button" disabled=${file.now === file.then} onClick=${write}>${t("file.write", { file: file.path })}</button></div>`
    : html`<pre tabindex="0">${text || "–"}</pre><div class="row"><button type="button" onClick=${() => download("paceline.toml", text, "text/plain")}>${t("save")}</button></div>`}</section>`;
}

export default function SettingsPage() {
  const [{ settings, file }, setFound] = useState({ settings: [] });
  const [problem, setProblem] = useState("");
  const may = session.value?.manages;
  const call = (path, options) => ask(path, options).then((found) => (setProblem(""), setFound(found)), (error) => setProblem(error.message));
  useEffect(() => {
    if (may) call("/v1/settings");
  }, [may]);
  const change = (name, value) => call("/v1/settings", { method: "POST", body: { [name]: value } });
  const groups = [...new Set(settings.map((one) => one.group))];
  const columns = [
    { name: t("setting"), of: (row) => row.name, show: (row) => html`<code>--${row.name}</code>` },
    { name: t("value"), of: (row) => row.value, show: (row) => (row.now ? html`<${LiveSetting} row=${row} change=${change} />` : html`<code>${row.value || "–"}</code>`) },
    { name: t("from"), of: (row) => row.from, show: (row) => t(`from.${row.from}`) },
    { name: t("changes"), of: (row) => String(row.now), show: (row) => (row.now ? t("changes.now") : t("changes.start")) },
    { name: t("meaning"), show: (row) => html`<span class="small">${row.help}</span>` },
  ];
  return html`<div class="page"><h1>${t("page.settings")}</h1><${Own} />${problem && html`<p class="bad" role="alert">${problem}</p>`}
    ${!may && html`<p>${t("needs_admin")}</p>`}
    ${settings.length > 0 && html`<${SettingsFile} settings=${settings} file=${file} write=${() => call("/v1/settings?write=1", { method: "POST", body: {} })} />`}
    ${groups.map((group) => html`<section class="card"><h2>${group}</h2><${Table} caption=${group} columns=${columns} rows=${settings.filter((one) => one.group === group).map((one) => ({ ...one, id: one.name }))} /></section>`)}</div>`;
}
