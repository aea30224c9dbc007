// The viewer: a joint to choose, and a slider for each of its three angles.

/// Builds the panel. `turned(turns)` hears of every change: a map from nodes to degrees about the bone's x, y and z.
function makeJointPanel({ element, joints, turned }) {
  const panel = element("div", "joints");
  const turns = new Map();
  const select = element("select");
  select.id = "viewer-joint";
  const label = element("label", "", "Joint");
  label.htmlFor = select.id;
  const usable = joints.filter((joint) => joint.turns);
  select.append(...usable.map(({ name, node }) => new Option(name, node)));
  const head = element("div", "joint");
  head.append(label, select);
  const sliders = ["x", "y", "z"].map((axis, i) => {
    const row = element("label", "angle");
    const bar = element("input");
    bar.type = "range";
    bar.min = -120; bar.max = 120; bar.step = 1; bar.value = 0;
    bar.setAttribute("aria-label", `Turn about the bone's ${axis} axis, degrees`);
    const said = element("output", "", "0°");
    row.append(element("span", "axis", axis), bar, said);
    bar.oninput = () => {
      const node = +select.value;
      const angles = [...(turns.get(node) ?? [0, 0, 0])];
      angles[i] = +bar.value;
      if (angles.every((angle) => angle === 0)) turns.delete(node); else turns.set(node, angles);
      mark();
      turned(turns);
    };
    return { row, bar, said };
  });
  const one = element("button", "plain", "Reset joint");
  const all = element("button", "plain", "Reset all");
  for (const button of [one, all]) button.type = "button";
  one.onclick = () => { turns.delete(+select.value); mark(); turned(turns); };
  all.onclick = () => { turns.clear(); mark(); turned(turns); };
  const buttons = element("div", "resets");
  buttons.append(one, all);
  panel.append(head, ...sliders.map((slider) => slider.row), buttons);
  panel.hidden = usable.length === 0;

  const mark = () => {
    const angles = turns.get(+select.value) ?? [0, 0, 0];
    sliders.forEach(({ bar, said }, i) => {
      bar.value = angles[i];
      said.textContent = `${String(angles[i]).replace("-", "−")}°`;
    });
    one.disabled = !turns.has(+select.value);
    all.disabled = turns.size === 0;
    for (const option of select.options) {
      const { name } = usable[option.index];
      option.textContent = turns.has(+option.value) ? `${name} •` : name;
    }
  };
  select.onchange = mark;
  // The joint that most readers try first: one below a limb's, where its name tells.
  const first = usable.findIndex(({ name }) => /(lower.?arm|fore.?arm|elbow|calf|shin|knee)/i.test(name));
  if (first >= 0) select.selectedIndex = first;
  mark();
  return {
    element: panel,
    turns,
    /// Turns a joint by degrees about its axes, as the sliders do.
    turn: (node, angles) => { turns.set(node, angles); mark(); turned(turns); },
  };
}
