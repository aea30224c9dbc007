"use strict";
// The 3D view, first part: the stored skins as arrays of numbers, their normals, edges and errors.

/// Magma from its bright end, without its black one, at nine even steps: no error looks like pale skin, and the map grows
/// evenly darker, by way of orange and red, to violet.
const MAGMA = ["fcfdbf", "fece91", "fe9f6d", "f7705c", "de4968", "b73779", "8c2981", "641a80", "3b0f70"].map((hex) =>
  [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255));
const CLAY = [0.85, 0.825, 0.8], NOT_FINITE = [0.2, 0.85, 0.3];

/// The map's colour at t in 0..1.
function magma(t) {
  const at = Math.min(Math.max(t, 0), 1) * (MAGMA.length - 1);
  const i = Math.min(Math.floor(at), MAGMA.length - 2);
  return [0, 1, 2].map((c) => MAGMA[i][c] + (MAGMA[i + 1][c] - MAGMA[i][c]) * (at - i));
}

function decodeBytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/// Three numbers per vertex; NaN where a vertex was not finite.
function decodePoints(packed) {
  const raw = decodeBytes(packed.data);
  if (packed.kind === "f32") return new Float32Array(raw.buffer);
  if (packed.kind === "u8") {
    // The square of a code is its share of the largest number on its axis: the steps near zero are the finest.
    const values = new Float32Array(256).map((_, q) => (q === 255 ? NaN : ((q - 127) / 127) * Math.abs((q - 127) / 127)));
    const points = new Float32Array(raw.length);
    for (let i = 0; i < raw.length; i++) points[i] = packed.step[i % 3] * values[raw[i]];
    return points;
  }
  const codes = new Uint16Array(raw.buffer);
  const out = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i++) {
    out[i] = codes[i] === 65535 ? NaN : packed.min[i % 3] + packed.step[i % 3] * codes[i];
  }
  return out;
}

/// Area-weighted mean of the triangles' normals, per vertex.
function smoothNormals(positions, triangles) {
  const n = new Float32Array(positions.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    for (const i of [a, b, c]) { n[i] += x; n[i + 1] += y; n[i + 2] += z; }
  }
  for (let i = 0; i < n.length; i += 3) {
    const length = Math.sqrt(n[i] * n[i] + n[i + 1] * n[i + 1] + n[i + 2] * n[i + 2]) || 1;
    n[i] /= length; n[i + 1] /= length; n[i + 2] /= length;
  }
  return n;
}

/// One skin ready to be drawn. Errors in the shown unit come later, where there is something to compare with.
function makeShape(positions, allTriangles) {
  const finite = (v) => Number.isFinite(positions[3 * v] + positions[3 * v + 1] + positions[3 * v + 2]);
  let missing = 0;
  for (let v = 0; v < positions.length / 3; v++) if (!finite(v)) missing++;
  const triangles = missing === 0 ? allTriangles : keepTriangles(allTriangles, finite);
  return { positions, triangles, missing, normals: smoothNormals(positions, triangles), errors: null };
}

/// Lengths of the differences from the target, their root mean square and maximum over the finite ones.
function measure(difference, scale) {
  const errors = new Float32Array(difference.length / 3);
  let sum = 0, count = 0, max = 0;
  for (let v = 0; v < errors.length; v++) {
    const e = scale * Math.hypot(difference[3 * v], difference[3 * v + 1], difference[3 * v + 2]);
    errors[v] = e;
    if (!Number.isFinite(e)) continue;
    sum += e * e; count++;
    max = Math.max(max, e);
  }
  return { errors, rms: count ? Math.sqrt(sum / count) : NaN, max: count ? max : NaN };
}

function keepTriangles(triangles, finite) {
  const kept = [];
  for (let t = 0; t < triangles.length; t += 3) {
    if (finite(triangles[t]) && finite(triangles[t + 1]) && finite(triangles[t + 2])) kept.push(triangles[t], triangles[t + 1], triangles[t + 2]);
  }
  return new Uint32Array(kept);
}

/// The edges of triangles, each once, as pairs of vertices.
const edgesOf = (() => {
  const known = new WeakMap();
  return (triangles) => {
    if (known.has(triangles)) return known.get(triangles);
    const seen = new Set(), edges = [];
    for (let t = 0; t < triangles.length; t++) {
      const a = triangles[t], b = triangles[t % 3 === 2 ? t - 2 : t + 1];
      const key = Math.min(a, b) * 4294967296 + Math.max(a, b);
      if (seen.has(key)) continue;
      seen.add(key);
      edges.push(a, b);
    }
    known.set(triangles, new Uint32Array(edges));
    return known.get(triangles);
  };
})();

/// The mesh as its file draws it, with the pictures of its materials; null without any. `ready` hears of each picture.
function readSurface(packed, ready) {
  if (!packed) return null;
  const images = packed.images.map(({ kind, data }) => {
    const image = new Image();
    image.onload = ready;
    image.src = `data:${kind};base64,${data}`;
    return image;
  });
  return {
    source: new Uint32Array(decodeBytes(packed.source).buffer),
    uvs: new Float32Array(decodeBytes(packed.uvs).buffer),
    triangles: new Uint32Array(decodeBytes(packed.triangles).buffer),
    parts: packed.parts.map(([start, count, image]) => ({ start, count, image: images[image] ?? null })),
  };
}

/// The shapes of every frame of a view, decoded when they are first asked for; the latest ones are kept.
function shapeStore(view, scale) {
  const MOST_BYTES = 2e8;
  const triangles = new Uint32Array(decodeBytes(view.triangles).buffer);
  const kept = new Map();
  const bytesOfOne = view.vertices * (12 + 12 + 4) * 3;
  const made = (index) => {
    if (index >= view.frames.length) return { target: makeShape(decodePoints(view.rest), triangles) };
    const frame = view.frames[index];
    const target = decodePoints(frame.target);
    const shapes = { target: makeShape(target, triangles) };
    for (const kind of ["model", "baseline"]) {
      if (!frame[kind]) continue;
      // The stored difference is finer than the stored target: the error is that of the difference.
      const difference = decodePoints(frame[kind]);
      shapes[kind] = Object.assign(makeShape(difference.map((d, i) => d + target[i]), triangles), measure(difference, scale));
    }
    return shapes;
  };
  return {
    shapes: (index) => {
      const shapes = kept.get(index) ?? made(index);
      kept.delete(index);
      kept.set(index, shapes);
      while (kept.size > 1 && kept.size * bytesOfOne > MOST_BYTES) kept.delete(kept.keys().next().value);
      return shapes;
    },
    /// The joints of a frame's skeleton, three numbers each; none of the rest shape.
    joints: (index) => (index < view.frames.length ? new Float32Array(decodeBytes(view.frames[index].joints).buffer) : new Float32Array(0)),
  };
}
