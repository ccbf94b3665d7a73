// Small things that pages are made of.
import { html, useEffect, useRef, useState } from "../base/view.js";
import { t } from "../base/words.js";
import { icon } from "./icon.js";

// A button that is a sign, with its name for those who do not see it.
export const SignButton = ({ sign, name, ...rest }) =>
  html`<button class="bare" type="button" aria-label=${name} title=${name} ...${rest}>${icon(sign)}</button>`;

export const Field = ({ name, changed, children }) =>
  html`<label class=${changed ? "field changed" : "field"}><span>${name}</span>${children}</label>`;

export const Choice = ({ name, value, options, on, changed }) => html`<${Field} name=${name} changed=${changed}>
  <select value=${value} onChange=${(event) => on(event.target.value)}>
    ${options.map(([id, text]) => html`<option value=${id} selected=${id === value}>${text}</option>`)}
  </select><//>`;

export const Check = ({ name, value, on, disabled, title }) => html`<label class="check" title=${title}>
  <input type="checkbox" checked=${value} disabled=${disabled} onChange=${(event) => on(event.target.checked)} /><span>${name}</span></label>`;

// Tabs of one row: buttons of which one is pressed.
export const Tabs = ({ name, value, options, on }) => html`<div class="tabs" role="group" aria-label=${name}>
  ${options.map(([id, text]) => html`<button type="button" aria-pressed=${String(id === value)} onClick=${() => on(id)}>${text}</button>`)}
</div>`;

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

export function Copy({ text, name = t("copy"), bare }) {
  const [done, setDone] = useState(false);
  const click = async () => {
    setDone(await copyText(typeof text === "function" ? text() : text));
    setTimeout(() => setDone(false), 1500);
  };
  return html`<button type="button" class=${bare ? "bare" : ""} onClick=${click} title=${name} aria-label=${bare ? name : undefined}>
    ${icon("copy")}${bare ? null : html`<span>${done ? t("copied") : name}</span>`}</button>`;
}

export const Colour = ({ colour, children }) =>
  html`<span class="key"><i style=${{ background: `var(--${colour})` }}></i>${children}</span>`;

// parts: [{ value, colour, name }] of whole.
export const Bar = ({ parts, whole, name }) => html`<div class="bar" role="img" aria-label=${name}>
  ${parts.map((part) => html`<i style=${{ inlineSize: `${whole > 0 ? (100 * part.value) / whole : 0}%`, background: `var(--${part.colour})` }}></i>`)}
</div>`;

export function Dialog({ name, close, children }) {
  const box = useRef();
  useEffect(() => {
    box.current.showModal();
  }, []);
  return html`<dialog ref=${box} aria-label=${name} onClose=${close}>
    <div class="row"><h2>${name}</h2><${SignButton} sign="close" name=${t("close")} onClick=${close} /></div>
    ${children}</dialog>`;
}

// A file for the reader to keep.
export function download(name, text, type = "application/json") {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export const Pairs = ({ of }) =>
  html`<dl class="pairs">${of.filter(([, value]) => value != null && value !== "").map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
