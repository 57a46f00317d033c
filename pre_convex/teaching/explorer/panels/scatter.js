"use strict";
// The samples in the plane: areas show weights, dashed circles likelihoods.

const scatter = (() => {
  const shape = svg.shapes;

  function draw(c, m, now) {
    const s = m.state;
    const { sx, sy, box } = frame.axes(c, frame.map(s));
    frame.clip(c, "back", box, "samples");
    const unit = (box.right - box.left) / 6.4;
    const sides = s.given ? [] : [
      ["p", s.yp, s.tp],
      ["q", s.yq, s.tq],
    ].filter(([side, , t]) => t > 0 && !(side === "p" && s.hand));
    for (const [side, y, precision] of sides) {
      for (const k of [1, 2]) {
        const circle = { cx: sx(y[0]), cy: sy(y[1]), r: (k * unit) / Math.sqrt(precision) };
        c.put("back", `${side}${k}`, "circle", { class: `likelihood of-${side}`, ...circle });
      }
    }
    const most = Math.max(...m.w, ...m.base, ...now.mu);
    const largest = 17 / Math.max(1, Math.sqrt(s.q.length / 24));
    const radius = (w) => largest * Math.sqrt(w / most);
    s.q.forEach((x, j) => {
      const [cx, cy] = [sx(x[0]), sy(x[1])];
      c.put("bars", `base${j}`, "circle", { class: "bar-base", cx, cy, r: Math.max(radius(m.base[j]), 1) });
      c.put("bars", `mu${j}`, "circle", { class: "disc-mu", cx, cy, r: Math.max(radius(now.mu[j]), 0.5) });
      c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(cx, cy, 4) });
    });
    if (!s.hand) {
      s.p.forEach((x, i) => {
        const [cx, cy] = [sx(x[0]), sy(x[1])];
        const size = Math.max(0.95 * radius(m.w[i]), 1);
        c.put("bars", `w${i}`, "path", { class: "disc-p", d: shape.triangle(cx, cy, size) });
        c.put("marks", `p${i}`, "path", { class: "mark of-p", d: shape.triangle(cx, cy, 5) });
      });
    }
    const [b, mean] = [m.b, linear.add(now.mean, m.b)].map((z) => [sx(z[0]), sy(z[1])]);
    c.put("means", "drop", "line", { class: "drop", x1: b[0], x2: mean[0], y1: b[1], y2: mean[1] });
    c.put("means", "m", "path", { class: "ring of-moment", d: shape.square(mean[0], mean[1], 9) });
    c.put("means", "b", "path", { class: "mark of-b", d: shape.diamond(b[0], b[1], 5.5) });
    for (const [side, y] of sides) {
      const [px, py] = [sx(y[0]), sy(y[1])];
      marks.observation(c, side, y, px, py, [px + 9, py - 6]);
    }
    if (!s.hand) s.p.forEach((x, i) => marks.handle(c, m, now, "p", i, sx(x[0]), sy(x[1])));
    s.q.forEach((x, j) => marks.handle(c, m, now, "q", j, sx(x[0]), sy(x[1])));
    if (s.hand) frame.handle(c, "b", 0, b[0], b[1], { tab: false });
    c.pixels = (x) => [sx(x[0]), sy(x[1])];
    c.toWorld = (px, py) => ({ x: [sx.back(px), sy.back(py)], kind: "q" });
  }

  return { draw };
})();
