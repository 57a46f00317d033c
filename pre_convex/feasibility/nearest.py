"""Nearest point of the hull of a few rows, in memory: weights and direction of [HULL]."""

from __future__ import annotations

import numpy as np

from .._internal.linear_algebra import EPS
from .._internal.typing import Array
from ..errors import SolveError
from .interior_point import interior_point

__all__ = ["nearest_euclidean", "nearest_polyhedral"]

#: largest change of a weight, in units of distance over spread; a larger one costs digits, so that an accurate answer
#: takes several programs
MAX_WEIGHT = 1e6


def nearest_euclidean(G: Array) -> tuple[Array, Array]:
    """Weights μ of min ‖G'μ‖₂ over the simplex, and the direction of G'μ with unit length, zero if G'μ is zero.

    This is the least-distance problem of Lawson and Hanson: a non-negative least-squares fit of (0, …, 0, 1) by the
    rows (G_j, 1).
    """
    from scipy.optimize import nnls  # slow to import and seldom needed

    scale = float(np.abs(G).max()) or 1.0
    E = np.empty((G.shape[1] + 1, len(G)))
    np.divide(G.T, scale, out=E[:-1])
    E[-1] = 1.0
    try:
        x, _ = nnls(E, np.append(np.zeros(G.shape[1]), 1.0), maxiter=100 * len(G))
    except RuntimeError as error:
        raise SolveError(f"distance to the hull: {error}") from error
    mu = x / x.sum()
    return mu, _normal(G, mu)


def _normal(G: Array, mu: Array) -> Array:
    """Unit normal of the affine span of the rows with positive weight, towards the origin; zero if it contains it.

    This is the direction of G'μ, which has few digits left if it is short. Projecting twice makes it orthogonal to the
    differences of those rows up to round-off, and only then does it separate.
    """
    used = np.flatnonzero(mu)
    first = used[np.argmax(mu[used])]
    Q = np.linalg.qr((G[used[used != first]] - G[first]).T)[0]
    v = G[first]
    for _ in range(2):
        v = v - Q @ (Q.T @ v)
        v = v / (float(np.linalg.norm(v)) or 1.0)
    return np.asarray(v)


def nearest_polyhedral(G: Array, mu: Array, shared: bool, rtol: float) -> tuple[Array, Array]:
    """Weights and direction, of any length, of min ‖G'μ‖ in norm inf (``shared``) or 1.

    Parameters
    ----------
    G : ndarray of shape (m, k)
        b − F_j of a few rows.
    mu : ndarray of shape (m,)
        Weights to start from. The program is written for changes of them in units of their own distance, because for
        a short distance G'μ is a small difference of large numbers.
    shared : bool
        True for norm inf, False for norm 1.
    rtol : float
        Relative accuracy of the distance over these rows.
    """
    r = mu @ G
    distance = float(np.abs(r).max() if shared else np.abs(r).sum())
    if not distance > 0.0:
        return mu, r
    largest = max(MAX_WEIGHT, 0.1 * rtol / EPS) / float(np.abs(G).max())
    start = np.minimum(mu / distance, largest)
    x, v = interior_point(G, r / distance - start @ G, start, shared, rtol)
    mu = np.maximum(mu + distance * (x - start), 0.0)
    return mu / mu.sum(), v
