"""Mixture KLIEP [MKLIEP]: the weights of kernels that maximise a likelihood, with a certificate.

    [MKLIEP]  maximise over β    Σ_i w_i log(Aβ)_i    s.t. β ≥ 0, Σβ = 1

Column l of A is a ratio r_l(x_p,i) whose mean on the q side is one, so that r = Σ_l β_l r_l is a ratio as well. For
every other β' the concavity of the logarithm gives

    Σ_i w_i log(Aβ')_i − Σ_i w_i log(Aβ)_i ≤ log Σ_i w_i (Aβ')_i/(Aβ)_i ≤ log max_l Σ_i w_i A_il/(Aβ)_i,

which bounds the gap of any feasible β from sums of positive terms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .._internal.linear_algebra import EPS
from .._internal.snapshots import freeze
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..solution import Status

__all__ = ["MixtureSolution", "mixture_gap", "solve_mixture"]

#: steps of the interior-point method, reduction of complementarity aimed at, and share of the way to the boundary
MAX_STEPS, REDUCTION, WAY = 100, 0.1, 0.99
#: ratios below this lose digits to underflow, so nothing is proven about them
SMALLEST = float(np.finfo(float).tiny) / EPS


@dataclass(frozen=True, eq=False)
class MixtureSolution:
    """An answer to [MKLIEP].

    Attributes
    ----------
    beta : ndarray of shape (m,)
        β, which sums to one.
    value : float
        Σ_i w_i log(Aβ)_i, an estimate of the divergence.
    gap : float
        Bound of the distance to the largest value.
    status : Status
        ``OPTIMAL`` if the gap is below the tolerance, otherwise ``INACCURATE``.
    iterations : int
        Steps of the solver.
    """

    beta: Array
    value: float
    gap: float
    status: Status
    iterations: int


def mixture_gap(A: Array, weights: Array, beta: Array) -> float:
    """Upper bound of the gap of [MKLIEP] at β ≥ 0 divided by its sum, round-off included; inf if a ratio underflows.

    Examples
    --------
    >>> A, w = np.array([[2.0, 0.5], [0.5, 2.0]]), np.array([0.5, 0.5])
    >>> mixture_gap(A, w, np.array([0.5, 0.5])) < 1e-14
    True
    >>> round(mixture_gap(A, w, np.array([1.0, 0.0])), 3)
    0.754
    """
    used = weights > 0.0
    mixed = A[used] @ beta
    if not np.all(mixed > SMALLEST) or not np.all(np.isfinite(mixed)):
        return math.inf
    # all terms are positive, so that every sum has a relative error below the number of its terms times EPS
    largest = float(((weights[used] / mixed) @ A[used]).max()) * float(beta.sum())
    return max(math.log(largest), 0.0) + 2.0 * (sum(A.shape) + 8) * EPS


@single_threaded_blas()
def solve_mixture(A: Array, weights: Array, tol: float = 1e-8) -> MixtureSolution:
    """Solve [MKLIEP] by a primal-dual interior-point method.

    With the multiplier of Σβ = 1, which is one at the optimum, the conditions are 1 − A'(w/Aβ) = s, s ≥ 0 and
    β ∘ s = 0. A step solves them with β ∘ s = τ, linearised.

    Parameters
    ----------
    A : ndarray of shape (n, m)
        Ratios of the m components at the p rows, not negative; every row has a positive one.
    weights : ndarray of shape (n,)
        w, which sum to one.
    tol : float, default 1e-8
        Gap to reach, relative to ``1 + |value|``.

    Returns
    -------
    MixtureSolution

    Examples
    --------
    >>> solve_mixture(np.array([[2.0, 0.5], [0.5, 2.0]]), np.array([0.5, 0.5])).beta.round(3)
    array([0.5, 0.5])
    """
    used = weights > 0.0
    A, w = A[used], weights[used]
    m = A.shape[1]
    beta, slack = np.full(m, 1.0 / m), np.ones(m)
    best, best_gap, steps = beta, math.inf, 0
    for steps in range(MAX_STEPS + 1):  # noqa: B007
        mixed = A @ beta
        gap = mixture_gap(A, w, beta)
        if gap < best_gap:
            best, best_gap = beta / beta.sum(), gap
        if best_gap <= tol * (1.0 + abs(float(w @ np.log(mixed)))):
            break
        tau = REDUCTION * float(beta @ slack) / m
        root = (np.sqrt(w) / mixed)[:, None] * A
        M = root.T @ root + np.diag(slack / beta)
        try:
            d = cho_solve(cho_factor(M, check_finite=False), (w / mixed) @ A - 1.0 + tau / beta, check_finite=False)
        except LinAlgError:
            break
        e = (tau - slack * d) / beta - slack
        if not (np.all(np.isfinite(d)) and np.all(np.isfinite(e))):
            break
        beta = beta + _longest(beta, d) * d
        slack = slack + _longest(slack, e) * e
    value = float(w @ np.log(A @ best))
    status = Status.OPTIMAL if best_gap <= tol * (1.0 + abs(value)) else Status.INACCURATE
    return MixtureSolution(freeze(best), value, best_gap, status, steps)


def _longest(x: Array, d: Array) -> float:
    """Longest step, at most one, that keeps x + t d positive."""
    falling = d < 0.0
    return min(1.0, WAY * float((-x[falling] / d[falling]).min())) if falling.any() else 1.0
