// Sculpts in the page, as a person does: node js/test/loop.mjs MODULES PAGE RIG DIR
//
// MODULES is a folder with the npm packages playwright-core, gltf-validator and three. RIG is a character with a skin; DIR takes what the
// page saves. Chromium opens PAGE from the disk, and a pointer does the seven steps: open, look, paint maps, pose, sculpt, learn, and
// save; three.js plays what was saved. Exit 0: all is as it should be; 1: something is not, and is named.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join, resolve } from "node:path";
import { end, expect, started } from "./chromium.mjs";

const [modules, page, rig, folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node js/test/loop.mjs MODULES PAGE RIG DIR");
  process.exit(2);
}
mkdirSync(folder, { recursive: true });

const { browser, validateBytes } = await started(modules);
const tab = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
const said = [];
tab.on("pageerror", (error) => said.push(String(error)));
tab.on("console", (message) => { if (message.type() === "error") said.push(message.text()); });
const ready = () => tab.waitForFunction(() => document.body.dataset.state === "ready", null, { timeout: 600_000 });
const text = (selector) => tab.locator(selector).innerText();
const shot = (name) => tab.screenshot({ path: join(folder, `loop-${name}.png`), fullPage: true });
/** What follows needs what went before. */
const noError = async (what) => {
  if (!(await tab.locator("#error").isVisible())) return;
  console.log(`FAILED: ${what}: ${await tab.locator("#error").innerText()}`);
  process.exit(1);
};
const click = async (selector) => { await tab.click(selector); await ready(); };
const tool = (name) => tab.click(`#loop [data-key=${name}]`);
/** Waits until the engine has answered and the picture is drawn. */
const settled = async () => { await tab.waitForTimeout(300); await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))); };

// Open.
await tab.goto(`file://${resolve(page)}`);
await ready();
await tab.setInputFiles("#pick", rig);
await ready();
await noError("the rig is read");
await click("#sculpt");
await noError("a session begins");
await settled();
await shot("open");

/** A place of the stage where the skin is, as parts of its width and height from its middle. */
const stage = async () => tab.locator("#loop-stage").boundingBox();
async function drag(from, to, steps = 12) {
  await tab.mouse.move(...from);
  await tab.mouse.down();
  for (let step = 1; step <= steps; step++) await tab.mouse.move(...from.map((x, i) => x + ((to[i] - x) * step) / steps));
  await tab.mouse.up();
  await settled();
}
/** Where vertices of a bone are on the screen, those that face the viewer. */
const onScreen = (wanted) => tab.evaluate((name) => loop.test(name), wanted);

// Look: the first frames of the motion, and poses that the session suggests.
await click("#loop-suggest");
await noError("poses are suggested");
expect("three poses are offered", (await tab.locator("#loop-offers button").count()) === 3);

// Maps are painted with the brush, smoothed, flooded, mirrored and locked.
await tool("paint");
await settled();
const bones = await tab.locator("#loop-bone option").allInnerTexts();
const { bone, partner } = await tab.evaluate(() => loop.testBone());
await tab.selectOption("#loop-bone", String(bone));
await settled();
const mapOf = (bone) => tab.evaluate((bone) => loop.testMap(bone), bone);
const before = await mapOf(bone);
const spot = await onScreen(bone);
await drag(spot, [spot[0] + 25, spot[1] + 10]);
const painted = await mapOf(bone);
expect(`the brush adds to the map of ${bones[bone + 1]}: ${before} to ${painted}`, painted > before);
await shot("paint");
await tab.click("#loop-undo-stroke");
expect("a stroke is taken back", (await mapOf(bone)) === before);
await tab.click("#loop-redo-stroke");
expect("and done again", (await mapOf(bone)) === painted);
if (partner !== null) {
  await tab.click("#loop-mirror");
  expect("the partner has the mirrored map", Math.abs((await mapOf(partner)) - painted) < 0.05 * painted);
}
await tab.fill("#loop-level", "0.5");
await tab.click("#loop-flood");
expect("a flood fills the map", Math.abs((await mapOf(bone)) - 0.5 * (await tab.evaluate(() => loop.testCount()))) < 1);
await tab.click("#loop-undo-stroke");
await tab.getByRole("button", { name: "lock" }).click();
await tab.click("#loop-flood");
expect("a locked map stays", Math.abs((await mapOf(bone)) - painted) < 1e-3);
await tab.getByRole("button", { name: "lock" }).click();

