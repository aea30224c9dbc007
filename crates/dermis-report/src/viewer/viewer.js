// The viewer: what is shown, and what follows from buttons, sliders and keys. Lengths are in the shown unit where they are errors.
(() => {
  const root = document.documentElement;
  /// Tells the reader, and whoever tests the page, what went wrong.
  const fail = (error) => {
    root.dataset.state = "error";
    root.dataset.error = String((error && error.message) || error);
    const box = document.getElementById("page-error");
    box.textContent = "The skin could not be shown: " + root.dataset.error;
    box.hidden = false;
  };
  addEventListener("error", (event) => fail(event.error || event.message));
  const element = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  /// Three significant digits.
  const digits = (v) => (!Number.isFinite(v) ? "–" : v === 0 ? "0" : v < 1e-3 || v >= 1e7 ? v.toExponential(1) : v.toFixed(Math.min(5, Math.max(0, 2 - Math.floor(Math.log10(v))))));
  const nice = (v) => {
    const power = 10 ** Math.floor(Math.log10(v));
    return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((f) => f * power).find((f) => f >= v * (1 - 1e-9)) ?? v;
  };

  const start = async () => {
    const data = pageData("page-data");
    const character = makeCharacter(await readCharacter(document.getElementById("page-glb").textContent.trim()));
    const names = { learnt: "learnt", base: data.skin, target: { truth: "true skin", model: "model", shape: "shape" }[data.given] };
    const alone = data.given === "shape"; // a mesh without bones: the given shapes are all there is to see
    const sureOf = new Map(data.sure);
    const [main] = character.kinds;
    const frames = character.clip ? data.frames : [];
    const known = { learnt: [], base: [] }, whole = []; // by frame: errors, and whether every number of the true skin is finite
    const springs = await readSprings(document.getElementById("page-springs").textContent.trim());
    const targets = await readSkins(document.getElementById("page-skins").textContent.trim(), frames.map(({ target }) => target), character.vertices);
    const hasTargets = targets.some(Boolean);
    const state = { mode: hasTargets && data.given !== "truth" ? "target" : main, colour: hasTargets && data.given === "truth" ? "error" : "plain", bones: sureOf.size > 0, swings: springs !== null, swung: null, pose: null, shapes: {}, skins: null };
    const ground = data.ground === null ? null : makeGround(data.ground, character.size);
    const withUnit = (v) => `${digits(v)} ${data.unit}`;

    const host = document.getElementById("view-host");
    const box = element("div", "stage");
    const stage = makeStage({
      element, stage: box, names, fail, playing: () => row.playing(),
      describe: (v) => [`vertex ${v}`, ...character.kinds.filter((kind) => state.shapes[kind].errors).map((kind) => `${names[kind]}: ${withUnit(state.shapes[kind].errors[v])}`)].join("\n"),
    });
    const row = makeClipRow({ element, frames, show: () => pose(), byFrame: () => hasTargets && panel.turns.size === 0 && (state.colour === "error" || ["target", "all"].includes(state.mode)) });
    const panel = makeJointPanel({ element, joints: character.joints, turned: () => pose() });

    // Controls
    const controls = element("div", "controls");
    const group = (label, content) => {
      const g = element("div", "group");
      g.append(element("span", "label", label), ...content);
      controls.append(g);
      return g;
    };
    const kinds = alone ? ["target"] : [...character.kinds, ...(hasTargets ? ["target"] : [])];
    const both = character.kinds.length > 1 ? [["wipe", "wipe"]] : [];
    const modes = makeSegments(element, "Shown", [["all", "side by side"], ...both, ...kinds.map((kind) => [kind, names[kind]])], (mode) => {
      const count = shown().length;
      state.mode = mode;
      refresh();
      if (shown().length !== count) { stage.frame(false); stage.draw(); }
    });
    // What the key B exchanges with the skin weights.
    const first = data.given === "model" && hasTargets ? "target" : main;
    if (first !== "base") document.getElementById("help-skins").textContent = `B exchanges ${names[first]} and ${names.base}, `;
    document.getElementById("help-colours").hidden = !hasTargets || alone;
    if (kinds.length > 1) group("Show", [modes]).classList.add("modes");
    const colours = makeSegments(element, "Colour", [["error", "error"], ["plain", "plain"]], (colour) => { state.colour = colour; pose(); });
    if (hasTargets && !alone) group("Colour", [colours]);
    const swing = makeToggle(element, "secondary motion", (on) => { state.swings = on; swing.mark(on); pose(); });
    const bones = makeToggle(element, "skeleton", (on) => { state.bones = on; refresh(); });
    const reset = element("button", "plain", "Reset view");
    reset.type = "button";
    const resetView = () => { stage.state.split = 0.5; stage.state.vertex = -1; stage.frame(true); refresh(); };
    reset.onclick = resetView;
    const picture = element("div", "picture");
    swing.hidden = springs === null || frames.length < 2;
    swing.mark(state.swings);
    picture.append(swing, bones, reset);
    const ramp = element("div", "ramp");
    const bar = element("canvas");
    bar.width = 256; bar.height = 1;
    bar.setAttribute("role", "img");
    bar.setAttribute("aria-label", "Colour scale from no error, pale yellow, to the largest, violet");
    const high = element("span");
    ramp.append(element("span", "", "0"), bar, high);
    const ink = bar.getContext("2d");
    for (let i = 0; ink && i < 256; i++) {
      ink.fillStyle = `rgb(${magma(i / 255).map((c) => Math.round(255 * c)).join(",")})`;
      ink.fillRect(i, 0, 1, 1);
    }
    const status = element("p", "status");
    status.setAttribute("aria-live", "polite");
    panel.element.hidden = bones.hidden = alone;
    host.append(controls, box, row.element, ramp, status);
    document.getElementById("joint-host").append(panel.element, picture);

    const shown = () => {
      const there = kinds.filter((kind) => state.shapes[kind]);
      if (state.mode === "all") return there;
      if (state.mode === "wipe") return ["base", "learnt"];
      return [state.shapes[state.mode] ? state.mode : main];
    };
    /// Marks joints from red, not sure, to green.
    const markSure = (context, pane, ratio, height) => {
      character.joints.forEach(({ name }, b) => {
        const at = sureOf.has(name) ? project(pane, stage.state.joints.subarray(3 * b, 3 * b + 3), ratio, height) : null;
        if (!at || !at.every(Number.isFinite)) return;
        const sure = sureOf.get(name);
        context.beginPath();
        context.arc(at[0], at[1], 4.6, 0, 7);
        context.fillStyle = `rgb(${Math.round(20 + 230 * (1 - sure))},${Math.round(20 + 170 * sure)},40)`;
        context.fill();
        context.lineWidth = 1.2;
        context.strokeStyle = "#fff";
        context.stroke();
      });
    };
    /// A shape whose arrays are made when they are first read.
    const lazily = (make) => {
      let made = null;
      const own = () => (made ??= make());
      return { get positions() { return own().positions; }, get normals() { return own().normals; }, get triangles() { return own().triangles; }, get missing() { return own().missing; }, errors: null };
    };
    /// Errors of a kind of skin in a frame with a true skin: a clip plays again and again, and they stay what they are.
    const errorsOf = (kind, at, skin) => {
      const measured = () => {
        const { errors, rms, max } = measure(skin.positions().map((x, i) => x - targets[at][i]), data.scale);
        // What is not finite is drawn in a colour of its own, which −1 stands for.
        return { errors, rms, max, drawn: errors.every(Number.isFinite) ? errors : errors.map((e) => (Number.isFinite(e) ? e : -1)) };
      };
      // A skin that swings depends on how the clip came here.
      return skin.swings ? measured() : (known[kind][at] ??= measured());
    };
    /// Positions as the picture shows them, which follows the character. A shape is of the pose that is shown when it is made.
    const beside = (positions) => positions.map((x, i) => x - state.pose.moved[i % 3]);
    /// Lets the card compute a shape whose numbers are all finite.
    const onCard = (shape, kind, skin) => {
      Object.defineProperties(shape, { triangles: { value: character.triangles }, missing: { value: 0 } });
      return Object.assign(shape, { onCard: (context) => character.card.arrays(context, kind, skin) });
    };
    /// The shape of a skin, computed on the card where there is one, and here when somebody asks for its numbers.
    const shapeOf = (kind, skin, at) => {
      const shape = lazily(() => makeShape(beside(skin.positions()), character.triangles));
      if (at >= 0) Object.assign(shape, errorsOf(kind, at, skin));
      if (!stage.context() || skin.swings || ![skin.rows, skin.weights].every((list) => list.every(Number.isFinite))) return shape;
      return onCard(shape, kind, { rows: skin.rows, weights: skin.weights, errors: shape.drawn ?? null });
    };
    /// The shape of a true skin.
    const targetOf = (at) => {
      const shape = lazily(() => makeShape(beside(targets[at]), character.triangles));
      whole[at] ??= targets[at].every(Number.isFinite);
      return stage.context() && whole[at] ? onCard(shape, "target", { points: targets[at], origin: state.pose.moved, errors: null }) : shape;
    };
    /// Adds secondary motion to the model's skin while the clip plays. A moment by itself shows the skin at rest.
    const letSwing = (time) => {
      if (!springs) return;
      const passed = time - state.swung;
      const goesOn = state.swings && row.playing() && panel.turns.size === 0;
      const follows = goesOn && state.swung !== null && passed > 0 && passed < 0.5;
      if (!follows) springs.reset();
      state.swung = goesOn ? time : null;
      if (!goesOn) return;
      const skin = state.skins[main], positions = springs.apply(follows ? passed : 1, Float64Array.from(skin.positions()));
      Object.assign(skin, { swings: true, positions: () => positions });
    };
    /// Computes the skins of the pose that is asked for.
    const pose = () => {
      try {
        state.pose = character.pose(row.time(), panel.turns);
        const frame = panel.turns.size === 0 ? row.frame() : -1;
        const at = frame >= 0 && targets[frame] ? frame : -1;
        state.skins = Object.fromEntries(character.kinds.map((kind) => [kind, character.skin(state.pose, kind)]));
        letSwing(row.time());
        state.shapes = Object.fromEntries(character.kinds.map((kind) => [kind, shapeOf(kind, state.skins[kind], at)]));
        if (at >= 0) state.shapes.target = targetOf(at);
        stage.forget();
        refresh();
      } catch (error) {
        row.stop();
        fail(error);
      }
    };
    const refresh = () => {
      const on = shown();
      const coloured = state.colour === "error" && on.some((kind) => state.shapes[kind].errors);
      Object.assign(stage.state, {
        kinds: on, wipe: state.mode === "wipe", shapes: state.shapes, coloured,
        joints: state.bones ? character.joints3(state.pose).map((x, i) => x - state.pose.moved[i % 3]) : [], parents: character.parents,
        ground: ground && ground.at(state.pose.moved), marks: state.bones ? markSure : null,
      });
      modes.mark(state.mode);
      for (const button of modes.children) button.disabled = button.dataset.key === "target" && !state.shapes.target;
      colours.mark(state.colour);
      bones.mark(state.bones);
      ramp.hidden = !hasTargets || state.colour !== "error";
      high.textContent = `≥ ${withUnit(stage.state.top)}`;
      stage.plates({
        name: (kind) => names[kind],
        lines: (kind) => {
          const { errors, rms, max, missing } = state.shapes[kind];
          return [...(errors ? [`rms ${withUnit(rms)}, max ${withUnit(max)}`] : []), ...(missing ? [`${missing} vertices not finite`] : [])];
        },
      });
      const said = hasTargets && !alone && state.colour === "error" && !state.shapes.target ? (panel.turns.size ? "The true skin of a turned joint is not known: no error is shown." : "No true skin is known of this moment: no error is shown.") : "";
      if (status.textContent !== said) status.textContent = said;
      stage.name(`3D view: ${on.map((kind) => names[kind]).join(", ")}`);
      stage.draw();
    };
    /// The end of the colour scale: the 99th percentile of the skin weights' error over some frames, rounded up.
    const scaleTop = () => {
      let top = 0;
      const those = frames.map((_, i) => i).filter((i) => targets[i]);
      for (const i of those.filter((_, n) => n % Math.ceil(those.length / 6) === 0)) {
        const base = character.skin(character.pose(frames[i].time, new Map()), "base");
        const sorted = errorsOf("base", i, base).errors.filter(Number.isFinite).sort();
        if (sorted.length) top = Math.max(top, sorted[Math.floor(0.99 * (sorted.length - 1))]);
      }
      return top > 0 ? nice(top) : 1;
    };
    /// Shows `count` moments of the clip, evenly spaced, and returns the milliseconds of JavaScript that each took, from the pose to the
    /// last call of the renderer. A card goes on working after that. For whoever measures the page.
    const time = (count) => Array.from({ length: count }, (_, i) => {
      const begin = performance.now();
      if (frames.length) row.go(frames[0].time + (i / count) * (frames[frames.length - 1].time - frames[0].time)); else pose();
      stage.drawNow();
      return performance.now() - begin;
    });
    /// Says how long a frame takes here: the mean over some poses.
    const clock = () => {
      const mean = time(8).reduce((total, one) => total + one / 8, 0);
      root.dataset.milliseconds = mean.toFixed(2);
      console.log(`dermis: ${mean.toFixed(2)} ms of JavaScript per frame`);
    };

    const flip = () => {
      if (alone) return;
      state.mode = state.mode === first ? "base" : first;
      refresh();
    };
    listenToKeys(document.body, {
      " ": row.toggle, ",": () => row.step(-1), ".": () => row.step(1), "+": () => stage.zoom(0.85), "=": () => stage.zoom(0.85), "-": () => stage.zoom(1 / 0.85),
      b: flip, r: resetView, e: () => { if (hasTargets && !alone) { state.colour = state.colour === "error" ? "plain" : "error"; pose(); } },
    });
    stage.state.top = hasTargets && !alone ? scaleTop() : 1;
    // The frame in the middle says more than the first, which is often the rest pose.
    const middle = frames[Math.floor(frames.length / 2)];
    if (middle) row.go(middle.time); else pose();
    stage.frame(true);
    stage.drawNow();
    clock();
    if (middle) row.go(middle.time);
    root.dataset.state = "ready";
    /// For whoever tests the page or embeds it: the skin that is shown, three numbers per vertex of the rig, metres.
    window.dermis = {
      positions: (kind = main) => state.skins[kind].positions(),
      show: (seconds) => row.go(seconds),
      turn: (joint, degrees) => {
        const found = character.joints.find(({ name }) => name === joint);
        if (!found) throw new Error(`there is no joint ${joint}`);
        panel.turn(found.node, degrees);
      },
      frames: time,
      /// Every skin from the first frame to this one with secondary motion, the last returned.
      swing: (frame) => {
        springs.reset();
        let positions = null;
        for (let at = 0; at <= frame; at++) {
          const dt = at > 0 ? frames[at].time - frames[at - 1].time : 1;
          positions = springs.apply(dt, Float64Array.from(character.skin(character.pose(frames[at].time, new Map()), main).positions()));
        }
        springs.reset();
        state.swung = null;
        return positions;
      },
      /// Positions and normals of the picture: those that the card computed for it, null without one, and those of this script. Waits
      /// for the card.
      picture: (kind = main) => {
        stage.drawNow();
        const { positions, normals } = state.shapes[kind], context = stage.context();
        return { card: context && character.card.read(context, kind), script: { positions, normals } };
      },
      playing: row.playing, time: row.time, camera: stage.camera, mode: () => state.mode,
    };
    return window.dermis;
  };
  /// Resolves with `window.dermis` when the page shows its skin.
  window.dermisReady = start();
  window.dermisReady.catch(fail);
})();
