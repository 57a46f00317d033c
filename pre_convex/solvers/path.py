"""Solutions along the radius, each started from its neighbour."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from ..arrays import as_flag
from ..checks import as_radii, check_tol
from ..problem import RatioProblem, as_problem
from ..solution import Solution
from ..threads import one_thread_each
from .newton import newton
from .solve import as_solution, conclude
from .steps import make_penalty

__all__ = ["radius_path"]


@one_thread_each()
def radius_path(
    problem: RatioProblem,
    radii: Iterable[float],
    *,
    penalty: Any = None,
    constraints: Any = None,
    tol: float = 1e-8,
    stop: bool = False,
) -> list[Solution]:
    """Warm-started Newton solutions for each radius, in the order given.

    A radius below the distance to the hull has status INFEASIBLE; nothing is raised. With ``stop`` the path ends at the
    first radius that is not solved, which spares the smaller ones of a falling path.

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
        user = penalty is not None or constraints is not None
        solution = conclude(
            step,
            as_solution(step, found, "newton", "primal", solve_time=seconds),
            tol,
            user=user,
            collapsed=found.collapsed,
        )
        solutions.append(solution)
        if stop and not solution.status.ok:
            break
        start = found.delta if solution.status.ok else None
    return solutions
