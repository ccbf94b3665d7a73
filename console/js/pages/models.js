// Models: what is loaded, what could be, and what each takes.
import { html, useEffect, useState } from "../base/view.js";
import { bytes, number, percent, t } from "../base/words.js";
import { ask } from "../api/http.js";
import { lookAtModels, models, modelState, sample, session } from "../state/server.js";
import { Bar, Colour, Copy, Pairs } from "../parts/controls.js";

const kParts = [["weights", "c2"], ["drafter", "c4"], ["kv_used", "c1"], ["kv_reserved", "c5"], ["scratch", "c6"]];

const partName = (name) => (name.startsWith("kv_") ? `KV ${t(`kv.${name.slice(3)}`)}` : name === "drafter" ? t(name) : t(`memory.${name}`));

function Memory({ one }) {
  const memory = one.memory ?? { kv_used: sample.value?.kv_used, kv_reserved: sample.value?.kv_reserved };
  const parts = kParts.map(([name, colour]) => ({ name, colour, value: memory[name] ?? 0 })).filter((part) => part.value > 0);
  // What is used is part of what is reserved.
  const bars = parts.map((part) => (part.name === "kv_reserved" ? { ...part, value: Math.max(part.value - (memory.kv_used ?? 0), 0) } : part));
  const whole = Math.max(bars.reduce((sum, part) => sum + part.value, 0), one.budget || one.engine?.kv_bytes || 0);
  const says = parts.map((part) => `${partName(part.name)} ${bytes(part.value)}`).join(", ");
  return html`<${Bar} parts=${bars} whole=${whole} name=${`${t("memory")}: ${says}`} /><p class="small">${parts.map((part) => html`<${Colour} colour=${part.colour}>${partName(part.name)} ${bytes(part.value)}<//>`)}</p>`;
}

// The server's words, in the reader's language.
const modalityName = (name) => ({ text: t("text"), image: t("picture"), video: t("modality.video") })[name] ?? name;
const stageName = (name) => ({ weights: t("memory.weights"), drafter: t("drafter"), waiting: t("waiting"), "warm-up": t("stage.warm_up") })[name] ?? name;
const drafterState = (name) => ({ loaded: t("model.loaded"), "not loaded": t("model.unloaded"), none: t("drafter.none"), dropped: t("drafter.dropped"), refused: t("drafter.refused") })[name] ?? name;
const drafterText = ({ name, kind = "", state, reason }) => `${name || "–"} ${kind} ${state ? `(${[drafterState(state), reason].filter(Boolean).join(": ")})` : ""}`;

// Those that would go for it: nobody uses them, and they were used longest ago.
function goingFor(needed, free) {
  const idle = models.value.filter((other) => modelState(other) === "loaded" && !other.pinned && !other.running).sort((a, b) => a.last_used - b.last_used);
  const names = [];
  for (const other of idle) {
    if (free >= needed) break;
    free += other.memory?.needed_to_load ?? 0;
    names.push(other.id);
  }
  return names;
}

// What stands before the click, not after it.
function LoadNote({ one }) {
  const needed = one.memory?.needed_to_load, { free } = one;
  if (!needed) return null;
  const names = free == null ? [] : goingFor(needed, free);
  return html`<p class="small soft">${t("models.needs", { needed: bytes(needed), free: free == null ? "?" : bytes(free) })} ${names.length > 0 && html`<b class="warn">${t("models.unloads", { names: names.join(", ") })}</b>`}</p>`;
}

function Template({ id }) {
  const [text, setText] = useState("");
  const open = (event) => event.target.open && ask(`/props?model=${encodeURIComponent(id)}`).then((found) => setText(found.chat_template ?? "–"), () => {});
  return html`<details onToggle=${open}><summary>${t("template")}</summary><pre tabindex="0">${text}</pre></details>`;
}

function Model({ one }) {
  const [problem, setProblem] = useState("");
  const state = modelState(one), may = session.value?.manages;
  const act = async (verb, body = {}) => {
    setProblem("");
    try {
      await ask(`/v1/models/${one.id}/${verb}`, { method: "POST", body: { wait: false, ...body } });
    } catch (error) {
      setProblem(error.message);
    }
    await lookAtModels().catch(() => {});
  };
  // Of one drafter, or of several by their names.
  const { target, drafter } = one.sha256 ?? {}, drafters = typeof drafter === "string" ? { [t("drafter")]: drafter } : drafter;
  const digest = (name, of) => [`SHA-256 ${name}`, of && html`<span class="mono small">${of}</span> <${Copy} bare text=${of} />`];
  return html`<article class="card" data-model=${one.id} aria-label=${one.id}><div class="row"><h2 class="mono">${one.id}</h2><span class=${`state ${state === "loaded" ? "good" : state === "failed" ? "bad" : "warn"}`}>${t(`model.${state}`)}</span><span class="push"></span>
    ${one.status && may && (state === "loaded" ? html`<button type="button" onClick=${() => act("unload")}>${t("unload")}</button><button type="button" aria-pressed=${String(Boolean(one.pinned))} onClick=${() => act("load", { pin: !one.pinned })}>${t("pin")}</button>`
      : html`<button class="main" type="button" disabled=${/ing$/.test(state)} onClick=${() => act("load")}>${t("load")}</button>`)}</div>
    ${state === "loading" && html`<progress max="1" value=${one.status.progress ?? 0} aria-label=${t("model.loading")}></progress><p class="small">${stageName(one.status.stage)} ${percent(one.status.progress)}</p>`}
    ${state === "failed" && html`<p class="bad">${one.status.error}</p>`}${problem && html`<p class="bad" role="alert">${problem}</p>`}
    ${state === "loaded" ? html`<${Memory} one=${one} />` : html`<${LoadNote} one=${one} />`}
    <${Pairs} of=${[
      [t("context"), number(one.context_length)], [t("modalities"), (one.input_modalities ?? ["text", ...(one.images ? ["image"] : []), ...(one.videos ? ["video"] : [])]).map(modalityName).join(", ")],
      [t("drafter"), one.drafter && drafterText(one.drafter)], [t("depth"), one.drafter?.depth === "adaptive" ? t("spec.auto") : String(one.drafter?.depth ?? "")],
      [t("acceptance"), one.drafter?.drafted ? percent(one.drafter.accepted / one.drafter.drafted) : null],
      [t("parameters"), one.parameters ? number(one.parameters) : null], [t("quantisation"), one.quantisation], [t("kernels"), one.engine?.kernels],
      [t("running"), one.running], [t("waiting"), one.waiting],
      [t("idle"), one.status && may && state === "loaded" ? html`<input type="number" min="0" aria-label=${t("idle")} value=${one.idle_seconds} onChange=${(event) => act("load", { idle_seconds: Number(event.target.value) })} />` : one.idle_seconds],
      digest("", target), ...Object.entries(drafters ?? {}).map((one) => digest(...one)),
    ]} />${state === "loaded" && html`<${Template} id=${one.id} />`}</article>`;
}

export default function ModelsPage() {
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === "visible" && lookAtModels().catch(() => {}), 2000);
    return () => clearInterval(timer);
  }, []);
  return html`<div class="page"><h1>${t("page.models")}</h1>${models.value.length === 0 && html`<p>${t("models.none")}</p>`}
    ${models.value.map((one) => html`<${Model} key=${one.id} one=${one} />`)}</div>`;
}
