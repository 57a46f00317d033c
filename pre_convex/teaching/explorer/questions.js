"use strict";
// One question for each preset: what to look at, what to guess, the answer in words, and what to try next. The words of an
// answer are about the preset as it is; its numbers come from the run.

const questions = (() => {
  const num = numbers.plain;
  const best = (m) => m.run.path.at(-1);
  const span = (list) => `from ${num(Math.min(...list))} to ${num(Math.max(...list))}`;
  const size = (m) => num(tilt.effectiveSize(m.run.mu), 1);
  const proof = (m) => `The gap of ${numbers.gap(m.run.gap)} proves it.`;
  const delta = (m) => numbers.vector(m.run.delta);
  // the solution of a preset with changes, for comparison
  const other = (m, changes) => model.build({ ...presets.copy(m.state), ...changes });

  const all = {
    kliep: {
      ask: "Which weights give the blue q sample the same mean as the orange p sample?",
      look: "All q points start with the same weight (grey outlines), and their mean F′μ is to the left of the target b.",
      guess: "which q points gain weight, and which lose it?",
      answer: (m) =>
        `The points on the right gain, those on the left lose: the weights go ${span(m.run.mu)}. Of all weights with mean b, these are the closest to equal weights. ${proof(m)}`,
      tries: [
        "Step through it again. The optimum is always between the two values, and the ticks on the weights, which have the right mean, move towards the bars.",
        "Set b by hand and drag it to the right: δ grows, and the weight moves to the last points.",
        (m) =>
          `Choose gradient descent. It takes ${other(m, { method: "gradient" }).steps} steps, and each closes the same share of the gap. Newton takes ${m.steps}.`,
      ],
    },
    posterior: {
      ask: "What do two likelihoods change?",
      look: "The dashed curves are the likelihoods. They weight both samples before anything is solved.",
      guess: "does F′μ have to move further than without likelihoods?",
      answer: (m) => {
        const flat = other(m, { tp: 0, tq: 0 });
        const way = (x) => num(Math.abs(x.run.path[0].mean[0]), 2);
        return `F′μ has to move by ${way(m)}, against ${way(flat)} without likelihoods: l<sub>p</sub> pulls b to the right, and l<sub>q</sub> pulls the base weights to the left. So δ is ${delta(m)}, against ${delta(flat)}. ${proof(m)}`;
      },
      tries: [
        "Raise the sharpness of q: the base weights move to y<sub>q</sub>, away from where b needs them, and the effective size falls.",
        "Drag y<sub>p</sub>, the orange cross: b follows it.",
      ],
    },
    plane: {
      ask: "Can weights match two means at once?",
      look: "There are two features now, so b is a point in the plane, and so is the weighted mean F′μ.",
      guess: "in which direction does the ratio r(x) grow?",
      answer: (m) =>
        `Yes, because b is inside the hull of the q points. δ = ${delta(m)} is the direction in which log r grows, and its level lines are straight. ${proof(m)}`,
      tries: [
        "Drag b towards the edge of the hull and watch δ grow.",
        "Set b by hand and drag it out of the hull: the badge shows when there is no solution any more.",
      ],
    },
    peaked: {
      ask: "What if the base weights are far from the target?",
      look: "A sharp likelihood l<sub>q</sub> gives almost all base weight to the points near y<sub>q</sub>. The target is on the other side.",
      guess: "does the gap fall evenly from step to step?",
      answer: (m) => {
        const gaps = m.run.path.map((point) => point.proof.gap);
        return `No. After ${Math.ceil(m.steps / 2)} of ${m.steps} steps the gap is still ${numbers.gap(gaps[Math.ceil(m.steps / 2)])}, and the last steps bring it to ${numbers.gap(gaps.at(-1))}. Only ${size(m)} of ${m.base.length} points effectively count.`;
      },
      tries: [
        "Step through it: Newton crosses a flat region with short steps and then converges at once.",
        "Lower the sharpness of q and watch the number of steps.",
      ],
    },
    boundary: {
      ask: "What happens if b is exactly on the edge of the hull?",
      look: "The target b is on the lower edge of the hull. To have a mean on an edge, all weight must be on that edge.",
      guess: "does the dual have a solution? Does the primal?",
      answer: (m) =>
        `The dual has one: all weight on the ${m.run.mu.filter((w) => w > 1e-9).length} points of the edge. The primal has none: ℓ approaches ${num(m.run.dual, 4)} as δ goes to infinity, and reaches it nowhere.`,
      tries: [
        "Drag b a little upwards: δ becomes finite.",
        "Choose χ²: weights of exactly zero are cheap for it, and a finite δ attains the optimum.",
        "Choose reverse KL: weights of zero are infinitely expensive for it, and both values fall without bound.",
      ],
    },
    outside: {
      ask: "What if no weights can match the target?",
      look: "The target b is outside the hull, and the weighted mean F′μ can only be inside.",
      guess: "what does the primal do when there is no solution?",
      answer: (m) =>
        `It falls without bound. The dashed line separates b from every q point, and ℓ falls along its normal v. Each fact proves the other. The distance to the hull is ${num(m.run.hull.radius)}.`,
      tries: [
        "Raise R slowly: there is no solution until the ball around b touches the hull.",
        "Drag a q point beyond b: the hull grows, and a solution appears.",
      ],
    },
    rescued: {
      ask: "Can a radius help when b is out of reach?",
      look: "The same target, but now any mean within R of b will do: the orange ball.",
      guess: "where in the ball does F′μ end?",
      answer: (m) =>
        `Yes: R = ${num(m.state.R, 2)} is more than the distance ${num(m.run.hull.radius)}. F′μ ends on the edge of the ball, as far from b as R allows, because that costs least. ${proof(m)}`,
      tries: [
        (m) =>
          `Raise R to ${num(Math.ceil(10 * norms.size(m.problem.norm, m.run.path[0].mean)) / 10, 1)}: the ball contains the mean of the base weights, and δ is zero.`,
        "Change the norm: the ball becomes a square or a diamond.",
      ],
    },
    sparse: {
      ask: "When does δ leave a feature out?",
      look: "With the norm ∞ the ball around b is a square.",
      guess: "which side of the square does F′μ meet first?",
      answer: (m) =>
        `When F′μ ends inside a side of the square. δ points straight out of that side, so one coefficient is exactly zero: δ = ${delta(m)}. This is the lasso: the penalty is <span class="whole">R (|δ₁| + |δ₂|)</span>.`,
      tries: [
        "Lower R: F′μ ends in a corner, and both coefficients count.",
        "Choose norm 2: both coefficients are nonzero. With norm 1 and R = 0.6 they are equal in size.",
      ],
    },
    curve: {
      ask: "How do you match a mean and a spread?",
      look: "The features are x and x², so the q points are on a parabola, and b holds the mean of both.",
      guess: "is the ratio r(x) still growing to the right?",
      answer: (m) =>
        `Use x² as a second feature. Its coefficient is ${num(m.run.delta[1])}, so log r is a parabola: ${m.run.delta[1] < 0 ? "points far out on both sides lose weight" : "points far out on both sides gain weight"}. ${proof(m)}`,
      tries: [
        "Set b by hand and drag it below the parabola: no weights can have a mean of x² less than the square of the mean of x.",
        "Drag a p point outwards: the spread grows, and the parabola of log r turns.",
      ],
    },
    lsif: {
      ask: "What changes if the χ² divergence measures closeness?",
      look: "The same kind of problem as the first, but weights far from their base weight are punished by a square.",
      guess: "which shape does the ratio r(x) take?",
      answer: (m) => {
        const zero = m.run.mu.filter((w) => w === 0).length;
        return `A straight line instead of an exponential, cut off at zero: ${zero} of ${m.base.length} points get no weight at all. This is least-squares importance fitting. ${proof(m)}`;
      },
      tries: [
        "Choose KL: every point keeps some weight. Then choose reverse KL, whose ratio is a hyperbola.",
        "Drag b to the left: once all weights are positive, Newton needs a single step.",
      ],
    },
    bounds: {
      ask: "What do bounds on the weights cost?",
      look: (m) =>
        `Every weight has to stay between ${num(m.state.lo, 1)} and ${num(m.state.hi, 1)} times its base weight. The means that such weights reach fill a polygon inside the hull.`,
      guess: "how many weights end at a bound?",
      answer: (m) => {
        const at = best(m).ratios.filter((t) => t <= m.state.lo || t >= m.state.hi).length;
        const free = other(m, { lo: 0, hi: null });
        return `${at} of ${m.base.length} weights end at a bound. They are further from the base weights than they need be without bounds: ${num(-m.run.value, 4)} instead of ${num(-free.run.value, 4)}. ${proof(m)}`;
      },
      tries: [
        "Narrow the bounds: the polygon shrinks, until b is out of reach.",
        "Look at the ratio: it stops growing at the dashed lines.",
      ],
    },
    doubled: {
      ask: "Do duplicate points change the answer?",
      look: "Three of the q points are in one place, and two in another. Their bars are stacked.",
      guess: "is the hull a different one? Is δ?",
      answer: (m) => {
        const once = other(m, { q: m.state.q.filter((x, i, list) => list.findIndex((y) => y[0] === x[0]) === i) });
        return `The hull stays the same, δ does not: it is ${delta(m)}, against ${delta(once)} if every place had one point. Points in the same place have the same weight, and together they count double or triple.`;
      },
      tries: ["Drag one of them away and back.", "Remove one: the others take over only part of its weight."],
    },
  };

  const text = (part, m) => (typeof part === "function" ? part(m) : part);
  return { all, text };
})();
