import pickle

import numpy as np
import pytest
from zoo import gaussian, planted

import pre_convex as pre
from pre_convex.data.blocks import LocalBlocks
from pre_convex.data.dask_blocks import DaskFileBlocks
from pre_convex.data.features import FeatureMap
from pre_convex.problem import as_problem


def test_value_gradient_and_hessian_agree():
    problem, delta = planted(strength=1.0)
    step = 1e-6
    for i in range(problem.k):
        e = step * np.eye(problem.k)[i]
        slope = (problem.value(delta + e) - problem.value(delta - e)) / (2 * step)
        assert problem.gradient(delta)[i] == pytest.approx(slope, abs=1e-8)
        bend = (problem.gradient(delta + e) - problem.gradient(delta - e)) / (2 * step)
        np.testing.assert_allclose(problem.hessian(delta)[i], bend, atol=1e-8)


def test_value_at_zero_is_zero_and_the_link_gives_weights():
    problem, delta = planted()
    assert problem.value(np.zeros(3)) == pytest.approx(0.0, abs=1e-14)
    mu = np.exp(problem.log_mu(delta))
    assert mu.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(problem.residual(mu), -problem.gradient(delta), atol=1e-13)
    # the identity of [LINK]: value minus dual value is minus the product of residual and δ
    assert problem.value(delta) - problem.dual_value(mu) == pytest.approx(-problem.residual(mu) @ delta, abs=1e-12)


def test_attributes_and_arrays_are_read_only():
    problem, _ = planted()
    for name in ("target", "features_q", "log_base"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(problem, name)[0] = 1.0
    with pytest.raises(AttributeError):
        problem.radius = 1.0


def test_with_radius_leaves_the_problem_unchanged():
    problem, _ = planted(radius=0.1)
    other = problem.with_radius(0.2, np.inf)
    assert (other.radius, other.norm, problem.radius, problem.norm) == (0.2, np.inf, 0.1, 2)
    assert other.features_q is problem.features_q
    for radius, norm in ((-1.0, 2), (0.1, 7)):
        with pytest.raises(pre.DataError):
            problem.with_radius(radius, norm)


def test_a_read_only_array_is_not_copied():
    F = np.random.default_rng(0).normal(size=(50, 2))
    F.flags.writeable = False
    assert np.shares_memory(pre.RatioProblem([0.0, 0.0], F).features_q, F)


@pytest.mark.parametrize("offset", [-900.0, 1e4])
def test_offsets_of_log_likelihoods_change_nothing(offset):
    x_p, x_q, l_p, l_q, _ = gaussian(400, 0, precision=4.0)
    plain = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q))
    for move_p, move_q in ((offset, 0.0), (0.0, offset), (offset, -offset)):
        moved = pre.solve(
            pre.RatioProblem.from_samples(x_p, x_q, lambda x, c=move_p: l_p(x) + c, lambda x, c=move_q: l_q(x) + c)
        )
        np.testing.assert_allclose(moved.delta, plain.delta, atol=1e-10)
        np.testing.assert_allclose(moved.mu, plain.mu, atol=1e-10)
        assert moved.primal_value == pytest.approx(plain.primal_value, abs=1e-10)


@pytest.mark.parametrize("solver", pre.installed_solvers())
def test_rows_of_zero_likelihood_get_no_weight(solver):
    problem, _ = planted(n=120, radius=0.05)
    log_base = problem.log_base.copy()
    log_base[::3] = -np.inf
    positive = log_base > -np.inf
    with_zeros = pre.solve(pre.RatioProblem(problem.target, problem.features_q, log_base, radius=0.05), "dual", solver)
    without = pre.solve(pre.RatioProblem(problem.target, problem.features_q[positive], log_base[positive], radius=0.05))
    assert np.all(with_zeros.mu[~positive] == 0.0)
    np.testing.assert_allclose(with_zeros.mu[positive], without.mu, atol=1e-8)
    np.testing.assert_allclose(with_zeros.delta, without.delta, atol=1e-6)


def test_rows_of_zero_likelihood_are_not_part_of_the_hull():
    problem = pre.RatioProblem([0.9], [[0.0], [0.5], [1.0]], [0.0, 0.0, -np.inf])
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    assert error.value.minimal_radius == pytest.approx(0.4)


