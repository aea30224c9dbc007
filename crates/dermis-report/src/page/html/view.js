"use strict";
// The 3D view: target, model and baseline of one stored frame, side by side or one at a time, shaded or coloured by
// their distance from the target. One camera for all. Two renderers draw the same list of panes: WebGL 2, and a
// software rasteriser where there is none.

/// Magma from its bright end, without its black one, at nine even steps: no error looks like pale skin, and the map grows
/// evenly darker, by way of orange and red, to violet.
const MAGMA = ["fcfdbf", "fece91", "fe9f6d", "f7705c", "de4968", "b73779", "8c2981", "641a80", "3b0f70"].map((hex) =>
  [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255));
const CLAY = [0.85, 0.825, 0.8], NOT_FINITE = [0.2, 0.85, 0.3];
const FIELD_OF_VIEW = (28 * Math.PI) / 180;

/// The map's colour at t in 0..1.
function magma(t) {
  const at = Math.min(Math.max(t, 0), 1) * (MAGMA.length - 1);
  const i = Math.min(Math.floor(at), MAGMA.length - 2);
  return [0, 1, 2].map((c) => MAGMA[i][c] + (MAGMA[i + 1][c] - MAGMA[i][c]) * (at - i));
}

function decodeBytes(text) {
  const raw = atob(text);
  const out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out;
}

/// Three numbers per vertex; NaN where a vertex was not finite.
function decodePoints(packed) {
  const raw = decodeBytes(packed.data);
  if (packed.kind === "f32") return new Float32Array(raw.buffer);
  const codes = new Uint16Array(raw.buffer);
  const out = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i++) {
    out[i] = codes[i] === 65535 ? NaN : packed.min[i % 3] + packed.step[i % 3] * codes[i];
  }
  return out;
}

/// Area-weighted mean of the triangles' normals, per vertex.
function smoothNormals(positions, triangles) {
  const n = new Float32Array(positions.length);
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const ux = positions[b] - positions[a], uy = positions[b + 1] - positions[a + 1], uz = positions[b + 2] - positions[a + 2];
    const vx = positions[c] - positions[a], vy = positions[c + 1] - positions[a + 1], vz = positions[c + 2] - positions[a + 2];
    const x = uy * vz - uz * vy, y = uz * vx - ux * vz, z = ux * vy - uy * vx;
    for (const i of [a, b, c]) { n[i] += x; n[i + 1] += y; n[i + 2] += z; }
  }
  for (let i = 0; i < n.length; i += 3) {
    const length = Math.hypot(n[i], n[i + 1], n[i + 2]) || 1;
    n[i] /= length; n[i + 1] /= length; n[i + 2] /= length;
  }
  return n;
}

/// One skin ready to be drawn. Errors in the shown unit come later, where there is something to compare with.
function makeShape(positions, allTriangles) {
  const finite = (v) => Number.isFinite(positions[3 * v] + positions[3 * v + 1] + positions[3 * v + 2]);
  let missing = 0;
  for (let v = 0; v < positions.length / 3; v++) if (!finite(v)) missing++;
  const triangles = missing === 0 ? allTriangles : keepTriangles(allTriangles, finite);
  return { positions, triangles, missing, normals: smoothNormals(positions, triangles), errors: null };
}

/// Lengths of the differences from the target, their root mean square and maximum over the finite ones.
function measure(difference, scale) {
  const errors = new Float32Array(difference.length / 3);
  let sum = 0, count = 0, max = 0;
  for (let v = 0; v < errors.length; v++) {
    const e = scale * Math.hypot(difference[3 * v], difference[3 * v + 1], difference[3 * v + 2]);
    errors[v] = e;
    if (!Number.isFinite(e)) continue;
    sum += e * e; count++;
    max = Math.max(max, e);
  }
  return { errors, rms: count ? Math.sqrt(sum / count) : NaN, max: count ? max : NaN };
}

function keepTriangles(triangles, finite) {
  const kept = [];
  for (let t = 0; t < triangles.length; t += 3) {
    if (finite(triangles[t]) && finite(triangles[t + 1]) && finite(triangles[t + 2])) kept.push(triangles[t], triangles[t + 1], triangles[t + 2]);
  }
  return new Uint32Array(kept);
}

