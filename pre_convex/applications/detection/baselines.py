"""Classical distances between two windows: they know neither priors nor noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...entropy import Array, Index
from ...errors import DataError
from ...features import Autocorrelation
from .posteriors import Priors
from .ratio import Found, Options, Scorer
from .windows import Shape

__all__ = ["autocorrelation", "energy", "subspace"]


def energy(priors: Priors, options: Options) -> Scorer:
    """Distance between the mean squares of both windows, channel by channel."""
    return _distance(priors.shape, lambda y: np.square(y).mean(axis=1, keepdims=True))


def autocorrelation(priors: Priors, options: Options) -> Scorer:
    """Distance between the autocorrelations of both windows at lags 1 to ``order``."""
    need_points(priors.shape, options.order + 1, "autocorrelations")
    return _distance(priors.shape, Autocorrelation(options.order))


def subspace(priors: Priors, options: Options) -> Scorer:
    """Singular spectrum analysis: how far y_q's pieces lie from the leading eigenvectors of y_p's.

    A window is cut into all its pieces of half its length, the columns of its trajectory matrix. The score is Moskvina
    and Zhigljavsky's D, the mean squared distance, for each number, of the columns of y_q from the span of the first
    ``order`` eigenvectors of y_p's lag covariance.
    """
    length = priors.shape.window // 2
    need_points(priors.shape, 2 * (options.order + 1), "eigenvectors")

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        total = np.zeros(len(Y_p))
        for y_p, y_q in zip(priors.shape.by_channel(Y_p), priors.shape.by_channel(Y_q), strict=True):
            columns_p, columns_q = (np.lib.stride_tricks.sliding_window_view(y, length, axis=1) for y in (y_p, y_q))
            vectors = np.linalg.eigh(np.swapaxes(columns_p, 1, 2) @ columns_p)[1][:, :, -options.order :]
            outside = columns_q - columns_q @ vectors @ np.swapaxes(vectors, 1, 2)
            total += np.square(outside).mean(axis=(1, 2))
        return Found.plain(total)

    return score


def need_points(shape: Shape, points: int, what: str) -> None:
    """Raise unless the windows are long enough."""
    if shape.window < points:
        raise DataError(f"order: so many {what} need windows of {points} time points, not {shape.window}; lower it")


def _distance(shape: Shape, describe: Callable[[Array], Array]) -> Scorer:
    """Euclidean distance between what describes both windows, over all channels."""

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        square = np.zeros(len(Y_p))
        for y_p, y_q in zip(shape.by_channel(Y_p), shape.by_channel(Y_q), strict=True):
            square += np.square(describe(y_p) - describe(y_q)).sum(axis=1)
        return Found.plain(np.sqrt(square))

    return score
