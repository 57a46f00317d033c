"""Units of δ: the inverse of the features' standard deviations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.typing import Array

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = ["feature_scale"]


def feature_scale(problem: RatioProblem) -> Array:
    """Standard deviations of the features on a sample; one for constant columns."""
    sample = problem.rows.sample(1000).features
    spread, size = np.std(sample, axis=0), np.abs(sample[0])
    return np.where(spread > 1e-13 * size, spread, 1.0)
