// Uses the page that fits in a browser, as a person does: node js/test/page.mjs MODULES PAGE DIR PROGRAM
//
// PAGE has the bundled body inside. MODULES is a folder with the npm packages playwright-core and gltf-validator. DIR has the body's files
// and takes what the page saves. Chromium opens PAGE from the disk and clicks; then PROGRAM runs the recipe that the page saved, and the
// models are compared. Exit 0: all is as it should be; 1: something is not, and is named.
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { end, expect, started } from "./chromium.mjs";
import { compareModels, same } from "./models.mjs";

const [modules, page, folder, program] = process.argv.slice(2);
if (!program) {
  console.error("usage: node js/test/page.mjs MODULES PAGE DIR PROGRAM");
  process.exit(2);
}

const { browser, validateBytes } = await started(modules);
const tab = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
const [said, asked] = [[], []];
tab.on("pageerror", (error) => said.push(String(error)));
tab.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
tab.on("request", (request) => { if (!/^(blob|data):/.test(request.url())) asked.push(request.url()); });

const start = Date.now();
const seconds = () => `${((Date.now() - start) / 1e3).toFixed(1)} s`;
const ready = () => tab.waitForFunction(() => document.body.dataset.state === "ready", null, { timeout: 600_000 });
const shows = (selector) => tab.locator(selector).innerText();
let clicks = 0;
const click = async (selector) => { clicks += 1; await tab.click(selector); };
const shot = (name) => tab.screenshot({ path: join(folder, `page-${name}.png`), fullPage: true });

await tab.goto(`file://${resolve(page)}`);
await ready();
console.log(`open after ${seconds()}`);

// What is no good is refused in words, and the page goes on.
const drop = async (...files) => {
  await tab.setInputFiles("#pick", files.map(([name, bytes]) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) })));
  await ready();
};
await drop(["words.glb", "these are words"]);
expect(`a file that is none is named: ${await shows("#error")}`, (await shows("#error")).includes("words.glb"));
await drop(["body.glb", readFileSync(join(folder, "body.glb"))]);
await tab.click("#fit");
await ready();
expect(`a rig alone is refused: ${await shows("#error")}`, (await shows("#error")).includes("no file is an example"));
await drop(["second.glb", readFileSync(join(folder, "body.glb"))], ["body_walk.npz", readFileSync(join(folder, "body_walk.npz"))]);
await tab.locator("#rows select").nth(1).selectOption("rig");
await tab.click("#fit");
await ready();
expect(`two rigs are refused: ${await shows("#error")}`, (await shows("#error")).includes("2 files are rigs"));
while (await tab.locator("#rows button").count()) {
  await tab.locator("#rows button").first().click();
  await ready();
}
expect("what is removed is gone", (await tab.locator("#rows tr").count()) === 0);

// From the page to a saved character.
await click("#body");
await ready();
const roles = await tab.locator("#rows select").evaluateAll((menus) => menus.map((menu) => menu.value));
expect(`the files' roles are understood: ${roles}`, `${roles}` === "rig,examples,held");
await shot("files");
await tab.click("#fit");
await tab.waitForFunction(() => document.getElementById("bar").value > 0.1, null, { timeout: 600_000 });
await shot("fit");
await tab.click("#stop");
await ready();
expect("a fit that is stopped says nothing and leaves no result", !(await tab.locator("#error").isVisible()) && !(await tab.locator("#result").isVisible()));
const before = Date.now();
await click("#fit");
await ready();
console.log(`fitted in ${((Date.now() - before) / 1e3).toFixed(1)} s: ${await shows("#verdict")}`);
expect(`the fit is judged: ${await shows("#verdict")} ${await tab.locator("#error").innerText()}`, (await shows("#verdict")).startsWith("Held out: 17 %"));
const report = tab.frameLocator("#report");
await report.locator("h1").waitFor({ timeout: 60_000 });
// Its scripts run after its text is there.
await report.locator("canvas").first().waitFor({ state: "attached", timeout: 60_000 });
expect("the report is drawn", (await report.locator("h1").innerText()).includes("body") && (await report.locator("canvas").count()) > 0);

async function saved(name) {
  const waits = tab.waitForEvent("download", { timeout: 0 });
  await click(`[id="save-${name}"]`);
  await ready();
  if (await tab.locator("#error").isVisible()) {
    expect(`${name} is saved: ${await shows("#error")}`, false);
    return new Uint8Array();
  }
  const bytes = readFileSync(await (await waits).path());
  writeFileSync(join(folder, `page_${name}`), bytes);
  return bytes;
}
const glb = await saved("model.glb");
console.log(`from the page to a saved GLB in ${clicks} clicks; ${seconds()} in all`);
expect(`no more than 4 clicks: ${clicks}`, clicks <= 4);
const { issues } = await validateBytes(new Uint8Array(glb), { ignoredIssues: ["UNUSED_OBJECT"] });
expect(`the GLB is valid: ${JSON.stringify(issues.messages.slice(0, 3))}`, issues.numErrors === 0);
const model = await saved("model.dermis");
for (const name of ["recipe.json", "report.html", "viewer.html"]) expect(`${name} is saved`, (await saved(name)).length > 100);
await shot("result");
await tab.setViewportSize({ width: 420, height: 900 });
const inside = tab.frames().at(-1);
await inside.waitForFunction(() => innerWidth < 420);
await shot("narrow");
const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
expect(`nothing is wider than a small screen: ${wide}`, wide <= 420);
const fits = (frame, selector) => frame.evaluate((selector) => { const { scrollWidth, clientWidth } = document.querySelector(selector); return [scrollWidth, clientWidth]; }, selector);
for (const [what, [all, seen]] of [["list of files", await fits(tab, "#files")], ["report", await fits(inside, "html")]]) {
  expect(`the ${what} is cut on a small screen: ${seen} of ${all} pixels`, all <= seen);
}

expect(`the page says nothing to the console: ${said}`, said.length === 0);
expect(`the page asks for nothing but itself: ${asked}`, asked.length === 1);
await browser.close();

// The program makes the same model of the recipe that was saved, on one thread and without vectors that the page has not.
mkdirSync(join(folder, "results"), { recursive: true });
const options = { cwd: folder, env: { ...process.env, DERMIS_SIMD: "scalar" }, encoding: "utf8" };
const ran = spawnSync(resolve(program), ["run", "page_recipe.json", "--threads", "1"], options);
expect(`the program runs the recipe: ${ran.stderr}`, ran.status === 0);
if (ran.status === 0) {
  const native = readFileSync(join(folder, "results/model.dermis"));
  if (same(model, native)) console.log(`the model of the page is the program's: ${model.length} bytes`);
  else compareModels("the model of the page", model, native, expect);
}
end("the page does what it should");
