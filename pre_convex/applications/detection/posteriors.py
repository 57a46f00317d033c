"""Two priors with their features and what is observed of them: posteriors of many windows at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import as_matrix, frozen
from ...checks import LARGEST
from ...entropy import Array, Index
from ...errors import DataError
from ...features import Autocorrelation, FeatureMap, make_features
from ...solvers.batch import Survey, make_batch
from .observation import Observation, make_observation
from .windows import Shape, as_windows, same_shape

__all__ = ["ByChannel", "Posterior", "Priors", "Side", "make_priors"]

#: rows whose features are computed at a time
BLOCK_ROWS = 65_536


@dataclass(frozen=True)
class ByChannel:
    """A feature map of each channel by itself, side by side.

    Examples
    --------
    >>> each = ByChannel(Autocorrelation(1), Shape(4, 2))
    >>> each(np.array([[1.0, 1.0, -1.0, 2.0, 1.0, 1.0, -1.0, 2.0]]))
    array([[-0.75, -0.75]])
    >>> each.names(())
    ('acf1 of channel 0', 'acf1 of channel 1')
    """

    each: FeatureMap
    shape: Shape

    def __call__(self, x: Array) -> Array:
        """Columns of the first channel, then of the next."""
        return np.concatenate([np.asarray(self.each(part)) for part in self.shape.by_channel(x)], axis=1)

    def names(self, columns: Sequence[str]) -> tuple[str, ...]:
        """The map's names, with the channel."""
        own = self.each.names([f"x{t}" for t in range(self.shape.window)])
        return tuple(f"{name} of channel {c}" for c in range(self.shape.channels) for name in own)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Weights of a prior's rows given each of W windows: the posterior means of the features, and ESS."""

    mean: Array
    ess: Array


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of one prior, their features, and the part of their log-likelihood that no window changes."""

    x: Array
    features: Array
    half: Array
    observation: Observation = field(repr=False)

    def log_likelihoods(self, Y: Array, left_out: Index | None = None) -> Array:
        """Shape (windows, rows), up to a constant for each window; rows ``left_out[w]`` have no part in window w."""
        found = self.observation.log_likelihoods(self.x, self.half, Y)
        if left_out is not None:
            found[np.arange(len(Y))[:, None], left_out] = -np.inf
        highest = found.max(axis=1)
        bad = np.flatnonzero(~np.isfinite(highest))
        if bad.size:
            what = "every prior row has likelihood zero" if highest[bad[0]] == -np.inf else "log-likelihoods overflow"
            raise DataError(f"noise: {what} given window {bad[0]}; check the noise, and the window")
        return found

    def survey(self, log_lik: Array) -> Survey:
        """Logarithm of the sum of the likelihoods of all rows, and ESS, for every window."""
        return make_batch(self.features, len(log_lik), None, log_lik).survey(log_lik.max(axis=1))

    def posterior(self, log_lik: Array) -> Posterior:
        """Means of the features under the weights that the log-likelihoods give to the rows."""
        W = len(log_lik)
        batch = make_batch(self.features, W, None, log_lik)
        found = batch.moments(np.zeros((W, self.features.shape[1])), np.arange(W), log_lik.max(axis=1))
        return Posterior(found.mean + batch.centre, found.ess)


@dataclass(frozen=True, eq=False)
class Priors:
    """Both priors, and how sequences are observed.

    Attributes
    ----------
    p, q : Side
    shape : Shape
    names : tuple of str
        Names of the features.
    shared : bool
        Whether both priors are the same rows.
    """

    p: Side
    q: Side
    shape: Shape
    names: tuple[str, ...]
    shared: bool

    @property
    def observation(self) -> Observation:
        """The noise, the same on both sides."""
        return self.p.observation


def make_priors(prior_p: Any, prior_q: Any, noise: Any, features: Any, *, standardise: bool = False) -> Priors:
    """Check the samples and compute their features once."""
    x_p, shape = as_windows(prior_p, "prior_p")
    x_q = same_shape(prior_q, "prior_q", shape, "prior_p")
    sample = np.concatenate([x[:: max(1, len(x) // 500)] for x in (x_p, x_q)])
    observation = make_observation(noise, shape, sample)
    apply, names = _feature_map(features, shape)
    F_p, F_q = (_features(apply, x, f"features({name})") for x, name in ((x_p, "prior_p"), (x_q, "prior_q")))
    if F_p.shape[1] != F_q.shape[1]:
        raise DataError(f"features: {F_p.shape[1]} columns for prior_p but {F_q.shape[1]} for prior_q")
    if standardise:
        centre, scale = F_q.mean(axis=0), F_q.std(axis=0)
        scale[scale == 0.0] = 1.0
        F_p, F_q = (F_p - centre) / scale, (F_q - centre) / scale
    names = names if len(names) == F_q.shape[1] else tuple(f"f{i}" for i in range(F_q.shape[1]))
    p, q = (Side(x, frozen(F), frozen(observation.rows(x)), observation) for x, F in ((x_p, F_p), (x_q, F_q)))
    return Priors(p, q, shape, names, shared=np.array_equal(x_p, x_q))


def _feature_map(features: Any, shape: Shape) -> tuple[Callable[[Array], Array], tuple[str, ...]]:
    """A function of flat rows, and names; named maps work channel by channel, functions see whole sequences."""
    mapped = make_features(features)
    if not isinstance(features, str) and not isinstance(features, FeatureMap):
        return lambda x: mapped(shape.full(x)), ()
    if isinstance(mapped, Autocorrelation) and features == "autocorrelation" and shape.window <= mapped.lags:
        raise DataError(
            f"features: {mapped.lags} autocorrelations need windows of more than {mapped.lags} time points, not "
            f"{shape.window}; use features=Autocorrelation(lags) with fewer lags"
        )
    if shape.channels:
        mapped = ByChannel(mapped, shape)
    return mapped, mapped.names([f"x{t}" for t in range(shape.window)])


def _features(apply: Callable[[Array], Array], x: Array, name: str) -> Array:
    """Features of all rows, block by block."""
    starts = range(0, len(x), BLOCK_ROWS)
    parts = [as_matrix(apply(x[i : i + BLOCK_ROWS]), name, start=i, limit=LARGEST) for i in starts]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
