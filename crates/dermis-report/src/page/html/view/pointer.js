// The 3D view: pointer, wheel and keys on the picture.

/// Of the vertices near a place on the stage that face the viewer, the nearest to the viewer; −1 without one.
function pickVertex(panes, [mx, my], ratio, height, radius) {
  const pane = panes.find((p) => mx * ratio >= p.from && mx * ratio < p.to);
  if (!pane) return -1;
  const { positions, normals } = pane.shape;
  const r = pane.rotation;
  let best = -1, score = Infinity;
  for (let v = 0; v < positions.length / 3; v++) {
    if (r[6] * normals[3 * v] + r[7] * normals[3 * v + 1] + r[8] * normals[3 * v + 2] < -0.1) continue;
    const at = project(pane, positions.subarray(3 * v, 3 * v + 3), ratio, height);
    if (!at) continue;
    const away = Math.hypot(at[0] - mx, at[1] - my);
    if (away > 10) continue;
    const s = at[2] + (away / 10) * 0.04 * radius;
    if (s < score) { score = s; best = v; }
  }
  return best;
}

/// Milliseconds and pixels of a finger that swipes: shorter and farther than one that turns the skin.
const SWIPE = { within: 300, across: 60 };

/// Turns, moves and zooms the camera; names the vertex under the pointer; a click marks it. `swipe` is told the direction of a quick
/// stroke of one finger across, and answers whether it meant something.
function listenToPointer({ canvas, stage, camera, pick, describe, mark, draw, swipe }) {
  const pointers = new Map();
  let travelled = 0;
  let start = null;
  const pan = (dx, dy) => {
    const { rotation: r } = cameraMatrices(camera, 1);
    const step = (2 * camera.distance * Math.tan(FIELD_OF_VIEW / 2)) / stage.clientHeight;
    for (let i = 0; i < 3; i++) camera.target[i] += step * (-dx * r[i] + dy * r[3 + i]);
  };
  const zoom = (factor) => { camera.distance = Math.min(Math.max(camera.distance * factor, camera.radius * 0.05), camera.radius * 60); };
  const tip = document.getElementById("tip");
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event);
    travelled = pointers.size > 1 ? 1e9 : 0;
    const { clientX: x, clientY: y, timeStamp: at } = event;
    start = pointers.size > 1 ? null : { x, y, at, yaw: camera.yaw, pitch: camera.pitch };
    tip.hidden = true;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) {
      const v = event.pointerType === "touch" ? -1 : pick(event);
      tip.hidden = v < 0;
      if (!tip.hidden) {
        tip.textContent = describe(v);
        const box = tip.getBoundingClientRect();
        tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6)) + "px";
        tip.style.top = event.clientY + (event.clientY + 18 + box.height > innerHeight ? -box.height - 10 : 18) + "px";
      }
      return;
    }
    const [dx, dy] = [event.clientX - before.clientX, event.clientY - before.clientY];
    travelled += Math.abs(dx) + Math.abs(dy);
    if (pointers.size >= 2) {
      const other = [...pointers.values()].find((p) => p.pointerId !== event.pointerId);
      const distance = (p) => Math.max(10, Math.hypot(p.clientX - other.clientX, p.clientY - other.clientY));
      zoom(distance(before) / distance(event));
      pan(dx / 2, dy / 2);
    } else if (event.shiftKey || event.buttons & 6) {
      pan(dx, dy);
    } else {
      camera.yaw -= dx * 0.008;
      camera.pitch = Math.min(1.55, Math.max(-1.55, camera.pitch + dy * 0.008));
    }
    pointers.set(event.pointerId, event);
    draw();
  });
  const release = (event) => {
    if (!pointers.delete(event.pointerId) || event.type !== "pointerup") return;
    if (start && event.pointerType === "touch" && event.timeStamp - start.at < SWIPE.within) {
      const [dx, dy] = [event.clientX - start.x, event.clientY - start.y];
      if (Math.abs(dx) > SWIPE.across && Math.abs(dx) > 3 * Math.abs(dy) && swipe(Math.sign(dx))) {
        Object.assign(camera, { yaw: start.yaw, pitch: start.pitch });
        draw();
        return;
      }
    }
    if (travelled > 4 || event.button !== 0) return;
    mark(pick(event));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  // A scroll of the page that happens to reach the picture goes on scrolling; a new turn of the wheel on it zooms.
  let scrolled = -1e9;
  addEventListener("wheel", (event) => { if (event.target !== canvas) scrolled = event.timeStamp; }, { passive: true, capture: true });
  canvas.addEventListener("wheel", (event) => {
    if (event.timeStamp - scrolled < 300) { scrolled = event.timeStamp; return; }
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 33 : event.deltaMode === 2 ? 400 : 1;
    zoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY * lines)) * 0.0012));
    draw();
  }, { passive: false });
  return { zoom: (factor) => { zoom(factor); draw(); } };
}

/// Keys anywhere in the view, except where a field or button has a use of its own for them.
function listenToKeys(host, acts) {
  host.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const field = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (!acts[key] || field || (key === " " && event.target.tagName === "BUTTON")) return;
    event.preventDefault();
    acts[key]();
  });
}