def test_flat_likelihoods_are_kliep():
    x_p, x_q, *_ = gaussian(200, 1)
    kliep = pre.RatioProblem.from_samples(x_p, x_q)
    flat = pre.RatioProblem.from_samples(x_p, x_q, np.full(200, 3.0), lambda x: np.full(len(x), -2.0))
    np.testing.assert_allclose(kliep.target, x_p.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(pre.solve(flat).delta, pre.solve(kliep).delta, atol=1e-12)


def test_frames_keep_their_names_and_order():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x_p, x_q, *_ = gaussian(60, 2)
    arrays = pre.RatioProblem.from_samples(x_p, x_q, features="polynomial")
    for frame in (pd.DataFrame, lambda data: pl.DataFrame(data)):
        p = frame({"age": x_p[:, 0], "dose": x_p[:, 1]})
        q = frame({"dose": x_q[:, 1], "age": x_q[:, 0]})  # columns are matched by name
        problem = pre.RatioProblem.from_samples(p, q, features="polynomial")
        assert problem.feature_names == ("age", "dose", "age^2", "dose^2")
        np.testing.assert_array_equal(problem.features_q, arrays.features_q)


def test_a_memory_map_is_accepted(tmp_path):
    F = np.random.default_rng(0).normal(size=(300, 2))
    np.save(tmp_path / "F.npy", F)
    mapped = np.load(tmp_path / "F.npy", mmap_mode="r")
    a, b = pre.RatioProblem([0.1, 0.2], mapped), pre.RatioProblem([0.1, 0.2], F)
    np.testing.assert_array_equal(pre.solve(a).delta, pre.solve(b).delta)


ROWS = np.array([[0.0, 1.0], [2.0, -1.0], [1.0, 3.0], [-1.0, 0.5]])


def test_input_becomes_read_only_float_arrays():
    F, log_w = ROWS.tolist(), [0.0, 1.0, 2.0]
    w = np.exp(log_w) / np.exp(log_w).sum()
    problem = pre.RatioProblem(
        (w @ ROWS[:3]).tolist(), F, [0, 1, 2, 3], 1, "inf", ["a", "b"], features_p=F[:3], log_weights_p=log_w
    )
    np.testing.assert_array_equal(problem.features_q, ROWS)
    np.testing.assert_array_equal(problem.features_p, ROWS[:3])
    np.testing.assert_allclose(np.exp(problem.log_weights_p), w)
    np.testing.assert_allclose(np.exp(problem.log_base), np.exp([0, 1, 2, 3]) / np.exp([0, 1, 2, 3]).sum())
    for name in ("target", "features_q", "log_base", "features_p", "log_weights_p"):
        part = getattr(problem, name)
        assert part.dtype == float
        assert not part.flags.writeable
    assert (problem.radius, problem.norm, problem.feature_names) == (1.0, np.inf, ("a", "b"))
    assert isinstance(problem.radius, float)
    np.testing.assert_array_equal(problem.rows_p.features, ROWS[:3])
    np.testing.assert_array_equal(problem.rows_p.log_base, problem.log_weights_p)


def test_defaults_are_uniform_weights_numbered_names_and_no_p_side():
    target = np.array([0.5, 1.0])
    problem = pre.RatioProblem(target, ROWS)
    target[:] = 9.0  # a copy was taken
    np.testing.assert_array_equal(problem.target, [0.5, 1.0])
    np.testing.assert_allclose(problem.log_base, np.full(4, -np.log(4)))
    assert problem.rows.uniform
    assert problem.feature_names == ("f0", "f1")
    assert (problem.radius, problem.norm, problem.paired) == (0.0, 2.0, False)
    assert (problem.features_p, problem.log_weights_p, problem.rows_p) == (None, None, None)
    even = pre.RatioProblem(ROWS.mean(axis=0), ROWS, features_p=ROWS)
    np.testing.assert_allclose(even.log_weights_p, np.full(4, -np.log(4)))


@pytest.mark.parametrize(
    ("shape", "by_columns"), [((30_000, 2), True), ((30_001, 2), False), ((20, 16), True), ((20, 17), False)]
)
def test_small_narrow_features_are_stored_by_columns(shape, by_columns):
    F = np.random.default_rng(0).normal(size=shape)
    rows = pre.RatioProblem(np.zeros(shape[1]), F).rows
    assert rows.features.flags.f_contiguous == by_columns
    np.testing.assert_array_equal(rows.features, F)


@pytest.mark.parametrize("n", [2, 3000])
def test_a_target_may_differ_from_the_mean_of_the_p_side_by_round_off(n):
    # entries up to 1000, and a constant column: the tolerance is relative to the size of each column
    F_p = np.column_stack([np.resize([-1000.0, 1000.0], n), np.full(n, 3.0)])
    F_p[0] = [0.0, 3.0]
    b = F_p.mean(axis=0)
    size = 1000.0 + abs(b[0])
    for off in ([0.9e-9 * size, 0.0], [0.0, 5e-9]):
        pre.RatioProblem(b + off, ROWS, features_p=F_p)
    for off in ([1.1e-9 * size, 0.0], [0.0, 7e-9], [0.0, -7e-9]):
        with pytest.raises(pre.DataError) as error:
            pre.RatioProblem(b + off, ROWS, features_p=F_p)
        assert error.value.argument == "target"


BAD = np.array([[0.0, 1.0], [2.0, np.nan]])
HUGE = np.array([[1e101, 1.0], [1.0, 0.0]])
IMPOSSIBLE = np.full(4, -np.inf)
#: argument that the error names, a word that its message holds, and the call that is refused
REFUSED = [
    ("feature_names", "sequence", lambda: problem(feature_names="ab")),
    ("feature_names", "1 names for 2", lambda: problem(feature_names=["a"])),
    ("feature_names", "'b'", lambda: pre.RatioProblem([0, 0, 0], np.ones((2, 3)), feature_names=["a", "b", "b"])),
    ("target", "3", lambda: pre.RatioProblem([0, 0, 0], ROWS)),
    ("target", "entry 1 is nan", lambda: pre.RatioProblem([0, np.nan], ROWS)),
    ("target", "1e+151", lambda: pre.RatioProblem([0, 1e151], ROWS)),
    ("target", "2e+151", lambda: blocked(None, ROWS, target=[0, 2e151])),
    ("target", "mean of features_p", lambda: pre.RatioProblem([9, 9], ROWS, features_p=ROWS)),
    ("features_q", "row 1, column 'dose'", lambda: pre.RatioProblem([0, 0], BAD, feature_names=["age", "dose"])),
    ("features_q", "1e+101", lambda: pre.RatioProblem([0, 0], HUGE)),
    ("features_q", "column 0", lambda: pre.RatioProblem([0, 0], 1e-101 * ROWS)),
    ("log_base", "3", lambda: problem(log_base=[0, 0, 0])),
    ("log_base", "-inf", lambda: problem(log_base=IMPOSSIBLE)),
    ("features_p", "1", lambda: problem(features_p=[[1.0]])),
    ("features_p", "row 1, column 'f1'", lambda: problem(features_p=BAD)),
    ("features_p", "1e+101", lambda: problem(features_p=HUGE)),
    ("features_p", "missing", lambda: problem(paired=True)),
    ("features_p", "missing", lambda: problem(log_weights_p=[0, 0, 0, 0])),
    ("log_weights_p", "3", lambda: problem(features_p=ROWS, log_weights_p=[0, 0, 0])),
    ("log_weights_p", "-inf", lambda: problem(features_p=ROWS, log_weights_p=IMPOSSIBLE)),
    ("paired", "3", lambda: pre.RatioProblem(ROWS[:3].mean(0), ROWS, features_p=ROWS[:3], paired=True)),
    ("paired", "'no'", lambda: problem(paired="no")),
    ("paired", "3", lambda: samples(ROWS, ROWS[:3], paired=True)),
    ("paired", "'maybe'", lambda: samples(ROWS, ROWS, paired="maybe")),
    ("paired", "'perhaps'", lambda: samples(ROWS, in_dask(ROWS), paired="perhaps")),
    ("paired", "Dask", lambda: samples(ROWS, in_dask(ROWS), paired=True)),
    ("x_p", "row 1, column 1 is nan", lambda: samples(BAD, ROWS)),
    ("x_q", "row 1, column 1 is nan", lambda: samples(ROWS, BAD)),
    ("x_q", "RatioClassifier", lambda: samples(ROWS, np.zeros(4))),
    ("log_lik_p", "3", lambda: samples(ROWS, ROWS, np.zeros(3))),
    ("log_lik_q", "3", lambda: samples(ROWS, ROWS, None, np.zeros(3))),
    ("features(x_p)", "row 3, column 'x0'", lambda: samples(ROWS, abs(ROWS), features=Root())),
    ("features(x_q)", "row 3, column 'x0'", lambda: samples(abs(ROWS), ROWS, features=Root())),
    ("features(x_p)", "1e+101", lambda: samples(HUGE, ROWS)),
    ("features(x_q)", "1e+101", lambda: samples(ROWS, HUGE)),
    ("features(x_q)", "column 0", lambda: samples(1e-101 * ROWS, 1e-101 * ROWS)),
    ("features", "2", lambda: samples(ROWS, ROWS[:3], features=lambda x: np.ones((len(x), 6 - len(x))))),
    ("feature_names", "set", lambda: samples(ROWS, ROWS, features=SetOfNames())),
    ("dask", "'maybe'", lambda: blocked(ROWS, ROWS, dask="maybe")),
    ("verbose", "'maybe'", lambda: blocked(ROWS, ROWS, verbose="maybe")),
    ("delta", "3", lambda: problem().value([0] * 3)),
    ("delta", "4", lambda: problem().tilt([0] * 4)),
    ("delta", "5", lambda: problem().log_mu([0] * 5)),
    ("delta", "1e+151", lambda: problem().value([0, 1e151])),
    ("covariance", "'maybe'", lambda: problem().tilt([0, 0], covariance="maybe")),
    ("mu", "3", lambda: problem().residual([0] * 3)),
    ("mu", "2", lambda: problem().dual_value([0.5, 0.5])),
    ("mu", "1", lambda: blocked(ROWS, ROWS).dual_value([1.0])),
    ("mu", "1e+101", lambda: problem().residual([0, 0, 0, 1e101])),
    ("problem", "ndarray", lambda: as_problem(ROWS)),
    ("other", "list", lambda: as_problem([], "other")),
]


def problem(**arguments):
    return pre.RatioProblem(**{"target": [0, 0], "features_q": ROWS, **arguments})


def samples(x_p, x_q, *terms, **options):
    return pre.RatioProblem.from_samples(x_p, x_q, *terms, **options)


class Root(FeatureMap):
    """Square root of the first column, which is negative in one row."""

    def __call__(self, x):
        with np.errstate(invalid="ignore"):
            return np.sqrt(x[:, :1])

    def names(self, columns):
        return tuple(columns[:1])


class SetOfNames(FeatureMap):
    """The columns themselves, with names in no order."""

    def __call__(self, x):
        return x

    def names(self, columns):
        return set(columns)


def in_dask(x):
    return pytest.importorskip("dask.array").from_array(x)


def blocked(x_p, x_q, *terms, **options):
    return pre.RatioProblem.from_blocks(x_p, x_q, *terms, **options)


@pytest.mark.parametrize(("argument", "word", "call"), REFUSED)
def test_bad_input_is_refused_by_an_error_that_names_the_argument(argument, word, call):
    with pytest.raises(pre.DataError) as error:
        call()
    assert error.value.argument == argument
    assert word in str(error.value)
    assert error.value.remedy


def test_a_matrix_with_too_few_columns_is_not_taken_for_labels():
    with pytest.raises(pre.DataError) as error:
        samples(ROWS, ROWS[:, :1])
    assert error.value.argument == "x_q"
    assert "RatioClassifier" not in str(error.value)


@pytest.mark.parametrize("flag", [1, np.True_, True])
def test_flags_may_be_bool_or_int(flag):
    assert pre.RatioProblem(ROWS.mean(axis=0), ROWS, features_p=ROWS, paired=flag).paired is True


def test_frames_with_different_columns_are_refused():
    pl = pytest.importorskip("polars")
    p, q = pl.DataFrame(ROWS, schema=["age", "dose"]), pl.DataFrame(ROWS, schema=["dose", "sex"])
    with pytest.raises(pre.DataError) as error:
        pre.RatioProblem.from_samples(p, q)
    assert error.value.argument == "x_q"
    assert "age, sex" in error.value.reason
    assert error.value.remedy
    for one, other in ((p, ROWS), (ROWS, p)):  # an array takes the names of the other side
        assert pre.RatioProblem.from_samples(one, other).feature_names == ("age", "dose")
    assert pre.RatioProblem([0.0, 0.0], p).feature_names == ("age", "dose")


def check_same(problem, other):
    for name in ("target", "features_q", "log_base", "features_p", "log_weights_p"):
        np.testing.assert_allclose(getattr(problem, name), getattr(other, name), atol=1e-12)
    for name in ("radius", "norm", "feature_names", "paired"):
        assert getattr(problem, name) == getattr(other, name)


def squares(x):
    return np.column_stack([x, x**2])


@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_samples_and_blocks_of_them_make_the_same_problem(shift):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (30, 2)) + shift, rng.normal(size=(40, 2)) + shift
    l_p, l_q = rng.normal(size=30), rng.normal(size=40)
    terms = {"features": "linear" if shift else "polynomial", "radius": 0.25, "norm": np.inf}
    problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, **terms)
    w = np.exp(l_p) / np.exp(l_p).sum()
    F_p, F_q = (x_p, x_q) if shift else (squares(x_p), squares(x_q))
    names = ("x0", "x1") if shift else ("x0", "x1", "x0^2", "x1^2")
    check_same(problem, pre.RatioProblem(w @ F_p, F_q, l_q, 0.25, np.inf, names, F_p, l_p))
    blocks = blocked(x_p, x_q, l_p, l_q, **terms)
    check_same(blocks.in_memory(), problem)
    assert repr(blocks) == f"RatioProblem(n_q=40, k={len(names)}, radius=0.25, norm=inf, in 1 block)"
    assert (blocks.n_q, blocks.k, blocks.feature_names) == (40, len(names), names)
    assert not blocks.target.flags.writeable
    for rows in (problem.rows, blocks.rows, problem.rows_p, blocks.rows_p):
        np.testing.assert_allclose(rows.origin, problem.target, rtol=1e-14)
    mu = rng.dirichlet(np.ones(40))
    assert blocks.dual_value(mu) == pytest.approx(problem.dual_value(mu), abs=1e-12)
    np.testing.assert_allclose(blocks.residual(mu), problem.residual(mu), atol=1e-10)
    delta = 0.1 * rng.normal(size=problem.k)
    assert blocks.value(delta) == pytest.approx(problem.value(delta), abs=1e-10)
    np.testing.assert_allclose(blocks.log_mu(delta), problem.log_mu(delta), atol=1e-10)
    basis = rng.normal(size=(problem.k, 2))
    for made in (problem.change_coordinates(basis), blocks.change_coordinates(basis).in_memory()):
        np.testing.assert_allclose(made.features_q, (F_q - problem.target) @ basis, atol=1e-9)
        np.testing.assert_array_equal(made.target, [0.0, 0.0])
        np.testing.assert_allclose(made.log_base, problem.log_base, atol=1e-12)
        assert (made.radius, made.norm, made.features_p) == (0.0, 2.0, None)
    assert blocks.change_coordinates(basis).feature_names == ("z0", "z1")
    assert problem.in_memory() is problem


