// The server's past, as it keeps it, and what happens now: columns of samples for charts, and requests.
import { signal } from "../base/view.js";
import { ask } from "../api/http.js";
import { reach } from "./server.js";

export const kRanges = { 60: "1 min", 600: "10 min", 3600: "1 h", 86400: "24 h" };
export const range = signal("60");
export const columns = signal(null); // by name: arrays of numbers
export const requests = signal({ waiting: [], running: [], recent: [] });
export const earlier = signal({}); // by name: what servers before this one counted
const kMost = 4000; // samples of any range

// Joins what was there with what is new, and forgets what is older than the range.
export function joinSamples(had, names, rows, seconds) {
  const made = {};
  const newest = rows.at(-1)?.[0] ?? had?.time.at(-1) ?? 0;
  const old = had?.time ?? [];
  let from = Math.max(old.findIndex((at) => at >= newest - seconds), 0);
  if (old.length > 0 && old.at(-1) < newest - seconds) from = old.length;
  from = Math.max(from, old.length + rows.length - kMost);
  names.forEach((name, at) => (made[name] = [...(had?.[name] ?? []).slice(from), ...rows.map((row) => row[at])]));
  return made;
}

export async function lookAtHistory() {
  const wanted = range.value;
  reach.seconds = Math.min(wanted, 3600);
  const found = await ask(`/v1/history?seconds=${wanted}`);
  earlier.value = found.before ?? {};
  if (wanted === range.value) columns.value = joinSamples(null, found.columns, found.rows, Number(wanted));
}

// What is new about the server goes to what is here when it is worth a drawing: when it is a dot wide (a plot has some
// 600), and of a day when the server has it, every half a minute.
let late = [];
export function takeFresh({ columns: names, rows }) {
  const seconds = Number(range.value), last = columns.value?.time.at(-1);
  if (!last) return;
  // Times of the history are rounded: the newest of it may come again.
  late = [...late, ...rows].filter(([at]) => at > last + 0.5);
  if (!(late.at(-1)?.[0] - last >= Math.min(seconds / 600, 30))) return;
  if (seconds > 3600) lookAtHistory().catch(() => {});
  else columns.value = joinSamples(columns.value, names, late, seconds);
  late = [];
}

// Those that ended since the last look, one look at a time; those before it stay the objects that they are.
let nextEnded = 0, listAsked = null;
export const lookAtRequests = () => (listAsked ??= takeRequests().finally(() => (listAsked = null)));
async function takeRequests() {
  const found = await ask(`/v1/requests?since=${nextEnded}`);
  const isOther = found.next < nextEnded;
  nextEnded = isOther ? 0 : found.next;
  requests.value = { waiting: found.waiting, running: found.running, recent: isOther ? [] : [...found.recent, ...requests.value.recent].slice(0, 200) };
}

export function setRange(next) {
  range.value = next;
  columns.value = null;
  return lookAtHistory();
}

export const cancel = (id) => ask(`/v1/requests/${encodeURIComponent(id)}/cancel`, { method: "POST", body: {} });

// Differences of what only grows, over what else.
export const growth = (name, scale = 1) => {
  const { time } = columns.value, values = columns.value[name];
  return values.map((value, at) => (at === 0 ? null : ((value - values[at - 1]) / (time[at] - time[at - 1])) * scale));
};
export const ratio = (part, whole) => columns.value[part].map((value, at) => {
  if (at === 0) return null;
  const all = columns.value[whole][at] - columns.value[whole][at - 1];
  return all > 0 ? (value - columns.value[part][at - 1]) / all : null;
});
