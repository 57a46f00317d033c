"use strict";
// The primal objective ℓ_R(δ): a curve on the line, level lines in the plane, with the iterates.

const primalPanel = (() => {
  const shape = svg.shapes;
  const num = numbers.plain;
  let cache = { problem: null };

  function onLine(c, m, now) {
    const D = views.line(m);
    const runs = m.run.unbounded;
    const value = (delta) => tilt.value(m.problem, [delta]);
    const deltas = Array.from({ length: 181 }, (_, i) => -D + (2 * D * i) / 180);
    const heights = deltas.map(value);
    const low = runs ? Math.min(...heights) : m.best.value;
    const h = Math.max(-low, 0.2);
    const { sx, sy, box } = frame.axes(c, { x: [-D, D], y: [low - 0.4 * h, 0.7 * h], xLabel: "δ", yLabel: "ℓ(δ)" });
    frame.clip(c, "curve", box, "primal");
    if (m.problem.R > 0) {
      const bare = deltas.map((d, i) => [sx(d), sy(heights[i] - m.problem.R * Math.abs(d))]);
      c.put("curve", "bare", "path", { class: "bare", d: svg.path(bare) });
    }
    c.put("curve", "value", "path", { class: "objective", d: svg.path(deltas.map((d, i) => [sx(d), sy(heights[i])])) });
    const past = m.run.path.filter((_, i) => i <= now.time);
    past.forEach((point, i) =>
      c.put("curve", `it${i}`, "circle", {
        class: "iterate of-delta",
        cx: sx(point.delta[0]),
        cy: sy(point.value),
        r: 3,
      }),
    );
    const at = [sx(now.delta[0]), sy(now.value)];
    if (!runs) {
      const dual = now.proof.dual;
      const seen = Math.max(dual, low - 0.4 * h);
      c.put("curve", "dual", "line", { class: "dual-line", x1: box.left, x2: box.right, y1: sy(seen), y2: sy(seen) });
      c.put("curve", "gap", "line", { class: "gap-line", x1: at[0], x2: at[0], y1: at[1], y2: sy(seen) });
      if (m.best.status === "optimal" && task.solved)
        c.put("curve", "best", "path", { class: "best", d: shape.star(sx(m.best.delta[0]), sy(m.best.value), 12) });
      const left = m.best.delta[0] > now.delta[0] && at[0] - box.left > 80;
      if (sy(seen) - at[1] > 16) {
        c.put(
          "text",
          "gap",
          "text",
          {
            class: "name of-gap halo",
            x: at[0] + (left ? -9 : 9),
            y: (at[1] + sy(seen)) / 2 + 4,
            "text-anchor": left ? "end" : "start",
          },
          `gap ${numbers.gap(now.proof.gap)}`,
        );
      }
    } else {
      const side = Math.sign(m.run.delta[0]);
      const edge = side > 0 ? box.right - 8 : box.left + 8;
      const y = box.bottom - 14;
      c.put(
        "text",
        "away",
        "text",
        { class: "name of-delta halo", x: edge - side * 22, y: y + 4, "text-anchor": side > 0 ? "end" : "start" },
        "ℓ → −∞",
      );
      c.put("text", "arrow", "path", {
        class: "away",
        d: `M${edge - side * 16} ${y}H${edge}${frame.arrowHead(edge, y, side, 0)}`,
      });
    }
    c.put("marks", "now", "path", { class: "mark of-delta", d: shape.circle(at[0], Math.min(at[1], box.bottom), 5.5) });
  }

  // level lines change with the problem, not with the iterate, so they are cached
  function levelLines(c, m, sx, sy, Dx, Dy, bottom) {
    const key = `${c.width}x${c.height}`;
    if (cache.problem === m.problem && cache.key === key) return cache.found;
    // many points take time
    const [columns, rows] = m.base.length > 60 ? [33, 23] : [65, 45];
    const dx = Array.from({ length: columns }, (_, i) => -Dx + (2 * Dx * i) / (columns - 1));
    const dy = Array.from({ length: rows }, (_, i) => -Dy + (2 * Dy * i) / (rows - 1));
    const values = dy.map((v) => dx.map((u) => tilt.value(m.problem, [u, v])));
    const flat = values.flat();
    const high = Math.max(...flat);
    const low = bottom ? m.best.value : Math.min(...flat);
    const levels = Array.from({ length: 12 }, (_, i) =>
      bottom ? low + (high - low) * ((i + 0.5) / 12) ** 2.4 : low + ((high - low) * (i + 0.5)) / 12,
    );
    const found = { levels, lines: contours.lines(values, dx.map(sx), dy.map(sy), levels) };
    cache = { problem: m.problem, key, found };
    return found;
  }

  function inPlane(c, m, now) {
    const margins = { left: 46, right: 12, top: 24, bottom: 36 };
    const [w, h] = [c.width - margins.left - margins.right, c.height - margins.top - margins.bottom];
    const named = m.state.given || m.state.space === "curve";
    const [Dx, Dy] = views.plane(m, w, h);
    const { sx, sy, box } = frame.axes(c, {
      x: [-Dx, Dx],
      y: [-Dy, Dy],
      xLabel: named ? `δ₁ (of ${model.names(m.state)[0]})` : "δ₁",
      yLabel: named ? `δ₂ (of ${model.names(m.state)[1]})` : "δ₂",
      ...margins,
    });
    frame.clip(c, "curve", box, "primal");
    const runs = m.run.unbounded;
    const found = levelLines(c, m, sx, sy, Dx, Dy, !runs);
    found.lines.forEach((d, i) =>
      c.put("curve", `level${i}`, "path", { class: "level", d, "stroke-opacity": 0.95 - 0.06 * i }),
    );
    c.put("curve", "zx", "line", { class: "zero", x1: box.left, x2: box.right, y1: sy(0), y2: sy(0) });
    c.put("curve", "zy", "line", { class: "zero", x1: sx(0), x2: sx(0), y1: box.top, y2: box.bottom });
    if ((runs || m.run.status === "boundary") && task.tells(now)) {
      const v = linear.scale(m.run.hull.direction, (3 * Math.hypot(Dx, Dy)) / Math.hypot(...m.run.hull.direction));
      c.put("curve", "v", "line", { class: "separator", x1: sx(0), y1: sy(0), x2: sx(v[0]), y2: sy(v[1]) });
    } else if (task.solved)
      c.put("curve", "best", "path", { class: "best", d: shape.star(sx(m.best.delta[0]), sy(m.best.delta[1]), 12) });
    const past = m.run.path.filter((_, i) => i <= now.time);
    const trail = [...past.map((point) => point.delta), now.delta].map((d) => [sx(d[0]), sy(d[1])]);
    c.put("curve", "trail", "path", { class: "trail", d: svg.path(trail) });
    past.forEach((point, i) =>
      c.put("curve", `it${i}`, "circle", {
        class: "iterate of-delta",
        cx: sx(point.delta[0]),
        cy: sy(point.delta[1]),
        r: 3,
      }),
    );
    const [x, y] = trail.at(-1);
    if (Math.hypot(x - sx(0), y - sy(0)) > 12) {
      c.put("curve", "arrow", "path", { class: "arrow", d: `M${sx(0)} ${sy(0)}L${x} ${y}` });
    }
    c.put("marks", "now", "path", { class: "mark of-delta", d: shape.circle(x, y, 5.5) });
  }

  function draw(c, m, now) {
    for (const name of ["grid", "curve", "text", "marks"]) c.group(name);
    if (m.k === 1) onLine(c, m, now);
    else inPlane(c, m, now);
    const runs = m.run.unbounded;
    const legend = [
      [["circle", "mark of-delta"], "current δ"],
      [["dot", "iterate of-delta"], "iterates"],
    ];
    if (!runs && m.run.status !== "boundary" && task.solved) legend.push([["star", "best"], "optimum"]);
    if (m.k === 1) {
      if (!runs) legend.push([["dash", "dual-line"], "dual value, a lower bound"], [["line", "gap-line"], "gap"]);
      if (m.problem.R > 0) legend.push([["dots", "bare"], "without R‖δ‖"]);
    } else {
      legend.push([["line", "level"], "level lines of ℓ"]);
      if ((runs || m.run.status === "boundary") && task.tells(now))
        legend.push([["dash", "separator"], runs ? "separating direction v" : "supporting direction v"]);
    }
    const caption = runs && task.tells(now)
      ? `ℓ decreases without bound ${m.k === 1 ? words.away(m) : "along v"}: <b>no minimum</b>. Now ${num(now.value)}.`
      : m.run.status === "boundary" && task.tells(now)
        ? "ℓ approaches its limit and <b>never reaches it</b>: δ diverges."
        : `ℓ = <b>${num(now.value, 4)}</b> at δ = ${numbers.vector(now.delta)}.`;
    return { legend, caption, label: `Primal objective, ${num(now.value)} at δ = ${numbers.vector(now.delta)}` };
  }

  return new frame.Panel("primal", draw);
})();
