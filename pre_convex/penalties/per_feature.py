"""The penalty Σ R_i|δ_i| of one radius for each feature, and penalties with a free intercept in front."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .ball import NoPenalty
from .free import PartialPenalty
from .l1 import L1Penalty
from .penalty import Penalty

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = ["per_feature_penalty", "with_intercept"]


def per_feature_penalty(problem: RatioProblem) -> PartialPenalty:
    """Σ R_i|δ_i|: the ℓ1 norm of R ∘ δ; features with R_i = 0 are free, those with R_i = ∞ are left out."""
    R = np.asarray(problem.radius)
    on, free = np.flatnonzero((R > 0.0) & (np.inf > R)), np.flatnonzero(R == 0.0)
    unit = problem.with_radius(1.0 if on.size else 0.0, norm=np.inf)
    inner = L1Penalty(unit) if on.size else NoPenalty(unit.moment_norm, 0.0)
    return PartialPenalty(inner, on, free, R[on])


def with_intercept(penalty: Penalty, k: int) -> PartialPenalty:
    """The same penalty of (c, δ), for δ of k coordinates; c is free."""
    first = np.zeros(1, dtype=np.intp)
    if isinstance(penalty, PartialPenalty):
        return PartialPenalty(penalty.inner, 1 + penalty.on, np.append(first, 1 + penalty.free), penalty.scale)
    return PartialPenalty(penalty, np.arange(1, k + 1), first)
