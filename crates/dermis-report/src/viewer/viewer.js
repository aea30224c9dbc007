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

  const start = () => {
    const data = JSON.parse(document.getElementById("page-data").textContent);
    const character = makeCharacter(decodeBytes(document.getElementById("page-glb").textContent.trim()));
    const names = { learnt: "learnt", base: data.skin, target: "true skin" };
    const [main] = character.kinds;
    const frames = character.clip ? data.frames : [];
    const targets = frames.map(({ target }) => (target ? decodePoints(target) : null));
    const hasTargets = targets.some(Boolean);
    const state = { mode: main, colour: hasTargets ? "error" : "plain", bones: Object.keys(data.sure).length > 0, pose: null, shapes: {}, skins: null };
    const ground = data.ground === null ? null : makeGround(data.ground, character.size);
    const withUnit = (v) => `${digits(v)} ${data.unit}`;
    const spent = []; // milliseconds of the latest frames: weights, morphs and skinning, normals, drawing

    const host = document.getElementById("view-host");
    const box = element("div", "stage");
    const stage = makeStage({
      element, stage: box, names, fail,
      describe: (v) => [`vertex ${v}`, ...character.kinds.filter((kind) => state.shapes[kind].errors).map((kind) => `${names[kind]}: ${withUnit(state.shapes[kind].errors[v])}`)].join("\n"),
    });
    const row = makeClipRow({ element, frames, show: () => pose(), byFrame: () => hasTargets && state.colour === "error" && panel.turns.size === 0 });
    const panel = makeJointPanel({ element, joints: character.joints, turned: () => pose() });

    // Controls
    const controls = element("div", "controls");
    const group = (label, content) => {
      const g = element("div", "group");
      g.append(element("span", "label", label), ...content);
      controls.append(g);
      return g;
    };
    const kinds = [...character.kinds, ...(hasTargets ? ["target"] : [])];
    const both = character.kinds.length > 1 ? [["wipe", "wipe"]] : [];
    const modes = makeSegments(element, "Shown", [["all", "side by side"], ...both, ...kinds.map((kind) => [kind, names[kind]])], (mode) => {
      const count = shown().length;
      state.mode = mode;
      refresh();
      if (shown().length !== count) { stage.frame(false); stage.draw(); }
    });
    document.getElementById("help-skins").hidden = kinds.length < 2;
    if (kinds.length > 1) group("Show", [modes]).classList.add("modes");
    const colours = makeSegments(element, "Colour", [["error", "error"], ["plain", "plain"]], (colour) => { state.colour = colour; pose(); });
    if (hasTargets) group("Colour", [colours]);
    const bones = makeToggle(element, "skeleton", (on) => { state.bones = on; refresh(); });
    const reset = element("button", "plain", "Reset view");
    reset.type = "button";
    const resetView = () => { stage.state.split = 0.5; stage.state.vertex = -1; stage.frame(true); refresh(); };
    reset.onclick = resetView;
    const picture = element("div", "picture");
    picture.append(bones, reset);
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
        const at = name in data.sure ? project(pane, stage.state.joints.subarray(3 * b, 3 * b + 3), ratio, height) : null;
        if (!at || !at.every(Number.isFinite)) return;
        const sure = data.sure[name];
        context.beginPath();
        context.arc(at[0], at[1], 4.6, 0, 7);
        context.fillStyle = `rgb(${Math.round(20 + 230 * (1 - sure))},${Math.round(20 + 170 * sure)},40)`;
        context.fill();
        context.lineWidth = 1.2;
        context.strokeStyle = "#fff";
        context.stroke();
      });
    };
    /// Computes the skins of the pose that is asked for.
    const pose = () => {
      try {
        state.pose = character.pose(row.time(), panel.turns);
        state.skins = character.skins(state.pose);
        const begin = performance.now();
        const { moved } = state.pose;
        const beside = (positions) => positions.map((x, i) => x - moved[i % 3]);
        const at = panel.turns.size === 0 ? row.frame() : -1;
        const target = at >= 0 ? targets[at] : null;
        state.shapes = {};
        for (const kind of character.kinds) {
          const positions = beside(state.skins[kind]);
          state.shapes[kind] = makeShape(positions, character.triangles);
          if (target) Object.assign(state.shapes[kind], measure(state.skins[kind].map((x, i) => x - target[i]), data.scale));
        }
        if (target) state.shapes.target = makeShape(beside(target), character.triangles);
        stage.forget();
        spent.push([...state.skins.took, (performance.now() - begin) / character.kinds.length]);
        if (spent.length > 60) spent.shift();
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
      const said = hasTargets && state.colour === "error" && !state.shapes.target ? (panel.turns.size ? "The true skin of a turned joint is not known: no error is shown." : "No true skin is known of this moment: no error is shown.") : "";
      if (status.textContent !== said) status.textContent = said;
      stage.name(`3D view: ${on.map((kind) => names[kind]).join(", ")}`);
      stage.draw();
    };
    /// The end of the colour scale: the 99th percentile of the skin weights' error over some frames, rounded up.
    const scaleTop = () => {
      let top = 0;
      const known = frames.map((_, i) => i).filter((i) => targets[i]);
      for (const i of known.filter((_, n) => n % Math.ceil(known.length / 6) === 0)) {
        const { base } = character.skins(character.pose(frames[i].time, new Map()));
        const sorted = measure(base.map((x, j) => x - targets[i][j]), data.scale).errors.filter(Number.isFinite).sort();
        if (sorted.length) top = Math.max(top, sorted[Math.floor(0.99 * (sorted.length - 1))]);
      }
      return top > 0 ? nice(top) : 1;
    };
    /// Says how long a frame takes here: the mean over some poses.
    const clock = (drawing) => {
      const mean = [0, 1, 2].map((i) => spent.reduce((total, one) => total + one[i], 0) / spent.length);
      const all = mean.reduce((a, b) => a + b, drawing);
      root.dataset.milliseconds = all.toFixed(2);
      console.log(`dermis: ${all.toFixed(2)} ms per frame: weights ${mean[0].toFixed(2)}, morph targets and skinning ${mean[1].toFixed(2)}, normals ${mean[2].toFixed(2)}, drawing ${drawing.toFixed(2)}`);
    };

    const flip = () => { state.mode = state.mode === "learnt" ? "base" : main; refresh(); };
    listenToKeys(document.body, {
      " ": row.toggle, ",": () => row.step(-1), ".": () => row.step(1), "+": () => stage.zoom(0.85), "=": () => stage.zoom(0.85), "-": () => stage.zoom(1 / 0.85),
      b: flip, r: resetView, e: () => { if (hasTargets) { state.colour = state.colour === "error" ? "plain" : "error"; pose(); } },
    });
    stage.state.top = hasTargets ? scaleTop() : 1;
    // The frame in the middle says more than the first, which is often the rest pose.
    const middle = frames[Math.floor(frames.length / 2)];
    if (middle) row.go(middle.time); else pose();
    stage.frame(true);
    let drawing = 0;
    for (let i = 0; i < 8; i++) {
      if (frames.length) row.go(frames[Math.floor((i * frames.length) / 8)].time);
      drawing += stage.drawNow() / 8;
    }
    if (middle) row.go(middle.time);
    clock(drawing);
    root.dataset.state = "ready";
    /// For whoever tests the page or embeds it: the skin that is shown, three numbers per vertex of the rig, metres.
    window.dermis = {
      positions: (kind = main) => state.skins[kind],
      show: (seconds) => row.go(seconds),
      turn: (joint, degrees) => {
        const found = character.joints.find(({ name }) => name === joint);
        if (!found) throw new Error(`there is no joint ${joint}`);
        panel.turn(found.node, degrees);
      },
      playing: row.playing, time: row.time, camera: stage.camera, mode: () => state.mode,
    };
  };
  try { start(); } catch (error) { fail(error); }
})();
