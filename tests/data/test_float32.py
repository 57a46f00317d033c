"""Float32 features are read as they are: the answers are those of their float64 copy, without making one."""

import pickle
import tracemalloc

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.batch import Batch
from pre_convex.data.passes import tilt
from pre_convex.data.rows import Rows


def samples(n=12_000, k=6, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(0.2, 1.0, (500, k)) + offset, rng.normal(size=(n, k)) + offset
    return x_p.astype(np.float32), x_q.astype(np.float32), rng.normal(size=500), rng.normal(size=n)


def in_memory(x_p, x_q, l_p, l_q, **options):
    return pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, **options)


def from_file(x_p, x_q, l_p, l_q, *, folder, **options):
    name = folder / f"{x_q.dtype}.npy"
    np.save(name, x_q)
    return pre.RatioProblem.from_blocks(x_p, name, l_p, l_q, **options)


def from_functions(x_p, x_q, l_p, l_q, **options):
    half = len(x_q) // 2
    blocks = [lambda: x_q[:half], lambda: x_q[half:]]
    return pre.RatioProblem.from_blocks([lambda: x_p], blocks, l_p, l_q, **options)


def on_dask(x_p, x_q, l_p, l_q, **options):
    da = pytest.importorskip("dask.array")
    x_q = da.from_array(x_q, chunks=(5_000, -1))
    return pre.RatioProblem.from_blocks(x_p, x_q, l_p, da.from_array(l_q), **options)


@pytest.mark.parametrize("make", [in_memory, from_file, from_functions, on_dask])
@pytest.mark.parametrize("features", ["linear", "polynomial"])
@pytest.mark.parametrize(("n", "offset"), [(500, 0.0), (12_000, 0.0), (12_000, 300.0)])
def test_answers_are_those_of_the_float64_copy(make, features, n, offset, tmp_path):
    x_p, x_q, l_p, l_q = samples(n, offset=offset)
    options = {"features": features} | ({"folder": tmp_path} if make is from_file else {})
    narrow = make(x_p, x_q, l_p, l_q, **options)
    wide = make(x_p.astype(float), x_q.astype(float), l_p, l_q, **options)
    np.testing.assert_array_equal(narrow.target, wide.target)
    np.testing.assert_array_equal(narrow.ranges, wide.ranges)
    one, other = pre.solve(narrow), pre.solve(wide)
    if narrow.rows.in_memory and narrow.rows.single:  # first passes in float32, so other steps
        assert abs(one.primal_value - other.primal_value) <= one.gap + other.gap
        assert np.abs(one.delta - other.delta).max() < 1e-6
    else:
        np.testing.assert_array_equal(one.delta, other.delta)
        assert one.certificate == other.certificate
    certified = pre.certify(wide, one.delta)  # the same numbers, all in float64
    assert abs(certified.primal_value - one.primal_value) <= certified.noise + one.certificate.noise
    for rows, same in ((narrow.rows, wide.rows), (narrow.rows_p, wide.rows_p)):
        index = np.array([3, 400, 17])
        assert rows.take(index).features.dtype == float
        np.testing.assert_array_equal(rows.take(index).features, same.take(index).features)
    np.testing.assert_array_equal(narrow.rows.sample(100).features, wide.rows.sample(100).features)
    np.testing.assert_array_equal(narrow.rows.subset(200).rows.features, wide.rows.subset(200).rows.features)


@pytest.mark.parametrize("scale", [1.0, 1e-30, 1e30])
@pytest.mark.parametrize("peaked", [1.0, 60.0])
def test_rough_passes_keep_six_digits_or_are_not_rough(scale, peaked):
    rng = np.random.default_rng(3)
    F = (scale * rng.normal(size=(30_000, 4))).astype(np.float32)
    base = -0.5 * peaked * np.square(rng.normal(size=30_000))
    for log_base in (None, base):
        rows = pre.RatioProblem(np.zeros(4), F, log_base).rows
        delta = rng.normal(size=4) / scale
        rough, exact = (tilt(rows, delta, covariance=False, rough=rough) for rough in (True, False))
        assert abs(rough.log_z - exact.log_z) < 1e-5
        np.testing.assert_allclose(rough.mean, exact.mean, atol=1e-5 * scale)
        assert rough.ess == pytest.approx(exact.ess, rel=1e-4)
    assert rows.single == (scale == 1.0)


