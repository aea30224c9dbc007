// The rig in 3D: lines over the picture: axes of joints, arcs of limits, the mirror plane.

const AXIS_COLOURS = ["#d6403a", "#2f9e44", "#2f6fde"];

/// A direction turned about an axis by an angle (Rodrigues).
function turned(direction, about, angle) {
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  const dot = direction.reduce((sum, x, i) => sum + x * about[i], 0);
  const cross = [0, 1, 2].map((i) => about[(i + 1) % 3] * direction[(i + 2) % 3] - about[(i + 2) % 3] * direction[(i + 1) % 3]);
  return [0, 1, 2].map((i) => c * direction[i] + s * cross[i] + (1 - c) * dot * about[i]);
}

/// Draws the marks of a state over a pane. `size` is the length of a joint's axes, `box` the box of the rest mesh.
function drawMarks(context, pane, ratio, height, { bones, axes, selected, mirror, size, box }) {
  const at = (p) => project(pane, p, ratio, height);
  const along = (p, d, t) => p.map((x, i) => x + t * d[i]);
  const line = (points, colour, width) => {
    const seen = points.map(at);
    if (seen.some((p) => !p || !p.every((x) => Number.isFinite(x) && Math.abs(x) < 1e5))) return;
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    seen.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.stroke();
  };
  if (mirror) {
    // The part of the plane within the box, as a frame: corners of the box moved onto the plane.
    const n = mirror.normal;
    const other = Math.abs(n[1]) < 0.9 ? [0, 1, 0] : [0, 0, 1];
    const unit = (v) => { const l = Math.hypot(...v) || 1; return v.map((x) => x / l); };
    const cross = (a, b) => [0, 1, 2].map((i) => a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3]);
    const u = unit(cross(n, other)), w = cross(n, u);
    const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    const corners = [];
    for (let i = 0; i < 8; i++) corners.push([0, 1, 2].map((c) => box[(i >> c) & 1][c]));
    const span = (d) => corners.map((p) => dot(p, d)).reduce(([a, b], x) => [Math.min(a, x), Math.max(b, x)], [Infinity, -Infinity]);
    const [[u0, u1], [w0, w1]] = [span(u), span(w)];
    const place = (a, b) => [0, 1, 2].map((i) => mirror.plane * n[i] + a * u[i] + b * w[i]);
    const frame = [place(u0, w0), place(u1, w0), place(u1, w1), place(u0, w1), place(u0, w0)];
    const seen = frame.map(at);
    if (seen.every(Boolean)) {
      context.fillStyle = "rgba(31, 102, 193, 0.14)";
      context.beginPath();
      seen.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.fill();
      line(frame, "rgba(31, 102, 193, 0.9)", 1.5);
    }
  }
  bones.forEach((bone, b) => {
    if (!axes && b !== selected) return;
    const long = b === selected ? 1.8 * size : size;
    bone.axes.forEach((axis, i) => line([bone.head, along(bone.head, axis, long)], AXIS_COLOURS[i], b === selected ? 2.5 : 1.4));
  });
  const bone = bones[selected];
  if (!bone) return;
  bone.arcs.forEach((arc, i) => {
    const [from, to] = arc.range.map((x) => (x * Math.PI) / 180);
    const steps = Math.max(2, Math.ceil(Math.abs(to - from) / 0.08));
    const radius = size * (3 + 0.7 * i);
    const points = [bone.head];
    for (let s = 0; s <= steps; s++) points.push(along(bone.head, turned(arc.zero, arc.about, from + ((to - from) * s) / steps), radius));
    points.push(bone.head);
    const colour = ["#c2410c", "#7c3aed", "#0f766e"][i % 3];
    line(points, colour, 1.8);
    const label = at(along(bone.head, turned(arc.zero, arc.about, to), 1.12 * radius));
    if (!label) return;
    context.font = "600 12px system-ui, sans-serif";
    context.lineWidth = 3;
    context.strokeStyle = "rgba(255, 255, 255, 0.85)";
    context.strokeText(arc.name, label[0], label[1]);
    context.fillStyle = colour;
    context.fillText(arc.name, label[0], label[1]);
  });
  const spot = at(bone.head);
  if (spot) {
    context.fillStyle = "#c2410c";
    context.beginPath();
    context.arc(spot[0], spot[1], 5, 0, 7);
    context.fill();
  }
}
