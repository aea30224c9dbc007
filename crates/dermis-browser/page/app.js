// The page: files, what was understood, the fit, its report, and what can be saved.

const $ = (id) => document.getElementById(id);
/** The files of the page, in their order: { name, told, role, can, at }. */
let files = [];
let alsoExamples = false;
let desk;
let loop;
/** Further engines, while methods are compared. */
let forks = [];

/** An element with attributes, and children that are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const megabytes = (bytes) => `${(bytes / 1e6).toFixed(bytes < 1e6 ? 2 : 1)} MB`;
const counted = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;

/** Says what went wrong, and what to do. */
function refuse(error) {
  if (error instanceof Stopped) return;
  $("error").hidden = false;
  $("error").replaceChildren(make("b", {}, error.message), ...(error.remedy ? [make("span", {}, ` ${error.remedy}`)] : []));
  $("error").scrollIntoView({ block: "nearest" });
}

/** Runs what a person asked for; nothing else can be asked for meanwhile. */
async function busy(work) {
  $("error").hidden = true;
  document.body.dataset.state = "busy";
  show();
  try {
    await work();
  } catch (error) {
    refuse(error);
  } finally {
    document.body.dataset.state = "ready";
    $("progress").hidden = true;
    show();
  }
}

/** Files of a drop, those of folders with their paths. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.some((entry) => entry.isDirectory)) return [...transfer.files];
  const found = [];
  const visit = async (entry, path) => {
    if (entry.isFile) {
      const file = await new Promise((done, fail) => entry.file(done, fail));
      found.push(Object.defineProperty(file, "path", { value: path + entry.name }));
      return;
    }
    const reader = entry.createReader();
    // A reader gives a hundred entries at a time, and none at the end.
    for (;;) {
      const some = await new Promise((done, fail) => reader.readEntries(done, fail));
      if (!some.length) break;
      for (const one of some) await visit(one, `${path}${entry.name}/`);
    }
  };
  for (const entry of entries) await visit(entry, "");
  return found;
}

/** Takes files in. */
async function take(list) {
  if (list.length) await understand(await desk.add(await unpacked(list)));
}

/** Says what files of the desk are. A folder of numbered files is one input. What is no input goes again, and is named. */
async function understand(added) {
  const session = sessionAmong(added);
  if (session !== undefined) return openSession(session);
  let refused = null;
  for (const name of new Set(added.map(inputOf))) {
    try {
      const [told] = (await desk.run({ inspect: { files: [{ file: name }] } })).outcome;
      if (told.error) throw new Error(told.error);
      files = files.filter((file) => file.name !== name);
      files.push({ name, told, can: rolesOf(told), role: "none", at: "" });
    } catch (error) {
      // A texture or a buffer stays for the file that names it.
      if (isBeside(name)) continue;
      refused ??= error;
      await forget(name);
    }
  }
  guess();
  if (refused) throw refused;
}

/** Files, with those of archives in their place. */
async function unpacked(list) {
  const files = await Promise.all([...list].map(async (file) => {
    if (!/\.zip$/i.test(file.name)) return [file];
    const inside = await unzipped(new Uint8Array(await file.arrayBuffer()));
    return inside.map(([name, bytes]) => Object.defineProperty(new File([bytes], name.split("/").at(-1)), "path", { value: name }));
  }));
  return files.flat();
}

/** Opens the session of a folder. */
async function openSession(folder) {
  loop = new Loop(desk, $("loop"), busy);
  $("looped").hidden = false;
  await loop.open(folder);
  $("looped").scrollIntoView();
}

