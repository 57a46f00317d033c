"use strict";
// Configurations to start from.

const presets = (() => {
  const onLine = (xs) => xs.map((x, i) => [x, Math.round(150 * Math.sin(2.4 * i + 1)) / 100]);
  const base = {
    space: "line",
    q: onLine([-2.2, -1.4, -0.9, -0.3, 0.1, 0.6, 1.3, 2.1]),
    p: onLine([-0.8, 0.1, 0.7, 1.2, 1.8]),
    hand: false,
    b: [0, 0],
    tp: 0,
    tq: 0,
    yp: [0.8, 0.4],
    yq: [-0.5, -0.3],
    R: 0,
    norm: "2",
    phi: "kl",
    lo: 0,
    hi: null, // no upper bound
    method: "newton",
  };
  const cloudQ = [
    [-1.9, -0.6],
    [-1.3, 1.2],
    [-0.7, -1.4],
    [-0.4, 0.3],
    [0.2, 1.5],
    [0.5, -0.5],
    [1.1, 0.7],
    [1.5, -1.2],
    [2.0, 0.2],
  ];
  const cloudP = [
    [-0.2, -0.3],
    [0.6, 0.9],
    [0.9, -0.2],
    [1.2, 0.4],
    [0.1, 0.6],
  ];
  const shifted = (dx, dy) =>
    cloudP.map(([x, y]) => [Math.round(100 * (x + dx)) / 100, Math.round(100 * (y + dy)) / 100]);
  const square = [
    [-1.5, -1],
    [1.5, -1],
    [1.5, 1],
    [-1.5, 1],
    [0, 0.3],
    [0.5, -1],
  ];
  const plane = { ...base, space: "plane", q: cloudQ, p: cloudP };

  const all = [
    { key: "kliep", name: "Two samples", hint: "flat likelihoods, points on a line", state: base },
    {
      key: "posterior",
      name: "Two likelihoods",
      hint: "two likelihoods weight the samples",
      state: { ...base, tp: 2, tq: 1 },
    },
    { key: "plane", name: "Two features", hint: "two features", state: { ...plane, tp: 0.5, tq: 0.5 } },
    {
      key: "peaked",
      name: "Sharp likelihood",
      hint: "the base weights are far from the target",
      state: { ...base, tp: 4, yp: [1.5, 0.4], tq: 12, yq: [-1.2, -0.3] },
    },
    {
      key: "boundary",
      name: "On the edge",
      hint: "the dual has a solution, the primal does not",
      state: { ...plane, q: square, hand: true, b: [-0.2, -1] },
    },
    {
      key: "outside",
      name: "Out of reach",
      hint: "no solution, and a proof of that",
      state: { ...plane, p: shifted(1.2, 1) },
    },
    {
      key: "rescued",
      name: "Within a radius",
      hint: "outside the hull, but within R",
      state: { ...plane, p: shifted(1.2, 1), R: 0.9 },
    },
    {
      key: "sparse",
      name: "A zero in δ",
      hint: "norm ∞ sets a coefficient to zero",
      state: { ...plane, p: shifted(0.5, 0), norm: "inf", R: 0.3 },
    },
    { key: "curve", name: "Mean and spread", hint: "features x and x²", state: { ...base, space: "curve", tp: 1.5 } },
    {
      key: "lsif",
      name: "χ² divergence",
      hint: "the ratio is a straight line, cut off at zero",
      state: { ...base, p: onLine([0.1, 0.7, 1.2, 1.6, 2]), phi: "chi2" },
    },
    {
      key: "bounds",
      name: "Bounded ratio",
      hint: "no weight may differ too much from its base weight",
      state: { ...plane, p: shifted(0.3, 0.1), lo: 0.2, hi: 2 },
    },
    {
      key: "doubled",
      name: "Duplicate points",
      hint: "two points in the same place count twice",
      state: { ...base, q: onLine([-2.2, -1.4, -0.9, -0.3, -0.3, -0.3, 0.6, 0.6, 1.3, 2.1]) },
    },
  ];
  const find = (key) => all.find((preset) => preset.key === key);
  const copy = (state) => JSON.parse(JSON.stringify(state));
  return { all, find, copy };
})();
