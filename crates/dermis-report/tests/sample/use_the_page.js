// Clicks, keys and wheel on the sample page, each followed by what must have changed. The page holds every frame of the
// clip "reach", the first 20 of its frames, and every fourth pose of "flex".
(() => {
  const $ = (s) => document.querySelector(s), all = (s) => [...document.querySelectorAll(s)];
  const named = (s, text) => all(s).find((e) => e.textContent === text);
  const failed = [];
  const step = (name, test) => { let ok = false; try { ok = test(); } catch (e) { name += ": " + e; } if (!ok) failed.push(name); };
  const canvas = $(".stage canvas"), frame = $("#view-frame");
  const box = canvas.getBoundingClientRect();
  const pointer = (type, x, y, more) => canvas.dispatchEvent(new PointerEvent(type, { clientX: box.x + x * box.width, clientY: box.y + y * box.height, pointerId: 1, bubbles: true, ...more }));
  canvas.setPointerCapture = () => {};
  const shown = () => $(".place").textContent, key = (k, on = canvas) => on.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true, cancelable: true }));
  const bars = (set) => all(`.chart[data-set='${set}'] .hit`), click = (e) => e.dispatchEvent(new MouseEvent("click"));
  step("starts at the worst frame", () => frame.value === "10" && shown() === "11 / 20  reach 11");
  step("lists the frames to look at first, all frames and the rest shape", () => frame.options.length === 4 + 32 + 1 && frame.querySelector("optgroup").children.length === 4);
  step("a pose's button shows its frame", () => { named("table button.link", "flex 9").click(); return shown() === "3 / 12  flex 9"; });
  step("and marks its row", () => $("tr.current td").textContent === "flex 9");
  step("and its bar", () => bars(0)[8].classList.contains("current") && all(".hit.current").length === 1);
  step("a bar shows its frame", () => { click(bars(1)[4]); return shown() === "5 / 20  reach 5" && bars(1)[4].classList.contains("current"); });
  step("every bar leads to a pose", () => bars(0).length === 48 && all(".chart[data-set] .hit:not(.stored)").length === 0);
  step("the bar of a pose that is not stored shows the nearest", () => { click(bars(0)[10]); return shown() === "3 / 12  flex 9" && $(".status").textContent.startsWith("flex 11 is not on this page"); });
  step("a warning leads to its frame", () => { named(".warnings button", "reach 16").click(); return shown() === "16 / 20  reach 16"; });
  step("a key goes to the next frame", () => { key("ArrowRight"); return shown() === "17 / 20  reach 17"; });
  step("and back, from anywhere in the view", () => { key("ArrowLeft", $(".play")); return shown() === "16 / 20  reach 16"; });
  step("steps stay in the set", () => { for (let i = 0; i < 9; i++) key("ArrowRight"); return shown() === "20 / 20  reach 20"; });
  step("the scrub bar leads anywhere", () => { const b = $(".scrub"); b.value = "6"; b.oninput(); return shown() === "7 / 20  reach 7" && b.max === "19"; });
  step("the sets can be chosen", () => { named(".sets button", "training").click(); return shown() === "1 / 12  flex 1" && $(".scrub").max === "11"; });
  step("what is left out is said", () => $(".left-out").textContent === "training: 12 of 48 poses are shown, one in 4.");
  step("a worst vertex is shown", () => { $("[data-vertex] button").click(); return $(".status").textContent.startsWith("vertex ") && frame.value === "10"; });
  step("one shape at a time", () => { named(".segments button", "lbs").click(); return all(".pane").length === 1 && $(".pane b").textContent === "lbs"; });
  step("side by side again", () => { named(".segments button", "side by side").click(); return all(".pane").length === 3 && $(".divider").hidden; });
  step("a wipe shows two skins with a divider", () => { named(".segments button", "wipe").click(); return !$(".divider").hidden && all(".pane b").map((e) => e.textContent).join() === "target,mwe"; });
  step("the wipe shows the other skin", () => { all(".segments").find((e) => e.getAttribute("aria-label") === "Right of the divider").lastChild.click(); return all(".pane b")[1].textContent === "lbs"; });
  step("side by side for the rest", () => { named(".segments button", "side by side").click(); return all(".pane").length === 3; });
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
  step("rest shape", () => { frame.value = "32"; frame.onchange(); return all(".pane").length === 1 && $(".pane b").textContent === "rest shape"; });
  step("and back", () => { frame.value = "10"; frame.onchange(); return all(".pane").length === 3; });
  const first = () => $("table[data-poses='0'] tbody td").textContent;
  step("sorts numbers, largest first", () => { all("table[data-poses='0'] th button")[1].click(); return first() === "flex 9" || first() === "flex 41"; });
  step("then smallest", () => { all("table[data-poses='0'] th button")[1].click(); return all("table[data-poses='0'] th")[1].getAttribute("aria-sort") === "ascending"; });
  step("sorts words by their numbers", () => { all("table[data-poses='0'] th button")[0].click(); return first() === "flex 1"; });
  step("largest errors in the chart", () => { named(".chart button", "max").click(); return named(".chart button", "max").getAttribute("aria-pressed") === "true"; });
  step("bars have a tip", () => { $(".chart .hit").dispatchEvent(new PointerEvent("pointermove", { clientX: 50, clientY: 50 })); return !$("#tip").hidden && /^flex 1\nmwe: rms \S+, max \S+ mm\nlbs: rms \S+, max \S+ mm\nclick: show in 3D$/.test($("#tip").textContent); });
  // A drag, and later a click on the middle of the first skin, when the frame has been drawn.
  pointer("pointerdown", 0.5, 0.5, { button: 0, buttons: 1 }); pointer("pointermove", 0.55, 0.5, { buttons: 1 }); pointer("pointerup", 0.55, 0.5, { button: 0 });
  step("a drag picks nothing", () => $(".status").textContent === "");
  const steps = [
    () => {
      step("the pointer names a vertex", () => { pointer("pointermove", 0.17, 0.6); return /^vertex \d+\nmwe: .* mm\nlbs: .* mm$/.test($("#tip").textContent); });
      step("a click keeps it", () => { pointer("pointerdown", 0.17, 0.6, { button: 0, buttons: 1 }); pointer("pointerup", 0.17, 0.6, { button: 0 }); return /^vertex \d+ · mwe/.test($(".status").textContent); });
    },
    () => {
      step("and marks it in all three", () => all(".spot").length === 3);
      named(".segments button", "texture")?.click();
    },
    () => {
      // Green squares, which neither clay nor the colours of errors hold; the renderer without WebGL draws no pictures.
      step("the picture of the material is drawn", () => {
        const gl = document.documentElement.dataset.renderer === "webgl2";
        if (!gl) return !named(".segments button", "texture");
        const flat = document.createElement("canvas");
        [flat.width, flat.height] = [canvas.width, canvas.height];
        flat.getContext("2d").drawImage(canvas, 0, 0);
        const pixels = flat.getContext("2d").getImageData(0, 0, flat.width, flat.height).data;
        let green = 0;
        for (let i = 0; i < pixels.length; i += 4) green += pixels[i + 1] > pixels[i] + 40 && pixels[i + 1] > pixels[i + 2] + 20;
        return green > 0.02 * flat.width * flat.height && $(".ramp").hidden;
      });
      named(".segments button", "error").click();
      named(".toggle", "skeleton").click(); named(".toggle", "wireframe").click(); named(".segments button", "wipe").click();
    },
    () => {
      step("the skeleton is drawn over the skins", () => {
        const c = $("canvas.bones"), pixels = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
        return !c.hidden && pixels.some((x) => x > 0);
      });
      step("the divider follows its keys", () => { key("ArrowLeft", $(".divider")); return $(".divider").getAttribute("aria-label") !== null && shown() === "11 / 20  reach 11"; });
    },
    () => {
      step("and has moved", () => $(".divider").getAttribute("aria-valuenow") === "48");
      named(".toggle", "loop").click(); $(".playback select").value = "4"; $(".playback select").onchange(); key(" ");
      step("space plays", () => $(".play").getAttribute("aria-label") === "Pause");
    },
    // Nine frames at 4 × 24 a second take a tenth of a second; without a loop it ends at the last.
    () => {
      step("and the clip ends at its last frame", () => shown() === "20 / 20  reach 20" && $(".play").getAttribute("aria-label") === "Play");
      named(".toggle", "loop").click(); $(".playback select").value = "0.25"; $(".playback select").onchange(); $(".play").click();
    },
    () => {
      step("played on, it begins again", () => shown() !== "20 / 20  reach 20" && $(".play").getAttribute("aria-label") === "Pause");
      step("a bar stops it", () => { click(bars(1)[2]); return shown() === "3 / 20  reach 3" && $(".play").getAttribute("aria-label") === "Play"; });
      step("nothing went wrong", () => document.documentElement.dataset.state === "ready");
      document.documentElement.dataset.use = failed.join("; ") || "fine";
    },
  ];
  // Each step waits for the last, so that a slow machine does not run one before its frame is drawn.
  const next = () => { steps.shift()(); if (steps.length) setTimeout(next, 400); };
  setTimeout(next, 400);
})();
