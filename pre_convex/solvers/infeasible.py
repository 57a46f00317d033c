"""InfeasibleError of a problem: which features conflict, in words, and the call that would work."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np

from .._internal.typing import Array
from ..errors import InfeasibleError, SolveError, round_up
from ..feasibility.capped import support_of_weights
from ..feasibility.conflict import is_ball
from ..feasibility.hull import Hull
from ..problem import RatioProblem
from ..solution import Solution

__all__ = ["infeasible_error"]

#: features that a sentence names
MAX_NAMES = 6
#: features of a problem with one positive radius, up to which the conflict is searched for
MAX_FEATURES = 50
#: ratio of the radii to advise to the cheapest ones, for divergences other than KL: close to those, χ² leaves weight on
#: fewer rows than a certificate needs, and reverse KL has nearly infinite ratios
MARGIN = 1.5


def infeasible_error(problem: RatioProblem, solution: Solution) -> InfeasibleError:
    """The error that belongs to a solution of status INFEASIBLE."""
    hull = solution.hull
    lowest, highest = problem.ranges
    off = (problem.target < lowest) | (problem.target > highest)
    outside = tuple(name for name, is_off in zip(problem.feature_names, off, strict=True) if is_off)
    if hull is None:  # the distance was not found, but δ separates
        return InfeasibleError(f"No weights{_within(problem)} match the target.{_remedies(problem)}", solution)
    conflict: tuple[str, ...] = ()
    relaxation: dict[str, float] = {}
    # in balls directions are not sparse, and the conflict needs a search for each feature
    if problem.k <= MAX_FEATURES or not is_ball(problem):
        with suppress(SolveError):  # of a linear program; the distance is known nevertheless
            conflict, relaxation = hull.conflict, _with_margin(problem, hull.relaxation)
            _ = hull.separating  # an error that is pickled has all that it says, and not the problem
    message = f"{_distance(problem, hull)}{_conflict(problem, conflict, lowest, highest)}"
    error = InfeasibleError(message, solution, hull, outside, relaxation)
    advised = None if problem.radius_per_feature else error.advised_radius
    message += _remedies(problem, outside, advised, relaxation)
    return InfeasibleError(message, solution, hull, outside, relaxation)


def _within(problem: RatioProblem) -> str:
    return " within the bounds" if problem.link.bounded else " on the q sample"


def _distance(problem: RatioProblem, hull: Hull) -> str:
    """Sentence with the distance, which counts only if there is one radius for all features."""
    if problem.radius_per_feature:
        return f"No weights{_within(problem)} match the target to within the radius of each feature."
    where = "moments that weights within the bounds have" if problem.link.bounded else "hull of the q features"
    return (
        f"The target is at distance {hull.radius:.6g} from the {where} in norm {problem.norm:g}, more than the radius "
        f"{problem.radius:g}, so no weights{_within(problem)} match it."
    )


def _conflict(problem: RatioProblem, conflict: tuple[str, ...], lowest: Array, highest: Array) -> str:
    """Sentence that names the features that conflict; empty if they are not known."""
    if not conflict:
        return ""
    to = "" if problem.exact else " to within the radius"
    names = _listed(conflict)
    if len(conflict) == 2:
        return f" {names} can each be matched{to}, but not together."
    if len(conflict) > 2:
        return f" {names} cannot be matched together{to}, but can if any one of them is left out."
    i = problem.feature_names.index(conflict[0])
    b, low, high = float(problem.target[i]), float(lowest[i]), float(highest[i])
    digits = _digits(b, low, high)
    if not low <= b <= high:
        radius = float(np.broadcast_to(problem.radius, problem.k)[i])
        by = f" by more than the radius {radius:g}" if radius else ""
        return f" The target {b:{digits}} of {names} is outside the q range [{low:{digits}}, {high:{digits}}]{by}."
    v = np.eye(1, problem.k, i)[0]
    high, low = b + support_of_weights(problem, v), b - support_of_weights(problem, -v)
    digits = _digits(b, low, high)
    return (
        f" The target {b:{digits}} of {names} is outside [{low:{digits}}, {high:{digits}}], the means that weights "
        f"within the bounds have{to and ', by more than the radius'}."
    )


def _digits(b: float, low: float, high: float) -> str:
    """Format with so many digits that a number outside an interval looks so."""
    for digits in range(4, 17):
        x, y, z = (float(f"{value:.{digits}g}") for value in (b, low, high))
        if not y <= x <= z:
            return f".{digits}g"
    return ".17g"


def _listed(names: tuple[str, ...]) -> str:
    """a; a and b; a, b and c; a, b, c and 5 others."""
    shown = (
        list(names) if len(names) <= MAX_NAMES else [*names[: MAX_NAMES - 1], f"{len(names) - MAX_NAMES + 1} others"]
    )
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _with_margin(problem: RatioProblem, relaxation: dict[str, float]) -> dict[str, float]:
    """The radii to advise: larger and rounded up, except those that the problem has already."""
    margin = InfeasibleError.MARGIN if problem.divergence == "kl" else MARGIN
    R = dict(zip(problem.feature_names, np.broadcast_to(problem.radius, problem.k).tolist(), strict=True))
    kept = R if problem.radius_per_feature else {}
    return {name: x if x == kept.get(name) else round_up(margin * x) for name, x in relaxation.items()}


def _remedies(
    problem: RatioProblem,
    outside: tuple[str, ...] = (),
    advised: float | None = None,
    relaxation: dict[str, float] | None = None,
) -> str:
    """Sentence of remedies, with the call that would work."""
    remedies = []
    if outside:
        remedies.append(f"remove the p rows outside the q range of {_listed(outside)}")
    if problem.link.bounded:
        remedies.append("widen the bounds")
    if relaxation and len(relaxation) <= MAX_NAMES:
        radii = ", ".join(f"{json.dumps(name, ensure_ascii=False)}: {_literal(x)}" for name, x in relaxation.items())
        remedies.append(f"relax the cheapest features, problem.with_radius({{{radii}}})")
    if advised is not None:
        remedies.append(f"use a radius of {advised:g} or more")
    remedies += ["add q samples where the p sample is", "drop features"]
    return f" Remedies: {'; '.join(remedies)}."


def _literal(x: float) -> str:
    return 'float("inf")' if x == np.inf else repr(x)
