// The console's scripts as TypeScript reads them: members that are there, names that are known, arguments that fit.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { here } from "./server.js";

const kFlags = ["--noEmit", "--allowJs", "--checkJs", "--strict", "false", "--target", "esnext", "--module", "esnext", "--moduleResolution", "bundler", "--lib", "esnext,dom,dom.iterable,dom.asynciterable", "--pretty", "false"];

// Its complaints, one a line.
const complaints = (folder, files) => new Promise((resolve, reject) => {
  execFile(process.execPath, [path.join(here, "node_modules/typescript/bin/tsc"), ...kFlags, ...files], { cwd: folder }, (error, out, told) => {
    if (told || (error && out === "")) reject(new Error(told || error.message));
    else resolve(out.split("\n").filter((line) => /^\S.*: error TS\d+/.test(line)));
  });
});

export function types(world) {
  const folder = path.join(here, "../../console");

  test("no complaint about what is ours", async () => {
    const files = fs.readdirSync(path.join(folder, "js"), { recursive: true }).filter((one) => one.endsWith(".js")).map((one) => `js/${one}`);
    const found = await complaints(folder, files);
    assert.deepEqual(found.filter((line) => !line.startsWith("vendor/")), []);
  });

  // Names are shortened when it is packed: one that was meant to be the browser's would be nobody's.
  test("no unknown name in what is served", async () => {
    const name = (await (await world.server.get("/")).text()).match(/\/console\/[0-9a-f]{12}\/js\/main\.js/)[0];
    const place = fs.mkdtempSync(path.join(os.tmpdir(), "console-types-"));
    fs.writeFileSync(path.join(place, "main.js"), await (await world.server.get(name)).text());
    const look = async () => (await complaints(place, ["main.js"])).filter((line) => /TS(2304|2552|2451|2588|18004|1\d{3}):/.test(line) && !/TS1345/.test(line));
    assert.deepEqual(await look(), []);
    fs.appendFileSync(path.join(place, "main.js"), "nobody();\n");
    assert.equal((await look()).length, 1, "one is found where there is one");
    fs.rmSync(place, { recursive: true });
  });
}
