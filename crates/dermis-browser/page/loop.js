// The loop: pose, sculpt, learn, look, and again. A session holds what was made; the engine shows its skins in any pose.

const TOOLS = [["look", "look"], ["pose", "pose"], ["grab", "grab"], ["smooth", "smooth"], ["inflate", "inflate"], ["paint", "paint maps"]];
const SHOWN = [["model", "model"], ["rig", "rig alone"], ["both", "side by side"], ["wipe", "wipe"], ["truth", "true skin"]];
const COLOURS = [["plain", "plain"], ["correction", "correction"], ["error", "error"], ["map", "map"]];
const NAMES = { model: "model", rig: "rig alone", truth: "true skin" };

/** A line of a session, with the page's button where the program has a command. */
const spoken = (line) => safeText(line).replace("`next --check`", "“Poses to check”");

class Loop {
  #desk;
  #host;
  #busy;
  #recipes;
  #folder;
  /** What the engine told of the session when it was opened. */
  #told;
  #mesh;
  #stage;
  #gizmo;
  /** Where the pose is: a motion and a frame or the rest pose, and turns by bone. */
  #at = null;
  #turns = new Map();
  /** Skins of the pose, what is drawn of them, and the sculpt that is made of the model's. */
  #skins = {};
  #shapes = {};
  #sculpt = null;
  #maps = null;
  #status = null;
  #pictures = new Map();
  #state = { tool: "look", shown: "model", colour: "plain", radius: 0.06, strength: 0.5, symmetric: false, paint: "add", check: false };
  #asking = false;
  #stale = false;
  #playing = false;
  #parts = {};
  /** Milliseconds of this page's own work: in strokes, in poses, and in the drawing of each. */
  times = { stroke: [], pose: [], draw: [] };

  /**
   * @param {HTMLElement} host where the loop is shown
   * @param {(work: () => Promise<void>) => Promise<void>} busy runs what takes long
   */
  constructor(desk, host, busy) {
    this.#desk = desk;
    this.#host = host;
    this.#busy = busy;
  }

