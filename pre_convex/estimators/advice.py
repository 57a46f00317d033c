"""Advice for infeasible fits of an estimator: parameters that work, as text and as fields of the error."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InfeasibleError, round_up
from ..problem import RatioProblem
from ..solution import Status
from ..solvers import solve
from ..solvers.infeasible import MAX_NAMES, Remedy, infeasible_error, listed, radius_literal
from .standardising import feature_units

if TYPE_CHECKING:
    from .posterior_ratio import PosteriorRatio

__all__ = ["infeasible_fit"]

#: ratio of the radius to advise to the one that an error advises: further from the boundary, more rows have weight
FURTHER = 1.8
#: radius in standard deviations of features that need none
OTHERS = 0.05


def infeasible_fit(error: InfeasibleError, fit: PosteriorRatio, given: RatioProblem) -> InfeasibleError:
    """The error of an infeasible fit, whose advice can be passed to the estimator.

    Parameters
    ----------
    error : InfeasibleError
        The error of ``fit.problem_``.
    fit : PosteriorRatio
        The estimator, with all that was set before its problem was solved.
    given : RatioProblem
        The problem in the units of the features.
    """
    problem, solution, unit = fit.problem_, error.solution, fit.scale_
    if fit.standardise and np.all(fit.scale_ == 1.0):  # without a radius nothing was scaled, but the advice is
        unit = feature_units(given, fit.features_)
        problem = given._in_units(unit).with_radius(fit.radius_)
        solution = solve(problem, settings=fit.settings, check=False)
        if solution.status is not Status.INFEASIBLE:  # by round-off only
            return error
    chooses = problem.exponential and problem.rows.in_memory and not fit._has_terms
    low, high = problem.ranges
    advise = partial(
        _parameters,
        chooses=chooses,
        standardised=bool(fit.standardise),
        at_edge=bool(np.any((problem.target == low) | (problem.target == high))),
        k=problem.k,
    )
    return infeasible_error(problem, solution, advise, unit if fit.standardise else None)


def _parameters(
    radius: float | None,
    relaxation: dict[str, float],
    *,
    chooses: bool,
    standardised: bool,
    at_edge: bool,
    k: int,
) -> list[Remedy]:
    """Remedies by parameters of the estimator.

    If a mean is at the edge of its q values, matching the other features exactly would be on the boundary.
    """
    extra: dict[str, Any] = {} if standardised else {"standardise": True}
    wide = "" if standardised else ", standardise=True"
    unit = " standard deviations" if standardised else ""
    remedies: list[Remedy] = []
    if chooses:
        remedies.append((f'pass radius="cv"{wide}, which cross-validates', {"radius": "cv", **extra}))
        remedies.append((f'pass radius="auto"{wide}, the noise of the means', {"radius": "auto", **extra}))
    if 0 < len(relaxation) <= MAX_NAMES and (standardised or not at_edge):
        radii: dict[Any, float] = {**relaxation, ...: OTHERS} if at_edge else relaxation
        remedies.append((f"relax the cheapest features, radius={radius_literal(radii)}", {"radius": radii}))
    if radius is not None:
        enough = round_up(FURTHER * radius)
        remedies.append((f"pass a radius of {enough:g}{unit} or more", {"radius": enough}))
    if 0 < len(relaxation) < k and not at_edge:
        remedies.append((f"drop {listed(tuple(relaxation))}", {}))
    return remedies
