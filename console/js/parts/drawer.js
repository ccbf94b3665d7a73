// How the model is to write: sampling, form, tools, speculation; with presets. What differs from the model's own is marked.
import { html, useState } from "../base/view.js";
import { t } from "../base/words.js";
import { remember, remembered } from "../api/store.js";
import { props } from "../state/server.js";
import { kDefaults } from "../state/chats.js";
import { kTools } from "../state/tools.js";
import { newSeed } from "../state/stream.js";
import { Check, Choice, Field, SignButton } from "./controls.js";

const kSampling = [["temperature", 0, 2, 0.05], ["top_p", 0, 1, 0.01], ["top_k", 0, 1000, 1], ["min_p", 0, 1, 0.01], ["presence_penalty", -2, 2, 0.1],
  ["frequency_penalty", -2, 2, 0.1], ["repetition_penalty", 0.1, 2, 0.05], ["max_tokens", 1, 100000, 1]];

function Presets({ settings, set }) {
  const [presets, setPresets] = useState(remembered("presets", {}));
  const [name, setName] = useState("");
  const put = (next) => {
    setPresets(next);
    remember("presets", next);
    setName("");
  };
  const save = () => put({ ...presets, [name]: settings });
  const drop = () => put(Object.fromEntries(Object.entries(presets).filter(([one]) => one !== name)));
  return html`<div class="row"><${Choice} name=${t("preset")} value="" options=${[["", "–"], ...Object.keys(presets).map((one) => [one, one])]} on=${(one) => presets[one] && (setName(one), set({ ...kDefaults, ...presets[one] }))} />
    <${Field} name=${t("preset.name")}><input value=${name} onInput=${(event) => setName(event.target.value)} /><//><button type="button" disabled=${!name} onClick=${save}>${t("save")}</button>${name in presets && html`<${SignButton} sign="trash" name=${t("delete")} onClick=${drop} />`}</div>`;
}

function Tools({ settings, set }) {
  const [made, setMade] = useState(null);
  const all = [...kTools.map((tool) => settings.tools.find((one) => one.name === tool.name) ?? { ...tool, on: false }), ...settings.tools.filter((one) => !kTools.some((tool) => tool.name === one.name))];
  const put = (tool) => set({ ...settings, tools: all.map((one) => (one.name === tool.name ? tool : one)) });
  const add = () => {
    set({ ...settings, tools: [...all.filter((one) => one.name !== made.name), { ...made, on: true }] });
    setMade(null);
  };
  const input = (key, area) => html`<${Field} name=${t(`tool.${key}`)}>${area
    ? html`<textarea class="mono" rows="4" value=${made[key]} onInput=${(event) => setMade({ ...made, [key]: event.target.value })}></textarea>`
    : html`<input value=${made[key]} onInput=${(event) => setMade({ ...made, [key]: event.target.value })} />`}<//>`;
  return html`<fieldset class="card"><legend>${t("tools")}</legend>${all.map((tool) => html`<${Check} name=${tool.name} title=${tool.description} value=${tool.on} on=${(on) => put({ ...tool, on })} />`)}
    ${made ? html`${input("name")}${input("description")}${input("schema", true)}<button type="button" disabled=${!made.name} onClick=${add}>${t("save")}</button>`
      : html`<button type="button" onClick=${() => setMade({ name: "", description: "", schema: '{"type":"object","properties":{}}' })}>${t("tool.add")}</button>`}</fieldset>`;
}

export function Drawer({ settings, set, close }) {
  const defaults = props.value?.default_generation_settings?.params ?? {};
  const byDefault = (name) => (name === "max_tokens" ? defaults.n_predict : (defaults[name] ?? (name === "repetition_penalty" ? 1 : 0)));
  const sample = (name, value) => {
    const sampling = { ...settings.sampling, [name]: value };
    if (value === undefined) delete sampling[name];
    set({ ...settings, sampling });
  };
  const number = ([name, low, high, step]) => html`<div class="row"><${Field} name=${/^(top|min)_/.test(name) ? name : t(`sampling.${name}`)} changed=${settings.sampling[name] != null}>
    <input type="number" min=${low} max=${high} step=${step} value=${settings.sampling[name] ?? ""} placeholder=${Number(Number(byDefault(name)).toFixed(3))} onChange=${(event) => sample(name, event.target.value === "" ? undefined : Number(event.target.value))} /><//>
    ${settings.sampling[name] != null && html`<${SignButton} sign="close" name=${t("reset")} onClick=${() => sample(name, undefined)} />`}</div>`;
  return html`<aside class="drawer" aria-label=${t("sampling")} onKeyDown=${(event) => event.key === "Escape" && close()}>
    <div class="row"><h2>${t("sampling")}</h2><span class="push"></span><button type="button" onClick=${() => set({ ...kDefaults })}>${t("reset")}</button><${SignButton} sign="close" name=${t("close")} onClick=${close} /></div>
    <${Field} name=${t("system")} changed=${settings.system !== ""}><textarea rows="3" value=${settings.system} onInput=${(event) => set({ ...settings, system: event.target.value })}></textarea><//>
    <${Check} name=${t("thinking")} value=${settings.thinking} on=${(thinking) => set({ ...settings, thinking })} />
    <div class="two">${kSampling.map(number)}</div>
    <div class="row"><${Field} name=${t("seed")} changed=${settings.lockedSeed !== null}><input type="number" min="0" value=${settings.lockedSeed ?? ""} onChange=${(event) => set({ ...settings, lockedSeed: event.target.value === "" ? null : Number(event.target.value) })} /><//>
      <${SignButton} sign="die" name=${t("seed.roll")} onClick=${() => set({ ...settings, lockedSeed: newSeed() })} />
      <${SignButton} sign="lock" name=${t("seed.lock")} aria-pressed=${String(settings.lockedSeed !== null)} onClick=${() => set({ ...settings, lockedSeed: settings.lockedSeed === null ? newSeed() : null })} /></div>
    <${Field} name=${t("stop_at")} changed=${Boolean(settings.sampling.stop)}><input value=${settings.sampling.stop ?? ""} onChange=${(event) => sample("stop", event.target.value || undefined)} /><//>
    <${Choice} name=${t("page.speculation")} changed=${settings.speculation !== "auto"} value=${settings.speculation} options=${["auto", "off", "fixed"].map((one) => [one, t(`spec.${one}`)])} on=${(speculation) => set({ ...settings, speculation })} />
    ${settings.speculation === "fixed" && html`<${Field} name=${t("depth")}><input type="number" min="0" max="15" value=${settings.depth} onChange=${(event) => set({ ...settings, depth: Number(event.target.value) })} /><//>`}
    <${Choice} name=${t("budget")} changed=${settings.budget !== 280} value=${String(settings.budget)} options=${[70, 140, 280, 560, 1120].map((one) => [String(one), String(one)])} on=${(budget) => set({ ...settings, budget: Number(budget) })} />
    <${Field} name=${t("schema")} changed=${settings.schema !== ""}><textarea class="mono" rows="4" value=${settings.schema} onInput=${(event) => set({ ...settings, schema: event.target.value })}></textarea><//>
    <${Tools} settings=${settings} set=${set} /><${Presets} settings=${settings} set=${set} /></aside>`;
}
