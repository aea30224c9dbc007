// The viewer: the row that plays, pauses and scrubs the clip.

/// Builds the row. `show(seconds)` shows a time of the clip; `byFrame()` says whether only whole frames may be shown.
function makeClipRow({ element, frames, show, byFrame }) {
  const row = element("div", "playback");
  const last = frames.length - 1;
  const usual = last > 0 ? (frames[last].time - frames[0].time) / last : 0;
  const length = last > 0 ? frames[last].time + usual : 0; // the last frame is seen as long as the others
  let playing = false, before = null, clock = frames[0]?.time ?? 0, speed = 1;
  const button = element("button", "plain play");
  button.type = "button";
  const bar = element("input");
  bar.type = "range";
  bar.className = "scrub";
  bar.min = 0;
  bar.max = Math.max(last, 0);
  bar.step = "any";
  bar.setAttribute("aria-label", "Frame of the motion");
  const place = element("span", "place");
  const speeds = element("select");
  speeds.setAttribute("aria-label", "Speed");
  for (const factor of [0.25, 0.5, 1, 2]) speeds.append(new Option(`${factor}×`, factor, factor === 1, factor === 1));
  speeds.onchange = () => { speed = +speeds.value; };
  row.append(button, bar, place, speeds);
  row.hidden = last < 1;

  /// The frame that is on at a time, and how far it is to the next, 0..1.
  const frameAt = (time) => {
    let at = 0;
    while (at < last && frames[at + 1].time <= time + 1e-9) at++;
    const span = at < last ? frames[at + 1].time - frames[at].time : usual;
    return [at, span > 0 ? Math.min(Math.max((time - frames[at].time) / span, 0), 1) : 0];
  };
  const mark = () => {
    if (last < 0) return;
    const [at, part] = frameAt(clock);
    bar.value = at < last ? at + part : last;
    place.textContent = `${at + 1} / ${frames.length}  ${frames[at].label}`;
    bar.setAttribute("aria-valuetext", frames[at].label);
    button.textContent = playing ? "❚❚" : "▶";
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    button.title = playing ? "Pause (space)" : "Play (space)";
    button.setAttribute("aria-pressed", playing);
  };
  const go = (time) => {
    clock = byFrame() ? frames[frameAt(time)[0]].time : time;
    mark();
    show(clock);
  };
  const stop = () => { playing = false; mark(); };
  const tick = () => {
    if (!playing) return;
    const now = performance.now();
    // A tab that was out of sight does not skip a part of the clip.
    const passed = before === null ? 0 : Math.min(0.25, (now - before) / 1000);
    before = now;
    run = (run + passed * speed) % length;
    const time = byFrame() ? frames[frameAt(run)[0]].time : Math.min(run, frames[last].time);
    if (time !== clock) {
      clock = time;
      mark();
      show(clock);
    }
    requestAnimationFrame(tick);
  };
  let run = 0;
  const toggle = () => {
    if (playing) return stop();
    if (last < 1) return undefined;
    [playing, before, run] = [true, null, clock];
    mark();
    return requestAnimationFrame(tick);
  };
  button.onclick = toggle;
  bar.oninput = () => {
    const asked = +bar.value; // stopping marks the frame that is shown
    stop();
    const at = Math.min(Math.floor(asked), last);
    const next = frames[Math.min(at + 1, last)];
    go(frames[at].time + (asked - at) * (next.time - frames[at].time));
  };
  mark();
  return {
    element: row,
    toggle,
    stop,
    /// A step to a whole frame.
    step: (by) => {
      stop();
      if (last < 0) return;
      const [at, part] = frameAt(clock);
      go(frames[Math.min(last, Math.max(0, by < 0 && part > 1e-6 ? at : at + by))].time);
    },
    go: (time) => { stop(); go(time); },
    playing: () => playing,
    time: () => clock,
    /// The frame that is shown, −1 between two.
    frame: () => {
      const [at, part] = frameAt(clock);
      return last >= 0 && part < 1e-6 ? at : -1;
    },
  };
}
