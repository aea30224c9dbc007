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
  #place = [0, 0, 0];

  /** Vertices that moved since the normals were set. */
  #turned = [];

  /**
   * @param {Float32Array} shown the skin, which stays as it is
   * @param {object} mesh triangles, neighbours, corners, partners
   */
  constructor(shown, mesh) {
    this.#shown = shown;
    this.#mesh = mesh;
    /** What is drawn. */
    this.shape = makeShape(shown.slice(), mesh.triangles);
    this.positions = this.shape.positions;
  }

  /** Sets the normals of what moved. */
  settle() {
    turnNormals(this.shape, this.#mesh, this.#turned);
    this.#turned = [];
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
  begin(hit, brush) {
    this.#before = new Map();
    this.#grab = brush.tool === "grab" ? this.#held(hit, brush) : null;
    if (!this.#grab) this.#dab(hit, brush);
  }

  /** Goes on: `by` is how far a grab has gone from where it began, metres; other tools act where the ray hits the skin now. */
  drag(hit, brush, by) {
    if (!this.#before) return;
    if (this.#grab) {
      const { vertices, from, own, other, carry } = this.#grab;
      const [x, y, z] = by;
      for (let n = 0; n < vertices.length; n++) {
        const [i, m] = [3 * n, 9 * n];
        const [a, b] = [own[n], other[n]];
        // Where both sides meet, a vertex follows the mean of both.
        const whole = Math.max(a, b) / (a + b || 1);
        this.#place[0] = from[i] + whole * (a * x + b * (carry[m] * x + carry[m + 1] * y + carry[m + 2] * z));
        this.#place[1] = from[i + 1] + whole * (a * y + b * (carry[m + 3] * x + carry[m + 4] * y + carry[m + 5] * z));
        this.#place[2] = from[i + 2] + whole * (a * z + b * (carry[m + 6] * x + carry[m + 7] * y + carry[m + 8] * z));
        this.#put(vertices[n], this.#place);
      }
    } else if (hit) {
      this.#dab(hit, brush);
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
    for (const [v, place] of stroke) this.#move(v, place);
    to.push(now);
    this.settle();
  }

  #put(v, place) {
    if (!this.#before.has(v)) this.#before.set(v, pointOf(this.positions, v));
    this.#move(v, place);
  }

  #move(v, place) {
    this.positions.set(place, 3 * v);
    this.#turned.push(v);
  }

  /** What a grab holds: vertices with their places, their shares of the movement, the shares of their partners', and the matrices that carry it over. */
  #held(hit, { radius, symmetric }) {
    const { neighbours, partners } = this.#mesh;
    const [near, falloff] = skinNear(this.positions, neighbours, hit.vertex, hit.point, radius);
    const places = new Map(near.map((v, n) => [v, n]));
    const mirrored = symmetric ? near.filter((v) => partners[v] !== ALONE) : [];
    for (const v of mirrored) if (!places.has(partners[v])) places.set(partners[v], places.size);
    const vertices = [...places.keys()];
    const held = { vertices, from: Float64Array.from(vertices.flatMap((v) => pointOf(this.positions, v))),
      own: Float64Array.from(vertices, (_, n) => falloff[n] ?? 0), other: new Float64Array(vertices.length), carry: new Float64Array(9 * vertices.length) };
    for (const v of mirrored) {
      // A movement is carried over linearly: the columns are where it takes the axes.
      const columns = [[1, 0, 0], [0, 1, 0], [0, 0, 1]].map((axis) => mirroredMove(this.positions, this.shape.normals, neighbours, partners, v, axis));
      if (columns.includes(null)) continue;
      const n = places.get(partners[v]);
      held.other[n] = held.own[places.get(v)];
      for (let row = 0; row < 3; row++) for (let column = 0; column < 3; column++) held.carry[9 * n + 3 * row + column] = columns[column][row];
    }
    return held;
  }

  /** A touch of a brush that acts where it is: on the skin under it, and on that of its partner. */
  #dab(hit, brush) {
    const { neighbours, partners } = this.#mesh;
    this.#touch(hit.vertex, hit.point, brush);
    const partner = partners[hit.vertex];
    if (!brush.symmetric || partner === ALONE || partner === hit.vertex) return;
    const [reached] = skinNear(this.positions, neighbours, hit.vertex, hit.point, brush.radius);
    // Skin that both touch is touched once.
    if (!reached.includes(partner)) this.#touch(partner, pointOf(this.positions, partner), brush);
  }

  #touch(vertex, point, { tool, radius, strength, inward }) {
    const { normals } = this.shape;
    const { neighbours: { starts, list } } = this.#mesh;
    const [vertices, falloff] = skinNear(this.positions, { starts, list }, vertex, point, radius);
    const to = vertices.map((v, n) => {
      const place = pointOf(this.positions, v);
      if (tool === "inflate") return add(place, pointOf(normals, v), (inward ? -1 : 1) * 0.02 * strength * radius * falloff[n]);
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
