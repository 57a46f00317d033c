"""Sharp likelihoods: the base weights sit on ever fewer rows, down to an effective sample size of five."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.optimize import brentq

from ...entropy import Array, effective_sample_size, exp, exp_of, log_normalise
from ..answers import planted
from ..case import Case

TITLE = "sharp likelihoods, effective sample size 1,000 down to 5"
VERSION = 1

SIZES = {
    (2_000, 2): (1_000, 200, 50, 20, 10, 5),
    (2_000, 10): (200, 50, 20),
    (20_000, 3): (1_000, 50, 5),
}


def cases() -> Iterator[Case]:
    """Gaussian rows and a Gaussian likelihood of an observation near the edge of them."""
    for (n, k), sizes in SIZES.items():
        for ess in sizes:
            rng = np.random.default_rng([2, n, k, ess])
            F = rng.normal(size=(n, k))
            square = ((F - 1.0 / np.sqrt(k)) ** 2).sum(axis=1)
            log_base = _with_ess(square, ess)
            delta = rng.normal(size=k)
            delta *= 0.7 / _spread(F @ delta, log_base)
            yield planted(f"ess{ess}-n{n}-k{k}", F, delta, log_base, ess=float(ess))


def _with_ess(square: Array, ess: float) -> Array:
    """−τ/2 times the squared distances, with τ such that the weights have this effective sample size."""

    def excess(log_precision: float) -> float:
        return effective_sample_size(-0.5 * exp_of(log_precision) * square) - ess

    return np.asarray(-0.5 * exp_of(brentq(excess, -10.0, 25.0, xtol=1e-13)) * square)


def _spread(x: Array, log_base: Array) -> float:
    """Standard deviation of x under the base weights."""
    w = exp(log_normalise(log_base))
    return float(np.sqrt(w @ (x - w @ x) ** 2))
