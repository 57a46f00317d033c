"""The demo: one posterior-ratio problem with a known answer, solved by every engine in both formulations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..entropy import Array
from ..likelihoods import Gaussian
from ..problem import RatioProblem
from ..solution import Solution
from ..solvers import installed_solvers, solve

__all__ = ["Demo", "DemoRow", "make_demo", "run_demo"]


@dataclass(frozen=True, eq=False)
class Demo:
    """The samples, the problem, and its exact answer."""

    x: Array
    problem: RatioProblem
    delta: Array


@dataclass(frozen=True, eq=False)
class DemoRow:
    """One solve: its solution and its distance to the exact δ."""

    solution: Solution
    error: float

    @property
    def seconds(self) -> float:
        """Time from data to certified answer."""
        s = self.solution
        return s.compile_time + s.setup_time + s.solve_time


def make_demo(n: int = 1000, seed: int = 0) -> Demo:
    """Two observers of one latent x in the plane: the same prior sample, two Gaussian likelihoods.

    With precisions τ_p, τ_q and observations y_p, y_q the log-likelihoods differ by ⟨δ, [x, x²]⟩ and a constant,
    for δ = [τ_p y_p − τ_q y_q, −(τ_p − τ_q)/2]. Since both sides use the same prior rows, the empirical
    problem has exactly this answer, whatever the sample.
    """
    x = np.random.default_rng(seed).normal(size=(n, 2))
    y_p, tau_p = np.array([0.9, 0.5]), 3.0
    y_q, tau_q = np.array([-0.4, 0.2]), 1.5
    problem = RatioProblem.from_samples(
        x, x, Gaussian(tuple(y_p), tau_p), Gaussian(tuple(y_q), tau_q), features="polynomial", paired=True
    )
    delta = np.concatenate([tau_p * y_p - tau_q * y_q, np.full(2, -(tau_p - tau_q) / 2)])
    return Demo(x, problem, delta)


def run_demo(demo: Demo, tol: float = 1e-8) -> Iterator[DemoRow]:
    """Solve as primal and dual with every installed solver, one row at a time."""
    for solver in installed_solvers():
        for formulation in ("primal", "dual"):
            solution = solve(demo.problem, formulation, solver, tol=tol, check=False)
            yield DemoRow(solution, float(np.linalg.norm(solution.delta - demo.delta)))
