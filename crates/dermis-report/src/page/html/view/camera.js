// The 3D view: one camera for all skins.

const FIELD_OF_VIEW = (28 * Math.PI) / 180;

/// Rotation into the camera (rows: right, up, towards the viewer) and the matrix to clip space, column-major.
function cameraMatrices(camera, aspect) {
  const [cy, sy, cp, sp] = [Math.cos(camera.yaw), Math.sin(camera.yaw), Math.cos(camera.pitch), Math.sin(camera.pitch)];
  const rotation = [cy, 0, -sy, -sp * sy, cp, -sp * cy, cp * sy, sp, cp * cy];
  const t = camera.target;
  const moved = [0, 3, 6].map((r) => -(rotation[r] * t[0] + rotation[r + 1] * t[1] + rotation[r + 2] * t[2]));
  moved[2] -= camera.distance;
  const f = 1 / Math.tan(FIELD_OF_VIEW / 2);
  const near = Math.max(camera.distance - 4 * camera.radius, camera.distance * 0.02), far = camera.distance + 8 * camera.radius;
  const a = (far + near) / (near - far), b = (2 * far * near) / (near - far);
  const clip = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    const [x, y, z, w] = c < 3 ? [rotation[c], rotation[3 + c], rotation[6 + c], 0] : [moved[0], moved[1], moved[2], 1];
    clip[4 * c] = (f / aspect) * x; clip[4 * c + 1] = f * y; clip[4 * c + 2] = a * z + b * w; clip[4 * c + 3] = -z;
  }
  return { rotation, clip };
}

/// Yaw and pitch from which vertex v is seen: along its normal, or the nearest direction to that with nothing between.
function clearSight(shape, v, distance) {
  const { positions: p, normals: n, triangles } = shape;
  const target = [p[3 * v], p[3 * v + 1], p[3 * v + 2]];
  const normal = [n[3 * v], n[3 * v + 1], n[3 * v + 2]];
  const towards = (yaw, pitch) => [Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch), Math.cos(pitch) * Math.cos(yaw)];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const views = [{ yaw: Math.atan2(normal[0], normal[2]), pitch: Math.min(0.9, Math.max(-0.9, Math.asin(Math.min(1, Math.max(-1, normal[1]))))) }];
  for (let yaw = 0; yaw < 16; yaw++) for (const pitch of [-0.9, -0.45, 0, 0.45, 0.9]) views.push({ yaw: (yaw * Math.PI) / 8, pitch });
  views.forEach((view) => { view.along = dot(towards(view.yaw, view.pitch), normal); });
  const [first, ...others] = views;
  const order = [first, ...others.filter((view) => view.along > 0.1).sort((a, b) => b.along - a.along)];
  const cut = (direction) => {
    // Does a triangle without v cross the line of sight? (Moller and Trumbore 1997)
    for (let t = 0; t < triangles.length; t += 3) {
      const [i, j, k] = [triangles[t], triangles[t + 1], triangles[t + 2]];
      if (i === v || j === v || k === v) continue;
      const e = [0, 1, 2].map((c) => p[3 * j + c] - p[3 * i + c]), f = [0, 1, 2].map((c) => p[3 * k + c] - p[3 * i + c]);
      const q = [direction[1] * f[2] - direction[2] * f[1], direction[2] * f[0] - direction[0] * f[2], direction[0] * f[1] - direction[1] * f[0]];
      const volume = dot(e, q);
      if (!volume) continue;
      const s = [0, 1, 2].map((c) => target[c] - p[3 * i + c]);
      const a = dot(s, q) / volume;
      if (!(a >= 0 && a <= 1)) continue;
      const r = [s[1] * e[2] - s[2] * e[1], s[2] * e[0] - s[0] * e[2], s[0] * e[1] - s[1] * e[0]];
      const b = dot(direction, r) / volume;
      if (!(b >= 0 && a + b <= 1)) continue;
      const far = dot(f, r) / volume;
      if (far > 1e-3 * distance && far < distance) return true;
    }
    return false;
  };
  const clear = order.find((view) => !cut(towards(view.yaw, view.pitch))) ?? first;
  return { yaw: clear.yaw, pitch: clear.pitch };
}

