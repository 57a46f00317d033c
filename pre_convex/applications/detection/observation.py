"""What is observed of a latent sequence: y = x + noise, as log-likelihoods of many windows and as draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ...arrays import as_numbers, as_scalar, called, shown
from ...entropy import Array
from ...errors import DataError
from ...threads import in_threads
from .windows import Shape

__all__ = ["GaussianNoise", "Observation", "OwnNoise", "make_observation"]

#: rows whose likelihoods are computed at a time by a function, or in a thread, and rows whose products stay in cache
BLOCK_ROWS, CACHED_ROWS = 4096, 512
#: standard deviations have squares that are numbers, and so have their inverses
SMALL = 1e-100


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """log N(y; x, σ²) of all pairs of a row x and a window y, less a constant for each window.

    −|x − y|²/2σ² = ⟨x, y − c⟩/σ² − |x − c|²/2σ² + what depends on y alone, for any c: one matrix product. The centre
    c keeps digits where the sequences lie far from zero.
    """

    precision: Array
    centre: Array

    def rows(self, x: Array) -> Array:
        """|x − c|²/2σ² of every row, which no window changes."""
        parts = [slice(i, i + BLOCK_ROWS) for i in range(0, len(x), BLOCK_ROWS)]

        def one(part: slice) -> Array:
            with np.errstate(over="ignore"):  # infinite ones show in the log-likelihoods
                return np.asarray(0.5 * np.square(x[part] - self.centre) @ self.precision)

        return np.concatenate(in_threads(one, parts))

    def log_likelihoods(self, x: Array, half: Array, Y: Array) -> Array:
        """Shape (windows, rows)."""
        out = np.empty((len(Y), len(x)))
        with np.errstate(over="ignore"):
            scaled = (Y - self.centre) * self.precision

        def fill(part: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(part.start, part.stop, CACHED_ROWS):
                    some = slice(start, min(start + CACHED_ROWS, part.stop))
                    np.subtract(scaled @ x[some].T, half[some], out=out[:, some])

        in_threads(fill, _parts(len(x)))
        return out

    def draw(self, x: Array, rng: np.random.Generator) -> Array:
        """One observation of every row."""
        return x + rng.normal(size=x.shape) / np.sqrt(self.precision)


@dataclass(frozen=True, eq=False)
class OwnNoise:
    """A function (x, Y) → log-likelihoods of shape (rows, windows), both in the shape of the prior samples."""

    function: Callable[[Array, Array], Any]
    shape: Shape

    def rows(self, x: Array) -> Array:
        """Nothing is known before the windows are."""
        return np.zeros(len(x))

    def log_likelihoods(self, x: Array, half: Array, Y: Array) -> Array:
        """Shape (windows, rows)."""
        out = np.empty((len(Y), len(x)))
        windows = self.shape.full(Y)
        for start in range(0, len(x), BLOCK_ROWS):
            part = x[start : start + BLOCK_ROWS]
            found = as_numbers(called(self.function, "noise", self.shape.full(part), windows), "noise")
            if found.shape != (len(part), len(Y)):
                raise DataError(
                    f"noise: returned shape {found.shape} for {len(part)} rows and {len(Y)} windows; "
                    "return shape (rows, windows)"
                )
            if not np.all(found < np.inf):
                raise DataError("noise: returned nan or inf; a log-likelihood is a finite number or -inf")
            out[:, start : start + BLOCK_ROWS] = found.T
        return out

    def draw(self, x: Array, rng: np.random.Generator) -> Array:
        """Refused: a likelihood does not say how to draw from it."""
        raise DataError("draw: the noise is a function; give draw(x, rng) -> observations to simulate with it")


Observation = GaussianNoise | OwnNoise


def make_observation(noise: Any, shape: Shape, sample: Array) -> Observation:
    """The noise from a standard deviation, one for each channel, or a function; ``sample`` says where sequences lie."""
    if callable(noise) and not isinstance(noise, type):
        return OwnNoise(noise, shape)
    try:
        sigma = np.asarray(as_scalar(noise, "noise")) if not np.ndim(noise) else as_numbers(noise, "noise")
    except ValueError:  # ours, or NumPy's of what has no shape
        sigma = np.zeros(())
    channels = max(shape.channels, 1)
    if sigma.ndim > 1 or sigma.size not in (1, channels) or not np.all((sigma > SMALL) & (sigma < 1.0 / SMALL)):
        each = f", one for each of {channels} channels," if channels > 1 else ""
        raise DataError(
            f"noise: {shown(noise)} must be one positive standard deviation, 1e-100 to 1e100{each}, or a function"
        )
    by_channel = np.broadcast_to(sigma.ravel(), (channels,))
    # medians, because a few sequences may have run away
    middle = np.median(sample.reshape(-1, channels), axis=0)
    return GaussianNoise(np.tile(by_channel**-2.0, shape.window), np.tile(middle, shape.window))


def _parts(n: int) -> list[slice]:
    """Slices of the rows."""
    edges = np.linspace(0, n, max(2, n // BLOCK_ROWS + 1) + 1).astype(int).tolist()
    return [slice(*ends) for ends in pairwise(edges) if ends[0] < ends[1]]
