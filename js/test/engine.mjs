// Runs recipes in the engine for browsers and in the program, and compares what comes of them:
// node js/test/engine.mjs dermis_browser.wasm DIR
//
// DIR holds the inputs, what the program wrote for every recipe of js/test/engine/, and its outcomes as NAME.outcome.json where the
// program prints one (`cargo xtask browser` makes it). Then the engine is handed what is no good, and must go on. Exit 0: all is as it
// should be; 1: something is not, and is named.
import { readFileSync, readdirSync, existsSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { Engine, EngineEnded, RecipeError } from "../dermis_engine.js";
import { compareModels, same } from "./models.mjs";

const [file, folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node js/test/engine.mjs MODULE DIR");
  process.exit(2);
}
let failures = 0;
function expect(what, isSo) {
  if (isSo) return;
  console.log(`FAILED: ${what}`);
  failures += 1;
}

const wasm = readFileSync(file);
const megabytes = (bytes) => `${(bytes / 1e6).toFixed(2)} MB`;
console.log(`${file}: ${megabytes(wasm.length)}, ${megabytes(gzipSync(wasm, { level: 9 }).length)} compressed`);
const module = await WebAssembly.compile(wasm);
const imports = WebAssembly.Module.imports(module).filter(({ module }) => !module.startsWith("__wbindgen_")).map(({ module, name }) => `${module}.${name}`).sort();
expect(`it imports three functions of the host: ${imports}`, `${imports}` === "dermis.now,dermis.panicked,dermis.progress");

// The same recipes as the program.
let steps = new Set();
let calls = 0;
const engine = await Engine.open(module, (step) => { steps.add(step); calls += 1; });
const inputs = ["body.glb", "body_exercise.npz", "body_walk.npz"];
for (const name of inputs) engine.put(name, readFileSync(join(folder, name)));
const recipes = join(import.meta.dirname, "engine");
for (const name of readdirSync(recipes).sort()) {
  const start = process.cpuUsage();
  const outcome = engine.run(readFileSync(join(recipes, name), "utf8"));
  const { user, system } = process.cpuUsage(start);
  const file = join(folder, name.replace(".json", ".outcome.json"));
  const native = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : {};
  const fit = native.seconds ? `, of which the fit ${outcome.seconds.toFixed(2)} s; ${native.seconds.toFixed(2)} s in the program` : "";
  console.log(`${name}: ${((user + system) / 1e6).toFixed(2)} s of the processor${fit}`);
  compareNumbers(name, outcome, native);
}
console.log(`${calls} reports of progress in ${steps.size} steps, ${megabytes(engine.memory)} of memory`);
expect("the fit tells how far it is", [...steps].some((step) => /^\d\/\d fit$/.test(step)) && calls > 100);

const written = engine.files().map(([name]) => name).filter((name) => !inputs.includes(name));
expect(`what the recipes write is there: ${written}`, written.length === 6);
for (const name of written) {
  const [ours, native] = [engine.take(name), readFileSync(join(folder, name))];
  if (same(ours, native)) console.log(`${name}: the same ${ours.length} bytes`);
  else if (name.endsWith(".dermis")) compareModels(name, ours, native, expect);
  else if (name.endsWith(".pc2")) compareSkins(name, ours, native);
  else if (name.endsWith(".html")) expect(`${name} is a page`, ours.length > 1e6 && Buffer.from(ours).includes("</html>"));
  else console.log(`${name}: ${ours.length} bytes, of the program ${native.length}`);
}

/** Errors of a fit, metres: as far apart as the rounding of libraries, a nanometre. */
function compareNumbers(name, ours, native) {
  for (const [key, value] of Object.entries(native.error ?? {})) {
    if (typeof value !== "number") continue;
    const apart = Math.abs(ours.error[key] - value);
    console.log(`${name}: error.${key} ${value}${apart === 0 ? ", the same digits" : `, ${apart} apart`}`);
    expect(`${name}: error.${key} is the program's`, apart <= 1e-9);
  }
}

/** Skins of a point cache: 32 bytes of header, then floats, metres. */
function compareSkins(name, ours, native) {
  const [x, y] = [ours, native].map((bytes) => new Float32Array(Uint8Array.from(bytes).buffer, 32));
  let apart = 0;
  x.forEach((value, at) => { apart = Math.max(apart, Math.abs(value - y[at])); });
  console.log(`${name}: skins are ${apart} m apart at most`);
  // Positions of a metre are rounded to 6e-8 in single precision, a few times in a row.
  expect(`${name} holds the program's skins`, x.length === y.length && apart <= 1e-6);
}

// What is no good is refused in words, and the engine goes on.
const exercise = readFileSync(join(folder, "body_exercise.npz"));
const fit = (rig, examples) => ({ fit: { rig: { file: rig }, examples: { held: [{ file: examples }] }, folds: 0, outputs: { model: "x.dermis" } } });
engine.put("half.npz", exercise.subarray(0, exercise.length / 2));
engine.put("words.glb", new TextEncoder().encode("these are words"));
engine.put("empty.fbx", new Uint8Array());
engine.put("broken.fbx", new TextEncoder().encode("Kaydara FBX Binary  \0\x1a\0 and then nothing of the kind"));
engine.put("other.obj", new TextEncoder().encode("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"));
engine.put("falling.json", new TextEncoder().encode('{"rig": "body.glb", "time": {"to": 1, "rate": 30}, "dynamics": {"bodies": [{"bones": ["*"], "density": 500}]}}'));
for (const [what, recipe, word] of [
  ["half a file", fit("half.npz", "half.npz"), "half.npz"],
  ["words", fit("words.glb", "body_exercise.npz"), "words.glb"],
  ["an empty file", fit("empty.fbx", "body_exercise.npz"), "empty.fbx"],
  ["a broken FBX", fit("broken.fbx", "body_exercise.npz"), "broken.fbx"],
  ["another mesh's examples", fit("body_exercise.npz", "other.obj"), "other.obj"],
  ["a rig without examples", fit("body_exercise.npz", "body.glb"), "body.glb"],
  ["a file that is not there", fit("body_exercise.npz", "body_exercize.npz"), "body_exercize.npz"],
  ["an output over its input", { convert: { inputs: [{ file: "body.glb" }], out: "./x/../body.glb", existing: "replace" } }, "body.glb"],
  ["an output that is there", { convert: { inputs: [{ file: "body.glb" }], out: "words.glb" } }, "words.glb"],
  ["a scene with bodies", { animate: { scene: { file: "falling.json" }, out: "falling.glb" } }, "falling.json"],
  ["no recipe", { fit: 3 }, "recipe"],
]) {
  try {
    engine.run(recipe);
    expect(`${what} is refused`, false);
  } catch (error) {
    const said = error instanceof RecipeError && error.message.includes(word);
    expect(`${what} is refused by a word of ${word}: ${error}`, said);
    if (said) console.log(`${what}: ${error.message}${error.remedy ? ` (${error.remedy})` : ""}`);
    if (error instanceof EngineEnded) break;
  }
}
expect("the shelf keeps what it was handed", same(engine.take("body_exercise.npz"), exercise));
expect("what is not there is not taken", engine.take("nothing") === undefined);

// A recipe is stopped by what its watcher returns, or throws.
for (const [how, stop] of [["returns", () => true], ["throws", () => { throw new Error("no more"); }]]) {
  let left = 50;
  const stopped = await Engine.open(module, () => (left-- > 0 ? false : stop()));
  stopped.put("body_exercise.npz", exercise);
  try {
    stopped.run(fit("body_exercise.npz", "body_exercise.npz"));
    expect(`a watcher that ${how} stops a fit`, false);
  } catch (error) {
    expect(`a watcher that ${how} stops a fit: ${error}`, /cancelled|no more/.test(error.message));
  }
  expect("a stopped engine goes on", stopped.files().length === 1);
}

// Eight fits that are stopped take no more memory than four.
let left = 0;
const again = await Engine.open(module, () => (left-- <= 0));
const sizes = [];
for (let turn = 0; turn < 8; turn++) {
  left = 60;
  again.put("body_exercise.npz", exercise);
  try { again.run(fit("body_exercise.npz", "body_exercise.npz")); } catch (error) { if (!(error instanceof RecipeError)) throw error; }
  again.take("body_exercise.npz");
  sizes.push(again.memory);
}
console.log(`after 8 stopped fits ${megabytes(sizes.at(-1))} of memory, after 4 ${megabytes(sizes[3])}`);
expect("memory does not grow", sizes.at(-1) === sizes[3] && again.files().length === 0);

console.log(failures ? `${failures} failures` : "the engine does what the program does");
process.exit(failures ? 1 : 0);
