import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pre_convex.passes as passes
from pre_convex.entropy import log_sum_exp, negative_kl, tilting_cost
from pre_convex.passes import Rows, Summary, highest_logit, logits, support, tilt, weighted_sum


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


def parts_of(rows, *cost):
    """First row and number of rows of every part that a reduction visits."""
    return rows.reduce(lambda part: [(part.start, *part.shape)], lambda one, other: one + other, *cost)


@pytest.mark.parametrize(
    ("n", "cost", "count"),
    [
        (1000, (), 30),  # 3,000 numbers in parts of 100
        (1000, (1.0,), 30),
        (1030, (), 30),  # an even number of them
        (66, (), 1),
        (67, (), 2),
        (1000, (2.0,), 10),  # at least 30 rows for each of the 3 columns, and an even number
        (1000, (0.5,), 14),
    ],
)
def test_parts_are_many_enough_and_long_enough_and_come_in_pairs(monkeypatch, n, cost, count):
    monkeypatch.setattr(passes, "PART_NUMBERS", 100)
    rows = Rows(np.zeros((n, 3)), np.zeros(n), start=7)
    found = parts_of(rows, *cost)
    edges = np.linspace(0, n, count + 1).astype(int)
    assert found == [(7 + i, j - i, 3) for i, j in itertools.pairwise(edges)]


class Backwards(Rows):
    """Rows whose parts come in the wrong order, as they may from workers of a cluster."""

    def reduce(self, work, merge, cost=1.0):
        half = self.shape[0] // 2
        return merge(work(self._part(half, self.shape[0])), work(self._part(0, half)))


@pytest.mark.parametrize("origin", [None, np.array([3.0, -2.0, 1.0])])
@pytest.mark.parametrize("kind", [Rows, Backwards])
def test_parts_and_blocks_in_any_order_give_what_all_rows_give(monkeypatch, kind, origin):
    monkeypatch.setattr(passes, "PART_NUMBERS", 1000)
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 1)  # blocks of 256 rows
    F, a, delta = data(2000)
    a[200:800] = -np.inf  # blocks without weight, and parts of others
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
    assert highest_logit(rows, delta) == pytest.approx((a + F @ delta).max(), abs=1e-12)
    mu = np.random.default_rng(0).dirichlet(np.ones(2000))
    np.testing.assert_allclose(weighted_sum(rows, mu), mu @ F, atol=1e-12)
    values, index = support(rows, np.eye(3)[:, :2], 3)
    alive = np.where((a > -np.inf)[:, None], F[:, :2], -np.inf)
    np.testing.assert_allclose(values, alive.max(axis=0), atol=1e-12)
    assert set(index) == set(np.argsort(-alive, axis=0)[:3].ravel())


def test_without_flags_a_pass_brings_the_covariance_and_counts_every_row_once():
    F, a, delta = data(300)
    np.testing.assert_allclose(tilt(Rows(F, a), delta).covariance, reference(F, a, delta)[2], atol=1e-12)
    squared = tilt(Rows(F, a), delta, covariance=False, power=2.0)  # a power of the base weights, not of the tilt
    log_z, mean, covariance = reference(F, 2.0 * a, delta)
    assert squared.log_z == pytest.approx(log_z, abs=1e-12)
    np.testing.assert_allclose(squared.mean, mean, atol=1e-12)
    assert squared.covariance is None
    np.testing.assert_allclose(tilt(Rows(F, a), delta, power=2.0).covariance, covariance, atol=1e-12)


class Counted(Rows):
    """Rows that say what a pass costs for each number."""

    def reduce(self, work, merge, cost=1.0):
        object.__setattr__(self, "cost", cost)
        return work(self)


def test_a_covariance_of_many_columns_is_more_work_than_a_plain_pass():
    for k, covariance, cost in ((40, True, 2.0), (40, False, 1.0), (5, True, 1.0)):
        rows = Counted(np.zeros((4, k)), np.zeros(4))
        tilt(rows, np.zeros(k), covariance=covariance)
        assert rows.cost == cost


