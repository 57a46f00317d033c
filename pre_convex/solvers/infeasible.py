"""InfeasibleError of a problem: a message that names the features in conflict and a call that would work."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from .._internal.typing import Array
from ..data.affine_span import TARGET_NOISE
from ..errors import InfeasibleError, SolveError, round_up
from ..feasibility.capped import support_of_weights
from ..feasibility.conflict import is_ball
from ..feasibility.hull import Hull
from ..problem import RatioProblem
from ..solution import Solution

__all__ = ["MAX_NAMES", "Advise", "Remedy", "infeasible_error", "listed", "radius_literal"]

#: features that a sentence names
MAX_NAMES = 6
#: features of a problem with one positive radius, up to which the conflict is searched for
MAX_FEATURES = 50
#: ratio of the radii to advise to the cheapest ones, for divergences other than KL: close to those, χ² leaves weight on
#: fewer rows than a certificate needs, and reverse KL has nearly infinite ratios
MARGIN = 1.5
#: a distance whose lower bound is at least this share of the upper one is given as one number
KNOWN = 0.99


#: a remedy as text, and as parameters if it is a call
Remedy = tuple[str, dict[str, Any]]
#: makes the first remedies from the radius and the relaxation to advise, either of which may be unknown
Advise = Callable[[float | None, dict[str, float]], list[Remedy]]


def infeasible_error(
    problem: RatioProblem, solution: Solution, advise: Advise | None = None, unit: Array | None = None
) -> InfeasibleError:
    """The error that belongs to a solution of status INFEASIBLE.

    Parameters
    ----------
    problem : RatioProblem
    solution : Solution
    advise : function, optional
        Makes the remedies that are calls, for callers with parameters of their own; by default ``with_radius``.
    unit : ndarray of shape (k,), optional
        Standard deviations that the features of the problem have been divided by; the message names original values.
    """
    advise = advise or _calls_of_problem
    hull = solution.hull
    lowest, highest = problem.ranges
    noise = TARGET_NOISE * np.maximum(np.abs(lowest), np.abs(highest))
    off = (problem.target < lowest - noise) | (problem.target > highest + noise)
    outside = tuple(name for name, is_off in zip(problem.feature_names, off, strict=True) if is_off)
    if hull is None:  # the distance was not found, but δ separates
        remedies = advise(None, {})
        message = f"No weights{_within(problem)} match the target.{_remedies(problem, remedies)}"
        return InfeasibleError(message, solution, advice=_calls(remedies))
    conflict: tuple[str, ...] = ()
    relaxation: dict[str, float] = {}
    # in balls directions are not sparse, and the conflict needs a search for each feature
    if problem.k <= MAX_FEATURES or not is_ball(problem):
        with suppress(SolveError):  # of a linear program; the distance is known nevertheless
            conflict, relaxation = hull.conflict, _with_margin(problem, hull.relaxation)
            _ = hull.separating  # an error that is pickled has all that it says, and not the problem
    ranges = (lowest, highest, np.ones(problem.k) if unit is None else unit)
    message = f"{_distance(problem, hull, unit is not None)}{_conflict(problem, conflict, *ranges)}"
    error = InfeasibleError(message, solution, hull, outside, relaxation)
    advised = None if problem.radius_per_feature else error.advised_radius
    remedies = advise(advised, relaxation)
    message += _remedies(problem, remedies, outside)
    return InfeasibleError(message, solution, hull, outside, relaxation, _calls(remedies))


def _calls(remedies: list[Remedy]) -> tuple[dict[str, Any], ...]:
    """The remedies that are calls."""
    return tuple(parameters for _, parameters in remedies if parameters)


def _calls_of_problem(radius: float | None, relaxation: dict[str, float]) -> list[Remedy]:
    """Remedies by ``problem.with_radius``."""
    remedies: list[Remedy] = []
    if 0 < len(relaxation) <= MAX_NAMES:
        text = f"relax the cheapest features, problem.with_radius({radius_literal(relaxation)})"
        remedies.append((text, {"radius": relaxation}))
    if radius is not None:
        remedies.append((f"use a radius of {radius:g} or more", {"radius": radius}))
    return remedies


def _within(problem: RatioProblem) -> str:
    return " within the bounds" if problem.link.bounded else " on the q sample"


def _distance(problem: RatioProblem, hull: Hull, scaled: bool) -> str:
    """Sentence with the distance, which counts only if there is one radius for all features."""
    if problem.radius_per_feature:
        return f"No weights{_within(problem)} match the target to within the radius of each feature."
    where = "moments that weights within the bounds have" if problem.link.bounded else "hull of the q features"
    size = f"{hull.radius:.6g}"
    if hull.lower < KNOWN * hull.radius:
        size = f"between {hull.lower:.3g} and {hull.radius:.3g}"
    distance = f"{size} standard deviations" if scaled else f"at distance {size}"
    return (
        f"The target is {distance} from the {where} in norm {problem.norm:g}, more than the radius {problem.radius:g}, "
        f"so no weights{_within(problem)} match it."
    )


def _conflict(problem: RatioProblem, conflict: tuple[str, ...], lowest: Array, highest: Array, unit: Array) -> str:
    """Sentence that names the features that conflict; empty if they are not known."""
    if not conflict:
        return ""
    to = "" if problem.exact else " to within the radius"
    names = listed(conflict)
    if len(conflict) == 2:
        return f" {names} can each be matched{to}, but not together."
    if len(conflict) > 2:
        return f" {names} cannot be matched together{to}, but can if any one of them is left out."
    i = problem.feature_names.index(conflict[0])
    b, low, high = (float(x[i] * unit[i]) for x in (problem.target, lowest, highest))
    digits = _digits(b, low, high)
    if not low <= b <= high:
        radius = float(np.broadcast_to(problem.radius, problem.k)[i])
        by = f" by more than the radius {radius:g}" if radius else ""
        return f" The target {b:{digits}} of {names} is outside the q range [{low:{digits}}, {high:{digits}}]{by}."
    v = np.eye(1, problem.k, i)[0]
    high, low = b + unit[i] * support_of_weights(problem, v), b - unit[i] * support_of_weights(problem, -v)
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


def listed(names: tuple[str, ...]) -> str:
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


def _remedies(problem: RatioProblem, remedies: list[Remedy], outside: tuple[str, ...] = ()) -> str:
    """Sentence of remedies."""
    texts = [f"remove the p rows outside the q range of {listed(outside)}"] if outside else []
    if problem.link.bounded:
        texts.append("widen the bounds")
    texts += [text for text, _ in remedies]
    texts.append("add q samples where the p sample is")
    if not any(text.startswith("drop ") for text in texts):
        texts.append("drop features")
    return f" Remedies: {'; '.join(texts)}."


def radius_literal(relaxation: Mapping[Any, float]) -> str:
    """A radius for each feature as Python code."""
    keys = ("..." if name is ... else json.dumps(name, ensure_ascii=False) for name in relaxation)
    return f"{{{', '.join(f'{key}: {_literal(x)}' for key, x in zip(keys, relaxation.values(), strict=True))}}}"


def _literal(x: float) -> str:
    return 'float("inf")' if x == np.inf else repr(x)
