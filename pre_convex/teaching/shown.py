"""Problems as the explorer shows them: its state as JSON, from a problem and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.typing import Array
from ..errors import DataError
from ..problem import RatioProblem, as_problem

__all__ = ["problem_of", "state_of"]

#: the explorer draws every point and lets it be moved
MAX_POINTS = 200
#: its pictures and tolerances need features of similar size
MAX_RATIO = 1e4
NORMS = {"2": 2.0, "inf": np.inf, "1": 1.0}


def state_of(problem: Any) -> dict[str, Any]:
    """The explorer's state for a problem with one or two features.

    Examples
    --------
    >>> state = state_of(RatioProblem([0.2], [[-1.0], [0.0], [1.0]], feature_names=["dose"]))
    >>> state["space"], state["b"], state["given"]["names"]
    ('line', [0.2], ['dose'])
    """
    problem = as_problem(problem)
    points_q, log_base, points_p, log_weights = _points(problem)
    lo, hi = _bounds(problem)
    k = problem.k
    everything = np.vstack([points_q, points_p, problem.target])
    ranges = np.ptp(everything, axis=0)
    if k == 2 and ranges.min() > 0.0 and ranges.max() > MAX_RATIO * ranges.min():
        names = problem.feature_names
        small, large = names[int(ranges.argmin())], names[int(ranges.argmax())]
        raise DataError(
            "problem", f"the range of {large!r} is {ranges.max() / ranges.min():.0e} times that of {small!r}",
            "use units in which they are alike",
        )  # fmt: skip
    box = [_widened(low, high) for low, high in zip(everything.min(axis=0), everything.max(axis=0), strict=True)]
    return {
        "space": "line" if k == 1 else "plane",
        "q": _pairs(points_q),
        "p": _pairs(points_p),
        "hand": not len(points_p),
        "b": problem.target.tolist(),
        **{"tp": 0, "tq": 0, "yp": [0, 0], "yq": [0, 0], "method": "newton"},
        "R": _radius(problem),
        "norm": next(name for name, order in NORMS.items() if order == problem.norm),
        "phi": problem.divergence,
        "lo": lo,
        "hi": hi if np.isfinite(hi) else None,
        "box": {"x": box[0], "y": box[1] if k == 2 else [-1.0, 1.0]},
        "given": {"names": list(problem.feature_names), "q": log_base.tolist(), "p": log_weights.tolist()},
    }


def problem_of(state: dict[str, Any]) -> RatioProblem:
    """The problem of a state: :func:`state_of` undone, after points have been moved."""
    given, k = state["given"], 1 if state["space"] == "line" else 2
    F = np.array(state["q"], dtype=float)[:, :k]
    options: dict[str, Any] = {
        "radius": state["R"], "norm": NORMS[state["norm"]], "divergence": state["phi"],
        "feature_names": given["names"], "log_base": given["q"],
    }  # fmt: skip
    if state["lo"] > 0.0 or state["hi"] is not None:
        options["bounds"] = state["lo"], np.inf if state["hi"] is None else state["hi"]
    if state["hand"]:
        return RatioProblem(np.array(state["b"], dtype=float)[:k], F, **options)
    features_p = np.array(state["p"], dtype=float)[:, :k]
    weights = np.exp(np.array(given["p"]) - max(given["p"]))
    target = weights @ features_p / weights.sum()
    return RatioProblem(target, F, features_p=features_p, log_weights_p=given["p"], **options)


def _points(problem: RatioProblem) -> tuple[Array, Array, Array, Array]:
    """Points of both sides that have weight, and their log weights."""
    if problem.k > 2:
        raise DataError(
            "problem", f"has {problem.k} features; the explorer draws one or two",
            "make the problem with one or two columns",
        )  # fmt: skip
    if not problem.rows.in_memory:
        raise DataError("problem", "its rows are not in memory", "make one of a few rows with RatioProblem(...)")
    F, a = np.asarray(problem.features_q, dtype=float), problem.log_base
    carried = np.isfinite(a)
    F, a = F[carried], a[carried]
    F_p, log_w = np.empty((0, problem.k)), np.empty(0)
    if problem.features_p is not None and problem.log_weights_p is not None:
        some = np.isfinite(problem.log_weights_p)
        F_p, log_w = np.asarray(problem.features_p, dtype=float)[some], problem.log_weights_p[some]
    for rows, side in ((F, "q"), (F_p, "p")):
        if len(rows) > MAX_POINTS:
            raise DataError(
                "problem", f"has {len(rows)} {side} samples; the explorer draws up to {MAX_POINTS}",
                "make the problem with a random part of the rows",
            )  # fmt: skip
    if len(F) < 2:
        raise DataError("problem", "fewer than two q samples have weight", "pass at least two")
    return F, a, F_p, log_w


def _radius(problem: RatioProblem) -> float:
    if problem.radius_per_feature and problem.k > 1:
        raise DataError("problem", "has a radius for each feature; the explorer has one", "pass radius as one number")
    return float(np.max(problem.radius))


def _bounds(problem: RatioProblem) -> tuple[float, float]:
    if problem.link.per_row:
        which = "max_weight with unequal base weights" if problem.max_weight is not None else "bounds for each row"
        raise DataError("problem", f"has {which}; the explorer has one pair", "pass bounds=(lo, hi) as two numbers")
    lo, hi = problem.bounds
    return float(lo), float(hi)


def _pairs(points: Array) -> list[list[float]]:
    """Points with two coordinates; the second is zero on a line."""
    pairs: list[list[float]] = np.column_stack([points, np.zeros(len(points))])[:, :2].tolist()
    return pairs


def _widened(low: float, high: float) -> list[float]:
    margin = 0.08 * (high - low) or 0.5 * max(1.0, abs(low))
    return [float(low - margin), float(high + margin)]