@pytest.mark.parametrize("height", [-800.0, -450.0, 0.0, 450.0, 800.0])
@pytest.mark.parametrize("flat", [False, True])
def test_weights_of_any_size_overflow_nowhere(height, flat):
    F, a, delta = data(50)
    a = np.broadcast_to(-np.log(50.0), (50,)) if flat else a
    F, delta = np.column_stack([F, np.ones(50)]), np.append(delta, height)
    for covariance in (False, True):
        summary = tilt(Rows(F, a), delta, covariance=covariance)
        log_z, mean, _ = reference(F[:, :3], a, delta[:3])
        assert summary.log_z == pytest.approx(log_z + height, abs=1e-10)
        assert (summary.covariance is not None) is covariance
        np.testing.assert_allclose(summary.mean, np.append(mean, 1.0), atol=1e-12)


def test_rows_without_any_weight_are_the_neutral_element():
    F, _, delta = data(10)
    nothing = tilt(Rows(F, np.full(10, -np.inf)), delta)
    assert nothing.log_z == -np.inf
    assert not nothing.covariance.any()
    something = tilt(Rows(F, np.zeros(10)), delta)
    assert nothing.merge(something) is something
    assert something.merge(nothing) is something
    plain = tilt(Rows(F, np.zeros(10)), delta, covariance=False)
    for one, other in ((plain, plain), (plain, something), (something, plain)):
        assert one.merge(other).covariance is None
        assert one.merge(other).log_z == pytest.approx(plain.log_z + np.log(2.0))
        np.testing.assert_allclose(one.merge(other).mean, plain.mean)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "heights", [[-2000.0, -np.inf, -20.0, 0.0], [0.0, -2000.0, -1.0, -np.inf, 2.0], [0.0, 0.0, 0.0]]
)
def test_blocks_of_rising_and_falling_and_equal_weight(monkeypatch, heights, order):
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 1)  # blocks of 256 rows
    a = np.repeat(heights, 256)[::order]
    F, _, _ = data(len(a), 2)
    log_z, mean, covariance = reference(F, a, np.zeros(2))
    for rows in (Rows(F, a), Rows(np.asfortranarray(F), a)):
        summary = tilt(rows, np.zeros(2))
        assert summary.log_z == pytest.approx(log_z, abs=1e-12)
        np.testing.assert_allclose(summary.mean, mean, atol=1e-12)
        np.testing.assert_allclose(summary.covariance, covariance, atol=1e-12)


def test_a_constant_column_has_a_variance_of_exactly_zero(monkeypatch):
    monkeypatch.setattr(passes, "PART_NUMBERS", 1000)
    F, a, delta = data(3000)
    F[:, 1] = 0.1 + 1e5
    covariance = tilt(Rows(F, a), 1e-3 * delta).covariance
    assert not covariance[1].any()
    assert not covariance[:, 1].any()
    assert covariance[0, 0] > 0.0


def test_blocks_are_slices_of_rows_relative_to_the_origin():
    F = np.arange(20.0).reshape(10, 2)
    origin = np.array([1.0, 2.0])
    found = list(Rows(F, np.zeros(10), origin).blocks(4))
    assert [block for block, _ in found] == [slice(0, 4), slice(4, 8), slice(8, 10)]
    np.testing.assert_array_equal(np.concatenate([f for _, f in found]), F - origin)
    ((block, f),) = Rows(F, np.zeros(10)).blocks()
    assert block == slice(0, 10)
    assert np.shares_memory(f, F)


