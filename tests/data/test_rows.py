import itertools
import pickle

import numpy as np
import pytest

import pre_convex as pre
from pre_convex._internal.entropy import log_sum_exp
from pre_convex.data.rows import Rows, check_column_scale, inclusion_probability, make_rows, split_origin
from pre_convex.errors import DataError


@pytest.mark.parametrize(
    ("n", "cost", "count"),
    [
        (1000, 1.0, 30),  # 3,000 entries in blocks of 100
        (1030, 1.0, 30),  # an even number
        (66, 1.0, 1),
        (67, 1.0, 2),
        (1000, 2.0, 10),  # at least 30 rows for each of the 3 features, and an even number
        (1000, 0.5, 14),
    ],
)
def test_blocks_cover_all_rows_and_their_number_is_one_or_even(monkeypatch, n, cost, count):
    monkeypatch.setattr("pre_convex.data.rows.BLOCK_NUMBERS", 100)
    rows = Rows(np.zeros((n, 3)), np.zeros(n), start=7)
    visited = rows.reduce(lambda block: [(block.start, *block.shape)], lambda one, other: one + other, cost)
    edges = np.linspace(0, n, count + 1).astype(int)
    assert visited == [(7 + i, j - i, 3) for i, j in itertools.pairwise(edges)]


def test_chunks_are_slices_of_rows_relative_to_the_origin():
    F = np.arange(20.0).reshape(10, 2)
    origin = np.array([1.0, 2.0])
    splits = [None, (None, origin), (np.array([1.0, 0.0]), np.array([0.0, 2.0]))]
    for features, split in itertools.product((F, np.asfortranarray(F)), splits):
        rows = Rows(features, np.zeros(10), origin, split=split)
        chunks = [(chunk, f.copy()) for chunk, f in rows.chunks(4)]  # the buffer is filled again
        assert [chunk for chunk, _ in chunks] == [slice(0, 4), slice(4, 8), slice(8, 10)]
        np.testing.assert_array_equal(np.concatenate([f for _, f in chunks]), F - origin)
        shifted = np.concatenate([f.copy() for _, f in rows.shifted_chunks(4)])
        np.testing.assert_array_equal(shifted - (0.0 if rows.shift is None else rows.shift), F - origin)
        np.testing.assert_array_equal(rows.take(slice(2, 9)).features, (F - origin)[2:9])
    ((chunk, f),) = Rows(F, np.zeros(10)).chunks()
    assert chunk == slice(0, 10)
    assert np.shares_memory(f, F)


def test_taken_rows_keep_their_weights_and_stay_uniform():
    F = np.arange(20.0).reshape(10, 2)
    uniform, uneven = np.broadcast_to(-1.0, (10,)), np.arange(10.0)
    index = np.array([7, 2])
    for origin in (None, np.array([1.0, 2.0])):
        expected = F[index] if origin is None else F[index] - origin
        for base in (uniform, uneven):
            taken = Rows(F, base, origin).take(index)
            np.testing.assert_array_equal(taken.features, expected)
            np.testing.assert_array_equal(taken.log_base, base[index])
            assert (taken.uniform, taken.origin, taken.start) == (base is uniform, None, 0)
    assert Rows(F.astype(np.float32), uneven).take(index).features.dtype == float
    assert Rows(F, uneven).take(slice(1, 9, 3)).features.flags.c_contiguous


@pytest.mark.parametrize(("n", "count", "step"), [(10, 3, 3), (10, 10, 1), (10, 11, 1), (10, 1, 10), (10, 6, 1)])
def test_a_sample_is_evenly_spaced(n, count, step):
    rows = Rows(np.arange(float(n))[:, None], np.zeros(n))
    np.testing.assert_array_equal(rows.sample(count).features[:, 0], np.arange(n)[::step])


