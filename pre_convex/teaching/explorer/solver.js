"use strict";
// Damped Newton and, for comparison, gradient descent on [P]; the status comes from the certificate.

const solver = (() => {
  const { dot, add, scale, times } = linear;
  // largest change of the log-weights in one step
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
    const noise = 1e-15 * (1 + Math.abs(now.value));
    for (let t = Math.min(1, MAX_LOGIT_CHANGE / reach), tries = 0; tries < 40; tries++, t /= 2) {
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
    const t = 4 / (dot(ranges, ranges) || 1);
    const zero = p.b.map(() => 0);
    let now = tilt.at(p, zero);
    const path = [{ ...now, t }];
    while (path.length <= most) {
      const free = add(now.delta, now.mean, -t);
      const delta = p.R ? add(free, norms.project(p.norm, scale(free, 1 / t), p.R), -t) : free;
      const change = norms.size("2", add(delta, now.delta, -1));
      if (change < 1e-11 * (1 + norms.size("2", delta))) break;
      now = tilt.at(p, delta);
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

  // If the ball touches the hull, all feasible weights are on the points that are highest along v. {mu, attained}: the
  // maximum of [D] on them, and whether a δ attains it; if there are other points, δ diverges.
  function onFace(p, hull) {
    const v = hull.direction;
    const heights = p.G.map((g) => dot(g, v));
    const top = Math.max(...heights);
    const slack = 1e-9 * (top - Math.min(...heights)) + 1e-14 * Math.abs(top);
    const rows = p.G.map((_, j) => j).filter((j) => top - heights[j] <= slack);
    const all = rows.length === p.G.length;
    const face = v.length === 1 ? null : solve(onLine(p, rows, v));
    const weights = face ? face.mu : tilt.normalise(rows.map((j) => p.a[j])).map(Math.exp);
    // at the point where a circle touches the face, δ would have to be normal to it, which happens only at infinity
    const straight = !face || p.norm !== "2" || Math.abs(face.delta[0]) <= 1e-9;
    const attained = all && straight && (!face || face.status !== "boundary");
    const pairs = rows.map((j, i) => [j, weights[i]]);
    return { mu: geometry.spread(p.G.length, pairs), attained };
  }

  // the face orthogonal to v as a problem on a line, whose ball is the intersection of the line with the ball
  function onLine(p, rows, v) {
    const along = scale([-v[1], v[0]], 1 / Math.hypot(...v));
    const from = p.G[rows[0]];
    let [low, high] = [-Infinity, Infinity];
    if (p.R === 0 || p.norm === "2") low = high = -dot(from, along);
    else {
      for (const c of norms.corners[norms.dualOf[p.norm]]) {
        const slope = dot(c, along);
        const end = -(p.R + dot(c, from)) / slope;
        if (slope > 1e-9) low = Math.max(low, end);
        if (slope < -1e-9) high = Math.min(high, end);
      }
    }
    const F = rows.map((j) => [dot(add(p.G[j], from, -1), along)]);
    const places = F.map((f) => f[0]);
    // the ball meets the hull of the points; do not let round-off separate them
    const [first, last] = [Math.min(...places), Math.max(...places)];
    [low, high] = [low, high].map((s) => linear.clamp(s, [first, last]));
    const half = (high - low) / 2;
    const a = rows.map((j) => p.a[j]);
    return tilt.problem(F, [(low + high) / 2], a, half > 1e-9 * p.R ? half : 0);
  }

  // {status, hull, path, delta, mu, value, dual, gap}: every point of the path has its own certificate
  function solve(p, method = "newton", most = null) {
    const hull = geometry.distance(p.F, p.b, p.norm);
    const infeasible = hull.lower > p.R * (1 + 1e-9);
    // there the solution of the dual is known beforehand
    const face = touches(p, hull) ? onFace(p, hull) : null;
    const limit = most ?? (infeasible ? INFEASIBLE_STEPS[method] : method === "newton" ? 100 : 150);
    const { inner, back } = infeasible ? { inner: p, back: null } : reduced(p);
    const run = (method === "newton" ? newton : gradient)(inner, limit);
    let best = face && face.mu; // the bound from these weights holds for every later δ too
    const path = run.map((point) => {
      const now = inner === p ? point : { ...tilt.at(p, back(point.delta)), t: point.t };
      const proof = infeasible ? none() : certificate.certify(p, now, hull, false, best);
      best = proof.mu ?? best;
      return { ...now, proof };
    });
    const last = path.at(-1);
    const found = { hull, path, delta: last.delta, value: last.value };
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
