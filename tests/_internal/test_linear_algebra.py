import numpy as np
import pytest

from pre_convex._internal.linear_algebra import (
    PsdSolver,
    null_directions,
    shrink_correlations,
    square_root,
    symmetric_root,
    zero_noise_variances,
)

SCALES = np.array([1e-8, 1.0, 1e6])


def covariance(rank, seed=0):
    """Positive semidefinite 3 by 3 matrix of a given rank, with columns of very different scales."""
    A = np.random.default_rng(seed).normal(size=(rank, 3))
    return (A.T @ A) * SCALES * SCALES[:, None]


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_a_solver_solves_consistent_systems_of_any_rank_and_scaling(rank):
    H = covariance(rank)
    solve = PsdSolver(H)
    for seed in range(5):
        rhs = H @ (np.random.default_rng(seed).normal(size=(3, 2)) / SCALES[:, None])
        np.testing.assert_allclose((H @ solve(rhs)) / SCALES[:, None], rhs / SCALES[:, None], atol=1e-8)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_null_directions_span_the_null_space(rank):
    H, Q = covariance(rank), null_directions(covariance(rank))
    assert Q.shape == (3, 3 - rank)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3 - rank), atol=1e-12)
    assert np.abs(H @ Q).max(initial=0.0) <= 1e-12 * np.abs(H).max()


@pytest.mark.parametrize("root", [square_root, symmetric_root])
@pytest.mark.parametrize("rank", [1, 3])
def test_roots_give_the_matrix_back(root, rank):
    H, A = covariance(rank), root(covariance(rank))
    np.testing.assert_allclose((A.T @ A) / SCALES / SCALES[:, None], H / SCALES / SCALES[:, None], atol=1e-12)


def test_correlations_are_shrunk_only_if_they_are_mostly_noise():
    rng = np.random.default_rng(0)
    noise = np.cov(rng.normal(size=(100, 30)).T)
    shrunk = shrink_correlations(noise, 100.0)
    off_diagonal = ~np.eye(30, dtype=bool)
    assert np.abs(shrunk[off_diagonal]).max() < 0.5 * np.abs(noise[off_diagonal]).max()
    np.testing.assert_allclose(shrunk.diagonal(), noise.diagonal())
    correlated = np.cov((rng.normal(size=(100, 1)) + 0.1 * rng.normal(size=(100, 30))).T)
    assert shrink_correlations(correlated, 100.0) is correlated


def test_round_off_of_a_constant_column_is_zero_variance():
    H = np.array([[1.0, 1e-9], [1e-9, 1e-20]])
    np.testing.assert_array_equal(zero_noise_variances(H, np.array([0.0, 1e5])), [[1.0, 0.0], [0.0, 0.0]])
    assert zero_noise_variances(H, np.zeros(2)) is H
