// Clicks, keys and wheel on the sample page, each followed by what must have changed.
(() => {
  const $ = (s) => document.querySelector(s), all = (s) => [...document.querySelectorAll(s)];
  const named = (s, text) => all(s).find((e) => e.textContent === text);
  const failed = [];
  const step = (name, test) => { let ok = false; try { ok = test(); } catch (e) { name += ": " + e; } if (!ok) failed.push(name); };
  const canvas = $(".stage canvas"), frame = $("#view-frame");
  const box = canvas.getBoundingClientRect();
  const pointer = (type, x, y, more) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.x + x * box.width, clientY: box.y + y * box.height, pointerId: 1, bubbles: true, ...more }));
  canvas.setPointerCapture = () => {};
  step("starts at the first frame", () => frame.value === "0" && frame.options.length === 5);
  step("a pose's button shows its frame", () => { named("table button.link", "flex 9").click(); return frame.selectedOptions[0].text.startsWith("flex 9"); });
  step("and marks its row", () => $("tr.current td").textContent === "flex 9");
  step("a bar shows its frame", () => { all(".chart .hit.stored")[1].dispatchEvent(new MouseEvent("click")); return frame.selectedOptions[0].text.startsWith("reach 1 "); });
  step("a key goes to the next frame", () => { const i = +frame.value; canvas.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" })); return +frame.value === i + 1; });
  step("a worst vertex is shown", () => { $("[data-vertex] button").click(); return $(".status").textContent.startsWith("vertex ") && frame.value === "0"; });
  step("one shape at a time", () => { named(".segments button", "lbs").click(); return all(".pane").length === 1 && $(".pane b").textContent === "lbs"; });
  step("side by side again", () => { named(".segments button", "side by side").click(); return all(".pane").length === 3; });
  step("errors agree with the table", () => {
    const row = all("table[data-poses='1'] tbody tr").find((r) => r.cells[0].textContent === "reach 11");
    return all(".pane span")[0].textContent === `rms ${row.cells[1].textContent} mm, max ${row.cells[3].textContent} mm`;
  });
  step("plain hides the scale", () => { named(".segments button", "plain").click(); return $(".ramp").hidden; });
  step("error shows it", () => { named(".segments button", "error").click(); return !$(".ramp").hidden; });
  step("the scale can be set", () => { const n = $("#view-top"); n.value = "2.5"; n.onchange(); return $(".ramp").textContent.includes("2.50 mm"); });
  step("nonsense leaves the scale", () => { const n = $("#view-top"); n.value = "-3"; n.onchange(); return $(".ramp").textContent.includes("2.50 mm"); });
  step("the wheel zooms", () => { const e = new WheelEvent("wheel", { deltaY: -100, bubbles: true, cancelable: true }); canvas.dispatchEvent(e); return e.defaultPrevented; });
  step("reset", () => { named("button", "Reset view").click(); return $(".status").textContent === ""; });
  step("rest shape", () => { frame.value = "4"; frame.onchange(); return all(".pane").length === 1 && $(".pane b").textContent === "rest shape"; });
  step("and back", () => { frame.value = "1"; frame.onchange(); return all(".pane").length === 3; });
  const first = () => $("table[data-poses='0'] tbody td").textContent;
  step("sorts numbers, largest first", () => { all("table[data-poses='0'] th button")[1].click(); return first() === "flex 9" || first() === "flex 41"; });
  step("then smallest", () => { all("table[data-poses='0'] th button")[1].click(); return all("table[data-poses='0'] th")[1].getAttribute("aria-sort") === "ascending"; });
  step("sorts words by their numbers", () => { all("table[data-poses='0'] th button")[0].click(); return first() === "flex 1"; });
  step("largest errors in the chart", () => { named(".chart button", "max").click(); return named(".chart button", "max").getAttribute("aria-pressed") === "true"; });
  step("bars have a tip", () => { $(".chart .hit").dispatchEvent(new PointerEvent("pointermove", { clientX: 50, clientY: 50 })); return !$("#tip").hidden && $("#tip").textContent.startsWith("flex 1\nmwe:"); });
  // A drag, and later a click on the middle of the first skin, when the frame has been drawn.
  pointer("pointerdown", 0.5, 0.5, { button: 0, buttons: 1 }); pointer("pointermove", 0.55, 0.5, { buttons: 1 }); pointer("pointerup", 0.55, 0.5, { button: 0 });
  step("a drag picks nothing", () => $(".status").textContent === "");
  setTimeout(() => {
    step("the pointer names a vertex", () => { pointer("pointermove", 0.17, 0.6); return /^vertex \d+\nmwe: .* mm\nlbs: .* mm$/.test($("#tip").textContent); });
    step("a click keeps it", () => { pointer("pointerdown", 0.17, 0.6, { button: 0, buttons: 1 }); pointer("pointerup", 0.17, 0.6, { button: 0 }); return /^vertex \d+ · mwe/.test($(".status").textContent); });
    setTimeout(() => {
      step("and marks it in all three", () => all(".spot").length === 3);
      document.documentElement.dataset.use = failed.join("; ") || "fine";
    }, 500);
  }, 500);
})();