/** Begins a session of the rig, with the motions that are there and the true skins that are held out. */
async function beginSession() {
  const named = (...roles) => files.filter(({ role }) => roles.includes(role)).map(({ name }) => name);
  const rigs = named("rig");
  if (rigs.length !== 1) throw new Lacking(rigs.length ? `${rigs.length} files are rigs` : "no file is the rig", "give one file the role “rig”: a mesh with a skeleton and weights");
  // The clips of the rig's own file are motions, too.
  const clips = files.find(({ name }) => name === rigs[0]).told.clips ?? [];
  const own = clips.length > 1 ? clips.map(({ name }) => `${rigs[0]}#${name}`) : clips.map(() => rigs[0]);
  loop = new Loop(desk, $("loop"), busy);
  $("looped").hidden = false;
  await loop.begin(rigs[0], [...named("poses", "examples"), ...own], named("held"));
  $("looped").scrollIntoView();
}

/** A file below a folder of numbered OBJ files stands for the folder. */
function inputOf(name) {
  const folder = name.slice(0, name.lastIndexOf("/"));
  const isMany = folder && desk.names.filter((other) => other.startsWith(`${folder}/`) && /\.obj$/i.test(other)).length > 1;
  return isMany && /\.obj$/i.test(name) ? folder : name;
}

/** Whether a file is one that others name: a picture, a buffer, a library of materials. */
function isBeside(name) {
  return /\.(png|jpe?g|webp|ktx2|bin|mtl|tga|exr|txt|md)$/i.test(name);
}

function guess() {
  const guessed = guessRoles(files.map(({ told }) => told));
  alsoExamples = guessed.alsoExamples;
  files.forEach((file, at) => { file.role = guessed.roles[at]; });
}

/** What a file holds, in words. */
function holds({ told }) {
  const words = [told.format];
  if (told.mesh) words.push(counted(told.mesh.vertices, "vertex", "vertices"));
  if (told.skeleton) words.push(counted(told.skeleton.bones, "bone"));
  if (told.poses) words.push(counted(told.poses, "pose"));
  if (told.skins) words.push(counted(told.skins, "skin"));
  if (told.clips?.length) words.push(counted(told.clips.length, "clip"));
  if (told.morph_targets?.length) words.push(counted(told.morph_targets.length, "morph target"));
  if (told.unit) words.push(`in ${told.unit}`);
  return words.join(", ");
}

function rowOf(file, at) {
  const menu = make("select", { "aria-label": `role of ${file.name}`, onchange: ({ target }) => { file.role = target.value; show(); } },
    ...file.can.map((role) => make("option", { value: role, selected: role === file.role }, ROLES[role])));
  const frame = make("input", { type: "text", size: 6, value: file.at, placeholder: "frame", "aria-label": `pose of ${file.name}`,
    oninput: ({ target }) => { file.at = target.value.trim(); } });
  const drop = make("button", { type: "button", class: "link", onclick: () => busy(() => remove(at)) }, "remove");
  const words = ({ what, count, first }) => `${count}: ${what}${first ? ` (first: ${first})` : ""}`;
  const flaws = file.told.flaws.map((flaw) => make("div", {}, make("small", {}, words(flaw))));
  return make("tr", {}, make("td", {}, file.name), make("td", {}, holds(file), ...flaws), make("td", { class: "n" }, megabytes(file.told.bytes)),
    make("td", {}, menu, ...(file.role === "sculpt" ? [" at ", frame] : [])), make("td", {}, drop));
}

async function remove(at) {
  const [{ name }] = files.splice(at, 1);
  await forget(name);
  guess();
}

/** Takes an input off the desk: a file, or all files of a folder. */
async function forget(name) {
  for (const file of desk.names.filter((one) => one === name || one.startsWith(`${name}/`))) await desk.remove(file);
}

