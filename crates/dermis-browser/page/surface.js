// The surface under the pointer: rays, the skin near a place, and frames that carry a movement to the other side.

/** A vertex without a partner on the other side. */
const ALONE = 0xffffffff;

const add = (a, b, factor = 1) => [a[0] + factor * b[0], a[1] + factor * b[1], a[2] + factor * b[2]];
const minus = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const scaled = (a, factor) => [factor * a[0], factor * a[1], factor * a[2]];
const unit = (a) => scaled(a, 1 / (Math.hypot(...a) || 1));
const pointOf = (points, v) => [points[3 * v], points[3 * v + 1], points[3 * v + 2]];

/** Neighbours of every vertex along edges of triangles: those of v are list[starts[v]] to list[starts[v + 1]]. */
function neighboursOf(triangles, vertices) {
  const edges = edgesOf(triangles);
  const starts = new Uint32Array(vertices + 1);
  for (const v of edges) starts[v + 1] += 1;
  for (let v = 0; v < vertices; v++) starts[v + 1] += starts[v];
  const [list, next] = [new Uint32Array(edges.length), starts.slice()];
  for (let e = 0; e < edges.length; e += 2) {
    list[next[edges[e]]++] = edges[e + 1];
    list[next[edges[e + 1]]++] = edges[e];
  }
  return { starts, list };
}

/** Triangles at every vertex, as `neighboursOf` has neighbours: places of their first corners. */
function cornersOf(triangles, vertices) {
  const starts = new Uint32Array(vertices + 1);
  for (const v of triangles) starts[v + 1] += 1;
  for (let v = 0; v < vertices; v++) starts[v + 1] += starts[v];
  const [list, next] = [new Uint32Array(triangles.length), starts.slice()];
  triangles.forEach((v, at) => { list[next[v]++] = at - (at % 3); });
  return { starts, list };
}

/** Sets the normals of vertices that moved, and of their neighbours: area-weighted means, as `smoothNormals` makes them. */
function turnNormals({ positions, normals, triangles }, { neighbours, corners }, moved) {
  const isSeen = new Uint8Array(normals.length / 3);
  const around = [];
  const see = (v) => { if (!isSeen[v]) { isSeen[v] = 1; around.push(v); } };
  for (const v of moved) {
    see(v);
    for (let at = neighbours.starts[v]; at < neighbours.starts[v + 1]; at++) see(neighbours.list[at]);
  }
  for (const v of around) {
    let [x, y, z] = [0, 0, 0];
    for (let at = corners.starts[v]; at < corners.starts[v + 1]; at++) {
      const t = corners.list[at];
      const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
      const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
      const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
      x += uy * vz - uz * vy;
      y += uz * vx - ux * vz;
      z += ux * vy - uy * vx;
    }
    const length = Math.sqrt(x * x + y * y + z * z) || 1;
    normals[3 * v] = x / length;
    normals[3 * v + 1] = y / length;
    normals[3 * v + 2] = z / length;
  }
}

/** The ray from the camera through a place of the stage, in its pixels from the left and the top. */
function rayThrough(camera, { x, y, width, height }) {
  const { rotation: r } = cameraMatrices(camera, 1);
  const slope = Math.tan(FIELD_OF_VIEW / 2);
  const [across, up] = [((2 * x) / width - 1) * slope * (width / height), (1 - (2 * y) / height) * slope];
  const direction = unit([0, 1, 2].map((i) => across * r[i] + up * r[3 + i] - r[6 + i]));
  return { from: [0, 1, 2].map((i) => camera.target[i] + camera.distance * r[6 + i]), direction };
}

/** The nearest front of a triangle on a ray (Möller and Trumbore 1997): { point, vertex nearest to it, far }; null without one. */
function hitOf({ from, direction }, positions, triangles) {
  const [ox, oy, oz] = from, [dx, dy, dz] = direction;
  let [best, nearest] = [-1, Infinity];
  for (let t = 0; t < triangles.length; t += 3) {
    const [i, j, k] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ax = positions[i], ay = positions[i + 1], az = positions[i + 2];
    const ex = positions[j] - ax, ey = positions[j + 1] - ay, ez = positions[j + 2] - az;
    const fx = positions[k] - ax, fy = positions[k + 1] - ay, fz = positions[k + 2] - az;
    const qx = dy * fz - dz * fy, qy = dz * fx - dx * fz, qz = dx * fy - dy * fx;
    const volume = ex * qx + ey * qy + ez * qz;
    if (!(volume > 0)) continue; // its back, or seen edge on
    const sx = ox - ax, sy = oy - ay, sz = oz - az;
    const a = sx * qx + sy * qy + sz * qz;
    if (a < 0 || a > volume) continue;
    const rx = sy * ez - sz * ey, ry = sz * ex - sx * ez, rz = sx * ey - sy * ex;
    const b = dx * rx + dy * ry + dz * rz;
    if (b < 0 || a + b > volume) continue;
    const far = (fx * rx + fy * ry + fz * rz) / volume;
    if (far > 0 && far < nearest) [best, nearest] = [t, far];
  }
  if (best < 0) return null;
  const point = add(from, direction, nearest);
  const corners = [triangles[best], triangles[best + 1], triangles[best + 2]];
  const away = (v) => Math.hypot(...minus(pointOf(positions, v), point));
  return { point, far: nearest, vertex: corners.reduce((least, v) => (away(v) < away(least) ? v : least)) };
}

/**
 * The skin within a radius of a place, as far as it hangs together there: another finger is not reached through the air.
 *
 * @returns {[number[], number[]]} vertices, and a falloff (1 − d²/r²)² for each
 */
function skinNear(positions, { starts, list }, seed, place, radius) {
  const [vertices, falloff] = [[], []];
  const seen = new Set([seed]);
  const waiting = [seed];
  while (waiting.length) {
    const v = waiting.pop();
    const share = 1 - (Math.hypot(...minus(pointOf(positions, v), place)) / radius) ** 2;
    // The seed counts even where the radius is smaller than a triangle.
    if (share <= 0 && v !== seed) continue;
    vertices.push(v);
    falloff.push(share > 0 ? share * share : 0);
    for (let at = starts[v]; at < starts[v + 1]; at++) {
      if (!seen.has(list[at])) { seen.add(list[at]); waiting.push(list[at]); }
    }
  }
  return [vertices, falloff];
}

/** The frame of a vertex on the skin: its normal, the direction to a neighbour across it, and the third; null where the skin is flat to a point. */
function frameAt(positions, normals, v, neighbour) {
  const n = pointOf(normals, v);
  const to = minus(pointOf(positions, neighbour), pointOf(positions, v));
  const across = add(to, n, -dot(to, n));
  const size = Math.hypot(...across);
  return size > 0 ? [n, scaled(across, 1 / size), cross(n, scaled(across, 1 / size))] : null;
}

/** A movement of a vertex as its partner has it: the same along the skin's frame there, mirrored. Null without a partner. */
function mirroredMove(positions, normals, { starts, list }, partners, v, move) {
  const partner = partners[v];
  if (partner === ALONE) return null;
  let neighbour = ALONE;
  for (let at = starts[v]; at < starts[v + 1] && neighbour === ALONE; at++) {
    if (partners[list[at]] !== ALONE && partners[list[at]] !== partner) neighbour = list[at];
  }
  if (neighbour === ALONE) return null;
  const own = frameAt(positions, normals, v, neighbour);
  const other = frameAt(positions, normals, partner, partners[neighbour]);
  if (!own || !other) return null;
  const [n, t, b] = own.map((axis) => dot(axis, move));
  return add(add(scaled(other[0], n), other[1], t), other[2], -b);
}
