// The console in a real browser, against the real server: one group of checks after the other.
import { after, before, describe } from "node:test";
import { launch } from "./browser.js";
import { startServer } from "./server.js";
import { pages, shell } from "./pages.js";
import { chat } from "./chat.js";
import { speculation } from "./speculation.js";
import { monitor } from "./monitor.js";
import { benchmark } from "./benchmark.js";
import { models } from "./models.js";
import { settings } from "./settings.js";
import { keys } from "./keys.js";
import { languages } from "./languages.js";
import { types } from "./types.js";

const world = {};
before(async () => {
  [world.browser, world.server] = await Promise.all([launch(), startServer()]);
});
after(async () => {
  await world.browser?.close();
  await world.server?.stop();
});

// CONSOLE_ONLY names some of the groups: ctest runs them in parts.
const only = process.env.CONSOLE_ONLY;
for (const [name, group] of Object.entries({ light: pages("light"), dark: pages("dark"), shell, chat, speculation, monitor, benchmark, models, settings, keys, languages, types })) {
  if (!only || only.split(",").includes(name)) describe(name, () => group(world));
}
