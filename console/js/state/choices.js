// What the reader has chosen about the page itself.
import { signal, effect } from "../base/view.js";
import { preferredLanguage, setLanguage } from "../base/words.js";
import { remember, remembered } from "../api/store.js";

const asked = new URLSearchParams(location.search);
export const theme = signal(asked.get("theme") ?? remembered("theme", "system"));
export const density = signal(remembered("density", "normal"));
export const motion = signal(remembered("motion", "system"));
export const chosenLanguage = signal(asked.get("lang") ?? remembered("language", ""));

export function startChoices() {
  const page = document.documentElement.dataset;
  effect(() => {
    remember("theme", (page.theme = theme.value));
  });
  effect(() => {
    remember("density", (page.density = density.value));
  });
  effect(() => {
    remember("motion", (page.motion = motion.value));
  });
  effect(() => {
    remember("language", chosenLanguage.value);
  });
  return setLanguage(chosenLanguage.value || preferredLanguage());
}

export function chooseLanguage(name) {
  chosenLanguage.value = name;
  return setLanguage(name || preferredLanguage());
}
