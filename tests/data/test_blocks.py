"""Problems read block by block agree with problems in memory."""

import pickle
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pandas as pd
import polars as pl
import pytest
from stored_samples import KINDS, D, N, written

import pre_convex as pre
import pre_convex.data.blocks as blocks
from pre_convex.statistics.bootstrap import bootstrap
from pre_convex.statistics.selection import automatic_radius, cross_validated_radius


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    """Several blocks although the files are small."""
    monkeypatch.setattr(blocks.LocalBlocks.__init__, "__defaults__", (1_500,))


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    return rng.normal(0.3, 1.0, (800, D)), rng.normal(0.0, 1.0, (N, D)) @ np.diag([1.0, 2.0, 0.5])


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_problem(kind, sides, tmp_path):
    x_p, x_q = sides
    problem = pre.RatioProblem.from_blocks(x_p, written(kind, x_q, tmp_path), features="polynomial")
    whole = pre.RatioProblem.from_samples(x_p, x_q, features="polynomial")
    assert "block" in repr(problem)
    assert (problem.n_q, problem.k) == (whole.n_q, whole.k)
    np.testing.assert_allclose(problem.target, whole.target, atol=1e-14)
    delta = np.linspace(-0.3, 0.3, problem.k)
    assert problem.value(delta) == pytest.approx(whole.value(delta), abs=1e-13)
    np.testing.assert_allclose(problem.gradient(delta), whole.gradient(delta), atol=1e-13)
    np.testing.assert_allclose(problem.hessian(delta), whole.hessian(delta), atol=1e-12)
    np.testing.assert_allclose(problem.log_mu(delta), whole.log_mu(delta), atol=1e-12)
    one, other = pre.solve(problem, tol=1e-11), pre.solve(whole, tol=1e-11)
    assert one.status is pre.Status.OPTIMAL
    np.testing.assert_allclose(one.delta, other.delta, atol=1e-10)
    np.testing.assert_allclose(one.mu, other.mu, atol=1e-12)


@pytest.mark.parametrize("sharp", [0.5, 40.0, 2000.0])
@pytest.mark.parametrize("stored", [False, True])
def test_likelihoods_of_low_and_high_precision(sharp, stored, sides, tmp_path):
    x_p, x_q = sides
    likelihood = pre.Gaussian([0.2, 0.1, 0.0], precision=sharp)
    np.save(tmp_path / "q.npy", x_q)
    np.save(tmp_path / "a.npy", likelihood(x_q) - 4_000.0)
    wide = pre.Gaussian([0.2, 0.1, 0.0], precision=0.5 * sharp)
    given = tmp_path / "a.npy" if stored else likelihood
    problem = pre.RatioProblem.from_blocks(x_p, tmp_path / "q.npy", wide, given, radius=0.02)
    whole = pre.RatioProblem.from_samples(x_p, x_q, wide, likelihood, radius=0.02)
    one, other = pre.solve(problem, check=False), pre.solve(whole, check=False)
    assert one.status is other.status
    if other.status.ok:
        assert one.primal_value == pytest.approx(other.primal_value, abs=2e-8)
        np.testing.assert_allclose(problem.log_mu(other.delta), whole.log_mu(other.delta), atol=1e-9)


def test_rows_of_zero_likelihood_get_weight_zero(sides, tmp_path):
    x_p, x_q = sides
    np.save(tmp_path / "q.npy", x_q)
    base = np.where(x_q[:, 0] > 0.0, 0.0, -np.inf)
    problem = pre.RatioProblem.from_blocks(x_p + [1.0, 0.0, 0.0], tmp_path / "q.npy", None, base)
    mu = pre.solve(problem).mu
    assert np.all(mu[x_q[:, 0] <= 0.0] == 0.0)
    assert mu.sum() == pytest.approx(1.0)


