"""One Newton step that removes the bias of a radius [DEBIAS]."""

from __future__ import annotations

import numpy as np

from .._internal.linear_algebra import solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..errors import DataError
from ..problem import RatioProblem
from .influence import influence
from .small_samples import whitening
from .tilted import TiltedProblem

__all__ = ["MAX_REMAINDER", "debiased", "newton_step"]

#: remaining bias in standard errors that deserves a warning
MAX_REMAINDER = 0.5
#: a step is halved, this often at most, until ℓ decreases by this share of what its slope promises
MAX_HALVINGS, DECREASE = 30, 1e-4


@single_threaded_blas()
def newton_step(problem: RatioProblem, delta: Array) -> Array:
    """δ − H⁻¹∇ℓ(δ), for rows in memory; shorter if ℓ would not decrease.

    Parameters
    ----------
    problem : RatioProblem
        The problem; its radius is not used.
    delta : array of shape (k,)
        δ.
    """
    here = TiltedProblem(problem.with_radius(0.0), delta)
    step = solve_psd(here.hessian, here.residual)
    promised = float(step @ here.residual)
    for _ in range(MAX_HALVINGS):
        value = here.problem.value(here.delta + step)
        if value <= here.value - DECREASE * promised:
            return np.asarray(here.delta + step)
        step, promised = 0.5 * step, 0.5 * promised
    return here.delta


@single_threaded_blas()
def debiased(problem: RatioProblem, delta: Array) -> tuple[TiltedProblem, float]:
    """The problem without its radius at δ − H⁻¹∇ℓ(δ), and what is left of ∇ℓ there, in standard errors.

    Parameters
    ----------
    problem : RatioProblem
        A problem with a radius.
    delta : array of shape (k,)
        Its solution δ.
    """
    if problem.k >= problem.n_q:
        reason = f"{problem.k} features for {problem.n_q} q samples leave no noise to estimate"
        raise DataError("features", reason, "use fewer features")
    there = TiltedProblem(problem.with_radius(0.0), newton_step(problem, delta))
    T = whitening(influence(there, "centred").score)
    return there, float(np.sqrt(np.square(T.T @ there.residual).sum() / max(T.shape[1], 1)))
