// A sculpt in one pose: strokes that grab, smooth and inflate the skin, and their undoing.

class Sculpt {
  /** What was shown: where vertices were before any stroke. */
  #shown;
  #mesh;
  #strokes = [];
  #undone = [];
  /** The stroke that is drawn: vertices with the places that they had before it. */
  #before = null;
  #grab = null;

  /**
   * @param {Float32Array} shown the skin, which stays as it is
   * @param {object} mesh triangles, neighbours, partners
   */
  constructor(shown, mesh) {
    this.#shown = shown;
    this.#mesh = mesh;
    this.positions = shown.slice();
  }

  /** Vertices that are not where they were shown. */
  moved() {
    const vertices = [];
    for (let v = 0; v < this.positions.length / 3; v++) {
      if ([0, 1, 2].some((i) => this.positions[3 * v + i] !== this.#shown[3 * v + i])) vertices.push(v);
    }
    return vertices;
  }

  get canUndo() { return this.#strokes.length > 0; }
  get canRedo() { return this.#undone.length > 0; }

  /** Begins a stroke on the skin that a ray hit. */
  begin(hit, brush, normals) {
    this.#before = new Map();
    this.#grab = brush.tool === "grab" ? this.#held(hit, brush, normals) : null;
    if (!this.#grab) this.#dab(hit, brush, normals);
  }

  /** Goes on: `by` is how far a grab has gone from where it began, metres; other tools act where the ray hits the skin now. */
  drag(hit, brush, normals, by) {
    if (!this.#before) return;
    if (this.#grab) {
      for (const [v, { from, own, other }] of this.#grab) {
        // Where both sides meet, a vertex follows the mean of both.
        const moves = own + other.share;
        const whole = moves > 0 ? Math.max(own, other.share) / moves : 0;
        const mirrored = other.share > 0 ? other.carry(by) : [0, 0, 0];
        this.#put(v, from.map((x, i) => x + whole * (own * by[i] + other.share * mirrored[i])));
      }
    } else if (hit) {
      this.#dab(hit, brush, normals);
    }
  }

  /** Ends the stroke. Result: whether it moved anything. */
  end() {
    const stroke = this.#before;
    [this.#before, this.#grab] = [null, null];
    if (!stroke?.size) return false;
    this.#strokes.push(stroke);
    this.#undone = [];
    return true;
  }

  undo() { this.#swap(this.#strokes, this.#undone); }
  redo() { this.#swap(this.#undone, this.#strokes); }

  /** Takes the last stroke of a list back, and puts its contrary at the end of another. */
  #swap(from, to) {
    const stroke = from.pop();
    if (!stroke) return;
    const now = new Map([...stroke.keys()].map((v) => [v, pointOf(this.positions, v)]));
    for (const [v, place] of stroke) this.positions.set(place, 3 * v);
    to.push(now);
  }

  #put(v, place) {
    if (!this.#before.has(v)) this.#before.set(v, pointOf(this.positions, v));
    this.positions.set(place, 3 * v);
  }

  /** What a grab holds: each vertex with its place, its share of the movement, and that of the movement of its partner. */
  #held(hit, { radius, symmetric }, normals) {
    const { neighbours, partners } = this.#mesh;
    const [vertices, falloff] = skinNear(this.positions, neighbours, hit.vertex, hit.point, radius);
    const held = new Map();
    const nothing = { share: 0, carry: () => [0, 0, 0] };
    const at = (v) => held.get(v) ?? { from: pointOf(this.positions, v), own: 0, other: nothing };
    vertices.forEach((v, n) => held.set(v, { ...at(v), own: falloff[n] }));
    if (!symmetric) return held;
    const [still, stillNormals] = [this.positions.slice(), normals.slice()];
    vertices.forEach((v, n) => {
      const carry = (by) => mirroredMove(still, stillNormals, neighbours, partners, v, by) ?? [0, 0, 0];
      if (partners[v] !== ALONE) held.set(partners[v], { ...at(partners[v]), other: { share: falloff[n], carry } });
    });
    return held;
  }

  /** A touch of a brush that acts where it is: on the skin under it, and on that of its partner. */
  #dab(hit, brush, normals) {
    const { neighbours, partners } = this.#mesh;
    this.#touch(hit.vertex, hit.point, brush, normals);
    const partner = partners[hit.vertex];
    if (!brush.symmetric || partner === ALONE || partner === hit.vertex) return;
    const [reached] = skinNear(this.positions, neighbours, hit.vertex, hit.point, brush.radius);
    // Skin that both touch is touched once.
    if (!reached.includes(partner)) this.#touch(partner, pointOf(this.positions, partner), brush, normals);
  }

  #touch(vertex, point, { tool, radius, strength, inward }, normals) {
    const { neighbours: { starts, list } } = this.#mesh;
    const [vertices, falloff] = skinNear(this.positions, { starts, list }, vertex, point, radius);
    const to = vertices.map((v, n) => {
      const place = pointOf(this.positions, v);
      if (tool === "inflate") return add(place, pointOf(normals, v), (inward ? -1 : 1) * 0.06 * strength * radius * falloff[n]);
      const count = starts[v + 1] - starts[v];
      if (!count) return place;
      let mean = [0, 0, 0];
      for (let at = starts[v]; at < starts[v + 1]; at++) mean = add(mean, pointOf(this.positions, list[at]), 1 / count);
      return add(place, minus(mean, place), strength * falloff[n]);
    });
    // All at once: a vertex does not follow one that has moved already.
    vertices.forEach((v, n) => { if (falloff[n] > 0) this.#put(v, to[n]); });
  }
}
