"""Problems made around their answers: δ is chosen first, and the target computed from it."""

from __future__ import annotations

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
    inner: Array | None = None,
    **facts: float,
) -> Case:
    """The case whose answer is δ, for any radius and norm.

    With the norm inf, a residual is free between −R and R where δ is zero; ``inner`` gives it there as a share of R.
    """
    log_base = np.zeros(len(features)) if log_base is None else log_base
    bare = RatioProblem(np.zeros(features.shape[1]), features, log_base)
    r = subgradient(delta, norm)
    if inner is not None:
        r = np.where(delta == 0.0, inner, r)
    mean = bare.gradient(delta)
    # the mean of a constant column has round-off, and a target off by the last bit has no answer at all
    mean = np.where(np.ptp(features, axis=0) == 0.0, features[0], mean)
    target = mean + radius * r
    problem = RatioProblem(target, features, log_base, radius=radius, norm=norm)
    return Case(name, problem, Truth.OPTIMAL, problem.value(delta), delta, facts)
