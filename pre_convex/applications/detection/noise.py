"""Observation noise, y = x + noise: log-likelihoods of many windows at once, and simulated observations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ..._internal.threads import map_threads
from ..._internal.typing import Array
from ..._internal.validation import as_numbers, as_scalar, call_user_function, preview
from ...errors import DataError
from .windows import WindowShape

__all__ = ["CustomNoise", "GaussianNoise", "Noise", "make_noise"]

#: prior rows passed to a function or to a thread at a time, and those whose products fit the cache
BLOCK_ROWS, CACHED_ROWS = 4096, 512
#: range of standard deviations whose squares and inverse squares are finite
SMALLEST, LARGEST = 1e-100, 1e100


@dataclass(frozen=True, eq=False)
class GaussianNoise:
    """Log-density log N(y; x, σ²) for all pairs of a prior row x and a window y, up to a constant for each window.

    −|x − y|²/2σ² = ⟨x, y − c⟩/σ² − |x − c|²/2σ² + a term in y alone, for any c: one matrix product. The centre c
    keeps accuracy when sequences lie far from zero.

    Attributes
    ----------
    precision : ndarray of shape (numbers in a window,)
        1/σ².
    centre : ndarray of shape (numbers in a window,)
        c.
    """

    precision: Array
    centre: Array

    def precompute(self, x: Array) -> Array:
        """|x − c|²/2σ² of every prior row: the term that does not depend on the window, shape (rows,)."""
        blocks = [slice(i, i + BLOCK_ROWS) for i in range(0, len(x), BLOCK_ROWS)]

        def half_squares(block: slice) -> Array:
            with np.errstate(over="ignore"):  # infinities show in the log-likelihoods
                return np.asarray(0.5 * np.square(x[block] - self.centre) @ self.precision)

        return np.concatenate(map_threads(half_squares, blocks))

    def log_likelihoods(self, x: Array, precomputed: Array, Y: Array) -> Array:
        """Log-likelihoods of the prior rows x given windows Y, shape (windows, rows)."""
        out = np.empty((len(Y), len(x)))
        with np.errstate(over="ignore"):
            scaled = (Y - self.centre) * self.precision

        def fill(block: slice) -> None:
            with np.errstate(over="ignore", invalid="ignore"):
                for start in range(block.start, block.stop, CACHED_ROWS):
                    rows = slice(start, min(start + CACHED_ROWS, block.stop))
                    np.subtract(scaled @ x[rows].T, precomputed[rows], out=out[:, rows])

        map_threads(fill, _even_blocks(len(x)))
        return out

    def draw(self, x: Array, rng: np.random.Generator) -> Array:
        """One noisy observation of every row."""
        return x + rng.normal(size=x.shape) / np.sqrt(self.precision)


@dataclass(frozen=True, eq=False)
class CustomNoise:
    """A user's function (x, Y) → log-likelihoods of shape (rows, windows).

    Attributes
    ----------
    function : callable
        Gets x and Y in the shape of the prior samples.
    shape : WindowShape
        That shape.
    """

    function: Callable[[Array, Array], Any]
    shape: WindowShape

    def precompute(self, x: Array) -> Array:
        """Zeros: nothing can be computed before the windows are known."""
        return np.zeros(len(x))

    def log_likelihoods(self, x: Array, precomputed: Array, Y: Array) -> Array:
        """Log-likelihoods of the prior rows x given windows Y, shape (windows, rows)."""
        out = np.empty((len(Y), len(x)))
        windows = self.shape.unflatten(Y)
        for start in range(0, len(x), BLOCK_ROWS):
            block = x[start : start + BLOCK_ROWS]
            values = as_numbers(
                call_user_function(self.function, "noise", self.shape.unflatten(block), windows), "noise"
            )
            if values.shape != (len(block), len(Y)):
                raise DataError(
                    "noise",
                    f"returned shape {values.shape} for {len(block)} rows and {len(Y)} windows",
                    "return shape (rows, windows)",
                )
            if not np.all(values < np.inf):
                raise DataError("noise", "returned nan or inf", "return finite log-likelihoods, or -inf")
            out[:, start : start + BLOCK_ROWS] = values.T
        return out

    def draw(self, x: Array, rng: np.random.Generator) -> Array:
        """Raise: a likelihood alone does not say how to simulate observations."""
        raise DataError(
            "draw", "is needed to simulate background when noise is a function", "pass draw(x, rng) -> observations"
        )


Noise = GaussianNoise | CustomNoise


def make_noise(noise: Any, shape: WindowShape, sample: Array) -> Noise:
    """Noise model from a standard deviation, one for each channel, or a function.

    Parameters
    ----------
    noise : float, array of shape (channels,), or callable
        Standard deviations, 1e-100 to 1e100; or a function (x, Y) → log-likelihoods.
    shape : WindowShape
        Shape of the windows.
    sample : ndarray of shape (rows, numbers in a window)
        Some latent sequences, whose median becomes the centre.
    """
    if callable(noise) and not isinstance(noise, type):
        return CustomNoise(noise, shape)
    try:
        sigma = np.asarray(as_scalar(noise, "noise")) if not np.ndim(noise) else as_numbers(noise, "noise")
    except ValueError:  # a DataError, or NumPy's error about ragged rows
        sigma = np.zeros(())
    channels = max(shape.channels, 1)
    if sigma.ndim > 1 or sigma.size not in (1, channels) or not np.all((sigma > SMALLEST) & (sigma < LARGEST)):
        each = f", or one for each of the {channels} channels" if channels > 1 else ""
        raise DataError(
            "noise",
            f"{preview(noise)} is neither a standard deviation between 1e-100 and 1e100 nor a function",
            f"pass one positive number{each}, or a function (x, Y) -> log-likelihoods",
        )
    by_channel = np.broadcast_to(sigma.ravel(), (channels,))
    # median, because a few sequences may diverge
    centre = np.median(sample.reshape(-1, channels), axis=0)
    return GaussianNoise(np.tile(by_channel**-2.0, shape.window), np.tile(centre, shape.window))


def _even_blocks(n: int) -> list[slice]:
    """Slices of n rows for the threads, about BLOCK_ROWS each and at least two."""
    edges = np.linspace(0, n, max(2, n // BLOCK_ROWS + 1) + 1).astype(int).tolist()
    return [slice(*ends) for ends in pairwise(edges) if ends[0] < ends[1]]
