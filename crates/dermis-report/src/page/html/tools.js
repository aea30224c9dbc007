"use strict";
// What every page's script needs: elements, numbers as text, tips beside the pointer, and a place for what went wrong.
const pageTools = (() => {
  const root = document.documentElement;
  const tip = document.getElementById("tip");

  /// Tells the reader, and whoever tests the page, what went wrong. Tables stay readable.
  const fail = (error) => {
    root.dataset.state = "error";
    root.dataset.error = String((error && error.message) || error);
    const box = document.getElementById("page-error");
    box.textContent = "A part of this page could not be shown: " + root.dataset.error;
    box.hidden = false;
  };
  addEventListener("error", (event) => fail(event.error || event.message));

  const element = (tag, className, text) => {
    const e = document.createElement(tag);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const svg = (tag, attributes, text) => {
    const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const name in attributes) e.setAttribute(name, attributes[name]);
    if (text !== undefined) e.textContent = text;
    return e;
  };
  const shown = Number.isFinite;
  /// Three significant digits, as in the tables.
  const digits = (v) => {
    if (!shown(v)) return "–";
    const size = Math.abs(v);
    if (size === 0) return "0";
    if (size < 1e-3 || size >= 1e7) return v.toExponential(1).replace("e+", "e");
    return v.toFixed(Math.min(5, Math.max(0, 2 - Math.floor(Math.log10(size)))));
  };
  /// At least v: one of these factors times a power of ten.
  const nice = (v, factors = [1, 2, 5, 10]) => {
    const power = 10 ** Math.floor(Math.log10(v));
    return factors.map((f) => f * power).find((f) => f >= v * (1 - 1e-9)) ?? v;
  };
  const showTip = (event, text) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (event.clientY + 18 + box.height > innerHeight ? event.clientY - box.height - 10 : event.clientY + 18) + "px";
  };
  const hideTip = () => { tip.hidden = true; };
  return { root, element, svg, shown, digits, nice, fail, showTip, hideTip };
})();
