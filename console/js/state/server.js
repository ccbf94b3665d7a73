// How the server stands, asked every second while somebody looks: whether it is there, who we are to it, its models, its
// newest sample.
import { signal, computed } from "../base/view.js";
import { ask } from "../api/http.js";

export const session = signal(null); // { keys, known, manages, session, version }
export const offline = signal(false);
export const models = signal([]);
export const chosenModel = signal("");
export const sample = signal(null); // by column
export const before = signal(null); // the one before it
export const props = signal(null);

export const model = computed(() => models.value.find((one) => one.id === chosenModel.value) ?? models.value[0] ?? null);
export const needsKey = computed(() => session.value !== null && !session.value.known);

// unloaded, loading, loaded, unloading, failed
export const modelState = (one) => one?.status?.value ?? (one ? "loaded" : "unloaded");

export const named = (columns, row) => Object.fromEntries(columns.map((name, i) => [name, row[i]]));
const rate = (column) => {
  const now = sample.value, then = before.value;
  if (!now || !then || now.time <= then.time) return null;
  return (now[column] - then[column]) / (now.time - then.time);
};
export const outputRate = computed(() => rate("output"));
export const meanDepth = computed(() => {
  const drafted = rate("drafted"), rounds = rate("rounds");
  return rounds > 0 ? drafted / rounds : 0;
});

export async function lookAtModels() {
  const list = await ask("/v1/models");
  const free = list.memory?.budget ? Math.max(list.memory.budget - list.memory.used, 0) : null;
  models.value = list.data.map((one) => ({ ...one, free }));
}

async function lookAtSample() {
  if (!session.value.manages) return;
  const found = await ask(`/v1/history?seconds=3&since=${sample.value?.time ?? 0}`);
  if (found.rows.length === 0) return;
  if (found.rows.length > 1) before.value = named(found.columns, found.rows.at(-2));
  else before.value = sample.value;
  sample.value = named(found.columns, found.rows.at(-1));
}

async function lookAtSession() {
  session.value = await ask("/console/session");
}

let looks = 0;
export async function look() {
  try {
    if (offline.value || session.value === null) await lookAtSession();
    if (session.value.known) {
      const isBusy = models.value.some((one) => /ing$/.test(modelState(one)));
      if (looks++ % (isBusy ? 1 : 5) === 0 || offline.value) await lookAtModels();
      if (props.value === null || offline.value) props.value = await ask("/props");
      await lookAtSample();
    }
    offline.value = false;
  } catch (error) {
    if (error.status === 401 || error.status === 403) await lookAtSession().catch(() => {});
    else offline.value = true;
  }
}

export function startLooking() {
  const again = async () => {
    if (document.visibilityState === "visible") await look();
    setTimeout(again, 1000);
  };
  return again();
}

export async function logIn(key) {
  await ask("/console/session", { method: "POST", body: { key } });
  await lookAtSession();
  looks = 0;
  await look();
}
export async function logOut() {
  await ask("/console/session", { method: "DELETE" });
  models.value = [];
  props.value = sample.value = null;
  await lookAtSession();
}
