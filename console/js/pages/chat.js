// Conversations: a list of them, one of them, and where the next message is written.
import { html, signal, useEffect, useRef, useState } from "../base/view.js";
import { counted, t } from "../base/words.js";
import { address, go, within } from "../state/place.js";
import { mediaTokens } from "../state/ask_chat.js";
import { changes, chat, chats, forget, growing, importChats, kDefaults, keep, loadAllChats, newChat } from "../state/chats.js";
import { model, modelState } from "../state/server.js";
import { running, send, stop } from "../state/stream.js";
import { Clip } from "../parts/clip.js";
import { Check, SignButton, download } from "../parts/controls.js";
import { Drawer } from "../parts/drawer.js";
import { icon } from "../parts/icon.js";
import { Messages } from "../parts/message.js";

const colours = signal(false);
const settingsOfNext = signal({});

function List() {
  const [wanted, setWanted] = useState("");
  changes.value;
  const found = chats.value.filter((one) => !wanted || one.title.toLowerCase().includes(wanted.toLowerCase()) || one.nodes.some((node) => node.content.toLowerCase().includes(wanted.toLowerCase())));
  const sorted = [...found].sort((a, b) => Number(b.pinned) - Number(a.pinned));
  const rename = (one) => {
    const title = prompt(t("rename"), one.title);
    if (title) one.title = title;
    keep(one);
  };
  const read = async (event) => {
    for (const file of event.target.files) importChats(await file.text());
    event.target.value = "";
  };
  const [open, setOpen] = useState(innerWidth > 819);
  return html`<details class="chats" open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>${t("chats")}</summary>
    <div class="row"><a class="button" href=${address("chat")}>${icon("plus")} ${t("new_chat")}</a></div>
    <input type="search" aria-label=${t("search_chats")} placeholder=${t("search_chats")} value=${wanted} onInput=${(event) => setWanted(event.target.value)} />
    <ul>${sorted.map((one) => html`<li key=${one.id}><a href=${address("chat", one.id)} aria-current=${one === chat.value ? "true" : undefined}>${one.pinned ? "★ " : ""}${one.title || "…"}</a></li>`)}</ul>
    ${chat.value && html`<div class="row"><${SignButton} sign="edit" name=${t("rename")} onClick=${() => rename(chat.value)} />
      <${SignButton} sign="pin" name=${t("pin")} aria-pressed=${String(chat.value.pinned)} onClick=${() => ((chat.value.pinned = !chat.value.pinned), keep(chat.value))} />
      <${SignButton} sign="save" name=${t("export")} onClick=${() => download("chat.json", JSON.stringify(chat.value, null, 1))} />
      <${SignButton} sign="trash" name=${t("delete")} onClick=${() => (forget(chat.value), go("chat"))} /></div>`}
    <label class="field"><span>${t("import")}</span><input type="file" accept=".json,application/json" onChange=${read} /></label></details>`;
}

const asUrl = (file) => new Promise((resolve) => {
  const reader = new FileReader();
  reader.onload = () => resolve(reader.result);
  reader.readAsDataURL(file);
});

// What the server has against a file, by its code; in its own words where that is not known here.
const refusalOf = ({ code, message }) => {
  const key = `refused.${code === "body_too_large" ? "media_too_large" : code}`, text = t(key);
  return text === key ? message : text;
};

// Why the model does not take it, as far as can be told before it is read.
function refusedAs(kind, { id, images, videos }) {
  if (!/^(image|video)$/.test(kind)) return t("refused.media_unknown_format");
  if (!id || (kind === "video" ? videos : images)) return "";
  return t(kind === "video" ? "clip.no" : "picture.no");
}

const filled = new URLSearchParams(location.search).get("text") ?? "";

