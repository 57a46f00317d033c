"use strict";
// The hull of the q features, the target b with its ball of radius R, and the path of the moments F'μ.

const hullPanel = (() => {
  const shape = svg.shapes;
  const num = numbers.plain;

  // on the line the vertical axis is δ: the curve shows the mean F'μ(δ), which stays within the hull
  function onLine(c, m, now, reach) {
    const F = m.F.map((f) => f[0]);
    const reached = m.run.hull.points.map((f) => f[0]);
    const [low, high] = [Math.min(...reached), Math.max(...reached)];
    const D = reach;
    const across = model.around(m.state).x;
    const { sx, sy, box } = frame.axes(c, { x: across, y: [-D, D], xLabel: m.state.given ? `F′μ (${model.names(m.state)[0]})` : "F′μ", yLabel: "δ" });
    frame.clip(c, "back", box, "hull");
    frame.clip(c, "curve", box, "hull-curve");
    c.put("back", "hull", "rect", {
      class: "hull",
      x: sx(low),
      y: box.top,
      width: Math.max(sx(high) - sx(low), 1),
      height: box.bottom - box.top,
    });
    const b = m.b[0];
    if (m.problem.R > 0) {
      c.put("back", "ball", "rect", {
        class: "ball",
        x: sx(b - m.problem.R),
        y: box.top,
        width: sx(b + m.problem.R) - sx(b - m.problem.R),
        height: box.bottom - box.top,
      });
    }
    c.put("back", "b", "line", { class: "b-line", x1: sx(b), x2: sx(b), y1: box.top, y2: box.bottom });
    const curve = Array.from({ length: 101 }, (_, i) => {
      const delta = -D + (2 * D * i) / 100;
      return [sx(tilt.at(m.problem, [delta], false).mean[0] + b), sy(delta)];
    });
    c.put("curve", "moment", "path", { class: "moment-line", d: svg.path(curve) });
    m.run.path.forEach((point, i) => {
      if (i > now.time) return;
      c.put("curve", `it${i}`, "circle", {
        class: "iterate",
        cx: sx(point.mean[0] + b),
        cy: sy(point.delta[0]),
        r: 2.5,
      });
    });
    const mean = sx(now.mean[0] + b);
    c.put("curve", "fall", "line", { class: "drop", x1: mean, x2: mean, y1: sy(now.delta[0]), y2: box.bottom });
    c.put("curve", "at", "path", { class: "mark of-moment", d: shape.square(mean, sy(now.delta[0]), 6) });
    F.forEach((f, j) =>
      c.put("points", `q${j}`, "line", {
        class: "hull-tick",
        x1: sx(f),
        x2: sx(f),
        y1: box.bottom - 9,
        y2: box.bottom,
      }),
    );
    c.put("points", "span", "line", { class: "hull-span", x1: sx(low), x2: sx(high), y1: box.bottom, y2: box.bottom });
    separating(c, m, sx, sy, box);
    const at = sx(linear.clamp(b, across));
    c.put("marks", "b", "path", { class: "mark of-b", d: shape.diamond(at, box.bottom, 7) });
    c.put("marks", "bt", "text", { class: "name of-b halo", x: at + 10, y: box.bottom - 10 }, "b");
    handleOf(c, m, at, box.bottom);
    c.toWorld = (px) => ({ x: [sx.back(px)] });
    c.pixels = (x) => [sx(x[0]), 0];
  }

  function separating(c, m, sx, sy, box) {
    const { hull } = m.run;
    if (hull.position !== "outside") return;
    const end = hull.point;
    if (m.k === 1) {
      const y = box.top + 0.36 * (box.bottom - box.top);
      c.put("marks", "far", "line", { class: "distance", x1: sx(end[0]), x2: sx(m.b[0]), y1: y, y2: y });
      c.put("marks", "edge", "line", {
        class: "separator",
        x1: sx(end[0]),
        x2: sx(end[0]),
        y1: box.top,
        y2: box.bottom,
      });
      return;
    }
    // the line ⟨v, x⟩ = max⟨v, F⟩, through the nearest point
    const v = hull.direction;
    const top = Math.max(...hull.points.map((f) => linear.dot(v, f)));
    const ends = geometry.lineInBox(v, top, { x: sx.domain, y: sy.domain }).map((x) => [sx(x[0]), sy(x[1])]);
    c.put("back", "edge", "path", { class: "separator", d: svg.path(ends) });
    c.put("back", "far", "line", { class: "distance", x1: sx(end[0]), y1: sy(end[1]), x2: sx(m.b[0]), y2: sy(m.b[1]) });
  }

  function ballPath(m, sx, sy) {
    const R = m.problem.R;
    const round = Array.from({ length: 72 }, (_, i) => [Math.cos((i * Math.PI) / 36), Math.sin((i * Math.PI) / 36)]);
    const corners = m.problem.norm === "2" ? round : norms.corners[m.problem.norm];
    return `${svg.path(corners.map(([u, v]) => [sx(m.b[0] + R * u), sy(m.b[1] + R * v)]))}Z`;
  }

  function inPlane(c, m, now) {
    const s = m.state;
    const labelled = s.given || s.space === "curve";
    const { sx, sy, box } = frame.axes(c, {
      ...model.view(s),
      left: s.given ? 46 : 28,
      right: 8,
      bottom: labelled ? 36 : 22,
      yLabel: labelled ? model.names(s)[1] : "",
      xLabel: labelled ? model.names(s)[0] : "",
    });
    for (const group of ["back", "curve", "points"]) frame.clip(c, group, box, "hull-plane");
    if (s.space === "curve") {
      const curve = Array.from({ length: 61 }, (_, i) => [-3.2 + (6.4 * i) / 60]).map(([x]) => [sx(x), sy(x * x)]);
      c.put("back", "parabola", "path", { class: "parabola", d: svg.path(curve) });
    }
    const { hull } = m.run;
    const place = (f) => [sx(f[0]), sy(f[1])];
    const outline = hull.hull.map((j) => place(hull.points[j]));
    if (m.problem.link.bounded) {
      const all = m.outer.map((j) => place(m.F[j]));
      c.put("back", "outer", "path", { class: "outer", d: `${svg.path(all)}Z` });
    }
    c.put("back", "hull", "path", { class: "hull outline", d: `${svg.path(outline)}Z` });
    if (m.problem.R > 0) c.put("back", "ball", "path", { class: "ball", d: ballPath(m, sx, sy) });
    separating(c, m, sx, sy, box);
    const past = m.run.path.filter((_, i) => i <= now.time).map((point) => linear.add(point.mean, m.b));
    const mean = linear.add(now.mean, m.b);
    c.put("curve", "path", "path", {
      class: "moment-line",
      d: svg.path([...past, mean].map((z) => [sx(z[0]), sy(z[1])])),
    });
    past.forEach((z, i) =>
      c.put("curve", `it${i}`, "circle", { class: "iterate", cx: sx(z[0]), cy: sy(z[1]), r: 2.5 }),
    );
    m.F.forEach((f, j) =>
      c.put("points", `q${j}`, "path", { class: "mark of-q", d: shape.circle(sx(f[0]), sy(f[1]), 4.5) }),
    );
    c.put("marks", "at", "path", { class: "ring of-moment", d: shape.square(sx(mean[0]), sy(mean[1]), 9) });
    const at = [
      Math.max(box.left, Math.min(box.right, sx(m.b[0]))),
      Math.max(box.top, Math.min(box.bottom, sy(m.b[1]))),
    ];
    c.put("marks", "b", "path", { class: "mark of-b", d: shape.diamond(at[0], at[1], 5.5) });
    c.put(
      "marks",
      "bt",
      "text",
      {
        class: "name of-b halo",
        x: at[0] > box.right - 26 ? at[0] - 18 : at[0] + 10,
        y: Math.max(at[1] - 7, box.top + 12),
      },
      "b",
    );
    if (s.space === "plane") s.q.forEach((x, j) => frame.handle(c, "q", j, sx(x[0]), sy(x[1]), { tab: false }));
    handleOf(c, m, at[0], at[1]);
    c.toWorld = (px, py) => ({ x: [sx.back(px), sy.back(py)] });
    c.pixels = (x) => [sx(x[0]), sy(x[1])];
  }

  function handleOf(c, m, x, y) {
    const way = m.state.hand ? "set by hand" : "moves the p sample";
    const { position, radius } = m.run.hull;
    const text = `${numbers.vector(m.b, model.digits(m.state))}, ${position === "outside" ? `${num(radius)} outside the hull` : position === "boundary" ? "on the boundary of the hull" : "inside the hull"}`;
    frame.handle(c, "b", 0, x, y, {
      label: `target b, ${way}`,
      now: model.tidy(m.state, m.b[0], "x", 100),
      text,
      range: model.view(m.state).x,
    });
  }

  function draw(c, m, now) {
    for (const name of ["grid", "back", "curve", "points", "marks", "handles"]) c.group(name);
    if (m.k === 1) onLine(c, m, now, views.line(m));
    else inPlane(c, m, now);
    const { hull } = m.run;
    const legend = [
      [["area", "hull"], m.problem.link.bounded ? "reachable within the bounds" : "hull of the q features"],
      [["diamond", "mark of-b"], "target b"],
      [
        ["square", m.k === 1 ? "mark of-moment" : "ring of-moment"],
        m.k === 1 ? "F′μ(δ), the mean for each δ" : "F′μ and its path",
      ],
    ];
    if (m.problem.R > 0)
      legend.push([
        ["area", "ball"],
        m.k === 1 ? "ball of radius R" : `ball of radius R, norm ${norms.names[m.problem.norm]}`,
      ]);
    if (m.problem.link.bounded && m.k === 2) legend.push([["dash", "outer"], "hull of the q features"]);
    if (hull.position === "outside") legend.push([["dash", "separator"], `separates b from the ${words.region(m)}`]);
    const region = words.region(m);
    const caption =
      hull.position === "outside"
        ? `b is <b>${num(hull.radius)}</b> from the ${region}: the minimal radius.`
        : hull.position === "boundary"
          ? `b is on the <b>boundary</b> of the ${region}.`
          : `b is <b>inside</b> the ${region}.`;
    return {
      legend,
      caption,
      label: `Hull of the q features. The target is ${hull.position === "outside" ? `${num(hull.radius)} outside` : hull.position === "boundary" ? "on the boundary" : "inside"}`,
    };
  }

  return new frame.Panel("hull", draw, (m) => m.state.space === "plane" && !m.state.given);
})();
