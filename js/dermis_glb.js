// A binary glTF as arrays of numbers, without a library: the meshes of the first skin as one, their morph targets and clips. Reads what
// `dermis export` writes; a file that needs more (buffers beside it, compression) is refused by name.

import { XYZ } from "./dermis_rotation.js";

const COMPONENTS = {
  5120: [Int8Array, 127], 5121: [Uint8Array, 255], 5122: [Int16Array, 32767], 5123: [Uint16Array, 65535], 5125: [Uint32Array, 1], 5126: [Float32Array, 1],
};
const SIZES = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4, MAT4: 16 };

/**
 * Returns a character: `json`; `node`, the index of the mesh's node, of several one with morph targets if there is one; `nodes` (`parent`, `rest`, a 4×4 matrix column by column);
 * `positions`, `normals`, `triangles`; `sets`, pairs of joints and weights, four to a vertex; `joints` (nodes), `inverseBind`;
 * `morphs` (`name`, `positions`, `normals`), `restWeights`; `clips`. `vertexOf` says which vertex of the rig each drawn one hangs on.
 * Takes an ArrayBuffer or Uint8Array. Throws an Error that names what is damaged or not read.
 */
export function readGlb(bytes) {
  const file = bytes instanceof Uint8Array ? bytes : new Uint8Array(bytes);
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const word = (at) => (at + 4 <= file.length ? view.getUint32(at, true) : NaN);
  demand(word(0) === 0x46546c67 && word(4) === 2, "this is no binary glTF of version 2");
  demand(word(8) <= file.length, `the file has ${file.length} bytes of ${word(8)}`);
  const length = word(12);
  demand(word(16) === 0x4e4f534a && 20 + length <= file.length, "the JSON chunk is damaged");
  const json = JSON.parse(new TextDecoder().decode(file.subarray(20, 20 + length)));
  const start = 28 + length;
  return readGltf(json, file.subarray(start, start + (Number.isFinite(word(20 + length)) ? word(20 + length) : 0)));
}

