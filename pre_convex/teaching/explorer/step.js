"use strict";
// [STEP]: minimiser of −⟨c,x⟩ + ½x'Hx + R‖x‖_* in one or two dimensions, which is a Newton step for c = Hδ − γ.

const step = (() => {
  const { dot, add, times, eigen, solve } = linear;

  const sphere = (H, c, R) => {
    // (H + R/‖x‖) x = c: the length of x is where Σ (c_i / (λ_i s + R))² = 1
    if (norms.size("2", c) <= R) return c.map(() => 0);
    const { values, vectors } = eigen(H);
    const parts = vectors.map((v) => dot(v, c));
    const excess = (s) => parts.reduce((t, x, i) => t + (x / (values[i] * s + R)) ** 2, 0) - 1;
    let high = 1;
    while (excess(high) > 0 && high < 1e15) high *= 2;
    let low = 0;
    for (let i = 0; i < 200 && high - low > 1e-16 * high; i++) {
      const mid = (low + high) / 2;
      if (excess(mid) > 0) low = mid;
      else high = mid;
    }
    const s = (low + high) / 2;
    return vectors.reduce(
      (x, v, i) => add(x, v, (s * parts[i]) / (values[i] * s + R)),
      c.map(() => 0),
    );
  };

  // facets and corners of the dual ball for norms ∞ and 1: x = Σ z_i basis_i has ‖x‖_* = ⟨weight, z⟩ where `holds`
  function facets(order) {
    const found = [];
    const signs = [1, -1];
    if (order === "inf") {
      for (const s of signs) {
        found.push({ basis: [[s, 0]], weight: [1], holds: (z) => z[0] >= 0 });
        found.push({ basis: [[0, s]], weight: [1], holds: (z) => z[0] >= 0 });
        for (const t of signs)
          found.push({
            basis: [
              [s, 0],
              [0, t],
            ],
            weight: [1, 1],
            holds: (z) => z[0] >= 0 && z[1] >= 0,
          });
      }
    } else {
      for (const s of signs) {
        found.push({
          basis: [
            [s, 0],
            [0, 1],
          ],
          weight: [1, 0],
          holds: (z) => z[0] >= Math.abs(z[1]),
        });
        found.push({
          basis: [
            [0, s],
            [1, 0],
          ],
          weight: [1, 0],
          holds: (z) => z[0] >= Math.abs(z[1]),
        });
        for (const t of signs) found.push({ basis: [[s, t]], weight: [1], holds: (z) => z[0] >= 0 });
      }
    }
    return found;
  }

  function polyhedron(H, c, R, order) {
    const objective = (x) => 0.5 * dot(x, times(H, x)) - dot(c, x) + R * norms.dual(order, x);
    let best = c.map(() => 0);
    let low = 0;
    for (const { basis, weight, holds } of facets(order)) {
      const inner = basis.map((u) => basis.map((v) => dot(u, times(H, v))));
      const pull = basis.map((u, i) => dot(u, c) - R * weight[i]);
      const z = solve(inner, pull);
      if (!holds(z)) continue;
      const x = basis.reduce(
        (s, u, i) => add(s, u, z[i]),
        c.map(() => 0),
      );
      const value = objective(x);
      if (value < low) [best, low] = [x, value];
    }
    return best;
  }

  function minimise(H, c, R, order) {
    if (!R) return solve(H, c);
    if (c.length === 1) {
      const over = Math.max(Math.abs(c[0]) - R, 0);
      return [over > 0 ? (Math.sign(c[0]) * over) / H[0][0] : 0];
    }
    return order === "2" ? sphere(H, c, R) : polyhedron(H, c, R, order);
  }

  return { minimise };
})();
