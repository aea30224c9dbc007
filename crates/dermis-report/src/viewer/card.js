"use strict";
// The viewer: the skin on the graphics card. Transform feedback runs two vertex shaders: one adds morph targets and blends linearly, as
// js/dermis_skin.js does; one sums the triangles' normals around each vertex, as smoothNormals does. A frame uploads the joints'
// transforms and the weights of the morph targets alone.

/// Texels in a row of a table: the widest texture that every WebGL 2 has.
const TEXELS = 2048;

const CARD_TABLES = `#version 300 es
  precision highp float; precision highp int; precision highp sampler2D; precision highp usampler2D;
  ivec2 at(uint i) { return ivec2(i % ${TEXELS}u, i / ${TEXELS}u); }`;
/// Positions: `ranges` is where the vertex's influences begin and end, then its deltas.
const CARD_POSITIONS = `${CARD_TABLES}
  layout(location = 0) in vec3 rest; layout(location = 1) in uvec4 ranges;
  uniform sampler2D influences, transforms, weights, deltas;
  out vec4 posed;
  void main() {
    vec4 morphed = vec4(rest, 1.0);
    for (uint i = ranges.z; i < ranges.w; i++) {
      vec4 delta = texelFetch(deltas, at(i), 0); // and the number of its morph target
      morphed.xyz += texelFetch(weights, at(uint(delta.w)), 0).x * delta.xyz;
    }
    vec3 blended = vec3(0.0);
    for (uint i = ranges.x; i < ranges.y; i++) {
      vec2 influence = texelFetch(influences, at(i), 0).xy;
      uint row = 3u * uint(influence.x);
      blended += influence.y * vec3(dot(texelFetch(transforms, at(row), 0), morphed), dot(texelFetch(transforms, at(row + 1u), 0), morphed), dot(texelFetch(transforms, at(row + 2u), 0), morphed));
    }
    posed = vec4(blended, 1.0);
    gl_Position = posed;
  }`;
/// Normals: `range` is where the vertex's triangles begin and end, each as its two other corners.
const CARD_NORMALS = `${CARD_TABLES}
  layout(location = 0) in uvec2 range;
  uniform sampler2D positions; uniform usampler2D corners;
  out vec3 normal;
  void main() {
    vec3 own = texelFetch(positions, at(uint(gl_VertexID)), 0).xyz, sum = vec3(0.0);
    for (uint i = range.x; i < range.y; i++) {
      uvec2 others = texelFetch(corners, at(i), 0).xy;
      sum += cross(texelFetch(positions, at(others.x), 0).xyz - own, texelFetch(positions, at(others.y), 0).xyz - own);
    }
    float size = length(sum);
    normal = size > 0.0 ? sum / size : sum;
    gl_Position = vec4(normal, 1.0);
  }`;
const CARD_NOTHING = `#version 300 es
  void main() {}`;

/// The first entry of each row, and the end of the last, of rows with these numbers of entries.
function startsOf(counts) {
  const starts = new Uint32Array(counts.length + 1);
  counts.forEach((count, i) => { starts[i + 1] = starts[i] + count; });
  return starts;
}

/// What the card holds of a character: a vertex of the rig is drawn vertex `drawnOf` of the GLB. Null if a number is not finite.
function cardTables({ positions, sets, morphs }, { drawnOf, triangles }) {
  const vertices = drawnOf.length;
  const rest = new Float32Array(3 * vertices);
  drawnOf.forEach((i, v) => rest.set(positions.subarray(3 * i, 3 * i + 3), 3 * v));

  const influenceCounts = new Uint32Array(vertices);
  drawnOf.forEach((i, v) => {
    for (const [, shares] of sets) for (let slot = 4 * i; slot < 4 * i + 4; slot++) if (shares[slot] !== 0) influenceCounts[v]++;
  });
  const ofInfluences = startsOf(influenceCounts);
  const influences = new Float32Array(2 * ofInfluences[vertices]);
  let at = 0;
  for (const i of drawnOf) {
    for (const [joints, shares] of sets) {
      for (let slot = 4 * i; slot < 4 * i + 4; slot++) {
        if (shares[slot] === 0) continue;
        influences[at++] = joints[slot];
        influences[at++] = shares[slot];
      }
    }
  }

  // Deltas row by row: those of a vertex lie together, and a vertex that no shape moves has none.
  const isMoved = (deltas, i) => deltas[i] || deltas[i + 1] || deltas[i + 2];
  const deltaCounts = new Uint32Array(vertices);
  for (const { positions: deltas } of morphs) for (let v = 0; v < vertices; v++) if (isMoved(deltas, 3 * drawnOf[v])) deltaCounts[v]++;
  const ofDeltas = startsOf(deltaCounts);
  const deltas = new Float32Array(4 * ofDeltas[vertices]), next = ofDeltas.slice();
  morphs.forEach((morph, shape) => {
    for (let v = 0; v < vertices; v++) {
      const i = 3 * drawnOf[v];
      if (!isMoved(morph.positions, i)) continue;
      const to = 4 * next[v]++;
      for (let c = 0; c < 3; c++) deltas[to + c] = morph.positions[i + c];
      deltas[to + 3] = shape;
    }
  });

  const cornerCounts = new Uint32Array(vertices);
  for (const v of triangles) cornerCounts[v]++;
  const ofCorners = startsOf(cornerCounts);
  const corners = new Uint32Array(2 * triangles.length);
  next.set(ofCorners);
  for (let t = 0; t < triangles.length; t += 3) {
    for (let c = 0; c < 3; c++) {
      const to = 2 * next[triangles[t + c]]++;
      corners[to] = triangles[t + ((c + 1) % 3)];
      corners[to + 1] = triangles[t + ((c + 2) % 3)];
    }
  }

  if (![rest, influences, deltas].every((list) => list.every(Number.isFinite))) return null;
  const ranges = new Uint32Array(4 * vertices), aroundRanges = new Uint32Array(2 * vertices);
  for (let v = 0; v < vertices; v++) {
    ranges.set([ofInfluences[v], ofInfluences[v + 1], ofDeltas[v], ofDeltas[v + 1]], 4 * v);
    aroundRanges.set([ofCorners[v], ofCorners[v + 1]], 2 * v);
  }
  return { vertices, rest, ranges, influences, deltas, shapes: morphs.length, corners, aroundRanges };
}

