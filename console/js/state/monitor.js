// The server's past, as it keeps it, and what happens now: columns of samples for charts, and requests.
import { signal } from "../base/view.js";
import { ask } from "../api/http.js";

export const kRanges = { 60: "1 min", 600: "10 min", 3600: "1 h", 86400: "24 h" };
export const range = signal("60");
export const columns = signal(null); // by name: arrays of numbers
export const requests = signal({ running: [], recent: [] });
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
  const seconds = Number(range.value), isCoarse = seconds > 3600;
  const since = columns.value?.time.at(-1) ?? 0;
  const found = await ask(`/v1/history?seconds=${seconds}&since=${isCoarse ? 0 : since}`);
  if (String(seconds) !== range.value) return;
  columns.value = joinSamples(isCoarse ? null : columns.value, found.columns, found.rows, seconds);
}

export async function lookAtRequests() {
  requests.value = await ask("/v1/requests");
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
