"use strict";
// The rig in 3D, first part: rows of weights, and the colours that they give a vertex.

/// Sparse rows as they are stored: `entries(v)` lists [bone, value], the largest first.
function decodeRows(packed) {
  const numbers = (text) => new Uint16Array(decodeBytes(text).buffer);
  const [counts, bones, values] = [numbers(packed.counts), numbers(packed.bones), numbers(packed.values)];
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, v) => { starts[v + 1] = starts[v] + count; });
  return {
    /// The value of one bone on every vertex.
    of: (bone) => {
      const out = new Float32Array(counts.length);
      counts.forEach((_, v) => { for (let i = starts[v]; i < starts[v + 1]; i++) if (bones[i] === bone) out[v] = values[i] / 65535; });
      return out;
    },
    entries: (v) => {
      const row = [];
      for (let i = starts[v]; i < starts[v + 1]; i++) row.push([bones[i], values[i] / 65535]);
      return row.sort((a, b) => b[1] - a[1]);
    },
    /// The mean of the bones' colours by their values, three numbers per vertex.
    mixed: (colours) => {
      const out = new Float32Array(3 * counts.length);
      counts.forEach((_, v) => {
        let sum = 0;
        for (let i = starts[v]; i < starts[v + 1]; i++) {
          sum += values[i];
          for (let c = 0; c < 3; c++) out[3 * v + c] += values[i] * colours[bones[i]][c];
        }
        for (let c = 0; c < 3; c++) out[3 * v + c] = sum ? out[3 * v + c] / sum : 0.5;
      });
      return out;
    },
  };
}

/// Colours that differ between neighbours in a list: hues a golden section of the circle apart, at three strengths.
function palette(count) {
  return Array.from({ length: count }, (_, i) => {
    const hue = (i * 0.61803398875) % 1, light = [0.62, 0.5, 0.74][i % 3], strength = [0.62, 0.7, 0.5][i % 3];
    const reach = strength * Math.min(light, 1 - light);
    return [0, 8, 4].map((n) => {
      const k = (n + hue * 12) % 12;
      return light - reach * Math.max(-1, Math.min(k - 3, 9 - k, 1));
    });
  });
}

const cssColour = (colour) => `rgb(${colour.map((c) => Math.round(255 * c)).join(",")})`;