def test_defaults_of_from_samples_and_from_blocks(capsys):
    pair = pre.RatioProblem.from_samples(ROWS, ROWS, paired=True)
    assert pair.paired
    for problem in (pre.RatioProblem.from_samples(ROWS + 1.0, ROWS), blocked(ROWS + 1.0, ROWS)):
        assert (problem.radius, problem.norm, problem.paired) == (0.0, 2.0, False)
        np.testing.assert_allclose(problem.target, ROWS.mean(axis=0) + 1.0)
        np.testing.assert_allclose(problem.rows.take(slice(None)).features, ROWS - problem.target)
        np.testing.assert_allclose(problem.rows_p.take(slice(None)).features, ROWS + 1.0 - problem.target)
    given = blocked(None, ROWS, target=[0.25, 0.5])
    np.testing.assert_array_equal(given.target, [0.25, 0.5])
    assert given.rows_p is None
    assert given.in_memory().features_p is None
    assert capsys.readouterr().out == ""
    blocked(ROWS, ROWS, verbose=True)
    assert "survey 1" in capsys.readouterr().out


def test_samples_in_dask_are_read_in_blocks():
    dask = pytest.importorskip("dask")
    with dask.config.set(scheduler="synchronous"):
        check_dask()
        for option, kind in (({}, LocalBlocks), ({"dask": False}, LocalBlocks), ({"dask": True}, DaskFileBlocks)):
            assert type(blocked(ROWS, ROWS, **option).rows.blocks) is kind


