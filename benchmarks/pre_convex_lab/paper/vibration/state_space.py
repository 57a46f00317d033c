"""State-space model of a run: a latent AR(1) process in white noise, simulated and fitted with the Kalman filter."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pre_convex._internal.typing import Array

__all__ = ["Model", "deviance", "fit_model", "simulate_ar"]


@dataclass(frozen=True)
class Model:
    """A latent AR(1) process around a level, observed with white noise.

    Attributes
    ----------
    level, phi, sd : float
        Mean, autoregressive coefficient and stationary standard deviation of the process.
    noise : float
        Standard deviation of the noise.
    """

    level: float
    phi: float
    sd: float
    noise: float

    def simulate(self, rows: int, length: int, rng: np.random.Generator) -> Array:
        """Latent sequences in units of the noise, around zero: the p prior."""
        return simulate_ar(np.full(rows, self.phi), np.full(rows, self.sd / self.noise), length, rng)

    def broad(self, rows: int, length: int, rng: np.random.Generator) -> Array:
        """Latent sequences of some other state, with widely varying level, φ and standard deviation: the q prior."""
        sd = self.sd / self.noise
        phi = np.tanh(rng.normal(np.arctanh(self.phi), 0.7, rows))
        level = rng.uniform(-14.0 * sd, 14.0 * sd, rows)
        return level[:, None] + simulate_ar(phi, sd * np.exp(rng.normal(0.0, 0.7, rows)), length, rng)


def simulate_ar(phi: Array, sd: Array, length: int, rng: np.random.Generator) -> Array:
    """Stationary AR(1) sequences, a row for each φ and standard deviation."""
    shocks = rng.normal(size=(length, len(phi)))
    x = [shocks[0]]
    for shock in shocks[1:]:
        x.append(phi * x[-1] + np.sqrt(1.0 - phi**2) * shock)
    return np.asarray(np.stack(x, axis=1) * sd[:, None])


def fit_model(runs: Sequence[Array]) -> Model:
    """Fit the model to independent runs by maximum likelihood.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = simulate_ar(np.full(50, 0.9), np.full(50, 2.0), 60, rng) + 5.0 + rng.normal(size=(50, 60))
    >>> model = fit_model(list(x))
    >>> print(f"{model.level:.1f} {model.phi:.2f} {model.sd:.1f} {model.noise:.1f}")
    4.8 0.89 1.9 1.0
    """
    from scipy.optimize import minimize

    everything = np.concatenate(runs)
    centre, scale = float(everything.mean()), float(everything.std())
    longest = max(map(len, runs))
    y = np.zeros((longest, len(runs)))
    for r, run in enumerate(runs):
        y[: len(run), r] = (run - centre) / scale
    observed = np.arange(longest)[:, None] < np.array([len(run) for run in runs])
    start, tolerances = [0.0, 1.5, 0.0, -0.7], {"xatol": 1e-4, "fatol": 1e-4}
    theta = minimize(deviance, start, (y, observed), "Nelder-Mead", options=tolerances).x
    sd, noise = (float(s) for s in scale * np.exp(theta[2:]))
    return Model(float(centre + scale * theta[0]), float(np.tanh(theta[1])), sd, noise)


def deviance(theta: Array, y: Array, observed: NDArray[np.bool_]) -> float:
    """−2 log-likelihood, up to a constant, by the Kalman filter.

    Parameters
    ----------
    theta : array of shape (4,)
        Level, artanh φ, log standard deviation, log noise.
    y : array of shape (longest, runs)
        Runs as columns, filled up below.
    observed : array of bool of shape (longest, runs)
        False where a run has ended.
    """
    level, phi = theta[0], np.tanh(theta[1])
    stationary, noise = (float(v) for v in np.exp(2.0 * theta[2:]))
    mean, variance, total = np.zeros(y.shape[1]), stationary, 0.0
    for values, present in zip(y - level, observed, strict=True):
        spread = variance + noise
        error = values - mean
        total += float(present.sum()) * math.log(spread) + float(np.square(error[present]).sum()) / spread
        gain = variance / spread
        mean = phi * (mean + gain * error)
        variance = phi**2 * variance * (1.0 - gain) + stationary * (1.0 - phi**2)
    return total
