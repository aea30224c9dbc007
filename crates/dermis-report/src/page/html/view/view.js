// The 3D view: target, model and baseline of one stored frame, side by side, one at a time, or two with a divider between
// them; shaded or coloured by their distance from the target. Two renderers draw the same list of panes: WebGL 2, and a
// software rasteriser where there is none.

/// Builds the view into `host`. `onFrame` hears which pose is shown. Returns `show(frame, vertex, remark)`.
function startView(host, data, { element, digits, nice, fail }, onFrame) {
  const view = data.view;
  const frames = view.frames;
  const rest = frames.length; // the rest shape comes after the frames
  const names = { target: data.target ?? "target", model: data.model, baseline: data.baseline };
  const small = matchMedia("(max-width: 480px)");
  const state = {
    frame: -1, mode: "all", right: "model", split: 0.5, colour: "error", wire: false, bones: false, top: 1, vertex: -1,
    remark: "", shapes: {}, panes: [],
  };
  const camera = { yaw: 0.5, pitch: 0.12, distance: 1, radius: 1, target: [0, 0, 0] };
  const store = shapeStore(view, data.scale);

  const set = (change) => { Object.assign(state, change); refresh(); };
  const playback = makePlayback({ element, frames, show: (index) => api.show(index) });

  // Stage
  const stage = element("div", "stage");
  let canvas = element("canvas", "skins");
  stage.append(canvas);
  const overlay = makeOverlay({ element, stage, names, setSplit: (split) => { state.split = Math.min(0.98, Math.max(0.02, split)); draw(); } });
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
  const help = element("p", "note help", "Drag to turn, Shift or right drag to move, wheel or pinch to zoom, click a vertex for its error. Keys: space plays, ← → step, + − zoom, R resets.");
  host.append(stage, playback.element, ramp, status, help);

  // Renderer: WebGL unless there is none, or the address asks for the other.
  let renderer = null;
  if (!/renderer=software/.test(location.hash)) {
    renderer = webglRenderer(canvas);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { renderer.restored(); draw(); });
  }
  if (!renderer) {
    const fresh = element("canvas", "skins"); // one canvas gives only one kind of context
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
  const controls = makeControls({
    element, data, names, textures: renderer.textures,
    act: {
      show: (index) => { playback.stop(); api.show(index); },
      mode: (mode) => {
        const count = shown().length;
        set({ mode });
        if (shown().length !== count) frameCamera(false);
      },
      right: (right) => set({ right }),
      colour: (colour) => set({ colour }),
      wire: (wire) => set({ wire }),
      bones: (bones) => set({ bones }),
      top: (top) => { if (Number.isFinite(top) && top > 0) set({ top }); },
      reset: () => { frameCamera(true); set({ vertex: -1, split: 0.5, remark: "" }); },
    },
  });
  host.prepend(controls.element);
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");

  /// End of the colour scale: the 99th percentile of the baseline (of the model, where there is none) over the frames to
  /// look at first, rounded up, so that frames can be compared and a model that flies apart does not set its own measure.
  const defaultTop = () => {
    const named = frames.filter((frame) => frame.note);
    const some = named.length ? named : frames.filter((_, i) => i % Math.ceil(frames.length / 8) === 0);
    for (const kind of ["baseline", "model"]) {
      let top = 0;
      for (const frame of some) {
        if (!frame[kind]) continue;
        const sorted = measure(decodePoints(frame[kind]), data.scale).errors.filter(Number.isFinite).sort();
        if (sorted.length) top = Math.max(top, sorted[Math.floor(0.99 * (sorted.length - 1))]);
      }
      if (top > 0) return nice(top, [1, 1.5, 2, 3, 4, 5, 6, 8, 10]);
    }
    return 1;
  };
  const surface = renderer.textures ? readSurface(view.surface, () => draw()) : null;
  const wiped = () => state.mode === "wipe" && !!state.shapes.model;
  const shown = () => {
    if (wiped()) return ["target", state.shapes[state.right] ? state.right : "model"];
    const asked = state.mode === "all" || state.mode === "wipe" ? ["target", "model", "baseline"] : [state.mode];
    const there = asked.filter((kind) => state.shapes[kind]);
    return there.length ? there : ["target"];
  };
  const frameCamera = (turnBack) => {
    if (turnBack) Object.assign(camera, { yaw: 0.5, pitch: 0.12 });
    const side = wiped() ? 1 : shown().length;
    frameShape(camera, state.shapes.target.positions, Math.max(0.05, stage.clientWidth / Math.max(1, side) / Math.max(1, stage.clientHeight)));
  };

  // Drawing
  let pending = false;
  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      try { drawNow(); } catch (error) { playback.stop(); fail(error); }
    });
  };
  const drawNow = () => {
    const ratio = renderer.ratio();
    const [width, height] = [Math.max(1, Math.round(stage.clientWidth * ratio)), Math.max(1, Math.round(stage.clientHeight * ratio))];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const [kinds, wipe] = [shown(), wiped()];
    const cut = Math.round(state.split * width);
    state.panes = kinds.map((kind, i) => {
      const shape = state.shapes[kind];
      const left = wipe ? 0 : Math.round((i * width) / kinds.length), right = wipe ? width : Math.round(((i + 1) * width) / kinds.length);
      const [from, to] = wipe ? [[0, cut], [cut, width]][i] : [left, right];
      const coloured = state.colour === "error" && !!shape.errors;
      return { kind, shape, x: left, width: right - left, from, to, coloured, wire: state.wire, surface: state.colour === "texture" ? surface : null, ...cameraMatrices(camera, (right - left) / height) };
    });
    renderer.draw(state.panes, state.top);
    const joints = state.bones && state.frame < rest ? store.joints(state.frame) : [];
    overlay.draw({ panes: state.panes, split: state.split, vertex: state.vertex, joints, parents: view.parents, ratio: width / stage.clientWidth });
  };
  const withUnit = (v) => `${digits(v)} ${data.unit}`;
  /// rms and max of a shape: those of the score, if the page has them, as a played frame is stored more coarsely.
  const numbersOf = (kind) => {
    const shape = state.shapes[kind];
    const at = state.frame < rest ? frames[state.frame].pose : null;
    const scored = at ? data.sets[at[0]].poses[at[1]] : {};
    const [rms, max] = kind === "model" ? [scored.rms, scored.max] : [scored.baseline_rms, scored.baseline_max];
    return [rms ?? shape.rms, max ?? shape.max];
  };
  const plate = {
    name: (kind) => (state.frame >= rest ? "rest shape" : names[kind]),
    lines: (kind) => {
      const shape = state.shapes[kind];
      const lines = [];
      if (shape.errors) {
        const [rms, max] = numbersOf(kind);
        lines.push(`rms ${withUnit(rms)}, max ${withUnit(max)}`);
      }
      if (shape.missing) lines.push(` ${shape.missing} vertices not finite`);
      return lines;
    },
  };
  const refresh = () => {
    const kinds = shown();
    controls.mark(state);
    ramp.hidden = state.colour !== "error";
    high.textContent = `≥ ${withUnit(state.top)}`;
    overlay.namePanes(kinds, wiped(), plate);
    const frame = frames[state.frame];
    canvas.setAttribute("aria-label", `3D view of ${frame ? frame.label : "the rest shape"}: ${kinds.map((k) => names[k]).join(", ")}`);
    const said = state.vertex >= 0 ? describe(state.vertex).replace(/\n/g, " · ") : state.remark;
    if (status.textContent !== said) status.textContent = said;
    draw();
  };
  const describe = (v) => {
    const lines = [`vertex ${v}`];
    for (const kind of ["model", "baseline"]) if (state.shapes[kind]) lines.push(`${names[kind]}: ${withUnit(state.shapes[kind].errors[v])}`);
    return lines.join("\n");
  };

  const pointer = listenToPointer({
    canvas, stage, camera, describe, draw,
    pick: (event) => {
      if (state.frame >= rest || playback.playing()) return -1;
      const box = stage.getBoundingClientRect();
      return pickVertex(state.panes, [event.clientX - box.left, event.clientY - box.top], canvas.width / box.width, box.height, camera.radius);
    },
    mark: (vertex) => set({ vertex }),
    // To the next skin where one is shown at a time.
    swipe: (direction) => {
      const kinds = ["target", "model", "baseline"].filter((kind) => state.shapes[kind]);
      const at = kinds.indexOf(state.mode);
      if (!small.matches || at < 0) return false;
      set({ mode: kinds[(at - direction + kinds.length) % kinds.length] });
      return true;
    },
  });
  listenToKeys(host, {
    " ": playback.toggle,
    ArrowLeft: () => playback.step(-1),
    ArrowRight: () => playback.step(1),
    "+": () => pointer.zoom(0.85),
    "=": () => pointer.zoom(0.85),
    "-": () => pointer.zoom(1 / 0.85),
    r: () => { frameCamera(true); set({ vertex: -1, split: 0.5, remark: "" }); },
  });
  // A phone shows one skin at a time.
  const fit = () => { if (small.matches && state.mode === "all" && state.shapes.model) set({ mode: "model" }); };
  small.addEventListener("change", () => {
    fit();
    resized();
  });

  const api = {
    /// Shows a stored frame (or the rest shape), with a remark, and a vertex in it from near when one is given.
    show: (index, vertex, remark) => {
      if (index !== state.frame) {
        renderer.forget();
        state.frame = index;
        state.shapes = store.shapes(index);
        state.vertex = -1;
        playback.onFrame(index);
        onFrame(index < rest ? frames[index].pose : null);
      }
      state.remark = remark ?? "";
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
    stop: playback.stop,
  };
  state.top = defaultTop();
  controls.setMiddle(state.top);
  api.show(view.first);
  fit();
  frameCamera(true);
  drawNow();
  let width = stage.clientWidth;
  // At once, before the new size is shown.
  const resized = () => {
    if (stage.clientWidth !== width) frameCamera(false);
    width = stage.clientWidth;
    try { drawNow(); } catch (error) { fail(error); }
  };
  new ResizeObserver(resized).observe(stage);
  return api;
}