@pytest.mark.parametrize("spread", [None, 0.0, 0.9])
@pytest.mark.parametrize(("n", "size"), [(8000, 1000), (50_000, 4000), (30, 7), (30, 100)])
def test_a_subset_of_even_weights_has_one_run_of_rows_from_every_interval(n, size, spread):
    a = np.broadcast_to(-np.log(n), (n,)) if spread is None else spread * np.random.default_rng(1).normal(size=n)
    subset = Rows(np.arange(float(n))[:, None], a).subset(size)
    index = subset.rows.features[:, 0].astype(int).reshape(-1, 8)
    runs = max(1, min(n, size) // 8)
    edges = np.linspace(0, n, runs + 1).astype(int)
    np.testing.assert_array_equal(index - index[:, :1], np.tile(np.arange(8), (runs, 1)))
    assert np.all(index[:, 0] >= edges[:-1])
    assert np.all(index[:, -1] < edges[1:])
    assert runs < 50 or np.ptp(index[:, 0] - edges[:-1]) > 0  # not always the same place
    assert subset.log_factor == pytest.approx(np.log(n / (8 * runs)))
    np.testing.assert_allclose(subset.rows.log_base, a[index.ravel()])
    np.testing.assert_allclose(subset.weighted.log_base, a[index.ravel()] + subset.log_factor)
    assert subset.rows.uniform == subset.weighted.uniform == (spread is None)


def test_a_subset_may_be_all_rows_and_runs_start_anywhere_in_their_interval():
    rows = Rows(np.arange(800.0)[:, None], np.zeros(800))
    np.testing.assert_array_equal(rows.subset(800).rows.features[:, 0], np.arange(800))
    first = Rows(np.arange(900.0)[:, None], np.zeros(900)).subset(800).rows.features[::8, 0]
    assert set(first - np.arange(0, 900, 9)) == {0.0, 1.0}


@pytest.mark.parametrize("n", [4000, 60_000])
def test_a_subset_of_uneven_weights_has_the_heavy_rows_and_unbiased_sums(n):
    a = 3.0 * np.random.default_rng(1).normal(size=n)
    a -= log_sum_exp(a)
    subset = Rows(np.arange(float(n))[:, None], a).subset(1000)
    index = subset.rows.features[:, 0].astype(int)
    probability = np.minimum(1.0, 1000 * (0.5 / n + 0.5 * np.exp(a)))
    np.testing.assert_allclose(subset.log_factor, -np.log(probability[index]))
    np.testing.assert_allclose(subset.weighted.log_base, a[index] - np.log(probability[index]))
    assert set(np.flatnonzero(probability == 1.0)) <= set(index)
    assert abs(len(index) - probability.sum()) < 4 * np.sqrt(probability.sum())
    again = Rows(np.arange(float(n))[:, None], a).subset(1000)
    np.testing.assert_array_equal(again.rows.features, subset.rows.features)


def test_inclusion_probability_is_half_uniform_and_half_proportional_to_weight():
    weights = np.array([0.7, 0.2, 0.1, 0.0])
    np.testing.assert_allclose(inclusion_probability(weights, 2.0, 4), [0.95, 0.45, 0.35, 0.25])
    np.testing.assert_allclose(inclusion_probability(weights, 3.0, 4), [1.0, 0.675, 0.525, 0.375])


@pytest.mark.parametrize("n", [5, 1, 0])
def test_pickled_rows_stay_uniform(n):
    F = np.arange(2.0 * n).reshape(n, 2)
    copy = pickle.loads(pickle.dumps(Rows(F, np.broadcast_to(-1.5, (n,)), np.ones(2), 7)))
    np.testing.assert_array_equal(copy.features, F)
    np.testing.assert_array_equal(copy.log_base, np.full(n, -1.5))
    np.testing.assert_array_equal(copy.origin, [1.0, 1.0])
    assert copy.start == 7
    assert copy.uniform == (n > 0)
    uneven = pickle.loads(pickle.dumps(Rows(F, -np.arange(float(n)))))
    np.testing.assert_array_equal(uneven.log_base, -np.arange(float(n)))
    assert not uneven.uniform


def test_uniform_weights_are_pickled_as_one_number():
    F = np.zeros((1000, 1))
    uniform, uneven = (len(pickle.dumps(Rows(F, a))) for a in (-1.0, -np.arange(1000.0)))
    assert uneven - uniform > 7000


def test_an_origin_is_subtracted_from_every_row_only_if_a_column_is_far_from_zero():
    F, b = np.random.default_rng(0).normal(size=(50, 2)), np.array([0.1, 0.2])
    np.testing.assert_equal(split_origin(F, b), (None, b))
    np.testing.assert_equal(split_origin(F, 1e6 + b), (None, 1e6 + b))  # a target that is far from all rows
    np.testing.assert_equal(split_origin(F + [0.0, 1e6], b + [0.0, 1e6]), (b + [0.0, 1e6], None))
    centre, shift = split_origin(F + [0.0, 1e6], b)
    assert centre[0] == b[0]
    assert F[:, 1].min() < centre[1] - 1e6 < F[:, 1].max()
    np.testing.assert_allclose(shift, [0.0, -1e6], atol=10.0)
    np.testing.assert_allclose(centre + shift, b, atol=1e-9)
    constant = F * [1.0, 0.0] + [0.0, 1e6]
    centre, shift = split_origin(constant, b)
    np.testing.assert_array_equal(centre, [b[0], 1e6])
    np.testing.assert_array_equal(shift, [0.0, b[1] - 1e6])


def test_small_arrays_are_stored_relative_to_the_target():
    F, b = np.random.default_rng(0).normal(size=(50, 2)) + 1e6, np.array([1e6, 1e6 + 1.0])
    rows = make_rows(F, np.zeros(50), b)
    np.testing.assert_array_equal(rows.features, F - b)
    assert (rows.centre, rows.shift) == (None, None)
    np.testing.assert_array_equal(rows.origin, b)
    far = make_rows(F, np.zeros(50), np.array([1e6, 0.0]))
    np.testing.assert_array_equal(far.take(slice(None)).features, F - [1e6, 0.0])
    assert np.abs(far.features).max() < 10.0


def test_columns_below_1e_100_are_refused():
    with pytest.raises(DataError) as error:
        check_column_scale(np.array([[1.0, 1e-120], [2.0, 0.0]]))
    assert error.value.argument == "features_q"


def test_equal_base_weights_are_noticed_however_they_are_given():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(size=(300, 2)), rng.normal(size=(400, 2))
    constant = pre.RatioProblem.from_samples(x_p, x_q, log_lik_q=np.full(400, -3.0))
    for problem in (pre.RatioProblem.from_samples(x_p, x_q), constant):
        assert problem.rows.uniform
        np.testing.assert_allclose(problem.rows.log_base, -np.log(400.0))
    assert not pre.RatioProblem(np.zeros(2), x_q, np.eye(400)[0]).rows.uniform
