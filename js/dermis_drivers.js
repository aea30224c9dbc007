// Computes the weights of morph targets from the pose: of a joint model or a pose space, by the equations and names of
// docs/drivers.md. Knows neither three.js nor files; dermis.js brings both. A table is the JSON of `dermis export drivers`, or what
// `extensionTable` makes of an extension of a GLB.

import { COORDINATE_SIZES, IDENTITY, XYZ, coordinate, dot, inverse3, product3 } from "./dermis_rotation.js";

export class Drivers {
  /**
   * Takes a parsed table. Throws an Error that names what is wrong, if the table is of an unknown kind, lacks a field, or its
   * counts contradict each other.
   */
  constructor(table) {
    demand(table !== null && typeof table === "object", "an object is expected");
    const { format, version, kind, bones, shapes, offset, clamp } = table;
    demand(format === "dermis-drivers", `format is ${format}, not dermis-drivers`);
    const isPoseSpace = (version === 2 || version === 3) && kind === "pose-space";
    demand([1, 4, 5, 6].includes(version) || isPoseSpace, `this reader does not know version ${version}, kind ${kind}`);
    const lists = isPoseSpace ? ["bones", "shapes", "joints", "channels", "regions"] : ["bones", "shapes", "joints", "matrix"];
    lists.forEach((name) => demand(Array.isArray(table[name]), `${name} is no list`));
    bones.forEach((bone) => checkRows(bone.inverse_bind, 3, 4, `inverse_bind of ${bone.name}`));
    checkRows([offset], 1, shapes.length, "offset");
    checkRows([clamp], 1, 2, "clamp");
    demand(clamp[0] <= clamp[1], `clamp is from ${clamp[0]} to ${clamp[1]}`);
    Object.assign(this, { bones, shapes, offset, clamp, addTo: isPoseSpace ? poseSpace(table) : jointModel(table) });
    if (version === 4 || table.sculpts) this.addTo = withSculpts(table, this.addTo);
  }

  /**
   * Returns a weight for every name in `shapes`. `worldOf(name, bone)` is the joint-to-world matrix of a bone of the table: 16
   * numbers, column by column, in the axes of the GLB. `channels` has values by name; one that it lacks is zero.
   */
  weights(worldOf, channels = {}) {
    const transforms = this.bones.map((bone) => {
      const { name, inverse_bind } = bone;
      const world = worldOf(name, bone);
      demand(world, `the rig has no bone ${name}`);
      return XYZ.map((r) => [0, 1, 2, 3].map((c) =>
        sum(XYZ.map((k) => world[4 * k + r] * inverse_bind[k][c])) + (c === 3 ? world[12 + r] : 0)));
    });
    const weights = Float64Array.from(this.offset);
    const windows = new Float64Array(weights.length).fill(1);
    this.addTo(weights, transforms, channels, windows);
    // A bone scaled to zero has no inverse. NaN would hide the whole mesh, so the weight of the bind pose replaces it.
    const [least, largest] = this.clamp;
    return weights.map((w, i) => windows[i] * Math.min(Math.max(Number.isFinite(w) ? w : this.offset[i], least), largest));
  }
}

/** Checks the sculpts of a table of version 4 or 5. Returns what adds their weights after those of the joint model. */
function withSculpts({ bones, shapes, matrix, sculpts }, addJoints) {
  demand(sculpts !== null && typeof sculpts === "object", "sculpts is no object");
  ["joints", "channels", "regions"].forEach((name) => demand(Array.isArray(sculpts[name]), `${name} of sculpts is no list`));
  demand(sculpts.regions.every((region) => region.shapes?.every((i) => i >= matrix.length)), "a sculpt has the shape of a joint");
  const addSculpts = poseSpace({ ...sculpts, bones, shapes });
  return (...all) => {
    addJoints(...all);
    addSculpts(...all);
  };
}

