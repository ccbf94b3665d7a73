// How the server stands, while somebody looks: whether it is there, who we are to it, its models, its newest sample. Who
// may is told of it as it happens, others ask every second.
import { signal, computed, batch } from "../base/view.js";
import { ask, happenings } from "../api/http.js";

export const session = signal(null); // { keys, known, manages, session, version }
export const offline = signal(false);
export const models = signal([]);
export const chosenModel = signal("");
export const sample = signal(null); // by column
export const before = signal(null); // the one before it
export const fresh = signal(null); // { columns, rows }: what the last look brought
export const reach = { seconds: 3 }; // how far back a look goes, at most
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
  const { budget, used } = list.memory ?? {};
  models.value = list.data.map((one) => ({ ...one, budget, free: budget ? Math.max(budget - used, 0) : null }));
}

async function lookAtSample() {
  if (!session.value.manages) return;
  const found = await ask(`/v1/history?seconds=${reach.seconds}&since=${sample.value?.time ?? 0}`);
  if (found.rows.length === 0) return;
  batch(() => {
    before.value = found.rows.length > 1 ? named(found.columns, found.rows.at(-2)) : sample.value;
    sample.value = named(found.columns, found.rows.at(-1));
    fresh.value = found;
  });
}

function takeSample(next) {
  if (!(next.time > sample.value?.time)) return;
  batch(() => {
    before.value = sample.value;
    sample.value = next;
    fresh.value = { columns: Object.keys(next), rows: [Object.values(next)] };
  });
}

// How far one is that loads; whoever comes or goes changes more than that.
function takeModel({ id, status }) {
  if (modelState(models.value.find((one) => one.id === id)) !== status.value) return lookAtModels();
  if (status.value === "loading") models.value = models.value.map((one) => (one.id === id ? { ...one, status } : one));
}

let hearing = new AbortController();
async function hear() {
  hearing = new AbortController();
  try {
    for await (const [name, text] of happenings("sample,model", hearing.signal)) {
      if (name === "sample") takeSample(JSON.parse(text));
      else await takeModel(JSON.parse(text));
    }
  } catch {
    // The next look says why.
  }
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
  const isHidden = () => document.visibilityState !== "visible";
  addEventListener("visibilitychange", () => isHidden() && hearing.abort());
  const again = async () => {
    if (!isHidden()) await look();
    if (!isHidden() && !offline.value && session.value?.manages && session.value.known) await hear();
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
  hearing.abort();
  await ask("/console/session", { method: "DELETE" });
  models.value = [];
  props.value = sample.value = null;
  await lookAtSession();
}
