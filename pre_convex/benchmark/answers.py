"""Problems made around their answers: δ is chosen first, and the target computed from it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..entropy import Array
from ..problem import RatioProblem
from .case import Case, Truth

__all__ = ["planted", "subgradient"]


def subgradient(delta: Array, norm: float) -> Array:
    """A residual r of unit norm with ⟨r, δ⟩ = ‖δ‖_*; zero for δ = 0."""
    if not np.any(delta):
        return np.zeros_like(delta)
    if norm == 2:
        return np.asarray(delta / np.linalg.norm(delta))
    if norm == np.inf:
        return np.asarray(np.sign(delta))
    top = np.abs(delta) == np.abs(delta).max()
    return np.asarray(np.where(top, np.sign(delta), 0.0) / top.sum())


def planted(
    name: str,
    features: Array,
    delta: Array,
    log_base: Array | None = None,
    radius: float = 0.0,
    norm: float = 2,
    **facts: Any,
) -> Case:
    """The case whose answer is δ, for any radius and norm."""
    log_base = np.zeros(len(features)) if log_base is None else log_base
    bare = RatioProblem(np.zeros(features.shape[1]), features, log_base)
    target = bare.gradient(delta) + bare.target + radius * subgradient(delta, norm)
    problem = RatioProblem(target, features, log_base, radius=radius, norm=norm)
    return Case(name, problem, Truth.OPTIMAL, problem.value(delta), delta, facts)
