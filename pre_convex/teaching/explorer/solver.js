"use strict";
// Damped Newton and, for contrast, gradient descent on [P]; the answer is what its certificate proves.

const solver = (() => {
  const { dot, add, scale, times } = linear;
  // the log-weights change by no more than this in one step
  const LONGEST = 8;
  const TOLERANCE = 1e-8;
  const RUNAWAY = 14;

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
    const t = 4 / Math.max(dot(ranges, ranges), 1e-12);
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
    if (k === 1 || p.R > 0) return { inner: p, back: (delta) => delta };
    const n = p.G.length;
    const mean = p.b.map((_, i) => p.G.reduce((s, g) => s + g[i] / n, 0));
    const C = p.b.map((_, r) =>
      p.b.map((_, s) => p.G.reduce((t, g) => t + ((g[r] - mean[r]) * (g[s] - mean[s])) / n, 0)),
    );
    const { values, vectors } = linear.eigen(C);
    if (values[1] > 1e-20 * (values[0] + geometry.extent(p.G) ** 2) && values[0] > 0)
      return { inner: p, back: (delta) => delta };
    const u = vectors[0];
    const inner = { ...p, G: p.G.map((g) => [dot(g, u)]), b: [0] };
    return { inner, back: (delta) => scale(u, delta[0]) };
  }

  // weights on the face of the hull that holds b, where [P] has no minimum but [D] a maximum
  function onFace(p, hull) {
    let rows = p.G.map((_, j) => j);
    let face = { ...p, R: 0 };
    let where = hull;
    const b = p.b.map(() => 0);
    for (let depth = 0; where.position === "boundary" && depth < 3; depth++) {
      const heights = rows.map((j) => dot(p.G[j], where.direction));
      const top = Math.max(...heights);
      const low = Math.min(...heights);
      rows = rows.filter((_, i) => top - heights[i] <= 1e-9 * (top - low));
      const F = rows.map((j) => p.G[j]);
      face = tilt.problem(
        F,
        b,
        rows.map((j) => p.a[j]),
      );
      where = geometry.distance(F, b, p.norm);
    }
    const { inner } = reduced(face);
    const best = newton(inner, 80).at(-1);
    const mu = p.a.map(() => 0);
    rows.forEach((j, i) => (mu[j] = best.mu[i]));
    return mu;
  }

  function statusOf(p, hull) {
    if (hull.lower > p.R * (1 + 1e-9)) return "infeasible";
    if (p.R === 0 && hull.position === "boundary") return "boundary";
    if (p.R > 0 && hull.radius >= p.R * (1 - 1e-9)) return "boundary";
    return "solvable";
  }

  // {status, hull, path, delta, mu, value, dual, gap}: every point of the path carries its own certificate
  function solve(p, method = "newton", most = null) {
    const hull = geometry.distance(p.F, p.b, p.norm);
    const where = statusOf(p, hull);
    const limit = most ?? (where === "infeasible" ? RUNAWAY : method === "newton" ? 100 : 150);
    const { inner, back } = where === "infeasible" ? { inner: p, back: null } : reduced(p);
    const run = (method === "newton" ? newton : gradient)(inner, limit);
    // on the boundary the dual's answer is known before the primal has come anywhere near it
    const known = where !== "boundary" ? null : p.R > 0 ? spreadOf(p, hull) : onFace(p, hull);
    const path = run.map((point) => {
      const now = inner === p ? point : { ...tilt.at(p, back(point.delta)), t: point.t };
      return { ...now, proof: where === "infeasible" ? none() : certificate.certify(p, now, hull, false, known) };
    });
    const last = path.at(-1);
    const mu = known ?? last.mu;
    const dual = known ? tilt.dualValue(p, known) : last.proof.dual;
    const gap = known ? last.value - dual : last.proof.gap;
    const proven = gap <= TOLERANCE * (1 + Math.abs(last.value));
    const status = where !== "solvable" ? where : proven ? "optimal" : "inaccurate";
    return { status, hull, path, known, delta: last.delta, mu, value: last.value, dual, gap };
  }

  const none = () => ({ gap: Infinity, dual: -Infinity, mu: null, by: "none" });

  function spreadOf(p, hull) {
    const mu = p.a.map(() => 0);
    for (const [j, w] of hull.weights) mu[j] += w;
    return mu;
  }

  return { solve, TOLERANCE };
})();