/** Checks a table of version 1, or the joints of one of version 4 or 5. Returns what adds `matrix` z to the weights. */
function jointModel({ version, length, sigma, arc_cosine = 0, bones, joints, gravity, matrix, shapes, sculpts }) {
  demand(length > 0 && sigma > 0 && Number.isFinite(length + sigma), `length is ${length} and sigma is ${sigma}`);
  demand(arc_cosine >= 0 && arc_cosine <= 1 && (version >= 5 || !(arc_cosine || gravity)), `arc_cosine is ${arc_cosine}`);
  // φ of every joint of a pose, or the part of it that is read; products read two that stand before them.
  const features = [];
  const coordinates = joints.map(({ from, to, centre, limit, inducing, inverse_factor, swing, twist, product, second }, j) => {
    demand(bones[from] && bones[to], `joint ${j} names a bone that is not in the table`);
    demand(Array.isArray(inducing) && Array.isArray(inverse_factor), `joint ${j} lacks inducing or inverse_factor`);
    checkLimit(limit, `joint ${j}`);
    if (centre !== null) checkRows([centre], 1, 3, `centre of joint ${j}`);
    checkRows(inducing, inverse_factor.length, 12, `inducing of joint ${j}`);
    inverse_factor.forEach((row, i) => checkRows([row], 1, i + 1, `inverse_factor of joint ${j}`));
    const kernels = kernelsAt(inducing, sigma, arc_cosine);
    if (product) {
      const [e, f] = product;
      demand([e, f].every((at) => joints[at] && at < j && !joints[at].product), `joint ${j} is a product of joints that do not stand before it`);
      checkRows(second, inducing.length, 12, `second of joint ${j}`);
      const others = kernelsAt(second, sigma, arc_cosine);
      return () => {
        const [x, y] = [kernels(features[e]), others(features[f])];
        const k = x.map((value, i) => (value * y[i]) / sigma ** 2);
        return inverse_factor.map((row) => dot(row, k));
      };
    }
    return (transforms) => {
      const [a, b] = [transforms[from], transforms[to]];
      const inverse = inverse3(a);
      const apart = XYZ.map((r) => b[r][3] - a[r][3]);
      const turn = product3(inverse, b);
      // Without a centre the rotation alone is read.
      const slides = XYZ.map((r) => (centre === null ? 0 : dot(inverse[r], apart) / length + dot(turn[r], centre) - centre[r]));
      features[j] = limited(partOf(turn, slides, { swing, twist }), limit);
      const k = kernels(features[j]);
      return inverse_factor.map((row) => dot(row, k));
    };
  });
  const sagging = gravity ? gravitySeen(gravity, bones) : [];
  // With sculpts the first shapes alone are those of the joints.
  const rows = version === 1 || (version >= 5 && !sculpts) ? shapes.length : Math.min(matrix.length, shapes.length);
  checkRows(matrix, rows, sum(joints.map((joint) => joint.inducing.length)) + 3 * sagging.length, "matrix");
  return (weights, transforms) => {
    const z = [...coordinates, ...sagging].flatMap((of) => of(transforms));
    matrix.forEach((row, i) => { weights[i] += dot(row, z); });
  };
}

/** Returns what gives the kernel of a feature with each of some others. */
function kernelsAt(inducing, sigma, arc_cosine) {
  const origin = new Array(12).fill(0);
  // g − 1: the ones of g(φ, ψ) − g(φ, 0) − g(0, ψ) + 1 cancel, and expm1 keeps the digits that go with them.
  const g1 = (x, y) => Math.expm1(-squaredDistance(x, y) / sigma ** 2);
  const atBind = inducing.map((psi) => g1(origin, psi));
  return (phi) => {
    const toOrigin = g1(phi, origin);
    const gaussian = (psi, i) => (sigma ** 2 / 2) * (g1(phi, psi) - toOrigin - atBind[i]);
    return inducing.map((psi, i) => (1 - arc_cosine) * gaussian(psi, i) + (arc_cosine && arc_cosine * arcCosine(phi, psi)));
  };
}