/// The card's side of a character, made when a skin is first drawn, and again after the card has lost it. `arrays(context, kind, skin)`
/// computes a skin where it is drawn, from the `rows` and `weights` of `character.skin` or from `points`, and returns its vertex array;
/// null where the card cannot hold the character. `skin.errors` are one per vertex, or null.
function makeCardSkin(character, mesh) {
  const contexts = new WeakMap();
  const madeFor = (context) => {
    if (!contexts.has(context)) {
      const tables = cardTables(character, mesh);
      contexts.set(context, tables && cardPasses(context.gl, tables));
    }
    return contexts.get(context);
  };
  return {
    arrays: (context, kind, skin) => madeFor(context)?.arrays(kind, skin) ?? null,
    /// Positions and normals as the card computed them last. Waits for the card: for tests.
    read: (context, kind) => madeFor(context)?.read(kind) ?? null,
  };
}

/// The two passes on a card that holds `tables`; null if they are larger than its textures.
function cardPasses(gl, { vertices, rest, ranges, influences, deltas, shapes, corners, aroundRanges }) {
  const rowsOf = (texels) => Math.max(1, Math.ceil(texels / TEXELS));
  const most = Math.max(influences.length / 2, deltas.length / 4, corners.length / 2, vertices);
  if (rowsOf(most) > gl.getParameter(gl.MAX_TEXTURE_SIZE)) return null;

  /// Numbers as a texture, `size` to a texel; `values` are those of whole rows, to be filled in anew.
  const textureOf = (internal, format, type, values, size) => {
    const texture = gl.createTexture(), rows = rowsOf(values.length / size);
    const padded = new values.constructor(size * TEXELS * rows);
    padded.set(values);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texImage2D(gl.TEXTURE_2D, 0, internal, TEXELS, rows, 0, format, type, padded);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    return { texture, rows, values: padded };
  };
  /// A texture that stays as it is.
  const tableOf = (...table) => ({ texture: textureOf(...table).texture });
  const refill = ({ texture, rows, values }, format) => {
    gl.bindTexture(gl.TEXTURE_2D, texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, TEXELS, rows, format, gl.FLOAT, values);
  };
  const bufferOf = (values, usage) => {
    const buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.bufferData(gl.ARRAY_BUFFER, values, usage);
    return buffer;
  };
  const arrayOf = (attributes) => {
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    attributes.forEach(([buffer, size, stride], i) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(i);
      if (stride === undefined) gl.vertexAttribIPointer(i, size, gl.UNSIGNED_INT, 0, 0);
      else gl.vertexAttribPointer(i, size, gl.FLOAT, false, stride, 0);
    });
    return array;
  };
  /// A program whose vertex shader writes `out`; its textures are units 0, 1, … in the order of `names`.
  const programOf = (source, out, names) => {
    const program = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, source], [gl.FRAGMENT_SHADER, CARD_NOTHING]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getShaderInfoLog(shader));
      gl.attachShader(program, shader);
    }
    gl.transformFeedbackVaryings(program, [out], gl.SEPARATE_ATTRIBS);
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getProgramInfoLog(program));
    gl.useProgram(program);
    names.forEach((name, unit) => gl.uniform1i(gl.getUniformLocation(program, name), unit));
    return program;
  };
  gl.activeTexture(gl.TEXTURE0);
  const toPositions = programOf(CARD_POSITIONS, "posed", ["influences", "transforms", "weights", "deltas"]);
  const toNormals = programOf(CARD_NORMALS, "normal", ["positions", "corners"]);
  const held = {
    influences: tableOf(gl.RG32F, gl.RG, gl.FLOAT, influences, 2),
    deltas: tableOf(gl.RGBA32F, gl.RGBA, gl.FLOAT, deltas, 4),
    corners: tableOf(gl.RG32UI, gl.RG_INTEGER, gl.UNSIGNED_INT, corners, 2),
    weights: textureOf(gl.R32F, gl.RED, gl.FLOAT, new Float32Array(shapes), 1),
  };
  let transforms = null;
  const restArray = arrayOf([[bufferOf(rest, gl.STATIC_DRAW), 3, 0], [bufferOf(ranges, gl.STATIC_DRAW), 4]]);
  const aroundArray = arrayOf([[bufferOf(aroundRanges, gl.STATIC_DRAW), 2]]);
  const skins = new Map();
  const skinOf = (kind) => {
    if (skins.has(kind)) return skins.get(kind);
    const texels = textureOf(gl.RGBA32F, gl.RGBA, gl.FLOAT, new Float32Array(4 * vertices), 4);
    const positions = bufferOf(texels.values, gl.DYNAMIC_COPY), normals = bufferOf(12 * vertices, gl.DYNAMIC_COPY), errors = bufferOf(0, gl.STATIC_DRAW);
    const made = { texels, positions, normals, errors, computed: null, array: arrayOf([[positions, 3, 16], [normals, 3, 12], [errors, 1, 4]]) };
    skins.set(kind, made);
    return made;
  };
  const feedback = gl.createTransformFeedback();
  /// Runs a program over all vertices; what it writes lands in `buffer`.
  const run = (program, array, textures, buffer) => {
    gl.useProgram(program);
    textures.forEach(({ texture }, unit) => { gl.activeTexture(gl.TEXTURE0 + unit); gl.bindTexture(gl.TEXTURE_2D, texture); });
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, null);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, feedback);
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, buffer);
    gl.enable(gl.RASTERIZER_DISCARD);
    gl.beginTransformFeedback(gl.POINTS);
    gl.drawArrays(gl.POINTS, 0, vertices);
    gl.endTransformFeedback();
    gl.disable(gl.RASTERIZER_DISCARD);
    // A buffer that takes feedback may be read by nothing else.
    gl.bindBufferBase(gl.TRANSFORM_FEEDBACK_BUFFER, 0, null);
    gl.bindTransformFeedback(gl.TRANSFORM_FEEDBACK, null);
    // The program that draws may not meet tables of integers.
    textures.forEach((_, unit) => { gl.activeTexture(gl.TEXTURE0 + unit); gl.bindTexture(gl.TEXTURE_2D, null); });
    gl.activeTexture(gl.TEXTURE0);
  };
  const skinned = (own, { rows, weights }) => {
    transforms ??= textureOf(gl.RGBA32F, gl.RGBA, gl.FLOAT, new Float32Array(rows.length), 4);
    transforms.values.set(rows);
    refill(transforms, gl.RGBA);
    held.weights.values.set(weights);
    refill(held.weights, gl.RED);
    run(toPositions, restArray, [held.influences, transforms, held.weights, held.deltas], own.positions);
  };
  /// Positions that are known, less those of `origin`.
  const given = (own, { points, origin }) => {
    points.forEach((x, i) => { own.texels.values[i + Math.floor(i / 3)] = x - origin[i % 3]; });
    gl.bindBuffer(gl.ARRAY_BUFFER, own.positions);
    gl.bufferSubData(gl.ARRAY_BUFFER, 0, own.texels.values);
  };
  const compute = (own, skin) => {
    if (skin.points) given(own, skin); else skinned(own, skin);
    gl.bindBuffer(gl.PIXEL_UNPACK_BUFFER, own.positions);
    gl.bindTexture(gl.TEXTURE_2D, own.texels.texture);
    gl.texSubImage2D(gl.TEXTURE_2D, 0, 0, 0, TEXELS, own.texels.rows, gl.RGBA, gl.FLOAT, 0);
    gl.bindBuffer(gl.PIXEL_UNPACK_BUFFER, null);
    run(toNormals, aroundArray, [own.texels, held.corners], own.normals);
  };
  return {
    arrays: (kind, skin) => {
      const own = skinOf(kind);
      if (own.computed !== skin) {
        compute(own, skin);
        own.computed = skin;
        gl.bindVertexArray(own.array);
        if (skin.errors) {
          gl.bindBuffer(gl.ARRAY_BUFFER, own.errors);
          gl.bufferData(gl.ARRAY_BUFFER, skin.errors, gl.DYNAMIC_DRAW);
          gl.enableVertexAttribArray(2);
        } else {
          gl.disableVertexAttribArray(2);
          gl.vertexAttrib1f(2, 0);
        }
      }
      return own;
    },
    read: (kind) => {
      const own = skinOf(kind), [positions, normals] = [new Float32Array(4 * vertices), new Float32Array(3 * vertices)];
      for (const [buffer, values] of [[own.positions, positions], [own.normals, normals]]) {
        gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
        gl.getBufferSubData(gl.ARRAY_BUFFER, 0, values);
      }
      gl.bindBuffer(gl.ARRAY_BUFFER, null);
      return { positions: positions.filter((_, i) => i % 4 < 3), normals };
    },
  };
}
