"use strict";
// The norm of the moment constraint, its dual norm on δ, and the projection onto its ball; k is 1 or 2.

const norms = (() => {
  const abs = (v) => v.map(Math.abs);
  const sum = (v) => v.reduce((s, x) => s + x, 0);
  const sizes = {
    2: (v) => Math.hypot(...v),
    inf: (v) => Math.max(...abs(v)),
    1: (v) => sum(abs(v)),
  };
  const dualOf = { 2: "2", inf: "1", 1: "inf" };
  const names = { 2: "2", inf: "∞", 1: "1" };

  const size = (order, v) => sizes[order](v);
  const dual = (order, v) => sizes[dualOf[order]](v);

  function project(order, v, radius) {
    if (size(order, v) <= radius) return v.slice();
    if (radius <= 0) return v.map(() => 0);
    if (order === "2") return v.map((x) => (x * radius) / size("2", v));
    if (order === "inf") return v.map((x) => Math.max(-radius, Math.min(radius, x)));
    const sorted = abs(v).sort((x, y) => y - x);
    let level = sorted[0];
    for (let i = 0, total = 0; i < sorted.length; i++) {
      total += sorted[i];
      const excess = (total - radius) / (i + 1);
      if (sorted[i] > excess) level = excess;
    }
    return v.map((x) => Math.sign(x) * Math.max(Math.abs(x) - level, 0));
  }

  // corners of the unit ball, counter-clockwise; the ball of norm 2 is a circle and has none
  const corners = {
    inf: [
      [1, 1],
      [-1, 1],
      [-1, -1],
      [1, -1],
    ],
    1: [
      [1, 0],
      [0, 1],
      [-1, 0],
      [0, -1],
    ],
  };

  return { size, dual, project, dualOf, names, corners };
})();
