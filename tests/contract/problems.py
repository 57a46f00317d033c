"""Problems: what they are made of."""

from __future__ import annotations

import numpy as np

import pre_convex as pre

from .kinds import frames, layouts, log_weights, matrix, names, number, scalars, tables, types, vector
from .rows import Known, Row, Taken

F = np.random.default_rng(0).normal(size=(20, 2))
A = np.linspace(-1.0, 1.0, 20)
AT = [0.3, -0.2]


def problem(**changes):
    """A good problem with some arguments changed."""
    return pre.RatioProblem(**{"target": [0, 0], "features_q": F, **changes})


ROWS: list[Row] = [
    *matrix("RatioProblem", "features_q", lambda x: problem(features_q=x), F),
    *frames("RatioProblem", "features_q", lambda x: problem(features_q=x)),
    *vector(
        "RatioProblem",
        "target",
        lambda x: problem(target=x),
        np.zeros(2),
        says=dict.fromkeys(("too short", "too long"), "target: has … entries for 2 columns of features_q"),
    ),
    *log_weights("RatioProblem", "log_base", lambda x: problem(log_base=x), A, says={"None": None}),
    *number("RatioProblem", "radius", lambda r: problem(radius=r)),
    Row(
        "RatioProblem",
        "radius",
        "negative",
        lambda: problem(radius=-1),
        "radius: -1 is negative; 0 asks for exact moments, larger values relax them",
    ),
    *names("RatioProblem", "feature_names", lambda n: problem(feature_names=n)),
]
TAKEN: list[Taken] = [
    *layouts("RatioProblem", "features_q", lambda x: pre.solve(problem(features_q=x)).delta, F),
    *types("RatioProblem", "features_q", lambda x: problem(features_q=x).gradient(AT), F),
    *tables("RatioProblem", "features_q", lambda x: problem(features_q=x).gradient(AT), F),
    *layouts("RatioProblem", "log_base", lambda a: problem(log_base=a).gradient(AT), A),
    *types("RatioProblem", "log_base", lambda a: problem(log_base=a).gradient(AT), A),
    *scalars("RatioProblem", "radius", lambda r: problem(radius=r).value(AT), 0.25),
]
KNOWN: list[Known] = []
