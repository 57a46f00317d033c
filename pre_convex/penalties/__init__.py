"""Penalties g(δ): value, conjugate and Newton step of each norm, and of the user's cvxpy terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ball import BallPenalty, NoPenalty
from .free import PartialPenalty
from .l1 import L1Penalty
from .l2 import L2Penalty
from .linear_constraints import LinearConstraints
from .linf import LInfPenalty
from .norms import NORMS, Norm, get_norm
from .penalty import Penalty, Trial
from .per_feature import per_feature_penalty, with_intercept
from .units import feature_scale
from .user import UserPenalty

if TYPE_CHECKING:
    from ..problem import RatioProblem

__all__ = [
    "NORMS",
    "BallPenalty",
    "L1Penalty",
    "L2Penalty",
    "LInfPenalty",
    "LinearConstraints",
    "NoPenalty",
    "Norm",
    "PartialPenalty",
    "Penalty",
    "Trial",
    "UserPenalty",
    "feature_scale",
    "get_norm",
    "make_penalty",
    "with_intercept",
]


def make_penalty(problem: RatioProblem, penalty: Any = None, constraints: Any = None) -> Penalty:
    """Penalty of a problem, including the user's own terms.

    Parameters
    ----------
    problem : RatioProblem
        Supplies radius and norm.
    penalty, constraints : functions of a cvxpy expression, optional
        The user's own terms.
    """
    if penalty is None and constraints is not None and problem.exact and not problem.radius_per_feature:
        from .user_terms import linear_rows  # imports cvxpy, which most solves do without

        linear = linear_rows(problem.k, constraints)
        if linear is not None:
            return LinearConstraints(*linear, feature_scale(problem))
    if penalty is not None or constraints is not None:
        return UserPenalty(problem, penalty, constraints)
    if problem.radius_per_feature:
        return per_feature_penalty(problem)
    if problem.radius == 0.0:
        return NoPenalty(problem.moment_norm, 0.0)
    if problem.norm == 2.0:
        return L2Penalty(problem.moment_norm, problem.radius)
    if problem.norm == 1.0:
        return LInfPenalty(problem)
    return L1Penalty(problem)