def test_a_column_of_the_file_holds_the_log_likelihood(sides, tmp_path):
    x_p, x_q = sides
    a = pre.Gaussian([0.2, 0.1, 0.0])(x_q)
    pl.DataFrame(np.column_stack([x_q[:, :2], a, x_q[:, 2]]), schema=["u", "v", "loglik", "w"]).write_parquet(
        tmp_path / "q.parquet", row_group_size=300
    )
    problem = pre.RatioProblem.from_blocks(x_p, tmp_path / "q.parquet", log_lik_q="loglik")
    assert problem.feature_names == ("u", "v", "w")
    whole = pre.RatioProblem.from_samples(x_p, x_q, None, a)
    np.testing.assert_allclose(problem.gradient(np.ones(3)), whole.gradient(np.ones(3)), atol=1e-13)


def test_features_and_likelihoods_never_see_all_rows(sides, tmp_path):
    np.save(tmp_path / "q.npy", sides[1])
    seen = []

    def features(x):
        seen.append(len(x))
        return x[:, :2]

    def likelihood(x):
        seen.append(len(x))
        return -np.square(x[:, 0])

    pre.solve(pre.RatioProblem.from_blocks(sides[0], tmp_path / "q.npy", None, likelihood, features=features))
    assert max(seen) <= 1000


def test_more_rows_than_stay_in_memory(monkeypatch, tmp_path):
    monkeypatch.setattr(blocks, "MIN_SAMPLE_ROWS", 4_000)
    monkeypatch.setattr(blocks, "SAMPLE_NUMBERS", 20_000)
    monkeypatch.setattr(blocks.LocalBlocks.__init__, "__defaults__", (100_000,))
    rng = np.random.default_rng(1)
    x = rng.normal(size=(200_000, 4))
    np.save(tmp_path / "q.npy", x)
    for likelihood in (None, lambda x: -0.5 * x[:, 0] ** 2, lambda x: -200.0 * np.square(x - 0.1).sum(axis=1)):
        problem = pre.RatioProblem.from_blocks(None, tmp_path / "q.npy", None, likelihood, target=np.full(4, 0.12))
        assert problem.rows.sample(10**9).shape[0] < 15_000
        whole = pre.RatioProblem(problem.target, x, None if likelihood is None else likelihood(x))
        one, other = pre.solve(problem, tol=1e-10), pre.solve(whole, tol=1e-10)
        assert pre.certify(whole, one.delta).gap <= 1e-9
        assert one.primal_value == pytest.approx(other.primal_value, abs=2e-10)


def test_penalties_constraints_offsets_and_collinear_columns(sides, tmp_path):
    x_p, x_q = sides
    far = 1e5 * np.array([1.0, -2.0, 3.0])
    np.save(tmp_path / "q.npy", x_q + far)
    problem = pre.RatioProblem.from_blocks(x_p + far, tmp_path / "q.npy")
    np.testing.assert_allclose(
        pre.solve(problem).delta, pre.solve(pre.RatioProblem.from_samples(x_p, x_q)).delta, atol=1e-6
    )
    np.save(tmp_path / "q.npy", x_q)
    plain = pre.RatioProblem.from_samples(x_p, x_q)
    problem = pre.RatioProblem.from_blocks(x_p, tmp_path / "q.npy")
    for terms in ({"penalty": lambda d: 0.1 * cp.norm1(d)}, {"constraints": lambda d: [d >= 0, d <= 0.2]}):
        one, other = pre.solve(problem, **terms), pre.solve(plain, **terms)
        np.testing.assert_allclose(one.delta, other.delta, atol=1e-5)
    for norm in (1, 2, np.inf):
        one, other = pre.solve(problem.with_radius(0.05, norm)), pre.solve(plain.with_radius(0.05, norm))
        np.testing.assert_allclose(one.delta, other.delta, atol=1e-6)

    def twice(x):
        return np.column_stack([x, x[:, 0] + x[:, 1]])

    one = pre.solve(pre.RatioProblem.from_blocks(x_p, tmp_path / "q.npy", features=twice))
    other = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, features=twice))
    assert one.free_directions == other.free_directions == 1
    np.testing.assert_allclose(one.delta, other.delta, atol=1e-6)


