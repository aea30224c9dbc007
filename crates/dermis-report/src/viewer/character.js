"use strict";
// The viewer: the character of the GLB in a pose of its clip, with joints that the reader turned.

const DEGREE = Math.PI / 180;

/// A quaternion (x, y, z, w) of turns about the bone's own axes, degrees: about x first, then y, then z.
function quaternionOf([x, y, z]) {
  const [a, b, c] = [x, y, z].map((angle) => [Math.cos((angle * DEGREE) / 2), Math.sin((angle * DEGREE) / 2)]);
  return [
    a[1] * b[0] * c[0] - a[0] * b[1] * c[1], a[0] * b[1] * c[0] + a[1] * b[0] * c[1],
    a[0] * b[0] * c[1] - a[1] * b[1] * c[0], a[0] * b[0] * c[0] + a[1] * b[1] * c[1],
  ];
}

/// The product of two quaternions (x, y, z, w).
function quaternionProduct([ax, ay, az, aw], [bx, by, bz, bw]) {
  return [
    aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
    aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz,
  ];
}

/// The diagonal of the box around points.
function diagonalOf(points) {
  const sides = [0, 1, 2].map((axis) => {
    let [low, high] = [Infinity, -Infinity];
    for (let i = axis; i < points.length; i += 3) { low = Math.min(low, points[i]); high = Math.max(high, points[i]); }
    return high - low;
  });
  return Math.hypot(...sides) || 1;
}

/// The character of the GLB, as `readGlb` returned it. `pose(time, turns)` gives a pose, `skin(pose, kind)` a skin in it; the mesh is that of the rig, with seams closed. A GLB
/// without driven morph targets has the skin of its weights alone: `kinds` says which skins there are, the one that is shown first before
/// others.
function makeCharacter(character) {
  const skin = new Dermis.Skin(character);
  const drawn = character.positions.length / 3;
  const vertexOf = character.vertexOf ?? Float32Array.from({ length: drawn }, (_, i) => i);
  const vertices = vertexOf.reduce((most, v) => Math.max(most, v), -1) + 1;
  const drawnOf = new Uint32Array(vertices);
  vertexOf.forEach((v, i) => { drawnOf[v] = i; });
  const welded = (positions) => {
    const out = new Float32Array(3 * vertices);
    for (let v = 0; v < vertices; v++) {
      const i = 3 * drawnOf[v];
      out[3 * v] = positions[i];
      out[3 * v + 1] = positions[i + 1];
      out[3 * v + 2] = positions[i + 2];
    }
    return out;
  };
  const clip = character.clips[0] ?? null;
  const rest = character.nodes.map(({ local }) => local);
  const root = character.joints[0];
  const stood = [12, 14].map((i) => character.nodes[root].rest[i]);
  const triangles = character.triangles.map((i) => vertexOf[i]);
  return {
    clip,
    vertices,
    /// The diagonal of the box around the mesh at rest.
    size: diagonalOf(character.positions),
    kinds: skin.drivers ? ["learnt", "base"] : ["base"],
    triangles,
    card: makeCardSkin(character, { drawnOf, triangles }),
    /// A joint that is a matrix in the file cannot be turned.
    joints: character.joints.map((node) => ({ node, name: safeText(character.json.nodes[node].name ?? `node ${node}`), turns: !character.nodes[node].local.matrix })),
    parents: character.joints.map((node) => character.joints.indexOf(character.nodes[node].parent)),
    /// The pose at a time of the clip (that of the bind without one), further turned: `turns` maps nodes to degrees about x, y, z.
    pose: (time, turns) => {
      const locals = clip ? Dermis.sampleClip(character, clip, time) : rest.map((local) => ({ ...local }));
      for (const [node, angles] of turns) {
        if (!locals[node].matrix) locals[node].rotation = quaternionProduct(locals[node].rotation, quaternionOf(angles));
      }
      const worlds = Dermis.worldMatrices(character, locals);
      // The picture follows the character across the ground.
      return { worlds, moved: [worlds[root][12] - stood[0], 0, worlds[root][14] - stood[1]] };
    },
    /// A skin in a pose: `rows`, the joints' transforms as the picture shows them; `weights` of the morph targets; and the positions of
    /// the rig's vertices, computed when they are first asked for.
    skin: ({ worlds, moved }, kind) => {
      const weights = kind === "learnt" ? skin.weights(worlds) : Float64Array.from(character.restWeights);
      const rows = skin.transforms(worlds).map((x, i) => (i % 4 === 3 ? x - moved[((i - 3) / 4) % 3] : x));
      let positions = null;
      return { rows, weights, positions: () => (positions ??= welded(skin.positions(worlds, weights))) };
    },
    joints3: ({ worlds }) => new Float32Array(character.joints.flatMap((node) => [12, 13, 14].map((i) => worlds[node][i]))),
  };
}