/** Shows the files, and which steps can be taken. */
function show() {
  const isBusy = document.body.dataset.state === "busy";
  $("files").hidden = files.length === 0;
  $("rows").replaceChildren(...files.map(rowOf));
  const held = files.filter(({ role }) => role === "held");
  $("judged").hidden = files.length === 0;
  $("judged").textContent = held.length
    ? `The error is measured on ${held.map(({ name }) => name).join(", ")}, which the fit does not see.`
    : "No file is held out: the error is cross-validated, each fifth of the examples by a fit of the others.";
  $("fit").disabled = isBusy || !files.length;
  $("compare").disabled = isBusy || !files.length;
  $("sculpt").disabled = isBusy || !files.some(({ role }) => role === "rig");
  $("stop").disabled = !isBusy;
  for (const element of document.querySelectorAll("#rows select, #rows input, #rows button, #pick, #body, #saves button")) element.disabled = isBusy;
  $("loop").inert = isBusy;
}

/** Shows how far a recipe is. */
function progress(step, fraction, left) {
  $("progress").hidden = false;
  $("bar").value = fraction;
  $("step").textContent = left ? `${step}, ${left} left` : step;
}

async function fit() {
  $("result").hidden = true;
  const recipe = fitRecipe(files, { folds: 5, alsoExamples, maps: await loop?.paintedMaps() });
  $("recipe").textContent = JSON.stringify(recipe, null, 2);
  const { outcome, seconds, memory } = await desk.run(recipe, progress);
  const report = await desk.take(REPORT);
  const model = await desk.take(MODEL);
  const used = memory ? `, ${megabytes(memory)} of memory` : "";
  const where = isServed() ? `${counted(desk.threads, "thread")} of ${isFramed() ? "the kernel's" : "this"} machine` : "one thread of this browser";
  const told = `${seconds.toFixed(1)} s${used}, on ${where}. ${nothingLeft()}`;
  URL.revokeObjectURL($("report").src);
  $("report").src = URL.createObjectURL(new Blob([report], { type: "text/html" }));
  const ready = { "report.html": report, "recipe.json": new TextEncoder().encode(`${JSON.stringify(recipe, null, 2)}\n`) };
  const motion = files.find(({ role, told }) => ["held", "poses"].includes(role) || (role === "examples" && told.poses > 1))?.name;
  await deliver(model, { verdict: outcome.verdict ?? "", told, ready, motion });
}

/** Compares methods on the files, and shows what has come so far. */
async function compare() {
  const recipe = (methods) => compareRecipe(files, alsoExamples, methods);
  recipe([]);
  const outcomes = [];
  const engines = isServed() ? 1 : Math.min(MOST_ENGINES, Math.max(1, navigator.hardwareConcurrency - (navigator.hardwareConcurrency > 2)));
  forks = Array.from({ length: engines - 1 }, () => desk.fork());
  const heard = (outcome) => {
    outcomes.push(outcome);
    $("compared-rows").replaceChildren(...comparedRows(outcomes).map(comparedRow));
    $("compared-note").textContent = `Errors are ${outcome.validation}; the smallest comes first. The number in brackets is the largest error of a vertex.`;
    $("compared").hidden = false;
  };
  try {
    await compareOn([desk, ...forks], recipe, heard, progress);
  } catch (error) {
    desk.stop(); // what failed on one engine is not gone on with on the others
    throw error;
  } finally {
    // The memory of an engine is given back when it ends.
    forks.forEach((fork) => fork.stop());
    forks = [];
  }
}

function comparedRow({ method, rms, ratio, held_out, cross_validated, model_bytes, seconds_fit }) {
  const { max } = held_out ?? cross_validated ?? {};
  const millimetres = (metres) => (Number.isFinite(metres) ? `${pageTools.digits(1e3 * metres)} mm` : "–");
  const cell = (text) => make("td", { class: "n" }, text);
  return make("tr", {}, make("td", {}, METHODS[method] ?? method), cell(`${millimetres(rms)} (${millimetres(max)})`), cell(Number.isFinite(ratio) ? `${(100 * ratio).toFixed(0)} %` : "–"),
    cell(megabytes(model_bytes)), cell(`${seconds_fit.toFixed(1)} s`));
}

