"use strict";
// [LINK] of the whole family: from δ to the best intercept c, the weights and the value of [P] at (c, δ).

const linked = (() => {
  const { dot, add } = linear;
  const EPSILON = 2 ** -52;

  // the c at which the weights π t(c + z) sum to one, by Newton within a bracket: t(0) = 1, so c is between −max z and −min z
  function intercept(p, z, guess) {
    const { pi, link } = p;
    const n = z.length;
    let [low, high] = [-Math.max(...z), -Math.min(...z)];
    let c = linear.clamp(guess, [low, high]);
    let [best, smallest, before] = [c, Infinity, Infinity];
    for (let tries = 0; tries < 200; tries++) {
      let excess = -1;
      let slope = 0;
      for (let j = 0; j < n; j++) {
        excess += pi[j] * link.at(c + z[j]);
        slope += pi[j] * link.rise(c + z[j]);
      }
      if (Math.abs(excess) < smallest) [best, smallest] = [c, Math.abs(excess)];
      if (Math.abs(excess) <= 4 * EPSILON) break;
      if (excess < 0) low = c;
      else high = c; // also if the sum is infinite
      // halve the bracket where Newton leaves it or gains too little
      const next = c - excess / slope;
      const slow = Math.abs(excess) > 0.25 * before;
      c = !slow && next > low && next < high ? next : 0.5 * (low + high);
      before = Math.abs(excess);
      if (!(c > low && c < high)) break; // neighbouring numbers
    }
    return best;
  }

  // value of [P], weights, their curvature κ, and the moments that the solver needs
  function at(p, delta, covariance = true) {
    const z = p.G.map((g) => dot(g, delta));
    const c = intercept(p, z, -Math.max(...z) / 2 - Math.min(...z) / 2);
    const s = z.map((x) => c + x);
    const ratios = s.map(p.link.at);
    const mu = ratios.map((x, j) => p.pi[j] * x);
    const terms = s.map((x, j) => p.pi[j] * p.link.psi(x));
    const loss = terms.reduce((sum, x) => sum + x, -c);
    const size = terms.reduce((sum, x) => sum + Math.abs(x), Math.abs(c));
    const mean = p.b.map((_, i) => mu.reduce((sum, w, j) => sum + w * p.G[j][i], 0));
    const penalty = p.R ? p.R * norms.dual(p.norm, delta) : 0;
    const found = { delta, loss, penalty, value: loss + penalty, mu, mean, s, ratios, size, intercept: c };
    if (covariance) {
      found.kappa = s.map((x, j) => p.pi[j] * p.link.rise(x));
      Object.assign(found, spread(p, found.kappa, mean));
    }
    return found;
  }

  // mean and covariance of F − b under weights that need not sum to one
  function spread(p, weights, otherwise) {
    const k = p.b.length;
    const total = weights.reduce((s, w) => s + w, 0);
    const centre =
      total > 0 ? p.b.map((_, i) => weights.reduce((s, w, j) => s + (w / total) * p.G[j][i], 0)) : otherwise;
    const H = Array.from({ length: k }, () => Array(k).fill(0));
    p.G.forEach((g, j) => {
      const x = add(g, centre, -1);
      for (let r = 0; r < k; r++) for (let s = 0; s < k; s++) H[r][s] += weights[j] * x[r] * x[s];
    });
    return { centre, H };
  }

  // the value alone; plots ask for neighbouring δ, so the last c is a good guess
  let last = 0;
  function value(p, delta) {
    const z = p.G.map((g) => dot(g, delta));
    last = intercept(p, z, Number.isFinite(last) ? last : 0);
    let total = -last;
    for (let j = 0; j < z.length; j++) total += p.pi[j] * p.link.psi(last + z[j]);
    return total + (p.R ? p.R * norms.dual(p.norm, delta) : 0);
  }

  // D(μ) = −Σ π φ(μ/π)
  const dualValue = (p, mu) => -mu.reduce((s, w, j) => s + (p.pi[j] > 0 ? p.pi[j] * p.link.phi(w / p.pi[j]) : 0), 0);

  return { at, value, spread, dualValue };
})();
