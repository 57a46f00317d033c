"use strict";
// Damped Newton and, for contrast, gradient descent on [P]; the answer is what its certificate proves.

const solver = (() => {
  const { dot, add, scale, times } = linear;
  // the log-weights change by no more than this in one step
  const LONGEST = 8;
  const TOLERANCE = 1e-8;
  // enough to see that it never ends
  const RUNAWAY = { newton: 14, gradient: 40 };

  // the Newton step at δ; where weights have collapsed and no curvature is left, a share of the points' own is added
  function newtonStep(p, now, damping) {
    const H = now.H.map((row, i) => row.map((x, j) => x + (i === j ? damping : 0)));
    // with R = 0 solve for the step itself, which loses no digits when it is small
    if (!p.R) return scale(step.minimise(H, now.mean, 0, p.norm), -1);
    const c = add(times(H, now.delta), now.mean, -1);
    return add(step.minimise(H, c, p.R, p.norm), now.delta, -1);
  }

  // halve the step until the value falls enough, and its line does not rise steeply, as it does far beyond the lowest point
  function search(p, now, d, gain, rise) {
    const moves = p.G.map((g) => Math.abs(dot(add(g, now.mean, -1), d)));
    const reach = Math.max(...moves, Math.abs(dot(now.mean, d)), 1e-300);
    const noise = 1e-15 * (1 + Math.abs(now.value));
    for (let t = Math.min(1, LONGEST / reach), tries = 0; tries < 40; tries++, t /= 2) {
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
      const gain = -dot(now.mean, d) - rise; // what the model of the first order promises
      // a step that leaves a gradient beyond the ball has overlooked a direction whose curvature is lost in round-off
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
      // close to the optimum only round-off is left of a step that does not shrink the next one
      if (moved.decrement < 1e-10 && moved.decrement > 0.3 * last) break;
      last = moved.decrement;
      now = moved.next;
      path.push({ ...now, t: moved.t });
    }
    return path;
  }

  // steps of length 1/L with the largest curvature that weights on these points can have
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

  // the same problem without the directions in which no point differs, and the way back
  function reduced(p) {
    const k = p.b.length;
    const same = { inner: p, back: (delta) => delta };
    if (p.R > 0) return same;
    // points in one place, which is b's but for round-off: there is nothing to move
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

  // b is on the boundary of the hull, or the ball touches it: not a hair of room is left
  function touches(p, hull) {
    if (p.R === 0) return hull.position === "boundary";
    return hull.lower <= p.R * (1 + 1e-9) && hull.radius >= p.R * (1 - 1e-9);
  }

  // Where the hull is touched all feasible weights are on the points that are highest along v. {mu, attained}: the
  // maximum of [D] on them, and whether a δ reaches it; where other points lie lower, δ runs away from them for ever.
  function onFace(p, hull) {
    const v = hull.direction;
    const heights = p.G.map((g) => dot(g, v));
    const top = Math.max(...heights);
    const slack = 1e-9 * (top - Math.min(...heights)) + 1e-14 * Math.abs(top);
    const rows = p.G.map((_, j) => j).filter((j) => top - heights[j] <= slack);
    const all = rows.length === p.G.length;
    const face = v.length === 1 ? null : solve(onLine(p, rows, v));
    const few = face ? face.mu : tilt.normalise(rows.map((j) => p.a[j])).map(Math.exp);
    // along the touching point of a circle δ has to turn, and would be straight only at infinity
    const straight = !face || p.norm !== "2" || Math.abs(face.delta[0]) <= 1e-9;
    const attained = all && straight && (!face || face.status !== "boundary");
    const pairs = rows.map((j, i) => [j, few[i]]);
    return { mu: geometry.spread(p.G.length, pairs), attained };
  }

  // the face across v as a problem of its own on a line, whose ball is the part of the line within the ball
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
    // the ball does meet the points' hull; round-off must not part them
    const [first, last] = [Math.min(...places), Math.max(...places)];
    [low, high] = [low, high].map((s) => linear.clamp(s, [first, last]));
    const half = (high - low) / 2;
    const a = rows.map((j) => p.a[j]);
    return tilt.problem(F, [(low + high) / 2], a, half > 1e-9 * p.R ? half : 0);
  }

  // {status, hull, path, delta, mu, value, dual, gap}: every point of the path carries its own certificate
  function solve(p, method = "newton", most = null) {
    const hull = geometry.distance(p.F, p.b, p.norm);
    const infeasible = hull.lower > p.R * (1 + 1e-9);
    // the dual's answer is known there before the primal has come anywhere near it
    const face = touches(p, hull) ? onFace(p, hull) : null;
    const limit = most ?? (infeasible ? RUNAWAY[method] : method === "newton" ? 100 : 150);
    const { inner, back } = infeasible ? { inner: p, back: null } : reduced(p);
    const run = (method === "newton" ? newton : gradient)(inner, limit);
    let best = face && face.mu; // the bound of weights once found holds for every later δ too
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
