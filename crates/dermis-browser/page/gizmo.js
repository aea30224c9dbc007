// Joints are turned: rings about the axes of the chosen bone, and the rotations that a drag of them makes.

/** Product of quaternions (x, y, z, w): first b, then a. */
function times([ax, ay, az, aw], [bx, by, bz, bw]) {
  return [
    aw * bx + ax * bw + ay * bz - az * by,
    aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw,
    aw * bw - ax * bx - ay * by - az * bz,
  ];
}

/** The rotation about a unit axis by an angle, radians. */
function about(axis, angle) {
  const s = Math.sin(angle / 2);
  return [s * axis[0], s * axis[1], s * axis[2], Math.cos(angle / 2)];
}

/** How far a rotation turns, degrees. */
function degreesOf([x, y, z, w]) {
  return (360 / Math.PI) * Math.atan2(Math.hypot(x, y, z), Math.abs(w));
}

const RING_PIXELS = 64;
const RING_POINTS = 64;
const RING_INKS = ["#d6403a", "#2f9e44", "#2f6fde"];

class Gizmo {
  /** Joint-to-world matrices: twelve numbers a bone, by columns. */
  joints = new Float32Array(0);
  bone = -1;
  /** Whose axes: the bone's own, its parent's, or the world's. */
  space = "own";
  #parents;
  #held = null;

  constructor(parents) {
    this.#parents = parents;
  }

  /** Where a bone's joint is. */
  place(bone) {
    return [...this.joints.subarray(12 * bone + 9, 12 * bone + 12)];
  }

  #axesOf(bone) {
    return [0, 1, 2].map((axis) => unit([...this.joints.subarray(12 * bone + 3 * axis, 12 * bone + 3 * axis + 3)]));
  }

  /** The three axes in the world. */
  axes() {
    const parent = this.#parents[this.bone];
    if (this.space === "own") return this.#axesOf(this.bone);
    return this.space === "parent" && parent >= 0 ? this.#axesOf(parent) : [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
  }

  /** The rotation in the bone's own axes that turns it about an axis of the gizmo, radians. */
  turn(axis, angle) {
    const inWorld = this.axes()[axis];
    return about(unit(this.#axesOf(this.bone).map((own) => dot(own, inWorld))), angle);
  }

  /** Points of a ring on the stage. */
  ring(axis, { pane, ratio, height, camera }) {
    const centre = this.place(this.bone);
    const size = (RING_PIXELS * 2 * camera.distance * Math.tan(FIELD_OF_VIEW / 2)) / height;
    const [, u, v] = [0, 1, 2].map((i) => this.axes()[(axis + i) % 3]);
    return Array.from({ length: RING_POINTS }, (_, at) => {
      const angle = (2 * Math.PI * at) / RING_POINTS;
      return project(pane, add(add(centre, u, size * Math.cos(angle)), v, size * Math.sin(angle)), ratio, height);
    });
  }

  /** Draws the rings and the chosen bone's name. */
  draw(context, view, name) {
    if (this.bone < 0) return;
    const centre = project(view.pane, this.place(this.bone), view.ratio, view.height);
    if (!centre) return;
    for (const axis of [0, 1, 2]) {
      const ring = this.ring(axis, view);
      context.lineWidth = this.#held?.axis === axis ? 4 : 2.2;
      ring.forEach((point, at) => {
        const next = ring[(at + 1) % ring.length];
        if (!point || !next) return;
        context.strokeStyle = RING_INKS[axis];
        // What is behind the joint is faint.
        context.globalAlpha = point[2] <= centre[2] ? 1 : 0.25;
        context.beginPath();
        context.moveTo(point[0], point[1]);
        context.lineTo(next[0], next[1]);
        context.stroke();
      });
    }
    context.globalAlpha = 1;
    context.font = "600 12px system-ui, sans-serif";
    context.lineWidth = 3;
    context.strokeStyle = "#fff";
    context.fillStyle = "#0b3d3a";
    context.strokeText(name, centre[0] + 8, centre[1] - 8);
    context.fillText(name, centre[0] + 8, centre[1] - 8);
  }

  /** Takes hold of the ring under a place of the stage. Result: whether there is one. */
  hold([x, y], view) {
    if (this.bone < 0) return false;
    let [best, least] = [null, 9];
    for (const axis of [0, 1, 2]) {
      this.ring(axis, view).forEach((point, at, ring) => {
        const away = point ? Math.hypot(point[0] - x, point[1] - y) : Infinity;
        const next = ring[(at + 1) % ring.length];
        if (away >= least || !next) return;
        least = away;
        // Pixels per radian along the ring here.
        const along = [next[0] - point[0], next[1] - point[1]].map((d) => (d * RING_POINTS) / (2 * Math.PI));
        best = { axis, along, x, y };
      });
    }
    this.#held = best;
    return !!best;
  }

  /** The rotation of the drag so far, in the bone's own axes when it began; `turn` of the start must be kept by the caller. */
  dragged([x, y]) {
    const { axis, along, x: x0, y: y0 } = this.#held;
    const size = along[0] ** 2 + along[1] ** 2;
    return { axis, angle: size > 0 ? ((x - x0) * along[0] + (y - y0) * along[1]) / size : 0 };
  }

  release() { this.#held = null; }

  /** The bone whose joint, or whose line to its parent, is under a place of the stage; −1 without one. */
  boneAt([x, y], { pane, ratio, height }) {
    const at = this.#parents.map((_, bone) => project(pane, this.place(bone), ratio, height));
    let [best, least] = [-1, 9];
    at.forEach((point, bone) => {
      if (!point) return;
      const away = Math.hypot(point[0] - x, point[1] - y);
      if (away < least) [best, least] = [bone, away];
    });
    if (best >= 0) return best;
    // A line belongs to the joint at its upper end, which turns it.
    at.forEach((point, bone) => {
      const upper = at[this.#parents[bone]];
      if (!point || !upper) return;
      const [dx, dy] = [point[0] - upper[0], point[1] - upper[1]];
      const share = Math.min(1, Math.max(0, ((x - upper[0]) * dx + (y - upper[1]) * dy) / (dx * dx + dy * dy || 1)));
      const away = Math.hypot(upper[0] + share * dx - x, upper[1] + share * dy - y);
      if (away < least) [best, least] = [this.#parents[bone], away];
    });
    return best;
  }
}
