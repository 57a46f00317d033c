"""A certificate for anybody's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_vector
from ..checks import LONGEST
from ..problem import RatioProblem, as_problem
from ..solution import Certificate, certificate
from ..threads import one_thread_each
from .steps import make_penalty

__all__ = ["certify"]


@one_thread_each()
def certify(
    problem: RatioProblem, delta: Any, mu: Any = None, *, penalty: Any = None, constraints: Any = None
) -> Certificate:
    """Certificate of any (δ, μ), whoever computed them.

    Parameters
    ----------
    problem : RatioProblem
    delta : array of shape (k,)
    mu : array of shape (n_q,), optional
        The weights found with δ; the tilted weights μ(δ) of [LINK] when left out.
    penalty, constraints : callables of a cvxpy expression, optional
        The terms the problem was solved with.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> certify(problem, [-1.0986122886681098]).proves(1e-12)
    True
    >>> round(certify(problem, [0.0], mu=[0.75, 0.25]).gap, 9)  # the weights are right, δ is not
    0.130812036
    """
    problem = as_problem(problem)
    delta = as_vector(delta, "delta", problem.k, limit=LONGEST)
    terms = make_penalty(problem, penalty, constraints)
    with np.errstate(over="ignore", invalid="ignore"):  # anybody's numbers: what overflows proves nothing
        return certificate(problem, delta, mu, penalty=terms)
