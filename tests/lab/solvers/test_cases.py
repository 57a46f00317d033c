"""Answers computed in extended precision agree with planted ones."""

import numpy as np
import pytest
from pre_convex_lab.solvers.cases import solved
from zoo import planted

import pre_convex as pre


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.2, 2), (0.2, np.inf)])
def test_the_planted_answer_is_found(radius, norm):
    problem, delta = planted(n=80, k=4, radius=radius, norm=norm)
    case = solved("planted", problem)
    assert case.delta == pytest.approx(delta, abs=1e-13)
    assert np.all((case.delta == 0.0) == (delta == 0.0))


@pytest.mark.parametrize(("radius", "norm", "reason"), [(0.2, 1, "norm 1"), (100.0, 2, "zero")])
def test_unsupported_problems_are_reported(radius, norm, reason):
    problem, _ = planted(n=80, k=4)
    with pytest.raises(pre.DataError) as error:
        solved("unsupported", problem.with_radius(radius, norm))
    assert error.value.argument == "problem"
    assert reason in error.value.reason