@pytest.mark.parametrize("seed", range(3))
def test_rough_passes_change_no_answer(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    F = (rng.normal(size=(30_000, 15)) @ rng.normal(size=(15, 15))).astype(np.float32)
    targets = np.array([pre.RatioProblem(np.zeros(15), F).gradient(0.1 * rng.normal(size=15)) for _ in range(3)])
    problems = [pre.RatioProblem(b, F) for b in targets]
    rough, together = [pre.solve(p, tol=1e-10) for p in problems], pre.solve_many(F, targets, tol=1e-10)
    for module in (Rows, Batch):
        monkeypatch.setattr(module, "single", False)
    for p, one, b in zip(problems, rough, targets, strict=True):
        exact = pre.solve(p, tol=1e-10)
        assert abs(one.primal_value - exact.primal_value) <= one.gap + exact.gap
        assert pre.certify(pre.RatioProblem(b, F.astype(float)), one.delta).gap <= 1e-10
    alone = pre.solve_many(F, targets, tol=1e-10)
    assert bool(together.ok.all())
    for one, exact in zip(together, alone, strict=True):
        assert abs(one.primal_value - exact.primal_value) <= one.gap + exact.gap


def test_likelihoods_see_float64():
    x_p, x_q, *_ = samples(500)
    seen = []

    def log_lik(x):
        seen.append(x.dtype)
        return -np.square(x).sum(axis=1)

    for make in (pre.RatioProblem.from_samples, pre.RatioProblem.from_blocks):
        make(x_p, x_q, log_lik, log_lik)
    assert set(seen) == {np.dtype(float)}


@pytest.mark.parametrize("kind", [np.float16, np.int32, bool])
def test_other_numbers_become_float64(kind):
    x = (np.arange(20.0).reshape(10, 2) % 3).astype(kind)
    problem = pre.RatioProblem([0.5, 0.5], x)
    assert problem.features_q.dtype == float
    np.testing.assert_array_equal(problem.features_q, x.astype(float))


def test_the_features_are_a_read_only_view_of_a_read_only_array():
    _, x_q, _, _ = samples()
    x_q.flags.writeable = False
    problem = pre.RatioProblem(np.zeros(6), x_q)
    assert problem.features_q.dtype == np.float32
    assert np.shares_memory(problem.features_q, x_q)
    assert not problem.features_q.flags.writeable
    copy = pickle.loads(pickle.dumps(problem))
    assert copy.features_q.dtype == np.float32
    assert copy.value(np.full(6, 0.1)) == problem.value(np.full(6, 0.1))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_named(value):
    _, x_q, _, _ = samples()
    x_q[7_000, 2] = value
    with pytest.raises(pre.DataError, match="row 7000, column 2") as error:
        pre.RatioProblem(np.zeros(6), x_q)
    assert error.value.argument == "features_q"
    x_q[7_000, 2] = 1e30  # its square overflows in float32
    assert pre.RatioProblem(np.zeros(6), x_q).ranges[1][2] == np.float32(1e30)


def test_inference_diagnostics_and_cone_solvers_take_float32():
    x_p, x_q, *_ = samples(500)
    narrow, wide = (pre.PosteriorRatio().fit(p, q) for p, q in ((x_p, x_q), (x_p.astype(float), x_q.astype(float))))
    assert str(narrow.summary()) == str(wide.summary())
    assert str(narrow.diagnostics()) == str(wide.diagnostics())
    one, other = (pre.solve(fit.problem_, solver="CLARABEL") for fit in (narrow, wide))
    np.testing.assert_array_equal(one.delta, other.delta)
    many, same = (pre.solve_many(x.astype(kind), x_p[:3]) for x, kind in ((x_q, np.float32), (x_q, float)))
    np.testing.assert_array_equal(many.delta, same.delta)


@pytest.mark.parametrize("kind", [np.float32, float])
@pytest.mark.parametrize("offset", [0.0, 300.0])
def test_a_problem_and_its_passes_need_little_memory_beyond_the_data(kind, offset):
    rng = np.random.default_rng(0)
    F = rng.normal(offset, 1.0, (400_000, 20)).astype(kind)
    F.flags.writeable = False  # or it would be copied, at this size
    tracemalloc.start()
    try:
        problem = pre.RatioProblem(np.full(20, offset + 0.05), F)
        delta = np.full(20, 0.02)
        problem.value(delta), problem.gradient(delta), problem.hessian(delta), problem.ranges
        problem.residual(np.full(400_000, 1.0 / 400_000))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak <= 0.25 * F.nbytes
