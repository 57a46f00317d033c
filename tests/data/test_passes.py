import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pre_convex._internal.entropy import log_sum_exp
from pre_convex.data.passes import (
    Summary,
    column_ranges,
    logits,
    support,
    tilt,
    weighted_sum,
)
from pre_convex.data.rows import Rows


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
def test_a_pass_equals_the_direct_formula(n):
    F, a, delta = data(n)
    summary = tilt(Rows(F, a), delta)
    log_z, mean, covariance = reference(F, a, delta)
    assert summary.log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(summary.mean, mean, atol=1e-12)
    np.testing.assert_allclose(summary.covariance, covariance, atol=1e-12)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.permutations(range(6)), st.integers(0, 99))
def test_summaries_merge_in_any_order(sizes, order, seed):
    F, a, delta = data(sum(sizes), 2, seed)
    edges = np.cumsum([0, *sizes])
    summaries = [tilt(Rows(F[i:j], a[i:j]), delta) for i, j in itertools.pairwise(edges)]
    summaries = [summaries[i] for i in order if i < len(summaries)]
    merged = Summary(-np.inf, np.zeros(2), np.zeros((2, 2)))  # the neutral element
    for summary in summaries:
        merged = merged.merge(summary)
    whole = tilt(Rows(F, a), delta)
    assert merged.log_z == pytest.approx(whole.log_z, abs=1e-12)
    np.testing.assert_allclose(merged.mean, whole.mean, atol=1e-12)
    np.testing.assert_allclose(merged.covariance, whole.covariance, atol=1e-11)


def test_an_origin_keeps_the_digits_of_shifted_features():
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


def test_support_finds_the_extreme_rows_and_skips_zero_weights():
    F, a, _ = data(30_000)
    a[np.argmax(F[:, 0])] = -np.inf
    directions = np.eye(3)[:, :2]
    values, index = support(Rows(F, a), directions, 4)
    for i in range(2):
        height = np.where(a > -np.inf, F[:, i], -np.inf)
        assert values[i] == height.max()
        assert set(np.argsort(-height)[:4]) <= set(index)


def block(rows, first, last):
    return Rows(rows.features[first:last], rows.log_base[first:last], rows.origin, first)


class Backwards(Rows):
    """Rows whose blocks arrive in the wrong order, as they may from the workers of a cluster."""

    def reduce(self, work, merge, cost=1.0):
        half = self.shape[0] // 2
        return merge(work(block(self, half, self.shape[0])), work(block(self, 0, half)))


@pytest.mark.parametrize("origin", [None, np.array([3.0, -2.0, 1.0])])
@pytest.mark.parametrize("kind", [Rows, Backwards])
def test_blocks_in_any_order_give_the_result_of_all_rows(monkeypatch, kind, origin):
    monkeypatch.setattr("pre_convex.data.rows.BLOCK_NUMBERS", 1000)
    monkeypatch.setattr("pre_convex.data.rows.CHUNK_NUMBERS", 1)  # chunks of 256 rows
    F, a, delta = data(2000)
    a[200:800] = -np.inf  # chunks without weight, and parts of others
    rows = kind(F if origin is None else F + origin, a, origin)
    log_z, mean, covariance = reference(F, a, delta)
    summary = tilt(rows, delta)
    assert summary.log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(summary.mean, mean, atol=1e-12)
    np.testing.assert_allclose(summary.covariance, covariance, atol=1e-12)
    plain = tilt(rows, delta, covariance=False)
    assert plain.log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(plain.mean, mean, atol=1e-12)
    assert plain.covariance is None
    np.testing.assert_allclose(logits(rows, delta), a + F @ delta, atol=1e-12)
    mu = np.random.default_rng(0).dirichlet(np.ones(2000))
    np.testing.assert_allclose(weighted_sum(rows, mu), mu @ F, atol=1e-12)
    values, index = support(rows, np.eye(3)[:, :2], 3)
    heights = np.where((a > -np.inf)[:, None], F[:, :2], -np.inf)
    np.testing.assert_allclose(values, heights.max(axis=0), atol=1e-12)
    assert set(index) == set(np.argsort(-heights, axis=0)[:3].ravel())


@pytest.mark.parametrize("height", [-800.0, -450.0, 0.0, 450.0, 800.0])
@pytest.mark.parametrize("uniform", [False, True])
def test_weights_of_any_size_do_not_overflow(height, uniform):
    F, a, delta = data(50)
    a = np.broadcast_to(-np.log(50.0), (50,)) if uniform else a
    F, delta = np.column_stack([F, np.ones(50)]), np.append(delta, height)
    for covariance in (False, True):
        summary = tilt(Rows(F, a), delta, covariance=covariance)
        log_z, mean, _ = reference(F[:, :3], a, delta[:3])
        assert summary.log_z == pytest.approx(log_z + height, abs=1e-10)
        assert (summary.covariance is not None) is covariance
        np.testing.assert_allclose(summary.mean, np.append(mean, 1.0), atol=1e-12)


