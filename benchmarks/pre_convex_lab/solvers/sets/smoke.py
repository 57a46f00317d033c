"""Four small cases that run in seconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pre_convex.problem import RatioProblem

from ..cases import Case, Truth, planted

TITLE = "four small cases, one of every kind"
VERSION = 1


def cases() -> Iterator[Case]:
    """No radius, a radius, a target on the boundary of the hull, and one outside."""
    rng = np.random.default_rng(20)
    F = rng.normal(size=(60, 2))
    delta = np.array([0.5, -0.3])
    yield planted("plain", F, delta)
    yield planted("radius", F, delta, radius=0.1, norm=np.inf)
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    boundary = RatioProblem(np.array([0.5, 1.0]), square)
    yield Case("edge", boundary, Truth.BOUNDARY, boundary.dual_value([0.0, 0.5, 0.0, 0.5]))
    yield Case(
        "outside", RatioProblem(np.array([0.5, 3.0]), square), Truth.INFEASIBLE, -np.inf, facts={"distance": 2.0}
    )
