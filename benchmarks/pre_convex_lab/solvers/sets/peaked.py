"""Sharp likelihoods: base weights concentrated on few rows, down to an effective sample size of five."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp

import numpy as np
from scipy.optimize import brentq

from pre_convex._internal.entropy import effective_sample_size, log_normalise
from pre_convex._internal.typing import Array

from ..cases import Case, planted

TITLE = "sharp likelihoods, effective sample size 1,000 down to 5"
VERSION = 1

SIZES = {
    (2_000, 2): (1_000, 200, 50, 20, 10, 5),
    (2_000, 10): (200, 50, 20),
    (20_000, 3): (1_000, 50, 5),
}


def cases() -> Iterator[Case]:
    """Gaussian rows, and the Gaussian likelihood of an observation one standard deviation from their mean."""
    for (n, k), sizes in SIZES.items():
        for ess in sizes:
            rng = np.random.default_rng([2, n, k, ess])
            F = rng.normal(size=(n, k))
            square = ((F - 1.0 / np.sqrt(k)) ** 2).sum(axis=1)
            log_base = _with_ess(square, ess)
            delta = rng.normal(size=k)
            delta *= 0.7 / _weighted_sd(F @ delta, log_base)
            yield planted(f"ess{ess}-n{n}-k{k}", F, delta, log_base, ess=float(ess))


def _with_ess(square: Array, ess: float) -> Array:
    """−τ/2 times the squared distances, with τ chosen to give this effective sample size."""

    def excess(log_precision: float) -> float:
        return effective_sample_size(-0.5 * exp(log_precision) * square) - ess

    return np.asarray(-0.5 * exp(brentq(excess, -10.0, 25.0, xtol=1e-13)) * square)


def _weighted_sd(x: Array, log_base: Array) -> float:
    """Standard deviation of x under the base weights."""
    w = np.exp(log_normalise(log_base))
    return float(np.sqrt(w @ (x - w @ x) ** 2))