def test_targets_outside_and_on_the_boundary_of_the_hull(sides, tmp_path):
    x = np.random.default_rng(0).uniform(size=(N, 2))
    x[:3] = [[0.0, 0.0], [1.0, 0.0], [0.4, 0.0]]
    np.save(tmp_path / "q.npy", x)
    outside = pre.RatioProblem.from_blocks(None, tmp_path / "q.npy", target=[0.5, -2.0])
    with pytest.raises(pre.InfeasibleError, match="outside the q range") as error:
        pre.solve(outside)
    assert error.value.minimal_radius == pytest.approx(2.0, rel=1e-9)
    np.testing.assert_allclose(error.value.direction, [0.0, -1.0], atol=1e-9)
    on = pre.solve(pre.RatioProblem.from_blocks(None, tmp_path / "q.npy", target=[0.5, 0.0]), check=False)
    assert on.status is pre.Status.BOUNDARY


def test_in_memory_loads_all_rows(sides, tmp_path):
    np.save(tmp_path / "q.npy", sides[1] + 1e6)
    problem = pre.RatioProblem.from_blocks(sides[0] + 1e6, tmp_path / "q.npy", radius=0.1, norm=1)
    whole = problem.in_memory()
    np.testing.assert_allclose(whole.features_q, sides[1] + 1e6, atol=1e-9)
    assert (whole.radius, whole.norm, whole.feature_names) == (0.1, 1.0, problem.feature_names)
    for name in ("features_q", "log_base"):
        with pytest.raises(pre.DataError, match=r"in_memory\(\)"):
            getattr(problem, name)
    with pytest.raises(pre.DataError, match=r"in_memory\(\)"):
        pre.solve(problem, solver="CLARABEL")
    with pytest.raises(pre.DataError, match="in memory"):
        bootstrap(problem, pre.solve(problem).delta, 3)
    for choose in (automatic_radius, cross_validated_radius):
        with pytest.raises(pre.DataError, match="in memory"):
            choose(problem)
    again = pickle.loads(pickle.dumps(pre.solve(problem)))
    assert again.mu.sum() == pytest.approx(1.0)


def test_rows_are_taken_by_number(sides, tmp_path):
    problem = pre.RatioProblem.from_blocks(sides[0], written("folder", sides[1], tmp_path))
    index = np.array([2_999, 0, 1_500, 7, 1_499])
    np.testing.assert_array_equal(problem.rows.take(index).features, sides[1][index] - problem.target)


def test_progress_is_shown_when_asked_for(sides, tmp_path, capsys):
    np.save(tmp_path / "q.npy", sides[1])
    pre.solve(pre.RatioProblem.from_blocks(sides[0], tmp_path / "q.npy", verbose=True), verbose=True)
    output = capsys.readouterr().out
    assert "survey 1" in output
    assert "6/6" in output


def refused(argument, word, *arguments, **options):
    """``from_blocks`` raises about this argument, with this word."""
    with pytest.raises(pre.DataError) as error:
        pre.RatioProblem.from_blocks(*arguments, **options)
    assert error.value.argument == str(argument)
    assert word in str(error.value)


def test_bad_rows_are_named(sides, tmp_path):
    x_p, x_q = sides
    spoilt = x_q.copy()
    spoilt[2_345, 1] = np.nan
    np.save(tmp_path / "nan.npy", spoilt)
    refused("x_q", "row 2345, column 'x1' is nan", x_p, tmp_path / "nan.npy")
    pl.DataFrame({"a": [1.0, None], "b": [0.0, 1.0]}).write_parquet(tmp_path / "hole.parquet")
    refused("x_q", "row 1, column 'a' is nan", None, tmp_path / "hole.parquet", target=[0.0, 0.0])
    base = np.zeros(N)
    base[2_900] = np.nan
    refused("log_lik_q", "row 2900 is nan", x_p, x_q, None, base)
    refused("features(x_q)", "overflow", None, x_q * 1e120, target=[0.0, 0.0, 0.0])
    refused("features(x_q)", "rescale", x_p, x_q * 1e-150)