/// Rotation into the camera (rows: right, up, towards the viewer) and the matrix to clip space, column-major.
function cameraMatrices(camera, aspect) {
  const [cy, sy, cp, sp] = [Math.cos(camera.yaw), Math.sin(camera.yaw), Math.cos(camera.pitch), Math.sin(camera.pitch)];
  const rotation = [cy, 0, -sy, -sp * sy, cp, -sp * cy, cp * sy, sp, cp * cy];
  const t = camera.target;
  const moved = [0, 3, 6].map((r) => -(rotation[r] * t[0] + rotation[r + 1] * t[1] + rotation[r + 2] * t[2]));
  moved[2] -= camera.distance;
  const f = 1 / Math.tan(FIELD_OF_VIEW / 2);
  const near = Math.max(camera.distance - 4 * camera.radius, camera.distance * 0.02), far = camera.distance + 8 * camera.radius;
  const a = (far + near) / (near - far), b = (2 * far * near) / (near - far);
  const clip = new Float32Array(16);
  for (let c = 0; c < 4; c++) {
    const [x, y, z, w] = c < 3 ? [rotation[c], rotation[3 + c], rotation[6 + c], 0] : [moved[0], moved[1], moved[2], 1];
    clip[4 * c] = (f / aspect) * x; clip[4 * c + 1] = f * y; clip[4 * c + 2] = a * z + b * w; clip[4 * c + 3] = -z;
  }
  return { rotation, clip };
}

/// Yaw and pitch from which vertex v is seen: along its normal, or the nearest direction to that with nothing between.
function clearSight(shape, v, distance) {
  const { positions: p, normals: n, triangles } = shape;
  const target = [p[3 * v], p[3 * v + 1], p[3 * v + 2]];
  const normal = [n[3 * v], n[3 * v + 1], n[3 * v + 2]];
  const towards = (yaw, pitch) => [Math.cos(pitch) * Math.sin(yaw), Math.sin(pitch), Math.cos(pitch) * Math.cos(yaw)];
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const views = [{ yaw: Math.atan2(normal[0], normal[2]), pitch: Math.min(0.9, Math.max(-0.9, Math.asin(Math.min(1, Math.max(-1, normal[1]))))) }];
  for (let yaw = 0; yaw < 16; yaw++) for (const pitch of [-0.9, -0.45, 0, 0.45, 0.9]) views.push({ yaw: (yaw * Math.PI) / 8, pitch });
  views.forEach((view) => { view.along = dot(towards(view.yaw, view.pitch), normal); });
  const [first, ...others] = views;
  const order = [first, ...others.filter((view) => view.along > 0.1).sort((a, b) => b.along - a.along)];
  const cut = (direction) => {
    // Does a triangle without v cross the line of sight? (Moller and Trumbore 1997)
    for (let t = 0; t < triangles.length; t += 3) {
      const [i, j, k] = [triangles[t], triangles[t + 1], triangles[t + 2]];
      if (i === v || j === v || k === v) continue;
      const e = [0, 1, 2].map((c) => p[3 * j + c] - p[3 * i + c]), f = [0, 1, 2].map((c) => p[3 * k + c] - p[3 * i + c]);
      const q = [direction[1] * f[2] - direction[2] * f[1], direction[2] * f[0] - direction[0] * f[2], direction[0] * f[1] - direction[1] * f[0]];
      const volume = dot(e, q);
      if (!volume) continue;
      const s = [0, 1, 2].map((c) => target[c] - p[3 * i + c]);
      const a = dot(s, q) / volume;
      if (!(a >= 0 && a <= 1)) continue;
      const r = [s[1] * e[2] - s[2] * e[1], s[2] * e[0] - s[0] * e[2], s[0] * e[1] - s[1] * e[0]];
      const b = dot(direction, r) / volume;
      if (!(b >= 0 && a + b <= 1)) continue;
      const far = dot(f, r) / volume;
      if (far > 1e-3 * distance && far < distance) return true;
    }
    return false;
  };
  const clear = order.find((view) => !cut(towards(view.yaw, view.pitch))) ?? first;
  return { yaw: clear.yaw, pitch: clear.pitch };
}

