"use strict";
// The ratio r(x) for δ: a curve on the line, level lines of log r in the plane.

const ratioPanel = (() => {
  const shape = svg.shapes;

  function onPlainScale(c, s, top) {
    const xLabel = model.names(s)[0];
    const { sx, sy, box } = frame.axes(c, { x: model.across(s), y: [0, top], xLabel, yLabel: "r(x)" });
    return { sx, box, height: (r) => sy(Math.min(r, 10 * top)) };
  }

  // powers of ten, for a ratio too steep for a linear scale
  function onLogScale(c, s, end, at) {
    const logs = s.q.map((x) => Math.log10(at(x[0], end))).filter(Number.isFinite);
    const [low, high] = [Math.floor(Math.min(...logs, 0)) - 1, Math.ceil(Math.max(...logs, 0)) + 1];
    const each = Math.max(1, Math.ceil((high - low) / 5));
    const powers = [];
    for (let e = Math.ceil(low / each) * each; e <= high; e += each) powers.push(e);
    const yTicks = { values: powers, labels: powers.map((e) => `10${numbers.power(e)}`) };
    const { sx, sy, box } = frame.axes(c, {
      x: model.across(s),
      y: [low, high],
      xLabel: model.names(s)[0],
      yLabel: "r(x), log scale",
      yTicks,
    });
    return { sx, box, height: (r) => sy(Math.max(Math.log10(Math.max(r, 1e-300)), low - 50)) };
  }

  function onLine(c, m, now) {
    const s = m.state;
    const at = (x, point) => model.ratio(m, point, [x]);
    const atPoints = s.q.map((x) => at(x[0], now));
    const end = m.run.unbounded ? now : m.best.path.at(-1);
    const most = Math.max(...s.q.map((x) => at(x[0], end)), s.hi ?? 0, 1.2);
    const { sx, box, height } = most > 60 ? onLogScale(c, s, end, at) : onPlainScale(c, s, svg.roundUp(1.15 * most));
    frame.clip(c, "curve", box, "ratio");
    const [left, right] = sx.domain;
    const xs = Array.from({ length: 141 }, (_, i) => left + ((right - left) * i) / 140);
    const line = (point) => svg.path(xs.map((x) => [sx(x), height(at(x, point))]));
    for (const [name, bound] of Object.entries({ lo: m.problem.link.lo, hi: m.problem.link.hi })) {
      if (bound === 0 || !Number.isFinite(bound)) continue;
      const y = height(bound);
      c.put("curve", name, "line", { class: "bound", x1: box.left, x2: box.right, y1: y, y2: y });
    }
    c.put("curve", "one", "line", { class: "zero", x1: box.left, x2: box.right, y1: height(1), y2: height(1) });
    if (m.best.status === "optimal" && task.solved)
      c.put("curve", "best", "path", { class: "ratio-best", d: line(m.best.path.at(-1)) });
    c.put("curve", "ratio", "path", { class: "ratio-line", d: line(now) });
    s.q.forEach((x, j) => {
      const y = height(atPoints[j]);
      if (y > box.top - 5 && y < box.bottom + 5)
        c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(x[0]), y, 4.5) });
    });
    const legend = [
      [["line", "ratio-line"], "r(x) of the current δ"],
      [["circle", "mark of-q"], "μ / e<sup>a</sup> at the q points"],
    ];
    if (m.problem.link.bounded) legend.push([["dash", "bound"], "bounds"]);
    if (m.best.status === "optimal" && task.solved && now.time < m.steps)
      legend.push([["dash", "ratio-best"], "r(x) of the optimum"]);
    return legend;
  }

  // the part of a polygon where ⟨n, x⟩ ≥ level
  function cut(polygon, n, level) {
    const height = (p) => n[0] * p[0] + n[1] * p[1] - level;
    return polygon.flatMap((p, i) => {
      const q = polygon[(i + 1) % polygon.length];
      const [hp, hq] = [height(p), height(q)];
      const kept = hp >= 0 ? [p] : [];
      if (hp >= 0 !== hq >= 0) kept.push(linear.add(p, linear.add(q, p, -1), hp / (hp - hq)));
      return kept;
    });
  }

  // the range of s = c + ⟨δ,x⟩ in which the ratio changes
  function slopes({ link }) {
    const bound = (t, otherwise) => (t > 0 && Number.isFinite(t) ? link.slope(t) : otherwise);
    const least = link.name === "chi2" ? -1 : -Infinity; // the ratio is zero from there on
    const most = link.name === "reverse-kl" ? 1 : Infinity; // and here it is infinite
    return [bound(link.lo, least), bound(link.hi, most)];
  }

  function inPlane(c, m, now) {
    const { sx, sy, box } = frame.axes(c, frame.map(m.state));
    frame.clip(c, "curve", box, "ratio");
    const [x, y] = [sx.domain, sy.domain];
    const corners = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]]; // prettier-ignore
    const [least, most] = slopes(m.problem);
    const all = corners.map((x) => model.slope(m, now, x));
    const [low, high] = [Math.max(Math.min(...all), least), Math.min(Math.max(...all), most)];
    const step =
      high - low > 1e-6 ? svg.ticks(low, high, Math.max(4, Math.round((box.right - box.left) / 56))).step : 1;
    const from = Math.floor(low / step + 1e-9);
    const to = Math.ceil(high / step - 1e-9);
    const screen = (polygon) => `${svg.path(polygon.map((x) => [sx(x[0]), sy(x[1])]))}Z`;
    const strongest = Math.max(Math.abs(low), Math.abs(high), m.problem.link.exponential ? 1 : 0.25);
    // s at the origin, so that s(x) = origin + ⟨δ,x⟩
    const origin = model.slope(m, now, [0, 0]);
    for (let i = from; i < to; i++) {
      // the outer bands go on to infinity, where the ratio stays at its bound
      const [start, end] = [i === from ? -1e9 : i * step, i === to - 1 ? 1e9 : (i + 1) * step];
      const band = cut(
        cut(corners, now.delta, start - origin),
        linear.scale(now.delta, -1),
        origin - end,
      );
      if (band.length < 3) continue;
      const middle = linear.clamp((i + 0.5) * step, [low, high]);
      c.put("curve", `band${i - from}`, "path", {
        class: middle > 0 ? "band more" : "band less",
        d: screen(band),
        "fill-opacity": Math.min(0.75, 0.06 + (0.65 * Math.abs(middle)) / strongest),
      });
      c.put("curve", `edge${i - from}`, "path", {
        class: i === 0 ? "edge-one" : "edge",
        d: i === from ? "" : edgeOf(now, i * step - origin, sx, sy),
      });
    }
    for (const [name, level] of [["lo", least], ["hi", most]]) {
      if (Number.isFinite(level) && level > Math.min(...all) && level < Math.max(...all))
        c.put("curve", name, "path", { class: "bound", d: edgeOf(now, level - origin, sx, sy) });
    }
    let previous = [-1e9, -1e9];
    for (let i = from + 1; i < to; i++) {
      const at = labelAt(now, i * step - origin, sx, sy);
      const place = at && [sx(at[0]), sy(at[1])];
      if (!at || (Math.abs(place[0] - previous[0]) < 34 && Math.abs(place[1] - previous[1]) < 16)) continue;
      previous = place;
      c.put(
        "text",
        `l${i - from}`,
        "text",
        { class: "tick halo", x: place[0], y: place[1] + 4, "text-anchor": "middle" },
        labelOf(m, i * step, step),
      );
    }
    m.state.q.forEach((x, j) =>
      c.put("marks", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(x[0]), sy(x[1]), 4.5) }),
    );
    if (!m.state.hand)
      m.state.p.forEach((x, i) =>
        c.put("marks", `p${i}`, "path", { class: "mark of-p", d: shape.triangle(sx(x[0]), sy(x[1]), 5) }),
      );
    const legend = [
      [["area", "band more key-band"], "r > 1"],
      [["area", "band less key-band"], "r < 1"],
      [["line", "edge-one"], "r = 1"],
    ];
    if (least > -Infinity || most < Infinity)
      legend.push([["dash", "bound"], m.problem.link.bounded ? "bounds" : least > -Infinity ? "r = 0" : "r = ∞"]);
    return legend;
  }

  // log r for KL without bounds, otherwise r
  const labelOf = (m, s, step) =>
    m.problem.link.exponential ? numbers.tick(s, step) : numbers.plain(m.problem.link.at(s), 2);

  // the straight line ⟨δ,x⟩ = level across the box
  function edgeOf(now, level, sx, sy) {
    const ends = geometry.lineInBox(now.delta, level, { x: sx.domain, y: sy.domain });
    return svg.path(ends.map((x) => [sx(x[0]), sy(x[1])]));
  }

  // position of the label of a level line: where it crosses the line through the middle that is steepest on the screen
  function labelAt(now, level, sx, sy) {
    const scales = [sx, sy].map((f) => ({ middle: (f.domain[0] + f.domain[1]) / 2, half: (f.domain[1] - f.domain[0]) / 2 }));
    const unit = [sx, sy].map((f) => Math.abs(f(1) - f(0)));
    const middle = scales.map((part) => part.middle);
    const up = now.delta.map((d, i) => d / unit[i] ** 2);
    const slope = linear.dot(now.delta, up);
    if (!(slope * unit[0] ** 2 > 1e-12)) return null;
    const x = linear.add(middle, up, (level - linear.dot(now.delta, middle)) / slope);
    return x.every((v, i) => Math.abs(v - middle[i]) < 0.915 * scales[i].half) ? x : null;
  }

  function draw(c, m, now) {
    for (const name of ["grid", "curve", "marks", "text"]) c.group(name);
    const plane = m.state.space === "plane";
    const legend = plane ? inPlane(c, m, now) : onLine(c, m, now);
    const { link } = m.problem;
    const caption = plane
      ? `Level lines of ${link.exponential ? "log r" : "r"} are straight, and δ points uphill.`
      : words.ratio(m);
    return { legend, caption, label: "The ratio r(x) of the current δ" };
  }

  return new frame.Panel("ratio", draw, (m) => m.state.space === "plane" && !m.state.given);
})();
