"""The step of an ℓ∞ penalty by tying coordinates: its optimality conditions are the proof."""

import numpy as np
import pytest

from pre_convex.solvers.ties import by_ties


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("share", [0.5, 1e-2, 1e-6])
@pytest.mark.parametrize(("k", "n"), [(1, 20), (3, 50), (8, 40), (30, 200)])
def test_the_answer_is_optimal(k, n, share, wide):
    """Residuals vanish where x is free, pull outwards where it is tied, and sum to R."""
    rng = np.random.default_rng([k, n, wide])
    for _ in range(5):
        F = rng.normal(size=(n, k)) * (np.geomspace(1e-3, 1e3, k) if wide else 1.0) + rng.normal(size=(n, 1))
        H = F.T @ F / n
        q = H @ rng.normal(size=k)
        R = share * np.abs(q).sum()
        x = by_ties(q, H, R)
        r = -q - H @ x
        noise = 1e-13 * (np.abs(q) + np.abs(H) @ np.abs(x))
        tied = np.abs(x) == np.abs(x).max()
        assert np.all(np.abs(r[~tied]) <= noise[~tied] + 1e-9 * R)
        assert np.all((np.sign(x) * r)[tied] >= -noise[tied] - 1e-9 * R)
        assert np.abs(r).sum() == pytest.approx(R, rel=1e-8, abs=10 * noise.sum())


def test_without_curvature_there_is_no_answer():
    assert by_ties(np.array([2.0, 0.0]), np.zeros((2, 2)), 1.0) is None