def check_dask():
    chunks = in_dask(np.arange(12.0).reshape(6, 2)).rechunk((3, 2))
    for x_p, x_q in ((chunks, chunks), (chunks, chunks.compute()), (chunks.compute(), chunks)):
        problem = pre.RatioProblem.from_samples(
            x_p, x_q, lambda x: 0.1 * x[:, 0], lambda x: -0.1 * x[:, 1], features=squares, radius=0.5, norm=1
        )
        assert repr(problem).startswith("RatioProblem(n_q=6, k=4, radius=0.5, norm=1, in ")
        assert ("in 2 blocks)" in repr(problem)) == (x_q is chunks)
        F = squares(chunks.compute())
        w, a = np.exp(0.1 * F[:, 0]), -0.1 * F[:, 1]
        np.testing.assert_allclose(problem.target, w @ F / w.sum())
        np.testing.assert_allclose(problem.log_mu(np.zeros(4)), a - np.log(np.exp(a).sum()))


def test_with_radius_may_change_the_norm():
    problem = planted(radius=0.1, norm=1)[0]
    assert (problem.with_radius(3).norm, problem.with_radius(3).radius) == (1.0, 3.0)
    assert problem.with_radius(0.5, "inf").norm == np.inf


def test_value_includes_the_penalty_and_tilt_the_covariance_on_request():
    problem = pre.RatioProblem([0.0, 0.0], ROWS, radius=0.5, norm=np.inf)
    delta = np.array([1.0, -2.0])
    loss = np.log(np.exp(ROWS @ delta).mean())
    assert problem.value(delta) == pytest.approx(loss + 0.5 * 3.0)
    assert problem.tilt(delta).covariance is None
    np.testing.assert_allclose(problem.tilt(delta, covariance=True).covariance, problem.hessian(delta))
    low, high = problem.ranges
    np.testing.assert_array_equal([low, high], [[-1.0, -1.0], [2.0, 3.0]])


