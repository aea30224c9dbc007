// What js/dermis.js says of damaged extensions, and that no weight is ever NaN: node js/test/damaged.mjs HERO.glb...
//
// Every GLB has an extension of Dermis. Exit 0: every damage is named, every weight is a number; 1: not.
import { readFileSync } from "node:fs";
import { Drivers, extensionTable } from "../dermis.js";
import { skinBones } from "../dermis_extension.js";
import { readGlb } from "../dermis_glb.js";
import { Skin } from "../dermis_skin.js";

let failed = 0;
const report = (what) => { console.log(what); failed += 1; };

for (const path of process.argv.slice(2)) {
  const character = readGlb(readFileSync(path));
  const { node, inverseBind } = character;
  const [name] = Object.keys(character.json.nodes[node].extensions);
  const isPoseSpace = name === "DERMIS_pose_space";
  /** The drivers of the file with one thing in it changed. */
  const changed = (change) => {
    const json = structuredClone(character.json);
    change(json.nodes[node].extensions[name], json);
    return new Drivers(extensionTable(json, node, skinBones(json, node, inverseBind)));
  };
  const bone = isPoseSpace ? (driver, value) => { driver.joints[0].path[0][0] = value; } : (driver, value) => { driver.joints[0].from = value; };
  const damages = [
    ["version 9", "version 9", (driver) => { driver.version = 9; }],
    ["a bone that is no joint", "no joint of the skin", (driver) => bone(driver, 10000)],
    ["one offset less", isPoseSpace ? "shape" : "matrix", (driver) => { driver.offset.pop(); }],
    ["one offset more", "are driven", (driver) => { driver.offset.push(0); }],
    ["NaN", "finite", (driver) => { driver.offset[0] = NaN; }],
    ["a clamp that is turned", "clamp", (driver) => { driver.clamp.reverse(); }],
    ["no joints", "joints", (driver) => { delete driver.joints; }],
    ["no sigma", "sigma", (driver) => { if (isPoseSpace) driver.kernel.sigma = null; else driver.sigma = null; }],
    ["a limit in words", "limit", (driver) => { driver.joints[0].limit = "far"; }],
    ["a short row", "matrix", (driver) => { (isPoseSpace ? driver.regions[0] : driver).matrix[0].pop(); }],
    ["no skin", "skin", (_, json) => { delete json.nodes[node].skin; }],
    ["no morph targets", "morph targets", (_, json) => { delete json.meshes[json.nodes[node].mesh].primitives[0].targets; }],
    ["no extension", "DERMIS_", (_, json) => { delete json.nodes[node].extensions[name]; }],
    ...(isPoseSpace ? [
      ["an unknown kernel", "kernel", (driver) => { driver.kernel.kind = "cubic"; }],
      ["a centre too long", "centres", (driver) => { driver.regions[0].centres[0].push(0); }],
      ["a shape that is not there", "shape", (driver) => { driver.regions[0].shapes[0] = 10000; }],
    ] : [
      ["an inducing rotation too short", "inducing", (driver) => { driver.joints[0].inducing[0].pop(); }],
      ["a factor of another size", "inverse_factor", (driver) => { driver.joints[0].inverse_factor[0].push(0); }],
      ["a centre too short", "centre", (driver) => { driver.joints[0].centre = [0, 0]; }],
    ]),
  ];
  for (const [what, says, change] of damages) {
    try {
      changed(change);
      report(`${path}: ${what}: no error`);
    } catch (error) {
      if (!(error instanceof Error) || error instanceof TypeError || !error.message.includes(says)) report(`${path}: ${what}: ${error}`);
    }
  }
  // Targets behind the driven ones are the application's own.
  const further = changed((_, json) => {
    json.meshes[json.nodes[node].mesh].primitives.forEach(({ targets }) => targets.push(targets[0]));
  });
  if (further.shapes.length !== character.morphs.length) report(`${path}: a further morph target is driven`);
  // Bones that are scaled to zero, infinite or no numbers: the weights of the bind pose, and positions only where the bones have some.
  const skin = new Skin(character);
  for (const value of [0, Infinity, NaN]) {
    const worlds = character.nodes.map(({ rest }) => [...rest]);
    const posed = skin.bones[skin.bones.length - 1].node;
    worlds[posed] = worlds[posed].map(() => value);
    if (![...skin.weights(worlds)].every(Number.isFinite)) report(`${path}: a bone of ${value}: a weight is no number`);
  }
  const cut = readFileSync(path);
  for (const bytes of [0, 11, 19, 100, cut.length - 8]) {
    try {
      readGlb(cut.subarray(0, bytes));
      report(`${path}: its first ${bytes} bytes: no error`);
    } catch (error) {
      if (error instanceof TypeError || error instanceof RangeError) report(`${path}: its first ${bytes} bytes: ${error}`);
    }
  }
}
console.log(`${process.argv.length - 2} files: ${failed} failures`);
process.exit(failed === 0 && process.argv.length > 2 ? 0 : 1);
