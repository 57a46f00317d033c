"""The user's penalty and constraints as cvxpy objects, checked for convexity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np
from scipy import sparse

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .._internal.validation import call_user_function
from ..errors import DataError
from .user import check_terms, variable_of

__all__ = ["linear_rows", "radius_term", "user_terms"]

EQUALITY = (cp.constraints.zero.Equality, cp.constraints.zero.Zero)
#: constraints that are linear if their expression is affine
LINEAR = (*EQUALITY, cp.constraints.nonpos.Inequality, cp.NonNeg, cp.NonPos)


def user_terms(
    delta: Any, penalty: Any, constraints: Any, names: tuple[str, str] = ("penalty", "constraints")
) -> tuple[Any, list[Any]]:
    """(penalty, constraints) at a cvxpy expression; raise unless they are convex and depend on that alone.

    ``names`` are those of the arguments: terms of δ, or of the weights μ.
    """
    check_terms(penalty, constraints, names)
    of_penalty, of_constraints = names
    variable = variable_of(of_penalty)
    g: Any = 0.0
    if penalty is not None:
        g = call_user_function(penalty, of_penalty, delta)
        if not (isinstance(g, cp.Expression) and g.is_scalar() and g.is_convex()):
            reason = "does not return a scalar convex cvxpy expression"
            raise DataError(of_penalty, reason, f"return one, such as cp.norm1({variable})")
        _check_variables(g, delta, of_penalty, np.isfinite)
        g = g if g.ndim == 0 else cp.sum(g)
    limits: list[Any] = []
    if constraints is not None:
        limits = call_user_function(constraints, of_constraints, delta)
        limits = list(limits) if isinstance(limits, (list, tuple)) else [limits]
        for i, c in enumerate(limits):
            if not (isinstance(c, cp.constraints.constraint.Constraint) and c.is_dcp()):
                reason = f"entry {i} is not a convex cvxpy constraint: {c}"
                raise DataError(of_constraints, reason, f"return convex constraints, such as [{variable} >= 0]")
            _check_variables(c, delta, of_constraints, lambda values: ~np.isnan(values))
    return g, limits


def radius_term(radius: Any, dual_order: float, delta: Any, name: str = "R") -> tuple[Any, list[Any]]:
    """(R‖δ‖_*, []), or Σ R_i|δ_i| with δ_i = 0 for the features that are left out; the term is None if it is zero."""
    if np.ndim(radius) == 0:
        return (cp.Constant(radius, name=name) * cp.norm(delta, dual_order) if radius > 0.0 else None), []
    out = np.isinf(radius)
    R = np.where(out, 0.0, radius)
    term = cp.Constant(R, name=name) @ cp.abs(delta) if R.any() else None
    return term, [delta[np.flatnonzero(out)] == 0] if out.any() else []


@cvxpy_lock()
def affine_rows(n: int, constraints: Any) -> tuple[Any, Array, int] | None:
    """(A, limit, p): constraints on n weights are A μ = limit in the first p rows and A μ ≤ limit in the others.

    A is sparse, by rows and without stored zeros. ``None`` if a constraint is not affine.
    """
    mu = cp.Variable(n)
    mu.value = np.zeros(n)
    names = ("weight_penalty", "weight_constraints")
    parts: list[tuple[bool, Any, Array]] = []
    for c in user_terms(mu, None, constraints, names=names)[1]:
        if not (isinstance(c, LINEAR) and c.expr.is_affine() and c.expr.is_real()):
            return None
        offset = np.ravel(c.expr.value, order="F")
        sign = -1.0 if isinstance(c, cp.NonNeg) else 1.0
        parts.append((isinstance(c, EQUALITY), sign * _slope(c.expr, mu, offset.size).T, -sign * offset))
    parts.sort(key=lambda part: not part[0])
    A = sparse.csr_array(sparse.vstack([sparse.csr_array((0, n)), *(rows for _, rows, _ in parts)]))
    A.eliminate_zeros()
    limit = np.concatenate([np.zeros(0), *(limit for _, _, limit in parts)])
    return (A, limit, sum(limit.size for equal, _, limit in parts if equal)) if np.all(np.isfinite(A.data)) else None


@cvxpy_lock()
def affine_value(n: int, penalty: Any) -> tuple[Array, float] | None:
    """(a, constant) such that a penalty of n weights is ⟨a, μ⟩ + constant; ``None`` if it is not affine."""
    mu = cp.Variable(n)
    mu.value = np.zeros(n)
    g, _ = user_terms(mu, penalty, None, names=("weight_penalty", "weight_constraints"))
    if not g.is_affine():
        return None
    return np.ravel(_slope(g, mu, 1).toarray()), float(g.value)


def _slope(expression: Any, variable: Any, size: int) -> Any:
    """Derivative of an affine expression of some size, one column for each entry, sparse."""
    slope = expression.grad.get(variable, 0.0)
    if not sparse.issparse(slope):
        slope = np.broadcast_to(np.asarray(slope, dtype=float), (variable.size, size))
    return sparse.csr_array(slope)


@cvxpy_lock()
def linear_rows(k: int, constraints: Any) -> tuple[Array, Array, int] | None:
    """(M, limit, p) such that the constraints are M δ = limit in the first p rows and M δ ≤ limit in the others.

    ``None`` if a constraint is not linear.
    """
    delta = cp.Variable(k)
    delta.value = np.zeros(k)
    equal, below = [np.zeros((0, k + 1))], [np.zeros((0, k + 1))]
    for c in user_terms(delta, None, constraints)[1]:
        if not (isinstance(c, LINEAR) and c.expr.is_affine() and c.expr.is_real()):
            return None
        slope, offset = c.expr.grad.get(delta, 0.0), np.ravel(c.expr.value, order="F")
        slope = np.asarray(slope.todense() if sparse.issparse(slope) else slope, dtype=float)
        rows = np.column_stack([np.broadcast_to(slope, (k, offset.size)).T, -offset])
        (equal if isinstance(c, EQUALITY) else below).append(-rows if isinstance(c, cp.NonNeg) else rows)
    rows = np.vstack([*equal, *below])
    if not np.all(np.isfinite(rows[:, :-1])):
        return None
    return rows[:, :-1], rows[:, -1], sum(len(r) for r in equal)


def _check_variables(term: Any, delta: Any, name: str, valid: Callable[[Any], Any]) -> None:
    """Raise unless δ determines the value of a term: no other variables, no unset parameters, only valid numbers."""
    if {v.id for v in term.variables()} - {v.id for v in delta.variables()}:
        variable = variable_of(name)
        raise DataError(name, f"has cvxpy variables other than {variable}", f"write it in terms of {variable} alone")
    if any(p.value is None for p in term.parameters()):
        raise DataError(name, "has a cvxpy parameter without a value", "set its value before solving")
    for c in [*term.constants(), *term.parameters()]:
        if not np.all(valid(c.value.data if sparse.issparse(c.value) else c.value)):
            raise DataError(name, "contains nan or inf", "use finite numbers")
