// Shows a character before and after a round trip in three.js, and compares every drawn vertex in every clip:
// node tools/check_round_trip.mjs THREE BEFORE.glb AFTER.glb
// THREE is the folder of the npm package three. Vertices are compared in the order in which they are drawn.
import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [three, before, after] = process.argv.slice(2);
globalThis.self ??= globalThis; // GLTFLoader expects a browser
globalThis.ProgressEvent ??= class {};
const THREE = await import(pathToFileURL(resolve(join(three, "build/three.module.js"))));

/// The JSON and the bytes of a file; buffers beside it or within its text are joined.
function read(path) {
  const file = readFileSync(path);
  let json, buffers;
  if (file.readUInt32LE(0) === 0x46546c67) {
    const size = file.readUInt32LE(12);
    json = JSON.parse(file.subarray(20, 20 + size));
    buffers = [file.subarray(28 + size)];
  } else {
    json = JSON.parse(file);
    const data = (uri) => (uri.startsWith("data:") ? Buffer.from(uri.split(",")[1], "base64") : readFileSync(join(dirname(path), decodeURI(uri))));
    buffers = json.buffers.map((buffer) => data(buffer.uri));
  }
  const view = (at) => {
    const { buffer, byteOffset = 0, byteLength } = json.bufferViews[at];
    return buffers[buffer].subarray(byteOffset, byteOffset + byteLength);
  };
  const image = ({ uri, bufferView }) => {
    if (bufferView !== undefined) return view(bufferView);
    return uri.startsWith("data:") ? Buffer.from(uri.split(",")[1], "base64") : readFileSync(join(dirname(path), decodeURI(uri)));
  };
  return { json, buffers, images: (json.images ?? []).map((one) => image(one).toString("base64")) };
}

/// What three.js makes of a file, without its pictures, which need a browser.
async function load({ json, buffers }) {
  const { GLTFLoader } = await import(pathToFileURL(resolve(join(three, "examples/jsm/loaders/GLTFLoader.js"))));
  const bare = structuredClone(json);
  for (const key of ["images", "textures", "samplers", "materials", "extensionsUsed", "extensionsRequired"]) delete bare[key];
  for (const mesh of bare.meshes ?? []) for (const primitive of mesh.primitives) delete primitive.material;
  bare.buffers = buffers.map((bytes) => ({ byteLength: bytes.length, uri: `data:application/octet-stream;base64,${bytes.toString("base64")}` }));
  return new GLTFLoader().parseAsync(JSON.stringify(bare), "");
}

/// Corners of all triangles as they are shown, in the world, in the order of the file.
function corners(scene) {
  scene.updateMatrixWorld(true);
  const [points, p] = [[], new THREE.Vector3()];
  scene.traverse((mesh) => {
    if (!mesh.isMesh) return;
    mesh.skeleton?.update();
    const { index, attributes } = mesh.geometry;
    const count = index ? index.count : attributes.position.count;
    for (let i = 0; i < count; i++) {
      mesh.getVertexPosition(index ? index.getX(i) : i, p).applyMatrix4(mesh.matrixWorld);
      points.push(p.x, p.y, p.z);
    }
  });
  return points;
}

const [was, is] = [read(before), read(after)];
const [a, b] = [await load(was), await load(is)];
const largest = (x, y) => x.reduce((most, value, i) => Math.max(most, Math.abs(value - y[i])), 0);
const rest = [corners(a.scene), corners(b.scene)];
if (rest[0].length !== rest[1].length) throw new Error(`${rest[0].length / 3} corners became ${rest[1].length / 3}`);
const extent = [0, 1, 2].map((axis) => {
  const values = rest[0].filter((_, i) => i % 3 === axis);
  return values.length ? values.reduce((m, x) => Math.max(m, x), -Infinity) - values.reduce((m, x) => Math.min(m, x), Infinity) : 0;
});
const diagonal = Math.hypot(...extent) || 1;
let worst = largest(...rest) / diagonal;
if (a.animations.length !== b.animations.length) throw new Error(`${a.animations.length} clips became ${b.animations.length}`);
const atRest = worst;
worst = 0;
for (const [at, clip] of a.animations.entries()) {
  const other = b.animations[at];
  const mixers = [[a, clip], [b, other]].map(([file, one]) => {
    const mixer = new THREE.AnimationMixer(file.scene);
    mixer.clipAction(one).play();
    return mixer;
  });
  for (let step = 0; step < 8; step++) {
    mixers.forEach((mixer) => mixer.setTime((step / 8) * clip.duration));
    worst = Math.max(worst, largest(corners(a.scene), corners(b.scene)) / diagonal);
  }
  mixers.forEach((mixer) => mixer.stopAllAction());
}
const names = (list) => JSON.stringify((list ?? []).map(({ name }) => name ?? null));
const same = {
  materials: JSON.stringify(was.json.materials ?? []) === JSON.stringify(is.json.materials ?? []),
  images: JSON.stringify(was.images) === JSON.stringify(is.images),
  "texture coordinates": JSON.stringify(uvs(a.scene)) === JSON.stringify(uvs(b.scene)),
  clips: names(was.json.animations) === names(is.json.animations) || !was.json.animations?.some(({ name }) => name),
};
function uvs(scene) {
  const all = [];
  scene.traverse((mesh) => {
    const uv = mesh.geometry?.attributes.uv;
    const { index } = mesh.geometry ?? {};
    for (let i = 0; uv && i < (index ? index.count : uv.count); i++) {
      const at = index ? index.getX(i) : i;
      all.push(uv.getX(at), uv.getY(at));
    }
  });
  return all;
}
console.log(`${rest[0].length / 9} triangles, ${a.animations.length} clips: at most ${worst.toExponential(1)} of the diagonal apart in clips, ${atRest.toExponential(1)} without;`, JSON.stringify(same));
process.exit(Math.max(worst, atRest) < 1e-5 && Object.values(same).every(Boolean) ? 0 : 1);
