"use strict";
// Divergences φ of the family, as in the package: φ(1) = φ'(1) = 0, φ''(1) = 1, t = μ/π is the ratio of one point.

const divergences = (() => {
  // t ((1 + u) log(1 + u) − u) and so on: increase(t, d) = φ(t + d) − φ(t) − φ'(t) d without cancellation, u = d/t
  const series = (u, third, fourth, fifth) => u * u * (0.5 + u * (third + u * (fourth + u * fifth)));
  const SMALL = 1e-3;

  const kl = {
    phi: (t) => (t > 0 ? t * Math.log(t) : 0) - t + 1,
    slope: (t) => Math.log(t),
    ratio: (s) => Math.exp(s),
    second: (t) => 1 / t,
    conjugate: (s) => Math.expm1(s),
    increase: (t, d) => {
      if (d === 0) return 0;
      const u = d / t;
      if (Math.abs(u) < SMALL) return t * series(u, -1 / 6, 1 / 12, -1 / 20);
      return Number.isFinite(u) ? t * ((u > -1 ? (1 + u) * Math.log1p(u) : 0) - u) : Infinity;
    },
  };
  const chi2 = {
    phi: (t) => 0.5 * (t - 1) ** 2,
    slope: (t) => t - 1,
    ratio: (s) => 1 + s,
    second: () => 1,
    conjugate: (s) => s * (1 + 0.5 * s),
    increase: (_, d) => 0.5 * d * d,
  };
  const reverse = {
    phi: (t) => (t > 0 ? -Math.log(t) + t - 1 : Infinity),
    slope: (t) => 1 - 1 / t,
    ratio: (s) => (s < 1 ? 1 / (1 - s) : Infinity),
    second: (t) => 1 / (t * t),
    conjugate: (s) => (s < 1 ? -Math.log1p(-s) : Infinity),
    increase: (t, d) => {
      if (d === 0) return 0;
      const u = d / t;
      if (Math.abs(u) < SMALL) return series(u, -1 / 3, 1 / 4, -1 / 5);
      return u > -1 && Number.isFinite(u) ? u - Math.log1p(u) : Infinity;
    },
  };
  const all = { kl, chi2, "reverse-kl": reverse };
  const names = { kl: "KL", chi2: "χ²", "reverse-kl": "reverse KL" };

  // [LINK] of a divergence with bounds lo ≤ t ≤ hi on the ratio
  function link(name = "kl", lo = 0, hi = Infinity) {
    const f = all[name];
    const clip = (t) => Math.max(lo, Math.min(hi, t));
    return {
      ...f,
      name,
      lo,
      hi,
      bounded: lo > 0 || hi < Infinity,
      // KL without bounds: the normaliser has a closed form
      exponential: name === "kl" && lo === 0 && hi === Infinity,
      clip,
      at: (s) => clip(f.ratio(s)),
      // derivative of the ratio, zero on the bounds
      rise: (s) => {
        const t = f.ratio(s);
        return t > lo && t < hi ? 1 / f.second(t) : 0;
      },
      // ψ(s) = sup over lo ≤ t ≤ hi of s t − φ(t)
      psi: (s) => {
        const t = f.ratio(s);
        const near = clip(t);
        return near !== t && Number.isFinite(near) ? s * near - f.phi(near) : f.conjugate(s);
      },
      // Fenchel–Young gap ψ(s) + φ(t + d) − s (t + d), where t is the ratio at s
      gap: (s, t, d) => {
        const atBound = t <= lo || t >= hi;
        return f.increase(t, d) + (atBound && d !== 0 ? Math.max((f.slope(t) - s) * d, 0) : 0);
      },
      // how far a ratio may move without leaving its bounds
      room: (t) => Math.max(Math.min(1 / f.second(t), t - lo, hi - t), 0),
    };
  }

  return { link, names };
})();
