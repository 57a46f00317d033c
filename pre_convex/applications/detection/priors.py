"""Samples of both priors with their features, and the posteriors that windows give them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._internal.snapshots import freeze
from ..._internal.typing import Array, Index
from ..._internal.validation import MAX_ENTRY, as_matrix, read_only
from ...data.batch import BaseSummary, make_batch
from ...data.features import Autocorrelation, FeatureMap, make_features
from ...errors import DataError
from .noise import Noise, make_noise
from .windows import WindowShape, as_windows, as_windows_like

__all__ = ["ByChannel", "Posterior", "PriorSample", "Priors", "make_priors"]

#: prior rows whose features are computed at a time
BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class ByChannel:
    """A feature map applied to each channel on its own, the results side by side.

    Examples
    --------
    >>> features = ByChannel(Autocorrelation(1), WindowShape(4, 2))
    >>> features(np.array([[1.0, 1.0, -1.0, 2.0, 1.0, 1.0, -1.0, 2.0]]))
    array([[-0.75, -0.75]])
    >>> features.names(())
    ('acf1 of channel 0', 'acf1 of channel 1')
    """

    feature_map: FeatureMap
    shape: WindowShape

    def __call__(self, x: Array) -> Array:
        """Features of flat rows: all columns of the first channel, then of the next."""
        return np.concatenate([np.asarray(self.feature_map(rows)) for rows in self.shape.split_channels(x)], axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the feature map, each with its channel."""
        names = self.feature_map.names([f"x{t}" for t in range(self.shape.window)])
        return tuple(f"{name} of channel {c}" for c in range(self.shape.channels) for name in names)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posteriors of W windows on the rows of a prior.

    Attributes
    ----------
    mean : ndarray of shape (W, k)
        Posterior means of the features.
    ess : ndarray of shape (W,)
        Effective sample sizes of the weights.
    """

    mean: Array
    ess: Array


@dataclass(frozen=True, eq=False)
class PriorSample:
    """The sample of one prior.

    Attributes
    ----------
    x : ndarray of shape (rows, numbers in a window)
        Latent sequences as flat rows.
    features : ndarray of shape (rows, k)
        Their features.
    precomputed : ndarray of shape (rows,)
        The part of their log-likelihood that does not depend on the window.
    noise : Noise
        The observation noise.
    """

    x: Array
    features: Array
    precomputed: Array
    noise: Noise = field(repr=False)

    def log_likelihoods(self, Y: Array, left_out: Index | None = None) -> Array:
        """Log-likelihoods, shape (windows, rows), up to a constant for each window; −inf at rows ``left_out[w]``."""
        values = self.noise.log_likelihoods(self.x, self.precomputed, Y)
        if left_out is not None:
            values[np.arange(len(Y))[:, None], left_out] = -np.inf
        highest = values.max(axis=1)
        bad = np.flatnonzero(~np.isfinite(highest))
        if bad.size:
            what = "every prior row has likelihood zero" if highest[bad[0]] == -np.inf else "log-likelihoods overflow"
            raise DataError("noise", f"{what} given window {bad[0]}", "use larger noise, or check that window")
        return values

    def summarise_base(self, log_lik: Array) -> BaseSummary:
        """Log of the sum of all rows' likelihoods, and effective sample size, for every window."""
        return make_batch(self.features, len(log_lik), None, log_lik).summarise_base(log_lik.max(axis=1))

    def posterior(self, log_lik: Array) -> Posterior:
        """Posterior means of the features, and effective sample sizes, for every window."""
        W = len(log_lik)
        batch = make_batch(self.features, W, None, log_lik)
        moments = batch.moments(np.zeros((W, self.features.shape[1])), np.arange(W), log_lik.max(axis=1))
        return Posterior(moments.mean + batch.centre, moments.ess)


@dataclass(frozen=True, eq=False)
class Priors:
    """Samples of both priors.

    Attributes
    ----------
    p, q : PriorSample
        Background, and what a signal may look like.
    shape : WindowShape
        Shape of the sequences.
    names : tuple of str
        Names of the features.
    shared : bool
        Whether both samples are the same rows.
    """

    p: PriorSample
    q: PriorSample
    shape: WindowShape
    names: tuple[str, ...]
    shared: bool

    @property
    def noise(self) -> Noise:
        """The observation noise, the same for both priors."""
        return self.p.noise


def make_priors(prior_p: Any, prior_q: Any, noise: Any, features: Any, *, standardise: bool = False) -> Priors:
    """Check the samples and compute their features; arguments as in :class:`~.detector.Detector`."""
    x_p, shape = as_windows(prior_p, "prior_p")
    x_q = as_windows_like(prior_q, "prior_q", shape, "prior_p")
    x_p, x_q = x_p.copy(), x_q.copy()  # the caller may edit the samples later
    sample = np.concatenate([x[:: max(1, len(x) // 500)] for x in (x_p, x_q)])
    noise_model = make_noise(noise, shape, sample)
    apply, names = _feature_map(features, shape)
    F_p, F_q = (_features(apply, x, f"features({name})") for x, name in ((x_p, "prior_p"), (x_q, "prior_q")))
    if F_p.shape[1] != F_q.shape[1]:
        raise DataError(
            "features",
            f"returned {F_p.shape[1]} columns for prior_p but {F_q.shape[1]} for prior_q",
            "return the same columns for every input",
        )
    if standardise:
        centre, scale = F_q.mean(axis=0), F_q.std(axis=0)
        scale[scale == 0.0] = 1.0
        F_p, F_q = (F_p - centre) / scale, (F_q - centre) / scale
    names = names if len(names) == F_q.shape[1] else tuple(f"f{i}" for i in range(F_q.shape[1]))
    p, q = (
        PriorSample(x, freeze(F.copy()), read_only(noise_model.precompute(x)), noise_model)
        for x, F in ((x_p, F_p), (x_q, F_q))
    )
    return Priors(p, q, shape, names, shared=np.array_equal(x_p, x_q))


def _feature_map(features: Any, shape: WindowShape) -> tuple[Callable[[Array], Array], tuple[str, ...]]:
    """Features as a function of flat rows, and their names.

    Feature maps of the package are applied channel by channel, a user's function gets whole sequences.
    """
    feature_map = make_features(features)
    if not isinstance(features, str) and not isinstance(features, FeatureMap):
        return lambda x: feature_map(shape.unflatten(x)), ()
    lags = feature_map.lags if isinstance(feature_map, Autocorrelation) else 0
    if features == "autocorrelation" and shape.window <= lags:
        raise DataError(
            "features",
            f"{lags} autocorrelations need windows of more than {lags} time points, not {shape.window}",
            "use features=Autocorrelation(lags) with fewer lags",
        )
    if shape.channels:
        feature_map = ByChannel(feature_map, shape)
    return feature_map, feature_map.names([f"x{t}" for t in range(shape.window)])


def _features(apply: Callable[[Array], Array], x: Array, name: str) -> Array:
    """Features of all rows, computed block by block."""
    starts = range(0, len(x), BLOCK_ROWS)
    blocks = [as_matrix(apply(x[i : i + BLOCK_ROWS]), name, start=i, limit=MAX_ENTRY) for i in starts]
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