def test_sides_that_do_not_fit_are_refused(sides, tmp_path):
    x_p, x_q = sides
    pl.DataFrame(x_q, schema=["u", "v", "w"]).write_parquet(tmp_path / "q.parquet")
    np.save(tmp_path / "q.npy", x_q)
    refused("x_q", "a, b, c, u, v, w", pl.DataFrame(x_p, schema=list("abc")), tmp_path / "q.parquet")
    refused("x_q", "2 columns", x_p, x_q[:, :2])
    refused("x_p", "None", None, x_q)
    refused("target", "2 entries", None, x_q, target=[0.0, 0.0])
    refused("log_lik_q", "u, v, w", x_p, tmp_path / "q.parquet", log_lik_q="l")
    refused("log_lik_q", "'loglik'", x_p, tmp_path / "q.npy", log_lik_q="loglik")
    refused("log_lik_q", "10 entries", x_p, x_q, log_lik_q=np.zeros(10))
    refused("log_lik_q", "-inf", x_p, x_q, log_lik_q=lambda x: np.full(len(x), -np.inf))
    refused("log_lik_p", "-inf", x_p, x_q, log_lik_p=lambda x: np.full(len(x), -np.inf))
    refused("log_lik_q", "entries", x_p, x_q, log_lik_q=lambda x: np.zeros(len(x) + 1))


class Cropping:
    """A feature map that loses rows, or columns after some calls."""

    def __init__(self, rows=None, calls=np.inf):
        self.rows, self.calls = rows, calls

    def __call__(self, x):
        self.calls -= 1
        return x[: self.rows, : 2 if self.calls > 0 else 1]

    def names(self, columns):
        return tuple(columns[:2])


def test_features_of_other_shapes_are_refused(sides):
    x_p, x_q = sides
    refused("features", "landmarks", x_p, x_q, features="kernel")
    refused("features", "(1, 3)", x_p, x_q, features=lambda x: x[:1])
    refused("features", "1 rows for 500 samples", x_p, x_q, features=Cropping(rows=1))
    refused("features", "2 columns", None, x_q, features=Cropping(calls=4), target=[0.0, 0.0])


def test_a_function_must_return_the_same_block_every_time(sides):
    sizes = iter([10, 20, 30, 40])
    refused("block 0", "shape", sides[0], [lambda: sides[1][: next(sizes)]])


def test_rows_of_weight_zero_in_blocks_made_by_functions():
    rng = np.random.default_rng(1)
    F, a = rng.normal(size=(20, 2)), rng.normal(size=20)
    a[[3, 15]] = -np.inf
    whole = pre.solve(pre.RatioProblem([0.1, 0.1], F, a))
    halves = [slice(0, 10), slice(10, None)]
    functions = [lambda i=i: F[i] for i in halves]
    for stored in ([lambda i=i: a[i] for i in halves], [lambda i=i: a[i, None] for i in halves], a):
        problem = pre.RatioProblem.from_blocks(None, functions, None, stored, target=[0.1, 0.1])
        np.testing.assert_allclose(pre.solve(problem).delta, whole.delta, atol=1e-9)
    wrong = [lambda: np.full(10, np.nan), lambda: a[10:]]
    refused("log_lik_q: block 0", "nan", None, functions, None, wrong, target=[0.1, 0.1])


def test_peak_memory_stays_below_the_size_of_the_file(tmp_path):
    n, k = 5_000_000, 10  # 400 MB
    file = np.lib.format.open_memmap(tmp_path / "q.npy", mode="w+", dtype=float, shape=(n, k))
    block = np.random.default_rng(0).normal(size=(100_000, k))
    for start in range(0, n, len(block)):
        file[start : start + len(block)] = block
    del file
    code = (
        "import re, sys, numpy as np, pre_convex as pre\n"
        "most = lambda: int(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]) / 1024\n"
        "problem = pre.RatioProblem.from_blocks(None, sys.argv[1], target=np.full(10, 0.1))\n"
        "print(pre.solve(problem).status.name, most())\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "q.npy")], capture_output=True, text=True, check=True
    )
    status, most = run.stdout.split()
    assert status == "OPTIMAL"
    assert float(most) < 300.0


