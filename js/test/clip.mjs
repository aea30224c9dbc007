// Compares `drive` with the weights of a clip, in three.js: node js/test/clip.mjs THREE HERO.glb [HERO.json]
//
// THREE is the folder of the npm package three (npm install --prefix target/tools three). HERO.glb is of
// `dermis export shapes --driven --motion CLIP`, HERO.json of `export drivers --table`; without it the extension of HERO.glb is read. The scene is moved,
// turned and scaled, which must cancel.
// Exit 0: all weights within 1e-6; 1: not.
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { DermisExtension, Drivers, attach, drive } from "../dermis.js";

const [three, glb, json] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(resolve(join(three, path))));
globalThis.self = globalThis; // GLTFLoader expects a browser
globalThis.ProgressEvent ??= class {};
const { AnimationMixer } = await load("build/three.module.js");
const { GLTFLoader } = await load("examples/jsm/loaders/GLTFLoader.js");

const bytes = Uint8Array.from(readFileSync(glb)).buffer;
const loader = new GLTFLoader();
if (!json) loader.register((parser) => new DermisExtension(parser));
const gltf = await loader.parseAsync(bytes, "");
gltf.scene.position.set(3, 2, 1);
gltf.scene.rotation.set(0.3, 1, 2);
gltf.scene.scale.setScalar(1.7);
const meshes = [];
gltf.scene.traverse((object) => { if (object.isSkinnedMesh) meshes.push(object); });
if (json) meshes.forEach((mesh) => attach(mesh, new Drivers(JSON.parse(readFileSync(json, "utf8")))));
const [clip] = gltf.animations;
const times = clip.tracks.find((track) => track.name.endsWith(".morphTargetInfluences")).times;
const mixer = new AnimationMixer(gltf.scene);
mixer.clipAction(clip).play();

let [worst, moved, first, seconds] = [0, 0, null, 0];
for (const time of times) {
  mixer.setTime(time);
  gltf.scene.updateMatrixWorld(true);
  for (const mesh of meshes) {
    const baked = [...mesh.morphTargetInfluences];
    first ??= baked;
    const start = performance.now();
    for (let run = 0; run < 20; run++) drive(mesh);
    seconds += (performance.now() - start) / 20e3;
    baked.forEach((weight, i) => {
      worst = Math.max(worst, Math.abs(weight - mesh.morphTargetInfluences[i]));
      moved = Math.max(moved, Math.abs(weight - first[i]));
    });
  }
}
const milliseconds = (1e3 * seconds) / (times.length * meshes.length);
console.log(`${times.length} frames: at most ${worst.toExponential(1)} from the clip,`
  + ` whose weights move by ${moved.toFixed(2)}; ${milliseconds.toFixed(2)} ms per frame`);
process.exit(worst < 1e-6 && moved > 0 ? 0 : 1);
