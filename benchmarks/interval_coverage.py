"""Simulated coverage of regions, intervals and p-values: ``python benchmarks/interval_coverage.py``.

The true value is known in every scenario: Gaussian posteriors have closed forms, and the population of the
misspecified model is integrated by quadrature. ``--store`` writes ``results/coverage.csv`` and the tables of
``docs/coverage.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from storing import markdown_table, quote, store

import pre_convex as pre
from pre_convex.statistics.inference import Inference
from pre_convex.statistics.influence import KINDS

POINTS = np.array([[0.0, 0.0], [0.5, 0.5], [1.0, -0.5], [-1.0, 0.5], [1.5, 1.5]])
REGION, DIVERGENCE, P_VALUE = "joint region of delta", "divergence", "p-values of delta = 0 below 0.05"
AIMS = {REGION: "94 to 96", DIVERGENCE: "93 to 97", P_VALUE: "about 5"}


@dataclass(frozen=True)
class Normal:
    """Product of normal distributions, one for each coordinate."""

    mean: np.ndarray
    precision: np.ndarray

    def draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw n rows."""
        return self.mean + rng.normal(size=(n, len(self.mean))) / np.sqrt(self.precision)

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Log density up to a constant."""
        return 0.5 * (np.log(self.precision) - self.precision * (x - self.mean) ** 2).sum(axis=1)

    def posterior(self, likelihood: Normal | None) -> Normal:
        """Posterior of x, with this distribution as the prior and a normal density of x as the likelihood."""
        if likelihood is None:
            return self
        total = self.precision + likelihood.precision
        return Normal((self.precision * self.mean + likelihood.precision * likelihood.mean) / total, total)


def normal(mean, precision) -> Normal:
    """Normal distribution with one precision, or one for each coordinate."""
    mean = np.asarray(mean, dtype=float)
    return Normal(mean, np.broadcast_to(np.asarray(precision, dtype=float), mean.shape))


@dataclass(frozen=True)
class Scenario:
    """How to draw a problem, and its true values; ``unpaired`` also tries the formula that ignores the pairing."""

    name: str
    draw: Callable[[np.random.Generator], pre.RatioProblem]
    delta: np.ndarray
    log_ratio: np.ndarray
    divergence: float
    features: Callable[[np.ndarray], np.ndarray]
    unpaired: bool = False


def well_specified(name, prior_p, prior_q, lik_p, lik_q, n_p, n_q, polynomial=False, shift=0.0) -> Scenario:
    """Normal priors and likelihoods; the ratio of the posteriors is log-linear in the features.

    log r is a quadratic with slopes τ_p m_p − τ_q m_q and curvatures −(τ_p − τ_q)/2, for posteriors N(m, 1/τ).
    """
    post_p, post_q = prior_p.posterior(lik_p), prior_q.posterior(lik_q)
    slopes = post_p.precision * post_p.mean - post_q.precision * post_q.mean
    curvatures = -0.5 * (post_p.precision - post_q.precision)
    if not polynomial:
        assert not curvatures.any()
    kl = 0.5 * (
        np.log(post_p.precision / post_q.precision)
        + post_q.precision / post_p.precision
        + post_q.precision * (post_p.mean - post_q.mean) ** 2
        - 1.0
    )

    def features(x):
        return np.concatenate([x, x**2], axis=1) if polynomial else x + shift

    def draw(rng):
        return pre.RatioProblem.from_samples(
            prior_p.draw(n_p, rng),
            prior_q.draw(n_q, rng),
            None if lik_p is None else lik_p.log_density,
            None if lik_q is None else lik_q.log_density,
            features=features,
        )

    delta = np.concatenate([slopes, curvatures]) if polynomial else slopes
    log_ratio = post_p.log_density(POINTS) - post_q.log_density(POINTS)
    return Scenario(name, draw, delta, log_ratio, float(kl.sum()), features)


def log_likelihoods(x: np.ndarray, steepness: float) -> tuple[np.ndarray, np.ndarray]:
    """log P(class 1 | x) and log P(class 0 | x) of a classifier with nonlinear log-odds."""
    odds = steepness * (0.8 * x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.4 * x[:, 0] * x[:, 1])
    return -np.logaddexp(0.0, -odds), -np.logaddexp(0.0, odds)


def misspecified(name: str, n: int, steepness: float = 1.0) -> Scenario:
    """The same rows on both sides, weighted by the two class probabilities; population δ* by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    grid = np.array([[u, v] for u in nodes for v in nodes])
    log_weight = np.log(np.outer(weights, weights).ravel())
    one, zero = log_likelihoods(grid, steepness)
    population = pre.RatioProblem.from_samples(grid, grid, log_weight + one, log_weight + zero)
    truth = pre.solve(population, tol=1e-12)
    log_ratio = POINTS @ truth.delta - population.tilt(truth.delta).log_z

    def draw(rng):
        x = rng.normal(size=(n, 2))
        return pre.RatioProblem.from_samples(x, x, *log_likelihoods(x, steepness), paired=True)

    return Scenario(name, draw, truth.delta, log_ratio, -truth.primal_value, lambda x: x, unpaired=True)


