"use strict";
// Vectors and symmetric matrices in one or two dimensions.

const linear = (() => {
  const dot = (u, v) => u.reduce((s, x, i) => s + x * v[i], 0);
  const add = (u, v, t = 1) => u.map((x, i) => x + t * v[i]);
  const scale = (u, t) => u.map((x) => x * t);
  const times = (H, v) => H.map((row) => dot(row, v));

  // eigenvalues, largest first, and unit eigenvectors
  function eigen(H) {
    if (H.length === 1) return { values: [H[0][0]], vectors: [[1]] };
    const [[p, q], [, s]] = H;
    const mid = (p + s) / 2;
    const half = Math.hypot((p - s) / 2, q);
    const large = mid + half;
    // the product of the eigenvalues gives the small one without cancellation
    const small = large > 0 ? Math.max((p * s - q * q) / large, 0) : 0;
    const angle = 0.5 * Math.atan2(2 * q, p - s);
    const u = [Math.cos(angle), Math.sin(angle)];
    return { values: [large, small], vectors: [u, [-u[1], u[0]]] };
  }

  // H⁺ v; eigenvalues below `cut` times the largest count as zero
  function solve(H, v, cut = 1e-15) {
    const { values, vectors } = eigen(H);
    let x = v.map(() => 0);
    values.forEach((value, i) => {
      if (value > cut * values[0] && value > 0) x = add(x, vectors[i], dot(vectors[i], v) / value);
    });
    return x;
  }

  const clamp = (x, [low, high]) => Math.max(low, Math.min(high, x));

  return { dot, add, scale, times, eigen, solve, clamp };
})();
