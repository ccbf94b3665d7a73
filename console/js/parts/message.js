// One message of a conversation, with what can be done with it and what it took.
import { html, useState } from "../base/view.js";
import { counted, number, percent, seconds, t } from "../base/words.js";
import { branch, changes, dropNode, growing, keep, showBranch, siblings } from "../state/chats.js";
import { bodyOf, curlOf } from "../state/ask_chat.js";
import { answerCalls, editAndSend, goOn, regenerate, rewrite, running } from "../state/stream.js";
import { address } from "../state/place.js";
import { Clip } from "./clip.js";
import { Copy, SignButton } from "./controls.js";
import { Markdown } from "./markdown.js";
import { Spans } from "./spans.js";

// Messages are no signals: whoever shows one listens to the count of changes.
const Walk = ({ chat, node }) => {
  changes.value;
  const all = siblings(chat, node), at = all.indexOf(node);
  if (all.length < 2) return null;
  const to = (other) => () => other && showBranch(chat, other);
  return html`<span class="row"><${SignButton} sign="left" name=${t("branch.before")} disabled=${at === 0} onClick=${to(all[at - 1])} />
    <span>${at + 1}/${all.length}</span><${SignButton} sign="right" name=${t("branch.next")} disabled=${at === all.length - 1} onClick=${to(all[at + 1])} /></span>`;
};

const Editor = ({ text, name, done, close }) => {
  const [draft, setDraft] = useState(text);
  return html`<textarea aria-label=${t("edit")} value=${draft} onInput=${(event) => setDraft(event.target.value)}></textarea>
    <div class="row"><button class="main" type="button" onClick=${() => (close(), done(draft))}>${name}</button><button type="button" onClick=${close}>${t("cancel")}</button></div>`;
};

function UserMessage({ chat, node, model }) {
  const [edits, setEdits] = useState(false);
  return html`<article class="message user" aria-label=${t("you")}>
    ${node.images?.length > 0 && html`<div class="row thumbs">${node.images.map((one) => (one.kind === "video" ? html`<${Clip} ...${one} controls />` : html`<img src=${one.url} alt=${one.name || t("picture")} />`))}</div>`}
    ${edits ? html`<${Editor} text=${node.content} name=${t("send")} done=${(text) => editAndSend(chat, node, text, model)} close=${() => setEdits(false)} />` : html`<div class="body">${node.content}</div>`}
    <div class="tools"><${Walk} chat=${chat} node=${node} /><span class="push"></span><${SignButton} sign="edit" name=${t("edit")} onClick=${() => setEdits(true)} />
      <${Copy} bare text=${node.content} /><${SignButton} sign="trash" name=${t("delete")} onClick=${() => dropNode(chat, node)} /></div></article>`;
}

const Thoughts = ({ node, isRunning }) => changes.value >= 0 && html`<details class="thoughts" open=${isRunning && !node.content}>
  <summary>${t("thoughts")} · ${seconds((node.thoughtMs ?? 0) / 1000)} · ${counted(node.usage?.completion_tokens_details?.reasoning_tokens, "tokens")}</summary>
  <${Markdown} text=${node.reasoning} /></details>`;

function Call({ chat, node, call, model }) {
  changes.value;
  const [text, setText] = useState("");
  const give = () => {
    call.result = text;
    answerCalls(chat, node, model);
  };
  return html`<section class="card" aria-label=${t("tools")}><h3 class="mono">${call.name}</h3><pre tabindex="0">${call.arguments}</pre>
    ${call.result !== undefined ? html`<p class="small soft">${t("call.result")}</p><pre tabindex="0">${call.result}</pre>`
      : html`<label class="field"><span>${t("call.result")}</span><textarea value=${text} onInput=${(event) => setText(event.target.value)}></textarea></label>
        <button type="button" onClick=${give}>${t("call.give")}</button>`}</section>`;
}

