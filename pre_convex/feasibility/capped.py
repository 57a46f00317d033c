"""Moments that weights within bounds can have: the support function of that polytope.

Without bounds it is the hull of the rows; with them it is smaller, and its support function is h(v) = max ⟨F v, μ⟩ over
the capped simplex lo π ≤ μ ≤ hi π, Σμ = 1: a sort and a partial sum.
"""

from __future__ import annotations

import numpy as np

from .._internal.typing import Array
from ..data.affine_span import TARGET_NOISE
from ..data.linked import capped_support, linked_scores
from ..data.passes import column_ranges
from ..problem import RatioProblem

__all__ = ["separates", "support_of_weights"]

#: round-off of a support function, relative to the sizes of its terms
ROUND_OFF = 1e-13


def support_of_weights(problem: RatioProblem, v: Array) -> float:
    """h(v) = max ⟨v, F'μ − b⟩ over the weights that the bounds of a problem allow.

    A target is out of reach if h(v) + g(v) < 0 for some v, where g is R‖v‖_* or Σ R_i|v_i|.

    Examples
    --------
    >>> problem = RatioProblem([0.9], [[0.0], [1.0]], bounds=(0.0, 1.5))
    >>> round(support_of_weights(problem, np.ones(1)), 12)  # at most 0.75 of the weight can be at 1
    -0.15
    """
    z, pi = linked_scores(problem.rows, np.append(0.0, v))
    return capped_support(z, pi / pi.sum(), problem.link)


def separates(problem: RatioProblem, v: Array, relaxation: float) -> bool:
    """Whether v proves that no weights within the bounds match the target: h(v) + g(v) < 0 by more than round-off.

    The target of a constant column is known to its last digits only.

    Examples
    --------
    >>> problem = RatioProblem([0.9], [[0.0], [1.0]], bounds=(0.0, 1.5))
    >>> separates(problem, np.ones(1), 0.0), separates(problem, np.ones(1), 0.2), separates(problem, -np.ones(1), 0.0)
    (True, False, False)
    """
    top = support_of_weights(problem, v)
    lowest, highest = column_ranges(problem.rows)
    reach = np.maximum(np.abs(lowest), np.abs(highest))
    error = ROUND_OFF * (problem.k + 8) * (float(np.abs(v) @ reach) + abs(relaxation))
    constant = np.where(lowest == highest, np.abs(problem.target), 0.0)
    return bool(-relaxation - top > error + TARGET_NOISE * float(np.abs(v) @ constant))
