"""Pivoted Cholesky factors of Gram matrices, and the median heuristic."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.kernels import median_length_scale, pivoted_cholesky


def test_a_pivoted_cholesky_factor_leaves_the_trace_it_was_asked_for():
    x = np.random.default_rng(0).normal(size=(200, 2))
    kernel = pre.Kernel(length_scale=1.0)
    K = kernel.gram(x, x)
    pivots, L = pivoted_cholesky(np.ones(200), lambda i: K[i], 1e-10, 200)
    assert np.trace(K - L @ L.T) <= 1e-10 * 200 * 1.01
    assert len(set(pivots)) == len(pivots) < 200


def test_the_median_length_scale_is_the_median_distance():
    x = np.random.default_rng(0).normal(size=(200, 2))
    distances = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    assert median_length_scale(x) == pytest.approx(np.median(distances[np.triu_indices(200, 1)]))
