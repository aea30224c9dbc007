// Shows a character before and after a round trip in three.js, and compares every drawn vertex in every clip:
// node tools/check_round_trip.mjs THREE BEFORE.glb AFTER.glb
// THREE is the folder of the npm package three. Vertices are compared in the order in which they are drawn.
import { Three, read } from "./three_file.mjs";

const [folder, before, after] = process.argv.slice(2);
const three = await Three.from(folder);
const corners = (scene) => three.positions(scene, true);
const [was, is] = [read(before), read(after)];
const [a, b] = [await three.load(was), await three.load(is)];
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
  const mixers = [three.player(a, clip), three.player(b, other)];
  for (let step = 0; step < 8; step++) {
    mixers.forEach((mixer) => mixer.setTime((step / 8) * clip.duration));
    worst = Math.max(worst, largest(corners(a.scene), corners(b.scene)) / diagonal);
  }
  mixers.forEach((mixer) => mixer.stopAllAction());
}
const names = (list) => JSON.stringify((list ?? []).map(({ name }) => name ?? null));
const same = {
  materials: JSON.stringify(was.json.materials ?? []) === JSON.stringify(is.json.materials ?? []),
  images: JSON.stringify(was.images()) === JSON.stringify(is.images()),
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
