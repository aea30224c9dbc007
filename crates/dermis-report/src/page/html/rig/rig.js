// The rig in 3D: what is painted on the skin, the list of bones, and what is known of a bone or of a vertex.

/// Builds the view of a rig into `host`. `element` makes elements, `fail` tells the reader of an error.
function makeRigView({ host, rig, element, fail }) {
  const triangles = new Uint32Array(decodeBytes(rig.triangles).buffer);
  const positions = decodePoints(rig.rest);
  const lines = (text) => new Uint32Array(decodeBytes(text).buffer);
  const rows = { weights: rig.weights && decodeRows(rig.weights), maps: rig.maps && decodeRows(rig.maps) };
  const islands = rig.islands && new Uint32Array(decodeBytes(rig.islands).buffer);
  const [seams, borders] = [lines(rig.seams), lines(rig.borders)];
  const mirror = rig.mirror && {
    ...rig.mirror,
    partners: new Uint32Array(decodeBytes(rig.mirror.partners).buffer),
    asymmetry: new Float32Array(decodeBytes(rig.mirror.asymmetry).buffer),
  };
  const bones = rig.bones;
  const colours = palette(bones.length);
  const shape = makeShape(positions, triangles);
  const box = [[Infinity, Infinity, Infinity], [-Infinity, -Infinity, -Infinity]];
  for (let i = 0; i < positions.length; i++) if (Number.isFinite(positions[i])) { box[0][i % 3] = Math.min(box[0][i % 3], positions[i]); box[1][i % 3] = Math.max(box[1][i % 3], positions[i]); }
  const size = 0.018 * Math.hypot(...box[1].map((x, i) => x - box[0][i]));
  const paints = [["weights", "weights", rows.weights], ["maps", "influence maps", rows.maps], ["symmetry", "left and right", mirror], ["islands", "islands and seams", islands], ["plain", "plain", true]].filter((paint) => paint[2]).map(([key, text]) => [key, text]);
  const state = { paint: paints[0][0], bone: -1, skeleton: bones.length > 0, axes: false, wire: false, vertex: -1 };
  const number = (v) => (v >= 0.9995 ? "1" : v < 0.0005 ? v.toExponential(0) : v.toFixed(3));
  const percent = (v) => `${(100 * v).toFixed(v < 0.0995 ? 1 : 0)} %`;
  const rowOf = (v) => (rows[state.paint] ?? rows.weights)?.entries(v) ?? [];
  const describe = (v) => [
    `vertex ${v}`,
    ...rowOf(v).slice(0, 8).map(([bone, value]) => `${bones[bone].name}: ${number(value)}`),
    ...(state.paint === "symmetry" ? [mirror.partners[v] === 4294967295 ? "no partner" : `partner ${mirror.partners[v]}; weights differ by ${percent(mirror.asymmetry[v])}`] : []),
    ...(state.paint === "islands" ? [`island ${islands[v] + 1}`] : []),
  ].join("\n");

  const bench = element("div", "rig-bench");
  const left = element("div"), right = element("div", "rig-side");
  const stageBox = element("div", "stage");
  const stage = makeStage({ element, stage: stageBox, names: { rig: "rig" }, describe, playing: () => false, fail });
  const controls = element("div", "controls");
  const group = (label, content) => {
    const g = element("div", "group");
    g.append(element("span", "label", label), ...content);
    controls.append(g);
  };
  const segments = makeSegments(element, "Painted on the skin", paints, (paint) => { state.paint = paint; refresh(); });
  group("Paint", [segments]);
  const toggles = [["skeleton", "skeleton"], ["axes", "axes"], ["wire", "wireframe"]].filter(([key]) => key === "wire" || bones.length).map(([key, text]) => [key, makeToggle(element, text, (on) => { state[key] = on; refresh(); })]);
  group("Overlay", toggles.map(([, button]) => button));
  const reset = element("button", "plain", "Reset view");
  reset.type = "button";
  reset.onclick = () => { stage.frame(true); refresh(); };
  controls.append(reset);
  const ramp = element("div", "ramp");
  const bar = element("canvas");
  bar.width = 256; bar.height = 1;
  const ink = bar.getContext("2d");
  for (let i = 0; ink && i < 256; i++) { ink.fillStyle = cssColour(magma(i / 255)); ink.fillRect(i, 0, 1, 1); }
  const high = element("span");
  ramp.append(element("span", "", "0"), bar, high);
  const legend = element("p", "note rig-legend");
  left.append(controls, stageBox, ramp, legend);

  // The list of bones: each under its parent, with its colour.
  const depth = bones.map(() => 0);
  bones.forEach((bone, b) => { if (bone.parent >= 0) depth[b] = depth[bone.parent] + 1; });
  const list = element("div", "rig-bones");
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Bones");
  list.tabIndex = 0;
  const entry = (b, text, colour) => {
    const button = element("button", "rig-bone");
    button.type = "button";
    button.setAttribute("role", "option");
    button.tabIndex = -1;
    const swatch = element("i");
    swatch.style.background = colour;
    button.append(swatch, element("span", "", text));
    button.style.paddingLeft = `${6 + 9 * (b < 0 ? 0 : Math.min(depth[b], 12))}px`;
    button.onclick = () => choose(b);
    return button;
  };
  // Children stand under their parent.
  const order = [];
  const walk = (bone) => { if (bone >= 0) order.push(bone); bones.forEach(({ parent }, b) => { if (parent === bone) walk(b); }); };
  walk(-1);
  const all = entry(-1, "all bones", "conic-gradient(#d6403a, #e8c33a, #2f9e44, #2f6fde, #d6403a)");
  const entries = bones.map((bone, b) => entry(b, bone.name, cssColour(colours[b])));
  list.append(all, ...order.map((b) => entries[b]));
  list.onkeydown = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = order.indexOf(state.bone) + by;
    choose(at < 0 ? -1 : order[Math.min(order.length - 1, at)]);
  };
  const about = element("div", "rig-about");
  about.setAttribute("aria-live", "polite");
  if (bones.length) right.append(list);
  right.append(about);
  bench.append(left, right);
  host.append(bench);

  const choose = (bone) => {
    state.bone = bone;
    if (bone >= 0 && state.paint !== "weights" && state.paint !== "maps" && rows.weights) state.paint = "weights";
    const chosen = bone < 0 ? all : entries[bone];
    list.scrollTop = Math.min(list.scrollTop, chosen.offsetTop - list.offsetTop);
    list.scrollTop = Math.max(list.scrollTop, chosen.offsetTop - list.offsetTop + chosen.offsetHeight - list.clientHeight);
    refresh();
  };
  const legends = {
    weights: () => (state.bone < 0 ? "Each bone has a colour; a vertex has the mean of its bones' colours by their weights." : `Weight of ${bones[state.bone].name}.`),
    maps: () => (state.bone < 0 ? "Each bone has a colour; a vertex has the mean of its bones' colours by their influence." : `Influence of ${bones[state.bone].name}: where a correction may depend on it.`),
    symmetry: () => "How much the weights of a vertex differ from the mirrored weights of its partner: ½ Σ |difference|. Green: no partner. Blue frame: the mirror plane.",
    islands: () => `Each connected component has a colour. Dark lines: ${seams.length / 2} edges of seams. Red lines: ${borders.length / 2} edges of one triangle.`,
    plain: () => "",
  };
  const paint = () => {
    shape.errors = shape.tints = null;
    const values = rows[state.paint];
    if (values && state.bone < 0) shape.tints = values.mixed(colours);
    if (values && state.bone >= 0) shape.errors = values.of(state.bone);
    if (state.paint === "symmetry") shape.errors = mirror.asymmetry;
    if (state.paint === "islands") {
      const of = palette(islands.reduce((most, i) => Math.max(most, i), 0) + 1);
      shape.tints = new Float32Array(3 * islands.length);
      islands.forEach((i, v) => shape.tints.set(of[i], 3 * v));
    }
    let top = 1;
    if (state.paint === "symmetry") {
      const most = mirror.asymmetry.reduce((m, a) => (Number.isFinite(a) ? Math.max(m, a) : m), 0);
      top = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1].find((t) => t >= most) ?? 1;
    }
    stage.state.top = top;
    ramp.hidden = !shape.errors;
    high.textContent = state.paint === "symmetry" ? `≥ ${percent(top)}` : "1";
    legend.textContent = legends[state.paint]();
  };
  const refresh = () => {
    paint();
    stage.forget();
    const isle = state.paint === "islands";
    Object.assign(stage.state, {
      kinds: ["rig"], shapes: { rig: shape }, coloured: !!(shape.errors || shape.tints), wire: state.wire,
      strokes: isle ? [[seams, [0.05, 0.06, 0.08, 1]], [borders, [0.78, 0.1, 0.1, 1]]].filter(([edges]) => edges.length) : [],
      joints: state.skeleton ? new Float32Array(bones.flatMap((bone) => bone.head)) : [], parents: bones.map((bone) => bone.parent),
      marks: (context, pane, ratio, height) => drawMarks(context, pane, ratio, height, { bones, axes: state.axes, selected: state.bone, mirror: state.paint === "symmetry" ? mirror : null, size, box }),
    });
    segments.mark(state.paint);
    toggles.forEach(([key, button]) => button.mark(state[key]));
    all.setAttribute("aria-selected", state.bone < 0);
    entries.forEach((button, b) => button.setAttribute("aria-selected", b === state.bone));
    const bone = bones[state.bone];
    const facts = [];
    if (bone) {
      const held = rows.weights?.of(state.bone).reduce((n, w) => n + (w > 0), 0);
      facts.push([bone.name, ""], ["parent", bone.parent >= 0 ? bones[bone.parent].name : "none"]);
      if (rows.weights) facts.push(["vertices", String(held)]);
      if (mirror) facts.push(["partner", mirror.bones[state.bone] === state.bone ? "itself" : bones[mirror.bones[state.bone]].name]);
      facts.push(["joint", bone.head.map((x) => x.toFixed(3)).join(", ")]);
      if (bone.limits) facts.push(["limits", bone.limits]);
    }
    about.replaceChildren(...facts.map(([key, value], i) => {
      const line = element("p", i ? "" : "head");
      line.append(element("b", "", key), element("span", "", value));
      return line;
    }));
    stage.plates({ name: () => (bone ? bone.name : paints.find(([key]) => key === state.paint)[1]), lines: () => [] });
    stage.name(`3D view of the rig: ${paints.find(([key]) => key === state.paint)[1]}${bone ? `, ${bone.name}` : ""}`);
    stage.draw();
  };
  refresh();
  stage.frame(true);
  stage.drawNow();
  /// For whoever tests the page.
  return { state, choose, paint: (key) => { state.paint = key; refresh(); }, shape, camera: stage.camera, rows, stage };
}