/** Returns a character, as readGlb does, from the JSON of a glTF, parsed, and the bytes of its only buffer. */
export function readGltf(json, binary) {
  demand(!json.extensionsRequired?.length, `the file requires ${json.extensionsRequired}`);
  // `count` elements of `size` numbers that a buffer view holds.
  const elements = ({ bufferView, byteOffset = 0 }, [Kind, most], size, count, normalized, what) => {
    const within = json.bufferViews?.[bufferView];
    demand(within, `${what}: buffer view ${bufferView} is not there`);
    demand(!json.buffers?.[within.buffer]?.uri, `${what}: its buffer is another file`);
    const [bytesOf, from] = [Kind.BYTES_PER_ELEMENT, (within.byteOffset ?? 0) + byteOffset];
    const stride = within.byteStride ?? size * bytesOf;
    demand(from + (count - 1) * stride + size * bytesOf <= binary.length, `${what} ends beyond the file`);
    // Copies, because a view of the file need not be aligned.
    if (stride === size * bytesOf && !normalized) {
      return new Kind(binary.buffer.slice(binary.byteOffset + from, binary.byteOffset + from + count * stride));
    }
    const out = new (normalized ? Float32Array : Kind)(count * size);
    for (let i = 0; i < count; i++) {
      const at = binary.byteOffset + from + i * stride;
      const row = new Kind(binary.buffer.slice(at, at + size * bytesOf));
      for (let c = 0; c < size; c++) out[size * i + c] = normalized ? Math.max(row[c] / most, -1) : row[c];
    }
    return out;
  };
  const accessor = (index, of) => {
    const what = `${of}: accessor ${index}`;
    const one = json.accessors?.[index] ?? {};
    const { bufferView, componentType, count, type, normalized, sparse } = one;
    const [kind, size] = [COMPONENTS[componentType], SIZES[type]];
    demand(kind && size, `${what} is not there, or of an unknown kind`);
    // Without bytes of its own it is zeros, of which a file may claim any number.
    demand(bufferView !== undefined || count <= binary.length, `${what} has ${count} rows, more than the file has bytes`);
    const out = bufferView === undefined ? new (normalized ? Float32Array : kind[0])(count * size) : elements(one, kind, size, count, normalized, what);
    if (sparse) {
      const places = elements(sparse.indices, COMPONENTS[sparse.indices.componentType] ?? [], 1, sparse.count, false, what);
      const rows = elements(sparse.values, kind, size, sparse.count, normalized, what);
      demand(places.every((place) => place < count), `${what} has a sparse row beyond its ${count}`);
      places.forEach((place, i) => out.set(rows.subarray(size * i, size * (i + 1)), size * place));
    }
    return out;
  };

  const skinned = (json.nodes ?? []).flatMap(({ mesh, skin }, at) => (mesh !== undefined && skin !== undefined ? [at] : []));
  demand(skinned.length > 0, "no node has a mesh and a skin");
  const meshOf = (at) => json.meshes[json.nodes[at].mesh];
  const targetsOf = (at) => meshOf(at).primitives[0].targets ?? [];
  const node = skinned.find((at) => targetsOf(at).length > 0) ?? skinned[0];
  const skin = json.skins[json.nodes[node].skin];
  // A body and its clothes are meshes of their own, which move together: a mesh that no morph target moves has none.
  const parts = skinned.filter((at) => json.nodes[at].skin === json.nodes[node].skin && [0, targetsOf(node).length].includes(targetsOf(at).length));
  const nodes = json.nodes.map((some) => ({ parent: -1, local: localOf(some), rest: null }));
  json.nodes.forEach((some, parent) => some.children?.forEach((child) => { demand(nodes[child], `node ${parent} has a child ${child}`); nodes[child].parent = parent; }));
  const restOf = (at, depth) => {
    demand(depth <= nodes.length, "the nodes hang in a circle");
    const own = nodes[at];
    own.rest ??= own.parent < 0 ? matrixOf(own.local) : product4(restOf(own.parent, depth + 1), matrixOf(own.local));
    return own.rest;
  };
  nodes.forEach((_, at) => restOf(at, 0));

  const { weights = [], extras } = meshOf(node);
  const joints = skin.joints;
  const own = parts.map((at) => partOf(meshOf(at), accessor));
  demand(own.every(({ sets }) => sets.every(([some]) => some.every((joint) => joint < joints.length))), "a vertex names a joint that the skin lacks");
  let start = 0;
  const triangles = own.map((part) => {
    start += part.positions.length / 3;
    return part.triangles.map((v) => v + start - part.positions.length / 3);
  });
  const all = (list) => (list.includes(null) ? null : joined(list));
  const most = Math.max(...own.map(({ sets }) => sets.length));
  const setOf = (part, set, k) => part.sets[set]?.[k] ?? new Uint8Array((part.positions.length / 3) * 4);
  return {
    json, node, nodes, joints,
    positions: joined(own.map((part) => part.positions)),
    triangles: joined(triangles),
    sets: Array.from({ length: most }, (_, set) => [0, 1].map((k) => joined(own.map((part) => setOf(part, set, k))))),
    normals: all(own.map((part) => part.normals)),
    vertexOf: all(own.map((part) => part.vertexOf)),
    inverseBind: skin.inverseBindMatrices === undefined ? null : accessor(skin.inverseBindMatrices, "inverseBindMatrices"),
    morphs: targetsOf(node).map((_, i) => ({
      name: extras?.targetNames?.[i] ?? String(i),
      positions: joined(own.map((part) => part.morphs[i] ?? new Float32Array(part.positions.length))),
    })),
    restWeights: targetsOf(node).map((_, i) => weights[i] ?? 0),
    clips: (json.animations ?? []).map((clip, i) => clipOf(clip, (index) => accessor(index, `clip ${i}`))),
  };
}

/** The arrays of one mesh. */
function partOf({ primitives }, accessor) {
  const [{ attributes, targets = [] }] = primitives;
  demand(primitives.every((one) => one.attributes.POSITION === attributes.POSITION), "the parts of the mesh do not share their vertices");
  const positions = accessor(attributes.POSITION, "POSITION");
  const sets = [];
  for (let set = 0; attributes[`JOINTS_${set}`] !== undefined; set++) {
    sets.push([accessor(attributes[`JOINTS_${set}`], `JOINTS_${set}`), accessor(attributes[`WEIGHTS_${set}`], `WEIGHTS_${set}`)]);
  }
  const lists = primitives.map((one) => (one.indices === undefined ? Uint32Array.from({ length: positions.length / 3 }, (_, i) => i) : accessor(one.indices, "indices")));
  const triangles = new Uint32Array(lists.reduce((total, list) => total + list.length, 0));
  lists.reduce((at, list) => { triangles.set(list, at); return at + list.length; }, 0);
  demand(triangles.every((v) => 3 * v < positions.length), "a triangle names a vertex that the mesh lacks");
  return {
    positions, sets, triangles,
    normals: attributes.NORMAL === undefined ? null : accessor(attributes.NORMAL, "NORMAL"),
    vertexOf: attributes._VERTEX === undefined ? null : accessor(attributes._VERTEX, "_VERTEX"),
    morphs: targets.map((target, i) => (target.POSITION === undefined ? new Float32Array(positions.length) : accessor(target.POSITION, `morph target ${i}`))),
  };
}

