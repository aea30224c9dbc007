// The skin of a character in a pose, in plain JavaScript: morph targets, then linear blend skinning, as glTF defines both. `character`
// is what readGlb of dermis_glb.js returned.

import { Drivers } from "./dermis_drivers.js";
import { EXTENSIONS, extensionTable, skinBones } from "./dermis_extension.js";

/** Computes skins of one character; the arrays that it returns are used again by the next call. */
export class Skin {
  /** Throws an Error if the file has an extension of Dermis that is damaged. `drivers` is null if it has none. */
  constructor(character) {
    this.character = character;
    const { json, node, positions, morphs } = character;
    const isDriven = EXTENSIONS.some((name) => json.nodes[node].extensions?.[name] !== undefined);
    this.bones = skinBones(json, node, character.inverseBind);
    this.drivers = isDriven ? new Drivers(extensionTable(json, node, this.bones)) : null;
    this.posed = new Float32Array(positions.length);
    this.morphed = new Float64Array(positions.length);
    // Most shapes move few vertices; the others need no visit.
    this.moved = morphs.map((morph) => {
      const list = [];
      for (let v = 0; v < morph.positions.length; v += 3) {
        if (morph.positions[v] || morph.positions[v + 1] || morph.positions[v + 2]) list.push(v);
      }
      return Uint32Array.from(list);
    });
  }

  /** Returns the weights of the morph targets in a pose; those of the file where nothing drives them. `worlds` are of all nodes. */
  weights(worlds, channels = {}) {
    const weights = Float64Array.from(this.character.restWeights);
    if (this.drivers) weights.set(this.drivers.weights((_, bone) => worlds[bone.node], channels));
    return weights;
  }

  /**
   * Returns the transforms of the joints from bind to world, three rows of four numbers each, with these world matrices of all nodes,
   * 16 numbers each, column by column.
   */
  transforms(worlds) {
    const transforms = new Float64Array(12 * this.bones.length);
    this.bones.forEach(({ node, inverse_bind: rows }, k) => {
      const world = worlds[node];
      for (let r = 0; r < 3; r++) {
        for (let c = 0; c < 4; c++) {
          transforms[12 * k + 4 * r + c] = world[r] * rows[0][c] + world[4 + r] * rows[1][c] + world[8 + r] * rows[2][c] + (c === 3 ? world[12 + r] : 0);
        }
      }
    });
    return transforms;
  }

  /**
   * Returns the positions of the drawn vertices, three numbers each: at these weights of the morph targets, and with these world
   * matrices of all nodes, 16 numbers each, column by column.
   */
  positions(worlds, weights) {
    const { positions, morphs, sets } = this.character;
    const { morphed, posed } = this;
    morphed.set(positions);
    weights.forEach((weight, i) => {
      if (weight === 0) return;
      const deltas = morphs[i].positions;
      for (const v of this.moved[i]) {
        morphed[v] += weight * deltas[v];
        morphed[v + 1] += weight * deltas[v + 1];
        morphed[v + 2] += weight * deltas[v + 2];
      }
    });
    const transforms = this.transforms(worlds);
    for (let v = 0; v < positions.length / 3; v++) {
      const [x, y, z] = [morphed[3 * v], morphed[3 * v + 1], morphed[3 * v + 2]];
      let [px, py, pz] = [0, 0, 0];
      for (const [joints, shares] of sets) {
        for (let slot = 4 * v; slot < 4 * v + 4; slot++) {
          const share = shares[slot];
          if (share === 0) continue;
          const m = 12 * joints[slot];
          px += share * (transforms[m] * x + transforms[m + 1] * y + transforms[m + 2] * z + transforms[m + 3]);
          py += share * (transforms[m + 4] * x + transforms[m + 5] * y + transforms[m + 6] * z + transforms[m + 7]);
          pz += share * (transforms[m + 8] * x + transforms[m + 9] * y + transforms[m + 10] * z + transforms[m + 11]);
        }
      }
      posed[3 * v] = px;
      posed[3 * v + 1] = py;
      posed[3 * v + 2] = pz;
    }
    return posed;
  }
}
