"""Coverage of a local explanation's 95 % intervals: ``python benchmarks/explanation_coverage.py``.

A black box in the plane whose log-odds no linear function equals is explained again and again from new points, drawn
from a box or from a normal law with the same standard deviation. The truth is the local classifier of infinitely many
points, by quadrature. Then five features that are on or off, kept more and more often; the truth is the local
classifier of all 32 combinations. ``--store`` writes ``results/explanation*.csv`` and the tables of
``docs/explanation.md``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from storing import quote, store

from pre_convex.applications.explanation import Box, Gaussian, OnOff, explain
from pre_convex.applications.explanation.local_fit import LocalFit, fit_local
from pre_convex.inference import Inference

NAMES = ("x0", "x1")
NODES = 200
X = np.zeros(2)


def black_box(x: np.ndarray, steepness: float) -> np.ndarray:
    """Probabilities of two classes."""
    odds = steepness * (0.8 * x[:, 0] + np.sin(2.0 * x[:, 1]) + 0.4 * x[:, 0] * x[:, 1])
    return 1.0 / (1.0 + np.exp(np.column_stack([odds, -odds])))


@dataclass(frozen=True)
class Scenario:
    """A law of the points, its standard deviation, the steepness of the black box and the number of points."""

    law: str
    sd: float
    steepness: float
    n: int

    @property
    def perturbation(self) -> Box | Gaussian:
        """The recipe of the points."""
        return Box(np.sqrt(3.0) * self.sd) if self.law == "box" else Gaussian(self.sd)

    def truth(self) -> LocalFit:
        """The local classifier of the population, in the features that the fits have."""
        rule = np.polynomial.legendre.leggauss if self.law == "box" else np.polynomial.hermite_e.hermegauss
        nodes, weights = rule(NODES)
        carries = weights > 1e-30
        nodes, weights = nodes[carries], weights[carries]
        u = np.array([[a, b] for a in nodes for b in nodes])
        P = black_box(X + u * self.perturbation.around(X).unit, self.steepness)
        log_weights = np.log(np.outer(weights, weights).ravel())
        return fit_local(u, P[:, 1], P[:, 0], NAMES, log_weights=log_weights, floor=1e-300, tol=1e-10)

    def __str__(self) -> str:
        return f"{self.law}, sd {self.sd:g}, steepness {self.steepness:g}, n = {self.n:,}"


def scenarios() -> list[Scenario]:
    return [
        Scenario(law, sd, steepness, n)
        for law in ("box", "Gaussian")
        for sd in (0.5, 1.0)
        for steepness in (1.0, 2.0, 4.0)
        for n in (200, 1000)
    ]


def outcomes(scenario: Scenario, truth: LocalFit, seed: int) -> dict[str, bool]:
    """What the intervals of one explanation cover."""
    ask = partial(black_box, steepness=scenario.steepness)
    found = explain(ask, X, scenario.perturbation, scenario.n, label=1, n_test=0, rng=seed)
    goal = truth.coef / found.unit
    held = {}
    centred = Inference(found.fit.problem, found.fit.solution.delta).std_error / found.unit
    for kind, error in (("hc3", found.std_error), ("centred", centred)):
        inside = np.abs(found.coef - goal) <= 1.959964 * error
        held |= {f"{name}, {kind}": bool(hit) for name, hit in zip(NAMES, inside, strict=True)}
    at_x = found.decision_interval()
    held["log-odds at x"] = bool(at_x.lower[0] <= truth.offset <= at_x.upper[0])
    return held


def run(runs: int) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for scenario in scenarios():
        truth = scenario.truth()
        held = [outcomes(scenario, truth, seed) for seed in range(runs)]
        shares = {key: float(np.mean([one[key] for one in held])) for key in held[0]}
        rows.append({"points": scenario.law, "sd": scenario.sd, "steepness": scenario.steepness, "n": scenario.n,
                     "runs": runs, **{key: f"{100.0 * share:.1f}" for key, share in shares.items()}})  # fmt: skip
        print(f"{scenario!s:42s}", *(f"{key} {100.0 * share:.1f} %" for key, share in shares.items()), flush=True)
    return rows


def switched_box(x: np.ndarray) -> np.ndarray:
    """Probability of the second class, for five features that are on or off."""
    a, b, c, d, e = x.T
    return 1.0 / (1.0 + np.exp(-(1.5 * a - b + 2.0 * a * b * c - 1.2 * a * d + 0.3 * e - 1.0)))


def run_switches(runs: int) -> list[dict[str, object]]:
    """Coverage and warnings for features that are on with some probability."""
    rows: list[dict[str, object]] = []
    z = np.array(list(product([0.0, 1.0], repeat=5)))
    for keep, n in product((0.5, 0.8, 0.9, 0.95), (60, 300, 1000)):
        weights = np.log(keep) * z.sum(axis=1) + np.log1p(-keep) * (1.0 - z).sum(axis=1)
        plus = switched_box(z)
        truth = fit_local(z - 1.0, plus, 1.0 - plus, tuple("abcde"), log_weights=weights, tol=1e-10)
        covered, at_x, warned, refused = np.zeros(5), 0, 0, 0
        for seed in range(runs):
            found = explain(switched_box, np.ones(5), OnOff(keep=keep), n, label=1, n_test=0, rng=seed)
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


def table_switches(rows: list[dict[str, object]]) -> list[str]:
    """One line for each probability and number of points."""
    keys = ["least covered", "most covered", "log-odds at x", "warned", "refused"]
    lines = ["| keep | n | " + " | ".join(keys) + " |", "|---" * (2 + len(keys)) + "|"]
    return lines + [
        f"| {row['keep']:g} | {row['n']:,} | " + " | ".join(f"{row[key]} %" for key in keys) + " |" for row in rows
    ]


def table(rows: list[dict[str, object]]) -> list[str]:
    """One line for each scenario, then the range over all of a law."""
    keys = [f"{name}, {kind}" for kind in ("hc3", "centred") for name in NAMES] + ["log-odds at x"]
    lines = ["| points | sd | steepness | n | " + " | ".join(keys) + " |", "|---" * (4 + len(keys)) + "|"]
    for row in rows:
        facts = (row["points"], f"{row['sd']:g}", f"{row['steepness']:g}", f"{row['n']:,}")
        lines.append("| " + " | ".join([*map(str, facts), *(f"{row[key]} %" for key in keys)]) + " |")
    lines.append("")
    for law in ("box", "Gaussian"):
        shares = [float(str(row[f"{name}, hc3"])) for row in rows if row["points"] == law for name in NAMES]
        lines.append(
            f"- {law} points: coefficients covered in {min(shares):.1f} % to {max(shares):.1f} % of runs (hc3)."
        )
    lines.append(f"- {int(str(rows[0]['runs'])):,} runs each.")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--store", action="store_true", help="write the results file and the table that quotes it")
    arguments = parser.parse_args()
    rows, switches = run(arguments.runs), run_switches(arguments.runs)
    if arguments.store:
        versions = ("pre_convex", "numpy", "scipy")
        paths = [store("explanation", rows, versions), store("explanation-on-off", switches, versions)]
        quote("docs/explanation.md", "coverage", table(rows))
        quote("docs/explanation.md", "on-off", table_switches(switches))
        print(f"written: {' and '.join(path.name for path in paths)} and the tables of docs/explanation.md")


if __name__ == "__main__":
    main()
