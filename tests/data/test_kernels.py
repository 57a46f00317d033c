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


def test_the_additive_kernel_is_a_mean_over_columns():
    x = np.random.default_rng(0).normal(size=(7, 3))
    kernel = pre.Kernel("additive", length_scale=0.7)
    single = [pre.Kernel(length_scale=0.7).gram(x[:, [c]], x[:, [c]]) for c in range(3)]
    np.testing.assert_allclose(kernel.gram(x, x), np.mean(single, axis=0), atol=1e-14)
    fitted = pre.Kernel("additive").fitted(x)
    np.testing.assert_allclose(fitted(x) @ fitted(x).T, fitted.gram(x, x), atol=1e-8)
    assert fitted.length_scale == pytest.approx(pre.Kernel().fitted(x).length_scale / np.sqrt(3.0))
