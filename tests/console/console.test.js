// The console in a real browser, against the real server: one group of checks after the other.
import { after, describe } from "node:test";
import { launch } from "./browser.js";
import { startServer } from "./server.js";
import { pages, shell } from "./pages.js";
import { chat } from "./chat.js";
import { content, pictures } from "./content.js";
import { colours } from "./colours.js";
import { speculation } from "./speculation.js";
import { monitor } from "./monitor.js";
import { log } from "./log.js";
import { benchmark, runs } from "./benchmark.js";
import { models } from "./models.js";
import { settings } from "./settings.js";
import { keys } from "./keys.js";
import { languages } from "./languages.js";
import { types } from "./types.js";

// Whoever cannot start is told of at once, and nobody waits for what it would do.
const [browser, server] = await Promise.all([launch(), startServer()]);
const world = { browser, server };
after(async () => {
  await browser.close();
  await server.stop();
});

// CONSOLE_ONLY names some of the groups: ctest runs them in parts.
const only = process.env.CONSOLE_ONLY;
const groups = { light: pages("light"), dark: pages("dark"), shell, chat, content, pictures, colours, speculation, monitor, log, benchmark, runs, models, settings, keys, languages, types };
for (const [name, group] of Object.entries(groups)) {
  if (!only || only.split(",").includes(name)) describe(name, () => group(world));
}
