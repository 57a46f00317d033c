"use strict";
// Primal and dual values along the run, and their gap on a log scale.

const gapPanel = (() => {
  const shape = svg.shapes;
  const FLOOR = -17;
  // with more steps than this only the last one is marked
  const MANY = 40;
  const marked = (steps) => (steps.length > MANY ? steps.slice(-1) : steps);

  function values(c, m, now, area, xAxis) {
    const { path } = m.run;
    const runs = m.run.unbounded;
    const primal = path.map((point) => point.value);
    const dual = path.map((point) => point.proof.dual);
    const span = Math.max(...primal) - Math.min(...primal) || 0.1;
    // the first lower bounds may be far below and are cut off
    const low = runs ? Math.min(...primal) : Math.max(Math.min(...dual), Math.min(...primal) - 2 * span);
    const { sx, sy, box } = frame.axes(c, {
      ...xAxis,
      y: [low - 0.12 * span, Math.max(...primal) + 0.12 * span],
      area,
      name: "v",
      yLabel: "values",
    });
    frame.clip(c, "values", box, "values");
    const upTo = path.map((_, i) => i).filter((i) => i <= now.time);
    const line = (list) => svg.path(upTo.map((i) => [sx(i), sy(list[i])]));
    if (!runs) {
      const lower = upTo.map((i) => [sx(i), sy(Math.max(dual[i], low - span))]);
      const upper = upTo.map((i) => [sx(i), sy(primal[i])]).reverse();
      c.put("values", "between", "path", { class: "between", d: `${svg.path([...lower, ...upper])}Z` });
      c.put("values", "dual", "path", { class: "dual-line", d: svg.path(lower) });
      marked(upTo).forEach((i) =>
        c.put("values", `d${i}`, "path", { class: "mark of-q", d: shape.triangle(...lower[i], 3.4) }),
      );
    }
    c.put("values", "primal", "path", { class: "primal-line", d: line(primal) });
    marked(upTo).forEach((i) =>
      c.put("values", `p${i}`, "circle", { class: "mark of-delta", cx: sx(i), cy: sy(primal[i]), r: 3 }),
    );
    if (runs && task.tells(now)) {
      // the primal falls from left to right, so this corner is free
      const at = { class: "name of-q", x: box.left + 8, y: box.bottom - 8 };
      c.put("text", "none", "text", at, words.noDual(m));
    }
    return sx;
  }

  function draw(c, m, now) {
    for (const name of ["vgrid", "ggrid", "values", "gaps", "text"]) c.group(name);
    const { path } = m.run;
    const runs = m.run.unbounded;
    const last = Math.max(m.steps, 1);
    const [left, right, split] = [46, c.width - 14, Math.round(0.47 * c.height)];
    const steps = svg.ticks(0, last, Math.min(last, 8));
    const whole = { values: steps.values.filter((v) => Number.isInteger(v)), step: 1 };
    const empty = { values: whole.values, labels: whole.values.map(() => "") };
    const x = [-0.3, last + 0.3];
    const sx = values(c, m, now, { left, right, top: 22, bottom: split - 12 }, { x, xTicks: empty });
    const gaps = path.map((point) => point.proof.gap);
    const log = (g) => Math.log10(Math.max(g, 10 ** FLOOR));
    const finite = gaps.filter(Number.isFinite).map(log);
    const top = finite.length ? Math.max(1, Math.ceil(Math.max(...finite))) : 1;
    const bottom = finite.length ? Math.min(Math.floor(Math.min(...finite)), top - 3) : -16;
    const each = Math.max(1, Math.ceil((top - bottom) / 4));
    const powers = [];
    for (let e = Math.ceil(bottom / each) * each; e <= top; e += each) powers.push(e);
    const { sy, box } = frame.axes(c, {
      x,
      y: [bottom, top],
      area: { left, right, top: split + 10, bottom: c.height - 36 },
      name: "g",
      xTicks: { values: whole.values, step: 1 },
      yTicks: { values: powers, labels: powers.map((e) => `10${numbers.power(e)}`) },
      xLabel: "step",
      yLabel: "gap",
    });
    frame.clip(c, "gaps", box, "gaps");
    if (!runs) {
      const seen = path.map((_, i) => i).filter((i) => i <= now.time && Number.isFinite(gaps[i]));
      c.put("gaps", "line", "path", { class: "gap-line", d: svg.path(seen.map((i) => [sx(i), sy(log(gaps[i]))])) });
      marked(seen).forEach((i) =>
        c.put("gaps", `g${i}`, "path", { class: "mark of-gap", d: shape.diamond(sx(i), sy(log(gaps[i])), 3.6) }),
      );
      const limit = Math.log10(solver.TOLERANCE * (1 + Math.abs(m.run.value)));
      if (limit > bottom)
        c.put("gaps", "proven", "line", { class: "proven", x1: box.left, x2: box.right, y1: sy(limit), y2: sy(limit) });
    } else if (task.tells(now)) {
      c.put(
        "text",
        "nogap",
        "text",
        {
          class: "name of-gap halo",
          x: (box.left + box.right) / 2,
          y: (box.top + box.bottom) / 2,
          "text-anchor": "middle",
        },
        "no lower bound, no gap",
      );
    }
    c.put("values", "now", "line", { class: "cursor", x1: sx(now.time), x2: sx(now.time), y1: 0, y2: c.height });
    c.put("gaps", "now", "line", { class: "cursor", x1: sx(now.time), x2: sx(now.time), y1: 0, y2: c.height });
    const legend = runs
      ? [[["line", "primal-line"], "primal value"]]
      : [
          [["line", "primal-line"], "primal value"],
          [["dash", "dual-line"], "dual value"],
          [["line", "gap-line"], "gap"],
          [["dots", "proven"], "proven to 10⁻⁸"],
        ];
    const caption = !task.tells(now)
      ? "Both values appear here step by step."
      : runs
      ? m.run.status === "infeasible"
        ? "The primal is unbounded, and the dual has <b>no feasible point</b>."
        : "Both values fall <b>without bound</b>: there is no gap to close."
      : `Gap <b>${numbers.gap(now.proof.gap)}</b>: no δ has a value lower by more than that.`;
    return {
      legend,
      caption,
      label: runs
        ? `No gap, ${words.noDual(m)}`
        : `Gap ${numbers.gap(now.proof.gap)} at step ${Math.round(now.time)} of ${m.steps}`,
    };
  }

  return new frame.Panel("gap", draw);
})();
