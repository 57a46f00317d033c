"use strict";
// Damped Newton and, for comparison, gradient descent on [P]; the status comes from the certificate.

const solver = (() => {
  const { dot, add, scale, times } = linear;
  // largest change of the log-weights in one step; other divergences than KL need it only where δ diverges
  const MAX_LOGIT_CHANGE = 8;
  const TOLERANCE = 1e-8;
  // number of steps shown if the problem is infeasible
  const INFEASIBLE_STEPS = { newton: 14, gradient: 40 };

  // the Newton step at δ; damping replaces the curvature that is lost when the weights collapse onto few points
  function newtonStep(p, now, damping) {
    const H = now.H.map((row, i) => row.map((x, j) => x + (i === j ? damping : 0)));
    // with R = 0 solve for the step itself, which is accurate even if it is small
    if (!p.R) return scale(step.minimise(H, now.mean, 0, p.norm), -1);
    const c = add(times(H, now.delta), now.mean, -1);
    return add(step.minimise(H, c, p.R, p.norm), now.delta, -1);
  }

  // halve the step until the value falls enough and its slope does not rise steeply, as it does far past the minimum
  function search(p, now, d, gain, rise) {
    const moves = p.G.map((g) => Math.abs(dot(add(g, now.mean, -1), d)));
    const reach = Math.max(...moves, Math.abs(dot(now.mean, d)), 1e-300);
    const noise = 1e-15 * (1 + Math.abs(now.value) + now.size);
    const first = p.link.name === "kl" || p.diverges ? Math.min(1, MAX_LOGIT_CHANGE / reach) : 1;
    for (let t = first, tries = 0; tries < 60; tries++, t /= 2) {
      const next = tilt.at(p, add(now.delta, d, t));
      const enough = next.value <= now.value - 1e-4 * t * gain + noise;
      if (enough && dot(next.mean, d) + rise <= 0.5 * gain + noise) return { next, t };
    }
    return null;
  }

  function newtonFrom(p, now, spread) {
    for (let damping = 0; damping < 1e4; damping = damping ? damping * 100 : 1e-12) {
      const d = newtonStep(p, now, damping * spread * spread);
      if (!d.every(Number.isFinite)) continue;
      const rise = p.R ? p.R * norms.dual(p.norm, add(now.delta, d)) - now.penalty : 0;
      const gain = -dot(now.mean, d) - rise; // decrease predicted to first order
      // a remaining gradient outside the ball means that a direction was missed, its curvature lost in round-off
      const left = norms.size(p.norm, add(now.mean, times(now.H, d)));
      const blind = left > (1 + 1e-9) * p.R + 1e-9 * norms.size(p.norm, now.mean) + 1e-15 * spread;
      if (!(gain >= 0) || (blind && damping < 1e-8)) continue;
      const moved = search(p, now, d, gain, rise);
      if (moved) return { ...moved, decrement: Math.max(dot(d, times(now.H, d)), gain) };
    }
    return null;
  }

  function newton(p, most) {
    const spread = geometry.extent(p.G) || 1;
    const zero = p.b.map(() => 0);
    let now = tilt.at(p, zero);
    const path = [{ ...now, t: 1 }];
    for (let last = Infinity; path.length <= most;) {
      const moved = newtonFrom(p, now, spread);
      if (!moved || moved.decrement < 1e-28) break;
      // close to the optimum, steps that no longer shrink are round-off
      if (moved.decrement < 1e-10 && moved.decrement > 0.3 * last) break;
      last = moved.decrement;
      now = moved.next;
      path.push({ ...now, t: moved.t });
    }
    return path;
  }

  // steps of length 1/L, where L bounds the curvature for any weights on these points
  function gradient(p, most) {
    const ranges = p.b.map((_, i) => {
      const column = p.G.map((g) => g[i]);
      return Math.max(...column) - Math.min(...column);
    });
    let t = 4 / (dot(ranges, ranges) || 1);
    const zero = p.b.map(() => 0);
    let now = tilt.at(p, zero);
    const path = [{ ...now, t }];
    while (path.length <= most) {
      let next = null;
      let change = 0;
      // the curvature of reverse KL has no bound: halve the step until the value falls as it should
      for (let enough = false; !enough; t = enough ? t : t / 2) {
        const free = add(now.delta, now.mean, -t);
        const delta = p.R ? add(free, norms.project(p.norm, scale(free, 1 / t), p.R), -t) : free;
        const d = add(delta, now.delta, -1);
        change = norms.size("2", d);
        next = tilt.at(p, delta);
        const noise = 1e-14 * (1 + Math.abs(now.loss) + now.size);
        enough = p.link.exponential || next.loss <= now.loss + dot(now.mean, d) + change ** 2 / (2 * t) + noise;
      }
      if (change < 1e-11 * (1 + norms.size("2", next.delta))) break;
      now = next;
      path.push({ ...now, t });
    }
    return path;
  }

  // the problem without directions in which all points agree, and the map back
  function reduced(p) {
    const k = p.b.length;
    const same = { inner: p, back: (delta) => delta };
    if (p.R > 0) return same;
    // all points coincide, up to round-off with b: nothing can move
    if (geometry.extent(p.F) === 0) return { ...same, inner: { ...p, G: p.G.map((g) => g.map(() => 0)) } };
    if (k === 1) return same;
    const n = p.G.length;
    const mean = p.b.map((_, i) => p.G.reduce((s, g) => s + g[i] / n, 0));
    const C = p.b.map((_, r) =>
      p.b.map((_, s) => p.G.reduce((t, g) => t + ((g[r] - mean[r]) * (g[s] - mean[s])) / n, 0)),
    );
    const { values, vectors } = linear.eigen(C);
    if (values[1] > 1e-20 * (values[0] + geometry.extent(p.G) ** 2)) return same;
    const u = vectors[0];
    const inner = { ...p, G: p.G.map((g) => [dot(g, u)]), b: [0] };
    return { inner, back: (delta) => scale(u, delta[0]) };
  }

  // whether b is on the boundary of the hull, or the ball just touches it
  function touches(p, hull) {
    if (p.R === 0) return hull.position === "boundary";
    return hull.lower <= p.R * (1 + 1e-9) && hull.radius >= p.R * (1 - 1e-9);
  }

  // If the ball touches the hull, every feasible μ has the largest possible mean along v: points above some height have
  // their largest weight, those below it their smallest, and `rows` at that height share what is left.
  function share(p, hull) {
    const v = hull.direction;
    const heights = p.G.map((g) => dot(g, v));
    const top = Math.max(...heights);
    const slack = 1e-9 * (top - Math.min(...heights)) + 1e-14 * Math.abs(top);
    const mu = p.pi.map((w) => w * p.link.lo);
    let left = 1 - mu.reduce((s, w) => s + w, 0);
    let below = p.G.map((_, j) => j);
    for (;;) {
      const height = Math.max(...below.map((j) => heights[j]));
      const rows = below.filter((j) => height - heights[j] <= slack);
      below = below.filter((j) => height - heights[j] > slack);
      const most = rows.reduce((s, j) => s + p.pi[j] * (p.link.hi - p.link.lo), 0);
      if (!below.length || most >= left * (1 - 1e-12)) {
        const mass = left + rows.reduce((s, j) => s + mu[j], 0);
        rows.forEach((j) => (mu[j] = 0));
        return { rows, below, mass, mu };
      }
      rows.forEach((j) => (mu[j] = p.pi[j] * p.link.hi));
      left -= most;
    }
  }

  // {mu, attained}: the maximum of [D] if the ball touches the hull, and whether a δ attains it; otherwise δ diverges
  function onFace(p, hull) {
    const v = hull.direction;
    const { rows, below, mass, mu } = share(p, hull);
    const face = v.length === 1 ? null : solve(onLine(p, rows, v, mass, mu));
    const weights = face ? face.mu : tilt.normalise(rows.map((j) => p.a[j])).map(Math.exp);
    // points on their lower bound need a finite slope there
    const finite = !below.length || Number.isFinite(p.link.slope(p.link.lo));
    // at the point where a circle touches the face, δ would have to be normal to it, which happens only at infinity
    const straight = !face || p.norm !== "2" || p.R === 0 || Math.abs(face.delta[0]) <= 1e-9;
    const attained = finite && straight && (!face || face.status !== "boundary");
    rows.forEach((j, i) => (mu[j] = mass * weights[i]));
    return { mu, attained };
  }

  // the face orthogonal to v as a problem on a line, whose ball is the intersection of the line with the ball
  function onLine(p, rows, v, mass, mu) {
    const along = scale([-v[1], v[0]], 1 / Math.hypot(...v));
    const from = p.G[rows[0]];
    const fixed = p.b.map((_, i) => mu.reduce((s, w, j) => s + w * p.G[j][i], 0));
    const start = add(fixed, from, mass);
    let [low, high] = [-Infinity, Infinity];
    if (p.R === 0 || p.norm === "2") low = high = -dot(start, along) / mass;
    else {
      for (const c of norms.corners[norms.dualOf[p.norm]]) {
        const slope = mass * dot(c, along);
        const end = -(p.R + dot(c, start)) / slope;
        if (slope > 1e-9) low = Math.max(low, end);
        if (slope < -1e-9) high = Math.min(high, end);
      }
    }
    const F = rows.map((j) => [dot(add(p.G[j], from, -1), along)]);
    const a = rows.map((j) => p.a[j]);
    // the ratios of the face are those of the problem, in units of the mean ratio on the face
    const unit = mass / rows.reduce((s, j) => s + p.pi[j], 0);
    const { name, lo, hi } = p.link;
    const link = p.link.bounded ? divergences.link(name, Math.min(lo / unit, 1), Math.max(hi / unit, 1)) : p.link;
    const places = geometry.reachable(tilt.problem(F, [0], a, 0, "2", link)).points.map((f) => f[0]);
    // the ball meets the hull of the points; do not let round-off separate them
    const [first, last] = [Math.min(...places), Math.max(...places)];
    [low, high] = [low, high].map((s) => linear.clamp(s, [first, last]));
    const half = (high - low) / 2;
    return tilt.problem(F, [(low + high) / 2], a, half > 1e-9 * p.R ? half : 0, "2", link);
  }

  // {status, hull, path, delta, mu, value, dual, gap}: every point of the path has its own certificate
  function solve(p, method = "newton", most = null) {
    const reach = geometry.reachable(p);
    const hull = { ...geometry.distance(reach.points, p.b, p.norm), ...reach };
    const infeasible = hull.lower > p.R * (1 + 1e-9);
    // there the solution of the dual is known beforehand
    const face = touches(p, hull) ? onFace(p, hull) : null;
    // weights of zero have an infinite price in reverse KL
    const unbounded = infeasible || (face !== null && tilt.dualValue(p, face.mu) === -Infinity);
    const limit = most ?? (unbounded ? INFEASIBLE_STEPS[method] : method === "newton" ? 100 : 150);
    const { inner, back } = infeasible ? { inner: { ...p, diverges: true }, back: null } : reduced(p);
    const run = (method === "newton" ? newton : gradient)(inner, limit);
    let best = face && face.mu; // the bound from these weights holds for every later δ too
    const path = run.map((point) => {
      const now = !back || inner === p ? point : { ...tilt.at(p, back(point.delta)), t: point.t };
      const proof = unbounded ? none() : certificate.certify(p, now, hull, false, best);
      best = proof.mu ?? best;
      return { ...now, proof };
    });
    const last = path.at(-1);
    const found = { hull, path, delta: last.delta, value: last.value, unbounded };
    if (infeasible) return { ...found, status: "infeasible", mu: last.mu, dual: -Infinity, gap: Infinity };
    if (face && !face.attained) {
      const dual = tilt.dualValue(p, face.mu);
      return { ...found, status: "boundary", mu: face.mu, dual, gap: last.value - dual };
    }
    const { dual, gap } = last.proof;
    return { ...found, status: proven(gap, last.value) ? "optimal" : "inaccurate", mu: last.mu, dual, gap };
  }

  const proven = (gap, value) => gap <= TOLERANCE * (1 + Math.abs(value));
  const none = () => ({ gap: Infinity, dual: -Infinity, mu: null, by: "none" });

  return { solve, proven, TOLERANCE };
})();
