"""Coverage of a local explanation's 95 % intervals: ``python benchmarks/explanation_coverage.py``.

A black box of two features with nonlinear log-odds is explained many times from new points, drawn from a box or from a
normal distribution with the same standard deviation. The truth is the local classifier of infinitely many points, by
quadrature. Then five on/off features, with increasing probability of being on; the truth is the local classifier of all
32 combinations. ``--store`` writes ``results/explanation*.csv`` and the tables of ``docs/explanation.md``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from storing import markdown_table, quote, store

from pre_convex.applications.explanation import Box, Gaussian, OnOff, explain
from pre_convex.applications.explanation.surrogate import LinearSurrogate, fit_surrogate
from pre_convex.statistics.inference import Inference

NAMES = ("x0", "x1")
NODES = 200
X = np.zeros(2)


def black_box(x: np.ndarray, steepness: float) -> np.ndarray:
    """Probabilities of two classes."""
    odds = steepness * (0.8 * x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.4 * x[:, 0] * x[:, 1])
    return 1.0 / (1.0 + np.exp(np.column_stack([odds, -odds])))


@dataclass(frozen=True)
class Scenario:
    """Distribution of the points, its standard deviation, steepness of the black box and number of points."""

    distribution: str
    sd: float
    steepness: float
    n: int

    @property
    def perturbation(self) -> Box | Gaussian:
        """How the points are drawn."""
        return Box(np.sqrt(3.0) * self.sd) if self.distribution == "box" else Gaussian(self.sd)

    def truth(self) -> LinearSurrogate:
        """The local classifier of infinitely many points, in the features of the fits."""
        rule = np.polynomial.legendre.leggauss if self.distribution == "box" else np.polynomial.hermite_e.hermegauss
        nodes, weights = rule(NODES)
        positive = weights > 1e-30
        nodes, weights = nodes[positive], weights[positive]
        u = np.array([[a, b] for a in nodes for b in nodes])
        P = black_box(X + u * self.perturbation.around(X).unit, self.steepness)
        log_weights = np.log(np.outer(weights, weights).ravel())
        return fit_surrogate(u, P[:, 1], P[:, 0], NAMES, log_weights=log_weights, floor=1e-300, tol=1e-10)

    def __str__(self) -> str:
        return f"{self.distribution}, sd {self.sd:g}, steepness {self.steepness:g}, n = {self.n:,}"


def scenarios() -> list[Scenario]:
    return [
        Scenario(distribution, sd, steepness, n)
        for distribution in ("box", "Gaussian")
        for sd in (0.5, 1.0)
        for steepness in (1.0, 2.0, 4.0)
        for n in (200, 1000)
    ]


def outcomes(scenario: Scenario, truth: LinearSurrogate, seed: int) -> dict[str, bool]:
    """Which intervals of one explanation cover the truth."""
    predict = partial(black_box, steepness=scenario.steepness)
    found = explain(predict, X, scenario.perturbation, scenario.n, label=1, n_test=0, rng=seed)
    true_coef = truth.coef / found.unit
    covered = {}
    centred = Inference(found.fit.problem, found.fit.solution.delta, kind="centred").std_error / found.unit
    for kind, error in (("hc3", found.std_error), ("centred", centred)):
        inside = np.abs(found.coef - true_coef) <= 1.959964 * error
        covered |= {f"{name}, {kind}": bool(hit) for name, hit in zip(NAMES, inside, strict=True)}
    at_x = found.decision_interval()
    covered["log-odds at x"] = bool(at_x.lower[0] <= truth.offset <= at_x.upper[0])
    return covered


def run(runs: int) -> list[dict[str, object]]:
    """Coverage of every scenario."""
    rows: list[dict[str, object]] = []
    for scenario in scenarios():
        truth = scenario.truth()
        covered = [outcomes(scenario, truth, seed) for seed in range(runs)]
        shares = {key: float(np.mean([run[key] for run in covered])) for key in covered[0]}
        facts = {"points": scenario.distribution, "sd": scenario.sd, "steepness": scenario.steepness, "n": scenario.n}
        rows.append({**facts, "runs": runs, **{key: f"{100.0 * share:.1f}" for key, share in shares.items()}})
        print(f"{scenario!s:42s}", *(f"{key} {100.0 * share:.1f} %" for key, share in shares.items()), flush=True)
    return rows


def on_off_black_box(x: np.ndarray) -> np.ndarray:
    """Probability of the second class, for five on/off features with interactions."""
    a, b, c, d, e = x.T
    return 1.0 / (1.0 + np.exp(-(1.5 * a - b + 2.0 * a * b * c - 1.2 * a * d + 0.3 * e - 1.0)))


def run_on_off(runs: int) -> list[dict[str, object]]:
    """Coverage and warnings for on/off features, by the probability of being on."""
    rows: list[dict[str, object]] = []
    z = np.array(list(product([0.0, 1.0], repeat=5)))
    for keep, n in product((0.5, 0.8, 0.9, 0.95), (60, 300, 1000)):
        weights = np.log(keep) * z.sum(axis=1) + np.log1p(-keep) * (1.0 - z).sum(axis=1)
        plus = on_off_black_box(z)
        truth = fit_surrogate(z - 1.0, plus, 1.0 - plus, tuple("abcde"), log_weights=weights, tol=1e-10)
        covered, at_x, warned, refused = np.zeros(5), 0, 0, 0
        for seed in range(runs):
            found = explain(on_off_black_box, np.ones(5), OnOff(keep=keep), n, label=1, n_test=0, rng=seed)
            warned += any("rarely off" in text for text in found.warnings)
            refused += bool(found.refusal)
            interval, here = found.conf_int(), found.decision_interval()
            covered += (interval.lower <= truth.coef) & (truth.coef <= interval.upper)
            at_x += bool(here.lower[0] <= truth.offset <= here.upper[0])
        shown = max(runs - refused, 1)
        shares = {"least covered": covered.min() / shown, "most covered": covered.max() / shown,
                  "log-odds at x": at_x / shown, "warned": warned / runs, "refused": refused / runs}  # fmt: skip
        rows.append({"keep": keep, "n": n, "runs": runs, **{key: f"{100.0 * v:.1f}" for key, v in shares.items()}})
        print(f"on/off, keep {keep:g}, n = {n:,}:", *(f"{key} {100.0 * v:.1f} %" for key, v in shares.items()))
    return rows


def on_off_table(rows: list[dict[str, object]]) -> list[str]:
    """Markdown table: one row for each probability and number of points."""
    keys = ["least covered", "most covered", "log-odds at x", "warned", "refused"]
    body = [[f"{row['keep']:g}", f"{row['n']:,}", *(f"{row[key]} %" for key in keys)] for row in rows]
    return markdown_table(["keep", "n", *keys], body)


def table(rows: list[dict[str, object]]) -> list[str]:
    """Markdown table: one row for each scenario, then the range for each distribution."""
    keys = [f"{name}, {kind}" for kind in ("hc3", "centred") for name in NAMES] + ["log-odds at x"]
    body = []
    for row in rows:
        facts = (row["points"], f"{row['sd']:g}", f"{row['steepness']:g}", f"{row['n']:,}")
        body.append([*facts, *(f"{row[key]} %" for key in keys)])
    lines = [*markdown_table(["points", "sd", "steepness", "n", *keys], body), ""]
    for distribution in ("box", "Gaussian"):
        shares = [float(str(row[f"{name}, hc3"])) for row in rows if row["points"] == distribution for name in NAMES]
        span = f"{min(shares):.1f} % to {max(shares):.1f} %"
        lines.append(f"- {distribution} points: coefficients covered in {span} of runs (hc3).")
    lines.append(f"- {int(str(rows[0]['runs'])):,} runs each.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    arguments = parser.parse_args()
    rows, on_off = run(arguments.runs), run_on_off(arguments.runs)
    if arguments.store:
        versions = ("pre_convex", "numpy", "scipy")
        paths = [store("explanation", rows, versions), store("explanation-on-off", on_off, versions)]
        quote("docs/explanation.md", "coverage", table(rows))
        quote("docs/explanation.md", "on-off", on_off_table(on_off))
        print(f"written: {' and '.join(path.name for path in paths)} and the tables of docs/explanation.md")


if __name__ == "__main__":
    main()
