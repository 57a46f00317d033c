"""Gaussian features, constant base weights, a moderate answer, growing size: every solver should solve these."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cases import Case, planted

TITLE = "Gaussian features, 100 to 50,000 rows, 1 to 100 columns"
VERSION = 1

SIZES = {100: (1, 3, 10), 1_000: (1, 3, 10, 30, 100), 10_000: (1, 3, 10, 30, 100), 50_000: (1, 10, 30, 100)}


def cases() -> Iterator[Case]:
    """⟨δ,F⟩ always has standard deviation 0.7."""
    for n, widths in SIZES.items():
        for k in widths:
            rng = np.random.default_rng([1, n, k])
            F = rng.normal(size=(n, k))
            delta = rng.normal(size=k)
            yield planted(f"n{n}-k{k}", F, 0.7 * delta / np.linalg.norm(delta))
