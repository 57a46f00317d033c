"use strict";
// Level lines of a function on a grid, by marching squares.

const contours = (() => {
  // values[row][column] at xs and ys; returns one path per level
  function lines(values, xs, ys, levels) {
    return levels.map((level) => {
      const parts = [];
      const cut = (a, b, u, v) => u + ((level - a) / (b - a)) * (v - u);
      for (let r = 0; r + 1 < ys.length; r++) {
        for (let s = 0; s + 1 < xs.length; s++) {
          const [a, b, d, c] = [values[r][s], values[r][s + 1], values[r + 1][s], values[r + 1][s + 1]];
          const hits = [];
          if (a < level !== b < level) hits.push([cut(a, b, xs[s], xs[s + 1]), ys[r]]);
          if (b < level !== c < level) hits.push([xs[s + 1], cut(b, c, ys[r], ys[r + 1])]);
          if (d < level !== c < level) hits.push([cut(d, c, xs[s], xs[s + 1]), ys[r + 1]]);
          if (a < level !== d < level) hits.push([xs[s], cut(a, d, ys[r], ys[r + 1])]);
          for (let i = 0; i + 1 < hits.length; i += 2) {
            parts.push(
              `M${hits[i][0].toFixed(1)} ${hits[i][1].toFixed(1)}L${hits[i + 1][0].toFixed(1)} ${hits[i + 1][1].toFixed(1)}`,
            );
          }
        }
      }
      return parts.join("");
    });
  }

  return { lines };
})();
