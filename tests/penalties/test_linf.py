"""Steps with an ℓ∞ penalty, judged by their optimality conditions."""

import numpy as np
import pytest

from pre_convex.penalties import linf
from pre_convex.penalties.linf import search_ties
from pre_convex.penalties.polyhedral import regularised, solve_regular


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("share", [0.5, 1e-2, 1e-6])
@pytest.mark.parametrize(("k", "n"), [(1, 20), (3, 50), (8, 40), (30, 200)])
def test_the_step_is_optimal(k, n, share, wide):
    """Residuals vanish where x is free, pull outwards where it is tied, and sum to R."""
    rng = np.random.default_rng([k, n, wide])
    for _ in range(5):
        F = rng.normal(size=(n, k)) * (np.geomspace(1e-3, 1e3, k) if wide else 1.0) + rng.normal(size=(n, 1))
        H = regularised(F.T @ F / n)
        q = H @ rng.normal(size=k)
        R = share * np.abs(q).sum()
        x = search_ties(q, H, R)
        r = -q - H @ x
        noise = 1e-13 * (np.abs(q) + np.abs(H) @ np.abs(x))
        tied = np.abs(x) == np.abs(x).max()
        assert np.all(np.abs(r[~tied]) <= noise[~tied] + 1e-9 * R)
        assert np.all((np.sign(x) * r)[tied] >= -noise[tied] - 1e-9 * R)
        assert np.abs(r).sum() == pytest.approx(R, rel=1e-8, abs=10 * noise.sum())


def test_an_unbounded_step_is_none():
    assert search_ties(np.array([2.0, 0.0]), np.zeros((2, 2)), 1.0) is None


def test_every_start_leads_to_the_same_step():
    rng = np.random.default_rng(0)
    F = rng.normal(size=(60, 6))
    H, q = F.T @ F / 60, rng.normal(size=6)
    x = search_ties(q, H, 0.3)
    for start in (x, 0.5 * x, rng.normal(size=6), np.ones(6), np.zeros(6)):
        assert search_ties(q, H, 0.3, start) == pytest.approx(x, abs=1e-12)


def test_a_start_with_more_free_coordinates_than_the_rank_is_ignored():
    rng = np.random.default_rng(1)
    F = rng.normal(size=(3, 60))
    F -= F.mean(axis=0)
    H = regularised(F.T @ F / 3)
    q = H @ rng.normal(size=60)
    R = 1e-3 * np.abs(q).sum()
    x = search_ties(q, H, R, rng.normal(size=60), 3)
    assert np.array_equal(x, search_ties(q, H, R, None, 3))
    assert np.count_nonzero(np.abs(x) < np.abs(x).max()) <= 3


@pytest.mark.parametrize("shared", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_sets_of_ties_change_in_one_solve(monkeypatch, seed, shared):
    """One tie at a time would take a linear solve for each coefficient that is freed."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(200, 150)) + shared * rng.normal(size=(200, 1))
    H = regularised(F.T @ F / 200)
    q, solves = H @ rng.normal(size=150), []
    monkeypatch.setattr(linf, "solve_regular", lambda H, rhs: solves.append(rhs.size) or solve_regular(H, rhs))
    x = search_ties(q, H, 0.01 * np.abs(q).sum())
    r = -q - H @ x
    assert np.abs(r).sum() == pytest.approx(0.01 * np.abs(q).sum(), rel=1e-8)
    assert 3 * len(solves) < np.count_nonzero(np.abs(x) < np.abs(x).max())
