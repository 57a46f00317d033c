import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pre_convex.entropy import log_sum_exp, negative_kl, tilting_cost
from pre_convex.passes import Rows, Summary, support, tilt


def data(n=500, k=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, k)), rng.normal(size=n) * 3, rng.normal(size=k)


def reference(F, a, delta):
    z = a + F @ delta
    log_z = log_sum_exp(z)
    mu = np.exp(z - log_z)
    mean = mu @ F
    return log_z, mean, (F - mean).T @ ((F - mean) * mu[:, None])


@pytest.mark.parametrize("n", [1, 2, 500, 70_000])
def test_a_pass_is_the_plain_formula(n):
    F, a, delta = data(n)
    summary = tilt(Rows(F, a), delta)
    log_z, mean, covariance = reference(F, a, delta)
    assert summary.log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(summary.mean, mean, atol=1e-12)
    np.testing.assert_allclose(summary.covariance, covariance, atol=1e-12)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.permutations(range(6)), st.integers(0, 99))
def test_summaries_are_a_commutative_monoid(sizes, order, seed):
    F, a, delta = data(sum(sizes), 2, seed)
    edges = np.cumsum([0, *sizes])
    parts = [tilt(Rows(F[i:j], a[i:j]), delta) for i, j in itertools.pairwise(edges)]
    parts = [parts[i] for i in order if i < len(parts)]
    merged = Summary(-np.inf, np.zeros(2), np.zeros((2, 2)))  # the neutral element
    for part in parts:
        merged = merged.merge(part)
    whole = tilt(Rows(F, a), delta)
    assert merged.log_z == pytest.approx(whole.log_z, abs=1e-12)
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-12)
    np.testing.assert_allclose(merged.covariance, whole.covariance, atol=1e-11)


def test_large_offsets_cost_no_digits():
    F, a, delta = data()
    origin = np.array([1e8, -1e7, 1e6])
    plain, moved = tilt(Rows(F, a), delta), tilt(Rows(F + origin, a, origin), delta)
    np.testing.assert_allclose(moved.covariance, plain.covariance, atol=1e-7)
    assert moved.log_z == pytest.approx(plain.log_z, abs=1e-7)


def test_covariance_of_a_sharp_peak_is_accurate():
    # weights on two rows that are 1e-7 apart, far from the origin: E[FF'] - mm' would be pure round-off
    F = np.array([[3.0], [3.0 + 1e-7], [0.0]])
    summary = tilt(Rows(F, np.array([0.0, 0.0, -np.inf])), np.zeros(1))
    assert summary.covariance[0, 0] == pytest.approx(0.25e-14, rel=1e-6)


def test_support_finds_the_extreme_rows_and_skips_rows_without_weight():
    F, a, _ = data(30_000)
    a[np.argmax(F[:, 0])] = -np.inf
    directions = np.eye(3)[:, :2]
    values, index = support(Rows(F, a), directions, 4)
    for i in range(2):
        height = np.where(a > -np.inf, F[:, i], -np.inf)
        assert values[i] == height.max()
        assert set(np.argsort(-height)[:4]) <= set(index)


def test_negative_kl_of_extreme_weights():
    assert negative_kl(np.array([1.0, 0.0]), np.array([0.0, -np.inf])) == 0.0
    assert negative_kl(np.array([0.5, 0.5]), np.array([0.0, -np.inf])) == -np.inf


def test_tilting_cost_is_accurate_when_tiny_and_infinite_when_negative():
    mu, c = np.array([0.5, 0.5]), np.array([1e-9, -1e-9])
    assert tilting_cost(mu, c) == pytest.approx(0.5e-18, rel=1e-9)
    big = np.array([0.5, -0.5])
    assert tilting_cost(mu, big) == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5), rel=1e-12)
    assert tilting_cost(mu, np.array([1.5, -1.5])) == np.inf