@pytest.mark.parametrize("log_base", [None, [0.0, 1.0, 2.0, -np.inf]])
def test_a_pickled_problem_is_the_same_problem(log_base):
    problem = pre.RatioProblem(ROWS.mean(axis=0), ROWS, log_base, radius=0.5, norm=1, features_p=ROWS, paired=True)
    copy = pickle.loads(pickle.dumps(problem))
    check_same(copy, problem)
    assert copy.rows.uniform == problem.rows.uniform == (log_base is None)
    assert copy.value([0.3, -0.2]) == problem.value([0.3, -0.2])
    for name in ("target", "features_q", "log_base", "features_p", "log_weights_p"):
        assert not getattr(copy, name).flags.writeable


def test_a_pickled_problem_in_blocks_is_the_same_problem():
    problem = blocked(ROWS + 1.0, ROWS, radius=0.5)
    copy = pickle.loads(pickle.dumps(problem))
    assert repr(copy) == repr(problem)
    assert copy.value([0.3, -0.2]) == problem.value([0.3, -0.2])


def test_rows_of_zero_weight_on_the_p_side():
    log_w = [0.0, 0.0, -np.inf, -np.inf]
    problem = pre.RatioProblem(ROWS[:2].mean(axis=0), ROWS, features_p=ROWS, log_weights_p=log_w)
    np.testing.assert_allclose(np.exp(problem.log_weights_p), [0.5, 0.5, 0.0, 0.0])