// Three sculpts: each in a pose of its own, made by the timeline, by the rings of a bone, or by numbers.
let learnt = 0;
const met = [];
for (const [kind, at] of [["grab", 0], ["inflate", 1], ["grab", 2]]) {
  await tool("pose");
  await tab.locator("#loop-offers button").nth(Math.min(at, (await tab.locator("#loop-offers button").count()) - 1)).click();
  await settled();
  if (at === 1) {
    await tab.selectOption("#loop-bone", String(bone));
    await settled();
    const ring = await tab.evaluate(() => loop.testRing(2));
    const turned = await tab.evaluate(() => loop.testTurned());
    await drag(ring, [ring[0] + 30, ring[1] + 30]);
    expect("a ring turns the bone", (await tab.evaluate(() => loop.testTurned())) !== turned);
    await shot("pose");
  }
  if (at === 2) {
    await tab.selectOption("#loop-bone", String(bone));
    await tab.fill("#loop-degrees", "20");
    await tab.click("#loop-turn-z");
    await settled();
  }
  await tool(kind);
  const place = await onScreen(bone);
  await drag(place, [place[0] + 18, place[1] - 12]);
  if (at === 0) {
    const moved = await tab.evaluate(() => loop.testMoved());
    await tab.keyboard.press("Control+z");
    expect("a stroke is undone", (await tab.evaluate(() => loop.testMoved())) === 0);
    await tab.keyboard.press("Control+Shift+z");
    expect("and redone", moved > 0 && (await tab.evaluate(() => loop.testMoved())) === moved);
    await tool("smooth");
    await drag(place, [place[0] + 8, place[1] - 6]);
  }
  if (at === 2) await shot("sculpt");
  await click("#loop-learn");
  await noError(`sculpt ${at + 1} is learnt`);
  learnt = await tab.locator("#loop-steps li").count();
  expect(`${at + 1} steps: ${learnt}`, learnt === at + 1);
  met.push((await text("#loop-lines")).split("\n")[0]);
}
console.log(met.join("\n"));
expect(`the last sculpt is met: ${met.at(-1)}`, /^met/.test(met.at(-1)));
await settled();
await tool("look");
await tab.click("#loop [data-key=both]");
await tab.click("#loop [data-key=correction]");
await settled();
await shot("learnt");

// Back, forward, and a step switched off and on.
await click("#loop-undo");
await click("#loop-redo");
await tab.locator("#loop-steps li").first().getByRole("button", { name: "switch off" }).click();
await ready();
await noError("a step is switched off");
await tab.locator("#loop-steps li").first().getByRole("button", { name: "switch on" }).click();
await ready();
await noError("and on");

// How long the page's own work takes: drags of a brush and frames of the motion.
const times = await tab.evaluate(() => loop.times);
console.log(`${await tab.evaluate(() => loop.testCount())} vertices; milliseconds of JavaScript, in the middle and at the 95th percentile:`);
for (const [what, all] of Object.entries(times)) {
  const sorted = all.slice().sort((a, b) => a - b);
  const at = (part) => sorted[Math.floor(part * (sorted.length - 1))].toFixed(1);
  console.log(`  ${what} ${at(0.5)}, ${at(0.95)} of ${sorted.length}`);
}

// How many pictures come while the pointer turns the character, drawn by the processor.
await tool("look");
const place = await stage();
await tab.mouse.move(place.x + 0.25 * place.width, place.y + 30);
await tab.mouse.down();
const counted = tab.evaluate(() => new Promise((done) => {
  const start = performance.now();
  let pictures = 0;
  const next = () => { pictures += 1; if (performance.now() - start < 2000) requestAnimationFrame(next); else done((1e3 * pictures) / (performance.now() - start)); };
  requestAnimationFrame(next);
}));
let isTurning = true;
const rate = counted.then((pictures) => { isTurning = false; return pictures; });
for (let move = 0; isTurning; move++) await tab.mouse.move(place.x + 0.25 * place.width + 5 * (move % 20), place.y + 30);
await tab.mouse.up();
console.log(`${(await rate).toFixed(0)} pictures a second while it turns`);

