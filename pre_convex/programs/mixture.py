"""Mixture KLIEP [MKLIEP] in cvxpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._internal.threads import cvxpy_lock
from .._internal.typing import Array
from .program import Program

__all__ = ["mixture_program"]


@cvxpy_lock()
def mixture_program(kernel_p: Array, kernel_q: Array, weights_p: Array, weights_q: Array) -> Program:
    """[MKLIEP] in α, as a disciplined convex program.

    maximise Σ_i w_i log Σ_l α_l K_l(x_p,i)   s.t. α ≥ 0,  Σ_l α_l Σ_j π_j K_l(x_q,j) = 1

    Parameters
    ----------
    kernel_p, kernel_q : ndarray of shape (n_p, m) and (n_q, m)
        Kernels K_l at the rows of both sides.
    weights_p, weights_q : ndarray of shape (n_p,) and (n_q,)
        w and π, which sum to one.

    Returns
    -------
    Program
        Its ``recover`` gives (α, μ) with μ_j = π_j r(x_q,j).

    Examples
    --------
    >>> K = np.array([[1.0, 0.2], [0.2, 1.0]])
    >>> program = mixture_program(K, K, np.array([0.5, 0.5]), np.array([0.5, 0.5]))
    >>> _ = program.cvxpy.solve(solver="CLARABEL")
    >>> program.recover()[0].round(3)
    array([0.833, 0.833])
    """
    import cvxpy as cp

    used = weights_p > 0.0
    alpha = cp.Variable(kernel_p.shape[1], name="alpha", nonneg=True)
    means = weights_q @ kernel_q
    likelihood = weights_p[used] @ cp.log(kernel_p[used] @ alpha)

    def recover() -> tuple[Array, Array] | None:
        value: Any = alpha.value
        if value is None or not np.all(np.isfinite(value)):
            return None
        value = np.maximum(value, 0.0)
        return value, weights_q * (kernel_q @ value)

    return Program(cp.Problem(cp.Maximize(likelihood), [means @ alpha == 1.0]), recover)