def test_log_weights_are_taken_bit_for_bit():
    problem = pre.RatioProblem(ROWS.mean(axis=0), ROWS, features_p=ROWS)
    log_base, log_w = problem.log_base + 1e-15 * np.arange(4), problem.log_weights_p - 1e-15
    restored = problem.with_log_weights(log_base, log_w)
    for array, given in (
        (restored.log_base, log_base),
        (restored.rows.log_base, log_base),
        (restored.log_weights_p, log_w),
    ):
        np.testing.assert_array_equal(array, given)
        assert not array.flags.writeable
    np.testing.assert_array_equal(problem.with_log_weights(log_base).log_weights_p, problem.log_weights_p)
    np.testing.assert_array_equal(problem.log_base, np.full(4, -np.log(4)))


FAMILY = {"divergence": "chi2", "bounds": (0.1, 4.0), "max_weight": 0.3, "radius": [0.1, 0.0, 0.2]}


def test_divergence_and_bounds_belong_to_the_problem():
    F = np.random.default_rng(0).normal(size=(40, 3))
    problem = pre.RatioProblem(np.zeros(3), F, **FAMILY)
    assert (problem.divergence, problem.bounds, problem.max_weight) == ("chi2", (0.1, 4.0), 0.3)
    assert not problem.exponential
    assert repr(problem).endswith("radius=per feature, divergence='chi2', bounds=(0.1, 4), max_weight=0.3)")
    plain = pre.RatioProblem(np.zeros(3), F)
    assert (plain.divergence, plain.bounds, plain.max_weight) == ("kl", (0.0, np.inf), None)
    assert plain.exponential