/** Arrays one after the other, of the widest of their types. */
function joined(arrays) {
  if (arrays.length === 1) return arrays[0];
  const widest = arrays.reduce((most, some) => (some.BYTES_PER_ELEMENT > most.BYTES_PER_ELEMENT ? some : most));
  const out = new widest.constructor(arrays.reduce((total, some) => total + some.length, 0));
  arrays.reduce((at, some) => { out.set(some, at); return at + some.length; }, 0);
  return out;
}

/** A clip: name, seconds, key times, and what moves which node. */
function clipOf({ name = "clip", channels, samplers }, accessor) {
  const moved = channels.filter(({ target }) => ["translation", "rotation", "scale"].includes(target.path)).map(({ sampler, target }) => {
    const { input, output, interpolation = "LINEAR" } = samplers[sampler];
    demand(interpolation === "LINEAR" || interpolation === "STEP", `${name}: ${interpolation} is not read`);
    return { node: target.node, path: target.path, step: interpolation === "STEP", times: accessor(input), values: accessor(output) };
  });
  const every = channels.map(({ sampler }) => accessor(samplers[sampler].input));
  const times = every.reduce((longest, some) => (some.length > longest.length ? some : longest), new Float32Array(0));
  return { name, times, channels: moved, length: every.reduce((most, some) => Math.max(most, some[some.length - 1] ?? 0), 0) };
}

/** Returns the local transforms of all nodes at a time of a clip: translation, rotation, scale, or a matrix. */
export function sampleClip(character, clip, time) {
  const locals = character.nodes.map(({ local }) => ({ ...local }));
  for (const { node, path, step, times, values } of clip.channels) {
    const size = values.length / times.length;
    let at = 0;
    while (at + 1 < times.length && times[at + 1] <= time) at++;
    const next = Math.min(at + 1, times.length - 1);
    const span = times[next] - times[at];
    const t = step || span <= 0 ? 0 : Math.min(Math.max((time - times[at]) / span, 0), 1);
    const [a, b] = [at, next].map((key) => [...values.subarray(size * key, size * key + size)]);
    const local = locals[node];
    if (local.matrix) continue; // glTF forbids to animate a node with a matrix
    local[path] = path === "rotation" ? slerp(a, b, t) : a.map((x, i) => x + t * (b[i] - x));
  }
  return locals;
}

/** Returns the world matrices of all nodes from their local transforms, 16 numbers each, column by column. */
export function worldMatrices(character, locals) {
  const worlds = new Array(locals.length).fill(null);
  const worldOf = (at) => {
    const { parent } = character.nodes[at];
    worlds[at] ??= parent < 0 ? matrixOf(locals[at]) : product4(worldOf(parent), matrixOf(locals[at]));
    return worlds[at];
  };
  locals.forEach((_, at) => worldOf(at));
  return worlds;
}

function localOf({ matrix, translation = [0, 0, 0], rotation = [0, 0, 0, 1], scale = [1, 1, 1] }) {
  return matrix ? { matrix } : { translation, rotation, scale };
}

/** The matrix of a local transform, column by column. */
export function matrixOf({ matrix, translation, rotation, scale }) {
  if (matrix) return matrix;
  const [x, y, z, w] = rotation;
  const columns = [
    [1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w)],
    [2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w)],
    [2 * (x * z + y * w), 2 * (y * z - x * w), 1 - 2 * (x * x + y * y)],
  ];
  return [...XYZ.flatMap((c) => [...columns[c].map((entry) => entry * scale[c]), 0]), ...translation, 1];
}

/** The product of two 4×4 matrices, column by column. */
export function product4(a, b) {
  const out = new Array(16);
  for (let c = 0; c < 4; c++) {
    for (let r = 0; r < 4; r++) {
      out[4 * c + r] = a[r] * b[4 * c] + a[4 + r] * b[4 * c + 1] + a[8 + r] * b[4 * c + 2] + a[12 + r] * b[4 * c + 3];
    }
  }
  return out;
}

/** The rotation between two quaternions (x, y, z, w), the shorter way. */
function slerp(a, b, t) {
  const cosine = a.reduce((total, x, i) => total + x * b[i], 0);
  const sign = cosine < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(1, Math.abs(cosine)));
  const [p, q] = angle < 1e-6 ? [1 - t, t] : [Math.sin((1 - t) * angle) / Math.sin(angle), Math.sin(t * angle) / Math.sin(angle)];
  const mixed = a.map((x, i) => p * x + sign * q * b[i]);
  const norm = Math.hypot(...mixed) || 1;
  return mixed.map((x) => x / norm);
}

function demand(isTrue, reason) {
  if (!isTrue) throw new Error(`GLB: ${reason}`);
}
