"use strict";
// The samples on the line: one lane each for p and q, a bar for every weight, and the two means.

const lanes = (() => {
  const shape = svg.shapes;

  // stack the bars of points in the same place, because their weights add up
  function stacked(points, weights) {
    const heights = new Map();
    return points.map((x, j) => {
      const below = heights.get(x[0]) ?? 0;
      heights.set(x[0], below + weights[j]);
      return below;
    });
  }

  function likelihood(c, side, y, precision, { sx, base, tall }) {
    if (precision === 0) return;
    const top = base - tall;
    const [low, high] = sx.domain;
    const curve = Array.from({ length: 121 }, (_, i) => low + ((high - low) * i) / 120).map((x) => [
      sx(x),
      base - tall * Math.exp(-0.5 * precision * (x - y[0]) ** 2),
    ]);
    const area = `${svg.path(curve)}L${sx(high)} ${base}L${sx(low)} ${base}Z`;
    c.put("back", `area-${side}`, "path", { class: `likelihood of-${side}`, d: area });
    c.put("back", `curve-${side}`, "path", { class: `likelihood-line of-${side}`, d: svg.path(curve) });
    const at = sx(y[0]);
    c.put("observed", side, "line", { class: `observation of-${side}`, x1: at, x2: at, y1: top, y2: base });
    marks.observation(c, side, y, at, top, [at + 9, top + 4]);
  }

  function bars(c, name, style, wide, points, weights, { sx, base, height }) {
    const below = stacked(points, weights);
    points.forEach((x, j) => {
      const y = base - height(below[j] + weights[j]);
      const box = { class: style, x: sx(x[0]) - wide / 2, y, width: wide, height: height(weights[j]) };
      c.put("bars", `${name}${j}`, "rect", box);
    });
  }

  // a target set by hand needs only a line instead of a lane
  function heights(c, s) {
    const tall = s.hand ? c.height - 128 : (c.height - 84) / 2 - 24;
    return [{ p: s.hand ? 36 : tall + 32, q: c.height - 42 }, tall];
  }

  function draw(c, m, now) {
    const s = m.state;
    const pad = 18;
    const sx = svg.scale(model.across(s), [pad, c.width - pad]);
    const [left, right] = sx.domain;
    const [base, tall] = heights(c, s);
    const totals = (points, weights) => stacked(points, weights).map((below, j) => below + weights[j]);
    const most = Math.max(...totals(s.p, m.w), ...totals(s.q, m.base), ...totals(s.q, now.mu), 0.3);
    const height = (w) => (w / most) * tall;
    const ticks = svg.ticks(left, right, 6);
    ticks.values.forEach((v, i) => {
      c.put("grid", `v${i}`, "line", { class: "grid", x1: sx(v), x2: sx(v), y1: 20, y2: base.q });
      const at = { class: "tick", x: sx(v), y: c.height - 4, "text-anchor": "middle" };
      c.put("grid", `t${i}`, "text", at, numbers.tick(v, ticks.step));
    });
    for (const side of ["p", "q"]) {
      const y = base[side];
      c.put("back", `axis-${side}`, "line", { class: "rule", x1: sx(left), x2: sx(right), y1: y, y2: y });
    }
    const lane = (side) => ({ sx, base: base[side], tall, height });
    if (!s.hand) {
      likelihood(c, "p", s.yp, s.tp, lane("p"));
      bars(c, "w", "bar-p", 6, s.p, m.w, lane("p"));
      s.p.forEach((x, i) =>
        c.put("marks", `p${i}`, "path", { class: "mark of-p", d: shape.triangle(sx(x[0]), base.p, 7) }),
      );
    }
    likelihood(c, "q", s.yq, s.tq, lane("q"));
    bars(c, "base", "bar-base", 12, s.q, m.base, lane("q"));
    bars(c, "mu", "bar-mu", 6, s.q, now.mu, lane("q"));
    s.q.forEach((x, j) =>
      c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(x[0]), base.q, 6) }),
    );
    means(c, m, now, sx, base);
    c.put(
      "means",
      "pl",
      "text",
      { class: "lane halo", x: pad, y: 13 },
      s.hand ? "target b, set by hand" : "p sample, weights w",
    );
    c.put("means", "ql", "text", { class: "lane halo", x: pad, y: base.p + 40 }, "q sample, weights μ");
    if (!s.hand) s.p.forEach((x, i) => marks.handle(c, m, now, "p", i, sx(x[0]), base.p));
    s.q.forEach((x, j) => marks.handle(c, m, now, "q", j, sx(x[0]), base.q));
    c.toWorld = (px, py) => ({ x: [sx.back(px), 0], kind: py < base.p + 12 ? "p" : "q" });
    c.pixels = (x) => [sx(x[0]), 0];
  }

  // b and F'μ
  function means(c, m, now, sx, base) {
    const b = sx(linear.clamp(m.b[0], sx.domain));
    const mean = sx(now.mean[0] + m.b[0]);
    const at = m.state.hand ? base.p : base.p + 17;
    c.put("means", "drop", "line", { class: "drop", x1: b, x2: b, y1: at, y2: base.q });
    c.put("means", "b", "path", { class: "mark of-b", d: shape.diamond(b, at, 6) });
    const beside = m.state.hand ? { x: b - 4, y: at - 12 } : { x: b + 11, y: at + 5 };
    c.put("means", "bt", "text", { class: "name of-b halo", ...beside }, "b");
    if (m.state.hand && m.k === 1) frame.handle(c, "b", 0, b, at, { tab: false });
    c.put("means", "m", "path", { class: "mark of-moment", d: shape.square(mean, base.q + 15, 5) });
    c.put("means", "mt", "text", { class: "name of-moment halo", x: mean + 10, y: base.q + 20 }, "F′μ");
  }

  return { draw };
})();