def test_rows_without_weight_change_no_summary():
    F, _, delta = data(10)
    empty = tilt(Rows(F, np.full(10, -np.inf)), delta)
    assert empty.log_z == -np.inf
    assert not empty.covariance.any()
    full = tilt(Rows(F, np.zeros(10)), delta)
    assert empty.merge(full) is full
    assert full.merge(empty) is full
    plain = tilt(Rows(F, np.zeros(10)), delta, covariance=False)
    for one, other in ((plain, plain), (plain, full), (full, plain)):
        assert one.merge(other).covariance is None
        assert one.merge(other).log_z == pytest.approx(plain.log_z + np.log(2.0))
        np.testing.assert_allclose(one.merge(other).mean, plain.mean)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "heights", [[-2000.0, -np.inf, -20.0, 0.0], [0.0, -2000.0, -1.0, -np.inf, 2.0], [0.0, 0.0, 0.0]]
)
def test_chunks_of_rising_falling_and_equal_weight(monkeypatch, heights, order):
    monkeypatch.setattr("pre_convex.data.rows.CHUNK_NUMBERS", 1)  # chunks of 256 rows
    a = np.repeat(heights, 256)[::order]
    F, _, _ = data(len(a), 2)
    log_z, mean, covariance = reference(F, a, np.zeros(2))
    for rows in (Rows(F, a), Rows(np.asfortranarray(F), a)):
        summary = tilt(rows, np.zeros(2))
        assert summary.log_z == pytest.approx(log_z, abs=1e-12)
        np.testing.assert_allclose(summary.mean, mean, atol=1e-12)
        np.testing.assert_allclose(summary.covariance, covariance, atol=1e-12)


def test_a_constant_column_has_variance_zero(monkeypatch):
    monkeypatch.setattr("pre_convex.data.rows.BLOCK_NUMBERS", 1000)
    F, a, delta = data(3000)
    F[:, 1] = 0.1 + 1e5
    covariance = tilt(Rows(F, a), 1e-3 * delta).covariance
    assert not covariance[1].any()
    assert not covariance[:, 1].any()
    assert covariance[0, 0] > 0.0


@pytest.mark.parametrize("count", [1, 2, 5, 900])
def test_support_returns_as_many_rows_as_asked_for(monkeypatch, count):
    monkeypatch.setattr("pre_convex.data.rows.CHUNK_NUMBERS", 1)
    rng = np.random.default_rng(0)
    F = np.sort(rng.normal(size=(700, 2)), axis=0)  # the last chunk has the highest rows of one direction
    F[:, 1] = F[::-1, 1]
    values, index = support(Rows(F, np.zeros(700), start=100), np.eye(2), count)
    np.testing.assert_array_equal(values, F.max(axis=0))
    ends = np.unique(np.concatenate([np.arange(700)[:count], np.arange(700)[-count:]]))
    np.testing.assert_array_equal(index, 100 + ends)


@pytest.mark.parametrize("count", [2, 5, 9])
def test_support_of_rows_in_any_order(monkeypatch, count):
    monkeypatch.setattr("pre_convex.data.rows.CHUNK_NUMBERS", 1)
    for seed in range(20):
        F = np.random.default_rng(seed).normal(size=(300 if seed % 2 else 40, 3))
        directions = np.array([[1.0], [0.3], [-0.2]])
        _, index = support(Rows(F, np.zeros(len(F))), directions, count)
        assert set(index) == set(np.argsort(-(F @ directions)[:, 0])[:count])


def test_support_with_fewer_weighted_rows_than_asked_for():
    F = np.arange(5.0)[:, None]
    values, index = support(Rows(F, np.array([-np.inf, 0.0, -np.inf, 0.0, -np.inf])), np.array([[1.0, -1.0]]), 4)
    np.testing.assert_array_equal(values, [3.0, -1.0])
    np.testing.assert_array_equal(index, [1, 3])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("n", "k"), [(1, 3), (49, 1), (50, 2), (12_345, 7)])
def test_column_ranges_are_those_of_the_rows_with_weight(n, k, order):
    rng = np.random.default_rng(n)
    F = np.asarray(rng.normal(3.0, 1.0, (n, k)), order=order)
    for log_base in (np.zeros(n), np.where(np.arange(n) % 3 == 1, -np.inf, 0.0)):
        for origin in (None, np.full(k, 3.0)):
            shifted = F if origin is None else F - origin
            low, high = column_ranges(Rows(F, log_base, origin))
            positive = shifted[log_base > -np.inf]
            np.testing.assert_array_equal([low, high], [positive.min(axis=0), positive.max(axis=0)])


@pytest.mark.parametrize("dtype", [float, np.float32])
@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_the_first_pass_over_equal_weights_is_that_over_any_weights(monkeypatch, dtype, offset):
    monkeypatch.setattr("pre_convex.data.rows.CHUNK_NUMBERS", 1)  # chunks of 256 rows
    F = (data(2000)[0] + offset).astype(dtype)
    equal, any_weights = Rows(F, -np.log(2000.0)), Rows(F, np.full(2000, -np.log(2000.0)))
    assert equal.uniform
    assert not any_weights.uniform
    one, other = tilt(equal, np.zeros(3)), tilt(any_weights, np.zeros(3))
    assert one.log_z == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(one.mean, other.mean, rtol=1e-13)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-10)
    np.testing.assert_allclose(one.covariance, np.cov(F.astype(float).T, bias=True), atol=1e-8)