/** The model of a session is the one that the page saves. */
async function delivered(model, verdict, motion) {
  await deliver(model, { verdict, told: `The model of the session. ${nothingLeft()}`, ready: {}, motion });
  $("result").scrollIntoView({ block: "nearest" });
}

/** Offers a model to be saved, with what is ready beside it, and what is made of it when it is asked for; `motion` is the clip of that. */
async function deliver(model, { verdict, told, ready, motion }) {
  // What is exported reads the model; the engine may be another by then.
  await desk.keep(MODEL, model);
  $("verdict").textContent = verdict;
  $("told").textContent = told;
  for (const id of ["report", "recipe-box"]) $(id).hidden = !ready["report.html"];
  const all = { "model.dermis": model, ...ready };
  const names = [...Object.keys(EXPORTS), ...Object.keys(all)];
  $("saves").replaceChildren(...names.map((name) => make("button", { type: "button", class: "plain", id: `save-${name}`,
    onclick: () => busy(() => save(name, all, motion)) }, name)));
  $("result").hidden = false;
}

/** Saves a file; an export is made first. */
async function save(name, ready, motion) {
  if (!ready[name]) {
    await desk.run(exportRecipe(name, motion), progress);
    ready[name] = await desk.take(`results/${name}`);
  }
  saveBytes(name, new Blob([ready[name]]));
}

/** Hands a file to the browser, which saves it; in a notebook to its kernel. */
function saveBytes(name, blob) {
  if (isServed() && isFramed()) return parent.postMessage({ save: name, blob }, "*");
  const link = make("a", { download: name, href: URL.createObjectURL(blob) });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** The bytes of a text in base64. */
function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** Whether `dermis studio` serves the page, whose engine is then the program's. */
function isServed() {
  return !$("wasm").textContent;
}

/** Where the files stayed. */
function nothingLeft() {
  if (isServed() && isFramed()) return "Files went to the kernel of this notebook alone.";
  return `Nothing left this ${isServed() ? "machine" : "page"}.`;
}

/** The desk with the engine inside this page. */
async function deskHere() {
  if (!WebAssembly.validate(SIMD)) throw new Lacking("this browser has no vectors in WebAssembly", "use a browser of 2023 or later");
  const unpacked = new Blob([bytesOf($("wasm").textContent)]).stream().pipeThrough(new DecompressionStream("gzip"));
  const source = URL.createObjectURL(new Blob([$("worker").textContent], { type: "text/javascript" }));
  return new Desk(() => new Worker(source), await new Response(unpacked).arrayBuffer());
}

/** The desk with the engine of the program, which has the files that its command line named. */
async function deskServed() {
  $("local").textContent = isFramed()
    ? "Files go to the kernel of this notebook and nowhere else; what is saved is stored there."
    : "Files stay on this machine: the browser lets this page speak to dermis studio alone, which closes with the page.";
  const served = new Desk(() => new Socket(), null);
  await served.open();
  return served;
}

async function begin() {
  desk = await (isServed() ? deskServed() : deskHere());
  const body = $("body-files").textContent;
  $("body").hidden = !body;
  $("body").onclick = () => busy(() => take(JSON.parse(body).map(([name, text]) => new File([bytesOf(text)], name))));
  $("pick").onchange = ({ target }) => busy(() => take([...target.files]));
  $("fit").onclick = () => busy(fit);
  $("sculpt").onclick = () => busy(beginSession);
  $("compare").onclick = () => busy(compare);
  $("stop").onclick = () => [desk, ...forks].forEach((one) => one.stop());
  for (const kind of ["dragover", "drop"]) {
    addEventListener(kind, (event) => {
      event.preventDefault();
      if (kind === "drop") busy(async () => take(await dropped(event.dataTransfer)));
    });
  }
  if (desk.names.length) await busy(() => understand(desk.names));
}

/** A module of one function with a vector: engines without vectors refuse it. */
const SIMD = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11]);

begin().then(() => { document.body.dataset.state = "ready"; show(); }, refuse);
