"use strict";
// The status of the solve in one sentence, and the figures next to it.

const words = (() => {
  const num = numbers.plain;

  const names = { optimal: "Optimal", infeasible: "Infeasible", boundary: "On the boundary", inaccurate: "Not proven" };

  // what the target has to lie in
  const region = (m) => (m.problem.link.bounded ? "region that bounded weights reach" : "hull");

  // the formula of the ratio on a line
  function ratio(m) {
    const { link } = m.problem;
    const inner = m.state.space === "curve" ? "δ₁x + δ₂x²" : "δx";
    const plain = {
      kl: `log r(x) = ${inner} ${link.bounded ? "+ c" : "− log Z"}`,
      chi2: `r(x) = 1 + c + ${inner}`,
      "reverse-kl": `r(x) = 1 / (1 − c − ${inner})`,
    }[link.name];
    if (link.bounded) return `${plain}, between the bounds.`;
    return link.name === "chi2" ? `${plain}, or 0 if that is negative.` : `${plain}.`;
  }

  // how δ diverges when [P] has no minimum
  const away = (m) =>
    m.k === 1 ? `as δ → ${m.run.hull.direction[0] > 0 ? "∞" : "−∞"}` : "along v, which separates b from the hull";

  function sentence(m, now) {
    if (!task.tells(now)) return "δ = 0: every weight μ is still its base weight.";
    const { status, hull } = m.run;
    const R = num(m.problem.R, 2);
    const last = now.time >= m.steps;
    const bounded = m.problem.link.bounded;
    const step = `Step ${Math.floor(now.time + 1e-9)} of ${m.steps}`;
    if (status === "infeasible") {
      const far = `b is ${num(hull.radius)} outside the ${region(m)}, more than R = ${R}`;
      const none = `No weights${bounded ? " within the bounds" : ""} have a mean ${m.problem.R > 0 ? "that close to b" : "equal to b"}`;
      return last
        ? `${far}. ${none}: the dual is infeasible, and ℓ falls without bound ${away(m)}.`
        : `${step}: ℓ = ${num(now.value, 2)} and falling, ‖δ‖ = ${num(Math.hypot(...now.delta), 1)} and growing; ${far}.`;
    }
    if (status === "boundary") {
      const where =
        m.problem.R > 0 ? `R is exactly the distance from b to the ${region(m)}` : `b is on the boundary of the ${region(m)}`;
      if (m.run.unbounded)
        return last
          ? `${where}, so some weights have to be zero. Reverse KL does not allow that: both values fall without bound.`
          : `${step}: ℓ = ${num(now.value, 2)} and falling; ${where}, so some weights have to be zero, which reverse KL does not allow.`;
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
      hull.position === "outside" ? `b is ${num(hull.radius)} outside the ${region(m)}, but within R = ${R}: ` : "";
    const zero = m.run.delta.every((x) => x === 0)
      ? `δ = 0, the mean of the base weights is ${m.problem.R > 0 ? "within the ball" : "b"}`
      : `δ = ${numbers.vector(m.run.delta)} after ${steps}`;
    return `${rescued}${zero}; the gap ${numbers.gap(m.run.gap)} proves it.`;
  }

  function figures(m, now) {
    const infeasible = m.run.unbounded;
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

  const noDual = (m) => (m.run.status === "infeasible" ? "dual: infeasible" : "dual: no finite value");

  // what a divergence is and who uses it
  const about = {
    kl: "φ(t) = t log t − t + 1, as in KLIEP and entropy balancing",
    chi2: "φ(t) = ½(t − 1)², as in least-squares importance fitting",
    "reverse-kl": "φ(t) = −log t + t − 1, as in empirical likelihood",
  };

  // the formulas above the panels
  function formulas(m) {
    const { link } = m.problem;
    const dual = (rest) => `max ${rest}, &nbsp; Σμ = 1, &nbsp; <span class="whole">‖b − F′μ‖ ≤ R</span>`;
    if (link.exponential)
      return {
        primal: "min ℓ(δ) = −⟨b,δ⟩ + log Σ e<sup>a<sub>j</sub> + ⟨δ,F<sub>j</sub>⟩</sup> + R‖δ‖<sub>∗</sub>",
        weights: dual("Σ −μ<sub>j</sub> log μ<sub>j</sub> + μ<sub>j</sub>a<sub>j</sub>, &nbsp; μ ≥ 0"),
        ratio: "log r(x) = ⟨δ, f(x)⟩ − log Z",
      };
    const s = "c + ⟨δ,f(x)⟩";
    const plain = { kl: `e<sup>${s}</sup>`, chi2: `1 + ${s}`, "reverse-kl": `1 / (1 − c − ⟨δ,f(x)⟩)` }[link.name];
    const base = "e<sup>a<sub>j</sub></sup>";
    const bounds = link.bounded ? `${num(link.lo, 2)} ≤ r ≤ ${num(link.hi, 2)}` : "r ≥ 0";
    return {
      primal: `ℓ(δ) = min<sub>c</sub> −c − ⟨b,δ⟩ + Σ ${base} φ*(c + ⟨δ,F<sub>j</sub>⟩) + R‖δ‖<sub>∗</sub>`,
      weights: dual(`−Σ ${base} φ(r<sub>j</sub>), &nbsp; <span class="whole">r = μ/e<sup>a</sup></span>`),
      ratio: `r(x) = ${plain}, &nbsp; <span class="whole">${bounds}</span>`,
    };
  }

  return { names, about, away, region, ratio, sentence, figures, noDual, formulas };
})();
