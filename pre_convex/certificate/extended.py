"""Values in extended precision, where the round-off of doubles would hide what is proven."""

from __future__ import annotations

import math

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..problem import RatioProblem

__all__ = ["precise_value"]


def precise_value(problem: RatioProblem, delta: Array) -> tuple[float, float]:
    """Log Z with logits in extended precision, where the platform has it, and a bound on its round-off."""
    wide, unit = delta.astype(np.longdouble), float(np.finfo(np.longdouble).eps)
    z, error = np.empty(problem.n_q, dtype=np.longdouble), np.empty(problem.n_q)
    for start in range(0, problem.n_q, problem.rows.chunk_rows):
        chunk = slice(start, start + problem.rows.chunk_rows)
        f = np.asarray(problem.features_q[chunk], dtype=np.longdouble) - problem.target
        z[chunk] = f @ wide + problem.log_base[chunk]
        error[chunk] = np.abs(f) @ np.abs(wide)
    top = z.max()
    weights = np.exp((z - top).astype(float))
    total = float(weights.sum())
    log_z = float(top + np.log(np.longdouble(total)))
    noise = (problem.k + 8) * unit * (float(weights @ error) / total + 1.0)
    return log_z, noise + EPS * (40.0 + math.log(problem.n_q) + abs(log_z))
