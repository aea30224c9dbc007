// The 3D view: what lies over the picture: names, the marked vertex, the skeleton, the divider of the wipe.

/// Builds the layer over `stage`. `setSplit(share)` moves the divider.
function makeOverlay({ element, stage, names, setSplit }) {
  const lines = element("canvas", "bones");
  const plates = element("div", "plates");
  const spots = element("div", "spots");
  const divider = element("div", "divider");
  divider.tabIndex = 0;
  divider.setAttribute("role", "slider");
  divider.setAttribute("aria-label", "Divider of the wipe");
  divider.setAttribute("aria-valuemin", 0);
  divider.setAttribute("aria-valuemax", 100);
  divider.append(element("span", "grip", "◂▸"));
  stage.append(lines, spots, plates, divider);

  const shareAt = (event) => {
    const box = stage.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  };
  let dragged = false;
  divider.addEventListener("pointerdown", (event) => {
    dragged = true;
    divider.setPointerCapture(event.pointerId);
    event.preventDefault();
    divider.focus();
  });
  divider.addEventListener("pointermove", (event) => { if (dragged) setSplit(shareAt(event)); });
  for (const type of ["pointerup", "pointercancel"]) divider.addEventListener(type, () => { dragged = false; });
  divider.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    setSplit(+divider.getAttribute("aria-valuenow") / 100 + by);
  });

  /// The line from every joint to its parent's, dark with a light rim, cut at the pane's edges.
  const drawBones = (panes, joints, parents, ratio, marks) => {
    const [width, height] = [stage.clientWidth, stage.clientHeight];
    const fine = Math.min(devicePixelRatio || 1, 2);
    lines.width = Math.round(width * fine);
    lines.height = Math.round(height * fine);
    const context = lines.getContext("2d");
    if (!context) return;
    context.scale(fine, fine);
    context.lineCap = "round";
    const style = getComputedStyle(stage);
    const [core, rim] = [style.getPropertyValue("--bone").trim() || "#0b3d3a", style.getPropertyValue("--bone-rim").trim() || "#fff"];
    for (const pane of panes) {
      const at = !joints.length ? [] : parents.map((_, b) => project(pane, joints.subarray(3 * b, 3 * b + 3), ratio, height));
      const fits = (p) => p && p.every((x) => Number.isFinite(x) && Math.abs(x) < 1e5);
      context.save();
      context.beginPath();
      context.rect(pane.from / ratio, 0, (pane.to - pane.from) / ratio, height);
      context.clip();
      for (const [colour, wide, dot] of [[rim, 5, 4.2], [core, 2.4, 2.8]]) {
        context.strokeStyle = context.fillStyle = colour;
        context.lineWidth = wide;
        context.beginPath();
        at.forEach((_, b) => {
            const parent = parents[b];
          if (parent < 0 || !fits(at[b]) || !fits(at[parent])) return;
          context.moveTo(at[parent][0], at[parent][1]);
          context.lineTo(at[b][0], at[b][1]);
        });
        context.stroke();
        for (const p of at) {
          if (!fits(p)) continue;
          context.beginPath();
          context.arc(p[0], p[1], dot, 0, 7);
          context.fill();
        }
      }
      if (marks) marks(context, pane, ratio, height);
      context.restore();
    }
  };

  return {
    /// Names and numbers of the panes, a kind of skin in each.
    namePanes: (kinds, wipe, text) => {
      plates.replaceChildren(...kinds.map((kind, i) => {
        const box = element("div", wipe && i > 0 ? "pane right" : "pane");
        box.style.left = `${(100 * i) / kinds.length}%`;
        box.style.width = `${100 / kinds.length}%`;
        const plate = element("div", "plate");
        plate.append(element("b", "", text.name(kind)), ...text.lines(kind).map((line) => element("span", "", line)));
        box.append(plate);
        return box;
      }));
      plates.classList.toggle("wiped", wipe);
      divider.hidden = !wipe;
    },
    /// What moves with the camera. `marks` draws further lines over a pane.
    draw: ({ panes, split, vertex, joints, parents, ratio, marks = null }) => {
      divider.style.left = `${100 * split}%`;
      divider.setAttribute("aria-valuenow", Math.round(100 * split));
      divider.setAttribute("aria-valuetext", panes.length > 1 ? `${names[panes[0].kind]} left, ${names[panes[1].kind]} right` : "");
      lines.hidden = !joints.length && !marks;
      if (!lines.hidden) drawBones(panes, joints, parents, ratio, marks);
      spots.replaceChildren();
      if (vertex < 0) return;
      for (const pane of panes) {
        const p = pane.shape.positions;
        const at = project(pane, [p[3 * vertex], p[3 * vertex + 1], p[3 * vertex + 2]], ratio, stage.clientHeight);
        if (!at || !at.every(Number.isFinite) || at[0] * ratio < pane.from || at[0] * ratio > pane.to) continue;
        const spot = element("div", "spot");
        spot.style.left = at[0] + "px";
        spot.style.top = at[1] + "px";
        spots.append(spot);
      }
    },
  };
}
