"""What the property campaign found beside solvers: small losses on the way through files, blocks and coordinates."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.coordinates import column_space
from pre_convex.entropy import log_normalise


@pytest.mark.parametrize("size", [1.0, 50.0, 700.0])
def test_weights_that_are_normalised_stay_as_they_are(size):
    for seed in range(20):
        once = log_normalise(np.random.default_rng(seed).uniform(-size, size, 300))
        assert np.array_equal(log_normalise(once), once)
    for n in (3, 1000, 1_000_003):
        flat = log_normalise(np.zeros(n))
        assert np.array_equal(log_normalise(flat), flat)


def test_a_fit_with_likelihoods_predicts_the_same_bits_after_a_file(tmp_path):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 0.6, (20, 2)), rng.normal(size=(40, 2))
    for seed in range(10):
        lik = pre.Gaussian(np.random.default_rng(seed).normal(size=2), precision=0.5)
        fit = pre.PosteriorRatio(radius=0.1).fit(x_p, x_q, lik, lik)
        again = pre.load(pre.save(fit, tmp_path / "fit.npz"))
        np.testing.assert_array_equal(again.log_ratio(x_q), fit.log_ratio(x_q))


def test_blocks_may_have_rows_without_weight():
    rng = np.random.default_rng(1)
    F, a = rng.normal(size=(20, 2)), rng.normal(size=20)
    a[[3, 15]] = -np.inf
    whole = pre.solve(pre.RatioProblem([0.1, 0.1], F, a))
    parts = [slice(0, 10), slice(10, None)]
    blocks = [lambda i=i: F[i] for i in parts]
    for stored in ([lambda i=i: a[i] for i in parts], [lambda i=i: a[i, None] for i in parts], a):
        problem = pre.RatioProblem.from_blocks(None, blocks, None, stored, target=[0.1, 0.1])
        np.testing.assert_allclose(pre.solve(problem).delta, whole.delta, atol=1e-9)
    wrong = [lambda: np.full(10, np.nan), lambda: a[10:]]
    with pytest.raises(pre.DataError, match="log_lik_q: block 0"):
        pre.RatioProblem.from_blocks(None, blocks, None, wrong, target=[0.1, 0.1])


def test_free_directions_are_accurate_where_columns_differ_by_many_orders_of_magnitude():
    rng = np.random.default_rng(0)
    for _ in range(20):
        F = rng.normal(size=(2, 2)) * [1e5, 1e-8]
        move = F[1] - F[0]
        free = column_space(F).free(F.mean(axis=0))
        assert abs(float(move @ free[:, 0])) <= 1e-12 * float(np.abs(move) @ np.abs(free[:, 0]))
        solution = pre.solve(pre.RatioProblem(np.array([0.41, 0.59]) @ F, F))
        assert float(solution.delta @ move) == pytest.approx(np.log(0.59 / 0.41), rel=1e-9)


def test_weights_on_a_row_without_weight_prove_nothing():
    problem = pre.RatioProblem([0.1], [[0.0], [1.0], [2.0]], [0.0, 0.0, -np.inf])
    certificate = pre.certify(problem, [0.4], np.full(3, 1 / 3))
    assert certificate.dual_value <= pre.solve(problem).primal_value + 1e-12