  get folder() { return this.#folder; }

  /** The recipes and files of a fit with painted maps; undefined where none were painted. */
  async paintedMaps() {
    if (!this.#maps?.isPainted) return undefined;
    const out = "results/maps.npz";
    await this.#desk.live({ paint: { rows: this.#maps.rows(), out } });
    return out;
  }

  /** Begins a session of a rig with its motions and true skins. */
  async begin(rig, motions, truths) {
    this.#folder = sessionFolder(rig);
    for (const name of this.#desk.names.filter((name) => name.startsWith(`${this.#folder}/`))) await this.#desk.remove(name);
    this.#recipes = sessionRecipes(this.#folder);
    let moved = motions;
    if (!moved.length && !truths.length) {
      moved = ["results/exercise.npz"];
      await this.#desk.run(exerciseRecipe(rig, moved[0]), progress);
    }
    await this.#act(this.#recipes.begin(rig, moved, truths));
  }

  /** Opens the session of a folder whose files are on the desk. */
  async open(folder) {
    this.#folder = folder;
    this.#recipes = sessionRecipes(folder);
    await this.#act(this.#recipes.status());
  }

  /** Runs an act, keeps the session's files, and shows the session as it is now. */
  async #act(recipe) {
    const { outcome } = await this.#desk.run(recipe, progress);
    await this.#desk.keepFolder(this.#folder);
    this.#status = outcome;
    this.#told = await this.#desk.live({ open: { folder: this.#folder } });
    const isNew = !this.#stage;
    if (isNew) this.#build();
    this.#sculpt = null;
    await this.#pose();
    if (isNew) this.#stage.frame(true);
    this.#tell();
    return outcome;
  }

  // Poses.

  #posed() {
    return { at: this.#at, turns: [...this.#turns] };
  }

  /** Asks for the skins of the pose; while an answer is awaited, further questions become one. */
  async #pose() {
    if (this.#asking) { this.#stale = true; return; }
    this.#asking = true;
    try {
      do {
        this.#stale = false;
        const told = await this.#desk.live({ pose: { pose: this.#posed(), skins: ["model", "rig", "truth"] } });
        const start = performance.now();
        this.#gizmo.joints = told.joints;
        this.#skins = { model: told.model, rig: told.rig, truth: told.truth };
        this.#shapes = {};
        this.#sculpt = null;
        this.#draw();
        this.#time("pose", start);
      } while (this.#stale);
    } finally {
      this.#asking = false;
    }
  }

  #time(what, start) {
    const times = this.times[what];
    times.push(performance.now() - start);
    if (times.length > 500) times.shift();
  }

  /** Whether strokes would be lost. */
  get #isSculpted() { return !!this.#sculpt?.canUndo; }

  /** Goes to another pose, unless that would lose strokes. */
  #go(at, turns = new Map()) {
    if (this.#isSculpted && !confirm("Leave this pose? The strokes that are not learnt are lost.")) return this.#mark();
    this.#at = at;
    this.#turns = turns;
    this.#pose().catch(refuse);
    this.#mark();
  }

  #turn(bone, rotation) {
    const turned = times(this.#turns.get(bone) ?? [0, 0, 0, 1], rotation);
    if (degreesOf(turned) < 1e-6) this.#turns.delete(bone);
    else this.#turns.set(bone, turned);
  }

  // Shapes and colours.

  /** What is drawn for a kind of skin. */
  #shape(kind) {
    if (kind === "model" && this.#sculpt) return this.#sculpt.shape;
    const known = this.#skins[kind] ? kind : "model";
    return (this.#shapes[known] ??= makeShape(this.#skins[known], this.#mesh.triangles));
  }

  #draw() {
    const { shown, colour, tool } = this.#state;
    const has = (kind) => !!this.#skins[kind];
    const kinds = { both: ["rig", "model"], wipe: ["rig", "model"], truth: [has("truth") ? "truth" : "model"] }[shown] ?? [shown];
    const shapes = Object.fromEntries(kinds.map((kind) => [kind, this.#shape(kind)]));
    const view = this.#stage.state;
    const against = { correction: "rig", error: "truth" }[colour];
    let top = 0;
    for (const [kind, shape] of Object.entries(shapes)) {
      shape.errors = null;
      if (colour === "map") shape.errors = this.#maps && this.#gizmo.bone >= 0 ? this.#maps.of(this.#gizmo.bone) : null;
      else if (against && has(against) && kind !== against) {
        const other = this.#skins[against];
        shape.errors = measure(shape.positions.map((x, i) => x - other[i]), 1).errors;
        top = shape.errors.reduce((most, error) => Math.max(most, error), top);
      }
    }
    view.top = colour === "map" ? 1 : this.#top(top);
    const isPose = tool === "pose";
    const panes = (kinds, wipe) => (wipe ? 1 : kinds.length);
    const hasOther = panes(kinds, shown === "wipe") !== panes(view.kinds, view.wipe);
    Object.assign(view, {
      kinds, shapes, wipe: shown === "wipe", coloured: colour !== "plain", joints: isPose ? this.#places() : [],
      marks: isPose || this.#isBrush ? (context, pane, ratio, height) => this.#marks(context, pane, ratio, height) : null,
    });
    this.#stage.forget();
    if (hasOther) this.#stage.frame(false);
    this.#stage.plates({ name: (kind) => NAMES[kind] + (kind === "model" && this.#isSculpted ? ", sculpted" : ""), lines: () => [] });
    this.#parts.ramp.textContent = colour === "plain" ? "" : colour === "map" ? "map: 0 pale, 1 violet" : `${colour}: 0 pale, ${(1e3 * view.top).toPrecision(3)} mm violet`;
    this.#stage.draw();
  }

  /** The end of the colour scale: a round number of millimetres, at least a thousandth of the character. */
  #top(most) {
    const millimetres = Math.max(1e3 * most, 1e-3 * 1e3 * this.#told.facts.extent * 0.5, 1e-6);
    const power = 10 ** Math.floor(Math.log10(millimetres));
    return 1e-3 * power * [1, 2, 5, 10].find((factor) => factor * power >= millimetres);
  }

  #places() {
    const { joints } = this.#gizmo;
    return Float32Array.from({ length: joints.length / 4 }, (_, i) => joints[12 * Math.floor(i / 3) + 9 + (i % 3)]);
  }

  #view(pane) {
    const stage = this.#parts.stage;
    return { pane: pane ?? this.#stage.state.panes.at(-1), ratio: this.#ratio(), height: stage.clientHeight, camera: this.#stage.camera };
  }

  #ratio() {
    const canvas = this.#parts.stage.querySelector("canvas.skins");
    return canvas.width / this.#parts.stage.clientWidth;
  }

  #marks(context, pane, ratio, height) {
    if (this.#state.tool === "pose") {
      const view = { pane, ratio, height, camera: this.#stage.camera };
      this.#gizmo.draw(context, view, this.#told.facts.bones[this.#gizmo.bone]?.name ?? "");
    }
    const at = this.#hover;
    if (!at || !this.#isBrush) return;
    context.strokeStyle = "#1c2128";
    context.lineWidth = 1.5;
    context.beginPath();
    context.arc(at.x, at.y, this.#brushRadius() / this.#metresPerPixel(at.far), 0, 7);
    context.stroke();
  }

  // The pointer.

  #hover = null;

  get #isBrush() { return ["grab", "smooth", "inflate", "paint"].includes(this.#state.tool); }

  #brushRadius() { return this.#state.radius * this.#told.facts.extent; }

  #metresPerPixel(far) { return (2 * far * Math.tan(FIELD_OF_VIEW / 2)) / this.#parts.stage.clientHeight; }

  #placeOf(event) {
    const box = this.#parts.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** What a pointer hits of the skin in the pane under it; brushes act on the model's pane alone. */
  #hit(event) {
    const [x, y] = this.#placeOf(event);
    const ratio = this.#ratio();
    const pane = this.#stage.state.panes.find(({ from, to }) => x * ratio >= from && x * ratio < to);
    if (!pane) return null;
    const size = { x: x - pane.x / ratio, y, width: pane.width / ratio, height: this.#parts.stage.clientHeight };
    const ray = rayThrough(this.#stage.camera, size);
    const hit = hitOf(ray, pane.shape.positions, this.#mesh.triangles);
    return hit && { ...hit, kind: pane.kind, x, y, ray };
  }

  #listen() {
    const stage = this.#parts.stage;
    let act = null;
    const take = (event, next) => {
      act = next;
      event.stopPropagation();
      event.preventDefault();
      stage.setPointerCapture(event.pointerId);
    };
    stage.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || event.shiftKey || !event.isPrimary || this.#playing) return;
      const { tool } = this.#state;
      if (tool === "pose") {
        const place = this.#placeOf(event);
        const view = this.#view();
        if (this.#gizmo.hold(place, view)) return take(event, this.#turning());
        const bone = this.#gizmo.boneAt(place, view);
        if (bone >= 0) { this.#choose(bone); take(event, null); }
        return;
      }
      if (!this.#isBrush) return;
      const hit = this.#hit(event);
      if (!hit || (tool !== "paint" && hit.kind !== "model")) return; // beside the skin a drag turns the picture
      take(event, tool === "paint" ? this.#painting(hit) : this.#sculpting(hit, event.ctrlKey));
    }, true);
    stage.addEventListener("pointermove", (event) => {
      if (act) {
        event.stopPropagation();
        const start = performance.now();
        act.move(event);
        this.#time("stroke", start);
        return;
      }
      if (!this.#isBrush || event.buttons) return;
      const hit = this.#hit(event);
      this.#hover = hit && { x: hit.x, y: hit.y, far: hit.far };
      this.#stage.draw();
    }, true);
    for (const kind of ["pointerup", "pointercancel"]) {
      stage.addEventListener(kind, (event) => {
        if (!act) return;
        event.stopPropagation();
        act.end();
        act = null;
      }, true);
    }
    // A click on the skin chooses the bone that moves it most.
    let from = null;
    stage.addEventListener("pointerdown", (event) => { from = this.#placeOf(event); }, true);
    stage.addEventListener("pointerup", (event) => {
      const to = this.#placeOf(event);
      if (this.#state.tool !== "pose" || !from || Math.hypot(to[0] - from[0], to[1] - from[1]) > 4) return;
      const hit = act === null && this.#gizmo.boneAt(to, this.#view()) < 0 ? this.#hit(event) : null;
      if (hit) this.#choose(this.#mesh.dominant[hit.vertex]);
    }, true);
    stage.addEventListener("pointerleave", () => { this.#hover = null; this.#stage.draw(); });
    this.#host.addEventListener("keydown", (event) => {
      const isField = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "range";
      if (isField || !(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== "z") return;
      event.preventDefault();
      this.#undoStroke(event.shiftKey);
    });
  }

  #turning() {
    const { bone } = this.#gizmo;
    const before = this.#turns.get(bone);
    // The axes are those of the moment when the drag began.
    const joints = this.#gizmo.joints.slice();
    const axes = [0, 1, 2].map((axis) => {
      const live = this.#gizmo.joints;
      this.#gizmo.joints = joints;
      const turn = this.#gizmo.turn(axis, 1e-3);
      this.#gizmo.joints = live;
      return unit(turn.slice(0, 3));
    });
    return {
      move: (event) => {
        const { axis, angle } = this.#gizmo.dragged(this.#placeOf(event));
        if (before) this.#turns.set(bone, before);
        else this.#turns.delete(bone);
        this.#turn(bone, about(axes[axis], angle));
        this.#pose().catch(refuse);
        this.#mark();
      },
      end: () => { this.#gizmo.release(); this.#stage.draw(); },
    };
  }

  #sculpting(hit, inward) {
    this.#sculpt ??= new Sculpt(this.#skins.model, this.#mesh);
    const { tool, strength, symmetric } = this.#state;
    const brush = { tool, radius: this.#brushRadius(), strength, symmetric, inward };
    const redraw = () => { this.#sculpt.settle(); this.#draw(); };
    this.#sculpt.begin(hit, brush);
    redraw();
    const { rotation: r } = cameraMatrices(this.#stage.camera, 1);
    const metres = this.#metresPerPixel(hit.far);
    return {
      move: (event) => {
        const [x, y] = this.#placeOf(event);
        const [dx, dy] = [(x - hit.x) * metres, (hit.y - y) * metres];
        const by = [0, 1, 2].map((i) => dx * r[i] + dy * r[3 + i]);
        const under = tool === "grab" ? null : this.#hit(event);
        this.#sculpt.drag(under?.kind === "model" ? under : null, brush, by);
        redraw();
      },
      end: () => { this.#sculpt.end(); redraw(); this.#mark(); },
    };
  }

  #painting(hit) {
    const bone = this.#gizmo.bone;
    if (bone < 0 || !this.#maps) return null;
    const { strength, paint } = this.#state;
    const brush = { radius: this.#brushRadius(), strength, paint };
    this.#maps.begin(bone);
    const dab = (at) => { this.#maps.dab(this.#shape(at.kind).positions, at.vertex, at.point, brush); this.#draw(); };
    dab(hit);
    return {
      move: (event) => { const under = this.#hit(event); if (under) dab(under); },
      end: () => { this.#maps.end(); this.#mark(); },
    };
  }

  #undoStroke(isRedo = false) {
    const strokes = this.#state.tool === "paint" ? this.#maps : this.#sculpt;
    if (!strokes) return;
    if (isRedo) strokes.redo();
    else strokes.undo();
    this.#draw();
    this.#mark();
  }

  #choose(bone) {
    this.#gizmo.bone = bone;
    this.#draw();
    this.#mark();
  }

  // Learning.

  /** The name of the pose: that of its frame, so that a session knows a pose that it offered. */
  #name() {
    const motion = this.#told.facts.motions[this.#at?.[0]];
    const plain = motion ? `${motion.name}_${this.#at[1]}` : "rest";
    const turned = [...this.#turns.keys()].map((bone) => this.#told.facts.bones[bone].name);
    const name = (turned.length ? `${plain}_${turned.slice(0, 2).join("_")}` : plain).replace(/[^\p{L}\p{N}.-]+/gu, "_");
    const isNew = (name) => !this.#status.steps.some((step) => step.name === name);
    // A pose that was offered keeps its name, by which the session knows it.
    if (!turned.length || isNew(name)) return name;
    return [2, 3, 4, 5, 6, 7, 8, 9].map((number) => `${name}.${number}`).find(isNew) ?? name;
  }

  async #learn() {
    const vertices = this.#sculpt?.moved() ?? [];
    if (!vertices.length) throw new Lacking("nothing was sculpted", "choose grab, smooth or inflate, and drag on the skin of the model");
    const positions = vertices.map((v) => pointOf(this.#sculpt.positions, v));
    const name = this.#name();
    const picture = this.#picture();
    const out = `results/${name}.npz`;
    const pose = this.#posed();
    await this.#desk.live({ keep: { pose, shown: "model", name, vertices, positions, out } });
    const sculpt = this.#sculpt;
    try {
      const outcome = await this.#act(this.#recipes.add(out, this.#state.check ? "check" : null));
      this.#pictures.set(outcome.steps.at(-1).id, picture);
      this.#tell();
    } catch (error) {
      // The strokes stay: they can be changed and learnt again.
      this.#sculpt = sculpt;
      this.#draw();
      throw error;
    }
  }

  /** A small picture of the stage. */
  #picture() {
    this.#stage.drawNow();
    const canvas = this.#parts.stage.querySelector("canvas.skins");
    const small = make("canvas", { width: 96, height: Math.max(1, Math.round((96 * canvas.height) / canvas.width)) });
    small.getContext("2d").drawImage(canvas, 0, 0, small.width, small.height);
    return small.toDataURL("image/png");
  }

  async #suggest(check) {
    const outcome = await this.#act(this.#recipes.next(3, check));
    if (outcome.offered?.length) this.#goTo(outcome.offered[0].pose);
  }

  /** Goes to a pose by its name in the session, such as walk:12. */
  #goTo(pose) {
    const cut = pose.lastIndexOf(":");
    const motion = this.#told.facts.motions.findIndex(({ name, kind }) => name === pose.slice(0, cut) && kind === "motion");
    const frame = Number.parseInt(pose.slice(cut + 1), 10);
    if (motion >= 0 && Number.isInteger(frame)) this.#go([motion, frame]);
  }

  // The controls.

  #build() {
    const { facts, triangles, partners, dominant } = this.#told;
    const parents = facts.bones.map(({ parent }) => parent ?? -1);
    this.#mesh = { triangles, partners, dominant, neighbours: neighboursOf(triangles, facts.vertices), corners: cornersOf(triangles, facts.vertices) };
    this.#gizmo = new Gizmo(parents);
    this.#state.symmetric = facts.symmetric;
    this.#at = facts.motions[0].labels.length ? [0, 0] : null;
    const { element } = pageTools;
    const set = (change) => { Object.assign(this.#state, change); this.#draw(); this.#mark(); };
    const parts = this.#parts;
    const group = (label, ...content) => make("div", { class: "group" }, make("span", { class: "label" }, label), ...content);
    const button = (text, act, id) => make("button", { type: "button", class: "plain", id, onclick: act }, text);
    const slider = (label, id, low, high, value, heard) => make("label", {}, `${label} `, make("input", { type: "range", id, min: low, max: high, step: "any", value,
      oninput: ({ target }) => { heard(Number(target.value)); this.#stage.draw(); } }));
    parts.tools = makeSegments(element, "Tool", TOOLS, (tool) => this.#useTool(tool));
    parts.shown = makeSegments(element, "Skin that is shown", SHOWN, (shown) => set({ shown }));
    parts.colours = makeSegments(element, "Colour", COLOURS, (colour) => set({ colour }));
    parts.spaces = makeSegments(element, "Axes", [["own", "own"], ["parent", "parent"], ["world", "world"]], (space) => { this.#gizmo.space = space; set({}); });
    parts.paints = makeSegments(element, "Brush", [["add", "add"], ["take", "take away"], ["smooth", "smooth"]], (paint) => set({ paint }));
    parts.symmetric = makeToggle(element, "both sides", (symmetric) => set({ symmetric }));
    parts.symmetric.disabled = !facts.symmetric;
    parts.bone = make("select", { id: "loop-bone", "aria-label": "Bone", onchange: ({ target }) => this.#choose(Number(target.value)) },
      make("option", { value: -1 }, "no bone"), ...facts.bones.map(({ name }, bone) => make("option", { value: bone }, safeText(name))));
    parts.degrees = make("input", { type: "number", id: "loop-degrees", value: 15, step: "any", "aria-label": "Degrees" });
    const typed = (axis) => () => {
      const angle = Number(parts.degrees.value);
      if (this.#gizmo.bone < 0 || !Number.isFinite(angle)) return;
      this.#turn(this.#gizmo.bone, this.#gizmo.turn(axis, (angle * Math.PI) / 180));
      this.#pose().catch(refuse);
      this.#mark();
    };
    parts.lock = makeToggle(element, "lock", (on) => { if (on) this.#maps.locked.add(this.#gizmo.bone); else this.#maps.locked.delete(this.#gizmo.bone); this.#mark(); });
    parts.level = make("input", { type: "number", id: "loop-level", value: 0, min: 0, max: 1, step: 0.1, "aria-label": "Value to flood with" });
    const painted = (act) => () => { if (this.#maps && this.#gizmo.bone >= 0) { act(this.#gizmo.bone); this.#draw(); this.#mark(); } };
    parts.undo = button("undo stroke", () => this.#undoStroke(), "loop-undo-stroke");
    parts.redo = button("redo stroke", () => this.#undoStroke(true), "loop-redo-stroke");
    parts.ofPose = make("div", { class: "controls" }, group("Axes", parts.spaces), group("Turn by", parts.degrees, ...["x", "y", "z"].map((axis, i) => button(axis, typed(i), `loop-turn-${axis}`))),
      button("reset bone", () => { this.#turns.delete(this.#gizmo.bone); this.#go(this.#at, this.#turns); }, "loop-reset-bone"),
      button("reset pose", () => this.#go(this.#at), "loop-reset-pose"));
    parts.ofBrush = make("div", { class: "controls" }, slider("Radius", "loop-radius", 0.005, 0.3, this.#state.radius, (radius) => { this.#state.radius = radius; }),
      slider("Strength", "loop-strength", 0.02, 1, this.#state.strength, (strength) => { this.#state.strength = strength; }), parts.symmetric, parts.undo, parts.redo);
    parts.ofPaint = make("div", { class: "controls" }, group("Brush", parts.paints), group("Flood with", parts.level, button("flood", painted((bone) => this.#maps.flood(bone, Math.min(1, Math.max(0, Number(parts.level.value) || 0)))), "loop-flood")),
      button("mirror", painted((bone) => { if (!this.#maps.mirror(bone, facts.partners?.[bone])) refuse(new Lacking("this bone has no partner whose map could be set", "choose a bone of one side of a symmetric rig; unlock its partner")); }), "loop-mirror"), parts.lock);
    parts.stage = make("div", { class: "stage", id: "loop-stage" });
    parts.ramp = make("span", { class: "note", id: "loop-ramp" });
    parts.motion = make("select", { id: "loop-motion", "aria-label": "Motion", onchange: ({ target }) => this.#go(target.value === "rest" ? null : [Number(target.value), 0]) });
    parts.play = make("button", { type: "button", class: "plain play", id: "loop-play", "aria-label": "Play", onclick: () => this.#play() }, "▶");
    parts.frame = make("input", { type: "range", class: "scrub", id: "loop-frame", min: 0, step: 1, "aria-label": "Frame", oninput: ({ target }) => this.#go([this.#at[0], Number(target.value)]) });
    parts.label = make("span", { class: "place", id: "loop-label" });
    parts.learn = button("Learn this sculpt", () => this.#busy(() => this.#learn()), "loop-learn");
    parts.check = make("input", { type: "checkbox", id: "loop-check", onchange: ({ target }) => { this.#state.check = target.checked; } });
    parts.lines = make("ul", { id: "loop-lines" });
    parts.offers = make("div", { class: "offers", id: "loop-offers" });
    parts.steps = make("ol", { class: "steps", id: "loop-steps" });
    parts.back = button("undo", () => this.#busy(() => this.#act(this.#recipes.undo())), "loop-undo");
    parts.forward = button("redo", () => this.#busy(() => this.#act(this.#recipes.redo())), "loop-redo");
    const side = make("div", { class: "side" },
      make("h3", {}, "Learn"), parts.learn, make("label", { class: "check" }, parts.check, " as a check, which the model does not learn"), parts.lines,
      make("h3", {}, "Sculpt next"), button("Suggest poses", () => this.#busy(() => this.#suggest(false)), "loop-suggest"), button("Poses to check", () => this.#busy(() => this.#suggest(true)), "loop-suggest-check"), parts.offers,
      make("h3", {}, "Steps"), parts.steps, parts.back, parts.forward,
      make("h3", {}, "Save"), button("Use this model", () => this.#busy(() => this.#finish()), "loop-finish"), button("Save the session", () => this.#busy(() => this.#save()), "loop-save"));
    const left = make("div", {}, make("div", { class: "controls" }, group("Tool", parts.tools), group("Bone", parts.bone)), parts.ofPose, parts.ofBrush, parts.ofPaint, parts.stage,
      make("div", { class: "playback" }, parts.play, parts.motion, parts.frame, parts.label),
      make("div", { class: "controls below" }, group("Show", parts.shown), group("Colour", parts.colours), button("Reset view", () => { this.#stage.frame(true); this.#stage.draw(); }, "loop-reset-view"), parts.ramp));
    this.#host.replaceChildren(make("div", { class: "bench" }, left, side));
    parts.motion.append(make("option", { value: "rest" }, "rest pose"));
    this.#stage = makeStage({ element, stage: parts.stage, names: NAMES, describe: () => "", playing: () => this.#playing, fail: refuse, isFluid: true });
    this.#stage.state.parents = parents;
    this.#stage.drawn = (milliseconds) => this.#time("draw", performance.now() - milliseconds);
    this.#listen();
  }

  #useTool(tool) {
    this.#state.tool = tool;
    this.#hover = null;
    if (tool === "paint") this.#state.colour = "map";
    else if (this.#state.colour === "map") this.#state.colour = "plain";
    if (["grab", "smooth", "inflate"].includes(tool) && !["model", "both", "wipe"].includes(this.#state.shown)) this.#state.shown = "model";
    if (tool === "paint" && !this.#maps) this.#desk.live({ maps: null }).then((rows) => { this.#maps = new Maps(rows, this.#mesh); this.#draw(); this.#mark(); }, refuse);
    this.#draw();
    this.#mark();
  }

  /** Plays the motion, a frame when the one before is shown. */
  async #play() {
    if (this.#playing) { this.#playing = false; return; }
    if (!this.#at || this.#isSculpted) return;
    this.#playing = true;
    this.#mark();
    const { labels, times } = this.#told.facts.motions[this.#at[0]];
    try {
      while (this.#playing) {
        const start = performance.now();
        const next = (this.#at[1] + 1) % labels.length;
        this.#at = [this.#at[0], next];
        await this.#pose();
        this.#mark();
        const step = Math.min(0.25, Math.max(0, (times[next] ?? next / 8) - (times[next - 1] ?? (next - 1) / 8))) || 1 / 24;
        await new Promise((done) => setTimeout(done, Math.max(0, 1e3 * step - (performance.now() - start))));
      }
    } catch (error) {
      refuse(error);
    } finally {
      this.#playing = false;
      this.#mark();
    }
  }

  /** Marks the controls as the state is. */
  #mark() {
    const { tool, shown, colour, paint, symmetric } = this.#state;
    const parts = this.#parts;
    parts.tools.mark(tool);
    parts.shown.mark(shown);
    parts.colours.mark(colour);
    parts.spaces.mark(this.#gizmo.space);
    parts.paints.mark(paint);
    parts.symmetric.mark(symmetric);
    parts.lock.mark(!!this.#maps?.locked.has(this.#gizmo.bone));
    parts.ofPose.hidden = tool !== "pose";
    parts.ofBrush.hidden = !this.#isBrush;
    parts.symmetric.hidden = tool === "paint";
    parts.ofPaint.hidden = tool !== "paint";
    parts.bone.value = this.#gizmo.bone;
    const motion = this.#told.facts.motions[this.#at?.[0]];
    parts.motion.value = this.#at ? this.#at[0] : "rest";
    parts.frame.disabled = parts.play.disabled = !motion;
    parts.play.textContent = this.#playing ? "❚❚" : "▶";
    parts.frame.max = motion ? motion.labels.length - 1 : 0;
    parts.frame.value = this.#at?.[1] ?? 0;
    const turned = this.#turns.size ? `, ${counted(this.#turns.size, "bone")} turned` : "";
    parts.label.textContent = motion ? `${this.#at[1]} of ${motion.labels.length - 1}: ${safeText(motion.labels[this.#at[1]])}${turned}` : `rest pose${turned}`;
    const hasTruth = !!motion && motion.kind !== "motion";
    for (const one of parts.shown.children) if (one.dataset.key === "truth") one.disabled = !hasTruth;
    for (const one of parts.colours.children) {
      if (one.dataset.key === "error") one.disabled = !hasTruth;
      if (one.dataset.key === "map") one.disabled = !this.#maps || this.#gizmo.bone < 0;
    }
    const strokes = tool === "paint" ? this.#maps : this.#sculpt;
    parts.undo.disabled = !strokes?.canUndo;
    parts.redo.disabled = !strokes?.canRedo;
    parts.learn.disabled = !this.#isSculpted;
  }

  /** Says what the session holds: what the last step did, poses to sculpt, and the steps. */
  #tell() {
    const { lines, warnings, offers, steps, undo, redo, scores } = this.#status;
    const parts = this.#parts;
    // Sculpts become one more motion with the first of them.
    const motions = this.#told.facts.motions.map(({ name, kind, labels }, at) => (labels.length ? make("option", { value: at }, safeText(kind === "truth" ? `${name}, true skin` : name)) : null));
    parts.motion.replaceChildren(...motions.filter(Boolean), make("option", { value: "rest" }, "rest pose"));
    parts.lines.replaceChildren(...[...lines, ...warnings].map((line) => make("li", {}, spoken(line))));
    const waiting = offers.filter(({ pose }) => !steps.some((step) => step.pose === pose)).slice(-6);
    parts.offers.replaceChildren(...waiting.map(({ pose, region, check }) => make("button", { type: "button", class: "plain", onclick: () => this.#goTo(pose) },
      safeText(`${pose}, ${region}${check ? ", check" : ""}`))));
    parts.steps.replaceChildren(...steps.map((step, at) => this.#step(step, at, scores)));
    parts.back.disabled = undo === 0;
    parts.forward.disabled = redo === 0;
    this.#mark();
  }

  #step({ id, name, role, on, region, touched }, at, scores) {
    const picture = this.#pictures.get(id);
    const sculpts = this.#told.facts.motions.length - 1;
    const met = scores?.met?.name === name ? `, met to ${(1e3 * scores.met.worst).toPrecision(2)} mm` : "";
    return make("li", { value: id, class: on ? "" : "off" }, picture ? make("img", { src: picture, alt: "" }) : null,
      make("span", {}, safeText(`${name} (${role}, ${region}, ${counted(touched, "vertex", "vertices")}${met})`)),
      make("button", { type: "button", class: "link", onclick: () => this.#go([sculpts, at]) }, "go"),
      make("button", { type: "button", class: "link", onclick: () => this.#busy(() => this.#act(on ? this.#recipes.undo(id) : this.#recipes.redo(id))) }, on ? "switch off" : "switch on"));
  }

  /** Makes the present model the one that the page saves and exports. */
  async #finish() {
    await this.#desk.run(this.#recipes.export(MODEL), progress);
    const motion = this.#desk.names.find((name) => name.startsWith(`${this.#folder}/motions/`));
    await delivered(await this.#desk.take(MODEL), this.#status.lines.map(spoken).join("; "), motion);
  }

  async #save() {
    saveBytes(`${this.#folder}.zip`, zipped(await this.#desk.folder(this.#folder)));
  }

  // For whoever tests the page.

  /** Where on the screen a vertex is that a bone moves most and that faces the viewer, the one nearest to the middle of these. */
  test(bone) {
    const { positions, normals } = this.#shape("model");
    const view = this.#view();
    const box = this.#parts.stage.getBoundingClientRect();
    const seen = [];
    this.#mesh.dominant.forEach((own, v) => {
      const place = own === bone ? project(view.pane, pointOf(positions, v), view.ratio, view.height) : null;
      if (!place || dot(pointOf(normals, v), [view.pane.rotation[6], view.pane.rotation[7], view.pane.rotation[8]]) < 0.3) return;
      const hit = this.#hit({ clientX: box.left + place[0], clientY: box.top + place[1] });
      if (hit && Math.hypot(...minus(hit.point, pointOf(positions, v))) < 0.01 * this.#told.facts.extent) seen.push(place);
    });
    const middle = [0, 1].map((i) => seen.reduce((sum, place) => sum + place[i], 0) / seen.length);
    const best = seen.reduce((a, b) => (Math.hypot(a[0] - middle[0], a[1] - middle[1]) < Math.hypot(b[0] - middle[0], b[1] - middle[1]) ? a : b));
    return [box.left + best[0], box.top + best[1]];
  }

  /** A long bone with a partner whose skin is seen, and the partner. */
  testBone() {
    const { partners, bones } = this.#told.facts;
    // The longest bone: the one below it is farthest away.
    const length = (bone) => Math.max(0, ...bones.map(({ parent }, below) => (parent === bone ? Math.hypot(...minus(this.#gizmo.place(below), this.#gizmo.place(bone))) : 0)));
    const count = (bone) => this.#mesh.dominant.reduce((sum, own) => sum + (own === bone), 0);
    const rank = (bone) => length(bone) * (count(bone) > 12) * (partners && partners[bone] !== bone ? 1 : 0.1) * (bones[bone].parent === null ? 0.1 : 1);
    const order = bones.map((_, bone) => bone).sort((a, b) => rank(b) - rank(a));
    const bone = order.find((one) => { try { return this.test(one).every(Number.isFinite); } catch { return false; } });
    return { bone, partner: partners && partners[bone] !== bone ? partners[bone] : null };
  }

  /** Joints and skin of the model in the pose of a sculpt. */
  async testSculpt(at) {
    const sculpts = this.#told.facts.motions.length - 1;
    const { joints, model } = await this.#desk.live({ pose: { pose: { at: [sculpts, at], turns: [] }, skins: ["model"] } });
    return { joints: [...joints], model: [...model] };
  }

  testMap(bone) { return this.#maps.of(bone).reduce((sum, value) => sum + value, 0); }
  testExtent() { return this.#told.facts.extent; }
  testCount() { return this.#told.facts.vertices; }
  testMoved() { return this.#sculpt?.moved().length ?? 0; }
  testTurned() { return JSON.stringify([...this.#turns]); }

  /** A place of the screen on a ring. */
  testRing(axis) {
    const box = this.#parts.stage.getBoundingClientRect();
    const [x, y] = this.#gizmo.ring(axis, this.#view())[9];
    return [box.left + x, box.top + y];
  }
}
