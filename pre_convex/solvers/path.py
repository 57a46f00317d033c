"""radius_path(): solutions for a sequence of radii, each warm-started from the one before."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from .._internal.threads import single_threaded_blas
from .._internal.validation import as_flag, as_radii, check_tol
from ..penalties import make_penalty
from ..problem import RatioProblem, as_problem
from ..solution import Solution
from .newton import newton
from .solve import decide_status, newton_solution

__all__ = ["radius_path"]


@single_threaded_blas()
def radius_path(
    problem: RatioProblem,
    radii: Iterable[float],
    *,
    penalty: Any = None,
    constraints: Any = None,
    tol: float = 1e-8,
    stop: bool = False,
) -> list[Solution]:
    """Solve a problem for each of several radii, with warm starts.

    A radius without a solution raises no error; read the status.

    Parameters
    ----------
    problem : RatioProblem
        The problem; its own radius is ignored.
    radii : iterable of float
        Radii R ≥ 0, solved in the order given. Decreasing radii make the best warm starts.
    penalty, constraints : callable, default None
        Convex cvxpy terms of δ, as in :func:`solve`.
    tol : float, default 1e-8
        Tolerance between 0 and 1, as in :func:`solve`.
    stop : bool, default False
        Whether to end at the first radius that is not solved, so that smaller ones of a decreasing path are skipped.

    Returns
    -------
    list of Solution
        One for each radius, in the order given; shorter if ``stop`` ended the path.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> [round(float(s.delta[0]), 4) for s in radius_path(problem, [0.3, 0.1, 0.0])]
    [0.0, -0.619, -1.0986]
    """
    problem, tol, stop = as_problem(problem), check_tol(tol), as_flag(stop, "stop")
    solutions: list[Solution] = []
    start = None
    for radius in as_radii(radii):
        step = problem.with_radius(radius)
        started = time.perf_counter()
        found = newton(step, make_penalty(step, penalty, constraints), tol=tol, start=start)
        seconds = time.perf_counter() - started
        has_user_terms = penalty is not None or constraints is not None
        solution = decide_status(
            step,
            newton_solution(step, found, "newton", "primal", solve_time=seconds),
            tol,
            has_user_terms=has_user_terms,
            may_diverge=found.may_diverge,
        )
        solutions.append(solution)
        if stop and not solution.status.ok:
            break
        start = found.delta if solution.status.ok else None
    return solutions
