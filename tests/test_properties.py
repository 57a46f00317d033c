"""Metamorphic properties of problem, certificate and Newton engine."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from zoo import planted

import pre_convex as pre

seeds = st.integers(0, 10_000)
norms = st.sampled_from([2, np.inf, 1])
radii = st.sampled_from([0.0, 0.01, 0.1, 0.3])


@given(seeds, norms, radii, st.floats(0.0, 4.0))
def test_the_gap_is_never_negative(seed, norm, radius, size):
    problem, delta = planted(n=60, k=3, seed=seed, radius=radius, norm=norm)
    rng = np.random.default_rng(seed)
    point = size * rng.normal(size=3)
    mu = rng.dirichlet(np.ones(problem.n_q))
    optimum = problem.value(delta)
    for given_mu in (None, mu, np.exp(problem.log_mu(delta))):
        certificate = pre.certify(problem, point, given_mu)
        assert certificate.gap >= -1e-12
        assert certificate.dual_value <= optimum + 1e-13  # a bound that is never wrong
        assert certificate.primal_value >= optimum - 1e-13


@given(seeds, norms, radii)
def test_the_gap_is_zero_at_the_optimum_and_slackness_holds(seed, norm, radius):
    problem, delta = planted(n=80, k=3, seed=seed, radius=radius, norm=norm)
    certificate = pre.certify(problem, delta)
    assert certificate.gap <= 1e-13
    assert abs(certificate.slackness) <= 1e-12
    assert certificate.moment_residual <= 1e-12


@given(seeds, norms, radii)
def test_a_shift_of_the_features_changes_nothing(seed, norm, radius):
    problem, delta = planted(n=60, k=3, seed=seed, radius=radius, norm=norm)
    c = np.random.default_rng(seed).normal(size=3) * 10.0 ** np.random.default_rng(seed).integers(0, 5)
    moved = pre.RatioProblem(problem.target + c, problem.features_q + c, problem.log_base, radius=radius, norm=norm)
    np.testing.assert_allclose(pre.solve(moved).delta, delta, atol=1e-6)


@given(seeds)
def test_linear_maps_of_the_features_map_delta_back(seed):
    problem, delta = planted(n=60, k=3, seed=seed)
    A = np.random.default_rng(seed).normal(size=(3, 3)) + 3 * np.eye(3)
    mapped = pre.RatioProblem(A @ problem.target, problem.features_q @ A.T, problem.log_base)
    np.testing.assert_allclose(A.T @ pre.solve(mapped).delta, delta, atol=1e-7)


@given(seeds, norms, radii)
def test_row_order_does_not_matter(seed, norm, radius):
    problem, delta = planted(n=60, k=3, seed=seed, radius=radius, norm=norm)
    order = np.random.default_rng(seed).permutation(problem.n_q)
    shuffled = pre.RatioProblem(
        problem.target, problem.features_q[order], problem.log_base[order], radius=radius, norm=norm
    )
    solution = pre.solve(shuffled)
    np.testing.assert_allclose(solution.delta, delta, atol=1e-7)
    np.testing.assert_allclose(solution.mu, np.exp(problem.log_mu(delta))[order], atol=1e-9)


@given(seeds, norms, radii)
def test_a_row_twice_is_a_row_of_double_weight(seed, norm, radius):
    problem, _ = planted(n=50, k=2, seed=seed, radius=radius, norm=norm)
    twice = np.flatnonzero(np.random.default_rng(seed).random(50) < 0.3)
    F, a = problem.features_q, problem.log_base
    repeated = pre.RatioProblem(
        problem.target, np.vstack([F, F[twice]]), np.append(a, a[twice]), radius=radius, norm=norm
    )
    heavier = a.copy()
    heavier[twice] += np.log(2.0)
    weighted = pre.RatioProblem(problem.target, F, heavier, radius=radius, norm=norm)
    np.testing.assert_allclose(pre.solve(repeated).delta, pre.solve(weighted).delta, atol=1e-8)


@given(seeds, norms)
def test_the_divergence_is_non_negative_and_falls_with_the_radius(seed, norm):
    problem, _ = planted(n=60, k=3, seed=seed, norm=norm)
    divergences = [-s.primal_value for s in pre.radius_path(problem.with_radius(0.0, norm), [0, 0.01, 0.1, 0.5, 3])]
    assert all(d >= -1e-14 for d in divergences)
    assert all(b <= a + 1e-12 for a, b in itertools.pairwise(divergences))


@given(seeds, norms, st.floats(0.0, 1.0))
def test_beyond_the_base_residual_delta_is_exactly_zero(seed, norm, more):
    problem, _ = planted(n=60, k=3, seed=seed, norm=norm)
    at_zero = problem.ball(problem.gradient(np.zeros(3)))
    solution = pre.solve(problem.with_radius(at_zero * (1 + 1e-12) + more, norm))
    assert np.all(solution.delta == 0.0)
    assert solution.gap <= 1e-15


@given(seeds)
def test_kl_of_the_weights_is_minus_the_value(seed):
    problem, delta = planted(n=60, k=3, seed=seed)
    solution = pre.solve(problem)
    positive = solution.mu > 0
    kl = np.sum(solution.mu[positive] * (np.log(solution.mu[positive]) - problem.log_base[positive]))
    assert -solution.primal_value == pytest.approx(kl - solution.certificate.slackness, abs=1e-13)
    assert abs(solution.certificate.slackness) <= 1e-7
    np.testing.assert_allclose(solution.delta, delta, atol=1e-7)


@given(seeds, st.sampled_from([0.1, 0.5]), norms)
def test_the_hull_distance_has_a_matching_bound(seed, beyond, norm):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(80, 3))
    v = rng.normal(size=3)
    v /= np.linalg.norm(v)
    b = F[np.argmax(F @ v)] + beyond * v
    problem = pre.RatioProblem(b, F, norm=norm)
    hull = pre.minimal_radius(problem)
    assert hull.position is pre.Position.OUTSIDE
    assert problem.ball(b - hull.weights @ F[hull.index]) == pytest.approx(hull.radius, rel=1e-12)
    assert hull.direction @ b - (F @ hull.direction).max() == pytest.approx(hull.radius, rel=1e-6)
    assert problem.ball.dual(hull.direction) == pytest.approx(1.0)
    assert pre.solve(problem.with_radius(hull.radius * 1.01, norm)).status.ok
