"""A few small cases that every part of the benchmark can be tried on in seconds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...problem import RatioProblem
from ..answers import planted
from ..case import Case, Truth

TITLE = "four small cases, one of every kind"
VERSION = 1


def cases() -> Iterator[Case]:
    """An answer, one with a radius, a target on the boundary, one outside."""
    rng = np.random.default_rng(20)
    F = rng.normal(size=(60, 2))
    delta = np.array([0.5, -0.3])
    yield planted("plain", F, delta)
    yield planted("radius", F, delta, radius=0.1, norm=np.inf)
    square = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    on = RatioProblem(np.array([0.5, 1.0]), square)
    yield Case("edge", on, Truth.BOUNDARY, on.dual_value([0.0, 0.5, 0.0, 0.5]))
    yield Case(
        "outside", RatioProblem(np.array([0.5, 3.0]), square), Truth.INFEASIBLE, -np.inf, facts={"distance": 2.0}
    )
