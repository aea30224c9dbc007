// Evaluates GLBs with the extensions of Dermis and compares their skins with expected ones: node js/test/conformance.mjs DIR
//
// DIR/driven.json is a list of {"name", "glb", "pose_matrices", "expected", "tolerance"}: joint-to-world matrices (poses, bones, 4, 4)
// as [row][column], the bones in the order of the GLB's joints; positions (poses, vertices, 3) of the rig's vertices; metres. The
// arrays are little-endian doubles (.npy). Exit 0: all within their tolerance; 1: some are not, and are named; 2: nothing to compare.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readGlb } from "../dermis_glb.js";
import { Skin } from "../dermis_skin.js";
import { parseNpy } from "./npy.mjs";

const folder = process.argv[2];
if (!folder) {
  console.error("usage: node js/test/conformance.mjs DIR");
  process.exit(2);
}
const table = JSON.parse(readFileSync(join(folder, "driven.json"), "utf8"));
let [models, poses, worst, failed, milliseconds] = [0, 0, 0, 0, 0];
for (const entry of table) {
  const character = readGlb(readFileSync(join(folder, entry.glb)));
  const skin = new Skin(character);
  const [matrices, expected] = [entry.pose_matrices, entry.expected].map((name) => parseNpy(Uint8Array.from(readFileSync(join(folder, name))), name));
  const [count, bones] = matrices.shape;
  const vertices = character.vertexOf ? Math.max(...character.vertexOf) + 1 : character.positions.length / 3;
  const isSized = skin.drivers && bones === character.joints.length && `${matrices.shape.slice(2)}` === "4,4"
    && `${expected.shape}` === `${[count, vertices, 3]}` && entry.tolerance > 0;
  if (!isSized) {
    console.log(`${entry.name}: matrices of shape (${matrices.shape}) and positions of shape (${expected.shape}) do not fit ${character.joints.length}`
      + ` joints and ${vertices} vertices${skin.drivers ? "" : ", and nothing drives the morph targets"}`);
    failed += 1;
    continue;
  }
  models += 1;
  for (let pose = 0; pose < count; pose++) {
    const worlds = new Array(character.nodes.length).fill(null);
    character.joints.forEach((node, bone) => {
      const from = 16 * (pose * bones + bone);
      worlds[node] = Array.from({ length: 16 }, (_, i) => matrices.data[from + 4 * (i % 4) + Math.floor(i / 4)]);
    });
    const start = performance.now();
    const found = skin.positions(worlds, skin.weights(worlds));
    milliseconds += performance.now() - start;
    const [farthest, vertex] = largest(character, found, expected.data.subarray(3 * pose * vertices, 3 * (pose + 1) * vertices));
    poses += 1;
    worst = Math.max(worst, farthest / entry.tolerance);
    if (!(farthest <= entry.tolerance)) {
      console.log(`${entry.name}, pose ${pose}, vertex ${vertex}: ${farthest} m from the expected position; ${entry.tolerance} m are allowed`);
      failed += 1;
    }
  }
}
console.log(`${(milliseconds / Math.max(poses, 1)).toFixed(2)} ms per pose`);
console.log(`${models} models, ${poses} poses: largest deviation ${worst.toPrecision(3)} of its tolerance`);
process.exit(failed > 0 ? 1 : poses === 0 ? 2 : 0);

/** The largest distance, NaN counted as infinite, and the vertex of the rig that has it. */
function largest({ vertexOf }, found, expected) {
  let [farthest, vertex] = [0, 0];
  for (let i = 0; i < found.length / 3; i++) {
    const v = vertexOf ? vertexOf[i] : i;
    const distance = Math.hypot(...[0, 1, 2].map((c) => found[3 * i + c] - expected[3 * v + c]));
    if (!(distance <= farthest)) [farthest, vertex] = [Number.isNaN(distance) ? Infinity : distance, v];
  }
  return [farthest, vertex];
}
