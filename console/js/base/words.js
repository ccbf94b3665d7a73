// Texts in the reader's language: one JSON file each, beside this folder. Numbers, dates and sizes as the language has
// them. Two more are made of English, to try what others will do: longer texts, and from right to left.
import { signal, batch } from "./view.js";

export const kLanguages = {
  en: "English", de: "Deutsch", es: "Español", fr: "Français", ja: "日本語", ko: "한국어", "pt-BR": "Português (Brasil)",
  ru: "Русский", zh: "简体中文", "zh-TW": "繁體中文", cs: "Čeština", pl: "Polski", uk: "Українська",
};
const kPseudo = ["en-XA", "ar-XB"];
export const language = signal("en");
const texts = signal({});

export function t(key, values) {
  const text = texts.value[key] ?? key;
  return values ? text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole) : text;
}

function pseudo(source, name) {
  const made = {};
  for (const [key, text] of Object.entries(source)) {
    const longer = text + " " + "~".repeat(Math.ceil(text.length * 0.4));
    made[key] = name === "en-XA" ? longer : "‮" + text + "‬";
  }
  return made;
}

const read = async (name) => (await fetch(new URL(`../../lang/${name}.json`, import.meta.url))).json();
// As they are packed, all but English are in one file: each language's texts in the order of English's keys.
async function readOther(name, english) {
  if (import.meta.url.includes("/console/dev/")) return read(name);
  const own = (await read("others"))[name].split("~");
  return Object.fromEntries(Object.keys(english).map((key, at) => [key, own[at] || english[key]]));
}

export async function setLanguage(name) {
  const isPseudo = kPseudo.includes(name);
  if (!isPseudo && !(name in kLanguages)) name = "en";
  const english = await read("en");
  const own = isPseudo ? pseudo(english, name) : name === "en" ? english : await readOther(name, english);
  batch(() => {
    texts.value = { ...english, ...own };
    language.value = name;
  });
  document.documentElement.lang = isPseudo ? "en" : name;
  document.documentElement.dir = name === "ar-XB" ? "rtl" : "ltr";
}

// What the browser asks for, as far as it is here.
export function preferredLanguage() {
  for (const wanted of navigator.languages ?? []) {
    if (wanted in kLanguages) return wanted;
    if (/^zh-(TW|HK|MO|Hant)/i.test(wanted)) return "zh-TW";
    const first = wanted.split("-")[0];
    if (first === "pt") return "pt-BR";
    if (first in kLanguages) return first;
  }
  return "en";
}

const locale = () => (kPseudo.includes(language.value) ? "en" : language.value);
const made = new Map();
function format(kind, options) {
  const key = locale() + JSON.stringify(options);
  if (!made.has(key)) made.set(key, new kind(locale(), options));
  return made.get(key);
}

export const number = (value, digits = 0) =>
  value == null || !Number.isFinite(value) ? "–" : format(Intl.NumberFormat, { maximumFractionDigits: digits, minimumFractionDigits: digits }).format(value);
// So many of them, in the form that the language has for so many.
export function counted(count, key) {
  const forms = t(key).split("|"), rules = format(Intl.PluralRules, { type: "cardinal" });
  return `${number(count)} ${forms[rules.resolvedOptions().pluralCategories.indexOf(rules.select(count))] ?? forms.at(-1)}`;
}
export const percent = (value, digits = 0) =>
  value == null || !Number.isFinite(value) ? "–" : format(Intl.NumberFormat, { style: "percent", maximumFractionDigits: digits }).format(value);
export const time = (ms, second = "2-digit") => format(Intl.DateTimeFormat, { hour: "2-digit", minute: "2-digit", second }).format(ms);
export const dateTime = (ms) => format(Intl.DateTimeFormat, { dateStyle: "medium", timeStyle: "short" }).format(ms);

export function seconds(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  return value < 1 ? `${number(value * 1000, value < 0.01 ? 2 : 0)} ms` : `${number(value, 2)} s`;
}

export function bytes(value) {
  if (value == null || !Number.isFinite(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  while (value >= 1000 && at < units.length - 1) {
    value /= 1000;
    ++at;
  }
  return `${number(value, at > 1 ? 1 : 0)} ${units[at]}`;
}
