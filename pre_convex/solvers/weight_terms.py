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
from ..penalties import Penalty, make_penalty
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

    ``None`` if a term is not affine, and for many constraints.
    """
    from ..penalties.user_terms import affine_rows, affine_value  # import cvxpy

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
    half = np.where(equal, 0.0, 0.5 * (limit - lowest))
    # R_i|δ_i| of every feature, unless several share the radius or a coefficient is fixed
    one_each = slope is None and (problem.exact or problem.radius_per_feature or problem.norm == np.inf)
    target, radius = limit - half, np.append(np.broadcast_to(problem.radius, problem.k), half)
    names = [f"weight_constraints[{i}]" for i in np.flatnonzero(~alone)[needed]]
    if slope is not None:
        a, target, names = np.vstack([a, slope[0]]), np.append(target, 0.0), [*names, "weight_penalty"]
    columns = np.zeros((n, len(a)))
    columns[rows] = a.T
    try:
        larger = RatioProblem(
            np.append(problem.target, target),
            np.column_stack([problem.features_q, columns]),
            problem.log_base,
            radius=radius if one_each else 0.0,
            feature_names=(*problem.feature_names, *names),
            divergence=problem.divergence,
            bounds=bounds,
        )
    except DataError:  # these limits allow no weights, or columns that no solver could use
        return None
    start, constant = np.append(delta, np.zeros(len(a))), 0.0
    if slope is not None:
        start[-1], constant = -1.0, slope[1]
    terms = make_penalty(larger) if one_each else _with_radii(problem, larger, half, slope is not None)
    return WithTerms(larger, terms, start, constant)


def _with_radii(problem: RatioProblem, larger: RatioProblem, half: Array, fixed: bool) -> Penalty:
    """The radius of the problem on its own features, one for each constraint, perhaps −1 as the last coefficient."""
    import cvxpy as cp

    own = problem.radius_per_feature
    each = np.append(problem.radius if own else np.zeros(problem.k), half)
    # the coefficient of an equation is in no term, which the certificate [CONE] makes use of
    limited, left_out = np.flatnonzero((each > 0.0) & np.isfinite(each)), np.flatnonzero(np.isinf(each))

    def total(delta: Any) -> Any:
        g = cp.Constant(each[limited]) @ cp.abs(delta[limited]) if limited.size else cp.Constant(0.0)
        if own or problem.exact:
            return g
        return g + problem.radius * cp.norm(delta[: problem.k], problem.moment_norm.dual_order)

    def limits(delta: Any) -> list[Any]:
        return [*([delta[left_out] == 0.0] if left_out.size else []), *([delta[each.size] == -1.0] if fixed else [])]

    return make_penalty(larger, total, limits)


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
