"""The linear programs over a few rows, against HiGHS."""

import numpy as np
import pytest
from scipy.optimize import linprog

from pre_convex.feasibility.nearest import nearest_polyhedral


def reference(G, shared):
    n, k = G.shape
    bound = np.ones((k, 1)) if shared else np.eye(k)
    slacks = bound.shape[1]
    return linprog(
        np.append(np.zeros(n), np.ones(slacks)),
        A_ub=np.block([[G.T, -bound], [-G.T, -bound]]),
        b_ub=np.zeros(2 * k),
        A_eq=np.append(np.ones(n), np.zeros(slacks))[None, :],
        b_eq=[1.0],
    ).fun


@pytest.mark.parametrize("shared", [True, False], ids=["inf", "1"])
@pytest.mark.parametrize("shape", [(1, 3), (5, 1), (30, 5), (20, 40), (38, 187), (200, 10), (60, 60)])
def test_weights_and_direction_prove_the_optimum(shape, shared):
    for seed in range(3):
        rng = np.random.default_rng([*shape, seed])
        G = 4.0 + rng.normal(size=shape)
        mu, v = nearest_polyhedral(G, np.full(shape[0], 1.0 / shape[0]), shared, 1e-9)
        r = mu @ G
        distance, dual = (np.abs(r).max(), np.abs(v).sum()) if shared else (np.abs(r).sum(), np.abs(v).max())
        assert mu.min() >= 0.0
        assert mu.sum() == pytest.approx(1.0)
        best = reference(G, shared)
        assert distance == pytest.approx(best, rel=1e-8)
        assert (G @ v).min() / dual == pytest.approx(best, rel=1e-8)


@pytest.mark.parametrize("shared", [True, False], ids=["inf", "1"])
def test_duplicate_and_integer_rows_are_no_obstacle(shared):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        G = np.repeat(rng.integers(-2, 5, size=(12, 4)).astype(float) + [3.0, 0.0, 0.0, 0.0], 2, axis=0)
        mu, v = nearest_polyhedral(G, np.full(24, 1.0 / 24), shared, 1e-9)
        r, best = mu @ G, reference(G, shared)
        assert (np.abs(r).max() if shared else np.abs(r).sum()) == pytest.approx(best, rel=1e-7)
        assert (G @ v).min() / (np.abs(v).sum() if shared else np.abs(v).max()) == pytest.approx(best, rel=1e-7)
