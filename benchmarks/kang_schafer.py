"""Bias and error of the ATT by ``pre.Balance`` in the simulation of Kang and Schafer (2007).

    python benchmarks/kang_schafer.py [--runs 1000] [--store]

The effect is zero. Treatment and outcome are linear in four normal covariates z; a second analysis sees only four
nonlinear functions of them, so that no linear model holds. The constants are those of the simulator in Google's
empirical_calibration. Its notebook ``causal_inference_kang_schafer`` publishes the figures in the last two columns, of
1,000 runs of 1,000 rows by its default, the least squares of the weights: χ² here.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from storing import store

import pre_convex as pre

PUBLISHED = {"true covariates": (0.0058, 0.0822), "transformed covariates": (-6.162, 6.273)}


def sample(rng: np.random.Generator, n: int) -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Covariates as the two analyses see them, treatment and outcome."""
    z = rng.normal(size=(n, 4))
    treated = rng.random(n) < 1.0 / (1.0 + np.exp(z @ [1.0, -0.5, 0.25, 0.1]))
    y = 210.0 + z @ [27.4, 13.7, 13.7, 13.7] + rng.normal(size=n)
    a, b, c, d = z.T
    seen = (np.exp(0.5 * a), 10.0 + b / (1.0 + np.exp(a)), (0.6 + a * c / 25.0) ** 3, (20.0 + b + d) ** 2)
    return dict(zip(PUBLISHED, (z, np.column_stack(seen)), strict=True)), treated, y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--store", action="store_true", help="write benchmarks/results/kang-schafer.csv")
    given = parser.parse_args()
    cases = list(itertools.product(PUBLISHED, ("chi2", "kl")))
    found: dict[tuple[str, str], list[tuple[float, float, bool]]] = {case: [] for case in cases}
    infeasible = dict.fromkeys(cases, 0)
    for seed in range(given.runs):
        covariates, treated, y = sample(np.random.default_rng([3, seed]), given.rows)
        for analysis, divergence in cases:
            try:
                effect = pre.Balance(divergence=divergence).fit(covariates[analysis], treated, y).effect_
            except pre.InfeasibleError:
                infeasible[analysis, divergence] += 1
                continue
            lower, upper = effect.interval()
            found[analysis, divergence].append((effect.estimate, effect.std_error, lower <= 0.0 <= upper))
    rows: list[dict[str, object]] = []
    for case in cases:
        estimate, error, covered = np.array(found[case]).T
        numbers = {
            "bias": estimate.mean(),
            "rmse": np.sqrt(np.square(estimate).mean()),
            "mean_std_error": error.mean(),
            "coverage": covered.mean(),
        }
        row: dict[str, object] = dict(zip(("analysis", "divergence"), case, strict=True))
        row |= {"runs": len(estimate), "infeasible": infeasible[case]}
        row |= {key: f"{value:.4f}" for key, value in numbers.items()}
        published = PUBLISHED[case[0]] if case[1] == "chi2" else ("", "")
        row |= {"published_bias": published[0], "published_rmse": published[1]}
        rows.append(row)
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    if given.store:
        store("kang-schafer", rows, ("pre_convex", "numpy", "scipy"))


if __name__ == "__main__":
    main()