def test_rows_that_are_taken_keep_their_weight_and_whether_it_is_flat():
    F = np.arange(20.0).reshape(10, 2)
    flat, uneven = np.broadcast_to(-1.0, (10,)), np.arange(10.0)
    index = np.array([7, 2])
    for origin in (None, np.array([1.0, 2.0])):
        expected = F[index] if origin is None else F[index] - origin
        for base, share, still in ((flat, 0.5, True), (flat, np.array([0.1, 0.2]), False), (uneven, 0.5, False)):
            taken = Rows(F, base, origin).take(index, share)
            np.testing.assert_array_equal(taken.features, expected)
            np.testing.assert_allclose(taken.log_base, base[index] + share)
            assert (taken.flat, taken.origin, taken.start) == (still, None, 0)
    assert Rows(F.astype(np.float32), uneven).take(index).features.dtype == float
    np.testing.assert_array_equal(Rows(F, uneven).take(index).log_base, uneven[index])
    assert Rows(F, uneven).take(slice(1, 9, 3)).features.flags.c_contiguous


@pytest.mark.parametrize(("n", "count", "step"), [(10, 3, 3), (10, 10, 1), (10, 11, 1), (10, 1, 10), (10, 6, 1)])
def test_a_sample_is_evenly_spaced(n, count, step):
    rows = Rows(np.arange(float(n))[:, None], np.zeros(n))
    np.testing.assert_array_equal(rows.sample(count).features[:, 0], np.arange(n)[::step])


@pytest.mark.parametrize("spread", [None, 0.0, 0.9])
@pytest.mark.parametrize(("n", "size"), [(8000, 1000), (50_000, 4000), (30, 7), (30, 100)])
def test_a_subset_of_even_weights_has_one_run_of_rows_from_every_stretch(n, size, spread):
    a = np.broadcast_to(-np.log(n), (n,)) if spread is None else spread * np.random.default_rng(1).normal(size=n)
    subset = Rows(np.arange(float(n))[:, None], a).subset(size)
    index = subset.plain.features[:, 0].astype(int).reshape(-1, 8)
    runs = max(1, min(n, size) // 8)
    edges = np.linspace(0, n, runs + 1).astype(int)
    np.testing.assert_array_equal(index - index[:, :1], np.tile(np.arange(8), (runs, 1)))
    assert np.all(index[:, 0] >= edges[:-1])
    assert np.all(index[:, -1] < edges[1:])
    assert runs < 50 or np.ptp(index[:, 0] - edges[:-1]) > 0  # not always the same place
    assert subset.log_share == pytest.approx(np.log(n / (8 * runs)))
    np.testing.assert_allclose(subset.plain.log_base, a[index.ravel()])
    np.testing.assert_allclose(subset.weighted.log_base, a[index.ravel()] + subset.log_share)
    assert subset.plain.flat == subset.weighted.flat == (spread is None)


@pytest.mark.parametrize("n", [4000, 60_000])
def test_a_subset_of_uneven_weights_has_the_heavy_rows_and_shares_that_make_its_sums_fair(n):
    a = 3.0 * np.random.default_rng(1).normal(size=n)
    a -= log_sum_exp(a)
    subset = Rows(np.arange(float(n))[:, None], a).subset(1000)
    index = subset.plain.features[:, 0].astype(int)
    chance = np.minimum(1.0, 1000 * (0.5 / n + 0.5 * np.exp(a)))
    np.testing.assert_allclose(subset.log_share, -np.log(chance[index]))
    np.testing.assert_allclose(subset.weighted.log_base, a[index] - np.log(chance[index]))
    assert set(np.flatnonzero(chance == 1.0)) <= set(index)
    assert abs(len(index) - chance.sum()) < 4 * np.sqrt(chance.sum())
    again = Rows(np.arange(float(n))[:, None], a).subset(1000)
    np.testing.assert_array_equal(again.plain.features, subset.plain.features)


def test_the_chance_of_a_row_is_half_even_and_half_its_share():
    share = np.array([0.7, 0.2, 0.1, 0.0])
    np.testing.assert_allclose(passes.mixed_chance(share, 2.0, 4), [0.95, 0.45, 0.35, 0.25])
    np.testing.assert_allclose(passes.mixed_chance(share, 3.0, 4), [1.0, 0.675, 0.525, 0.375])


@pytest.mark.parametrize("count", [1, 2, 5, 900])
def test_support_gives_as_many_rows_as_asked_for_and_no_more(monkeypatch, count):
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 1)
    rng = np.random.default_rng(0)
    F = np.sort(rng.normal(size=(700, 2)), axis=0)  # the last block has the highest rows of one direction
    F[:, 1] = F[::-1, 1]
    values, index = support(Rows(F, np.zeros(700), start=100), np.eye(2), count)
    np.testing.assert_array_equal(values, F.max(axis=0))
    ends = np.unique(np.concatenate([np.arange(700)[:count], np.arange(700)[-count:]]))
    np.testing.assert_array_equal(index, 100 + ends)