def scenarios() -> list[Scenario]:
    rng = np.random.default_rng(2018)
    y_p, y_q = (rng.normal(0.5, 0.1, (50, 2)).mean(axis=0) for _ in range(2))
    prior = normal([0.0, 0.0], 1.0)
    paper = (prior, prior, normal(y_p, 50 / 100), normal(y_q, 50 / 100), 500, 500)
    uneven = (normal([0.6, -0.2], 1.0), normal([0.0, 0.3], 0.5))
    return [
        well_specified("a: set-up of the paper", *paper),
        well_specified("b: as a, features shifted by 3", *paper, shift=3.0),
        well_specified("c: different likelihoods, n_q = 2,000", prior, prior, *uneven, 500, 2000, polynomial=True),
        well_specified(
            "d: KLIEP, p narrower than q",
            normal([0.4, -0.3], [0.8**-2, 0.9**-2]), prior, None, None, 500, 500, polynomial=True,
        ),
        misspecified("e: paired rows, misspecified, n = 1,000", 1000),
        well_specified("f: as a, the same observations", *paper[:3], paper[2], 500, 500),
        well_specified(
            "g: equal posteriors, different priors",
            normal([0.3, 0.0], [1.0, 1.0]), normal([0.45, 0.0], [1.0, 2.0]),
            normal([0.3, 0.0], [1.0, 3.0]), normal([0.15, 0.0], [1.0, 2.0]), 500, 2000,
        ),
        misspecified("h: as e, twice as steep, n = 500", 500, steepness=2.0),
    ]  # fmt: skip


def inside(interval, truth) -> np.ndarray:
    return (interval.lower <= truth) & (truth <= interval.upper)


def outcomes(scenario: Scenario, rng: np.random.Generator) -> dict[tuple[str, str], bool]:
    """What is covered in one run, by quantity and kind."""
    problem = scenario.draw(rng)
    delta = pre.solve(problem).delta
    fits = {kind: Inference(problem, delta, kind=kind) for kind in KINDS}
    if scenario.unpaired:
        sides = {"features_p": problem.features_p, "log_weights_p": problem.log_weights_p}
        bare = pre.RatioProblem(problem.target, problem.features_q, problem.log_base, **sides)
        fits["unpaired"] = Inference(bare, delta)
    covered = {(REGION, kind): fit.contains(scenario.delta) for kind, fit in fits.items()}
    centred = fits["centred"]
    points = inside(centred.log_ratio(scenario.features(POINTS)), scenario.log_ratio)
    for (u, v), hit in zip(POINTS, points, strict=True):
        covered[f"log r at ({u:g}, {v:g})", "centred"] = bool(hit)
    if np.allclose(scenario.delta, 0.0):
        covered[P_VALUE, "centred"] = centred.divergence_p_value() < 0.05
    elif scenario.divergence > 0.01:  # the estimate is close to normal only if the divergence exceeds its noise
        covered[DIVERGENCE, "centred"] = bool(inside(centred.divergence(), scenario.divergence)[0])
    return covered


def run(runs: int) -> list[dict[str, object]]:
    """Coverage in every scenario, over ``runs`` samples each."""
    rows: list[dict[str, object]] = []
    for number, scenario in enumerate(scenarios()):
        counts: dict[tuple[str, str], int] = {}
        for i in range(runs):
            for key, covered in outcomes(scenario, np.random.default_rng([number, i])).items():
                counts[key] = counts.get(key, 0) + bool(covered)
        for (quantity, kind), count in counts.items():
            share = count / runs
            aim = AIMS.get(quantity, "93 to 97") if kind == "centred" and scenario.name[0] != "h" else ""
            error = np.sqrt(share * (1.0 - share) / runs)
            rows.append({"scenario": scenario.name, "quantity": quantity, "kind": kind, "runs": runs,
                         "coverage": f"{100 * share:.2f}", "std_error": f"{100 * error:.2f}", "aim": aim})  # fmt: skip
            print(
                f"{scenario.name:40s} {quantity:34s} {kind:9s} {100 * share:6.2f} % +- {100 * error:.2f}  {aim}",
                flush=True,
            )
    return rows


def tables(rows: list[dict[str, object]]) -> list[str]:
    """Three tables: regions by kind, intervals of log r by point, and the divergence."""
    found = {(row["scenario"], row["quantity"], row["kind"]): f"{row['coverage']} %" for row in rows}
    names = list(dict.fromkeys(row["scenario"] for row in rows))
    kinds = [*KINDS, "unpaired"]
    points = [q for q in dict.fromkeys(str(row["quantity"]) for row in rows) if q.startswith("log r")]

    def table(head: list[str], keys: list[tuple[str, str]]) -> list[str]:
        body = [[name, *(found.get((name, *key), "") for key in keys)] for name in names]
        return markdown_table(["scenario", *head], [line for line in body if any(line[1:])])

    return [
        f"Joint 95 % regions of δ, {int(str(rows[0]['runs'])):,} runs each:",
        "",
        *table(kinds, [(REGION, kind) for kind in kinds]),
        "",
        "95 % intervals of log r(x) at five points, centred:",
        "",
        *table([q.removeprefix("log r at ") for q in points], [(q, "centred") for q in points]),
        "",
        "95 % intervals of the divergence where δ ≠ 0, and how often its p-value is below 0.05 where δ = 0:",
        "",
        *table(["interval covers", "p below 0.05"], [(DIVERGENCE, "centred"), (P_VALUE, "centred")]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--store", action="store_true", help="write the results file and the tables on the page")
    arguments = parser.parse_args()
    rows = run(arguments.runs)
    if arguments.store:
        path = store("coverage", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/coverage.md", "coverage", tables(rows))
        print(f"written: {path.name} and the tables of docs/coverage.md")


if __name__ == "__main__":
    main()
