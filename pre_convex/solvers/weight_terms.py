"""Affine terms of the weights as features, so that the certificate covers them.

⟨a, μ⟩ ≤ h says that the mean of one more feature, with the values a_j on the rows, is at most h. As ⟨a, μ⟩ ≥ min_j a_j
for all weights, that is a radius of its own: |(h + min a)/2 − ⟨a, μ⟩| ≤ (h − min a)/2. An equation has the radius zero,
a limit on a single weight is a bound, and a penalty ⟨a, μ⟩ is a feature with target zero whose coefficient is −1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._internal.typing import Array
from ..errors import DataError
from ..penalties import LinearConstraints, Penalty, feature_scale, make_penalty
from ..problem import RatioProblem

__all__ = ["WithTerms", "with_weight_terms"]

#: more constraints than this, not counting limits on single weights, are left to the cone solver
MAX_CONSTRAINTS = 100


class WithTerms(NamedTuple):
    """A problem with the user's terms of the weights among its features.

    Attributes
    ----------
    problem : RatioProblem
        The features of the user come first.
    penalty : Penalty
        g of its coefficients.
    start : ndarray of shape (k + m,)
        Where to start: δ of a cone solver, and zero or −1 for the other features.
    constant : float
        What the penalty of the weights adds whatever they are.
    """

    problem: RatioProblem
    penalty: Penalty
    start: Array
    constant: float


def with_weight_terms(problem: RatioProblem, delta: Array, penalty: Any, constraints: Any) -> WithTerms | None:
    """The problem with affine terms of the weights among its features.

    ``None`` if a term is not affine, for many constraints, and where the radius cannot be one for each feature: with a
    positive radius in norm 1 or 2, or, if there is a penalty of the weights, with any radius.
    """
    from ..penalties.user_terms import affine_rows, affine_value  # import cvxpy

    one_each = problem.radius_per_feature or problem.radius == 0.0 or problem.norm == np.inf
    if not one_each or (penalty is not None and not (problem.exact and not problem.radius_per_feature)):
        return None
    rows, n = problem.positive_rows, problem.n_q
    found = affine_rows(rows.size, constraints)
    slope = None if penalty is None else affine_value(rows.size, penalty)
    if found is None or (penalty is not None and slope is None):
        return None
    A, limit, equalities = found
    alone = (np.diff(A.indptr) == 1) & (np.arange(limit.size) >= equalities)
    bounds = _bounds(problem, A[alone], limit[alone])
    A, limit, equal = A[~alone], limit[~alone], np.arange(limit.size)[~alone] < equalities
    if limit.size > MAX_CONSTRAINTS or not np.all(np.isfinite(limit)):
        return None
    a = A.toarray()
    lowest, highest = a.min(axis=1, initial=np.inf), a.max(axis=1, initial=-np.inf)
    if np.any(limit < lowest) or np.any(equal & (limit > highest)):
        return None  # no weights at all satisfy it
    needed = equal | (limit < highest)
    a, limit, equal, lowest = a[needed], limit[needed], equal[needed], lowest[needed]
    m, k = limit.size, problem.k
    half = np.where(equal, 0.0, 0.5 * (limit - lowest))
    target, radius = limit - half, np.append(np.broadcast_to(problem.radius, k), half)
    names = [f"weight_constraints[{i}]" for i in np.flatnonzero(~alone)[needed]]
    if slope is not None:
        a, target, names = np.vstack([a, slope[0]]), np.append(limit, 0.0), [*names, "weight_penalty"]
    columns = np.zeros((n, len(a)))
    columns[rows] = a.T
    try:
        larger = RatioProblem(
            np.append(problem.target, target),
            np.column_stack([problem.features_q, columns]),
            problem.log_base,
            radius=0.0 if slope is not None else radius,
            feature_names=(*problem.feature_names, *names),
            divergence=problem.divergence,
            bounds=bounds,
        )
    except DataError:  # these limits allow no weights, or columns that no solver could use
        return None
    start = np.append(delta, np.zeros(len(a)))
    if slope is None:
        return WithTerms(larger, make_penalty(larger), start, 0.0)
    start[-1] = -1.0
    of_delta = np.eye(k + m + 1)[[k + m, *(k + np.flatnonzero(equal == 0))]]  # −1 for the penalty, ≤ 0 for inequalities
    limits = np.append(-1.0, np.zeros(len(of_delta) - 1))
    return WithTerms(larger, LinearConstraints(of_delta, limits, 1, feature_scale(larger)), start, slope[1])


def _bounds(problem: RatioProblem, A: Any, limit: Array) -> tuple[Array, Array]:
    """Bounds on the ratio from those of the problem and from limits on single weights."""
    rows, pi = problem.positive_rows, np.exp(problem.log_base)
    lower, upper = (np.broadcast_to(x, problem.n_q).astype(float) for x in problem.bounds)
    with np.errstate(over="ignore", divide="ignore"):
        most = limit / A.data
        index = rows[A.indices]
        above = A.data > 0.0
        np.minimum.at(upper, index[above], most[above] / pi[index[above]])
        np.maximum.at(lower, index[~above], most[~above] / pi[index[~above]])
    return lower, upper
