"""Plugin score with kernel density estimates of both priors, in the space of the features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...entropy import Array, Index, exp_in_place, log, log_of
from ...threads import in_threads
from .plugin import plugged_in
from .posteriors import Priors
from .ratio import Options, Scorer

__all__ = ["Density", "density_plugin", "fit_density"]

#: kernels of a density at most, and rows that meet them at a time
KERNELS, BLOCK_ROWS = 1000, 256


@dataclass(frozen=True, eq=False)
class Density:
    """A Gaussian kernel density estimate whose kernels have the sample's covariance, times Scott's factor squared.

    Attributes
    ----------
    root : ndarray of shape (k, k)
        Features times it are in units of the kernels.
    centres : ndarray of shape (m, k)
        Where kernels stand, in those units.
    index : ndarray of int of shape (m,)
        The rows they stand at.
    log_volume : float
    """

    root: Array
    centres: Array
    index: Index
    log_volume: float

    def log(self, features: Array, *, own: bool = False) -> Array:
        """Log-density at every row; of its ``own`` rows, those with a kernel do not count it."""
        squares = 0.5 * np.square(self.centres).sum(axis=1)
        place = np.full(len(features), -1)
        if own:
            place[self.index] = np.arange(len(self.index))

        def visit(start: int) -> Array:
            at = features[start : start + BLOCK_ROWS] @ self.root
            z = at @ self.centres.T - squares
            here = place[start : start + BLOCK_ROWS]
            z[here >= 0, here[here >= 0]] = -np.inf
            top = z.max(axis=1)
            z -= top[:, None]
            exp_in_place(z)
            counted = len(self.index) - (here >= 0)
            return np.asarray(top + log(z.sum(axis=1) / counted) - 0.5 * np.square(at).sum(axis=1) - self.log_volume)

        return np.concatenate(in_threads(visit, range(0, len(features), BLOCK_ROWS)))


def fit_density(features: Array) -> Density:
    """The density of a sample, with at most a thousand kernels, evenly spread over its rows."""
    n, k = features.shape
    m = min(n, KERNELS)
    index = np.linspace(0, n - 1, m).astype(np.intp)
    spread = np.atleast_2d(np.cov(features, rowvar=False))
    spread[np.diag_indices(k)] += 1e-9 * max(float(np.trace(spread)) / k, 1e-300)
    lower = np.linalg.cholesky(spread * float(m) ** (-2.0 / (k + 4)))
    root = np.linalg.inv(lower).T
    log_volume = float(log(np.diag(lower)).sum()) + 0.5 * k * log_of(2.0 * np.pi)
    return Density(root, features[index] @ root, index, log_volume)


def density_plugin(priors: Priors, options: Options) -> Scorer:
    """Prior ratio as the ratio of two kernel density estimates of the features; the rest as ``plugin`` has it."""
    F_p, F_q = priors.p.features, priors.q.features
    p, q = fit_density(F_p), fit_density(F_q)
    return plugged_in(priors, p.log(F_p, own=True) - q.log(F_p), p.log(F_q) - q.log(F_q, own=True))