function Writer({ onSend }) {
  const [text, setText] = useState(filled);
  const [media, setMedia] = useState([]);
  const picker = useRef();
  const now = chat.value, isRunning = now && running.value.has(now.id);
  const seeing = model.value ?? {}, { id, images: sees, videos } = seeing;
  const [refused, setRefused] = useState([]);
  const refuse = ({ name }, why) => setRefused((had) => [...new Set([...had, `${name}: ${why}`])]);
  const budget = now?.settings.budget ?? settingsOfNext.value.budget ?? 280;
  const add = async (files) => {
    if (files.length > 0) setRefused([]);
    for (const file of [...files]) {
      const kind = file.type.split("/")[0], why = refusedAs(kind, seeing);
      if (why) refuse(file, why);
      else {
        const one = { name: file.name, kind, url: await asUrl(file) };
        setMedia((had) => [...had, one]);
      }
    }
  };
  // As the server counts them; one that it would not take goes, and why is said.
  const [costs, setCosts] = useState(new Map()), countedFor = useRef(new WeakMap()).current;
  useEffect(() => {
    const tell = (one, says) => setCosts((had) => new Map(had).set(one, says)), terms = `${id} ${budget}`;
    for (const one of media.filter((other) => countedFor.get(other) !== terms)) {
      countedFor.set(one, terms);
      mediaTokens(one, budget, id).then((count) => tell(one, counted(count, "tokens")), (error) => {
        if (![400, 413].includes(error.status)) return tell(one, error.message);
        setMedia((had) => had.filter((other) => other !== one));
        refuse(one, refusalOf(error));
      });
    }
  }, [media, budget, id]);
  const submit = (event) => {
    event?.preventDefault();
    if (isRunning || (!text.trim() && media.length === 0)) return;
    onSend(text, media);
    setText("");
    setMedia([]);
    setRefused([]);
  };
  const press = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  useEffect(() => {
    const hear = (event) => event.key === "Escape" && chat.value && !event.target.closest?.("dialog, .drawer") && stop(chat.value);
    addEventListener("keydown", hear);
    return () => removeEventListener("keydown", hear);
  }, []);
  return html`<form class="writer" onSubmit=${submit} onDragOver=${(event) => event.preventDefault()} onDrop=${(event) => (event.preventDefault(), add(event.dataTransfer.files))}>
    ${media.length > 0 && html`<div class="pictures">${media.map((one) => html`<figure>${one.kind === "image" ? html`<img src=${one.url} alt=${one.name} />` : html`<${Clip} ...${one} />`}
      <figcaption>${costs.get(one) ?? "…"} <button type="button" class="bare" onClick=${() => setMedia(media.filter((other) => other !== one))} aria-label=${t("delete")}>×</button></figcaption></figure>`)}</div>`}
    ${refused.length > 0 && html`<p class="bad" role="alert">${refused.join(" · ")}</p>`}
    <textarea aria-label=${t("message")} placeholder=${t("message")} rows="2" value=${text} onInput=${(event) => setText(event.target.value)} onKeyDown=${press} onPaste=${(event) => add(event.clipboardData.files)}></textarea>
    <div class="row"><input ref=${picker} type="file" class="unseen" multiple accept=${videos ? "image/*,video/*" : "image/*"} tabindex="-1" aria-hidden="true" onChange=${(event) => (add(event.target.files), (event.target.value = ""))} />
      <${SignButton} sign="picture" name=${sees ? t("picture.add") : t("picture.no")} disabled=${!sees} onClick=${() => picker.current.click()} />
      <${Check} name=${t("colours")} value=${colours.value} on=${(on) => (colours.value = on)} /><span class="push"></span>
      ${isRunning ? html`<button type="button" onClick=${() => stop(now)}>${icon("stop")} ${t("stop")}</button>` : html`<button class="main">${icon("send")} ${t("send")}</button>`}</div></form>`;
}

// Whole sentences of what is written now, for those who listen.
function Announced() {
  growing.value;
  const node = chat.value && running.value.get(chat.value.id)?.node;
  const said = node?.content.slice(0, node.content.search(/[.!?。！？][^.!?。！？]*$/) + 1) ?? "";
  return html`<p class="unseen" aria-live="polite">${said.split(/(?<=[.!?。！？])\s*/).at(-1)}</p>`;
}

export default function ChatPage() {
  const [drawer, setDrawer] = useState(false);
  const box = useRef();
  const now = chat.value;
  const settings = now ? now.settings : { ...kDefaults, ...settingsOfNext.value };
  changes.value + growing.value;
  useEffect(() => void loadAllChats(), []);
  useEffect(() => {
    const element = box.current;
    if (element && element.scrollHeight - element.scrollTop - element.clientHeight < 400) element.scrollTop = element.scrollHeight;
  });
  const set = (next) => {
    if (!now) return (settingsOfNext.value = next);
    now.settings = next;
    keep(now);
  };
  const onSend = (text, media) => {
    const target = now ?? newChat(settings);
    if (!now) go("chat", target.id);
    send(target, text, media, model.value?.id);
  };
  const isLoaded = modelState(model.value) === "loaded";
  return html`<div class="chat"><${List} />
    <section class="talk" aria-label=${t("page.chat")}><header><h1 class="unseen">${t("page.chat")}</h1><b>${now?.title ?? t("new_chat")}</b><span class="push"></span>
      <${Check} name=${t("thinking")} value=${settings.thinking} on=${(thinking) => set({ ...settings, thinking })} />
      <button type="button" aria-expanded=${String(drawer)} onClick=${() => setDrawer(!drawer)}>${icon("sliders")} ${t("sampling")}</button></header>
      <div class="messages" ref=${box} tabindex="0" role="log" aria-live="off" aria-label=${t("message")}>
        ${now ? html`<${Messages} chat=${now} model=${model.value?.id} colours=${colours.value} />` : html`<div class="empty"><p>${isLoaded ? t("chat.empty") : t("chat.no_model")}</p>
          ${!isLoaded && html`<a href=${address("models")}>${t("page.models")}</a>`}</div>`}</div>
      <${Announced} /><${Writer} key=${within.value} onSend=${onSend} /></section>
    ${drawer && html`<${Drawer} settings=${settings} set=${set} close=${() => setDrawer(false)} />`}</div>`;
}
