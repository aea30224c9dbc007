// Uses the page of `dermis studio` as a person does: node js/test/studio.mjs MODULES DIR PROGRAM
//
// MODULES is a folder with the npm packages playwright-core and gltf-validator. DIR has the files of the bundled body, and takes what the page
// saves. PROGRAM serves the page with those files; Chromium opens it and clicks. Exit 0: all is as it should be; 1: something is not, and is
// named.
import { spawn } from "node:child_process";
import { readFileSync, readdirSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { end, expect, started } from "./chromium.mjs";

const [modules, folder, program] = process.argv.slice(2);
if (!program) {
  console.error("usage: node js/test/studio.mjs MODULES DIR PROGRAM");
  process.exit(2);
}

const temporary = join(resolve(folder), "studio-temporary");
rmSync(temporary, { recursive: true, force: true });
mkdirSync(temporary, { recursive: true });

/** A studio with these files: its address, and its end with the exit code. */
async function studio(...files) {
  const child = spawn(resolve(program), ["studio", "--no-open", ...files], { cwd: folder, env: { ...process.env, TMPDIR: temporary }, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((done) => { child.on("exit", done); });
  const url = await new Promise((done, fail) => {
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
      const found = said.match(/http:\S+/);
      if (found) done(found[0]);
    });
    child.on("exit", () => fail(new Error(`the program ended: ${said}`)));
  });
  return { url, ended, child };
}

const { browser, validateBytes } = await started(modules);
const { url, ended, child } = await studio("body.glb", "body_exercise.npz", "body_walk.npz");
const { origin, port } = new URL(url);
const tab = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
const [said, asked] = [[], []];
tab.on("pageerror", (error) => said.push(String(error)));
tab.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
tab.on("request", (request) => { if (!/^(blob|data):/.test(request.url())) asked.push(request.url()); });

const start = Date.now();
const seconds = () => `${((Date.now() - start) / 1e3).toFixed(1)} s`;
const ready = (page = tab) => page.waitForFunction(() => document.body.dataset.state === "ready", null, { timeout: 600_000 });
const shows = (selector) => tab.locator(selector).innerText();
const drop = async (...files) => {
  await tab.setInputFiles("#pick", files.map(([name, bytes]) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(bytes) })));
  await ready();
};
const rows = () => tab.locator("#rows tr").evaluateAll((rows) => rows.map((row) => row.firstElementChild.textContent));

await tab.goto(url);
await ready();
console.log(`open after ${seconds()}`);
const roles = await tab.locator("#rows select").evaluateAll((menus) => menus.map((menu) => menu.value));
expect(`the files of the command line are there with their roles: ${roles}`, `${roles}` === "rig,examples,held");
expect("the page says who hears it", (await shows("#local")).includes("dermis studio"));

// What is dropped goes to the program as well; what is no good is refused in words, and the page goes on.
await drop(["words.glb", "these are words"]);
expect(`a file that is none is named: ${await shows("#error")}`, (await shows("#error")).includes("words.glb"));
await drop(["second.npz", readFileSync(join(folder, "body_walk.npz"))]);
expect(`what is dropped is understood: ${await rows()}`, (await rows()).includes("second.npz"));
await tab.locator("#rows tr", { hasText: "second.npz" }).locator("button").click();
await ready();
expect(`what is removed is gone: ${await rows()}`, (await rows()).length === 3);

// A second page is told that there is one.
const second = await browser.newPage();
await second.goto(url);
await second.locator("#error").waitFor({ timeout: 30_000 });
expect(`a second page is refused in words: ${await second.locator("#error").innerText()}`, (await second.locator("#error").innerText()).includes("Another page of this studio is open"));
await second.close();

// A page that is loaded again has the files again.
await tab.reload();
await ready();
expect(`a page that is loaded again has the files: ${await rows()}`, `${await rows()}` === "body.glb,body_exercise.npz,body_walk.npz");

await tab.click("#fit");
await tab.waitForFunction(() => document.getElementById("bar").value > 0.1, null, { timeout: 600_000 });
await tab.click("#stop");
await ready();
expect("a fit that is stopped says nothing and leaves no result", !(await tab.locator("#error").isVisible()) && !(await tab.locator("#result").isVisible()));
const before = Date.now();
await tab.click("#fit");
await ready();
console.log(`fitted in ${((Date.now() - before) / 1e3).toFixed(1)} s: ${await shows("#verdict")}`);
expect(`the fit is judged: ${await shows("#verdict")} ${await tab.locator("#error").innerText()}`, (await shows("#verdict")).startsWith("Held out: 17 %"));
expect(`the page says where it ran: ${await shows("#told")}`, /threads? of this machine/.test(await shows("#told")));
const report = tab.frameLocator("#report");
await report.locator("h1").waitFor({ timeout: 60_000 });
// Its scripts run after its text is there.
await report.locator("canvas").first().waitFor({ state: "attached", timeout: 60_000 });
expect("the report is drawn", (await report.locator("h1").innerText()).includes("body") && (await report.locator("canvas").count()) > 0);

async function saved(name) {
  const waits = tab.waitForEvent("download", { timeout: 0 });
  await tab.click(`[id="save-${name}"]`);
  await ready();
  if (await tab.locator("#error").isVisible()) {
    expect(`${name} is saved: ${await shows("#error")}`, false);
    return new Uint8Array();
  }
  const bytes = readFileSync(await (await waits).path());
  writeFileSync(join(folder, `studio_${name}`), bytes);
  return bytes;
}
const glb = await saved("model.glb");
const { issues } = await validateBytes(new Uint8Array(glb), { ignoredIssues: ["UNUSED_OBJECT"] });
expect(`the GLB is valid: ${JSON.stringify(issues.messages.slice(0, 3))}`, issues.numErrors === 0);
for (const name of ["model.dermis", "recipe.json", "report.html", "viewer.html"]) expect(`${name} is saved`, (await saved(name)).length > 100);
await tab.screenshot({ path: join(folder, "studio-result.png"), fullPage: true });
console.log(`from the address to everything saved: ${seconds()}`);

// The page speaks to the program alone, whatever it tries.
const reached = await tab.evaluate(async (other) => {
  try {
    await fetch(other);
    return true;
  } catch {
    return false;
  }
}, `${origin}/?`);
expect("the policy lets the page fetch nothing", !reached);
said.splice(0, said.length, ...said.filter((text) => !/Content Security Policy|Refused to connect/.test(text)));
expect(`the page says nothing to the console: ${said}`, said.length === 0);
const strangers = asked.filter((address) => !address.includes(`127.0.0.1:${port}/`));
expect(`the page asks nobody but the program: ${strangers}`, strangers.length === 0);

// The program ends with its page, and leaves nothing.
await tab.close();
const code = await Promise.race([ended, new Promise((done) => { setTimeout(() => done("none"), 30_000); })]);
expect(`the program ends with its page: ${code}`, code === 0);
expect(`nothing stays in the temporary folder: ${readdirSync(temporary)}`, readdirSync(temporary).length === 0);
child.kill("SIGKILL");
await browser.close();
end("the studio does what it should");
