// Secondary motion that a model has learnt, frame after frame, in plain JavaScript: what `dermis pose` adds to a skin. Every vertex hangs
// on a spring from where the pose puts it, and edges of the skin tie neighbours. docs/secondary.md has the equation.

/** The largest angle that a step may turn of what it splits off, that of a spring itself, and the most steps of a frame. */
const [LARGEST_ANGLE, LARGEST_TURN, MOST_STEPS] = [0.5, 2, 4096];

/** The map of offset and speed of `dt` seconds of free motion, four numbers row by row: omega in radians per second, z the damping ratio. */
function freeMotion(omega, z, dt) {
  const d = omega * Math.sqrt(Math.abs(1 - z) * (1 + z)), angle = d * dt;
  let c, s;
  if (angle < 1e-4) {
    const decay = Math.exp(-z * omega * dt), square = (z < 1 ? -1 : 1) * angle * angle;
    [c, s] = [decay * (1 + square / 2), decay * dt * (1 + square / 6)];
  } else if (z < 1) {
    const decay = Math.exp(-z * omega * dt);
    [c, s] = [decay * Math.cos(angle), (decay * Math.sin(angle)) / d];
  } else {
    const slow = Math.exp((-omega * dt) / (z + Math.sqrt((z - 1) * (z + 1)))), fast = Math.exp(-(z * omega + d) * dt);
    [c, s] = [0.5 * (slow + fast), (0.5 * (slow - fast)) / d];
  }
  return [c + z * omega * s, s, -omega * omega * s, c - z * omega * s];
}

/** Springs over the skins of one character. */
export class Springs {
  /**
   * `vertices` holds omega, damping ratio, stiffening and limit of every vertex; `starts` and `neighbours` the vertices that edges tie to
   * each, those of vertex v from starts[v] to starts[v + 1]; `coupling` is the stiffness of edges.
   */
  constructor({ vertices, starts, neighbours, coupling }) {
    Object.assign(this, { vertices, starts, neighbours, coupling });
    const count = vertices.length / 4;
    this.offsets = new Float64Array(3 * count);
    this.next = new Float64Array(3 * count);
    this.speeds = new Float64Array(3 * count);
    this.base = new Float64Array(3 * count);
    this.baseSpeeds = new Float64Array(3 * count);
    this.free = new Float64Array(8 * count);
    this.step = NaN;
    this.seen = 0;
    let [degree, cube, fastest] = [0, 0, 0];
    for (let v = 0; v < count; v++) {
      degree = Math.max(degree, starts[v + 1] - starts[v]);
      cube = Math.max(cube, 3 * vertices[4 * v + 2] * vertices[4 * v + 3] ** 2);
      fastest = Math.max(fastest, vertices[4 * v]);
    }
    this.rates = [Math.sqrt(2 * coupling * degree + cube), fastest];
  }

  /** Forgets what came before: the next frame starts at rest. */
  reset() {
    this.seen = 0;
    this.offsets.fill(0);
    this.speeds.fill(0);
  }

  /** Takes the next frame, `dt` seconds after the last: three numbers per vertex, which it moves. */
  apply(dt, positions) {
    const { speeds, base, baseSpeeds, vertices, seen } = this;
    if (seen > 0) {
      for (let i = 0; i < positions.length; i++) {
        const speed = (positions[i] - base[i]) / dt;
        if (seen > 1) speeds[i] -= speed - baseSpeeds[i];
        baseSpeeds[i] = speed;
      }
    }
    base.set(positions);
    if (seen > 0) this.#swing(dt);
    const { offsets } = this;
    for (let v = 0; v < vertices.length / 4; v++) {
      const at = 3 * v, length = Math.hypot(offsets[at], offsets[at + 1], offsets[at + 2]), limit = vertices[4 * v + 3];
      for (let i = at; i < at + 3; i++) {
        if (length > limit) { offsets[i] *= limit / length; speeds[i] = 0; }
        positions[i] += offsets[i];
      }
    }
    this.seen = Math.min(seen + 1, 2);
    return positions;
  }

  #swing(dt) {
    const { speeds, base, vertices, starts, neighbours, coupling, free } = this;
    const count = vertices.length / 4, [split, exact] = this.rates;
    const steps = Math.min(MOST_STEPS, Math.max(1, Math.ceil(Math.max((split * dt) / LARGEST_ANGLE, (exact * dt) / LARGEST_TURN))));
    const h = dt / steps;
    if (h !== this.step) {
      this.step = h;
      for (let v = 0; v < count; v++) {
        free.set(freeMotion(vertices[4 * v], vertices[4 * v + 1], h / 2), 8 * v);
        free.set(freeMotion(vertices[4 * v], vertices[4 * v + 1], h), 8 * v + 4);
      }
    }
    for (let step = 0; step <= steps; step++) {
      const { offsets, next } = this, whole = step > 0 && step < steps ? 4 : 0;
      for (let v = 0; v < count; v++) {
        const at = 3 * v, [x, y, z] = [offsets[at], offsets[at + 1], offsets[at + 2]];
        let [sx, sy, sz] = [speeds[at], speeds[at + 1], speeds[at + 2]];
        if (step > 0) {
          let [px, py, pz] = [0, 0, 0];
          for (let k = starts[v]; k < starts[v + 1]; k++) {
            const j = 3 * neighbours[k], ex = base[at] - base[j], ey = base[at + 1] - base[j + 1], ez = base[at + 2] - base[j + 2];
            const square = ex * ex + ey * ey + ez * ez;
            if (!(square > 0)) continue;
            const along = (ex * (x - offsets[j]) + ey * (y - offsets[j + 1]) + ez * (z - offsets[j + 2])) / square;
            px += ex * along;
            py += ey * along;
            pz += ez * along;
          }
          const stiffer = vertices[4 * v + 2] * Math.min(x * x + y * y + z * z, vertices[4 * v + 3] ** 2);
          sx -= (px * coupling + x * stiffer) * h;
          sy -= (py * coupling + y * stiffer) * h;
          sz -= (pz * coupling + z * stiffer) * h;
        }
        const m = 8 * v + whole, a = free[m], b = free[m + 1], c = free[m + 2], d = free[m + 3];
        next[at] = x * a + sx * b;
        next[at + 1] = y * a + sy * b;
        next[at + 2] = z * a + sz * b;
        speeds[at] = x * c + sx * d;
        speeds[at + 1] = y * c + sy * d;
        speeds[at + 2] = z * c + sz * d;
      }
      [this.offsets, this.next] = [next, offsets];
    }
  }
}
