"""Badly scaled features: columns of very different size, collinear or constant columns, means far from zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.problem import RatioProblem

from ..cases import Case, Truth, planted

TITLE = "columns from 1e-6 to 1e6, collinear and constant ones"
VERSION = 1


def cases() -> Iterator[Case]:
    """Most are one problem in different coordinates, where a solver should find the same ratio."""
    rng = np.random.default_rng(4)
    n, k = 500, 6
    X, log_base = rng.normal(size=(n, k)), rng.normal(size=n)
    delta = 0.3 * rng.normal(size=k)
    wide = np.geomspace(1e-6, 1e6, k)
    yield planted("plain", X, delta, log_base)
    for size in (1e-6, 1e6):
        yield planted(f"all-{size:.0e}", X * size, delta / size, log_base)
    yield planted("mixed-3", X * np.geomspace(1e-3, 1e3, k), delta / np.geomspace(1e-3, 1e3, k), log_base)
    yield planted("mixed-6", X * wide, delta / wide, log_base)
    for shift in (1e3, 1e6):
        yield planted(f"shifted-{shift:.0e}", X + shift, delta, log_base)
    for size in (1e-2, 1e-4, 1e-6):
        near = np.column_stack([X, X[:, 0] + size * rng.normal(size=n)])
        yield planted(f"nearly-collinear-{size:.0e}", near, np.append(delta, 0.1), log_base)
    yield planted("collinear", np.column_stack([X, X[:, :2].sum(axis=1)]), np.append(delta, 0.1), log_base)
    yield planted("twice", np.concatenate([X, X], axis=1), np.concatenate([delta, delta]), log_base)
    yield planted("constant", np.column_stack([X, np.ones(n)]), np.append(delta, 0.1), log_base)
    yield planted("constant-1e6", np.column_stack([X, np.full(n, 1e6)]), np.append(delta, 0.0), log_base)
    levels = np.eye(4)[rng.integers(4, size=n)]
    yield planted(
        "all-levels", np.column_stack([levels, X[:, :2]]), np.array([0.5, -0.5, 0.0, 1.0, 0.3, -0.2]), log_base
    )
    yield planted(
        "all-at-once",
        np.column_stack([X, X[:, 0] - X[:, 1], np.ones(n)]) * np.append(wide, [1.0, 1e3]),
        np.append(delta / wide, [0.1, 0.0]),
        log_base,
    )
    yield planted("mixed-3-norm2", X * np.geomspace(1e-3, 1e3, k), delta / np.geomspace(1e-3, 1e3, k), log_base, 1e-3)
    yield from _outside(X, wide, log_base)


def _outside(X: Array, wide: Array, log_base: Array) -> Iterator[Case]:
    """Infeasible targets: beyond the range of a column, off a constant column, off a plane."""
    F = X * wide
    target = np.zeros(len(wide))
    target[0] = 1.1 * F[:, 0].max()
    yield _infeasible("outside-smallest", target, F, log_base)
    target = np.zeros(len(wide))
    target[-1] = 1.1 * F[:, -1].max()
    yield _infeasible("outside-largest", target, F, log_base)
    one = np.ones(len(X))
    yield _infeasible("outside-constant", np.append(np.zeros(len(wide)), 1.001), np.column_stack([X, one]), log_base)
    twice = np.column_stack([X[:, :2], X[:, 0] + X[:, 1]])
    yield _infeasible("outside-plane", np.array([0.1, 0.1, 0.201]), twice, log_base)


def _infeasible(name: str, target: Array, F: Array, log_base: Array) -> Case:
    """An infeasible case."""
    return Case(name, RatioProblem(target, F, log_base), Truth.INFEASIBLE, -np.inf)
