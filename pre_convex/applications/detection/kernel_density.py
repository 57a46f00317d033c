"""Gaussian kernel density estimate, with leave-one-out densities of its own sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..._internal.entropy import safe_log
from ..._internal.threads import map_threads
from ..._internal.typing import Array, Index

__all__ = ["KernelDensity", "fit_kernel_density"]

#: maximum number of kernels of a density, and rows evaluated at a time
MAX_KERNELS, BLOCK_ROWS = 1000, 256


@dataclass(frozen=True, eq=False)
class KernelDensity:
    """Gaussian kernel density estimate; the kernel covariance is the sample's times Scott's factor squared.

    Attributes
    ----------
    whitening : ndarray of shape (k, k)
        Features @ whitening have unit kernel covariance.
    centres : ndarray of shape (m, k)
        Whitened kernel centres.
    index : ndarray of int of shape (m,)
        Rows of the sample at which the kernels are centred.
    log_volume : float
        Log of the kernels' normalising constant.
    """

    whitening: Array
    centres: Array
    index: Index
    log_volume: float

    def log(self, features: Array, *, leave_one_out: bool = False) -> Array:
        """Log-density at every row.

        With ``leave_one_out`` the rows must be the sample itself, and a row's own kernel is left out.
        """
        squares = 0.5 * np.square(self.centres).sum(axis=1)
        own_kernel = np.full(len(features), -1)
        if leave_one_out:
            own_kernel[self.index] = np.arange(len(self.index))

        def evaluate(start: int) -> Array:
            white = features[start : start + BLOCK_ROWS] @ self.whitening
            z = white @ self.centres.T - squares
            own = own_kernel[start : start + BLOCK_ROWS]
            z[own >= 0, own[own >= 0]] = -np.inf
            top = z.max(axis=1)
            z -= top[:, None]
            np.exp(z, out=z)
            kernels = len(self.index) - (own >= 0)
            return np.asarray(
                top + safe_log(z.sum(axis=1) / kernels) - 0.5 * np.square(white).sum(axis=1) - self.log_volume
            )

        return np.concatenate(map_threads(evaluate, range(0, len(features), BLOCK_ROWS)))


def fit_kernel_density(features: Array) -> KernelDensity:
    """Fit the density of a sample, with at most 1,000 kernels evenly spread over its rows."""
    n, k = features.shape
    m = min(n, MAX_KERNELS)
    index = np.linspace(0, n - 1, m).astype(np.intp)
    covariance = np.atleast_2d(np.cov(features, rowvar=False))
    covariance[np.diag_indices(k)] += 1e-9 * max(float(np.trace(covariance)) / k, 1e-300)
    lower = np.linalg.cholesky(covariance * float(m) ** (-2.0 / (k + 4)))
    whitening = np.linalg.inv(lower).T
    log_volume = float(safe_log(np.diag(lower)).sum()) + 0.5 * k * math.log(2.0 * np.pi)
    return KernelDensity(whitening, features[index] @ whitening, index, log_volume)
