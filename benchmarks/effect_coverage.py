"""Coverage of the confidence intervals of ``pre.Balance``, by simulation.

    python benchmarks/effect_coverage.py [--runs 1000] [--store]

The outcome is linear in the features, so that balancing is unbiased, and depends on them differently in the two groups.
The treatment follows a logistic model. For each estimand and divergence: bias, spread and mean standard error of the
estimates, and the share of 95 % intervals that hold the truth, which is the effect in the population.
"""

from __future__ import annotations

import argparse

import numpy as np
import stale

import pre_convex as pre

MEMBERS: dict[str, dict[str, object]] = {
    "kl": {},
    "chi2": {"divergence": "chi2"},
    "reverse-kl": {"divergence": "reverse-kl"},
    "kl, bounds (0.2, 4)": {"bounds": (0.2, 4.0)},
}
SLOPE, HETEROGENEITY = np.array([1.0, -0.5, 0.5]), np.array([0.5, 0.5, 0.0])


def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Covariates, treatment and outcome."""
    X = rng.normal(size=(n, 3))
    treated = rng.random(n) < 1.0 / (1.0 + np.exp(-0.6 * X[:, 0] + 0.3 * X[:, 1]))
    return X, treated, X @ SLOPE + treated * (1.0 + X @ HETEROGENEITY) + rng.normal(size=n)


def truths(rng: np.random.Generator) -> dict[str, float]:
    """Effects in the population, from a large sample."""
    X, treated, _ = sample(rng, 4_000_000)
    effect = 1.0 + X @ HETEROGENEITY
    return {"ATT": float(effect[treated].mean()), "ATE": 1.0, "ATC": float(effect[~treated].mean())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/effect-coverage.csv")
    given = parser.parse_args()
    lines = ["estimand,method,runs,infeasible,bias,spread,std_error,coverage"]
    truth = truths(np.random.default_rng(1))
    print(lines[0])
    for estimand in ("ATT", "ATE", "ATC"):
        for name, options in MEMBERS.items():
            found, infeasible = [], 0
            for seed in range(given.runs):
                data = sample(np.random.default_rng([2, seed]), given.rows)
                try:
                    effect = pre.Balance(estimand, **options).fit(*data).effect_
                except pre.InfeasibleError:
                    infeasible += 1
                    continue
                lower, upper = effect.interval()
                found.append((effect.estimate, effect.std_error, lower <= truth[estimand] <= upper))
            estimate, error, covered = np.array(found).T
            numbers = (estimate.mean() - truth[estimand], estimate.std(), error.mean(), covered.mean())
            told = ",".join(f"{x:.4f}" for x in numbers)
            lines.append(f'{estimand},"{name}",{len(found)},{infeasible},{told}')
            print(lines[-1], flush=True)
    if given.store:
        (stale.ROOT / "benchmarks/results/effect-coverage.csv").write_text("\n".join([*lines, ""]), encoding="utf-8")
        stale.record("effect-coverage")


if __name__ == "__main__":
    main()
