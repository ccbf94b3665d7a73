// Markdown as nodes: taken apart by marked's lexer, never as HTML. What a model writes as HTML is shown as text, links say
// where they lead, and pictures from elsewhere are not fetched.
import { html, useRef } from "../base/view.js";
import { t } from "../base/words.js";
import { Lexer } from "../../vendor/marked.js";
import { Copy } from "./controls.js";

const isSafe = (href) => /^(https?:|mailto:)/i.test(href);
const plain = (text) => text.replace(/&(amp|lt|gt|quot|#39);/g, (_, name) => ({ amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'" })[name]);

function link(token) {
  const text = inline(token.tokens);
  if (!isSafe(token.href)) return html`<span title=${token.href}>${text} <span class="mono small">(${token.href})</span></span>`;
  const says = token.text === token.href ? null : html` <span class="mono small soft">(${token.href})</span>`;
  return html`<a href=${token.href} target="_blank" rel="noopener noreferrer">${text}</a>${says}`;
}

const kInline = {
  strong: (token) => html`<strong>${inline(token.tokens)}</strong>`,
  em: (token) => html`<em>${inline(token.tokens)}</em>`,
  del: (token) => html`<del>${inline(token.tokens)}</del>`,
  codespan: (token) => html`<code>${token.text}</code>`,
  br: () => html`<br />`,
  link,
  image: (token) => html`<span class="soft">[${t("picture")}: ${token.text} <span class="mono small">${token.href}</span>]</span>`,
  html: (token) => token.raw,
  escape: (token) => plain(token.text),
  text: (token) => (token.tokens ? inline(token.tokens) : plain(token.text)),
};
function inline(tokens = []) {
  return tokens.map((token) => (kInline[token.type] ?? ((one) => one.raw))(token));
}

const list = (token) => {
  const items = token.items.map((item) => html`<li>${item.task ? (item.checked ? "☑ " : "☐ ") : null}${item.tokens.map((one) => (one.type === "text" ? inline(one.tokens ?? [one]) : block(one)))}</li>`);
  return token.ordered ? html`<ol start=${token.start}>${items}</ol>` : html`<ul>${items}</ul>`;
};
const table = (token) => html`<div class="scroll" tabindex="0" role="region" aria-label=${t("as_table")}><table>
  <thead><tr>${token.header.map((cell) => html`<th scope="col">${inline(cell.tokens)}</th>`)}</tr></thead>
  <tbody>${token.rows.map((row) => html`<tr>${row.map((cell) => html`<td>${inline(cell.tokens)}</td>`)}</tr>`)}</tbody></table></div>`;

const kBlock = {
  paragraph: (token) => html`<p>${inline(token.tokens)}</p>`,
  text: (token) => html`<p>${inline(token.tokens ?? [token])}</p>`,
  heading: (token) => html`<p><strong>${inline(token.tokens)}</strong></p>`,
  code: (token) => html`<div class="code"><pre class="wide" tabindex="0">${token.text}</pre><${Copy} bare text=${token.text} name=${t("copy")} /></div>`,
  blockquote: (token) => html`<blockquote>${token.tokens.map(block)}</blockquote>`,
  hr: () => html`<hr />`,
  html: (token) => html`<pre>${token.raw}</pre>`,
  space: () => null,
  def: (token) => html`<p>${token.raw}</p>`,
  list,
  table,
};

// The same token is the same node: what has not changed is not looked at again.
const known = new WeakMap();
function block(token) {
  let made = known.get(token);
  if (!made) known.set(token, (made = (kBlock[token.type] ?? ((one) => html`<p>${one.raw}</p>`))(token)));
  return made;
}

// What has been read of a growing text: blocks that stand, and the rest, which is read again with each piece.
class Reading {
  blocks = [];
  standing = 0;
  end = [];

  read(text) {
    if (!text.startsWith(this.seen ?? "")) Object.assign(this, { blocks: [], standing: 0 });
    this.seen = text;
    const tokens = new Lexer({ gfm: true }).lex(text.slice(this.standing));
    const solid = tokens.filter((token) => token.type !== "space");
    const keptFrom = solid.length > 2 ? tokens.indexOf(solid.at(-2)) : 0;
    for (const token of tokens.slice(0, keptFrom)) this.standing += token.raw.length;
    this.blocks.push(...tokens.slice(0, keptFrom));
    this.end = tokens.slice(keptFrom);
    return [...this.blocks, ...this.end];
  }
}

export function Markdown({ text }) {
  const reading = useRef(null);
  reading.current ??= new Reading();
  return html`<div class="text">${reading.current.read(text).map(block)}</div>`;
}
