"""Many features and an ℓ1 penalty (a radius in the norm inf), so that most coefficients are zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cases import Case, planted

TITLE = "50 to 1,000 features, an l1 penalty, five coefficients that are not zero"
VERSION = 1

SIZES = ((200, 50), (200, 300), (1_000, 100), (1_000, 300), (2_000, 500), (500, 1_000))


def cases() -> Iterator[Case]:
    """Independent Gaussian features, correlated ones, and sparse counts."""
    for n, k in SIZES:
        rng = np.random.default_rng([6, n, k])
        delta = np.zeros(k)
        delta[rng.choice(k, 5, replace=False)] = rng.choice([-0.6, 0.6], 5)
        inner = rng.uniform(-0.9, 0.9, k)
        F = rng.normal(size=(n, k))
        yield planted(f"normal-n{n}-k{k}", F, delta, radius=0.1, norm=np.inf, inner=inner)
        if n == 1_000:
            yield planted(
                f"correlated-n{n}-k{k}", F + rng.normal(size=(n, 1)), delta, radius=0.1, norm=np.inf, inner=inner
            )
            counts = rng.poisson(0.05, size=(n, k)).astype(float)
            yield planted(f"counts-n{n}-k{k}", counts, delta, radius=0.01, norm=np.inf, inner=inner)
