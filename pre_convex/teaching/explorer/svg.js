"use strict";
// SVG drawing that reuses elements: what is drawn again under the same key is updated, so it keeps the focus.

const svg = (() => {
  const NS = "http://www.w3.org/2000/svg";

  class Canvas {
    constructor(node) {
      this.node = node;
      this.kept = new Map();
      this.groups = new Map();
      this.used = new Set();
    }

    // groups are stacked in the order of their first use
    group(name, attributes = {}) {
      if (!this.groups.has(name)) {
        const g = document.createElementNS(NS, "g");
        this.node.append(g);
        this.groups.set(name, g);
      }
      set(this.groups.get(name), attributes);
      return this.groups.get(name);
    }

    begin(width, height) {
      this.used.clear();
      [this.width, this.height] = [width, height];
      set(this.node, { viewBox: `0 0 ${width} ${height}`, width, height });
    }

    put(group, key, tag, attributes, text) {
      const name = `${group}/${key}`;
      let node = this.kept.get(name);
      if (node && node.tagName !== tag) {
        node.remove();
        node = null;
      }
      if (!node) {
        node = document.createElementNS(NS, tag);
        this.group(group).append(node);
        this.kept.set(name, node);
      }
      this.used.add(name);
      set(node, attributes);
      if (text !== undefined && node.textContent !== text) node.textContent = text;
      return node;
    }

    end() {
      for (const [name, node] of this.kept) {
        if (!this.used.has(name)) {
          node.remove();
          this.kept.delete(name);
        }
      }
    }
  }

  function set(node, attributes) {
    for (const [name, value] of Object.entries(attributes)) {
      const text = typeof value === "number" ? String(Math.round(value * 100) / 100) : value;
      if (text === null || text === undefined) node.removeAttribute(name);
      else if (node.getAttribute(name) !== text) node.setAttribute(name, text);
    }
  }

  const scale = ([low, high], [from, to]) => {
    const f = (x) => from + ((x - low) / (high - low)) * (to - from);
    f.back = (y) => low + ((y - from) / (to - from)) * (high - low);
    f.domain = [low, high];
    return f;
  };

  // about `count` round numbers in a range
  function ticks(low, high, count = 5) {
    const raw = (high - low) / count;
    const power = 10 ** Math.floor(Math.log10(raw));
    // the step that comes closest to the count, on a log scale
    const far = (s) => Math.abs(Math.log(s / raw));
    const step = [1, 2, 5, 10].map((m) => m * power).reduce((s, t) => (far(t) < far(s) ? t : s));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step);
    return { values: found, step };
  }

  // the smallest of 1, 1.5, 2, 3, 5, 7 times a power of ten that is at least x, so that ranges do not jump
  function roundUp(x) {
    const power = 10 ** Math.floor(Math.log10(x));
    return [1, 1.5, 2, 3, 5, 7, 10].map((m) => m * power).find((s) => s >= x * 0.9999);
  }

  const path = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");

  const shapes = {
    triangle: (x, y, r) =>
      path([
        [x, y - 1.15 * r],
        [x + r, y + 0.75 * r],
        [x - r, y + 0.75 * r],
      ]) + "Z",
    diamond: (x, y, r) =>
      path([
        [x, y - 1.2 * r],
        [x + 1.2 * r, y],
        [x, y + 1.2 * r],
        [x - 1.2 * r, y],
      ]) + "Z",
    square: (x, y, r) =>
      path([
        [x - r, y - r],
        [x + r, y - r],
        [x + r, y + r],
        [x - r, y + r],
      ]) + "Z",
    circle: (x, y, r) => `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0Z`,
    cross: (x, y, r) => `M${x - r} ${y - r}L${x + r} ${y + r}M${x - r} ${y + r}L${x + r} ${y - r}`,
    star: (x, y, r) =>
      path(
        Array.from({ length: 10 }, (_, i) => {
          const s = i % 2 ? 0.45 * r : 1.15 * r;
          return [x + s * Math.sin((i * Math.PI) / 5), y - s * Math.cos((i * Math.PI) / 5)];
        }),
      ) + "Z",
  };

  return { NS, Canvas, scale, ticks, roundUp, path, shapes };
})();
