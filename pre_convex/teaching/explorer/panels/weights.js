"use strict";
// The dual variables: a weight μ for every q point, next to its base weight.

const weightsPanel = (() => {
  function draw(c, m, now) {
    for (const name of ["grid", "bars", "text"]) c.group(name);
    const n = m.base.length;
    const order = m.base.map((_, j) => j).sort((i, j) => m.state.q[i][0] - m.state.q[j][0]);
    const most = Math.max(...m.base, ...m.run.path.map((point) => Math.max(...point.mu)));
    const { sy, box } = frame.axes(c, {
      x: [0, n],
      y: [0, Math.min(1, svg.roundUp(1.04 * most))],
      xTicks: { values: [], labels: [] },
      yLabel: "weight",
      xLabel: m.state.space === "plane" ? "q points, from left to right" : "q points, in the order of x",
    });
    const slot = (box.right - box.left) / n;
    const wide = Math.min(slot * 0.36, 18);
    c.columns = { n, left: box.left, slot, order };
    const lifted = now.proof.mu && now.proof.gap > 1e-7 ? now.proof.mu : null;
    order.forEach((j, i) => {
      const x = box.left + (i + 0.5) * slot;
      const chosen = store.selected && store.selected.kind === "q" && store.selected.index === j;
      if (chosen)
        c.put("grid", "chosen", "rect", {
          class: "chosen-slot",
          x: x - slot / 2,
          y: box.top,
          width: slot,
          height: box.bottom - box.top,
        });
      // among many points the outline of a bar would hide the bar
      const top = sy(m.base[j]);
      const thin = { class: "bar-base", x1: x - wide, x2: x + wide, y1: top, y2: top };
      const outline = { class: "bar-base", x: x - wide, y: top, width: wide, height: box.bottom - top };
      if (slot < 8) c.put("text", `base${j}`, "line", thin);
      else c.put("bars", `base${j}`, "rect", outline);
      c.put("bars", `mu${j}`, "rect", {
        class: "bar-mu",
        x,
        y: sy(now.mu[j]),
        width: wide,
        height: box.bottom - sy(now.mu[j]),
      });
      // ticks at the bounds of this weight
      for (const [part, ratio] of [["lo", m.problem.link.lo], ["hi", m.problem.link.hi]]) {
        const y = sy(ratio * m.base[j]);
        if (ratio > 0 && y > box.top)
          c.put("bars", `${part}${j}`, "line", { class: "bound", x1: x - wide - 2, x2: x + wide + 2, y1: y, y2: y });
      }
      if (lifted) {
        // a light outline, so that the tick stands out on a bar
        for (const [part, more] of [
          ["lift-back", 1.5],
          ["lifted", 0],
        ]) {
          const y = sy(lifted[j]);
          c.put("bars", `${part}${j}`, "line", {
            class: part,
            x1: x - 1 - more,
            x2: x + wide + 1 + more,
            y1: y,
            y2: y,
          });
        }
      }
      if (i % Math.ceil((n > 99 ? 24 : 17) / slot) === 0)
        c.put(
          "text",
          `n${j}`,
          "text",
          { class: "tick", x, y: box.bottom + 14, "text-anchor": "middle" },
          String(j + 1),
        );
    });
    const legend = [
      [["bar", "bar-base"], "base weight e<sup>a</sup>"],
      [["bar", "bar-mu"], "μ(δ) of the current δ"],
    ];
    if (m.problem.link.bounded) legend.push([["dash", "bound"], "bounds on the weight"]);
    if (lifted) legend.push([["tick", "lifted"], "feasible weights (dual value)"]);
    const size = tilt.effectiveSize(now.mu);
    const caption =
      m.run.status === "infeasible" && task.tells(now)
      ? "<b>No weights</b> satisfy the constraint: the dual is infeasible."
      : `Effective sample size <b>${numbers.plain(size, 1)}</b> of ${n} points.`;
    return { legend, caption, label: `Weights of ${n} q points; effective size ${numbers.plain(size, 1)}` };
  }

  const panel = new frame.Panel("weights", draw);
  // a click on a bar selects its point
  panel.canvas.node.addEventListener("click", (event) => {
    const { n, left, slot, order } = panel.canvas.columns;
    const i = Math.floor((event.clientX - panel.canvas.node.getBoundingClientRect().left - left) / slot);
    if (i >= 0 && i < n) store.select("q", order[i]);
  });
  return panel;
})();
