"""Heavy-tailed features and base weights."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..cases import Case, planted

TITLE = "Cauchy, log-normal and Pareto features, heavy base weights"
VERSION = 1


def cases() -> Iterator[Case]:
    """δ is scaled by the largest entry of each column, so that no single row takes all the weight."""
    for n in (500, 5_000):
        rng = np.random.default_rng([5, n])
        signs = np.array([1.0, -1.0, 1.0])
        cauchy = rng.standard_cauchy(size=(n, 3))
        yield planted(f"cauchy-n{n}", cauchy, 3.0 * signs / np.abs(cauchy).max(axis=0))
        yield planted(f"cauchy-strong-n{n}", cauchy, 6.0 * signs / np.abs(cauchy).max(axis=0))
        lognormal = np.exp(2.0 * rng.normal(size=(n, 3)))
        yield planted(f"lognormal-thinned-n{n}", lognormal, -1.0 / np.median(lognormal, axis=0))
        yield planted(f"lognormal-n{n}", lognormal, 4.0 * signs / lognormal.max(axis=0))
        pareto = rng.pareto(1.0, size=(n, 2))
        yield planted(f"pareto-n{n}", pareto, np.array([3.0, -3.0]) / pareto.max(axis=0))
        student = rng.standard_t(2, size=(n, 5))
        yield planted(f"student-n{n}", student, 0.2 * rng.normal(size=5) / student.std(axis=0))
        gauss = rng.normal(size=(n, 3))
        yield planted(f"weights-n{n}", gauss, 0.3 * signs, 3.0 * rng.normal(size=n))
        yield planted(
            f"cauchy-weights-n{n}", cauchy, 3.0 * signs / np.abs(cauchy).max(axis=0), 2.0 * rng.normal(size=n)
        )
