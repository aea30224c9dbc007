// The 3D view: panes of skins drawn with WebGL 2.

/// Light from above left of the camera, some from all around; n in camera space. The GLSL below is the same line.
function brightness(x, y, z) {
  return 0.42 + 0.5 * Math.max(0, -0.37 * x + 0.56 * y + 0.74 * z) + 0.1 * y + 0.06 * z;
}

/// Colour and opacity of a wireframe.
const WIRE = [0.07, 0.08, 0.1, 0.5];

/// Whether the processor draws, without a card: by name, since browsers that draw so need not call it a caveat.
function drawsInSoftware() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const told = gl.getExtension("WEBGL_debug_renderer_info");
  const name = String(gl.getParameter(told ? told.UNMASKED_RENDERER_WEBGL : gl.RENDERER));
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
}

/// Draws panes with WebGL 2; null where there is none. `isFluid`: edges are smooth only where there is a card to do it.
function webglRenderer(canvas, isFluid = false) {
  const gl = canvas.getContext("webgl2", { antialias: !isFluid || !drawsInSoftware(), preserveDrawingBuffer: true });
  if (!gl) return null;
  const compile = (kind, source) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getShaderInfoLog(shader));
    return shader;
  };
  const names = ["position", "normal", "error", "place", "tint"];
  let program, uniform, colours;
  const setUp = () => {
    program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, `#version 300 es
      in vec3 position, normal, tint; in float error; in vec2 place;
      uniform mat4 clip; uniform mat3 rotation; uniform float top;
      out vec3 n, own; out float t; out vec2 uv;
      void main() { uv = place; own = tint; n = rotation * normal; t = error < 0.0 ? -1.0 : error / top; gl_Position = clip * vec4(position, 1.0); }`));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, `#version 300 es
      precision highp float;
      in vec3 n, own; in float t; in vec2 uv; uniform sampler2D map, picture; uniform bool textured, tinted; uniform bool coloured, wire; uniform vec4 ink; uniform vec3 clay, unknown; out vec4 colour;
      void main() {
        if (wire) { colour = vec4(ink.rgb * ink.a, ink.a); return; }
        vec3 m = normalize(gl_FrontFacing ? n : -n);
        float light = 0.42 + 0.5 * max(0.0, dot(m, vec3(-0.37, 0.56, 0.74))) + 0.1 * m.y + 0.06 * m.z;
        vec3 base = textured ? texture(picture, uv).rgb : !coloured ? clay : tinted ? own : t < -0.001 ? unknown : texture(map, vec2(clamp(t, 0.0, 1.0) * 255.0 / 256.0 + 0.5 / 256.0, 0.5)).rgb;
        if (coloured) light = 0.25 + 0.75 * light;
        colour = vec4(base * light * (gl_FrontFacing ? 1.0 : 0.6), 1.0);
      }`));
    names.forEach((name, i) => gl.bindAttribLocation(program, i, name));
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getProgramInfoLog(program));
    uniform = (name) => gl.getUniformLocation(program, name);
    colours = gl.createTexture();
    const row = new Uint8Array(256 * 4);
    for (let i = 0; i < 256; i++) row.set([...magma(i / 255).map((c) => Math.round(255 * c)), 255], 4 * i);
    gl.bindTexture(gl.TEXTURE_2D, colours);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, 256, 1, 0, gl.RGBA, gl.UNSIGNED_BYTE, row);
    for (const key of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, key, gl.CLAMP_TO_EDGE);
    for (const key of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, key, gl.LINEAR);
  };
  setUp();
  let uploaded = new Map();
  let indices = new Map();
  let drawn = new Map();
  // A card that comes back after a loss is another context: whoever holds arrays there makes them again.
  let context = { gl };
  // Asking for errors waits for the card, so it is asked where something new was made, or where more was uploaded than ever.
  let isNew = true;
  let most = 0;
  const pictures = new Map();
  /// The numbers of vertices that a list names, on the card once for all shapes.
  const indexBuffer = (list) => {
    if (!indices.has(list)) {
      isNew = true;
      indices.set(list, gl.createBuffer());
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices.get(list));
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, list, gl.STATIC_DRAW);
    }
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, indices.get(list));
    return list.length;
  };
  /// The vertex array of a shape. A shape with `onCard` computes its arrays where they are drawn, unless it cannot.
  const upload = (shape) => {
    const computed = shape.onCard?.(context);
    if (computed) return computed;
    if (uploaded.has(shape)) return uploaded.get(shape);
    isNew ||= shape.positions.length > most;
    most = Math.max(most, shape.positions.length);
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const buffers = [];
    const errors = shape.errors ? shape.errors.map((e) => (Number.isFinite(e) ? e : -1)) : new Float32Array(shape.positions.length / 3);
    // A vertex that is not finite belongs to no triangle, but some drivers look at it all the same.
    const positions = shape.missing ? shape.positions.map((x) => (Number.isFinite(x) ? x : 0)) : shape.positions;
    [positions, shape.normals, errors].forEach((values, i) => {
      buffers.push(gl.createBuffer());
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[i]);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(i);
      gl.vertexAttribPointer(i, i < 2 ? 3 : 1, gl.FLOAT, false, 0, 0);
    });
    if (shape.tints) {
      const buffer = gl.createBuffer();
      buffers.push(buffer);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, shape.tints, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(4);
      gl.vertexAttribPointer(4, 3, gl.FLOAT, false, 0, 0);
    }
    const entry = { array, buffers };
    uploaded.set(shape, entry);
    return entry;
  };
  /// The shape as the file draws it, its vertices split at seams, with texture coordinates.
  const uploadDrawn = (shape, surface) => {
    if (drawn.has(shape)) return drawn.get(shape);
    isNew = true;
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    const spread = (values) => {
      const out = new Float32Array(3 * surface.source.length);
      surface.source.forEach((v, i) => out.set(values.subarray(3 * v, 3 * v + 3), 3 * i));
      return out;
    };
    const buffers = [[0, 3, spread(shape.positions)], [1, 3, spread(shape.normals)], [3, 2, surface.uvs]].map(([at, size, values]) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(at);
      gl.vertexAttribPointer(at, size, gl.FLOAT, false, 0, 0);
      return buffer;
    });
    drawn.set(shape, { array, buffers });
    return drawn.get(shape);
  };
  /// A picture on the card, once its bytes are decoded.
  const pictureOf = (image) => {
    if (!image.complete || !image.naturalWidth) return null;
    if (!pictures.has(image)) {
      isNew = true;
      pictures.set(image, gl.createTexture());
      gl.bindTexture(gl.TEXTURE_2D, pictures.get(image));
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, image);
      gl.generateMipmap(gl.TEXTURE_2D);
      gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR_MIPMAP_LINEAR);
    }
    return pictures.get(image);
  };
  const drawTextured = (shape, surface) => {
    gl.bindVertexArray(uploadDrawn(shape, surface).array);
    gl.activeTexture(gl.TEXTURE1);
    indexBuffer(surface.triangles);
    for (const part of surface.parts) {
      const picture = part.image ? pictureOf(part.image) : null;
      gl.bindTexture(gl.TEXTURE_2D, picture);
      gl.uniform1i(uniform("textured"), picture ? 1 : 0);
      indexBuffer(surface.triangles);
      gl.drawElements(gl.TRIANGLES, 3 * part.count, gl.UNSIGNED_INT, 12 * part.start);
    }
    gl.uniform1i(uniform("textured"), 0);
    gl.activeTexture(gl.TEXTURE0);
  };
  return {
    name: "webgl2",
    textures: true,
    ratio: () => Math.min(devicePixelRatio || 1, 2),
    restored: () => { uploaded = new Map(); indices = new Map(); drawn = new Map(); pictures.clear(); context = { gl }; isNew = true; setUp(); },
    context: () => context,
    /// Forgets the shapes of a frame that is no longer shown.
    forget: () => {
      for (const { array, buffers } of [...uploaded.values(), ...drawn.values()]) { gl.deleteVertexArray(array); buffers.forEach((b) => gl.deleteBuffer(b)); }
      uploaded = new Map();
      drawn = new Map();
    },
    draw: (panes, top) => {
      const shapes = panes.map((pane) => upload(pane.shape));
      gl.disable(gl.SCISSOR_TEST);
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.enable(gl.SCISSOR_TEST);
      gl.polygonOffset(1, 1);
      gl.useProgram(program);
      gl.bindTexture(gl.TEXTURE_2D, colours);
      gl.uniform3fv(uniform("clay"), CLAY);
      gl.uniform3fv(uniform("unknown"), NOT_FINITE);
      gl.uniform1f(uniform("top"), top);
      gl.uniform1i(uniform("map"), 0);
      gl.uniform1i(uniform("picture"), 1);
      gl.uniform1i(uniform("textured"), 0);
      for (const [i, pane] of panes.entries()) {
        const shape = shapes[i];
        if (pane.to <= pane.from) continue;
        gl.viewport(pane.x, 0, pane.width, canvas.height);
        gl.scissor(pane.from, 0, pane.to - pane.from, canvas.height);
        gl.uniformMatrix4fv(uniform("clip"), false, pane.clip);
        gl.uniformMatrix3fv(uniform("rotation"), true, pane.rotation);
        gl.uniform1i(uniform("coloured"), pane.coloured ? 1 : 0);
        gl.uniform1i(uniform("tinted"), pane.shape.tints ? 1 : 0);
        gl.bindVertexArray(shape.array);
        gl.uniform1i(uniform("wire"), 0);
        gl.enable(gl.POLYGON_OFFSET_FILL);
        if (pane.surface && !pane.shape.missing) {
          drawTextured(pane.shape, pane.surface);
          gl.bindVertexArray(shape.array);
        } else {
          gl.drawElements(gl.TRIANGLES, indexBuffer(pane.shape.triangles), gl.UNSIGNED_INT, 0);
        }
        gl.disable(gl.POLYGON_OFFSET_FILL);
        const strokes = pane.strokes ?? [];
        if (!pane.wire && !strokes.length && !pane.ground) continue;
        gl.uniform1i(uniform("wire"), 1);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        for (const [edges, ink] of [...(pane.wire ? [[edgesOf(pane.shape.triangles), WIRE]] : []), ...strokes]) {
          gl.uniform4fv(uniform("ink"), ink);
          gl.drawElements(gl.LINES, indexBuffer(edges), gl.UNSIGNED_INT, 0);
        }
        if (pane.ground) {
          gl.bindVertexArray(upload(pane.ground.shape).array);
          gl.uniform4fv(uniform("ink"), pane.ground.ink);
          gl.drawElements(gl.LINES, indexBuffer(pane.ground.edges), gl.UNSIGNED_INT, 0);
        }
        gl.disable(gl.BLEND);
      }
      if (!isNew) return;
      isNew = false;
      const error = gl.getError();
      if (error && !gl.isContextLost()) throw new Error("WebGL error " + error);
    },
  };
}