def test_a_single_column_a_list_of_files_and_a_single_function(sides, tmp_path):
    x_p, x_q = sides
    np.save(tmp_path / "one.npy", x_q[:, 0])
    whole = pre.solve(pre.RatioProblem.from_samples(x_p[:, 0], x_q[:, 0]))
    for q in (tmp_path / "one.npy", x_q[:, 0], pl.Series("u", x_q[:, 0])):
        one = pre.solve(pre.RatioProblem.from_blocks(x_p[:, 0], q))
        np.testing.assert_allclose(one.delta, whole.delta, atol=1e-8)
    np.save(tmp_path / "a.npy", x_q[:1234])
    np.save(tmp_path / "b.npy", x_q[1234:])
    problem = pre.RatioProblem.from_blocks(x_p, [tmp_path / "a.npy", str(tmp_path / "b.npy")])
    whole = pre.RatioProblem.from_samples(x_p, x_q)
    np.testing.assert_allclose(problem.log_mu(np.ones(3)), whole.log_mu(np.ones(3)), atol=1e-12)
    assert pre.RatioProblem.from_blocks(x_p, lambda: x_q).n_q == N
    # log-likelihoods made by functions whose blocks end elsewhere, and one that returns no rows
    functions = [lambda: -x_q[:2000, :1], lambda: x_q[:0], lambda: -x_q[2000:, :1]]
    np.save(tmp_path / "q.npy", x_q)
    problem = pre.RatioProblem.from_blocks(x_p, tmp_path / "q.npy", None, functions)
    whole = pre.RatioProblem.from_samples(x_p, x_q, None, -x_q[:, 0])
    np.testing.assert_allclose(problem.log_mu(np.ones(3)), whole.log_mu(np.ones(3)), atol=1e-12)


def test_parquet_of_pandas_and_dask(sides, tmp_path):
    x_p, x_q = sides
    frame = pd.DataFrame(x_q, columns=list("abc"))
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(12):  # part.10 is the eleventh, not the third; an index is not a feature
        frame[i * 250 : (i + 1) * 250].to_parquet(folder / f"part.{i}.parquet")
    np.save(tmp_path / "a.npy", -(x_q[:, 0] ** 2))
    problem = pre.RatioProblem.from_blocks(x_p, folder, None, str(tmp_path / "a.npy"))
    whole = pre.RatioProblem.from_samples(x_p, x_q, None, -(x_q[:, 0] ** 2))
    assert problem.feature_names == ("a", "b", "c")
    np.testing.assert_allclose(problem.log_mu(np.ones(3)), whole.log_mu(np.ones(3)), atol=1e-12)
    frame.sample(frac=1.0, random_state=0).to_parquet(tmp_path / "shuffled.parquet")
    assert pre.RatioProblem.from_blocks(x_p, tmp_path / "shuffled.parquet").k == 3
    frame[["c", "a", "b"]].to_parquet(tmp_path / "order.parquet")
    named, along = pl.DataFrame(x_p, schema=list("abc")), np.arange(3.0)
    for q in (tmp_path / "order.parquet", frame[["c", "a", "b"]]):
        problem = pre.RatioProblem.from_blocks(named, q)
        assert problem.feature_names == ("a", "b", "c")
        whole = pre.RatioProblem.from_samples(x_p, x_q)
        np.testing.assert_allclose(problem.gradient(along), whole.gradient(along), atol=1e-12)
    frame.assign(zip="01234").to_parquet(tmp_path / "text.parquet")
    refused(tmp_path / "text.parquet", "'zip'", None, tmp_path / "text.parquet", target=np.zeros(4))
    frame[["a"]].to_parquet(folder / "part.12.parquet")
    refused(folder / "part.12.parquet", "b, c", x_p, folder)


def test_a_copy_on_write_memory_map_is_read_with_its_changes(sides, tmp_path):
    np.save(tmp_path / "q.npy", sides[1])
    changed = np.load(tmp_path / "q.npy", mmap_mode="c")
    changed[:, 0] *= 2.0
    problem = pre.RatioProblem.from_blocks(sides[0], changed)
    whole = pre.RatioProblem.from_samples(sides[0], np.array(changed))
    np.testing.assert_allclose(problem.gradient(np.ones(3)), whole.gradient(np.ones(3)), atol=1e-12)
