"""radius_path(): solutions for a sequence of radii, each warm-started from the one before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.validation import as_flag, as_radii
from ..errors import renamed_arguments
from ..penalties import make_penalty
from ..penalties.radius import as_radius
from ..problem import RatioProblem, as_problem
from ..solution import Solution
from .settings import Settings, make_settings
from .solve import solve_newton

__all__ = ["radius_path"]


@single_threaded_blas()
def radius_path(
    problem: RatioProblem,
    radii: Iterable[Any],
    *,
    penalty: Any = None,
    constraints: Any = None,
    tol: float | None = None,
    settings: Settings | None = None,
    stop: bool = False,
) -> list[Solution]:
    """Solve a problem for each of several radii, with warm starts.

    A radius without a solution raises no error; read the status.

    Parameters
    ----------
    problem : RatioProblem
        The problem; its own radius is ignored.
    radii : iterable of float, or of arrays of shape (k,)
        Radii R ≥ 0, solved in the order given; arrays have one radius for each feature. Decreasing radii make the best
        warm starts.
    penalty, constraints : callable, default None
        Convex cvxpy terms of δ, as in :func:`solve`.
    tol : float, default None
        Tolerance between 0 and 1, as in :func:`solve`; ``None`` uses that of the settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of each solve; ``None`` takes the defaults.
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
    problem, stop = as_problem(problem), as_flag(stop, "stop")
    settings = make_settings(settings, tol=tol)
    solutions: list[Solution] = []
    start = None
    for radius in _radii(radii, problem):
        step = problem.with_radius(radius)
        solution = solve_newton(step, make_penalty(step, penalty, constraints), settings, start=start)
        solution = replace(solution, user_terms=penalty is not None or constraints is not None)
        solutions.append(solution)
        if stop and not solution.status.ok:
            break
        start = solution.delta if solution.status.ok else None
    return solutions


def _radii(radii: Any, problem: RatioProblem) -> list[Any]:
    """Validated radii: numbers, or arrays with one for each feature."""
    if isinstance(radii, str | bytes | set | frozenset) or not np.iterable(radii):
        return list(as_radii(radii))
    radii = list(radii)
    if any(np.ndim(radius) or isinstance(radius, Mapping) for radius in radii):
        with renamed_arguments({"radius": "radii"}):
            return [as_radius(radius, problem.feature_names) for radius in radii]
    return list(as_radii(radii))