@pytest.mark.parametrize("count", [2, 5, 9])
def test_support_of_rows_in_any_order(monkeypatch, count):
    monkeypatch.setattr(passes, "BLOCK_NUMBERS", 1)
    for seed in range(20):
        F = np.random.default_rng(seed).normal(size=(300 if seed % 2 else 40, 3))
        directions = np.array([[1.0], [0.3], [-0.2]])
        _, index = support(Rows(F, np.zeros(len(F))), directions, count)
        assert set(index) == set(np.argsort(-(F @ directions)[:, 0])[:count])


@pytest.mark.parametrize("count", [1, 3, 20, 60])
def test_the_highest_rows_of_two_sets_are_those_of_both_together(count):
    for seed in range(20):
        heights = np.random.default_rng(seed).normal(size=(2 * count, 3))
        index = np.arange(6 * count).reshape(2 * count, 3)
        best, kept = passes._higher((heights[:count], index[:count]), (heights[count:], index[count:]), count)
        np.testing.assert_array_equal(np.sort(best, axis=0), np.sort(heights, axis=0)[count:])
        np.testing.assert_array_equal(heights.ravel()[kept], best)


def test_a_subset_may_be_all_rows_and_its_runs_may_begin_anywhere_in_their_stretch():
    rows = Rows(np.arange(800.0)[:, None], np.zeros(800))
    np.testing.assert_array_equal(rows.subset(800).plain.features[:, 0], np.arange(800))
    first = Rows(np.arange(900.0)[:, None], np.zeros(900)).subset(800).plain.features[::8, 0]
    assert set(first - np.arange(0, 900, 9)) == {0.0, 1.0}


def test_support_of_fewer_living_rows_than_asked_for():
    F = np.arange(5.0)[:, None]
    values, index = support(Rows(F, np.array([-np.inf, 0.0, -np.inf, 0.0, -np.inf])), np.array([[1.0, -1.0]]), 4)
    np.testing.assert_array_equal(values, [3.0, -1.0])
    np.testing.assert_array_equal(index, [1, 3])


@pytest.mark.parametrize("n", [5, 1, 0])
def test_a_copy_of_flat_rows_is_flat_and_of_others_is_not(n):
    F = np.arange(2.0 * n).reshape(n, 2)
    flat = Rows(F, np.broadcast_to(-1.5, (n,)), np.ones(2), 7)
    copy = pickle.loads(pickle.dumps(flat))
    np.testing.assert_array_equal(copy.features, F)
    np.testing.assert_array_equal(copy.log_base, np.full(n, -1.5))
    np.testing.assert_array_equal(copy.origin, [1.0, 1.0])
    assert copy.start == 7
    assert copy.flat == (n > 0)
    uneven = pickle.loads(pickle.dumps(Rows(F, -np.arange(float(n)))))
    np.testing.assert_array_equal(uneven.log_base, -np.arange(float(n)))
    assert not uneven.flat
    if n:
        assert np.ndim(flat.__getstate__()["log_base"]) == 0  # one number on its way, not n
    assert np.shape(Rows(F, -np.arange(float(n))).__getstate__()["log_base"]) == (n,)
