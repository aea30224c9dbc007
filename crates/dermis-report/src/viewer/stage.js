// The viewer: the picture. One pane, two with a divider, or several side by side, by the renderers of the report.

/// Builds the picture into `stage`. `names` are those of the kinds of skin; `playing()` says whether they move; `isFluid` is that of
/// `webglRenderer`. Returns how to draw it.
function makeStage({ element, stage, names, describe, playing, fail, isFluid = false }) {
  let canvas = element("canvas", "skins");
  stage.append(canvas);
  const camera = { yaw: 0.5, pitch: 0.12, distance: 1, radius: 1, target: [0, 0, 0] };
  const state = { panes: [], kinds: [], wipe: false, split: 0.5, shapes: {}, top: 1, coloured: false, vertex: -1, joints: [], parents: [], wire: false, strokes: [], ground: null, marks: null };
  let pending = false;
  const draw = () => {
    if (pending) return;
    pending = true;
    requestAnimationFrame(() => {
      pending = false;
      try { api.drawn?.(drawNow()); } catch (error) { fail(error); }
    });
  };
  const overlay = makeOverlay({ element, stage, names, setSplit: (split) => { state.split = Math.min(0.98, Math.max(0.02, split)); draw(); } });
  let renderer = null;
  if (!/renderer=software/.test(location.hash)) {
    renderer = webglRenderer(canvas, isFluid);
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvas.addEventListener("webglcontextrestored", () => { renderer.restored(); draw(); });
  }
  if (!renderer) {
    const fresh = element("canvas", "skins"); // one canvas gives only one kind of context
    canvas.replaceWith(fresh);
    canvas = fresh;
    renderer = softwareRenderer(canvas);
  }
  if (!renderer) throw new Error("this browser can draw neither with WebGL 2 nor on a canvas");
  document.documentElement.dataset.renderer = renderer.name;
  canvas.tabIndex = 0;
  canvas.setAttribute("role", "img");

  const drawNow = () => {
    const start = performance.now();
    const ratio = renderer.ratio();
    const [width, height] = [Math.max(1, Math.round(stage.clientWidth * ratio)), Math.max(1, Math.round(stage.clientHeight * ratio))];
    if (canvas.width !== width || canvas.height !== height) { canvas.width = width; canvas.height = height; }
    const { kinds, wipe } = state;
    const cut = Math.round(state.split * width);
    state.panes = kinds.map((kind, i) => {
      const shape = state.shapes[kind];
      const left = wipe ? 0 : Math.round((i * width) / kinds.length), right = wipe ? width : Math.round(((i + 1) * width) / kinds.length);
      const [from, to] = wipe ? [[0, cut], [cut, width]][i] : [left, right];
      return { kind, shape, x: left, width: right - left, from, to, coloured: state.coloured && !!(shape.errors || shape.tints), wire: state.wire, strokes: state.strokes, ground: state.ground, surface: null, ...cameraMatrices(camera, (right - left) / height) };
    });
    renderer.draw(state.panes, state.top);
    overlay.draw({ panes: state.panes, split: state.split, vertex: playing() ? -1 : state.vertex, joints: state.joints, parents: state.parents, ratio: width / stage.clientWidth, marks: state.marks });
    return performance.now() - start;
  };
  const frame = (turnBack) => {
    if (turnBack) Object.assign(camera, { yaw: 0.5, pitch: 0.12 });
    const side = state.wipe ? 1 : Math.max(1, state.kinds.length);
    frameShape(camera, ringsAround(state.shapes[state.kinds[0]].positions), Math.max(0.05, stage.clientWidth / side / Math.max(1, stage.clientHeight)));
  };
  const pointer = listenToPointer({
    canvas, stage, camera, draw,
    describe,
    pick: (event) => {
      if (playing() || !state.panes.some((pane) => pane.shape.errors || pane.shape.tints)) return -1;
      const box = stage.getBoundingClientRect();
      return pickVertex(state.panes, [event.clientX - box.left, event.clientY - box.top], canvas.width / box.width, box.height, camera.radius);
    },
    mark: (vertex) => { state.vertex = vertex; draw(); },
    swipe: () => false,
  });
  // Arrows turn the picture, with Shift they move it.
  canvas.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.shiftKey) {
      const { rotation: r } = cameraMatrices(camera, 1);
      for (let i = 0; i < 3; i++) camera.target[i] -= 0.06 * camera.distance * (by[0] * r[i] + by[1] * r[3 + i]);
    } else {
      camera.yaw += 0.1 * by[0];
      camera.pitch = Math.min(1.55, Math.max(-1.55, camera.pitch - 0.1 * by[1]));
    }
    draw();
  });
  let width = stage.clientWidth;
  new ResizeObserver(() => {
    if (stage.clientWidth !== width && state.kinds.length) frame(false);
    width = stage.clientWidth;
    // At once, before the new size is shown.
    if (state.kinds.length) try { drawNow(); } catch (error) { fail(error); }
  }).observe(stage);
  const api = {
    state, camera, draw, drawNow, frame,
    /// Hears how many milliseconds a picture took.
    drawn: null,
    zoom: pointer.zoom,
    forget: () => renderer.forget(),
    /// Where shapes are computed on the card; null without one.
    context: () => renderer.context?.() ?? null,
    name: (text) => canvas.setAttribute("aria-label", text),
    plates: (text) => overlay.namePanes(state.kinds, state.wipe, text),
  };
  return api;
}
