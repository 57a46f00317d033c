"use strict";
// From the state to what is shown: features, weights of both samples, target, and the run of the solver.

const model = (() => {
  // where points may be: a problem that is given has its own box, in its own units
  const BOX = { x: [-3, 3], y: [-2, 2] };
  const box = (s) => s.box ?? BOX;
  const grow = ([low, high], share) => [low - share * (high - low), high + share * (high - low)];
  // range of the axes of a line and of the plane
  const across = (s) => (s.box ? grow(s.box.x, 1 / 60) : [-3.1, 3.1]);
  const around = (s) => (s.box ? { x: grow(s.box.x, 1 / 30), y: grow(s.box.y, 1 / 20) } : VIEW.plane);
  // range of the moments panel, and limits of a target set by hand
  const view = (s) => (s.box ? around(s) : VIEW[s.space]);
  // points are moved in steps of this size, so that their coordinates are short numbers
  const grain = (s, axis = "x") => 10 ** Math.floor(Math.log10(box(s)[axis][1] - box(s)[axis][0])) / 100;
  const digits = (s, axis) => linear.clamp(-Math.round(Math.log10(grain(s, axis))), [0, 8]);
  const rounded = (x, size) => Math.round(x / size) * size;
  const tidy = (s, x, axis = "x", fine = 1) => {
    const size = grain(s, axis) / fine;
    return Number(rounded(x, size).toFixed(linear.clamp(-Math.round(Math.log10(size)), [0, 12])));
  };
  // largest radius of the slider
  const mostRadius = (s) => (s.box ? svg.roundUp(Math.max((s.box.x[1] - s.box.x[0]) / 2, 1.2 * s.R)) : 3);
  const VIEW = {
    line: { x: [-3.2, 3.2], y: [-12, 12] },
    curve: { x: [-3.2, 3.2], y: [-1.2, 9.6] },
    plane: { x: [-3.2, 3.2], y: [-2.2, 2.2] },
  };
  const MAX_POINTS = 24;
  const most = (s) => (s.given ? 200 : MAX_POINTS);
  // ranges of the bounds on the ratio, which have to leave room for 1
  const BOUNDS = { lo: [0, 0.95], hi: [1.05, 20] };

  const dimension = (s) => (s.space === "plane" ? 2 : 1);
  const feature = (space, x) => (space === "line" ? [x[0]] : space === "curve" ? [x[0], x[0] * x[0]] : x.slice(0, 2));

  // log weights of the points before anything is solved: of their own in a problem that is given, else likelihoods
  const logWeights = (s, side) =>
    s.given ? s.given[side] : s[side].map((x) => logLikelihood(s, x, s[`y${side}`], s[`t${side}`]));

  function logLikelihood(s, x, y, precision) {
    const d = dimension(s);
    let square = 0;
    for (let i = 0; i < d; i++) square += (x[i] - y[i]) ** 2;
    return -0.5 * precision * square;
  }

  // b: the weighted mean of the p features, or the target set by hand
  function targetOf(s) {
    const k = s.space === "line" ? 1 : 2;
    const w = s.p.length ? tilt.normalise(logWeights(s, "p")).map(Math.exp) : [];
    if (s.hand) return { w, b: s.b.slice(0, k) };
    const b = Array(k).fill(0);
    s.p.forEach((x, i) => feature(s.space, x).forEach((f, c) => (b[c] += w[i] * f)));
    return { w, b };
  }

  function build(s) {
    const { w, b } = targetOf(s);
    const F = s.q.map((x) => feature(s.space, x));
    const logBase = logWeights(s, "q");
    const problem = tilt.problem(F, b, logBase, s.R, s.norm, divergences.link(s.phi, s.lo, s.hi ?? Infinity));
    const run = solver.solve(problem, s.method);
    // the solution, which gradient descent need not reach
    const best = s.method === "newton" ? run : solver.solve(problem);
    return {
      state: s,
      k: b.length,
      w,
      b,
      F,
      problem,
      run,
      best,
      base: problem.pi,
      outer: geometry.corners(F),
      steps: run.path.length - 1,
    };
  }

  // a point of the run at or between steps: δ is interpolated, everything else is computed from it
  function at(m, time) {
    const last = m.steps;
    const t = Math.max(0, Math.min(time, last));
    const low = Math.floor(t);
    if (t === low) return { ...m.run.path[low], time: t };
    const from = m.run.path[low].delta;
    const to = m.run.path[low + 1].delta;
    const delta = from.map((x, i) => x + (t - low) * (to[i] - x));
    const now = tilt.at(m.problem, delta);
    const proof =
      m.run.unbounded
        ? m.run.path[low].proof
        : certificate.certify(m.problem, now, m.run.hull, false, m.run.path[low].proof.mu);
    return { ...now, proof, time: t };
  }

  // s = c + ⟨δ,f(x)⟩, log r for KL, and the ratio r(x) itself
  const slope = (m, now, x) => tilt.slope(m.problem, now, feature(m.state.space, x));
  const ratio = (m, now, x) => m.problem.link.at(slope(m, now, x));

  const names = (s) => s.given?.names ?? (s.space === "curve" ? ["x", "x²"] : ["x", "y"]);

  return {
    BOX,
    VIEW,
    MAX_POINTS,
    BOUNDS,
    box,
    across,
    around,
    view,
    grain,
    digits,
    tidy,
    mostRadius,
    most,
    names, build, at, dimension, targetOf, slope, ratio };
})();
