"use strict";
// [LINK]: from δ to weights. A problem is {F, a, b, R, norm, link}: features, log base weights, target, radius, norm, and
// the divergence with its bounds.

const tilt = (() => {
  const { dot, add } = linear;

  function logSumExp(z) {
    const top = Math.max(...z);
    return top + Math.log(z.reduce((s, x) => s + Math.exp(x - top), 0));
  }

  const normalise = (z) => {
    const total = logSumExp(z);
    return z.map((x) => x - total);
  };

  // a problem with features centred at b, so that ⟨b,δ⟩ drops out
  function problem(F, b, logBase, R = 0, norm = "2", link = divergences.link()) {
    const a = normalise(logBase);
    return { F, b, R, norm, a, link, pi: a.map(Math.exp), G: F.map((f) => add(f, b, -1)) };
  }

  // value of [P], weights, and mean and covariance of F − b under them
  function at(p, delta, covariance = true) {
    if (!p.link.exponential) return linked.at(p, delta, covariance);
    const z = p.G.map((g, j) => p.a[j] + dot(g, delta));
    const loss = logSumExp(z);
    const logMu = z.map((x) => x - loss);
    const mu = logMu.map(Math.exp);
    const k = p.b.length;
    const mean = p.b.map((_, i) => mu.reduce((s, w, j) => s + w * p.G[j][i], 0));
    const penalty = p.R ? p.R * norms.dual(p.norm, delta) : 0;
    const found = { delta, loss, penalty, value: loss + penalty, mu, logMu, mean, size: 0, intercept: -loss };
    if (covariance) {
      found.kappa = mu;
      found.centre = mean;
      found.H = Array.from({ length: k }, () => Array(k).fill(0));
      p.G.forEach((g, j) => {
        const c = add(g, mean, -1);
        for (let r = 0; r < k; r++) for (let s = 0; s < k; s++) found.H[r][s] += mu[j] * c[r] * c[s];
      });
    }
    return found;
  }

  // the value alone, without allocating arrays, because plots need thousands of values
  function value(p, delta) {
    if (!p.link.exponential) return linked.value(p, delta);
    const n = p.G.length;
    let top = -Infinity;
    let total = 0;
    for (let j = 0; j < n; j++) {
      let z = p.a[j];
      for (let i = 0; i < delta.length; i++) z += p.G[j][i] * delta[i];
      if (z > top) {
        total = total * Math.exp(top - z) + 1;
        top = z;
      } else total += Math.exp(z - top);
    }
    return top + Math.log(total) + (p.R ? p.R * norms.dual(p.norm, delta) : 0);
  }

  // D(μ) of [D]
  const dualValue = (p, mu) =>
    p.link.exponential
      ? mu.reduce((s, w, j) => s + (w > 0 ? w * (p.a[j] - Math.log(w)) : 0), 0)
      : linked.dualValue(p, mu);

  // the slope s = c + ⟨δ,f⟩ of [RATIO] at features f
  const slope = (p, now, f) => now.intercept + dot(now.delta, add(f, p.b, -1));

  const effectiveSize = (mu) => 1 / mu.reduce((s, w) => s + w * w, 0);

  return { problem, logSumExp, at, value, dualValue, slope, normalise, effectiveSize };
})();
