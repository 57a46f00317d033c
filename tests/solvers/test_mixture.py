"""[MKLIEP]: the interior-point method against cvxpy, EM and known answers, and the certificate."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pre_convex as pre
from pre_convex.programs.mixture import mixture_program
from pre_convex.solvers.mixture import mixture_gap, solve_mixture


def components(seed, n=120, m=30, width=0.5):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(0.5, 0.7, (n, 2)), rng.normal(size=(n, 2))
    kernel = pre.Kernel(length_scale=width)
    K_p, K_q = (np.hstack((np.ones((n, 1)), kernel.gram(x, x_p[:m]))) for x in (x_p, x_q))
    w, pi = rng.uniform(size=(2, n))
    return K_p, K_q, w / w.sum(), pi / pi.sum()


@pytest.mark.parametrize("width", [0.3, 1.0])
def test_the_answer_is_that_of_the_program_in_cvxpy(width):
    K_p, K_q, w, pi = components(0, width=width)
    program = mixture_program(K_p, K_q, w, pi)
    assert program.cvxpy.is_dcp()
    program.cvxpy.solve(solver="CLARABEL")
    found = solve_mixture(K_p / (pi @ K_q), w, 1e-10)
    assert found.status is pre.Status.OPTIMAL
    assert found.value == pytest.approx(program.cvxpy.value, abs=1e-6)
    alpha, mu = program.recover()
    np.testing.assert_allclose(K_p @ (found.beta / (pi @ K_q)), K_p @ alpha, rtol=0.01)
    assert mu.sum() == pytest.approx(1.0, abs=1e-6)


@given(st.integers(0, 10_000), st.integers(2, 40), st.integers(1, 25))
def test_the_gap_bounds_the_distance_of_any_point(seed, n, m):
    rng = np.random.default_rng(seed)
    A, w = rng.exponential(size=(n, m)) ** 2 + 1e-3, rng.dirichlet(np.ones(n))
    best = solve_mixture(A, w)
    assert best.status is pre.Status.OPTIMAL
    for beta in rng.dirichlet(np.full(m, 0.5), size=3):
        distance = best.value - float(w @ np.log(A @ beta))
        assert -best.gap <= distance <= mixture_gap(A, w, beta)


def test_the_multiplicative_updates_of_em_end_at_the_same_value():
    K_p, K_q, w, pi = components(1)
    A = K_p / (pi @ K_q)
    beta = np.full(A.shape[1], 1.0 / A.shape[1])
    for _ in range(20_000):
        beta = beta * ((w / (A @ beta)) @ A)
    assert solve_mixture(A, w).value == pytest.approx(float(w @ np.log(A @ beta)), abs=1e-5)


def test_one_component_that_is_best_everywhere_gets_all_the_weight():
    A = np.array([[3.0, 1.0, 0.0], [2.0, 1.0, 1.0]])
    found = solve_mixture(A, np.array([0.5, 0.5]), 1e-10)
    np.testing.assert_allclose(found.beta, [1.0, 0.0, 0.0], atol=1e-8)
    assert found.value == pytest.approx(0.5 * np.log(6.0))


def test_a_point_that_leaves_a_row_without_ratio_has_no_finite_gap():
    assert mixture_gap(np.eye(2), np.array([0.5, 0.5]), np.array([1.0, 0.0])) == np.inf
    assert mixture_gap(np.eye(2), np.array([1.0, 0.0]), np.array([1.0, 0.0])) < 1e-12


def test_nothing_is_proven_about_ratios_that_underflow():
    """Subnormal ratios have few digits, so that a bound relative to EPS would not hold."""
    A, w = np.array([[3e-320, 1e-322], [1.0, 2.0]]), np.array([0.5, 0.5])
    assert mixture_gap(A, w, np.array([0.5, 0.5])) == np.inf
    assert mixture_gap(A * 1e160, w, np.array([0.5, 0.5])) < np.inf
