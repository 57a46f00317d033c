"""Values in extended precision, where the round-off of doubles would hide what is proven."""

from __future__ import annotations

import math

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..problem import RatioProblem

__all__ = ["precise_linked_value", "precise_value"]


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


def precise_linked_value(problem: RatioProblem, theta: Array) -> tuple[float, float]:
    """The same for −c + Σ π ψ(s) of the family, at θ = (c, δ) for rows relative to the target.

    ψ and its slope are computed at s rounded to a double, and what rounding took away is added to first order.
    """
    wide, unit = theta.astype(np.longdouble), float(np.finfo(np.longdouble).eps)
    total, size, error = -float(theta[0]), abs(float(theta[0])), 0.0
    for start in range(0, problem.n_q, problem.rows.chunk_rows):
        chunk = slice(start, start + problem.rows.chunk_rows)
        link, pi = problem.link.take(chunk), np.exp(problem.log_base[chunk])
        f = np.asarray(problem.features_q[chunk], dtype=np.longdouble) - problem.target
        exact = (f @ wide[1:] + wide[0])[pi > 0.0]
        terms = (np.abs(f) @ np.abs(wide[1:]) + abs(wide[0]))[pi > 0.0].astype(float)
        link, pi = link.take(pi > 0.0), pi[pi > 0.0]
        s = exact.astype(float)
        change, t, psi = (exact - s).astype(float), link.ratio(s), link.conjugate(s)
        total += float(np.sum(pi * (psi + t * change)))
        size += float(np.sum(pi * (np.abs(psi) + np.abs(t))))
        inexact = terms * (problem.k + 8) * unit
        if np.any(np.abs(t) * inexact > 0.5):  # the limit of the divergence may be closer than s is known
            return total, math.inf
        error += float(np.sum(pi * (np.abs(t) * inexact + 2.0 * link.width(t) * change**2)))
    return total, error + EPS * (40.0 + math.log2(problem.n_q)) * size
