// Uses the viewer as a reader does, step by step. EXPECTED has the model's own skin at every time of the clip.
(async () => {
  await window.dermisReady;
  const root = document.documentElement, $ = (s) => document.querySelector(s), all = (s) => [...document.querySelectorAll(s)];
  const failed = [];
  const step = (name, test) => { let ok = false; try { ok = test(); } catch (e) { name += ": " + e; } if (!ok) failed.push(`${name} (${$(".place").textContent}; ${$(".stage .plate").textContent})`); };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const canvas = $(".stage canvas.skins"), box = canvas.getBoundingClientRect();
  canvas.setPointerCapture = () => {};
  const pointer = (type, x, y, more) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.x + x * box.width, clientY: box.y + y * box.height, pointerId: 1, bubbles: true, ...more }));
  const key = (k, more = {}, on = canvas) => on.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true, ...more }));
  const far = (a, b) => a.reduce((most, _, i) => (i % 3 ? most : Math.max(most, Math.hypot(a[i] - b[i], a[i + 1] - b[i + 1], a[i + 2] - b[i + 2]))), 0);
  const button = (text) => all("button").find((b) => b.textContent === text);
  const { camera } = window.dermis, shown = () => $(".stage .pane b").textContent, numbers = () => $(".stage .plate").textContent;
  const skin = () => window.dermis.positions().slice();

  let deviation = 0;
  EXPECTED.times.forEach((time, i) => {
    window.dermis.show(time);
    const found = window.dermis.positions();
    if (found.length !== EXPECTED.skins[i].length || found.some((x) => !Number.isFinite(x))) deviation = Infinity;
    deviation = Math.max(deviation, far(found, EXPECTED.skins[i]));
  });
  root.dataset.deviation = deviation;

  window.dermis.show(EXPECTED.times[3]);
  step("the error of a frame with a true skin is that of the page", () => /^learntrms (1\.00|0\.99)/.test(numbers()));
  step("its colours are explained", () => !$(".ramp").hidden);
  step("a button shows the skin weights", () => { $("[data-key=base]").click(); return shown() === "skin weights"; });
  step("they are another skin", () => far(window.dermis.positions("base"), skin()) > 1e-3);
  step("a key exchanges them", () => { key("b"); return shown() === "learnt"; });
  step("a wipe has two skins and a divider", () => { $("[data-key=wipe]").click(); return !$(".divider").hidden && all(".pane").length === 2; });
  step("side by side there are three", () => { $("[data-key=all]").click(); return all(".pane").length === 3; });
  step("and one again", () => { $("[data-key=learnt]").click(); return all(".pane").length === 1; });
  step("plain colours", () => { key("e"); return $(".ramp").hidden; });
  step("and errors", () => { key("e"); return !$(".ramp").hidden; });

  const before = skin();
  const joint = $("#viewer-joint"), [x] = all(".angle input");
  joint.selectedIndex = joint.options.length - 1;
  joint.onchange();
  step("a slider turns a joint", () => { x.value = 50; x.oninput(); return far(skin(), before) > 1e-3; });
  step("its angle is said", () => $(".angle output").textContent === "50°" && joint.selectedOptions[0].textContent.endsWith("•"));
  step("no error is shown of a turned joint", () => !numbers().includes("rms") && $(".status").textContent.includes("not known"));
  step("no position is NaN at the ends", () => [-120, 120].every((v) => all(".angle input").every((bar) => { bar.value = v; bar.oninput(); return skin().every(Number.isFinite); })));
  step("reset brings it back", () => { button("Reset joint").click(); return far(skin(), before) === 0; });
  step("a joint by name", () => { window.dermis.turn(joint.options[0].textContent, [10, 20, 30]); const moved = far(skin(), before); button("Reset all").click(); return moved > 0 && far(skin(), before) === 0; });
  step("an unknown joint is refused", () => { try { window.dermis.turn("nobody", [0, 0, 0]); return false; } catch (e) { return e.message.includes("nobody"); } });

  step("the scrub bar leads anywhere", () => { const bar = $(".scrub"); bar.value = 5; bar.oninput(); return $(".place").textContent.startsWith("6 / 20") && far(skin(), EXPECTED.skins[5]) < 1e-4; });
  step("with errors it stays on frames", () => { const bar = $(".scrub"); bar.value = 5.5; bar.oninput(); return far(skin(), EXPECTED.skins[5]) < 1e-4; });
  step("without them it goes between", () => { key("e"); const bar = $(".scrub"); bar.value = 5.5; bar.oninput(); return far(skin(), EXPECTED.skins[5]) > 1e-4; });
  step("a key steps back", () => { key(","); return $(".place").textContent.startsWith("6 / 20"); });
  step("and on", () => { key("."); return $(".place").textContent.startsWith("7 / 20"); });

  const start = window.dermis.time();
  key(" ");
  for (let i = 0; i < 100 && window.dermis.time() === start; i++) await wait(20);
  step("space plays", () => window.dermis.playing() && window.dermis.time() !== start);
  $(".play").click();
  const stopped = window.dermis.time();
  await wait(200);
  step("the button pauses", () => !window.dermis.playing() && window.dermis.time() === stopped);

  const was = () => JSON.stringify(camera);
  const changes = (name, act) => step(name, () => { const old = was(); act(); return was() !== old && Object.values(camera).flat().every(Number.isFinite); });
  changes("the mouse turns", () => { pointer("pointerdown", 0.5, 0.5, { buttons: 1 }); pointer("pointermove", 0.6, 0.5, { buttons: 1 }); pointer("pointerup", 0.6, 0.5); });
  changes("with Shift it moves", () => { pointer("pointerdown", 0.5, 0.5, { buttons: 1, shiftKey: true }); pointer("pointermove", 0.6, 0.6, { buttons: 1, shiftKey: true }); pointer("pointerup", 0.6, 0.6); });
  changes("the wheel zooms", () => canvas.dispatchEvent(new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true })));
  changes("a finger turns", () => { const touch = { pointerType: "touch", pointerId: 5 }; pointer("pointerdown", 0.5, 0.5, touch); pointer("pointermove", 0.4, 0.5, touch); pointer("pointerup", 0.4, 0.5, touch); });
  changes("two fingers zoom", () => {
    const [a, b] = [6, 7].map((pointerId) => ({ pointerType: "touch", pointerId }));
    pointer("pointerdown", 0.4, 0.5, a); pointer("pointerdown", 0.6, 0.5, b);
    pointer("pointermove", 0.2, 0.5, a); pointer("pointermove", 0.8, 0.5, b);
    pointer("pointerup", 0.2, 0.5, a); pointer("pointerup", 0.8, 0.5, b);
  });
  changes("an arrow turns", () => key("ArrowLeft"));
  changes("with Shift it moves", () => key("ArrowUp", { shiftKey: true }));
  changes("plus zooms", () => key("+"));
  step("R resets", () => { key("r"); return camera.yaw === 0.5 && camera.pitch === 0.12; });
  step("the skeleton can be shown", () => { button("skeleton").click(); return button("skeleton").getAttribute("aria-pressed") === "true"; });
  await wait(100);
  step("milliseconds are said", () => Number(root.dataset.milliseconds) >= 0);
  root.dataset.use = failed.length ? failed.join("; ") : "fine";
})();
