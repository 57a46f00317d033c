"""Simulated coverage of the intervals of the convex family [FAMINF]: ``python benchmarks/family_coverage.py``.

q is uniform on a square and p has the density ratio t(c + ⟨δ, x⟩) of [RATIO], drawn by rejection, so that δ is known; c
and the divergence are integrals over a fine grid. ``--store`` writes ``results/family-coverage.csv`` and the table of
``docs/coverage.md``.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from storing import markdown_table, quote, store

import pre_convex as pre
from pre_convex.divergences import Link, get_divergence
from pre_convex.statistics.linked_inference import reach_warnings

POINTS = np.array([[0.5, 0.2], [-0.3, 0.4]])
#: one in so many samples is also looked at for the warning about tight bounds, which takes several solves
LOOKED_AT = 10
QUANTITIES = ("delta_1", "delta_2", "r at (0.5, 0.2)", "r at (-0.3, 0.4)", "divergence", "joint region")


@dataclass(frozen=True)
class Scenario:
    """How to draw samples; ``aim`` says whether the intervals should have their nominal coverage."""

    name: str
    divergence: str
    delta: tuple[float, float]
    n: int
    bounds: tuple[float, float] | None = None
    aim: bool = True

    @property
    def link(self) -> Link:
        """[RATIO]."""
        return Link(get_divergence(self.divergence), *(self.bounds or (0.0, np.inf)))

    def truth(self) -> tuple[float, float, float]:
        """(c, divergence, largest ratio)."""
        axis = np.linspace(-1.0, 1.0, 801)
        weight = np.ones(axis.size)
        weight[[0, -1]] = 0.5
        pi = np.outer(weight, weight).ravel() / weight.sum() ** 2
        z = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2) @ np.array(self.delta)
        c = self.link.intercept(z, pi)
        t = self.link.ratio(c + z)
        return c, float(pi @ self.link.divergence.phi(t)), float(t.max())

    def draw(self, c: float, most: float, rng: np.random.Generator) -> pre.RatioProblem:
        """A problem of n rows on each side."""
        x_p = np.zeros((0, 2))
        while len(x_p) < self.n:
            x = rng.uniform(-1.0, 1.0, (2 * self.n, 2))
            accepted = rng.random(2 * self.n) * most < self.link.ratio(c + x @ np.array(self.delta))
            x_p = np.concatenate([x_p, x[accepted]])
        x_q = rng.uniform(-1.0, 1.0, (self.n, 2))
        return pre.RatioProblem.from_samples(x_p[: self.n], x_q, divergence=self.divergence, bounds=self.bounds)


SCENARIOS = (
    Scenario("χ², n = 200", "chi2", (0.5, 0.3), 200),
    Scenario("χ², ratio zero on a fifth of the rows, n = 200", "chi2", (1.5, 0.8), 200),
    Scenario("χ², ratio zero on a fifth of the rows, n = 1,000", "chi2", (1.5, 0.8), 1000),
    Scenario("reverse KL, n = 200", "reverse-kl", (0.4, 0.2), 200),
    Scenario("reverse KL, n = 1,000", "reverse-kl", (0.4, 0.2), 1000),
    Scenario("reverse KL, δ = 0, n = 500", "reverse-kl", (0.0, 0.0), 500),
    Scenario("KL, ratio at most 2, n = 1,000", "kl", (0.8, 0.4), 1000, (0.0, 2.0)),
    Scenario("KL, ratio from 0.5 to 1.5, n = 5,000", "kl", (0.8, 0.4), 5000, (0.5, 1.5), aim=False),
    Scenario("KL, ratio from 0.5 to 1.5, n = 500", "kl", (0.8, 0.4), 500, (0.5, 1.5), aim=False),
)


def outcome(scenario: Scenario, c: float, divergence: float, most: float, rng: np.random.Generator) -> list[bool] | str:
    """What the intervals of one sample contain, or why there are none."""
    problem = scenario.draw(c, most, rng)
    solution = pre.solve(problem, check=False)
    if not solution.ok:
        return "no solution"
    try:
        found = pre.Inference(problem, solution.delta)
    except pre.DataError:
        return "refused"
    delta = np.array(scenario.delta)
    truths = (delta, scenario.link.ratio(c + POINTS @ delta), np.array([divergence]))
    intervals = (found.conf_int(), found.ratio(POINTS), found.divergence())
    inside = [
        bool(hit)
        for interval, truth in zip(intervals, truths, strict=True)
        for hit in (interval.lower <= truth + 1e-12) & (truth - 1e-12 <= interval.upper)
    ]
    return [*inside, found.contains(delta)]


def warns(problem: pre.RatioProblem) -> bool:
    """Whether the bounds put a target within the noise out of reach, or this one."""
    solution = pre.solve(problem, check=False)
    return not solution.ok or bool(reach_warnings(problem, solution.delta))


def run(runs: int) -> list[dict[str, object]]:
    """Coverage in every scenario, over the samples that have intervals."""
    rows: list[dict[str, object]] = []
    for number, scenario in enumerate(SCENARIOS):
        truth = scenario.truth()
        found = [outcome(scenario, *truth, np.random.default_rng([number, i])) for i in range(runs)]
        looked_at = range(0, runs, LOOKED_AT)
        warned = np.mean(
            [warns(scenario.draw(truth[0], truth[2], np.random.default_rng([number, i]))) for i in looked_at]
        )
        hits = np.array([one for one in found if not isinstance(one, str)], dtype=float).reshape(-1, len(QUANTITIES))
        shares = {name: f"{100 * share:.1f}" for name, share in zip(QUANTITIES, hits.mean(axis=0), strict=True)}
        rows.append({"scenario": scenario.name, "runs": runs, "no_solution": found.count("no solution"),
                     "refused": found.count("refused"), "warned": f"{100 * warned:.1f}", "aim": scenario.aim,
                     **shares})  # fmt: skip
        print(rows[-1], flush=True)
    return rows


def table(rows: list[dict[str, object]]) -> list[str]:
    """The table of docs/coverage.md."""
    head = ["scenario", *QUANTITIES, "no solution", "refused", "warned"]
    body = []
    for row in rows:
        lost = (f"{100 * int(row[name]) / int(row['runs']):.1f} %" for name in ("no_solution", "refused"))
        body.append([row["scenario"], *(f"{row[name]} %" for name in QUANTITIES), *lost, f"{row['warned']} %"])
    return markdown_table(head, body)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--store", action="store_true", help="write the results file and the table on the page")
    arguments = parser.parse_args()
    rows = run(arguments.runs)
    if arguments.store:
        path = store("family-coverage", rows, ("pre_convex", "numpy", "scipy"))
        quote("docs/coverage.md", "family-coverage", table(rows))
        print(f"written: {path.name} and the table of docs/coverage.md")


if __name__ == "__main__":
    main()
