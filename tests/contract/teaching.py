"""Rows about the explorer in a notebook."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import pre_convex as pre

from .kinds import problem
from .rows import Row

RNG = np.random.default_rng(0)
F = RNG.normal(size=(12, 2))
B = np.zeros(2)


def explorer() -> Iterator[Row]:
    """Rows for explore."""
    yield from (row for row in problem("explore", "problem", pre.explore) if row.kind != "None")
    for kind, shown in {
        "three features": pre.RatioProblem(np.zeros(3), RNG.normal(size=(12, 3))),
        "201 q samples": pre.RatioProblem(B, RNG.normal(size=(201, 2))),
        "201 p samples": pre.RatioProblem.from_samples(RNG.normal(size=(201, 1)), F[:, :1]),
        "a radius for each of two features": pre.RatioProblem(B, F, radius=[0.1, 0.2]),
        "bounds for each row": pre.RatioProblem(B, F, bounds=(np.full(12, 0.5), np.inf)),
        "max_weight with unequal base weights": pre.RatioProblem(B, F, np.arange(12.0) / 9.0, max_weight=0.3),
        "ranges of different size": pre.RatioProblem(B, F * [1.0, 1e6]),
        "one row with weight": pre.RatioProblem([0.0], F[:, :1], np.r_[0.0, np.full(11, -np.inf)]),
        "not in memory": pre.RatioProblem.from_blocks(None, [lambda: F[:, :1]], target=[0.0]),
    }.items():
        yield Row("explore", "problem", kind, lambda v=shown: pre.explore(v))


ROWS = [*explorer()]
