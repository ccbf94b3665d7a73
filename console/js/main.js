// The console: the shell, and the page that the address names, fetched when it is first asked for.
import { html, render, signal, effect } from "./base/view.js";
import { t, language } from "./base/words.js";
import { startChoices } from "./state/choices.js";
import { page } from "./state/place.js";
import { startLooking } from "./state/server.js";
import { Shell } from "./parts/shell.js";

const shown = signal({ name: "", Page: () => null });

effect(() => {
  const name = page.value;
  import(`./pages/${name}.js`).then((module) => {
    if (page.value === name) shown.value = { name, Page: module.default };
  });
});

const App = () => {
  const { name, Page } = shown.value;
  document.title = name ? `${t(`page.${name}`)} · paceline` : "paceline";
  return html`<${Shell} key=${language.value}><${Page} key=${name} /><//>`;
};

await startChoices();
render(html`<${App} />`, document.body);
startLooking();