// Save, and play in three.js.
await click("#loop-finish");
await noError("the model is offered");
async function saved(selector, name) {
  const waits = tab.waitForEvent("download", { timeout: 0 });
  await tab.click(selector);
  await ready();
  await noError(`${name} is saved`);
  const bytes = readFileSync(await (await waits).path());
  writeFileSync(join(folder, name), bytes);
  return bytes;
}
const zip = await saved("#loop-save", "loop.session.zip");
const glb = await saved('[id="save-model.glb"]', "loop.glb");
const { issues } = await validateBytes(new Uint8Array(glb), { ignoredIssues: ["UNUSED_OBJECT"] });
expect(`the GLB is valid: ${JSON.stringify(issues.messages.slice(0, 3))}`, issues.numErrors === 0);

// three.js drives the shapes of the GLB by its joints, in the poses of the sculpts. It takes four bones a vertex, and the shapes of a character with
// several roots come near the sculpts alone.
const sculpts = [];
for (let at = 0; at < 3; at++) sculpts.push(await tab.evaluate((at) => loop.testSculpt(at), at));
/** A NumPy array of doubles. */
function npy(name, shape, values) {
  const head = `{'descr': '<f8', 'fortran_order': False, 'shape': (${shape.join(", ")},), }`.padEnd(117) + "\n";
  writeFileSync(join(folder, name), Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), Buffer.from([118, 0]), Buffer.from(head), Buffer.from(Float64Array.from(values).buffer)]));
}
const rowsOf = (c) => [c[0], c[3], c[6], c[9], c[1], c[4], c[7], c[10], c[2], c[5], c[8], c[11], 0, 0, 0, 1];
const matrices = sculpts.flatMap(({ joints }) => Array.from({ length: joints.length / 12 }, (_, bone) => rowsOf(joints.slice(12 * bone, 12 * bone + 12))).flat());
npy("loop-matrices.npy", [3, matrices.length / 48, 4, 4], matrices);
npy("loop-expected.npy", [3, sculpts[0].model.length / 3, 3], sculpts.flatMap(({ model }) => model));
const repository = resolve(import.meta.dirname, "../..");
const KINDS = { html: "text/html", js: "text/javascript", mjs: "text/javascript" };
const server = createServer((request, response) => {
  const { pathname } = new URL(request.url, "http://localhost");
  const path = pathname.startsWith("/repo/target/tools/node_modules/") ? join(modules, pathname.slice("/repo/target/tools".length))
    : pathname.startsWith("/repo/") ? join(repository, pathname.slice(6)) : join(folder, pathname.slice("/desk".length));
  if (!existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": KINDS[path.split(".").at(-1)] ?? "application/octet-stream" }).end(readFileSync(path));
}).listen(0, "127.0.0.1");
const other = await browser.newPage();
await other.goto(`http://127.0.0.1:${server.address().port}/repo/js/test/three.html?glb=/desk/loop.glb&matrices=/desk/loop-matrices.npy&expected=/desk/loop-expected.npy`);
await other.waitForFunction(() => document.documentElement.dataset.state !== "loading", null, { timeout: 120_000 });
const three = await other.evaluate(() => ({ ...document.documentElement.dataset }));
const extent = await tab.evaluate(() => loop.testExtent());
console.log(`three.js in the poses of the sculpts: ${(1e6 * three.gpu / extent).toFixed(2)} millionths of the character from the page's skin; ${three.drawn} vertices drawn`);
expect(`three.js shows the sculpts: ${JSON.stringify(three)}`, three.state === "ready" && three.gpu < 5e-3 * extent && three.moved > 0);
await other.close();
server.close();
await tab.setViewportSize({ width: 420, height: 900 });
await settled();
await shot("narrow");
const wide = await tab.evaluate(() => document.documentElement.scrollWidth);
expect(`nothing is wider than a small screen: ${wide}`, wide <= 420);

// The saved session opens in a new page as it was.
await tab.setViewportSize({ width: 1400, height: 1000 });
await tab.reload();
await ready();
await tab.setInputFiles("#pick", { name: `${basename(rig)}.session.zip`, mimeType: "application/zip", buffer: zip });
await ready();
await noError("the saved session opens");
expect("it has its steps", (await tab.locator("#loop-steps li").count()) === 3);
expect(`the page says nothing to the console: ${said}`, said.length === 0);
await browser.close();
end("the loop does what it should");
