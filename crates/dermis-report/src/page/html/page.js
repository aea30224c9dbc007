"use strict";
// Charts, sortable tables, and how they lead to the 3D view. The numbers are in #page-data, lengths in the shown unit;
// null stands for a number that was not finite.
(() => {
  const { root, element, svg, shown, digits, nice, fail, showTip, hideTip } = pageTools;

  /// Grid lines and numbers of a linear vertical axis from 0 to `top`; returns value -> y.
  const verticalAxis = (chart, frame, top, unit) => {
    const y = (v) => frame.bottom - ((frame.bottom - frame.top) * v) / top;
    const step = nice(top / 5);
    for (let i = 0; i * step <= top * (1 + 1e-9); i++) {
      const at = y(i * step);
      chart.append(svg("line", { class: "grid", x1: frame.left, x2: frame.right, y1: at, y2: at }));
      const number = String(+(i * step).toPrecision(3));
      chart.append(svg("text", { x: frame.left - 6, y: at + 4, "text-anchor": "end" }, number));
    }
    chart.append(svg("text", { x: frame.left - 6, y: frame.top - 10, "text-anchor": "end" }, unit));
    return y;
  };
  /// Draws now and whenever the width changes, so that text keeps its size.
  const whenSized = (host, draw) => {
    let width = 0;
    const redraw = () => {
      const now = Math.floor(host.clientWidth);
      if (now === width || now < 50) return;
      width = now;
      draw(width);
    };
    redraw();
    new ResizeObserver(redraw).observe(host);
  };

  /// Bars for the model, a stepped line for the baseline, in the order of the poses.
  const poseChart = (host, data, set, setIndex, link) => {
    const state = { key: "rms" };
    const legend = element("div", "legend");
    const entry = (icon, text) => {
      const span = element("span");
      span.append(element("i", icon), text);
      legend.append(span);
    };
    const against = set.poses.some((p) => p.baseline_rms !== null || p.baseline_max !== null);
    entry("bar", data.model);
    if (against) entry("line", data.baseline);
    if (link.any) entry("dot", "shown in 3D");
    const choice = element("span", "segments right");
    choice.setAttribute("role", "group");
    choice.setAttribute("aria-label", "Measure");
    for (const key of ["rms", "max"]) {
      const button = element("button", "", key);
      button.type = "button";
      button.onclick = () => { state.key = key; draw(host.clientWidth); };
      choice.append(button);
    }
    legend.append(choice);
    const holder = element("div");
    host.append(legend, holder);
    let hits = [];
    let current = -1;
    const mark = (pose) => {
      hits[current]?.classList.remove("current");
      current = pose;
      hits[current]?.classList.add("current");
    };

    const draw = (width) => {
      for (const button of choice.children) button.setAttribute("aria-pressed", button.textContent === state.key);
      const value = (p) => p[state.key];
      const base = (p) => p["baseline_" + state.key];
      const frame = { left: 48, right: width - 4, top: 26, bottom: 190 };
      const all = set.poses.flatMap((p) => [value(p), base(p)]).filter(shown);
      const chart = svg("svg", {
        viewBox: `0 0 ${width} 214`, height: 214, role: "img",
        "aria-label": `${state.key} error per pose of ${set.name}; the table below has the numbers`,
      });
      const y = verticalAxis(chart, frame, nice(all.reduce((a, b) => Math.max(a, b), 1e-9) * 1.02, [1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10]), data.unit);
      const slot = (frame.right - frame.left) / set.poses.length;
      const bar = Math.max(0.5, Math.min(slot * 0.72, 46));
      let path = "";
      hits = set.poses.map((pose, i) => {
        const x = frame.left + i * slot;
        const v = value(pose);
        if (shown(v)) {
          const top = y(v);
          chart.append(svg("rect", { class: "model", x: x + (slot - bar) / 2, y: top, width: bar, height: Math.max(0, frame.bottom - top), rx: Math.min(2, bar / 4) }));
        } else {
          chart.append(svg("text", { class: "bad-value", x: x + slot / 2, y: frame.bottom - 4, "text-anchor": "middle" }, "!"));
        }
        if (shown(base(pose))) path += `M${x} ${y(base(pose))}H${x + slot}`;
        const there = link.nearest(setIndex, i);
        if (there.exact) chart.append(svg("circle", { class: "stored-mark", cx: x + slot / 2, cy: frame.bottom + 9, r: Math.max(0.5, Math.min(3.2, slot * 0.4)) }));
        const hit = svg("rect", { class: there.frame >= 0 ? "hit stored" : "hit", x, y: frame.top - 8, width: slot, height: frame.bottom - frame.top + 24 });
        hit.addEventListener("pointermove", (event) => {
          const line = (name, rms, max) => (shown(rms) || shown(max) ? `${name}: rms ${digits(rms)}, max ${digits(max)} ${data.unit}` : "");
          const lines = [pose.label, line(data.model, pose.rms, pose.max) || `${data.model}: not finite`, line(data.baseline, pose.baseline_rms, pose.baseline_max)];
          lines.push(there.exact ? "click: show in 3D" : there.remark && `click: ${there.offer}`);
          showTip(event, lines.filter(Boolean).join("\n"));
        });
        hit.addEventListener("pointerleave", hideTip);
        if (there.frame >= 0) hit.addEventListener("click", () => link.show(there.frame, null, false, there.remark));
        return hit;
      });
      if (path) chart.append(svg("path", { class: "baseline", d: path }));
      hits.forEach((hit) => chart.append(hit));
      const last = set.poses.length - 1;
      chart.append(svg("text", { x: frame.left, y: 212 }, "1"));
      if (last > 0) chart.append(svg("text", { x: frame.right, y: 212, "text-anchor": "end" }, `pose ${last + 1}`));
      holder.replaceChildren(chart);
      mark(current);
    };
    whenSized(host, draw);
    link.onShow((set, pose) => mark(set === setIndex ? pose : -1));
  };

  /// Both errors against the strength, logarithmic; the chosen strength marked.
  const sweepChart = (host, data) => {
    const points = data.sweep.points.filter((p) => p[0] > 0);
    const chosen = data.sweep.chosen;
    const legend = element("div", "legend");
    for (const [icon, text] of [["line-model", "fitted poses"], ["line", "poses left out"]]) {
      const span = element("span");
      span.append(element("i", icon), text);
      legend.append(span);
    }
    const holder = element("div");
    host.append(legend, holder);
    const values = points.flatMap((p) => [p[1], p[2]]).filter(shown);
    if (!points.length || !values.length) {
      holder.append(element("p", "note", "Nothing to draw: no strength above zero with a finite error."));
      return;
    }
    whenSized(host, (width) => {
      const frame = { left: 48, right: width - 14, top: 26, bottom: 220 };
      const chart = svg("svg", { viewBox: `0 0 ${width} 252`, height: 252, role: "img", "aria-label": "Error against regularisation strength; the numbers are in the table below" });
      // One exploding strength must not flatten the rest: the axis ends at four times the median.
      const sorted = [...values].sort((a, b) => a - b);
      const top = nice(Math.max(Math.min(sorted[sorted.length - 1], 4 * sorted[sorted.length >> 1]), 1e-9) * 1.02);
      const y0 = verticalAxis(chart, frame, top, data.unit);
      const y = (v) => Math.max(frame.top - 6, y0(v));
      const logs = points.map((p) => Math.log10(p[0]));
      if (chosen > 0) logs.push(Math.log10(chosen));
      let [low, high] = [Math.min(...logs), Math.max(...logs)];
      if (high - low < 1e-6) { low -= 1; high += 1; }
      const x = (s) => frame.left + 8 + ((frame.right - frame.left - 16) * (Math.log10(s) - low)) / (high - low);
      const every = Math.max(1, Math.ceil((high - low) / Math.max(2, width / 90)));
      for (let power = Math.ceil(low - 1e-9); power <= high + 1e-9; power++) {
        const at = x(10 ** power);
        chart.append(svg("line", { class: "grid", x1: at, x2: at, y1: frame.bottom, y2: frame.bottom + 4 }));
        if ((power - Math.ceil(low - 1e-9)) % every) continue;
        const label = svg("text", { x: at, y: frame.bottom + 18, "text-anchor": "middle" }, "10");
        label.append(svg("tspan", { dy: -5, "font-size": "9" }, String(power).replace("-", "−")));
        chart.append(label);
      }
      chart.append(svg("text", { x: frame.right, y: frame.bottom + 32, "text-anchor": "end" }, "s"));
      for (const [column, line, dot] of [[1, "line-model", "dot-model"], [2, "baseline", "dot-baseline"]]) {
        let d = "", pen = false;
        for (const p of points) {
          d += shown(p[column]) ? `${pen ? "L" : "M"}${x(p[0])} ${y(p[column])}` : "";
          pen = shown(p[column]);
        }
        chart.append(svg("path", { class: line, d }));
        for (const p of points) if (shown(p[column])) chart.append(svg("circle", { class: dot, cx: x(p[0]), cy: y(p[column]), r: 2.6 }));
      }
      if (chosen > 0) {
        const at = x(chosen), right = at > width * 0.65;
        chart.append(svg("line", { class: "chosen", x1: at, x2: at, y1: frame.top - 12, y2: frame.bottom }));
        chart.append(svg("text", { class: "chosen-label", x: at + (right ? -6 : 6), y: frame.top - 6, "text-anchor": right ? "end" : "start" }, "chosen"));
      }
      const hit = svg("rect", { x: frame.left, y: frame.top - 12, width: frame.right - frame.left, height: frame.bottom - frame.top + 30, fill: "transparent" });
      hit.addEventListener("pointermove", (event) => {
        const at = ((event.clientX - host.getBoundingClientRect().left) * width) / host.clientWidth;
        const p = points.reduce((a, b) => (Math.abs(x(b[0]) - at) < Math.abs(x(a[0]) - at) ? b : a));
        showTip(event, `s = ${digits(p[0])}\nfitted poses: ${digits(p[1])} ${data.unit}\nposes left out: ${digits(p[2])} ${data.unit}`);
      });
      hit.addEventListener("pointerleave", hideTip);
      chart.append(hit);
      holder.replaceChildren(chart);
    });
  };

  /// Heads of tables become buttons; numbers sort before words, each row keeps its place among equals.
  const makeSortable = (table) => {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = element("button", "", head.textContent);
      button.type = "button";
      head.replaceChildren(button);
      button.onclick = () => {
        const down = head.getAttribute("aria-sort") === "ascending" || (!head.hasAttribute("aria-sort") && head.classList.contains("n"));
        heads.forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => {
          const cell = row.cells[column];
          return { row, number: cell.dataset.key === undefined ? NaN : +cell.dataset.key, text: cell.textContent };
        });
        rows.sort((a, b) => {
          if (isNaN(a.number) !== isNaN(b.number)) return isNaN(a.number) ? 1 : -1;
          const order = isNaN(a.number) ? a.text.localeCompare(b.text, undefined, { numeric: true }) : a.number - b.number;
          return down ? -order : order;
        });
        body.append(...rows.map((r) => r.row));
      };
    });
  };

  /// The label of a stored pose, in a table or a warning, or the number of a vertex in one, becomes a button that shows it in
  /// the 3D view.
  const makeLinks = (link) => {
    for (const table of document.querySelectorAll("table[data-poses]")) {
      const set = +table.dataset.poses;
      const rows = [...table.tBodies[0].rows];
      rows.forEach((row, pose) => {
        const frame = link.frameOf(set, pose);
        if (frame < 0) return;
        const button = element("button", "link", row.cells[0].textContent);
        button.type = "button";
        button.title = "Show in 3D";
        button.onclick = () => link.show(frame, null, true);
        row.cells[0].replaceChildren(button);
      });
      let current = null;
      link.onShow((s, pose) => {
        current?.classList.remove("current");
        current = s === set ? rows[pose] : null;
        current?.classList.add("current");
      });
    }
    for (const span of document.querySelectorAll("span[data-pose]")) {
      const [set, pose] = span.dataset.pose.split(" ").map(Number);
      const { frame, remark } = link.nearest(set, pose);
      if (frame < 0) continue;
      const button = element("button", "link", span.textContent);
      button.type = "button";
      button.title = "Show in 3D";
      const vertex = span.dataset.vertex === undefined ? null : +span.dataset.vertex;
      button.onclick = () => link.show(frame, vertex, true, remark);
      span.replaceChildren(button);
    }
  };

  try {
    const data = pageData("page-data");
    const listeners = [];
    const frames = data.view ? data.view.frames : [];
    const places = new Map(), ofLabel = new Map(), ofSet = new Map();
    frames.forEach((frame, i) => {
      if (!frame.pose) return;
      const [set, pose] = frame.pose;
      if (!places.has(frame.pose.join())) places.set(frame.pose.join(), i);
      if (!ofLabel.has(frame.label)) ofLabel.set(frame.label, i);
      ofSet.set(set, [...(ofSet.get(set) ?? []), [pose, i]]);
    });
    let view = null;
    const link = {
      any: places.size > 0,
      frameOf: (set, pose) => places.get(`${set},${pose}`) ?? -1,
      /// The frame that shows a pose, or the one that comes nearest, with what there is to say of it.
      nearest: (set, pose) => {
        const exact = link.frameOf(set, pose);
        if (exact >= 0) return { frame: exact, exact: true };
        const label = data.sets[set]?.poses[pose]?.label;
        const stored = ofSet.get(set);
        if (stored) {
          const [, frame] = stored.reduce((a, b) => (Math.abs(b[0] - pose) < Math.abs(a[0] - pose) ? b : a));
          const near = frames[frame].label;
          return { frame, offer: `show ${near}, the nearest on this page`, remark: `${label} is not on this page; the nearest pose is: ${near}.` };
        }
        // A pose that fits were validated on is a training pose; the page shows the model that saw all of them.
        const frame = ofLabel.get(label) ?? -1;
        return frame < 0 ? { frame } : { frame, offer: "show in 3D, by the fit to all poses", remark: `${label}: the skin of the model that was fitted to all poses.` };
      },
      onShow: (listener) => listeners.push(listener),
      show: (frame, vertex, scroll, remark) => {
        if (!view) return;
        view.stop?.();
        view.show(frame, vertex, remark);
        if (scroll) document.getElementById("view").scrollIntoView({ block: "nearest" });
      },
    };
    makeLinks(link);
    document.querySelectorAll("table[data-sortable]").forEach(makeSortable);
    document.querySelectorAll(".chart[data-set]").forEach((host) => poseChart(host, data, data.sets[+host.dataset.set], +host.dataset.set, link));
    const sweep = document.getElementById("sweep-chart");
    if (sweep && data.sweep) sweepChart(sweep, data);
    const host = document.getElementById("view-host");
    if (host && data.view) {
      view = startView(host, data, { element, digits, nice, fail }, (pose) => listeners.forEach((f) => f(pose ? pose[0] : -1, pose ? pose[1] : -1)));
    }
    const rigHost = document.getElementById("rig-host");
    if (rigHost && data.rig) window.dermisRig = makeRigView({ host: rigHost, rig: data.rig, element, fail });
    if (root.dataset.state !== "error") root.dataset.state = "ready";
  } catch (error) {
    fail(error);
  }
})();
