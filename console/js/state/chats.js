// Conversations: trees of messages, of which one branch is shown. Kept in the browser.
import { signal, computed } from "../base/view.js";
import { dropChat, loadChats, saveChat } from "../api/store.js";
import { within } from "./place.js";

export const chats = signal([]);
export const changes = signal(0); // counted up when anything in a conversation has changed
export const growing = signal(0); // likewise, when nothing has but the answer that is on its way
export const newId = () => crypto.randomUUID();

export const kDefaults = { system: "", thinking: false, sampling: {}, tools: [], schema: "", budget: 280, speculation: "auto", depth: 4, lockedSeed: null };
export const chat = computed(() => chats.value.find((one) => one.id === within.value) ?? null);

// What comes from a file may be anything.
function checked(one) {
  if (typeof one !== "object" || typeof one?.id !== "string" || !Array.isArray(one.nodes)) return null;
  const nodes = one.nodes.filter((node) => node && typeof node.id === "string" && typeof node.content === "string" && /^(user|assistant)$/.test(node.role));
  return { pinned: false, created: Date.now(), leaf: "", ...one, title: String(one.title ?? ""), settings: { ...kDefaults, ...one.settings }, nodes };
}

let loaded;
export function loadAllChats() {
  loaded ??= loadChats().then(
    // Beside those that were begun meanwhile.
    (found) => (chats.value = [...chats.value, ...found.map(checked).filter((one) => one && !chats.value.some((had) => had.id === one.id)).sort((a, b) => b.created - a.created)]),
    () => {},
  );
  return loaded;
}

export function newChat(settings = {}) {
  const made = { id: newId(), title: "", pinned: false, created: Date.now(), settings: { ...kDefaults, ...settings }, nodes: [], leaf: "" };
  chats.value = [made, ...chats.value];
  return made;
}

const waiting = new Map();
// Soon: a stream changes it many times in a second.
export function keep(one, grows) {
  ++(grows ? growing : changes).value;
  if (waiting.has(one.id)) return;
  waiting.set(one.id, setTimeout(() => {
    waiting.delete(one.id);
    if (chats.value.includes(one)) saveChat(one).catch(() => {});
  }, 300));
}

export function forget(one) {
  chats.value = chats.value.filter((other) => other !== one);
  return dropChat(one.id);
}

export const siblings = (one, node) => one.nodes.filter((other) => other.parent === node.parent && other.role === node.role);

export function branch(one) {
  const made = [], byId = new Map(one.nodes.map((node) => [node.id, node]));
  for (let node = byId.get(one.leaf); node; node = byId.get(node.parent)) made.push(node);
  return made.reverse();
}

export function addNode(one, fields) {
  const node = { id: newId(), parent: one.leaf, content: "", time: Date.now(), ...fields };
  one.nodes.push(node);
  one.leaf = node.id;
  keep(one);
  return node;
}

// The newest end below a message.
export function showBranch(one, node) {
  let leaf = node;
  for (;;) {
    const next = one.nodes.filter((other) => other.parent === leaf.id).at(-1);
    if (!next) break;
    leaf = next;
  }
  one.leaf = leaf.id;
  keep(one);
}

// With all that follows it.
export function dropNode(one, node) {
  const gone = new Set([node.id]);
  for (const other of one.nodes) if (gone.has(other.parent)) gone.add(other.id);
  one.nodes = one.nodes.filter((other) => !gone.has(other.id));
  const other = siblings(one, node).at(-1);
  if (other) showBranch(one, other);
  else one.leaf = node.parent;
  keep(one);
}

export function importChats(text) {
  const read = JSON.parse(text);
  const found = (Array.isArray(read) ? read : [read]).map(checked).filter(Boolean).map((one) => ({ ...one, id: newId() }));
  chats.value = [...found, ...chats.value];
  found.forEach(keep);
  return found.length;
}
