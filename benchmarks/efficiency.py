"""LogisticRatio against PosteriorRatio, by simulation: ``python benchmarks/efficiency.py``.

Errors of both estimators, coverage of the intervals of LogisticRatio, and size and power of the specification test, in
settings where the log-linear model is right and in settings where it is wrong. True values have closed forms, except
the best δ of a wrong model, which is that of a sample of a million rows. ``--store`` writes ``results/efficiency.csv``
and the tables of ``docs/efficiency.md``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import gammaln
from scipy.stats import t as student
from storing import markdown_table, quote, store

import pre_convex as pre
from pre_convex.statistics.logistic import FittedLogistic, LogisticInference
from pre_convex.statistics.specification import posterior_problem, specification_test

Function = Callable[[np.ndarray], np.ndarray]
#: points of the posterior p that errors of log r are averaged over, and at which its intervals are tested
EVALUATED, TESTED = 400, 5
#: rows of the sample that stands for the population
POPULATION = 1_000_000
#: what is reported for each setting, in the order of the columns
QUANTITIES = (
    *(
        "failed",
        "mse delta",
        "mse delta of PRE",
        "mse log r",
        "mse log r of PRE",
        "error of mean",
        "error of mean of PRE",
    ),
    *(
        "coefficients",
        "lowest coefficient",
        "joint region",
        "log r",
        "divergence",
        "disagree at 5 %",
        "disagree at 1 %",
    ),
)


@dataclass(frozen=True)
class Setting:
    """Priors, likelihoods and features, with the true log ratio.

    ``draw`` makes both samples, ``posterior`` draws from the posterior p, and ``delta`` is None if the model is wrong.
    """

    name: str
    draw: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]
    log_lik_p: Function | None
    log_lik_q: Function | None
    features: Function
    log_ratio: Function
    posterior: Callable[[np.random.Generator, int], np.ndarray]
    delta: np.ndarray | None = None
    paired: bool = False
    divergence: float | None = None


def linear(x: np.ndarray) -> np.ndarray:
    return x


def quadratic(x: np.ndarray) -> np.ndarray:
    return np.concatenate([x, x**2], axis=1)


def log_normal(x: np.ndarray, mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    return 0.5 * (np.log(precision) - precision * (x - mean) ** 2).sum(axis=1)


def posterior_of(prior: Any, likelihood: Any) -> tuple[np.ndarray, np.ndarray]:
    """Mean and precision of a posterior, from those of prior and likelihood."""
    if likelihood is None:
        return prior
    total = prior[1] + likelihood[1]
    return (prior[0] * prior[1] + likelihood[0] * likelihood[1]) / total, total


def normals(name, prior_p, prior_q, lik_p, lik_q, n_p, n_q, right=True, features=linear, correlation=0.0) -> Setting:
    """Independent normal coordinates; each distribution is (mean, precision), and ``right`` says if the model is."""
    given = [
        None if one is None else tuple(np.broadcast_arrays(*(np.asarray(v, dtype=float) for v in one)))
        for one in (prior_p, prior_q, lik_p, lik_q)
    ]
    p, q, of_p, of_q = given
    (mean_p, tau_p), (mean_q, tau_q) = posterior_of(p, of_p), posterior_of(q, of_q)
    slopes, curvatures = tau_p * mean_p - tau_q * mean_q, -0.5 * (tau_p - tau_q)
    delta = slopes if features is linear else np.concatenate([slopes, curvatures])
    assert not right or features is quadratic or not curvatures.any()

    def draw(rng):
        z = rng.normal(size=(n_p, len(mean_p)))
        other = rng.normal(size=(n_q, len(mean_p)))
        if correlation:
            other = correlation * z + np.sqrt(1.0 - correlation**2) * other
        return p[0] + z / np.sqrt(p[1]), q[0] + other / np.sqrt(q[1])

    return Setting(
        name, draw,
        None if of_p is None else partial(log_normal, mean=of_p[0], precision=of_p[1]),
        None if of_q is None else partial(log_normal, mean=of_q[0], precision=of_q[1]),
        features,
        lambda x: log_normal(x, mean_p, tau_p) - log_normal(x, mean_q, tau_q),
        lambda rng, n: mean_p + rng.normal(size=(n, len(mean_p))) / np.sqrt(tau_p),
        delta if right else None, bool(correlation),
        float(0.5 * (np.log(tau_p / tau_q) + tau_q / tau_p + tau_q * (mean_p - mean_q) ** 2 - 1.0).sum()),
    )  # fmt: skip


def gammas() -> Setting:
    """Gamma(2, 1) priors and exponential likelihoods: posteriors Gamma(2, 0.8) and Gamma(2, 1.3)."""

    def density(x, rate):
        return 2.0 * np.log(rate) - gammaln(2.0) + np.log(x[:, 0]) - rate * x[:, 0]

    return Setting(
        "gamma priors, exponential likelihoods, 700/1,500",
        lambda rng: (rng.gamma(2.0, size=(700, 1)), rng.gamma(2.0, size=(1500, 1))),
        lambda x: 0.2 * x[:, 0], lambda x: -0.3 * x[:, 0],
        lambda x: np.column_stack([x + 5.0, (x + 5.0) ** 2]),
        lambda x: density(x, 0.8) - density(x, 1.3),
        lambda rng, n: rng.gamma(2.0, 1.0 / 0.8, size=(n, 1)),
        np.array([0.5, 0.0]), False, float(2.0 * (np.log(0.8 / 1.3) + 1.3 / 0.8 - 1.0)),
    )  # fmt: skip


def binary() -> Setting:
    """Three binary columns, rarer on one side."""
    p, q = np.array([0.5, 0.3, 0.15]), np.array([0.35, 0.3, 0.08])
    delta = np.log(p / (1 - p)) - np.log(q / (1 - q))
    return Setting(
        "three binary columns, 300/300",
        lambda rng: tuple((rng.random((300, 3)) < share).astype(float) for share in (p, q)),
        None, None, linear,
        lambda x: (x * np.log(p / q) + (1 - x) * np.log((1 - p) / (1 - q))).sum(axis=1),
        lambda rng, n: (rng.random((n, 3)) < p).astype(float),
        delta, False, float((p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))).sum()),
    )  # fmt: skip


def heavy_tails() -> Setting:
    """A normal p and a t with 4 degrees of freedom as q, with a quadratic model of the log ratio."""
    return Setting(
        "N(0.5, 1) against t with 4 df, quadratic, 500/500",
        lambda rng: (rng.normal(0.5, 1.0, (500, 1)), student.rvs(4, size=(500, 1), random_state=rng)),
        None, None, quadratic,
        lambda x: -0.5 * (x[:, 0] - 0.5) ** 2 - 0.5 * np.log(2.0 * np.pi) - student.logpdf(x[:, 0], 4),
        lambda rng, n: rng.normal(0.5, 1.0, (n, 1)),
    )  # fmt: skip


def classifier() -> Setting:
    """Class probabilities with nonlinear log-odds as likelihoods of both sides, and a linear model."""

    def odds(x):
        return 0.8 * x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.4 * x[:, 0] * x[:, 1]

    def posterior(rng, n):
        x = rng.normal(size=(8 * n, 2))
        return x[rng.random(len(x)) < 1.0 / (1.0 + np.exp(-odds(x)))][:n]

    x = np.random.default_rng(0).normal(size=(POPULATION, 2))  # normalisers: the classes are not equally likely
    constant = np.log((1.0 / (1.0 + np.exp(-odds(x)))).mean() / (1.0 / (1.0 + np.exp(odds(x)))).mean())
    return Setting(
        "class probabilities with nonlinear log-odds, 1,000/1,000",
        lambda rng: (rng.normal(size=(1000, 2)), rng.normal(size=(1000, 2))),
        lambda x: -np.logaddexp(0.0, -odds(x)), lambda x: -np.logaddexp(0.0, odds(x)), linear,
        lambda x: odds(x) - constant, posterior,
    )  # fmt: skip


def settings() -> list[Setting]:
    """Settings where the model is right, then those where it is wrong."""
    zero = np.zeros(1)
    unit, line, wide = (np.zeros(2), 1.0), (zero, 1.0), (np.zeros(10), 1.0)
    readme = ([0.5, 0.5], 1.0)
    return [
        normals("README, likelihoods, quadratic, 500/800", readme, unit, ([1.0, 0.0], 2.0), ([0.0, 0.5], 1.0), 500, 800,
                features=quadratic),
        normals("README, no likelihoods, 500/800", readme, unit, None, None, 500, 800),
        normals("paper: weak likelihoods, 500/500", unit, unit, ([0.5, 0.5], 0.5), ([0.0, 0.0], 0.5), 500, 500),
        normals("likelihoods of precision 4, 500/500", unit, unit, ([1.0, 0.0], 4.0), ([0.0, 0.5], 4.0), 500, 500),
        normals("likelihoods of precision 15, 2,000/2,000", unit, unit, ([1.0, 0.0], 15.0), ([0.5, 0.3], 15.0),
                2000, 2000),
        normals("different likelihoods, quadratic, 500/2,000", unit, unit, ([0.6, -0.2], 1.0), ([0.0, 0.3], 0.5),
                500, 2000, features=quadratic),
        normals("equal posteriors, different priors, 500/2,000", ([0.3, 0.0], 1.0), ([0.45, 0.0], [1.0, 2.0]),
                ([0.3, 0.0], [1.0, 3.0]), ([0.15, 0.0], [1.0, 2.0]), 500, 2000),
        gammas(),
        normals("N(1, 1) against N(0, 1), 200/200", (zero + 1.0, 1.0), line, None, None, 200, 200),
        normals("N(0.5, 1) against N(0, 1), 50/50", (zero + 0.5, 1.0), line, None, None, 50, 50),
        normals("p narrower than q, quadratic, 500/500", ([0.4, -0.3], [0.8**-2, 0.9**-2]), unit, None, None, 500, 500,
                features=quadratic),
        normals("ten columns, shift 0.2, 200/200", (np.full(10, 0.2), 1.0), wide, None, None, 200, 200),
        normals("uneven samples, likelihoods, 100/5,000", unit, unit, ([1.0, 0.0], 1.0), ([0.0, 0.0], 1.0), 100, 5000),
        binary(),
        normals("pairs of correlation 0.8, 300/300", (zero + 0.5, 1.0), line, None, None, 300, 300, correlation=0.8),
        *(
            normals(f"precisions {ratio:g} and 1, linear, 500/500", line, line, (zero + 1.0, ratio), line, 500, 500,
                    right=False)
            for ratio in (1.1, 1.25, 1.5, 2.0, 4.0)
        ),
        classifier(),
        heavy_tails(),
    ]  # fmt: skip


def problem_of(setting: Setting, x_p: np.ndarray, x_q: np.ndarray) -> pre.LogisticProblem:
    likelihoods = (setting.log_lik_p, setting.log_lik_q)
    return pre.LogisticProblem.from_samples(x_p, x_q, *likelihoods, features=setting.features, paired=setting.paired)


def population(setting: Setting) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """The δ that LogisticRatio tends to, and its log ratio; those of a large sample if the model is wrong."""
    if setting.delta is not None:
        return setting.delta, setting.log_ratio
    rng, parts = np.random.default_rng(1), []
    while sum(len(x_p) for x_p, _ in parts) < POPULATION // 2:
        parts.append(setting.draw(rng))
    x_p, x_q = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
    problem = problem_of(setting, x_p, x_q)
    fitted = FittedLogistic(problem, pre.solve(problem))
    return fitted.delta, lambda x: fitted.log_ratio(setting.features(x))


def inside(interval: Any, truth: np.ndarray) -> np.ndarray:
    return (interval.lower <= truth) & (truth <= interval.upper)


def one_run(
    setting: Setting, rng: np.random.Generator, points: np.ndarray, mean: np.ndarray, limit: Any
) -> dict[str, Any] | None:
    """Errors, and what is covered, in one run; ``None`` if one of the estimates does not exist."""
    delta, limit_ratio = limit
    x_p, x_q = setting.draw(rng)
    problem = problem_of(setting, x_p, x_q)
    posterior = posterior_problem(problem)
    try:
        solution = pre.solve(problem)
        test = specification_test(problem, solution)
    except (pre.SolveError, pre.DataError):
        return None
    fitted = FittedLogistic(problem, solution)
    inference = LogisticInference(fitted)
    f, truth = setting.features(points), setting.log_ratio(points)
    other = solution.delta + test.difference  # δ of PRE
    log_z = posterior.tilt(other).log_z
    coefficients = inside(inference.conf_int(), delta)
    found = {
        "mse delta": np.square(solution.delta - delta),
        "mse delta of PRE": np.square(other - delta),
        "mse log r": np.square(fitted.log_ratio(f) - truth).mean(),
        "mse log r of PRE": np.square(f @ other - log_z - truth).mean(),
        "error of mean": np.square(fitted.mu @ x_q - mean).sum(),
        "error of mean of PRE": np.square(posterior.mu(other) @ x_q - mean).sum(),
        "coefficients": coefficients,
        "joint region": inference.contains(delta),
        "log r": inside(inference.log_ratio(f[:TESTED]), limit_ratio(points[:TESTED])),
        "disagree at 5 %": test.p_value < 0.05,
        "disagree at 1 %": test.p_value < 0.01,
    }
    if setting.delta is not None and setting.divergence is not None:
        found["divergence"] = inside(inference.divergence(), np.array([setting.divergence]))
    return found


def run(runs: int, chosen: str = "") -> list[dict[str, object]]:
    """One row for each setting."""
    rows: list[dict[str, object]] = []
    for number, setting in enumerate(settings()):
        if chosen not in setting.name:
            continue
        points = setting.posterior(np.random.default_rng([7, number]), 100_000)
        where = (points[:EVALUATED], points.mean(axis=0), population(setting))
        results = [one_run(setting, np.random.default_rng([number, i]), *where) for i in range(runs)]
        good = [one for one in results if one is not None]
        row: dict[str, object] = {"setting": setting.name, "model": "wrong" if setting.delta is None else "right",
                                  "runs": runs, "failed": runs - len(good)}  # fmt: skip
        for name in QUANTITIES[1:]:
            if name in good[0]:
                values = np.array([one[name] for one in good], dtype=float).reshape(len(good), -1)
                row[name] = f"{(values.mean() if 'mse' not in name else values.sum(axis=1).mean()):.5g}"
            elif name == "lowest coefficient":
                row[name] = f"{np.mean([one['coefficients'] for one in good], axis=0).min():.5g}"
            else:
                row[name] = ""
        rows.append(row)
        print(", ".join(f"{key} {value}" for key, value in row.items()), flush=True)
    return rows


def percent(value: object) -> str:
    return "" if value == "" else f"{100 * float(str(value)):.1f} %"


def tables(rows: list[dict[str, object]]) -> list[str]:
    """What efficiency gains, coverage, and what it costs if the model is wrong."""
    right, wrong = ([row for row in rows if row["model"] == kind] for kind in ("right", "wrong"))

    def ratio(row: dict[str, object], name: str) -> str:
        return f"{float(str(row[f'{name} of PRE'])) / float(str(row[name])):.2f}"

    gain = [
        [row["setting"], *(ratio(row, name) for name in ("mse delta", "mse log r", "error of mean")),
         *(percent(row[name]) for name in QUANTITIES[-2:])]
        for row in right
    ]  # fmt: skip
    covered = [
        [row["setting"], *(percent(row[name]) for name in QUANTITIES[7:12])]
        for row in rows
    ]  # fmt: skip
    cost = [
        [row["setting"], *(f"{np.sqrt(float(str(row[name]))):.3f}" for name in QUANTITIES[3:7]),
         percent(row["disagree at 5 %"]), percent(row["disagree at 1 %"])]
        for row in wrong
    ]  # fmt: skip
    return [
        f"Mean squared errors of `PosteriorRatio` over those of `LogisticRatio` in {int(str(rows[0]['runs'])):,} runs, "
        "where the model is right; and how often the specification test rejects it, its size:",
        "",
        *markdown_table(["the model is right", "δ", "log r", "mean under the weights", "test at 5 %", "at 1 %"], gain),
        "",
        "Root mean squared errors where the model is wrong, of log r and of the mean under the weights, averaged over "
        "the posterior p; and how often the test finds out, its power:",
        "",
        *markdown_table(
            [
                "the model is wrong",
                "log r, logistic",
                "log r, PRE",
                "mean, logistic",
                "mean, PRE",
                "test at 5 %",
                "at 1 %",
            ],
            cost,
        ),
        "",
        "Coverage of the 95 % intervals of `LogisticRatio`; where the model is wrong, of the limits of δ and log r:",
        "",
        *markdown_table(["setting", "coefficients", "lowest of them", "joint region", "log r", "divergence"], covered),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--only", default="", help="settings whose names contain this")
    parser.add_argument("--store", action="store_true", help="write the results file and the tables on the page")
    arguments = parser.parse_args()
    rows = run(arguments.runs, arguments.only)
    if arguments.store and not arguments.only:
        path = store("efficiency", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/efficiency.md", "efficiency", tables(rows))
        print(f"written: {path.name} and the tables of docs/efficiency.md")


if __name__ == "__main__":
    main()
