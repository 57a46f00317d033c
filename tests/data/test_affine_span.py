import tracemalloc

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.affine_span import affine_span, affine_span_of
from pre_convex.data.rows import Rows


def test_free_directions_are_accurate_where_columns_differ_by_many_orders_of_magnitude():
    rng = np.random.default_rng(0)
    for _ in range(20):
        F = rng.normal(size=(2, 2)) * [1e5, 1e-8]
        move = F[1] - F[0]
        free = affine_span(F).free_directions(F.mean(axis=0))
        assert abs(float(move @ free[:, 0])) <= 1e-12 * float(np.abs(move) @ np.abs(free[:, 0]))
        solution = pre.solve(pre.RatioProblem(np.array([0.41, 0.59]) @ F, F))
        assert float(solution.delta @ move) == pytest.approx(np.log(0.59 / 0.41), rel=1e-9)


def test_the_span_of_all_rows_is_found_from_a_subset():
    rng = np.random.default_rng(0)
    F = np.column_stack([rng.normal(size=(500, 2)), np.zeros(500), np.ones(500)])
    F[400, 2] = 1.0  # one row leaves the plane of the others
    F[450, 3] = 9.0  # so does this one, but it has weight zero
    a = np.zeros(500)
    a[450] = -np.inf
    rows = Rows(F, a)
    span = affine_span_of(rows, rows.take(slice(0, 100)))
    assert span.basis.shape == (4, 3)
    np.testing.assert_allclose(np.abs(span.null[:, 0]), [0.0, 0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_array_equal(span.normal_components(F[0]), [0.0])
    assert abs(span.normal_components(F[450])[0]) == pytest.approx(8.0)


@pytest.mark.parametrize("positive", [1.0, 2e-4])
def test_the_span_of_many_rows_needs_little_memory(positive):
    rng = np.random.default_rng(1)
    F = rng.normal(size=(600_000, 8)) + 300.0  # chunks take a few megabytes
    F[:, 6], F[:, 7] = F[:, 0] - F[:, 1], 5.0
    a = np.where(rng.random(len(F)) < positive, 0.0, -np.inf)
    F[a == -np.inf, 6] += 1.0  # rows without weight do not count
    row = np.flatnonzero(a == 0.0)[5]
    F[row, 7] = 6.0  # one row leaves the span of the others
    problem = pre.RatioProblem(F[row], F, a)
    tracemalloc.start()
    try:
        span = affine_span_of(problem.rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= 0.25 * F.nbytes
    assert span.basis.shape == (8, 7)
    expected = np.array([1.0, -1.0, 0, 0, 0, 0, -1.0, 0.0])
    cosine = span.null[:, 0] @ expected / np.linalg.norm(span.null) / np.linalg.norm(expected)
    assert abs(cosine) == pytest.approx(1.0, abs=1e-12)


def test_columns_of_small_numbers_are_no_part_of_a_copy_of_microseconds():
    rng = np.random.default_rng(3)
    for _ in range(10):
        stamps = np.floor(1.7e15 + 1e12 * rng.random(400))
        small = 10.0 ** rng.uniform(-6, -4) * rng.normal(size=(400, 2))
        F = np.column_stack([small[:, 0], stamps, rng.normal(size=400), 1.8 * stamps + 32.0, small[:, 1]])
        span = affine_span(F - F[0], F[0])
        assert span.null.shape == (5, 1)
        np.testing.assert_array_equal(span.null[[0, 2, 4], 0], 0.0)