/** φ of a turn and a slide; the swing of an axis with the slide; or the twist about an axis. */
function partOf(turn, slides, { swing, twist }) {
  const rows = (matrix) => matrix.flatMap((row, r) => [...row.map((x, c) => (x - (r === c)) / Math.SQRT2), slides[r]]);
  if (swing) return XYZ.flatMap((r) => [dot(turn[r], swing) - swing[r], 0, 0, slides[r]]);
  if (!twist) return rows(turn);
  // The shortest turn of the axis to where it goes, 1 + K + K² / (1 + cos).
  const to = turn.map((row) => dot(row, twist));
  const [x, y, z] = XYZ.map((i) => twist[(i + 1) % 3] * to[(i + 2) % 3] - twist[(i + 2) % 3] * to[(i + 1) % 3]);
  const cross = [[0, -z, y], [z, 0, -x], [-y, x, 0]];
  const squared = product3(cross, cross);
  const share = 1 / Math.max(1 + dot(twist, to), 1e-3);
  const back = XYZ.map((r) => XYZ.map((c) => (r === c) + cross[c][r] + share * squared[c][r]));
  slides = [0, 0, 0];
  return rows(product3(back, turn));
}

/** The arc-cosine kernel of order one. */
function arcCosine(x, y) {
  const lengths = Math.sqrt(dot(x, x) * dot(y, y));
  if (!lengths) return 0;
  const cosine = Math.min(Math.max(dot(x, y) / lengths, -1), 1);
  const angle = Math.acos(cosine);
  return (lengths * (Math.sin(angle) + (Math.PI - angle) * cosine)) / Math.PI;
}

/** Checks the bones that see down. Returns, for each, what makes its three coordinates. */
function gravitySeen({ down, bones: seeing }, bones) {
  checkRows([down], 1, 3, "down");
  demand(Array.isArray(seeing), "bones of gravity is no list");
  return seeing.map(({ bone, limit }, i) => {
    demand(bones[bone], `bone ${i} of gravity is not in the table`);
    checkLimit(limit, `bone ${i} of gravity`);
    return (transforms) => limited(XYZ.map((axis) => {
      const column = XYZ.map((row) => transforms[bone][row][axis]);
      const length = Math.sqrt(dot(column, column));
      return length ? dot(column, down) / length - down[axis] : 0;
    }), limit);
  });
}

