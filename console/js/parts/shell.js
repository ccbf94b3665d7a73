// What stands around every page: pages, the model and its state, and a strip with what the server does now.
import { html, useEffect, useState, useRef } from "../base/view.js";
import { bytes, number, t } from "../base/words.js";
import { address, go, kPages, page } from "../state/place.js";
import { chosenModel, logIn, logOut, meanDepth, model, models, modelState, needsKey, offline, outputRate, sample, session } from "../state/server.js";
import { Dialog, SignButton, Choice } from "./controls.js";
import { icon } from "./icon.js";

function ModelState() {
  if (offline.value) return html`<span class="state bad" role="status">${t("state.offline")}</span>`;
  const state = modelState(model.value);
  const status = model.value?.status;
  if (state === "loaded") return html`<span class="state good" role="status">${t("state.serving")}</span>`;
  if (state === "failed") return html`<span class="state bad" role="status">${t("model.failed")}: ${status.error}</span>`;
  if (state === "loading") return html`<span class="state warn" role="status">${t("state.loading", { percent: Math.round(100 * (status.progress ?? 0)) })}</span>`;
  return html`<span class="state warn" role="status">${t("model.unloaded")}</span>`;
}

const Pages = () => html`<nav class="pages" aria-label=${t("pages")}><ul>${kPages.map((name) => html`<li>
  <a href=${address(name)} aria-current=${page.value === name ? "page" : undefined} title=${t(`page.${name}`)}>${icon(name)}<span>${t(`page.${name}`)}</span></a></li>`)}</ul></nav>`;

function Strip() {
  const now = sample.value;
  if (!now) return html`<footer class="strip">${session.value?.manages === false && t("needs_admin")}</footer>`;
  return html`<footer class="strip">
    <span><b>${number(outputRate.value ?? 0, 1)}</b> ${t("tokens_s")}</span>
    <span>${t("running")} <b>${number(now.running)}</b></span><span>${t("waiting")} <b>${number(now.waiting)}</b></span>
    <span>KV <b>${bytes(now.kv_used)}</b></span><span>${t("depth")} <b>${number(meanDepth.value, 1)}</b></span></footer>`;
}

const kShortcuts = [["Alt N", "new_chat"], ["Alt F", "search_chats"], ["Esc", "stop"], ["Alt 1 … 8", "pages"], ["?", "shortcuts"]];

function useShortcuts(show) {
  useEffect(() => {
    const hear = (event) => {
      const isWriting = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
      if (event.key === "?" && !isWriting) show(true);
      if (!event.altKey || event.ctrlKey || event.metaKey) return;
      const at = Number(event.code.match(/^Digit([1-8])$/)?.[1]);
      if (at) go(kPages[at - 1]);
      if (event.code === "KeyN") go("chat");
      if (event.code === "KeyF") {
        go("chat");
        setTimeout(() => /** @type {HTMLElement} */ (document.querySelector(".chats input"))?.focus(), 50);
      }
      if (at || event.code === "KeyN" || event.code === "KeyF") event.preventDefault();
    };
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
}

function LogIn() {
  const [key, setKey] = useState("");
  const [problem, setProblem] = useState("");
  const submit = async (event) => {
    event.preventDefault();
    try {
      await logIn(key);
    } catch (error) {
      setProblem(error.status === 401 ? t("key.wrong") : error.message);
    }
    setKey("");
  };
  return html`<form class="page" onSubmit=${submit}><div class="card"><h1>${t("key.title")}</h1><p>${t("key.why")}</p>
    <label class="field"><span>${t("key.name")}</span><input type="password" autocomplete="off" value=${key} onInput=${(event) => setKey(event.target.value)} /></label>
    ${problem && html`<p class="bad" role="alert">${problem}</p>`}<button class="main">${t("key.enter")}</button></div></form>`;
}

export function Shell({ children }) {
  const [help, showHelp] = useState(false);
  const main = useRef();
  useShortcuts(showHelp);
  return html`<div class="shell">
    <a class="skip" href="#main" onClick=${(event) => (event.preventDefault(), main.current.focus())}>${t("skip")}</a>
    <header class="top"><span class="brand"><img src=${new URL("../../icon.svg", import.meta.url).pathname} alt="" /><b>paceline</b></span>
      ${models.value.length > 1
        ? html`<${Choice} name=${html`<span class="unseen">${t("model")}</span>`} value=${model.value?.id} options=${models.value.map((one) => [one.id, one.id])} on=${(id) => (chosenModel.value = id)} />`
        : html`<span class="mono small">${model.value?.id ?? ""}</span>`}
      <${ModelState} /><span class="push"></span>
      ${session.value?.session && html`<${SignButton} sign="out" name=${t("key.leave")} onClick=${logOut} />`}
      <button class="bare" type="button" aria-label=${t("shortcuts")} title=${t("shortcuts")} onClick=${() => showHelp(true)}>?</button></header>
    <${Pages} />
    <main id="main" tabindex="-1" ref=${main}>${model.value && /^(spec|bench)/.test(page.value) && /^(un|fail)/.test(modelState(model.value)) && html`<p class="banner">${t("chat.no_model")} <a href=${address("models")}>${t("page.models")}</a></p>`}
      ${needsKey.value ? html`<${LogIn} />` : children}</main>
    <${Strip} />
    ${offline.value && html`<div class="banner gone" role="alert">${t("offline.long")}</div>`}
    ${help && html`<${Dialog} name=${t("shortcuts")} close=${() => showHelp(false)}><table><caption class="unseen">${t("shortcuts")}</caption>
      <tbody>${kShortcuts.map(([keys, key]) => html`<tr><th scope="row"><kbd>${keys}</kbd></th><td>${t(key)}</td></tr>`)}</tbody></table><//>`}
  </div>`;
}