def test_every_copy_keeps_divergence_and_bounds():
    rng = np.random.default_rng(0)
    F, a = rng.normal(size=(40, 3)), rng.normal(size=40)
    problem = pre.RatioProblem(np.zeros(3), F, a, **FAMILY)
    blocked = pre.RatioProblem.from_blocks(None, F, log_lik_q=a, target=np.zeros(3), **FAMILY)
    copies = [
        problem.with_radius(0.5),
        problem.with_log_weights(problem.log_base),
        problem.centred_at_target(),
        problem.change_coordinates(np.eye(3)),
        problem.in_memory(),
        pickle.loads(pickle.dumps(problem)),
        blocked,
        blocked.in_memory(),
        blocked.change_coordinates(np.eye(3)),
        pickle.loads(pickle.dumps(blocked)),
    ]
    for copy in copies:
        assert (copy.divergence, copy.max_weight) == ("chi2", 0.3)
        for x, y in zip(copy.bounds, problem.bounds, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)
    assert pickle.loads(pickle.dumps(problem)).radius.tolist() == [0.1, 0.0, 0.2]


def test_max_weight_follows_the_base_weights():
    problem = pre.RatioProblem([0.0], np.linspace(-1.0, 1.0, 5)[:, None], np.log([4.0, 1, 1, 1, 1]), max_weight=0.4)
    np.testing.assert_allclose(problem.bounds[1], [0.8, 3.2, 3.2, 3.2, 3.2])
    even = problem.with_log_weights(np.full(5, -np.log(5.0)))
    np.testing.assert_allclose(even.bounds[1], 2.0)


@pytest.mark.parametrize("terms", [{"divergence": "chi2"}, {"bounds": (0.3, 2.0)}, {"divergence": "reverse-kl"}])
def test_value_gradient_and_hessian_of_the_family_agree(terms):
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem([0.1, 0.0], rng.normal(size=(60, 2)), rng.normal(size=60), 0.1, **terms)
    delta, step = np.array([0.2, -0.1]), 1e-6
    for i in range(2):
        e = step * np.eye(2)[i]
        plain = problem.with_radius(0.0)
        slope = (plain.value(delta + e) - plain.value(delta - e)) / (2 * step)
        assert problem.gradient(delta)[i] == pytest.approx(slope, abs=1e-8)
        bend = (problem.gradient(delta + e) - problem.gradient(delta - e)) / (2 * step)
        np.testing.assert_allclose(problem.hessian(delta)[i], bend, atol=1e-7)
    mu = problem.mu(delta)
    assert mu.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(np.exp(problem.log_mu(delta)), mu, atol=1e-15)
    # [FY] at the weights of [LINK]: both sides of the duality agree up to the residual
    gap = problem.value(delta) - problem.penalty_value(delta) - problem.dual_value(mu)
    assert gap == pytest.approx(-problem.residual(mu) @ delta, abs=1e-12)
    with pytest.raises(pre.DataError):
        problem.tilt(delta)


def test_reverse_kl_needs_weight_in_every_row():
    """Its divergence is infinite at ratio zero, so that a row whose upper bound is zero has no answer."""
    F, upper = [[0.0], [1.0], [2.0]], [0.0, 3.0, 3.0]
    with pytest.raises(pre.DataError, match="row 0 no weight"):
        pre.RatioProblem([1.5], F, divergence="reverse-kl", bounds=(0.0, upper))
    left_out = pre.RatioProblem([1.5], F, [-np.inf, 0.0, 0.0], divergence="reverse-kl", bounds=(0.0, upper))
    np.testing.assert_allclose(pre.solve(left_out).mu, [0.0, 0.5, 0.5], atol=1e-12)
    for divergence in ("kl", "chi2"):
        problem = pre.RatioProblem([1.5], F, divergence=divergence, bounds=(0.0, upper))
        np.testing.assert_allclose(pre.solve(problem).mu, [0.0, 0.5, 0.5], atol=1e-12)
