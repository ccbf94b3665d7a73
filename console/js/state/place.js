// Where the reader is: the part of the address behind #.
import { signal, computed } from "../base/view.js";

const readPlace = () => location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
const parts = signal(readPlace());
addEventListener("hashchange", () => (parts.value = readPlace()));

export const kPages = ["chat", "speculation", "monitor", "benchmark", "models", "connect", "settings", "log"];
export const page = computed(() => (kPages.includes(parts.value[0]) ? parts.value[0] : "chat"));
export const within = computed(() => parts.value[1] ?? "");

export const address = (name, inside) => `#/${name}${inside ? `/${encodeURIComponent(inside)}` : ""}`;
export const go = (name, inside) => (location.hash = address(name, inside));
