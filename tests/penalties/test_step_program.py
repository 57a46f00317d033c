import cvxpy as cp
import numpy as np
import pytest
from zoo import planted

import pre_convex as pre
from pre_convex.penalties.step_program import StepProgram


def test_a_solver_that_raises_leaves_no_stale_step(monkeypatch):
    problem, _ = planted(k=2)
    step = StepProgram(problem, lambda d: cp.norm1(d))
    step.solve(np.ones(2), np.eye(2))

    def fail(*args, **kwargs):
        raise cp.SolverError("out of order")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(pre.SolveError, match="out of order"):
        step.solve(-np.ones(2), np.eye(2))
