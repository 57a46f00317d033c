"use strict";
// Axis ranges that cover the whole run, in round numbers, so that they stay fixed during playback.

const views = (() => {
  const ends = (m) => (m.best.status === "optimal" ? [m.best] : []);

  // a change of log r by little over one across the box of a problem that is given
  const least = (m, i) => {
    const range = model.box(m.state)["xy"[i]];
    return 2 / (range[1] - range[0]);
  };

  // half the width of the δ axis on the line
  function line(m) {
    const far = Math.max(...[...m.run.path, ...ends(m)].map((point) => Math.abs(point.delta[0])), m.state.given ? least(m, 0) : 0.75);
    return svg.roundUp(1.2 * far);
  }

  // half widths of the δ plane, with the same unit in both directions
  function plane(m, width, height) {
    const far = (i) => Math.max(...[...m.run.path, ...ends(m)].map((point) => Math.abs(point.delta[i])));
    if (m.state.given) return [0, 1].map((i) => svg.roundUp(1.25 * Math.max(far(i), least(m, i))));
    const tall = svg.roundUp(1.25 * Math.max(far(1), (far(0) * height) / width, 0.6));
    return [(tall * width) / height, tall];
  }

  return { line, plane };
})();