function Facts({ chat, node }) {
  changes.value;
  const { usage, timings } = node, spec = usage?.speculative;
  if (!usage) return null;
  return html`<p class="facts"><span>${node.model}</span><span>${counted(usage.completion_tokens, "tokens")}</span>
    <span>${t("first_token")} ${seconds((node.firstMs ?? 0) / 1000)}</span><span>${number(timings?.predicted_per_second, 1)} ${t("tokens_s")}</span>
    <span>${t("cached")} ${number(usage.prompt_tokens_details?.cached_tokens)}</span>
    ${spec && html`<span>${t("per_verify")} ${number(spec.tokens_per_verify, 2)}</span><span>${t("acceptance")} ${percent(spec.drafted ? spec.accepted / spec.drafted : 0)}</span>`}
    <span>${t("seed")} ${node.seed}</span><a href=${address("speculation", `${chat.id}.${node.id}`)}>${t("page.speculation")}</a></p>`;
}

// One that was stopped, or whose page went away, can go on, too.
const isCut = (node) => /^(length|stopped)$/.test(node.finish ?? "") || (!node.finish && !node.problem && node.content !== "" && !node.edited);

function AssistantMessage({ chat, node, model, colours }) {
  const isRunning = running.value.get(chat.id)?.node === node, grown = isRunning && growing.value;
  const [edits, setEdits] = useState(false);
  const rate = (value) => {
    node.rating = node.rating === value ? 0 : value;
    keep(chat);
  };
  return html`<article class="message assistant" aria-label=${t("model")} aria-busy=${isRunning ? "true" : undefined}>
    ${node.reasoning && html`<${Thoughts} node=${node} isRunning=${isRunning} grown=${grown} />`}
    ${edits ? html`<${Editor} text=${node.content} name=${t("save")} done=${(text) => rewrite(chat, node, text)} close=${() => setEdits(false)} />`
      : colours && node.rounds?.length ? html`<${Spans} rounds=${node.rounds} />` : html`<${Markdown} text=${node.content} />`}
    ${node.calls?.map((call) => html`<${Call} key=${call.id} chat=${chat} node=${node} call=${call} model=${model} grown=${grown} />`)}
    ${node.problem && html`<p class="bad" role="alert">${node.problem}</p>`}
    ${!isRunning && isCut(node) && html`<p class="soft small">${t(node.finish === "stopped" ? "stopped" : "cut")} ${node.content && html`<button type="button" onClick=${() => goOn(chat, node, model)}>${t("go_on")}</button>`}</p>`}
    ${!isRunning && html`<${Facts} chat=${chat} node=${node} /><div class="tools"><${Walk} chat=${chat} node=${node} />
      <${SignButton} sign="again" name=${t("again.same")} onClick=${() => regenerate(chat, node, model, true)} />
      <${SignButton} sign="die" name=${t("again.new")} onClick=${() => regenerate(chat, node, model, false)} />
      <${SignButton} sign="edit" name=${t("edit")} onClick=${() => setEdits(true)} /><${Copy} bare text=${node.content} /><${Copy} text=${() => curlOf(bodyOf(chat, node, node.seed, model))} name="curl" />
      <${SignButton} sign="up" name=${t("rate.up")} aria-pressed=${String(node.rating === 1)} onClick=${() => rate(1)} />
      <${SignButton} sign="down" name=${t("rate.down")} aria-pressed=${String(node.rating === -1)} onClick=${() => rate(-1)} />
      <${SignButton} sign="trash" name=${t("delete")} onClick=${() => dropNode(chat, node)} /></div>`}</article>`;
}

export function Messages({ chat, model, colours }) {
  changes.value;
  return branch(chat).map((node) => (node.role === "user"
    ? html`<${UserMessage} key=${node.id} chat=${chat} node=${node} model=${model} />`
    : html`<${AssistantMessage} key=${node.id} chat=${chat} node=${node} model=${model} colours=${colours} count=${changes.value} />`));
}
