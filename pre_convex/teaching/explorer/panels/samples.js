"use strict";
// Both samples where the reader moves them, with their likelihoods and weights.

const samplesPanel = (() => {
  const shape = svg.shapes;
  const num = numbers.plain;

  const say = {
    q: (m, now, j) => `base weight ${num(m.base[j])}, weight ${num(now.mu[j])}`,
    p: (m, now, i) => `weight ${num(m.w[i])}`,
  };

  const where = (m, x) =>
    m.state.space === "plane" ? `x = ${num(x[0], 2)}, y = ${num(x[1], 2)}` : `x = ${num(x[0], 2)}`;

  // y with its index, which has no letter of its own for q
  function observed(c, side, x, y) {
    c.put("observed", `${side}t`, "text", { class: `name of-${side} halo`, x, y }, "y");
    c.put("observed", `${side}i`, "text", { class: `name index of-${side} halo`, x: x + 7.5, y: y + 4 }, side);
  }

  function onLine(c, m, now) {
    const s = m.state;
    const pad = 18;
    const sx = svg.scale([-3.1, 3.1], [pad, c.width - pad]);
    const lane = (c.height - 84) / 2;
    const base = { p: 8 + lane, q: c.height - 42 };
    const tall = lane - 24;
    const most = Math.max(...m.w, ...m.base, ...now.mu, 0.3);
    const height = (w) => (w / most) * tall;
    for (let v = -3; v <= 3; v++) {
      c.put("grid", `v${v}`, "line", { class: "grid", x1: sx(v), x2: sx(v), y1: 8, y2: base.q });
      c.put(
        "grid",
        `t${v}`,
        "text",
        { class: "tick", x: sx(v), y: c.height - 4, "text-anchor": "middle" },
        numbers.tick(v, 1),
      );
    }
    const xs = Array.from({ length: 121 }, (_, i) => -3.1 + (6.2 * i) / 120);
    for (const side of ["p", "q"]) {
      if (side === "p" && s.hand) continue;
      const [y, t] = side === "p" ? [s.yp, s.tp] : [s.yq, s.tq];
      const curve = xs.map((x) => [sx(x), base[side] - tall * Math.exp(-0.5 * t * (x - y[0]) ** 2)]);
      c.put("back", `area-${side}`, "path", {
        class: `likelihood of-${side}`,
        d: `${svg.path(curve)}L${sx(3.1)} ${base[side]}L${sx(-3.1)} ${base[side]}Z`,
      });
      c.put("back", `curve-${side}`, "path", { class: `likelihood-line of-${side}`, d: svg.path(curve) });
      c.put("back", `axis-${side}`, "line", {
        class: "rule",
        x1: sx(-3.1),
        x2: sx(3.1),
        y1: base[side],
        y2: base[side],
      });
    }
    // the two means, which the dual makes agree
    const [b, mean] = [m.b[0], now.mean[0] + m.b[0]];
    const means = { b: sx(Math.max(-3.1, Math.min(3.1, b))), mean: sx(mean) };
    if (s.hand) c.put("back", "axis-p", "line", { class: "rule", x1: sx(-3.1), x2: sx(3.1), y1: base.p, y2: base.p });
    c.put("means", "drop", "line", { class: "drop", x1: means.b, x2: means.b, y1: base.p + 14, y2: base.q });
    m.base.forEach((w, j) => {
      const x = sx(s.q[j][0]);
      c.put("bars", `base${j}`, "rect", {
        class: "bar-base",
        x: x - 6,
        y: base.q - height(w),
        width: 12,
        height: height(w),
      });
      c.put("bars", `mu${j}`, "rect", {
        class: "bar-mu",
        x: x - 3,
        y: base.q - height(now.mu[j]),
        width: 6,
        height: height(now.mu[j]),
      });
    });
    if (!s.hand) {
      m.w.forEach((w, i) => {
        const x = sx(s.p[i][0]);
        c.put("bars", `w${i}`, "rect", {
          class: "bar-p",
          x: x - 3,
          y: base.p - height(w),
          width: 6,
          height: height(w),
        });
        c.put("marks", `p${i}`, "path", { class: "mark of-p", d: shape.triangle(x, base.p, 7) });
      });
    }
    s.q.forEach((x, j) =>
      c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(x[0]), base.q, 6) }),
    );
    c.put("means", "b", "path", { class: "mark of-b", d: shape.diamond(means.b, base.p + 17, 6) });
    c.put("means", "bt", "text", { class: "name of-b halo", x: means.b + 11, y: base.p + 22 }, "b");
    c.put("means", "m", "path", { class: "mark of-moment", d: shape.square(means.mean, base.q + 15, 5) });
    c.put("means", "mt", "text", { class: "name of-moment halo", x: means.mean + 10, y: base.q + 20 }, "F′μ");
    c.put(
      "means",
      "pl",
      "text",
      { class: "lane halo", x: pad, y: 15 },
      s.hand ? "p sample: target set by hand" : "p sample, weights w",
    );
    c.put("means", "ql", "text", { class: "lane halo", x: pad, y: base.p + 40 }, "q sample, weights μ");
    for (const side of ["p", "q"]) {
      const [y, t] = side === "p" ? [s.yp, s.tp] : [s.yq, s.tq];
      if (t === 0 || (side === "p" && s.hand)) continue;
      const top = base[side] - tall;
      c.put("observed", side, "line", {
        class: `observation of-${side}`,
        x1: sx(y[0]),
        x2: sx(y[0]),
        y1: top,
        y2: base[side],
      });
      c.put("observed", `${side}x`, "path", { class: `cross of-${side}`, d: shape.cross(sx(y[0]), top, 4.5) });
      observed(c, side, sx(y[0]) + 9, top + 4);
      frame.handle(c, `y${side}`, 0, sx(y[0]), top, { label: `observation y ${side}`, now: y[0], text: where(m, y) });
    }
    const put = (kind, list, y) =>
      list.forEach((x, j) =>
        frame.handle(c, kind, j, sx(x[0]), y, {
          label: `${kind} point ${j + 1}`,
          now: x[0],
          text: `${where(m, x)}, ${say[kind](m, now, j)}`,
        }),
      );
    if (!s.hand) put("p", s.p, base.p);
    put("q", s.q, base.q);
    c.toWorld = (px, py) => ({ x: [sx.back(px), 0], kind: py < base.p + 12 ? "p" : "q" });
  }

  function inPlane(c, m, now) {
    const s = m.state;
    const { sx, sy, box } = frame.axes(c, { x: [-3.2, 3.2], y: [-2.2, 2.2], left: 28, right: 8, top: 8, bottom: 22 });
    frame.clip(c, "back", box, "samples");
    const unit = (box.right - box.left) / 6.4;
    const unitY = (box.bottom - box.top) / 4.4;
    for (const side of ["p", "q"]) {
      const [y, t] = side === "p" ? [s.yp, s.tp] : [s.yq, s.tq];
      if (t === 0 || (side === "p" && s.hand)) continue;
      [1, 2].forEach((k) =>
        c.put("back", `${side}${k}`, "ellipse", {
          class: `likelihood of-${side} ring${k}`,
          cx: sx(y[0]),
          cy: sy(y[1]),
          rx: (k * unit) / Math.sqrt(t),
          ry: (k * unitY) / Math.sqrt(t),
        }),
      );
    }
    const most = Math.max(...m.w, ...m.base, ...now.mu);
    const radius = (w) => 17 * Math.sqrt(w / most);
    s.q.forEach((x, j) => {
      c.put("bars", `base${j}`, "circle", {
        class: "bar-base",
        cx: sx(x[0]),
        cy: sy(x[1]),
        r: Math.max(radius(m.base[j]), 1),
      });
      c.put("bars", `mu${j}`, "circle", {
        class: "disc-mu",
        cx: sx(x[0]),
        cy: sy(x[1]),
        r: Math.max(radius(now.mu[j]), 0.5),
      });
      c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(x[0]), sy(x[1]), 4) });
    });
    if (!s.hand) {
      s.p.forEach((x, i) => {
        c.put("bars", `w${i}`, "path", {
          class: "disc-p",
          d: shape.triangle(sx(x[0]), sy(x[1]), Math.max(0.95 * radius(m.w[i]), 1)),
        });
        c.put("marks", `p${i}`, "path", { class: "mark of-p", d: shape.triangle(sx(x[0]), sy(x[1]), 5) });
      });
    }
    const mean = linear.add(now.mean, m.b);
    c.put("means", "drop", "line", { class: "drop", x1: sx(m.b[0]), x2: sx(mean[0]), y1: sy(m.b[1]), y2: sy(mean[1]) });
    c.put("means", "m", "path", { class: "ring of-moment", d: shape.square(sx(mean[0]), sy(mean[1]), 9) });
    c.put("means", "b", "path", { class: "mark of-b", d: shape.diamond(sx(m.b[0]), sy(m.b[1]), 5.5) });
    for (const side of ["p", "q"]) {
      const [y, t] = side === "p" ? [s.yp, s.tp] : [s.yq, s.tq];
      if (t === 0 || (side === "p" && s.hand)) continue;
      c.put("observed", `${side}x`, "path", { class: `cross of-${side}`, d: shape.cross(sx(y[0]), sy(y[1]), 5) });
      observed(c, side, sx(y[0]) + 9, sy(y[1]) - 6);
      frame.handle(c, `y${side}`, 0, sx(y[0]), sy(y[1]), {
        label: `observation y ${side}`,
        now: y[0],
        text: where(m, y),
      });
    }
    const put = (kind) =>
      s[kind].forEach((x, j) =>
        frame.handle(c, kind, j, sx(x[0]), sy(x[1]), {
          label: `${kind} point ${j + 1}`,
          now: x[0],
          text: `${where(m, x)}, ${say[kind](m, now, j)}`,
        }),
      );
    if (!s.hand) put("p");
    put("q");
    c.toWorld = (px, py) => ({ x: [sx.back(px), sy.back(py)], kind: "q" });
  }

  function draw(c, m, now) {
    const plane = m.state.space === "plane";
    for (const name of ["grid", "back", "bars", "marks", "means", "observed", "handles"]) c.group(name);
    if (plane) inPlane(c, m, now);
    else {
      c.group("back", { "clip-path": null });
      onLine(c, m, now);
    }
    const legend = [
      [["circle", "mark of-q"], "q point"],
      [[plane ? "circle" : "bar", "bar-base"], "base weight e<sup>a</sup>"],
      [[plane ? "circle" : "bar", plane ? "disc-mu" : "bar-mu"], "weight μ"],
    ];
    if (!m.state.hand)
      legend.unshift([["triangle", "mark of-p"], plane ? "p point, size = weight w" : "p point, bar = weight w"]);
    if (m.state.tp > 0 || m.state.tq > 0)
      legend.push([
        [plane ? "circle" : "dash", plane ? "likelihood-key" : "likelihood-key"],
        plane ? "likelihood, 1 and 2 sd" : "likelihood",
      ]);
    return {
      legend,
      label: `Both samples: ${m.state.q.length} q points and ${m.state.p.length} p points, to be moved`,
    };
  }

  return new frame.Panel("samples", draw, (m) => m.state.space === "plane");
})();
