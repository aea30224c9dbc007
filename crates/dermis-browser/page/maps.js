// Influence maps are painted: a number from 0 to 1 for every vertex and bone, which says where a correction may depend on the bone.

class Maps {
  /** Values by bone. */
  #values = new Map();
  #vertices;
  #mesh;
  #strokes = [];
  #undone = [];
  #before = null;
  /** Bones whose maps stay as they are. */
  locked = new Set();
  /** Whether anything was painted. */
  get isPainted() { return this.#strokes.length > 0; }
  get canUndo() { return this.#strokes.length > 0; }
  get canRedo() { return this.#undone.length > 0; }

  /** @param {{counts: Uint32Array, bones: Uint32Array, values: Float32Array}} rows maps as the engine has them */
  constructor({ counts, bones, values }, mesh) {
    this.#vertices = counts.length;
    this.#mesh = mesh;
    let at = 0;
    counts.forEach((count, v) => {
      for (const end = at + count; at < end; at++) this.of(bones[at])[v] = values[at];
    });
  }

  /** The map of a bone. */
  of(bone) {
    if (!this.#values.has(bone)) this.#values.set(bone, new Float32Array(this.#vertices));
    return this.#values.get(bone);
  }

  /** Rows as the engine takes them: for every vertex [bone, value], without zeros. */
  rows() {
    const rows = Array.from({ length: this.#vertices }, () => []);
    for (const [bone, values] of this.#values) values.forEach((value, v) => { if (value > 0) rows[v].push([bone, value]); });
    return rows;
  }

  begin(bone) { this.#before = { bone, values: new Map() }; }

  /** A touch: adds to the map, takes from it, or smooths it, on the skin near a place. */
  dab(positions, vertex, point, { radius, strength, paint }) {
    const { bone } = this.#before;
    if (this.locked.has(bone)) return;
    const { neighbours: { starts, list } } = this.#mesh;
    const map = this.of(bone);
    const [vertices, falloff] = skinNear(positions, { starts, list }, vertex, point, radius);
    const to = vertices.map((v, n) => {
      const part = strength * falloff[n];
      if (paint === "smooth") {
        const count = starts[v + 1] - starts[v];
        let mean = 0;
        for (let at = starts[v]; at < starts[v + 1]; at++) mean += map[list[at]] / count;
        return count ? map[v] + part * (mean - map[v]) : map[v];
      }
      return Math.min(1, Math.max(0, map[v] + (paint === "take" ? -1 : 1) * 0.2 * part));
    });
    vertices.forEach((v, n) => this.#put(v, to[n]));
  }

  /** Sets a bone's map to a value everywhere. */
  flood(bone, value) {
    this.#whole(bone, (v) => value);
  }

  /** Gives a bone's partner its map, mirrored. Result: whether it has a partner with a map that is not locked. */
  mirror(bone, partner) {
    if (partner === undefined || partner === null || partner === bone || this.locked.has(partner)) return false;
    const [map, { partners }] = [this.of(bone), this.#mesh];
    this.#whole(partner, (v, old) => (partners[v] === ALONE ? old : map[partners[v]]));
    return true;
  }

  #whole(bone, value) {
    if (this.locked.has(bone)) return;
    this.begin(bone);
    const old = this.of(bone).slice();
    old.forEach((was, v) => this.#put(v, value(v, was)));
    this.end();
  }

  #put(v, value) {
    const { bone, values } = this.#before;
    const map = this.of(bone);
    if (map[v] === value) return;
    if (!values.has(v)) values.set(v, map[v]);
    map[v] = value;
  }

  end() {
    const stroke = this.#before;
    this.#before = null;
    if (!stroke?.values.size) return;
    this.#strokes.push(stroke);
    this.#undone = [];
  }

  undo() { this.#swap(this.#strokes, this.#undone); }
  redo() { this.#swap(this.#undone, this.#strokes); }

  #swap(from, to) {
    const stroke = from.pop();
    if (!stroke) return;
    const map = this.of(stroke.bone);
    to.push({ bone: stroke.bone, values: new Map([...stroke.values.keys()].map((v) => [v, map[v]])) });
    for (const [v, value] of stroke.values) map[v] = value;
  }
}
