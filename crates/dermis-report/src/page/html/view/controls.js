// The 3D view: buttons and fields above the picture. Each says what was chosen; the view decides what follows.

/// A row of buttons of which one is pressed. `mark(key)` presses one.
function makeSegments(element, label, options, choose) {
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
}

/// A button that is on or off. `mark(on)` sets it.
function makeToggle(element, text, choose) {
  const button = element("button", "plain toggle", text);
  button.type = "button";
  button.onclick = () => choose(button.getAttribute("aria-pressed") !== "true");
  button.mark = (on) => button.setAttribute("aria-pressed", on);
  return button;
}

/// Every frame by name: those with a reason to look at first, then those of each set, then the rest shape.
function makeFrameList(element, id, frames, choose) {
  const select = element("select");
  select.id = id;
  const group = (label, entries) => {
    const box = element("optgroup");
    box.label = label;
    box.append(...entries.map(([text, i]) => new Option(text, i)));
    if (entries.length) select.append(box);
  };
  const all = frames.map((frame, i) => [frame, i]);
  group("to look at first", all.filter(([f]) => f.note).map(([f, i]) => [`${f.label} (${[f.set, f.note].filter(Boolean).join(", ")})`, i]));
  for (const set of new Set(frames.map((f) => f.set))) {
    group(set || "poses", all.filter(([f]) => f.set === set).map(([f, i]) => [f.label, i]));
  }
  select.append(new Option("rest shape", frames.length));
  select.onchange = () => choose(+select.value);
  return select;
}

/// The controls. `act` names what can be chosen: show, mode, right, colour, wire, bones, top, reset.
function makeControls({ element, data, names, textures, act }) {
  const { frames, parents } = data.view;
  const controls = element("div", "controls");
  const id = data.id ?? "view"; // several views on one page have names of their own
  const group = (label, content, id) => {
    const box = element("div", "group");
    const text = element(id ? "label" : "span", id ? "" : "label", label);
    if (id) text.htmlFor = id;
    box.append(text, ...content);
    controls.append(box);
    return box;
  };
  const select = makeFrameList(element, `${id}-frame`, frames, act.show);
  group("Frame", [select], `${id}-frame`).classList.add("frames");
  const kinds = ["model", ...(frames.some((frame) => frame.baseline) ? ["baseline"] : [])].map((kind) => [kind, names[kind]]);
  const modes = makeSegments(element, "Shown", [["all", "side by side"], ["wipe", "wipe"], ["target", names.target], ...kinds], act.mode);
  group("Show", [modes]).classList.add("modes");
  const rights = makeSegments(element, "Right of the divider", kinds, act.right);
  const rightGroup = group(`${names.target} against`, [rights]);
  const pictures = data.view.surface && textures ? [["texture", "texture"]] : [];
  const colours = makeSegments(element, "Colour", [["error", "error"], ["plain", "plain"], ...pictures], act.colour);
  group("Colour", [colours]);
  const wire = makeToggle(element, "wireframe", act.wire);
  const bones = makeToggle(element, "skeleton", act.bones);
  group("Overlay", parents.length ? [wire, bones] : [wire]);
  const slider = element("input");
  slider.type = "range";
  slider.min = 0; slider.max = 100; slider.step = 1;
  slider.setAttribute("aria-label", "Error at the end of the colour scale, slider");
  const number = element("input");
  number.type = "number";
  number.min = 0; number.step = "any";
  number.id = `${id}-top`;
  const topGroup = group(`Scale to (${data.unit})`, [slider, number], `${id}-top`);
  number.onchange = () => act.top(+number.value);
  slider.oninput = () => act.top(+(scaleMiddle * 10 ** ((slider.value - 50) / 25)).toPrecision(2));
  let scaleMiddle = 1;
  const reset = element("button", "plain", "Reset view");
  reset.type = "button";
  reset.onclick = act.reset;
  controls.append(reset);
  return {
    element: controls,
    /// The middle of the slider of the colour scale.
    setMiddle: (top) => { scaleMiddle = top; },
    /// Shows the state as it is.
    mark: (state) => {
      select.value = state.frame;
      modes.mark(state.mode);
      const lacks = (key) => (key === "wipe" ? !state.shapes.model : key !== "all" && !state.shapes[key]);
      for (const button of modes.children) button.disabled = lacks(button.dataset.key);
      rights.mark(state.right);
      rightGroup.hidden = state.mode !== "wipe" || kinds.length < 2;
      colours.mark(state.colour);
      wire.mark(state.wire);
      bones.mark(state.bones);
      topGroup.hidden = state.colour !== "error";
      number.value = +state.top.toPrecision(3);
      slider.value = 50 + 25 * Math.log10(state.top / scaleMiddle);
    },
  };
}