/// Where a point is on the stage, in its pixels, and how deep; null behind the viewer.
function project(pane, [x, y, z], ratio, height) {
  const m = pane.clip;
  const w = m[3] * x + m[7] * y + m[11] * z + m[15];
  if (!(w > 0)) return null;
  const across = pane.x + (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w) * pane.width;
  return [across / ratio, (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w) * height, w];
}

/// Yaw, pitch and the rest of a camera that shows all points of a shape, as near as they just fit.
function frameShape(camera, positions, aspect) {
  const { rotation: r } = cameraMatrices(camera, 1);
  const seen = (p, row) => r[row] * p[0] + r[row + 1] * p[1] + r[row + 2] * p[2];
  const finite = [];
  for (let i = 0; i < positions.length; i += 3) {
    const p = [positions[i], positions[i + 1], positions[i + 2]];
    if (Number.isFinite(p[0] + p[1] + p[2])) finite.push([seen(p, 0), seen(p, 3), seen(p, 6)]);
  }
  if (!finite.length) finite.push([-1, -1, -1], [1, 1, 1]);
  const low = [0, 1, 2].map((i) => finite.reduce((a, q) => Math.min(a, q[i]), Infinity));
  const high = [0, 1, 2].map((i) => finite.reduce((a, q) => Math.max(a, q[i]), -Infinity));
  const middle = low.map((l, i) => 0.5 * (l + high[i]));
  camera.target = [0, 1, 2].map((i) => r[i] * middle[0] + r[3 + i] * middle[1] + r[6 + i] * middle[2]);
  camera.radius = 0.5 * Math.hypot(...high.map((h, i) => h - low[i])) || 1;
  // Near enough that every vertex just fits, with room for the names above and at the edges.
  const slope = Math.tan(FIELD_OF_VIEW / 2);
  camera.distance = finite.reduce((far, q) => {
    const [x, y, z] = q.map((c, i) => c - middle[i]);
    return Math.max(far, z + Math.abs(x) / (0.9 * slope * aspect), z + Math.abs(y) / (0.82 * slope));
  }, 0.5 * camera.radius);
}

/// Points of rings around the vertical through the middle of a shape, which hold the shape whichever way it is turned about it.
function ringsAround(positions) {
  const LEVELS = 24, TURNS = 24;
  const low = [Infinity, Infinity, Infinity], high = [-Infinity, -Infinity, -Infinity];
  for (let i = 0; i < positions.length; i++) {
    if (!Number.isFinite(positions[i])) continue;
    low[i % 3] = Math.min(low[i % 3], positions[i]);
    high[i % 3] = Math.max(high[i % 3], positions[i]);
  }
  const [x, z] = [0, 2].map((i) => 0.5 * (low[i] + high[i]));
  const radii = new Float64Array(LEVELS).fill(-1);
  for (let i = 0; i < positions.length; i += 3) {
    const level = Math.floor((LEVELS - 1e-6) * (positions[i + 1] - low[1]) / (high[1] - low[1] || 1));
    const radius = Math.hypot(positions[i] - x, positions[i + 2] - z);
    if (level >= 0 && level < LEVELS && radius > radii[level]) radii[level] = radius;
  }
  const points = [];
  radii.forEach((radius, level) => {
    if (radius < 0) return;
    for (const y of [level, level + 1]) {
      for (let turn = 0; turn < TURNS; turn++) {
        const angle = (2 * Math.PI * turn) / TURNS;
        points.push(x + radius * Math.sin(angle), low[1] + (y / LEVELS) * (high[1] - low[1]), z + radius * Math.cos(angle));
      }
    }
  });
  return new Float32Array(points);
}
