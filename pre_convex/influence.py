"""Sums of squared influences [INFL], from arrays of influences or from passes over the rows.

Influences of every row need the rows in memory; HC3 and paired samples have no other way. Otherwise the sums are
moments of F under the weights μ², μ·base and base², and under w² on the p side: four passes, whatever holds the rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .entropy import Array, exp, exp_of
from .errors import DataError
from .linear import solve_psd, without_noise
from .passes import tilt
from .problem import RatioProblem
from .threads import one_thread_each

__all__ = ["KINDS", "Influence", "influence"]

KINDS = ("centred", "hc3", "paper")
#: features, as numbers, beyond which the sums are taken by passes
MANY_NUMBERS = 1_000_000


@dataclass(frozen=True, eq=False)
class Influence:
    """What intervals are made of.

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


@one_thread_each()
def influence(problem: RatioProblem, delta: Array, kind: str) -> Influence:
    """Sums of squared influences of all samples of a problem at δ."""
    rows_p, rows_q = problem.rows_p, problem.rows
    if rows_p is None:
        raise DataError("problem: has no p side, so the noise of its target is not known; build it from samples")
    far = not (rows_p.in_memory and rows_q.in_memory)
    if far and kind != "centred":
        raise DataError(f"kind: {kind!r} needs every row at once; use 'centred', or problem.in_memory()")
    many = sum(n * k for n, k in (rows_p.shape, rows_q.shape)) > MANY_NUMBERS
    if far or (many and kind == "centred" and not problem.paired):
        return _by_passes(problem, delta)
    return _by_rows(problem, delta, kind)


def _by_passes(problem: RatioProblem, delta: Array) -> Influence:
    rows_p, rows_q, b = problem.rows_p, problem.rows, problem.residual_origin
    assert rows_p is not None  # influence() has looked
    zero = np.zeros(problem.k)
    plain = tilt(rows_q, delta)
    squares = tilt(rows_q, 2.0 * delta, power=2.0)
    mixed = tilt(rows_q, delta, covariance=False, power=2.0)
    base = tilt(rows_q, zero, covariance=False, power=2.0)
    side_p = tilt(rows_p, zero, power=2.0)
    assert plain.covariance is not None
    assert squares.covariance is not None
    assert side_p.covariance is not None
    mu2, mu_base, base2, w2 = (
        exp_of(squares.log_z - 2.0 * plain.log_z),
        exp_of(mixed.log_z - plain.log_z),
        exp_of(base.log_z),
        exp_of(side_p.log_z),
    )
    score_p = w2 * (side_p.covariance + np.outer(side_p.mean - b, side_p.mean - b))
    score_q = mu2 * (squares.covariance + np.outer(squares.mean - b, squares.mean - b))
    log_z = max(mu2 - 2.0 * mu_base + base2, 0.0)
    off = plain.mean - b
    return Influence(
        H=without_noise(plain.covariance + np.outer(off, off), problem.target),
        score=score_p + score_q,
        cross=mu_base * (mixed.mean - b) - mu2 * (squares.mean - b),
        log_z=log_z,
        divergence=float(delta @ score_p @ delta) + log_z,
    )


def _by_rows(problem: RatioProblem, delta: Array, kind: str) -> Influence:
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    b = problem.target
    mu, base, w = exp(problem.log_mu(delta)), exp(problem.log_base), exp(problem.log_weights_p)
    f_p, f_q = problem.features_p - b, problem.features_q - b
    H = without_noise((f_q * mu[:, None]).T @ f_q, b)
    p, q = w[:, None] * f_p, mu[:, None] * f_q
    log_z, along = mu - base, p @ delta
    if kind == "hc3":
        length = np.einsum("jk,jk->j", f_q, solve_psd(H, f_q.T).T)
        alone = np.maximum(1.0 - w, 1e-3)
        along = along / alone
        if problem.paired:  # a row leaves both sides at once, so that what cancels in it must go on to cancel
            stays = np.maximum(1.0 - mu * (1.0 + length), 1e-3)[:, None]
            p, q = p / stays, q / stays
        else:
            leverage = mu / np.maximum(1.0 - mu, 1e-12) * length
            p = p / alone[:, None]
            q = q / np.maximum(1.0 - leverage, 1e-3)[:, None]
    elif kind == "paper":
        p = p + (w - 1.0 / len(p))[:, None] * b
        q = q + (mu - 1.0 / len(q))[:, None] * b
        along = p @ delta
    # rows that are the same samples are added first
    both = [(p - q, along - log_z)] if problem.paired else [(p, along), (-q, -log_z)]
    return Influence(
        H=H,
        score=np.asarray(sum(s.T @ s for s, _ in both)),
        cross=np.asarray((p - q if problem.paired else -q).T @ log_z),
        log_z=float(log_z @ log_z),
        divergence=float(sum(d @ d for _, d in both)),
    )
