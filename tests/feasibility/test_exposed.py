"""Exposed columns: the rows that are left, the coefficients that run to infinity, estimators, blocks and batches."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.feasibility import exposed
from pre_convex.feasibility.exposed import exposed_face

pytestmark = pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
N = 1500


def one_hot(level, k):
    return (level[:, None] == np.arange(k)).astype(float)


@pytest.fixture(scope="module")
def sides():
    """Four categories, the first of which the p side lacks, and two numbers."""
    rng = np.random.default_rng(0)
    level_p, level_q = rng.choice(4, N, p=[0.0, 0.2, 0.3, 0.5]), rng.choice(4, N)
    x_p = np.column_stack([one_hot(level_p, 4), rng.normal(0.3, 1.0, (N, 2))])
    x_q = np.column_stack([one_hot(level_q, 4), rng.normal(0.0, 1.0, (N, 2))])
    return x_p, x_q, level_q


def without_the_category(sides):
    x_p, x_q, level = sides
    return x_p[:, 1:], x_q[level > 0][:, 1:]


def test_columns_are_exposed_one_after_the_other():
    """Only on the rows where the first column is largest does the second one have no value above the target's."""
    F = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, -1.0, 5.0], [0.0, 3.0, 0.0]])
    face = exposed_face(pre.RatioProblem([1.0, 0.0, 0.25], F))
    assert face.recession == ((0, 1), (1, 1))
    assert face.columns.tolist() == [2]
    assert face.reduced.features_q.ravel().tolist() == [0.0, 1.0]
    assert face.log_share == pytest.approx(np.log(0.5))


def test_targets_between_the_extremes_and_targets_outside_have_no_exposed_face():
    F = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert exposed_face(pre.RatioProblem([0.25, 0.25], F)) is None
    assert exposed_face(pre.RatioProblem([0.0, 2.0], F)) is None
    assert exposed_face(pre.RatioProblem([1.0, 1.0], F)) is None  # a corner of the ranges that no row has
    with pytest.raises(pre.InfeasibleError):
        pre.solve(pre.RatioProblem([1.0, 1.0], F))


def test_rows_of_zero_base_weight_expose_a_column():
    solution = pre.solve(pre.RatioProblem([0.0, 0.5], [[0, 0], [0, 1], [-1, 0.5]], [0.0, 0.0, -np.inf]))
    assert solution.status is pre.Status.OPTIMAL  # column 0 is constant on the rows that count
    solution = pre.solve(pre.RatioProblem([0.0, 0.5], [[0, 0], [0, 1], [-1, 0.5], [1, 0]], [0.0, 0.0, -np.inf, 0.0]))
    assert solution.recession == ((0, -1),)
    assert solution.mu.tolist() == pytest.approx([0.5, 0.5, 0.0, 0.0])


@pytest.mark.parametrize("solver", ["newton", "CLARABEL"])
def test_the_answer_is_that_without_the_rows_and_the_column(sides, solver):
    x_p, x_q, level = sides
    solution = pre.solve(pre.RatioProblem.from_samples(x_p, x_q), solver=solver)
    alone = pre.solve(pre.RatioProblem.from_samples(*without_the_category(sides)))
    assert solution.status is pre.Status.BOUNDARY
    assert solution.recession == ((0, -1),)
    np.testing.assert_allclose(solution.delta, [0.0, *alone.delta], atol=1e-7)
    np.testing.assert_allclose(solution.mu[level > 0], alone.mu, atol=1e-9)
    assert np.all(solution.mu[level == 0] == 0.0)
    assert solution.primal_value == pytest.approx(alone.primal_value + np.log(np.mean(level > 0)), abs=1e-10)


@pytest.mark.parametrize("max_entries", [10, 10**7])
@pytest.mark.parametrize("likelihood", [None, lambda x: 0.3 * x[:, 4]])
def test_rows_in_blocks(sides, tmp_path, monkeypatch, max_entries, likelihood):
    monkeypatch.setattr(exposed, "MAX_ENTRIES", max_entries)  # a face of few rows is read into memory
    x_p, x_q, _ = sides
    np.save(tmp_path / "q.npy", x_q)
    solution = pre.solve(pre.RatioProblem.from_blocks(x_p, tmp_path / "q.npy", None, likelihood))
    alone = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, None, likelihood))
    assert (solution.status, solution.recession) == (pre.Status.BOUNDARY, alone.recession)
    np.testing.assert_allclose(solution.delta, alone.delta, atol=1e-7)
    np.testing.assert_allclose(solution.mu, alone.mu, atol=1e-9)
    assert solution.primal_value == pytest.approx(alone.primal_value, abs=1e-10)


def test_some_of_many_problems(sides):
    x_p, x_q, _ = sides
    found = pre.solve_many(x_q, [x_p.mean(axis=0), x_q[::2].mean(axis=0)])
    assert [status.name for status in found.status] == ["BOUNDARY", "OPTIMAL"]
    assert found.ok.all()
    assert found[0].recession == ((0, -1),)
    np.testing.assert_allclose(found[0].mu, pre.solve(pre.RatioProblem.from_samples(x_p, x_q)).mu, atol=1e-9)