/** Checks a pose space: a table of version 2 or 3, or sculpts. Returns what adds the values of all regions to the weights, and multiplies the windows. */
function poseSpace({ coordinates, kernel, linear, bones, joints, channels, regions, shapes }) {
  const [size, kernelOf] = [COORDINATE_SIZES[coordinates?.kind], KERNELS[kernel?.kind]];
  demand(size && kernelOf, `this reader does not know coordinates ${coordinates?.kind} or kernel ${kernel?.kind}`);
  demand(kernel.sigma > 0 && Number.isFinite(kernel.sigma), `sigma is ${kernel.sigma}`);
  const { swing, twist } = coordinates;
  demand(coordinates.kind !== "swing-twist" || Number.isFinite(swing + twist), `swing is ${swing} and twist is ${twist}`);
  const ofJoints = joints.map(({ path, axis, limit, part }, j) => {
    demand(Array.isArray(path), `joint ${j} has no path`);
    const hasPart = part === undefined || (coordinates.kind === "swing-twist" && ["swing", "twist"].includes(part));
    demand(hasPart, `joint ${j} reads the part ${part} of coordinates ${coordinates.kind}`);
    const kinds = { ...coordinates, swing: part === "twist" ? 0 : swing, twist: part === "swing" ? 0 : twist };
    demand(path.flat().every((bone) => bones[bone]), `joint ${j} names a bone that is not in the table`);
    checkLimit(limit, `joint ${j}`);
    checkRows([axis], 1, 3, `axis of joint ${j}`);
    const q = (transforms) =>
      path.map(([a, b]) => product3(inverse3(transforms[a]), transforms[b])).reduce(product3, IDENTITY);
    return { size, of: (transforms) => limited(coordinate(q(transforms), axis, kinds), limit) };
  });
  const ofChannels = channels.map(({ name, scale, limit }) => {
    demand(Number.isFinite(scale), `channel ${name}: scale is ${scale}`);
    checkLimit(limit, `channel ${name}`);
    return { size: 1, of: (_, values) => limited([scale * (values[name] ?? 0)], limit) };
  });
  const all = [...ofJoints, ...ofChannels];
  const adders = regions.map(({ relevance, centres, shapes: targets, matrix, windows = [] }, r) => {
    [relevance, centres, targets].forEach((list) => demand(Array.isArray(list), `region ${r} lacks a list`));
    demand(relevance.every(([j]) => all[j]), `region ${r} names a coordinate that is not there`);
    demand(relevance.every(([, a]) => a >= 0 && Number.isFinite(a)), `region ${r} has a relevance that is no number, or negative`);
    demand(targets.every((i) => i in shapes), `region ${r} names a shape that is not there`);
    const sizes = relevance.map(([j]) => all[j].size);
    checkRows(centres, centres.length, sum(sizes), `centres of region ${r}`);
    checkRows(matrix, targets.length, centres.length + (linear ? sum(sizes) : 0), `matrix of region ${r}`);
    demand(Array.isArray(windows) && (windows.length === 0 || windows.length === targets.length), `region ${r}: a window per shape is expected`);
    windows.forEach((window) => {
      checkRows([window.relevance], 1, relevance.length, `window of region ${r}`);
      demand(centres[window.centre] && window.relevance.every((b) => b >= 0), `a window of region ${r} names a centre that is not there, or is negative`);
    });
    const phi = (x, y) => kernelOf(relevance.map(([, a], n) => a * squaredDistance(x[n], y[n]) / kernel.sigma ** 2));
    const origin = sizes.map((size) => new Array(size).fill(0));
    const points = centres.map((centre) => {
      const y = sizes.map((size, n) => centre.slice(sum(sizes.slice(0, n)), sum(sizes.slice(0, n + 1))));
      return { y, atBind: phi(origin, y) };
    });
    return (weights, x, factors) => {
      const here = relevance.map(([j]) => x[j]);
      const toOrigin = phi(here, origin);
      const values = points.map(({ y, atBind }) => (kernel.kind === "polyharmonic"
        ? (phi(here, y) - toOrigin - atBind) / 2
        : phi(here, y) - toOrigin * atBind));
      if (linear) values.push(...relevance.flatMap(([, a], n) => here[n].map((number) => Math.sqrt(a) * number)));
      targets.forEach((shape, i) => { weights[shape] += dot(matrix[i], values); });
      windows.forEach(({ centre, relevance: b }, i) => {
        factors[targets[i]] *= windowAt(sum(b.map((b, n) => b * squaredDistance(here[n], points[centre].y[n]))));
      });
    };
  });
  return (weights, transforms, values, factors) => {
    const x = all.map(({ of }) => of(transforms, values));
    adders.forEach((add) => add(weights, x, factors));
  };
}

const KERNELS = { // φ from r², one for every coordinate of a region
  gaussian: (squares) => Math.exp(-sum(squares)),
  wendland: (squares) => squares.map(Math.sqrt).reduce((p, r) => (r < 1 ? p * (1 - r) ** 7 * (7 * r + 1) : 0), 1),
  polyharmonic: (squares) => -Math.sqrt(sum(squares)),
};

/** One up to r = ¾, zero from r = 1, and smooth between. */
function windowAt(square) {
  const t = Math.min(Math.max(4 * Math.sqrt(square) - 3, 0), 1);
  return 1 - t * t * (3 - 2 * t);
}

function limited(x, limit) {
  const norm = Math.hypot(...x);
  return limit === null || norm <= limit ? x : x.map((number) => number * (limit / norm));
}

function checkRows(rows, count, size, what) {
  const isRow = (row) => Array.isArray(row) && row.length === size && row.every(Number.isFinite);
  demand(Array.isArray(rows) && rows.length === count && rows.every(isRow), `${what}: ${count} × ${size} finite numbers are expected`);
}

function checkLimit(limit, what) {
  demand(limit === null || Number.isFinite(limit), `${what}: the limit is ${limit}, not a number or null`);
}

function demand(isTrue, reason) {
  if (!isTrue) throw new Error(`driver table: ${reason}`);
}

const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);
const squaredDistance = (a, b) => a.reduce((total, x, i) => total + (x - b[i]) ** 2, 0);
