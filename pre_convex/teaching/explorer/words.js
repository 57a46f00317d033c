"use strict";
// The status of the solve in one sentence, and the figures next to it.

const words = (() => {
  const num = numbers.plain;

  const names = { optimal: "Optimal", infeasible: "Infeasible", boundary: "On the boundary", inaccurate: "Not proven" };

  // how δ diverges when [P] has no minimum
  const away = (m) =>
    m.k === 1 ? `as δ → ${m.run.hull.direction[0] > 0 ? "∞" : "−∞"}` : "along v, which separates b from the hull";

  function sentence(m, now) {
    const { status, hull } = m.run;
    const R = num(m.problem.R, 2);
    const last = now.time >= m.steps;
    const step = `Step ${Math.floor(now.time + 1e-9)} of ${m.steps}`;
    if (status === "infeasible") {
      const far = `b lies ${num(hull.radius)} outside the hull, farther than R = ${R}`;
      const none = `No weights have a mean ${m.problem.R > 0 ? "that close to b" : "equal to b"}`;
      return last
        ? `${far}. ${none}: the dual is infeasible, and the primal decreases without bound ${away(m)}.`
        : `${step}: ℓ = ${num(now.value, 2)} and falling, ‖δ‖ = ${num(Math.hypot(...now.delta), 1)} and growing; ${far}.`;
    }
    if (status === "boundary") {
      const where =
        m.problem.R > 0 ? "R is exactly the distance from b to the hull" : "b is on the boundary of the hull";
      return last
        ? `${where}: the dual has a solution, the primal has none. δ tends to infinity while ℓ approaches ${num(m.run.dual, 4)}.`
        : `${step}: ℓ = ${num(now.value, 4)}, gap ${numbers.gap(now.proof.gap)}; ${where}, so δ diverges.`;
    }
    const gap = numbers.gap(now.proof.gap);
    if (!last && solver.proven(now.proof.gap, now.value))
      return `${step}: already proven, ℓ = ${num(now.value, 4)}, gap ${gap}.`;
    if (!last && now.proof.gap <= 1e-3) return `${step}: the optimum is at most ${gap} below ${num(now.value, 4)}.`;
    if (!last) return `${step}: the optimum is between ${num(now.proof.dual)} and ${num(now.value)}, gap ${gap}.`;
    if (status === "inaccurate")
      return `After ${m.steps} steps the gap is still ${numbers.gap(m.run.gap)}: not proven yet.`;
    const steps = `${m.steps} ${m.state.method === "newton" ? "Newton" : "gradient"} step${m.steps === 1 ? "" : "s"}`;
    const rescued =
      hull.position === "outside" ? `b is ${num(hull.radius)} outside the hull, but within R = ${R}: ` : "";
    const zero = m.run.delta.every((x) => x === 0)
      ? `δ = 0, the mean of the base weights is ${m.problem.R > 0 ? "within the ball" : "b"}`
      : `δ = ${numbers.vector(m.run.delta)} after ${steps}`;
    return `${rescued}${zero}; the gap ${numbers.gap(m.run.gap)} proves it.`;
  }

  function figures(m, now) {
    const infeasible = m.run.status === "infeasible";
    const { hull } = m.run;
    return [
      ["delta", numbers.vector(now.delta)],
      ["primal", num(now.value, 4)],
      ["dual", infeasible ? "none" : num(now.proof.dual, 4)],
      ["gap", infeasible ? "none" : numbers.gap(now.proof.gap)],
      ["distance", num(hull.radius)],
      ["size", `${num(tilt.effectiveSize(now.mu), 1)} of ${m.base.length}`],
    ];
  }

  return { names, away, sentence, figures };
})();
