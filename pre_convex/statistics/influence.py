"""Variances as sums of squared influences [INFL], from one influence per row or from sums over the rows.

HC3, the paper's formula and paired samples need the influence of every row, so the rows must be in memory. For
independent samples the centred sums are moments of F under the weights μ², μ·base and base², and under w² on the p
side, which a pass gives wherever the rows are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._internal.linear_algebra import solve_psd, zero_noise_variances
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..errors import DataError
from .tilted import TiltedProblem

__all__ = ["MIN_REMAINDER", "Influence", "influence", "odds"]

#: lower bound of one minus a leverage, so that one row cannot make a variance infinite
MIN_REMAINDER = 1e-3


@dataclass(frozen=True, eq=False)
class Influence:
    """Variances and covariances that all intervals are made of.

    Attributes
    ----------
    H : ndarray of shape (k, k)
        Covariance of F under μ.
    score : ndarray of shape (k, k)
        Covariance of b̂ − F'μ̂.
    cross : ndarray of shape (k,)
        Covariance of b̂ − F'μ̂ with log Z.
    log_z, divergence : float
        Variances of log Z and of the divergence.
    rows, rows_log_z, rows_divergence : ndarray of shape (n, k), (n,) and (n,), or None
        The influences of single independent rows on b̂ − F'μ̂, on log Z and on the divergence; ``None`` if the variances
        come from sums.
    """

    H: Array
    score: Array
    cross: Array
    log_z: float
    divergence: float
    rows: Array | None = None
    rows_log_z: Array | None = None
    rows_divergence: Array | None = None


@single_threaded_blas()
def influence(tilted: TiltedProblem, kind: str) -> Influence:
    """Sums of squared influences of all samples of a problem at δ.

    Parameters
    ----------
    tilted : TiltedProblem
        The problem at δ.
    kind : {"centred", "hc3", "paper"}
        How the influences are computed, see :class:`~pre_convex.Inference`.
    """
    _ = tilted.rows_p  # refuses a problem without a p sample
    if kind != "centred" and not tilted.in_memory:
        remedy = "use kind='auto' or 'centred', or read them with problem.in_memory()"
        raise DataError("kind", f"{kind!r} needs all rows in memory", remedy)
    residual = tilted.residual
    H = zero_noise_variances(tilted.hessian + np.outer(residual, residual), tilted.problem.target)
    if tilted.by_row or kind != "centred":
        return _from_rows(tilted, H, kind)
    return _from_sums(tilted, H)


def _from_sums(tilted: TiltedProblem, H: Array) -> Influence:
    """Centred influences of independent samples, from moments under squared weights."""
    q, p, delta = tilted.q, tilted.p, tilted.delta
    log_z = max(q.squares - 2.0 * q.mixed + q.base_squares, 0.0)
    return Influence(
        H=H,
        score=p.squares_second + q.squares_second,
        cross=q.mixed_sum - q.squares_sum,
        log_z=log_z,
        divergence=float(delta @ p.squares_second @ delta) + log_z,
    )


def _from_rows(tilted: TiltedProblem, H: Array, kind: str) -> Influence:
    """Influences of any kind, one per row: on b, on F'μ, on log Z, and (``along``) of the p rows on ⟨b, δ⟩."""
    if kind == "hc3":
        return _without_each_row(tilted, H)
    problem, delta = tilted.problem, tilted.delta
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    b, mu = problem.target, tilted.mu
    base, w = np.exp(problem.log_base), np.exp(problem.log_weights_p)
    p, q = w[:, None] * (problem.features_p - b), mu[:, None] * (problem.features_q - b)
    log_z = mu - base
    if kind == "paper":
        p = p + (w - 1.0 / len(p))[:, None] * b
        q = q + (mu - 1.0 / len(q))[:, None] * b
    along = p @ delta
    if problem.paired:  # the two influences of a paired row are added before they are squared
        return _summed(H, p - q, log_z, along - log_z)
    zeros = np.zeros(len(p))
    return _summed(H, np.concatenate([p, -q]), np.append(zeros, log_z), np.append(along, -log_z))


def _without_each_row(tilted: TiltedProblem, H: Array) -> Influence:
    """Minus the changes that leaving out each row makes, after one Newton step [LOO]."""
    problem, delta = tilted.problem, tilted.delta
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    b, mu, w = problem.target, tilted.mu, np.exp(problem.log_weights_p)
    f, g = problem.features_p - b, problem.features_q - b
    base = np.exp(problem.log_base)
    moved = -odds(w)[:, None] * f
    if not problem.paired:  # a row belongs to one side, and has no weight on the other
        none_p, none_q = np.zeros(len(f)), np.zeros((len(g), g.shape[1]))
        moved, g = np.concatenate([moved, none_q]), np.concatenate([np.zeros_like(f), g])
        mu, base = np.append(none_p, mu), np.append(none_p, base)
    rate, inverse = odds(mu), solve_psd(H, g.T).T
    change = moved + rate[:, None] * g
    leverage = np.einsum("jk,jk->j", g, inverse) * rate
    pull = rate * np.einsum("jk,jk->j", inverse, change) / np.maximum(1.0 - leverage, MIN_REMAINDER)
    change = (1.0 - mu)[:, None] * (change + pull[:, None] * g)
    step = solve_psd(H, change.T).T
    log_z = rate * np.einsum("jk,jk->j", step, g) - 0.5 * np.einsum("jk,jk->j", step, change)
    log_z += np.log(np.maximum(1.0 - base, MIN_REMAINDER)) - np.log(np.maximum(1.0 - mu, MIN_REMAINDER))
    return _summed(H, -change, log_z, -(np.einsum("jk,jk->j", moved, delta + step) + log_z))


def odds(weights: Array) -> Array:
    """w / (1 − w) of weights, by which leaving out a row moves a weighted mean away from it."""
    return np.asarray(weights / np.maximum(1.0 - weights, MIN_REMAINDER))


def _summed(H: Array, rows: Array, log_z: Array, along: Array) -> Influence:
    """Sums of squares of influences, one per independent row."""
    return Influence(H, rows.T @ rows, rows.T @ log_z, float(log_z @ log_z), float(along @ along), rows, log_z, along)
