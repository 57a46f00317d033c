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

__all__ = ["KINDS", "Influence", "influence"]

#: how the influences are computed
KINDS = ("centred", "hc3", "paper")
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
    """

    H: Array
    score: Array
    cross: Array
    log_z: float
    divergence: float


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
        raise DataError(
            "kind", f"{kind!r} needs all rows in memory", "use kind='centred', or read them with problem.in_memory()"
        )
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
    problem, delta = tilted.problem, tilted.delta
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    b, mu = problem.target, tilted.mu
    base, w = np.exp(problem.log_base), np.exp(problem.log_weights_p)
    f_p, f_q = problem.features_p - b, problem.features_q - b
    p, q = w[:, None] * f_p, mu[:, None] * f_q
    log_z, along = mu - base, p @ delta
    if kind == "hc3":
        length = np.einsum("jk,jk->j", f_q, solve_psd(H, f_q.T).T)
        without_p = np.maximum(1.0 - w, MIN_REMAINDER)
        along = along / without_p
        if problem.paired:  # a row leaves both sides at once, so both influences are divided by the same number
            without = np.maximum(1.0 - mu * (1.0 + length), MIN_REMAINDER)[:, None]
            p, q = p / without, q / without
        else:
            leverage = mu / np.maximum(1.0 - mu, 1e-12) * length
            p = p / without_p[:, None]
            q = q / np.maximum(1.0 - leverage, MIN_REMAINDER)[:, None]
    elif kind == "paper":
        p = p + (w - 1.0 / len(p))[:, None] * b
        q = q + (mu - 1.0 / len(q))[:, None] * b
        along = p @ delta
    # the two influences of a paired row are added before they are squared
    both = [(p - q, along - log_z)] if problem.paired else [(p, along), (-q, -log_z)]
    return Influence(
        H=H,
        score=np.asarray(sum(s.T @ s for s, _ in both)),
        cross=np.asarray((p - q if problem.paired else -q).T @ log_z),
        log_z=float(log_z @ log_z),
        divergence=float(sum(d @ d for _, d in both)),
    )
