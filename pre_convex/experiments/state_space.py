"""A latent AR(1) process observed with white noise: simulation, and maximum likelihood by the Kalman filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..entropy import Array, exp, log_of

__all__ = ["Model", "fit_model", "simulate_ar"]


@dataclass(frozen=True)
class Model:
    """Latent AR(1) process around a level, observed with white noise: its level, φ, standard deviation, and noise."""

    level: float
    phi: float
    sd: float
    noise: float

    def simulate(self, rows: int, length: int, rng: np.random.Generator) -> Array:
        """Latent sequences in units of the noise, the level at zero: the p prior."""
        return simulate_ar(np.full(rows, self.phi), np.full(rows, self.sd / self.noise), length, rng)

    def broad(self, rows: int, length: int, rng: np.random.Generator) -> Array:
        """Latent sequences of some other state: the same family, with level, φ and spread that vary widely."""
        sd = self.sd / self.noise
        phi = np.tanh(rng.normal(np.arctanh(self.phi), 0.7, rows))
        level = rng.uniform(-14.0 * sd, 14.0 * sd, rows)
        return level[:, None] + simulate_ar(phi, sd * exp(rng.normal(0.0, 0.7, rows)), length, rng)


def simulate_ar(phi: Array, sd: Array, length: int, rng: np.random.Generator) -> Array:
    """Stationary AR(1) sequences, one row for each φ and standard deviation."""
    shocks = rng.normal(size=(length, len(phi)))
    x = [shocks[0]]
    for shock in shocks[1:]:
        x.append(phi * x[-1] + np.sqrt(1.0 - phi**2) * shock)
    return np.asarray(np.stack(x, axis=1) * sd[:, None])


def fit_model(runs: Sequence[Array]) -> Model:
    """Maximum likelihood of the state-space model by the Kalman filter, runs independent of each other.

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
    there = np.arange(longest)[:, None] < np.array([len(run) for run in runs])
    args = (y, there)
    found = minimize(_deviance, [0.0, 1.5, 0.0, -0.7], args, "Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-4})
    sd, noise = (float(s) for s in scale * exp(found.x[2:]))
    return Model(float(centre + scale * found.x[0]), float(np.tanh(found.x[1])), sd, noise)


def _deviance(theta: Array, y: Array, there: Any) -> float:
    """−2 log-likelihood of level, artanh φ, log sd and log noise, up to a constant."""
    level, phi = theta[0], np.tanh(theta[1])
    stationary, noise = (float(v) for v in exp(2.0 * theta[2:]))
    mean, variance, total = np.zeros(y.shape[1]), stationary, 0.0
    for now, alive in zip(y - level, there, strict=True):
        spread = variance + noise
        error = now - mean
        total += float(alive.sum()) * log_of(spread) + float(np.square(error[alive]).sum()) / spread
        gain = variance / spread
        mean = phi * (mean + gain * error)
        variance = phi**2 * variance * (1.0 - gain) + stationary * (1.0 - phi**2)
    return total
