"use strict";
// Certificate for any δ: weights μ' that satisfy the constraint of [D], so their value is a lower bound.
// [FY]: gap = [R‖δ‖_* − ⟨r',δ⟩] + Σ π [ψ(s) + φ(t') − s t'], two nonnegative terms, with r' = b − F'μ' and t' = μ'/π; for KL
// without bounds the second is KL(μ' ‖ μ(δ)).

const certificate = (() => {
  const { dot, add, scale, solve } = linear;
  const EPSILON = 2 ** -52;

  // candidate residuals: the one that the next Newton step predicts, and projections of r + tδ onto the ball; t = 0
  // changes the weights least, a large t aligns the residual with δ
  function residuals(p, now) {
    const r = scale(now.mean, -1);
    if (!p.R) return [r.map(() => 0)];
    const k = r.length;
    const length = norms.size("2", now.delta) || 1;
    const trace = now.H.reduce((s, row, i) => s + row[i], 0) / k;
    const x = step.minimise(now.H, add(linear.times(now.H, now.delta), r), p.R, p.norm);
    const after = add(r, linear.times(now.H, add(x, now.delta, -1)), -1);
    const pulls = [
      now.delta.map(() => 0),
      scale(now.delta, trace),
      now.delta.map((x, i) => x * now.H[i][i]),
      scale(now.delta, (1e8 * p.R) / length),
    ];
    const aims = pulls.map((pull) => inside(p, norms.project(p.norm, add(r, pull), p.R)));
    return after.every(Number.isFinite) ? [inside(p, norms.project(p.norm, after, p.R)), ...aims] : aims;
  }

  function inside(p, point) {
    const size = norms.size(p.norm, point);
    return size > p.R ? scale(point, p.R / size) : point;
  }

  // [LIFT]: corrections c with Σ ω c = 0 for which the weights μ + ω c have the moment moved by u; null if there are none
  function correction(p, now, u, { weights, centre, H }) {
    const spread = H.map((row, i) => Math.sqrt(Math.max(row[i], 0)));
    const allowed = u.map((x, i) => 1e-13 * (Math.abs(x) + Math.abs(now.mean[i]) + Math.abs(p.b[i]) + spread[i]));
    const c = weights.map(() => 0);
    // if all points coincide, no correction is possible, and none is needed for round-off
    if (u.every((x, i) => Math.abs(x) <= 0.1 * allowed[i])) return { c, left: u.map(Math.abs) };
    let left = u;
    for (let round = 0; round < 3; round++) {
      const d = solve(H, left);
      const more = p.G.map((g) => dot(add(g, centre, -1), d));
      const total = p.link.exponential ? 1 : weights.reduce((s, w) => s + w, 0) || 1;
      const shift = dot(weights, more) / total;
      more.forEach((x, j) => (c[j] += x - shift));
      left = u.map((x, i) => x - weights.reduce((s, w, j) => s + w * c[j] * (p.G[j][i] - centre[i]), 0));
      const moved = left.every((x, i) => Math.abs(x) <= allowed[i]);
      if (moved && Math.abs(dot(weights, c)) <= 1e-13) return { c, left: left.map(Math.abs) };
    }
    return null;
  }

  // the weightings ω of a lift: the curvature κ, and one that keeps all points between their bounds
  function weightings(p, now) {
    const found = [{ weights: now.kappa, centre: now.centre, H: now.H }];
    if (!p.link.exponential) {
      const weights = now.ratios.map((t, j) => p.pi[j] * p.link.room(t));
      found.push({ weights, ...linked.spread(p, weights, now.mean) });
    }
    return found;
  }

  // Σ π [ψ(s) + φ(t') − s t'] of lifted weights, with every term computed to be nonnegative
  function liftCost(p, now, { weights }, c) {
    const { link } = p;
    return weights.reduce((total, w, j) => {
      if (link.exponential) return c[j] < -1 ? Infinity : total + w * link.increase(1, c[j]);
      if (w === 0) return total;
      const d = (w * c[j]) / p.pi[j];
      const t = now.ratios[j] + d;
      return t < link.lo || t > link.hi ? Infinity : total + p.pi[j] * link.increase(now.ratios[j], d);
    }, 0);
  }

  // Σ π [ψ(s) + φ(t') − s t'] of any weights; for KL without bounds by logarithms, because π may underflow
  function divergence(p, now, mu) {
    if (p.link.exponential) return mu.reduce((s, w, j) => s + (w > 0 ? w * (Math.log(w) - now.logMu[j]) : 0), 0);
    const { lo, hi } = p.link;
    return mu.reduce((s, w, j) => {
      if (p.pi[j] === 0) return w > 0 ? Infinity : s;
      const t = w / p.pi[j];
      if (t < lo * (1 - 1e-12) || t > hi * (1 + 1e-12)) return Infinity;
      return s + p.pi[j] * p.link.gap(now.s[j], now.ratios[j], p.link.clip(t) - now.ratios[j]);
    }, 0);
  }

  // candidate weights on the simplex: their gap, or null if they violate the constraint
  function candidate(p, now, mu) {
    const r = p.b.map((_, i) => -mu.reduce((s, w, j) => s + w * p.G[j][i], 0));
    const over = norms.size(p.norm, r) - p.R;
    const tolerance = 1e-14 * (geometry.extent(p.G) + norms.size("2", p.b));
    if (over > tolerance) return null;
    const slack = now.penalty - dot(r, now.delta) + Math.max(over, 0) * norms.dual(p.norm, now.delta);
    return { mu, cost: Math.max(divergence(p, now, mu), 0) + Math.max(slack, 0) };
  }

  // if no lift is positive: follow the ray from F'μ through the aim to the edge of the hull, and mix in the weights of
  // that point
  function mixture(p, now, hull, aim) {
    const z = scale(aim, -1);
    if (norms.size("2", add(z, now.mean, -1)) <= 1e-15 * geometry.extent(p.G)) return null;
    const out = geometry.leave(hull.shifted, hull.hull, now.mean, z);
    if (!out || out.s < 1 - 1e-9) return null;
    const share = Math.min(1, 1 / out.s);
    return candidate(p, now, add(scale(now.mu, 1 - share), hull.mix(out.weights), share));
  }

  // {gap, dual, mu, by}: the best of lifts, mixtures and already known weights; the gap is infinite if no feasible
  // weights were found. With `lifts` only lifts are tried, as in the package's certify.
  function certify(p, now, hull, lifts = false, known = null) {
    let best = { cost: Infinity, mu: null, by: "none" };
    const keep = (cost, mu, by) => {
      if (cost < best.cost) best = { cost, mu, by };
    };
    const aims = residuals(p, now);
    for (const aim of aims) {
      const slack = Math.max(now.penalty - dot(aim, now.delta), 0);
      for (const weighting of weightings(p, now)) {
        const lifted = correction(p, now, add(scale(now.mean, -1), aim, -1), weighting);
        if (!lifted) continue;
        const total = slack + dot(lifted.left, now.delta.map(Math.abs)) + liftCost(p, now, weighting, lifted.c);
        keep(
          total,
          now.mu.map((w, j) => w + weighting.weights[j] * lifted.c[j]),
          "lift",
        );
      }
    }
    if (!lifts && best.cost > 1e-12) {
      const others = [
        known && candidate(p, now, known),
        candidate(p, now, hull.mix(hull.weights)),
        ...aims.map((aim) => mixture(p, now, hull, aim)),
      ];
      for (const other of others) if (other) keep(other.cost, other.mu, "mixture");
    }
    const size = now.mean.map((m, i) => Math.abs(m) + Math.abs(p.b[i]) + Math.sqrt(Math.max(now.H[i][i], 0)));
    const reach = dot(size, now.delta.map(Math.abs));
    const noise = 4 * EPSILON * (1 + Math.abs(now.loss) + now.size + reach + now.penalty);
    const gap = best.cost + noise;
    return { gap, dual: now.value - gap, mu: best.mu, by: best.by };
  }

  return { certify };
})();
