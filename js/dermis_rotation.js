// Matrices of three rows, and the coordinate of a joint in a pose space: step 3 of docs/drivers.md.

/** How many numbers a coordinate of each kind has. */
export const COORDINATE_SIZES = { "chord": 9, "rotation-vector": 3, "euler": 3, "swing-twist": 5 };

/** Returns the coordinate of Q. `coordinates` is that of the table; `axis` is the joint's. */
export function coordinate(q, axis, coordinates) {
  if (coordinates.kind === "chord") return XYZ.flatMap((c) => XYZ.map((r) => (q[r][c] - (r === c)) / Math.SQRT2));
  const rotation = nearestRotation(q);
  if (coordinates.kind === "euler") {
    const [x0, y0, z0] = rotation.map((row) => row[0]);
    const sine = Math.min(Math.max(-z0, -1), 1); // rounding may leave the domain of asin
    return [Math.atan2(rotation[2][1], rotation[2][2]), Math.asin(sine), Math.atan2(y0, x0)];
  }
  const [w, ...v] = quaternion(rotation);
  if (coordinates.kind === "rotation-vector") {
    const norm = Math.hypot(...v);
    return v.map((x) => (norm === 0 ? 0 : (x / norm) * 2 * Math.atan2(norm, w)));
  }
  const along = dot(v, axis);
  const n = Math.hypot(along, w);
  const [h, g] = n < 1e-12 ? [0, 1] : [along / n, w / n];
  const swing = rotation.map((row, r) => coordinates.swing * (dot(row, axis) - axis[r]));
  return [...swing, -2 * h * h * coordinates.twist, 2 * h * g * coordinates.twist];
}

/** Returns the orthogonal polar factor. Newton's iteration squares its error: a step below 1e-9 is the last. */
function nearestRotation(q) {
  for (let step = 0, change = 1; step < 50 && change > 1e-9; step++) {
    const inverse = inverse3(q);
    const next = XYZ.map((r) => XYZ.map((c) => (q[r][c] + inverse[c][r]) / 2));
    change = Math.hypot(...next.flatMap((row, r) => row.map((x, c) => x - q[r][c])));
    q = next;
  }
  return q;
}

/** Returns (w, x, y, z) with w ≥ 0, from the row of 4 q qᵀ that is longest, which is accurate at every angle. */
function quaternion([[a, b, c], [d, e, f], [g, h, i]]) {
  const rows = [
    [1 + a + e + i, h - f, c - g, d - b],
    [h - f, 1 + a - e - i, b + d, c + g],
    [c - g, b + d, 1 - a + e - i, f + h],
    [d - b, c + g, f + h, 1 - a - e + i],
  ];
  const longest = rows.reduce((best, row) => (dot(row, row) > dot(best, best) ? row : best));
  const length = Math.hypot(...longest) * (longest[0] < 0 ? -1 : 1);
  return longest.map((x) => x / length);
}

/** Returns the inverse of the first three columns of `matrix`. */
export function inverse3([a, b, c]) {
  const columns = [cross(b, c), cross(c, a), cross(a, b)];
  const determinant = dot(columns[0], a);
  return XYZ.map((r) => columns.map((column) => column[r] / determinant));
}

/** Returns a times the first three columns of b. */
export function product3(a, b) {
  return a.map((row) => XYZ.map((c) => row[0] * b[0][c] + row[1] * b[1][c] + row[2] * b[2][c]));
}

/** Returns the inner product over the length of `a`. */
export function dot(a, b) {
  return a.reduce((sum, x, i) => sum + x * b[i], 0);
}

function cross(a, b) {
  return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
}

export const XYZ = [0, 1, 2];
export const IDENTITY = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