@pytest.mark.parametrize("estimator", [pre.PosteriorRatio, pre.KLIEP])
def test_estimators_fit_and_warn_and_the_ratio_is_zero_off_the_face(sides, estimator, tmp_path):
    x_p, x_q, level = sides
    with pytest.warns(pre.PreConvexWarning, match="x0: the p side has only the smallest q value, 0") as caught:
        fit = estimator().fit(x_p, x_q)
    assert caught[0].filename == __file__
    ratio = fit.ratio(x_q)
    assert np.all(ratio[level == 0] == 0.0)
    assert np.all(fit.log_ratio(x_q)[level == 0] == -np.inf)
    np.testing.assert_allclose(ratio / N, fit.mu_, atol=1e-12)
    assert fit.divergence_ == pytest.approx(fit.score(x_p, x_q), abs=1e-9)
    assert any("x0" in text for text in fit.diagnostics().warnings)
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    assert copy.solution_.recession == fit.solution_.recession
    np.testing.assert_array_equal(copy.ratio(x_q), ratio)


def test_inference_is_that_of_the_face(sides):
    x_p, x_q, level = sides
    fit, alone = pre.PosteriorRatio().fit(x_p, x_q), pre.PosteriorRatio().fit(*without_the_category(sides))
    interval = fit.conf_int()
    assert interval.estimate[0] == -np.inf
    assert np.isnan(interval.std_error[0])
    np.testing.assert_allclose(interval.std_error[1:], alone.conf_int().std_error, rtol=1e-7)
    assert "-inf" in str(fit.summary())
    resampled = fit.bootstrap(4)
    assert np.all(resampled[:, 0] == -np.inf)
    assert np.all(np.isfinite(resampled[:, 1:]))
    # the share of the face is itself an estimate, so that log r is less certain than on the face alone
    on_face = x_q[level > 0][:5]
    wider = fit.log_ratio_interval(on_face).std_error
    assert np.all(wider > alone.log_ratio_interval(on_face[:, 1:]).std_error)


def test_a_classifier_gives_the_category_probability_zero(sides):
    x_p, x_q, level = sides
    model = pre.RatioClassifier().fit(np.concatenate([x_p, x_q]), np.repeat([1, 0], N))
    assert np.all(model.decision_function(x_q)[level == 0] == -np.inf)
    assert model.predict_proba(x_q)[level == 0, 1].max() < 1e-300


def test_points_beyond_the_extreme_have_an_infinite_ratio(sides):
    fit = pre.KLIEP().fit(*sides[:2])
    assert fit.ratio([[-1.0, 0.0, 0.0, 1.0, 0.0, 0.0]]).tolist() == [np.inf]


def test_a_radius_needs_no_face(sides):
    solution = pre.solve(pre.RatioProblem.from_samples(*sides[:2], radius=0.01))
    assert solution.status is pre.Status.OPTIMAL
    assert not solution.recession


@pytest.mark.parametrize("seed", range(30))
def test_nearly_collinear_columns_raise_nothing_but_errors_of_the_package(seed):
    rng = np.random.default_rng([9, seed])
    n, k = int(rng.integers(15, 80)), int(rng.integers(3, 25))
    F = rng.normal(size=(n, k))
    F[:, -1] = F[:, 0] + 10.0 ** rng.uniform(-10, -6) * rng.normal(size=n)
    log_base = rng.normal(size=n) * rng.choice([0, 1, 30, 100])
    logits = log_base + F @ rng.normal(size=k) * rng.choice([0.1, 1, 3])
    w = np.exp(logits - logits.max())
    pre.solve(pre.RatioProblem(w @ F / w.sum(), F, log_base), check=False)


def test_a_radius_for_each_feature_keeps_the_exposed_columns_of_radius_zero(sides):
    x_p, x_q, level = sides
    R = np.array([0.0, 0.02, 0.02, np.inf, 0.0, 0.1])
    whole = pre.RatioProblem.from_samples(x_p, x_q, radius=R)
    solution = pre.solve(whole)
    assert solution.status is pre.Status.BOUNDARY
    assert solution.recession == ((0, -1),)
    assert np.all(solution.mu[level == 0] == 0.0)
    p, q = without_the_category(sides)
    rest = pre.solve(pre.RatioProblem.from_samples(p, q, radius=R[1:]))
    np.testing.assert_allclose(solution.mu[level > 0], rest.mu, atol=1e-9)
    np.testing.assert_allclose(solution.delta[1:], rest.delta, atol=1e-6)
    share = np.log(np.mean(level > 0))
    assert solution.primal_value == pytest.approx(rest.primal_value + share, abs=1e-9)
    kept = solution.mu[level > 0]
    assert solution.dual_value <= -np.sum(kept * np.log(kept * N)) + 1e-9
    for relaxed in (0.02, np.inf):  # a column that is relaxed exposes nothing
        other = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, radius=[relaxed, *R[1:]]))
        assert other.status is pre.Status.OPTIMAL
