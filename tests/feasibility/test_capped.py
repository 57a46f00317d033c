"""The moments that weights within bounds can have: separating directions are proofs."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility.capped import separates, support_of_weights


@pytest.mark.parametrize("bounds", [None, (0.0, 3.0), (0.4, 1.6)])
def test_reachable_moments_are_not_separated(bounds):
    rng = np.random.default_rng(0)
    F = rng.normal(size=(50, 3)) + [0.0, 1e3, -50.0]
    link = pre.RatioProblem(np.zeros(3), F, bounds=bounds).link
    for seed in range(20):
        v = np.random.default_rng(seed).normal(size=3)
        # the corner of the polytope in direction v, where the support function is attained
        order, mu = np.argsort(-F @ v), np.full(50, link.lower / 50)
        for j in order:
            mu[j] += max(min(1.0 - mu.sum(), (min(link.upper, 50.0) - link.lower) / 50), 0.0)
        problem = pre.RatioProblem(mu @ F, F, bounds=bounds)
        assert support_of_weights(problem, v) == pytest.approx(0.0, abs=1e-9)
        assert not separates(problem, v, 0.0)
        beyond = pre.RatioProblem(mu @ F + 1e-6 * v / (v @ v), F, bounds=bounds)
        assert separates(beyond, v, 0.0)
        assert not separates(beyond, v, 2e-6)


def test_a_tighter_bound_reaches_less():
    F = np.random.default_rng(1).normal(size=(40, 2))
    v = np.array([1.0, -0.5])
    tops = [
        support_of_weights(pre.RatioProblem([0.0, 0.0], F, bounds=(0.0, hi)), v) for hi in (np.inf, 5.0, 2.0, 1.2, 1.0)
    ]
    assert tops == sorted(tops, reverse=True)
    assert tops[-1] == pytest.approx(F.mean(axis=0) @ v)
