// The 3D view: the frames of a set one after another, at their own times or eight a second.

/// Frames that stand together and belong to one set, with the seconds at which each begins and the length of all.
function framesOfSets(frames) {
  const sets = [];
  frames.forEach((frame, i) => {
    const last = sets[sets.length - 1];
    if (last && last.name === frame.set) last.to = i + 1;
    else sets.push({ name: frame.set, from: i, to: i + 1 });
  });
  for (const set of sets) {
    const times = frames.slice(set.from, set.to).map((frame) => frame.time);
    const steps = times.slice(1).map((time, i) => (time === null || times[i] === null ? NaN : time - times[i]));
    // A clip has times that grow, none of them absurd; other poses take an eighth of a second each.
    set.clip = steps.length > 0 && steps.every((step) => step > 1e-4 && step < 10);
    const usual = set.clip ? steps.reduce((a, b) => a + b, 0) / steps.length : 1 / 8;
    set.starts = [0];
    for (let i = 1; i < times.length; i++) set.starts.push(set.starts[i - 1] + (set.clip ? steps[i - 1] : usual));
    set.length = set.starts[set.starts.length - 1] + usual;
  }
  return sets;
}

/// Builds the row of play, scrub bar, loop and speed. `show(frame)` shows a frame.
function makePlayback({ element, frames, show }) {
  const sets = framesOfSets(frames);
  const row = element("div", "playback");
  let set = sets[0], frame = 0, playing = false, ticking = false, loop = true, speed = 1, clock = 0, before = null;
  const button = element("button", "plain play");
  button.type = "button";
  const bar = element("input");
  bar.type = "range";
  bar.min = 0;
  bar.step = 1;
  bar.className = "scrub";
  bar.setAttribute("aria-label", "Frame of the set");
  const place = element("span", "place");
  const loops = makeToggle(element, "loop", (on) => { loop = on; loops.mark(on); });
  loops.mark(loop);
  const speeds = element("select");
  speeds.setAttribute("aria-label", "Speed");
  for (const factor of [0.25, 0.5, 1, 2, 4]) speeds.append(new Option(`${factor}×`, factor, factor === 1, factor === 1));
  speeds.onchange = () => { speed = +speeds.value; };
  const choices = makeSegments(element, "Set that plays", sets.map((s, i) => [String(i), s.name || "poses"]), (key) => show(sets[+key].from));
  choices.classList.add("sets");
  row.append(button, bar, place, loops, speeds, ...(sets.length > 1 ? [choices] : []));
  row.hidden = frames.length < 2;

  const mark = () => {
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    button.title = playing ? "Pause (space)" : "Play (space)";
    button.setAttribute("aria-pressed", playing);
    button.disabled = !set || set.to - set.from < 2;
  };
  const tick = () => {
    if (!playing) return;
    const now = performance.now();
    // A tab that was out of sight, or a slow frame, does not skip a part of the clip.
    const passed = before === null ? 0 : Math.min(0.25, (now - before) / 1000);
    before = now;
    clock += passed * speed;
    if (clock >= set.length) {
      if (!loop) {
        stop();
        show(set.to - 1);
        return;
      }
      clock %= set.length;
    }
    let at = 0;
    while (at + 1 < set.starts.length && set.starts[at + 1] <= clock + 1e-9) at++;
    ticking = true;
    if (set.from + at !== frame) show(set.from + at);
    ticking = false;
    requestAnimationFrame(tick);
  };
  const stop = () => { playing = false; mark(); };
  const toggle = () => {
    if (playing) return stop();
    if (!set || set.to - set.from < 2) return;
    if (frame >= frames.length) show(set.from);
    // At its end a set that does not loop begins again.
    if (!loop && frame === set.to - 1) show(set.from);
    playing = true;
    before = null;
    mark();
    requestAnimationFrame(tick);
  };
  button.onclick = toggle;
  bar.oninput = () => { stop(); show(set.from + +bar.value); };
  return {
    element: row,
    toggle,
    stop,
    playing: () => playing,
    /// A step within the set that is shown; from the rest shape into it.
    step: (by) => {
      stop();
      if (set) show(frame >= frames.length ? set.from : Math.min(set.to - 1, Math.max(set.from, frame + by)));
    },
    /// Hears which frame is shown.
    onFrame: (index) => {
      frame = index;
      if (index >= frames.length) {
        stop();
        place.textContent = "rest shape";
        return;
      }
      set = sets.find((s) => index < s.to);
      bar.max = set.to - set.from - 1;
      bar.value = index - set.from;
      bar.setAttribute("aria-valuetext", frames[index].label);
      place.textContent = `${index - set.from + 1} / ${set.to - set.from}  ${frames[index].label}`;
      choices.mark(String(sets.indexOf(set)));
      if (!ticking) clock = set.starts[index - set.from];
      mark();
    },
  };
}
