"""[MIX]: a bound for problems in which a few rows have nearly all the weight.

[LIFT] fails there, because it scales weights, and those of the other rows would have to grow by many orders of
magnitude. But adding weight is cheap: for ν_j = (1 − t) μ_j + ω_j with ω ≥ 0 and t = Σω,

    KL(ν ‖ μ) ≤ Σ_j ν_j log(ν_j / μ_j)  over the rows with ω_j > 0,

which is about t times a few hundred even if those rows have almost no weight. A linear program finds the ω of smallest
sum with Σ ν_j G_j = 0, among rows that lie far out. Every ω_j is so large that [LIFT] of ω alone, which is well
conditioned, can remove what round-off leaves, so that the proof is one in real arithmetic.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import qr, solve_triangular

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..data.affine_span import LAST_PLACES
from ..data.passes import Summary
from ..data.requests import Outermost, Requests, Whiten
from .lift import UNIT, Arithmetic, Lifted, RoundOff, whitening

__all__ = ["mix"]

#: how many times as large as the error of the moment the smallest addition is
TIMES_ERROR = 16.0
#: largest sum of all additions
MOST = 0.1
#: pivots of the columns of those rows that count as zero, relative to the largest
SMALL_PIVOT = 1e-8


def mix(
    delta: Array,
    summary: Summary,
    r: Array,
    r_error: Array,
    round_off: RoundOff,
    arithmetic: Arithmetic,
    room: float,
) -> Requests[Lifted | None]:
    """Bound on the cost of weights with residual r, which differ from μ(δ) by additions to a few rows.

    Parameters
    ----------
    delta : ndarray of shape (k,)
        δ.
    summary : Summary
        Pass over all rows at δ.
    r, r_error : ndarrays of shape (k,)
        Residual, known to this accuracy.
    round_off, arithmetic : RoundOff, Arithmetic
        Bounds on the round-off of that pass, and how passes compute.
    room : float
        Share of their terms that combinations of columns may miss; the residual may then differ from r.
    """
    outermost = yield Outermost(delta)
    if outermost is None:
        return None
    G, log_mu = outermost[0] + r, outermost[1] - summary.log_z
    scale = np.abs(G).max(axis=0)
    G = G / np.where(scale > 0.0, scale, 1.0)
    R, order = qr(G, mode="r", pivoting=True)
    pivots = np.abs(R.diagonal())
    rank = int(np.count_nonzero(pivots > SMALL_PIVOT * pivots.max(initial=0.0)))
    kept, rest, missed = order[:rank], order[rank:], np.zeros(delta.size)
    if rest.size:  # combinations of the others in these rows; they have to be so in all rows
        V = np.zeros((rest.size, delta.size))
        V[:, kept] = -solve_triangular(R[:rank, :rank], R[:rank, rank:]).T / scale[kept]
        V[np.arange(rest.size), rest] = 1.0 / np.where(scale[rest] > 0.0, scale[rest], 1.0)
        found = yield Whiten(delta, summary.log_z, V, r)
        known = np.maximum(LAST_PLACES * arithmetic.accuracy * (scale + arithmetic.target), room * scale)
        size = 0.5 * (found.high - found.low) if room else found.peak
        if np.any(size > np.abs(V) @ known):
            return None
        left = found.peak + np.abs(V) @ (r_error + UNIT * (delta.size + 3) * (scale + np.abs(r)))
        missed[rest] = left / np.abs(V[np.arange(rest.size), rest]) * (1.0 + EPS * delta.size)
    G, scale = G[:, kept], scale[kept]
    m, error = (summary.mean + r)[kept] / scale, (round_off.mean + r_error)[kept] / scale
    error = error + UNIT * (np.abs(m) + 4.0 * EPS)
    omega = _smallest(G, m, TIMES_ERROR * float(error.max(initial=0.0)))
    if omega is None:
        return None
    t = float(omega.sum())
    c = _largest_change(G, omega, (1.0 - t) * m + omega @ G, error + UNIT * (len(omega) + 8) * (omega @ np.abs(G)))
    if not (t < MOST and c < 0.5):
        return None
    log_nu = np.logaddexp(math.log1p(-t) + log_mu, np.log(omega * (1.0 + c)))
    terms = np.exp(log_nu) * (log_nu - log_mu + round_off.any_weight)
    cost = (float(np.maximum(terms, 0.0).sum()) * (1.0 + 1e-9) + t * c) / (1.0 - t * c)
    return Lifted(cost, math.inf, tuple(np.sort(rest).tolist()), missed)


def _smallest(G: Array, m: Array, least: float) -> Array | None:
    """ω ≥ ``least`` of smallest sum with Σ ω_j G_j = −(1 − Σω) m; ``None`` if there is none."""
    from scipy.optimize import linprog

    if not (len(m) and 0.0 < least < math.inf):
        return None
    size = max(float(np.abs(m).max(initial=0.0)), least)
    result = linprog(np.ones(len(G)), A_eq=(G - m).T, b_eq=-m / size, bounds=(least / size, None))
    if result.status != 0:
        return None
    y = np.maximum(result.x, least / size)
    # the program is solved to about 1e-7; remove what that leaves, on the rows with the largest additions
    W = (G - m) * y[:, None]
    y = y * (1.0 + np.linalg.lstsq(W.T, -m / size - y @ (G - m))[0])
    return np.asarray(size * y) if np.all(y > 0.5 * least / size) else None


def _largest_change(G: Array, omega: Array, m: Array, error: Array) -> float:
    """Bound on |c_j| for the exact lift ω_j (1 + c_j) that has no moment; infinite if it is not proven to exist."""
    S = (G * omega[:, None]).T @ G
    V = whitening(S)
    if V is None:
        return math.inf
    k, size, s = len(V), np.abs(V), np.sqrt(S.diagonal())
    eta = float(np.linalg.norm(V @ S @ V.T - np.eye(k))) + 4.0 * UNIT * (len(G) + k) * float(np.sum((size @ s) ** 2))
    if not eta <= 0.5:
        return math.inf
    length = float(np.linalg.norm(V @ m) + np.linalg.norm(size @ (error + UNIT * (k + 4) * np.abs(m))))
    return length / (1.0 - eta) * float(np.linalg.norm(np.abs(G) @ size.T, axis=1).max())
