"""Features are read relative to the target: offsets cost no digits, in memory, in blocks and on Dask."""

import numpy as np
import pytest

import pre_convex as pre

#: a shift of 2^20 spreads; multiples of 2^-20 stay exact when it is added
SHIFT = 2.0**20


def on_grid(x):
    """Numbers whose sum with the shift is exact."""
    return np.round(x * 2.0**20) / 2.0**20


def in_memory(x_q, log_lik, target, **options):
    return pre.RatioProblem(target, x_q, log_lik, **options)


def in_blocks(x_q, log_lik, target, **options):
    half = len(x_q) // 2
    parts = [slice(0, half), slice(half, None)]
    logs = None if log_lik is None else [lambda part=part: log_lik[part] for part in parts]
    blocks = [lambda part=part: x_q[part] for part in parts]
    return pre.RatioProblem.from_blocks(None, blocks, None, logs, target=target, **options)


def on_dask(x_q, log_lik, target, **options):
    da = pytest.importorskip("dask.array")
    chunks = len(x_q) // 2
    logs = None if log_lik is None else da.from_array(log_lik, chunks=chunks)
    x_q = da.from_array(x_q, chunks=(chunks, -1))
    return pre.RatioProblem.from_blocks(None, x_q, None, logs, target=target, **options)


@pytest.mark.parametrize("make", [in_memory, in_blocks, on_dask])
@pytest.mark.parametrize(("n", "k"), [(400, 3), (30_000, 4), (3_000, 20)])
@pytest.mark.parametrize("options", [{}, {"radius": 0.05, "norm": np.inf}])
def test_a_large_offset_of_features_and_target_changes_nothing(make, n, k, options):
    rng = np.random.default_rng(n)
    F, target = on_grid(rng.normal(size=(n, k))), on_grid(0.2 * rng.normal(size=k))
    log_lik = rng.normal(size=n)
    near = make(F, log_lik, target, **options)
    far = make(F + SHIFT, log_lik, target + SHIFT, **options)
    one, other = pre.solve(near), pre.solve(far)
    np.testing.assert_allclose(other.delta, one.delta, rtol=0.0, atol=1e-12 * np.abs(one.delta).max())
    assert other.certificate.primal_value == pytest.approx(one.certificate.primal_value, rel=1e-12)
    assert other.certificate.gap == pytest.approx(one.certificate.gap, abs=1e-12)
    delta = one.delta
    assert far.value(delta) == pytest.approx(near.value(delta), rel=1e-12)
    np.testing.assert_allclose(far.gradient(0.0 * delta), near.gradient(0.0 * delta), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(far.hessian(delta), near.hessian(delta), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(far.log_mu(delta), near.log_mu(delta), rtol=1e-12)
    np.testing.assert_array_equal(far.ranges, np.add(near.ranges, SHIFT))


@pytest.mark.parametrize("blocks", [False, True])
@pytest.mark.parametrize("constant", [0.1, 1e6 / 3.0])
def test_a_constant_column_is_its_own_target(blocks, constant):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (1_000, 2)), rng.normal(size=(5_000, 2))
    x_p[:, 1] = x_q[:, 1] = constant
    make = pre.RatioProblem.from_blocks if blocks else pre.RatioProblem.from_samples
    problem = make(x_p, x_q, rng.normal(size=1_000), rng.normal(size=5_000))
    assert problem.target[1] == constant
    assert pre.solve(problem).delta[1] == pytest.approx(0.0, abs=1e-12)


def test_the_target_of_an_offset_sample_is_accurate_to_its_spread():
    rng = np.random.default_rng(1)
    x = on_grid(rng.normal(size=(3_000, 3)))
    log_lik = rng.normal(size=3_000)
    for make in (pre.RatioProblem.from_samples, pre.RatioProblem.from_blocks):
        near, far = make(x, x, log_lik), make(x + SHIFT, x + SHIFT, log_lik)
        # one rounding of the target itself
        np.testing.assert_allclose(far.target - SHIFT, near.target, rtol=0.0, atol=np.spacing(SHIFT))


def test_a_target_far_from_the_rows_keeps_the_digits_of_the_rows():
    rng = np.random.default_rng(2)
    for n in (200, 40_000):
        F = rng.normal(size=(n, 4)) + [0.0, 0.0, 0.0, 1e4]
        far = pre.RatioProblem([1e9, 0.0, 0.0, 1e4], F, radius=1e9)
        near = pre.RatioProblem([0.0, 0.0, 0.0, 1e4], F, radius=1.0)
        delta = np.array([0.3, 0.1, -0.2, 0.4])
        np.testing.assert_allclose(far.hessian(delta), near.hessian(delta), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(far.log_mu(delta), near.log_mu(delta), rtol=1e-11)
