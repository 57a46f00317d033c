"""Problems: what they are made of."""

from __future__ import annotations

import numpy as np

import pre_convex as pre

from .kinds import layouts, matrix, number
from .rows import Row, Taken

F = np.random.default_rng(0).normal(size=(20, 2))

ROWS: list[Row] = [
    *matrix("RatioProblem", "features_q", lambda x: pre.RatioProblem([0, 0], x), F),
    *number("RatioProblem", "radius", lambda r: pre.RatioProblem([0, 0], F, radius=r)),
    Row(
        "RatioProblem",
        "radius",
        "negative",
        lambda: pre.RatioProblem([0, 0], F, radius=-1),
        "radius: -1 is negative; 0 asks for exact moments, larger values relax them",
    ),
]
TAKEN: list[Taken] = [
    *layouts("RatioProblem", "features_q", lambda x: pre.solve(pre.RatioProblem([0, 0], x)).delta, F),
]
