"use strict";
// What all panels share: a canvas of the available width, axes, handles, legends.

const frame = (() => {
  // largest height at which both rows of panels fit on a wide screen, if that is still legible
  function heightLimit() {
    const root = document.documentElement;
    if (!window.matchMedia("(min-width: 1700px)").matches || root.classList.contains("embedded")) return Infinity;
    const above = document.querySelector(".panels").getBoundingClientRect().top + window.scrollY;
    const lines = [...document.querySelectorAll(".panel .formula")].map((node) => Math.ceil(node.getBoundingClientRect().height));
    const texts = 142 + Math.max(23, ...lines); // title, legend and caption of a panel, and the tallest formula
    return Math.max(215, (window.innerHeight - above - 34) / 2 - texts);
  }

  class Panel {
    // `flat` tells whether both axes have the same unit, as on a map
    constructor(id, draw, flat = () => false) {
      this.flat = flat;
      this.section = document.getElementById(`panel-${id}`);
      this.id = id;
      this.canvas = new svg.Canvas(this.section.querySelector("svg"));
      this.draw = draw;
      this.shown = {};
    }

    render(m, now) {
      const width = Math.max(260, this.section.querySelector(".plot").clientWidth);
      const level = (4.4 / 6.4) * (width - 36) + 30;
      const height = Math.round(Math.min(this.flat(m) ? level : Math.max(258, level), heightLimit()));
      const fitting = Math.min(width, Math.round((6.4 / 4.4) * (height - 30) + 36));
      this.canvas.begin(this.flat(m) ? fitting : width, height);
      const { legend = [], caption = "", label = "" } = this.draw(this.canvas, m, now) ?? {};
      this.canvas.end();
      this.fill("legend", legend.map(([glyph, text]) => `<li>${mark(glyph)}<span>${text}</span></li>`).join(""));
      this.fill("caption", caption);
      if (label) this.canvas.node.setAttribute("aria-label", label);
    }

    fill(part, html) {
      if (this.shown[part] === html) return;
      this.shown[part] = html;
      const node = this.section.querySelector(`.${part}`);
      if (node) node.innerHTML = html;
    }
  }

  const strokes = {
    line: '<path d="M1 8H25"/>',
    dash: '<path d="M1 8H25" stroke-dasharray="5 4"/>',
    dots: '<path d="M1 8H25" stroke-dasharray="1.5 4" stroke-linecap="round"/>',
    arrow: '<path d="M2 8H22M17 4l6 4-6 4"/>',
    bar: '<rect x="8" y="1" width="10" height="14"/>',
    dot: '<circle cx="13" cy="8" r="3"/>',
    area: '<rect x="2" y="2" width="22" height="12" stroke="none"/>',
    tick: '<path d="M5 8H21"/>',
  };
  // symbol of a legend entry, with the shape and class that the panel draws
  function mark([shape, style]) {
    const body = strokes[shape] ?? `<path d="${svg.shapes[shape](13, 8, 5.5)}"/>`;
    return `<svg class="key ${style}" viewBox="0 0 26 16" width="26" height="16" aria-hidden="true">${body}</svg>`;
  }

  function axes(
    c,
    {
      x,
      y,
      xLabel = "",
      yLabel = "",
      left = 46,
      right = 12,
      top = yLabel ? 24 : 8,
      bottom = 36,
      xTicks,
      yTicks,
      name = "",
      area,
    },
  ) {
    const box = area ?? { left, top, right: c.width - right, bottom: c.height - bottom };
    const sx = svg.scale(x, [box.left, box.right]);
    const sy = svg.scale(y, [box.bottom, box.top]);
    const grid = `${name}grid`;
    const tx = xTicks ?? svg.ticks(x[0], x[1], Math.max(3, Math.round((box.right - box.left) / 70)));
    const ty = yTicks ?? svg.ticks(y[0], y[1], Math.max(2, Math.round((box.bottom - box.top) / 48)));
    tx.values.forEach((v, i) => {
      c.put(grid, `x${i}`, "line", { class: "grid", x1: sx(v), x2: sx(v), y1: box.top, y2: box.bottom });
      const label = tx.labels ? tx.labels[i] : numbers.tick(v, tx.step);
      c.put(grid, `xt${i}`, "text", { class: "tick", x: sx(v), y: box.bottom + 15, "text-anchor": "middle" }, label);
    });
    ty.values.forEach((v, i) => {
      c.put(grid, `y${i}`, "line", { class: "grid", x1: box.left, x2: box.right, y1: sy(v), y2: sy(v) });
      const label = ty.labels ? ty.labels[i] : numbers.tick(v, ty.step);
      c.put(grid, `yt${i}`, "text", { class: "tick", x: box.left - 6, y: sy(v) + 4, "text-anchor": "end" }, label);
    });
    c.put(grid, "frame", "rect", {
      class: "frame",
      x: box.left,
      y: box.top,
      width: box.right - box.left,
      height: box.bottom - box.top,
    });
    if (xLabel)
      c.put(grid, "xl", "text", { class: "axis", x: box.right, y: box.bottom + 31, "text-anchor": "end" }, xLabel);
    if (yLabel)
      c.put(grid, "yl", "text", { class: "axis", x: box.left, y: box.top - 7, "text-anchor": "start" }, yLabel);
    return { sx, sy, box };
  }

  // axes of a map of the feature plane
  function map(s) {
    if (!s.given) return { ...model.around(s), left: 28, right: 8, top: 8, bottom: 22 };
    const [xLabel, yLabel] = model.names(s);
    return { ...model.around(s), xLabel, yLabel, right: 8 };
  }

  // clip a group to a box
  function clip(c, group, box, id) {
    const name = `clip-${id}`;
    let shape = c.node.querySelector(`#${name} rect`);
    if (!shape) {
      const outer = document.createElementNS(svg.NS, "clipPath");
      outer.id = name;
      shape = document.createElementNS(svg.NS, "rect");
      outer.append(shape);
      c.node.prepend(outer);
    }
    for (const [k, v] of [
      ["x", box.left],
      ["y", box.top],
      ["width", box.right - box.left],
      ["height", box.bottom - box.top],
    ]) {
      shape.setAttribute(k, String(v));
    }
    c.group(group, { "clip-path": `url(#${name})` });
  }

  // a handle to drag: 40 pixels wide for touch, reachable by Tab, a slider to screen readers
  function handle(c, kind, index, x, y, { label, now, text, tab = true, range = model.box(store.state).x }) {
    const chosen = store.selected && store.selected.kind === kind && store.selected.index === index;
    return c.put("handles", `${kind}${index}`, "circle", {
      class: `handle${chosen ? " chosen" : ""} of-${kind}`,
      cx: x,
      cy: y,
      r: 20,
      "data-kind": kind,
      "data-index": String(index),
      tabindex: tab ? "0" : null,
      role: tab ? "slider" : null,
      "aria-label": tab ? label : null,
      "aria-valuemin": tab ? String(range[0]) : null,
      "aria-valuemax": tab ? String(range[1]) : null,
      "aria-valuenow": tab ? String(now) : null,
      "aria-valuetext": tab ? text : null,
      "aria-hidden": tab ? null : "true",
    });
  }

  const arrowHead = (x, y, dx, dy, size = 8) => {
    const length = Math.hypot(dx, dy) || 1;
    const [u, v] = [dx / length, dy / length];
    return svg.path([
      [x - size * (u - 0.5 * v), y - size * (v + 0.5 * u)],
      [x, y],
      [x - size * (u + 0.5 * v), y - size * (v - 0.5 * u)],
    ]);
  };

  return { Panel, axes, map, clip, handle, arrowHead };
})();
