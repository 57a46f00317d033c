"""The penalty R‖δ‖₂ of the moment constraint ‖b − F'μ‖₂ ≤ R."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from .._internal.entropy import scalar_log
from .._internal.typing import Array
from .ball import BallPenalty

__all__ = ["L2Penalty"]


class L2Penalty(BallPenalty):
    """R‖δ‖₂: a step solves (H + λI) x = −q with λ‖x‖ = R, one equation in log λ with a slope between 0 and 1."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Safeguarded Newton iteration on log(λ‖x(λ)‖) = log R."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._solve_secular(delta, gradient, H)

    def _solve_secular(self, delta: Array, gradient: Array, H: Array) -> Array:
        R = self.radius
        q = gradient - H @ delta
        if np.linalg.norm(q) <= R:
            return np.zeros_like(delta)
        length = float(np.linalg.norm(delta))
        t = scalar_log(R / length if length > 0.0 else R * np.trace(H) / np.linalg.norm(q))
        t = t if np.isfinite(t) else 0.0
        low, high, eye = -np.inf, np.inf, np.eye(len(q))
        x = delta
        for _ in range(100):
            lam = math.exp(min(t, 600.0))
            factor, failed = dpotrf(H + lam * eye, lower=1)
            x = -dpotrs(factor, q, lower=1)[0]
            length = float(np.linalg.norm(x))
            if failed or not 1e-150 < length < 1e150:  # λ too small for a singular H
                low, t = t, t + 2.0 if high == np.inf else 0.5 * (t + high)
                continue
            error = t + scalar_log(length / R)
            slope = 1.0 - lam * float(x @ dpotrs(factor, x, lower=1)[0]) / length**2
            if abs(error) <= 1e-13 * max(1.0, abs(t)) or high - low <= 1e-14 * max(1.0, abs(t)):
                break
            low, high = (t, high) if error < 0.0 else (low, t)
            t_new = t - error / max(slope, 1e-12)
            t_new = min(max(t_new, t - 40.0), t + 40.0)
            if not low < t_new < high:
                t_new = 0.5 * (low + high) if np.isfinite(low + high) else t - 2.0 * np.sign(error)
            if t_new == t:
                break
            t = t_new
        return x
