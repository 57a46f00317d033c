"use strict";
// The moments that weights can reach, the hull of points on a line or in the plane: its corners, the distance to it, and
// where a ray leaves it.

const geometry = (() => {
  const { dot, add, scale } = linear;
  const cross = (o, u, v) => (u[0] - o[0]) * (v[1] - o[1]) - (u[1] - o[1]) * (v[0] - o[0]);

  // indices of the corners of the hull, counter-clockwise; two for a segment, one for a point
  function corners(points) {
    const order = points.map((_, j) => j);
    order.sort((i, j) => points[i][0] - points[j][0] || (points[i][1] ?? 0) - (points[j][1] ?? 0));
    const first = order[0];
    const last = order[order.length - 1];
    const spread = extent(points);
    if (spread === 0) return [first];
    if (points[0].length === 1) return [first, last];
    const flat = 1e-14 * spread * spread;
    const chain = (list) => {
      const found = [];
      for (const j of list) {
        while (found.length > 1 && cross(points[found.at(-2)], points[found.at(-1)], points[j]) <= flat) found.pop();
        found.push(j);
      }
      return found.slice(0, -1);
    };
    const all = [...chain(order), ...chain(order.slice().reverse())];
    return all.length < 3 ? [first, last] : all;
  }

  function extent(points) {
    return Math.max(
      ...points[0].map((_, i) => {
        const column = points.map((f) => f[i]);
        return Math.max(...column) - Math.min(...column);
      }),
    );
  }

  // edges of the hull as pairs of indices
  function edges(hull) {
    if (hull.length < 2) return [];
    return hull.length === 2 ? [hull] : hull.map((j, i) => [j, hull[(i + 1) % hull.length]]);
  }

  function normals(points, hull) {
    if (points[0].length === 1) return [[1], [-1]];
    const found = [];
    for (const [i, j] of edges(hull)) {
      const d = add(points[j], points[i], -1);
      const length = Math.hypot(...d);
      found.push([d[1] / length, -d[0] / length]);
      if (hull.length === 2) found.push([-d[1] / length, d[0] / length], scale(d, 1 / length), scale(d, -1 / length));
    }
    return found;
  }

  // the t in [0, 1] at which b − (u + t d) is smallest in the norm
  function along(u, d, b, order) {
    const r = add(b, u, -1);
    const at = (t) => norms.size(order, add(r, d, -t));
    const stops = [0, 1];
    if (order === "2") stops.push(dot(r, d) / dot(d, d));
    else {
      r.forEach((x, i) => stops.push(x / d[i]));
      if (order === "inf" && r.length === 2) {
        stops.push((r[0] - r[1]) / (d[0] - d[1]), (r[0] + r[1]) / (d[0] + d[1]));
      }
    }
    let best = 0;
    for (const t of stops) if (t >= 0 && t <= 1 && at(t) < at(best)) best = t;
    return best;
  }

  // [HULL]: distance from b to the hull, weights of the nearest point, and a direction v of unit dual norm as proof
  function distance(points, b, order) {
    const hull = corners(points);
    const k = b.length;
    const spread = extent(points);
    const zero = 1e-10 * spread + 1e-13 * norms.size(order, b.map(Math.abs));
    const support = (v) => Math.max(...points.map((f) => dot(v, f)));
    const margin = (v) => dot(v, b) - support(v);
    const unit = (v) => scale(v, 1 / (norms.dual(order, v) || 1));
    let nearest = { radius: norms.size(order, add(b, points[hull[0]], -1)), weights: [[hull[0], 1]] };
    for (const [i, j] of edges(hull)) {
      const d = add(points[j], points[i], -1);
      const t = along(points[i], d, b, order);
      const radius = norms.size(order, add(b, add(points[i], d, t), -1));
      if (radius < nearest.radius)
        nearest = {
          radius,
          weights: [
            [i, 1 - t],
            [j, t],
          ],
        };
    }
    nearest.point = nearest.weights.reduce(
      (z, [j, w]) => add(z, points[j], w),
      b.map(() => 0),
    );
    // ⟨v,b⟩ − max⟨v,F⟩ is linear between the normals of the edges, so only these and the corners of the dual ball matter
    const candidates = normals(points, hull).map(unit);
    if (order === "2") candidates.push(unit(add(b, nearest.point, -1)));
    else if (k === 2) candidates.push(...norms.corners[norms.dualOf[order]]);
    if (hull.length === 1) candidates.push(unit(add(b, points[hull[0]], -1)));
    const usable = candidates.filter((v) => v.every(Number.isFinite) && norms.size("2", v) > 0);
    const values = usable.map(margin);
    const lower = Math.max(...values);
    const direction = usable[values.indexOf(lower)];
    if (lower > zero) return { position: "outside", hull, direction, lower, ...nearest };
    const inside = { hull, radius: 0, lower: 0, point: b.slice(), weights: weightsOf(points, hull, b, nearest) };
    // ignore directions in which all points agree: what counts is the relative boundary
    const varies = (v) => support(v) + support(scale(v, -1)) > 1e-9 * spread;
    const supporting = usable.filter((v, i) => varies(v) && values[i] >= -zero);
    if (supporting.length) return { position: "boundary", ...inside, direction: supporting[0] };
    return { position: "inside", ...inside, direction: b.map(() => 0) };
  }

  // weights of corners whose mean is b, a point of the hull: one triangle of a fan contains it
  function weightsOf(points, hull, b, nearest) {
    if (points[0].length === 1 || hull.length < 3) {
      const [i, j] = hull;
      if (j === undefined) return [[i, 1]];
      const d = add(points[j], points[i], -1);
      const t = Math.max(0, Math.min(1, dot(add(b, points[i], -1), d) / dot(d, d)));
      return [
        [i, 1 - t],
        [j, t],
      ];
    }
    for (let i = 1; i + 1 < hull.length; i++) {
      const three = [hull[0], hull[i], hull[i + 1]];
      const [u, v, w] = three.map((j) => points[j]);
      const area = cross(u, v, w);
      const parts = [cross(b, v, w) / area, cross(b, w, u) / area, cross(b, u, v) / area];
      if (Math.min(...parts) >= 0) return three.map((j, n) => [j, parts[n]]);
    }
    return nearest.weights;
  }

  // where the ray from m through z leaves the hull: the distance in units of z − m, and weights of that point
  function leave(points, hull, m, z) {
    const d = add(z, m, -1);
    const length2 = dot(d, d);
    if (points[0].length === 1 || hull.length < 3) {
      let best = null;
      for (const j of hull) {
        const to = add(points[j], m, -1);
        const s = dot(to, d) / length2;
        const off = norms.size("2", add(to, d, -s));
        if (off <= 1e-12 * (norms.size("2", to) + Math.sqrt(length2)) && (!best || s > best.s)) {
          best = { s, weights: [[j, 1]] };
        }
      }
      return best;
    }
    let best = null;
    for (const [i, j] of edges(hull)) {
      const e = add(points[j], points[i], -1);
      const to = add(points[i], m, -1);
      const det = d[0] * -e[1] + e[0] * d[1];
      if (det === 0) continue;
      const s = (to[0] * -e[1] + e[0] * to[1]) / det;
      const t = (d[0] * to[1] - d[1] * to[0]) / det;
      if (t >= -1e-12 && t <= 1 + 1e-12 && (!best || s > best.s)) {
        const share = Math.max(0, Math.min(1, t));
        best = {
          s,
          weights: [
            [i, 1 - share],
            [j, share],
          ],
        };
      }
    }
    return best;
  }

  // {points, shifted, mix}: points whose hull the moments fill, the same minus b, and the weights of a mixture of them.
  // Without bounds they are the points themselves, with all weight on one. With bounds they are the corners of a smaller
  // polygon, each with the weights that put as much as possible on the points farthest in one direction.
  function reachable(p) {
    const n = p.F.length;
    if (!p.link.bounded) return { points: p.F, shifted: p.G, mix: (pairs) => spread(n, pairs) };
    const corner = (v) => {
      const mu = p.pi.map((w) => w * p.link.lo);
      let left = 1 - mu.reduce((s, w) => s + w, 0);
      const heights = p.G.map((g) => dot(v, g));
      const order = heights.map((_, j) => j).sort((i, j) => heights[j] - heights[i]);
      for (const j of order) {
        const more = Math.min(p.pi[j] * (p.link.hi - p.link.lo), left);
        mu[j] += more;
        left -= more;
      }
      const mean = p.b.map((_, i) => mu.reduce((s, w, j) => s + w * p.G[j][i], 0));
      return { mu, at: mean };
    };
    const found = p.b.length === 1 ? [corner([1]), corner([-1])] : turn(corner, 1e-12 * extent(p.G));
    return {
      points: found.map(({ at }) => add(at, p.b)),
      shifted: found.map(({ at }) => at),
      mix: (pairs) => pairs.reduce((mu, [j, w]) => add(mu, found[j].mu, w), Array(n).fill(0)),
    };
  }

  // the part of the line ⟨n, x⟩ = level inside a box, as two points, or none
  function lineInBox(n, level, { x, y }) {
    const corners = [[x[0], y[0]], [x[1], y[0]], [x[1], y[1]], [x[0], y[1]]]; // prettier-ignore
    const heights = corners.map((c) => dot(n, c) - level);
    return corners.flatMap((c, i) => {
      const next = (i + 1) % 4;
      const [a, b] = [heights[i], heights[next]];
      return a < 0 !== b < 0 ? [add(c, add(corners[next], c, -1), a / (a - b))] : [];
    });
  }

  // all corners of a polygon that is known by its farthest corner in a given direction
  function turn(corner, tolerance) {
    const starts = [[1, 0], [0, 1], [-1, 0], [0, -1]].map(corner); // prettier-ignore
    const between = (u, v, depth) => {
      const d = add(v.at, u.at, -1);
      const length = Math.hypot(...d);
      if (length <= tolerance || depth > 60) return [];
      const out = [d[1] / length, -d[0] / length];
      const w = corner(out);
      if (dot(out, add(w.at, u.at, -1)) <= tolerance) return [];
      return [...between(u, w, depth + 1), w, ...between(w, v, depth + 1)];
    };
    return starts.flatMap((u, i) => [u, ...between(u, starts[(i + 1) % 4], 0)]);
  }

  // weights of all n points from [index, weight] pairs
  function spread(n, pairs) {
    const mu = Array(n).fill(0);
    for (const [j, w] of pairs) mu[j] += w;
    return mu;
  }

  return { corners, edges, extent, distance, leave, spread, reachable, lineInBox };
})();
