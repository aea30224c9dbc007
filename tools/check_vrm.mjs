// Shows a VRM avatar before and after a conversion in three-vrm, and compares what it finds: node tools/check_vrm.mjs MODULES BEFORE AFTER
// MODULES is a folder with the npm packages three and @pixiv/three-vrm. Exit 0: the same humanoid bones, springs, constraints and
// annotations, and vertices within 1e-6 m at rest, with every humanoid bone turned, and in every expression; 1: not.
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { Three, read } from "./three_file.mjs";

const LIMIT = 1e-6;
const [modules, before, after] = process.argv.slice(2);
globalThis.window ??= globalThis; // three-vrm expects a browser
const three = await Three.from(join(modules, "three"));
const vrm = createRequire(resolve(join(modules, "x"))).resolve("@pixiv/three-vrm").replace(/\.cjs$/, ".module.js");
const { VRMLoaderPlugin } = await import(pathToFileURL(vrm));

/// Takes away what names pictures, which need a browser.
function bare(json) {
  const strip = (object) => {
    if (typeof object !== "object" || object === null) return;
    for (const key of Object.keys(object)) {
      if (/Texture$|^texture$|^thumbnailImage$/.test(key)) delete object[key];
      else strip(object[key]);
    }
  };
  for (const key of ["images", "textures", "samplers"]) delete json[key];
  strip(json.materials);
  strip(json.extensions);
  for (const material of json.extensions?.VRM?.materialProperties ?? []) material.textureProperties = {};
  return json;
}

async function load(path) {
  const { json, buffers } = read(path);
  json.buffers = buffers.map((bytes) => ({ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString("base64")}` }));
  const loader = new three.GLTFLoader();
  loader.register((parser) => new VRMLoaderPlugin(parser));
  const file = await loader.parseAsync(JSON.stringify(bare(json)), "");
  if (!file.userData.vrm) throw new Error(`${path} is no VRM avatar`);
  return file;
}

/// What three-vrm finds, by names, and the vertices in each state.
function found({ scene, userData: { vrm } }) {
  const shown = () => three.positions(scene, true);
  const expressions = vrm.expressionManager?.expressions ?? [];
  const states = { rest: shown() };
  for (const one of expressions) {
    for (const other of expressions) other.weight = Number(other === one);
    vrm.expressionManager.update();
    states[`expression ${one.expressionName}`] = shown();
    one.weight = 0;
  }
  vrm.expressionManager?.update();
  const bones = Object.entries(vrm.humanoid.humanBones).sort(([a], [b]) => (a < b ? -1 : 1));
  bones.forEach(([, bone], at) => (bone.node.rotation.x += 0.1 + 0.01 * at));
  states.turned = shown();
  const colliders = (groups) => groups.map((group) => group.colliders.map((collider) => collider.parent?.name));
  const parts = {
    "humanoid bones": bones.map(([name, bone]) => [name, bone.node.name]),
    springs: [...(vrm.springBoneManager?.joints ?? [])].map((joint) => [joint.bone.name, joint.child?.name, joint.center?.name, colliders(joint.colliderGroups)]),
    constraints: [...(vrm.nodeConstraintManager?.constraints ?? [])].map((one) => [one.destination.name, one.source.name]),
    annotations: (vrm.firstPerson?.meshAnnotations ?? []).map((one) => [one.type, one.meshes.length]),
  };
  return { states, parts };
}

const [was, is] = [found(await load(before)), found(await load(after))];
let good = true;
for (const [what, list] of Object.entries(was.parts)) {
  const same = JSON.stringify(list) === JSON.stringify(is.parts[what]);
  good &&= same;
  console.log(`${list.length} ${what}: ${same ? "the same" : `not the same: ${JSON.stringify([list, is.parts[what]])}`}`);
}
for (const [state, points] of Object.entries(was.states)) {
  const other = is.states[state];
  const off = other?.length === points.length ? points.reduce((most, x, at) => Math.max(most, Math.abs(x - other[at])), 0) : Infinity;
  const moves = points.reduce((most, x, at) => Math.max(most, Math.abs(x - was.states.rest[at])), 0);
  good &&= off <= LIMIT;
  console.log(`${state}: moves ${moves.toExponential(1)} m, off by ${off.toExponential(1)} m`);
}
process.exit(good ? 0 : 1);