/// Light from above left of the camera, some from all around; n in camera space. The GLSL below is the same line.
function brightness(x, y, z) {
  return 0.42 + 0.5 * Math.max(0, -0.37 * x + 0.56 * y + 0.74 * z) + 0.1 * y + 0.06 * z;
}

function webglRenderer(canvas) {
  const gl = canvas.getContext("webgl2", { antialias: true, preserveDrawingBuffer: true });
  if (!gl) return null;
  const compile = (kind, source) => {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) throw new Error("shader: " + gl.getShaderInfoLog(shader));
    return shader;
  };
  const names = ["position", "normal", "error"];
  let program, uniform, colours;
  const setUp = () => {
    program = gl.createProgram();
    gl.attachShader(program, compile(gl.VERTEX_SHADER, `#version 300 es
      in vec3 position, normal; in float error;
      uniform mat4 clip; uniform mat3 rotation; uniform float top;
      out vec3 n; out float t;
      void main() { n = rotation * normal; t = error < 0.0 ? -1.0 : error / top; gl_Position = clip * vec4(position, 1.0); }`));
    gl.attachShader(program, compile(gl.FRAGMENT_SHADER, `#version 300 es
      precision highp float;
      in vec3 n; in float t; uniform sampler2D map; uniform bool coloured; uniform vec3 clay, unknown; out vec4 colour;
      void main() {
        vec3 m = normalize(gl_FrontFacing ? n : -n);
        float light = 0.42 + 0.5 * max(0.0, dot(m, vec3(-0.37, 0.56, 0.74))) + 0.1 * m.y + 0.06 * m.z;
        vec3 base = !coloured ? clay : t < -0.001 ? unknown : texture(map, vec2(clamp(t, 0.0, 1.0) * 255.0 / 256.0 + 0.5 / 256.0, 0.5)).rgb;
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
  const upload = (shape) => {
    if (uploaded.has(shape)) return uploaded.get(shape);
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
    buffers.push(gl.createBuffer());
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[3]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, shape.triangles, gl.STATIC_DRAW);
    const entry = { array, buffers, count: shape.triangles.length };
    uploaded.set(shape, entry);
    return entry;
  };
  return {
    name: "webgl2",
    ratio: () => Math.min(devicePixelRatio || 1, 2),
    restored: () => { uploaded = new Map(); setUp(); },
    /// Forgets the shapes of a frame that is no longer shown.
    forget: () => {
      for (const { array, buffers } of uploaded.values()) { gl.deleteVertexArray(array); buffers.forEach((b) => gl.deleteBuffer(b)); }
      uploaded = new Map();
    },
    draw: (panes, top) => {
      gl.viewport(0, 0, canvas.width, canvas.height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      gl.enable(gl.DEPTH_TEST);
      gl.useProgram(program);
      gl.bindTexture(gl.TEXTURE_2D, colours);
      gl.uniform3fv(uniform("clay"), CLAY);
      gl.uniform3fv(uniform("unknown"), NOT_FINITE);
      gl.uniform1f(uniform("top"), top);
      for (const pane of panes) {
        const shape = upload(pane.shape);
        gl.viewport(pane.x, 0, pane.width, canvas.height);
        gl.uniformMatrix4fv(uniform("clip"), false, pane.clip);
        gl.uniformMatrix3fv(uniform("rotation"), true, pane.rotation);
        gl.uniform1i(uniform("coloured"), pane.coloured ? 1 : 0);
        gl.bindVertexArray(shape.array);
        gl.drawElements(gl.TRIANGLES, shape.count, gl.UNSIGNED_INT, 0);
      }
      const error = gl.getError();
      if (error && !gl.isContextLost()) throw new Error("WebGL error " + error);
    },
  };
}

/// Depth-buffered triangles with colours interpolated between vertices, on a plain 2D canvas.
function softwareRenderer(canvas) {
  const context = canvas.getContext("2d");
  if (!context) return null;
  const drawPane = (pane, top, image, depth) => {
    const { positions, normals, errors, triangles } = pane.shape;
    const [m, r, width, height] = [pane.clip, pane.rotation, pane.width, image.height];
    const count = positions.length / 3;
    const screen = new Float32Array(3 * count), colour = new Float32Array(3 * count);
    for (let v = 0; v < count; v++) {
      const [x, y, z] = [positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      screen[3 * v] = w > 0 ? pane.x + (0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w) * width : NaN;
      screen[3 * v + 1] = (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w) * height;
      screen[3 * v + 2] = (m[2] * x + m[6] * y + m[10] * z + m[14]) / w;
      const [a, b, c] = [normals[3 * v], normals[3 * v + 1], normals[3 * v + 2]];
      let light = brightness(r[0] * a + r[1] * b + r[2] * c, r[3] * a + r[4] * b + r[5] * c, r[6] * a + r[7] * b + r[8] * c);
      let base = CLAY;
      if (pane.coloured) {
        base = !Number.isFinite(errors[v]) ? NOT_FINITE : magma(errors[v] / top);
        light = 0.25 + 0.75 * light;
      }
      for (let i = 0; i < 3; i++) colour[3 * v + i] = 255 * base[i] * light;
    }
    const right = pane.x + width;
    for (let t = 0; t < triangles.length; t += 3) {
      const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
      const [ax, ay, bx, by, cx, cy] = [screen[a], screen[a + 1], screen[b], screen[b + 1], screen[c], screen[c + 1]];
      const area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax);
      if (!area) continue; // seen edge on; NaN fails the loops below
      const shade = area < 0 ? 1 : 0.6; // screen y points down: the front is clockwise
      const y0 = Math.max(0, Math.ceil(Math.min(ay, by, cy) - 0.5)), y1 = Math.min(height - 1, Math.floor(Math.max(ay, by, cy) - 0.5));
      const x0 = Math.max(pane.x, Math.ceil(Math.min(ax, bx, cx) - 0.5)), x1 = Math.min(right - 1, Math.floor(Math.max(ax, bx, cx) - 0.5));
      for (let y = y0; y <= y1; y++) {
        for (let x = x0; x <= x1; x++) {
          const px = x + 0.5, py = y + 0.5;
          const wa = ((bx - px) * (cy - py) - (by - py) * (cx - px)) / area;
          const wb = ((cx - px) * (ay - py) - (cy - py) * (ax - px)) / area;
          const wc = 1 - wa - wb;
          if (wa < -1e-6 || wb < -1e-6 || wc < -1e-6) continue;
          const z = wa * screen[a + 2] + wb * screen[b + 2] + wc * screen[c + 2];
          const at = y * image.width + x;
          if (!(z < depth[at]) || z < -1) continue;
          depth[at] = z;
          for (let i = 0; i < 3; i++) image.data[4 * at + i] = shade * (wa * colour[a + i] + wb * colour[b + i] + wc * colour[c + i]);
          image.data[4 * at + 3] = 255;
        }
      }
    }
  };
  return {
    name: "software",
    ratio: () => 1,
    restored: () => {},
    forget: () => {},
    draw: (panes, top) => {
      const image = context.createImageData(canvas.width, canvas.height);
      const depth = new Float32Array(canvas.width * canvas.height).fill(1);
      for (const pane of panes) drawPane(pane, top, image, depth);
      context.putImageData(image, 0, 0);
    },
  };
}

/// Builds the view into `host`. `onFrame` hears which pose is shown. Returns `show(frame, vertex)`.
function startView(host, data, { element, digits, nice, fail }, onFrame) {
  const view = data.view;
  const triangles = new Uint32Array(decodeBytes(view.triangles).buffer);
  const frames = view.frames;
  const rest = frames.length; // the rest shape comes after the frames
  const names = { target: "target", model: data.model, baseline: data.baseline };
  const state = { frame: 0, show: "all", coloured: true, top: 1, vertex: -1, shapes: {}, panes: [] };
  const camera = { yaw: 0.5, pitch: 0.12, distance: 1, radius: 1, target: [0, 0, 0] };

  // Controls
  const controls = element("div", "controls");
  const group = (label, content, id) => {
    const box = element("div", "group");
    const text = element(id ? "label" : "span", id ? "" : "label", label);
    if (id) text.htmlFor = id;
    box.append(text, ...content);
    controls.append(box);
    return box;
  };
  const segments = (label, options, choose) => {
    const box = element("span", "segments");
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", label);
    for (const [key, text] of options) {
      const button = element("button", "", text);
      button.type = "button";
      button.dataset.key = key;
      button.onclick = () => choose(key);
      box.append(button);
    }
    box.mark = (key) => { for (const b of box.children) b.setAttribute("aria-pressed", b.dataset.key === key); };
    return box;
  };
  const select = element("select");
  select.id = "view-frame";
  frames.forEach((frame, i) => {
    const where = [frame.set, frame.note].filter(Boolean).join(", ");
    select.append(new Option(where ? `${frame.label} (${where})` : frame.label, i));
  });
  select.append(new Option("rest shape", rest));
  select.onchange = () => api.show(+select.value);
  group("Frame", [select], "view-frame");
  const any = frames.some((frame) => frame.baseline);
  const showButtons = segments("Shown", [["all", "side by side"], ["target", names.target], ["model", names.model], ...(any ? [["baseline", names.baseline]] : [])], (key) => {
    state.show = key;
    refresh();
  });
  group("Show", [showButtons]);
  const colourButtons = segments("Colour", [["error", "error"], ["plain", "plain"]], (key) => {
    state.coloured = key === "error";
    refresh();
  });
  group("Colour", [colourButtons]);
  const slider = element("input");
  slider.type = "range";
  slider.min = 0; slider.max = 100; slider.step = 1;
  slider.setAttribute("aria-label", "Error at the end of the colour scale, slider");
  const number = element("input");
  number.type = "number";
  number.min = 0; number.step = "any";
  number.id = "view-top";
  const topGroup = group(`Scale to (${data.unit})`, [slider, number], "view-top");
  const reset = element("button", "plain", "Reset view");
  reset.type = "button";
  reset.onclick = () => { frameCamera(true); state.vertex = -1; refresh(); };
  controls.append(reset);

  // Stage
  const stage = element("div", "stage");
  let canvas = element("canvas");
  const overlay = element("div");
  const ramp = element("div", "ramp");
  const bar = element("canvas");
  bar.width = 256; bar.height = 1;
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", "Colour scale from no error, pale yellow, to the largest, violet");
  const [low, high] = [element("span", "", "0"), element("span")];
  ramp.append(low, bar, high);
  const bars = bar.getContext("2d");
  for (let i = 0; bars && i < 256; i++) {
    bars.fillStyle = `rgb(${magma(i / 255).map((c) => Math.round(255 * c)).join(",")})`;
    bars.fillRect(i, 0, 1, 1);
  }
  const status = element("p", "status");
  status.setAttribute("aria-live", "polite");
  const help = element("p", "note help", "Drag to turn, Shift or right drag to move, wheel or pinch to zoom, click a vertex for its error. Keys on the picture: ← → frame, + − zoom, R reset.");
  stage.append(canvas, overlay);
  host.append(controls, stage, ramp, status, help);

  // Renderer: WebGL unless there is none, or the address asks for the other.
  let renderer = null;
  if (!/renderer=software/.test(location.hash)) {
    renderer = webglRenderer(canvas);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { renderer.restored(); draw(); });
  }
  if (!renderer) {
    const fresh = element("canvas"); // one canvas gives only one kind of context
    canvas.replaceWith(fresh);
    canvas = fresh;
    renderer = softwareRenderer(canvas);
    if (renderer && !/renderer=software/.test(location.hash)) help.append(" This browser has no WebGL 2; the picture is drawn without it and turns more slowly.");
  }
  if (!renderer) {
    stage.replaceChildren(element("p", "note", "This browser can draw neither with WebGL 2 nor on a canvas; the tables below hold the numbers."));
    document.documentElement.dataset.renderer = "none";
    return { show: () => {} };
  }
  document.documentElement.dataset.renderer = renderer.name;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");

  // Shapes of a frame
  const shapesOf = (index) => {
    if (index >= rest) return { target: makeShape(decodePoints(view.rest), triangles) };
    const frame = frames[index];
    const target = decodePoints(frame.target);
    const shapes = { target: makeShape(target, triangles) };
    for (const kind of ["model", "baseline"]) {
      if (!frame[kind]) continue;
      // The stored difference is finer than the stored target: the error is that of the difference.
      const difference = decodePoints(frame[kind]);
      shapes[kind] = Object.assign(makeShape(difference.map((d, i) => d + target[i]), triangles), measure(difference, data.scale));
    }
    return shapes;
  };
  /// End of the colour scale: the 99th percentile of the baseline (of the model, where there is none) over every stored
  /// frame, rounded up, so that frames can be compared and a model that flies apart does not set its own measure.
  const defaultTop = () => {
    for (const kind of ["baseline", "model"]) {
      let top = 0;
      for (const frame of frames) {
        if (!frame[kind]) continue;
        const sorted = measure(decodePoints(frame[kind]), data.scale).errors.filter(Number.isFinite).sort();
        if (sorted.length) top = Math.max(top, sorted[Math.floor(0.99 * (sorted.length - 1))]);
      }
      if (top > 0) return nice(top, [1, 1.5, 2, 3, 4, 5, 6, 8, 10]);
    }
    return 1;
  };
  const shown = () => (state.show === "all" ? ["target", "model", "baseline"] : [state.show]).filter((kind) => state.shapes[kind]);

  const frameCamera = (turnBack) => {
    if (turnBack) Object.assign(camera, { yaw: 0.5, pitch: 0.12 });
    const { positions } = state.shapes.target;
    const { rotation: r } = cameraMatrices(camera, 1);
    const seen = (p, row) => r[row] * p[0] + r[row + 1] * p[1] + r[row + 2] * p[2];
    const finite = [];
    for (let i = 0; i < positions.length; i += 3) {
      const p = [positions[i], positions[i + 1], positions[i + 2]];
      if (Number.isFinite(p[0] + p[1] + p[2])) finite.push([seen(p, 0), seen(p, 3), seen(p, 6)]);
    }
    if (!finite.length) finite.push([-1, -1, -1], [1, 1, 1]);
    const low = [0, 1, 2].map((i) => finite.reduce((a, q) => Math.min(a, q[i]), Infinity));
    const high = [0, 1, 2].map((i) => finite.reduce((a, q) => Math.max(a, q[i]), -Infinity));
    const middle = low.map((l, i) => 0.5 * (l + high[i]));
    camera.target = [0, 1, 2].map((i) => r[i] * middle[0] + r[3 + i] * middle[1] + r[6 + i] * middle[2]);
    camera.radius = 0.5 * Math.hypot(...high.map((h, i) => h - low[i])) || 1;
    // Near enough that every vertex just fits, with room for the names above and at the edges.
    const slope = Math.tan(FIELD_OF_VIEW / 2);
    const aspect = Math.max(0.05, stage.clientWidth / Math.max(1, shown().length) / Math.max(1, stage.clientHeight));
    camera.distance = finite.reduce((far, q) => {
      const [x, y, z] = q.map((c, i) => c - middle[i]);
      return Math.max(far, z + Math.abs(x) / (0.9 * slope * aspect), z + Math.abs(y) / (0.82 * slope));
    }, 0.5 * camera.radius);
  };

  // Drawing
  let pending = false;
  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      try { drawNow(); } catch (error) { fail(error); }
    });
  };
  const drawNow = () => {
    const ratio = renderer.ratio();
    const [width, height] = [Math.max(1, Math.round(stage.clientWidth * ratio)), Math.max(1, Math.round(stage.clientHeight * ratio))];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const kinds = shown();
    state.panes = kinds.map((kind, i) => {
      const x = Math.round((i * width) / kinds.length), right = Math.round(((i + 1) * width) / kinds.length);
      const shape = state.shapes[kind];
      return { kind, shape, x, width: right - x, coloured: state.coloured && !!shape.errors, ...cameraMatrices(camera, (right - x) / height) };
    });
    renderer.draw(state.panes, state.top);
    drawSpots();
  };
  /// Where vertex v is in a pane: pixels of the stage from the pane's left top, and depth.
  const project = (pane, v) => {
    const [p, m] = [pane.shape.positions, pane.clip];
    const [x, y, z] = [p[3 * v], p[3 * v + 1], p[3 * v + 2]];
    const w = m[3] * x + m[7] * y + m[11] * z + m[15];
    if (!(w > 0)) return null;
    const wide = (pane.width * stage.clientWidth) / canvas.width;
    return [(0.5 + (0.5 * (m[0] * x + m[4] * y + m[8] * z + m[12])) / w) * wide, (0.5 - (0.5 * (m[1] * x + m[5] * y + m[9] * z + m[13])) / w) * stage.clientHeight, w];
  };
  const drawSpots = () => {
    overlay.querySelectorAll(".spot").forEach((spot) => spot.remove());
    if (state.vertex < 0) return;
    state.panes.forEach((pane, i) => {
      const at = project(pane, state.vertex);
      const holder = overlay.children[i];
      if (!at || !holder || !at.every(Number.isFinite)) return;
      const spot = element("div", "spot");
      spot.style.left = at[0] + "px";
      spot.style.top = at[1] + "px";
      holder.append(spot);
    });
  };
  const withUnit = (v) => `${digits(v)} ${data.unit}`;
  const refresh = () => {
    if (!state.shapes[state.show] && state.show !== "all") state.show = "all";
    const kinds = shown();
    showButtons.mark(state.show);
    for (const button of showButtons.children) button.disabled = button.dataset.key !== "all" && !state.shapes[button.dataset.key];
    colourButtons.mark(state.coloured ? "error" : "plain");
    ramp.hidden = topGroup.hidden = !state.coloured;
    ramp.style.display = topGroup.style.display = state.coloured ? "" : "none";
    number.value = +state.top.toPrecision(3);
    slider.value = 50 + 25 * Math.log10(state.top / scaleMiddle);
    high.textContent = `≥ ${withUnit(state.top)}`;
    overlay.replaceChildren(...kinds.map((kind, i) => {
      const shape = state.shapes[kind];
      const pane = element("div", "pane");
      pane.style.left = `${(100 * i) / kinds.length}%`;
      pane.style.width = `${100 / kinds.length}%`;
      const plate = element("div", "plate");
      plate.append(element("b", "", state.frame >= rest ? "rest shape" : names[kind]));
      if (shape.errors) plate.append(element("span", "", `rms ${withUnit(shape.rms)}, max ${withUnit(shape.max)}`));
      if (shape.missing) plate.append(element("span", "", ` ${shape.missing} vertices not finite`));
      pane.append(plate);
      return pane;
    }));
    const frame = frames[state.frame];
    canvas.setAttribute("aria-label", `3D view of ${frame ? frame.label : "the rest shape"}: ${kinds.map((k) => names[k]).join(", ")}`);
    status.textContent = state.vertex >= 0 ? describe(state.vertex).replace(/\n/g, " · ") : "";
    draw();
  };
  const describe = (v) => {
    const lines = [`vertex ${v}`];
    for (const kind of ["model", "baseline"]) if (state.shapes[kind]) lines.push(`${names[kind]}: ${withUnit(state.shapes[kind].errors[v])}`);
    return lines.join("\n");
  };

  // Picking: of the vertices near the pointer that face the viewer, the nearest to the viewer.
  const pick = (event) => {
    const box = stage.getBoundingClientRect();
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    const pane = state.panes[Math.floor((mx / box.width) * state.panes.length)];
    if (!pane) return -1;
    const left = (pane.x * box.width) / canvas.width;
    const { positions, normals } = pane.shape;
    const r = pane.rotation;
    let best = -1, score = Infinity;
    for (let v = 0; v < positions.length / 3; v++) {
      if (r[6] * normals[3 * v] + r[7] * normals[3 * v + 1] + r[8] * normals[3 * v + 2] < -0.1) continue;
      const at = project(pane, v);
      if (!at) continue;
      const away = Math.hypot(at[0] + left - mx, at[1] - my);
      if (away > 10) continue;
      const s = at[2] + (away / 10) * 0.04 * camera.radius;
      if (s < score) { score = s; best = v; }
    }
    return best;
  };

  // Pointer, wheel, keys
  const pointers = new Map();
  let travelled = 0;
  const pan = (dx, dy) => {
    const { rotation: r } = cameraMatrices(camera, 1);
    const step = (2 * camera.distance * Math.tan(FIELD_OF_VIEW / 2)) / stage.clientHeight;
    for (let i = 0; i < 3; i++) camera.target[i] += step * (-dx * r[i] + dy * r[3 + i]);
  };
  const zoom = (factor) => { camera.distance = Math.min(Math.max(camera.distance * factor, camera.radius * 0.05), camera.radius * 60); };
  const tip = document.getElementById("tip");
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    travelled = pointers.size > 1 ? 1e9 : 0;
    tip.hidden = true;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const v = event.pointerType === "touch" ? -1 : pick(event);
      tip.hidden = v < 0 || state.frame >= rest;
      if (!tip.hidden) {
        tip.textContent = describe(v);
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6)) + "px";
        tip.style.top = event.clientY + (event.clientY + 18 + box.height > innerHeight ? -box.height - 10 : 18) + "px";
      }
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    travelled += Math.abs(dx) + Math.abs(dy);
    if (pointers.size >= 2) {
      const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId);
      const distance = (p) => Math.max(10, Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY));
      zoom(distance(before) / distance(event));
      pan(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 6) {
      pan(dx, dy);
    } else {
      camera.yaw -= dx * 0.008;
      camera.pitch = Math.min(1.55, Math.max(-1.55, camera.pitch + dy * 0.008));
    }
    pointers.set(event.pointerId, event);
    draw();
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || event.type !== "pointerup" || travelled > 4 || event.button !== 0) return;
    state.vertex = pick(event);
    refresh();
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  // A scroll of the page that happens to reach the picture goes on scrolling; a new turn of the wheel on it zooms.
  let scrolled = -1e9;
  addEventListener("wheel", (event) => { if (event.target !== canvas) scrolled = event.timeStamp; }, { passive: true, capture: true });
  canvas.addEventListener("wheel", (event) => {
    if (event.timeStamp - scrolled < 300) { scrolled = event.timeStamp; return; }
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1;
    zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY * lines)) * 0.0012));
    draw();
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const last = rest;
    const act = {
      ArrowLeft: () => api.show(Math.max(0, state.frame - 1)),
      ArrowRight: () => api.show(Math.min(last, state.frame + 1)),
      "+": () => { zoom(0.85); draw(); },
      "=": () => { zoom(0.85); draw(); },
      "-": () => { zoom(1 / 0.85); draw(); },
      r: () => reset.onclick(),
    }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
  const setTop = (v) => {
    if (Number.isFinite(v) && v > 0) { state.top = v; refresh(); }
  };
  number.onchange = () => setTop(+number.value);
  slider.oninput = () => setTop(+(scaleMiddle * 10 ** ((slider.value - 50) / 25)).toPrecision(2));

  const api = {
    /// Shows a stored frame (or the rest shape), and a vertex in it from near when one is given.
    show: (index, vertex) => {
      const changed = index !== state.frame || !state.shapes.target;
      if (changed) {
        renderer.forget();
        state.frame = index;
        state.shapes = shapesOf(index);
        select.value = index;
        state.vertex = -1;
        onFrame(index < rest ? frames[index].pose : null);
      }
      if (Number.isInteger(vertex) && vertex >= 0 && vertex < view.vertices) {
        state.vertex = vertex;
        const at = [0, 1, 2].map((i) => state.shapes.target.positions[3 * vertex + i]);
        if (at.every(Number.isFinite)) {
          camera.target = at;
          camera.distance = camera.radius * 2.2;
          Object.assign(camera, clearSight(state.shapes.target, vertex, camera.distance));
        }
      }
      refresh();
    },
  };
  const scaleMiddle = defaultTop();
  state.top = scaleMiddle;
  api.show(0);
  frameCamera(true);
  drawNow();
  let width = stage.clientWidth;
  new ResizeObserver(() => {
    if (stage.clientWidth !== width) frameCamera(false);
    width = stage.clientWidth;
    draw();
  }).observe(stage);
  return api;
}
