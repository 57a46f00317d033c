"""PosteriorRatio and KLIEP: what a fit holds, solvers, penalties, choice of the radius, data frames."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from zoo import gaussian, samples

import pre_convex as pre


def test_a_fit_has_the_documented_attributes():
    x_p, x_q, l_p, l_q = samples()
    fit = pre.PosteriorRatio("polynomial").fit(x_p, x_q, l_p, l_q)
    assert fit.delta_.shape == (4,)
    assert fit.mu_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(fit.mu_, fit.solution_.mu, rtol=1e-12)
    assert fit.divergence_ == pytest.approx(-fit.solution_.primal_value)
    assert fit.solution_.status.ok
    assert fit.n_features_in_ == 2
    assert fit.feature_names_ == ("x0", "x1", "x0^2", "x1^2")
    base = np.exp(fit.problem_.log_base)
    assert base @ fit.ratio(x_q) == pytest.approx(1.0)  # normalised over the q posterior
    np.testing.assert_allclose(base * fit.ratio(x_q), fit.mu_, atol=1e-12)
    assert fit.score(x_p, x_q, l_p, l_q) == pytest.approx(fit.divergence_, abs=1e-12)


def test_a_second_fit_replaces_the_first():
    x_p, x_q, l_p, l_q = samples()
    fit = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
    fit.log_ratio(x_q)
    fit.fit(x_p + 1.0, x_q, l_p, l_q)
    again = pre.PosteriorRatio().fit(x_p + 1.0, x_q, l_p, l_q)
    np.testing.assert_array_equal(fit.log_ratio(x_q), again.log_ratio(x_q))
    np.testing.assert_array_equal(fit.mu_, again.mu_)


def test_estimates_converge_to_the_closed_form():
    errors = []
    for n in (400, 40_000):
        x_p, x_q, l_p, l_q, delta = gaussian(n, 3)
        errors.append(np.abs(pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q).delta_ - delta).max())
    assert errors[1] < 0.05
    assert errors[1] < errors[0]
    rng = np.random.default_rng(0)
    kliep = pre.KLIEP("polynomial").fit(rng.normal(0.5, 0.8, (40_000, 1)), rng.normal(0.0, 1.0, (40_000, 1)))
    np.testing.assert_allclose(kliep.delta_, [0.5 / 0.64, 0.5 - 0.5 / 0.64], atol=0.05)


@pytest.mark.parametrize("kind", [pre.PosteriorRatio, pre.KLIEP, pre.PluginRatio, pre.RatioClassifier])
def test_parameters_clone_and_pickle(kind):
    estimator = kind("polynomial", radius=0.1, norm=np.inf)
    assert estimator.get_params()["radius"] == 0.1
    twin = clone(estimator).set_params(radius=0.2)
    assert (twin.radius, estimator.radius) == (0.2, 0.1)
    assert "polynomial" in repr(estimator)
    x_p, x_q, *_ = samples(80)
    with pytest.raises(NotFittedError):
        estimator.log_ratio(x_q)
    arguments = (x_p, x_q)
    if kind is pre.RatioClassifier:
        arguments = (np.concatenate([x_p, x_q]), np.repeat([1, 0], [len(x_p), len(x_q)]))
    fitted = estimator.fit(*arguments)
    assert fitted is estimator
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fitted.log_ratio(x_q))
    again = clone(fitted).fit(*arguments)
    np.testing.assert_array_equal(again.delta_, fitted.delta_)


@pytest.mark.parametrize("formulation", ["primal", "dual"])
@pytest.mark.parametrize("solver", pre.installed_solvers())
def test_estimators_agree_for_every_solver(solver, formulation):
    x_p, x_q, l_p, l_q = samples(60)
    options = {"solver": solver, "formulation": formulation}
    np.testing.assert_allclose(
        pre.PosteriorRatio(**options).fit(x_p, x_q, l_p, l_q).delta_,
        pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q).delta_,
        atol=1e-6,
    )
    np.testing.assert_allclose(pre.KLIEP(**options).fit(x_p, x_q).delta_, pre.KLIEP().fit(x_p, x_q).delta_, atol=1e-6)
    plugin = pre.PluginRatio(**options).fit(x_p, x_q, l_p, l_q)
    assert plugin.solution_.solver == solver


def test_penalty_and_constraints_are_passed_through():
    x_p, x_q, *_ = samples()
    fit = pre.KLIEP(constraints=lambda d: [d >= 0], penalty=lambda d: 0.01 * cp.norm1(d)).fit(x_p, x_q)
    assert fit.delta_.min() >= -1e-9
    with pytest.raises(pre.DataError) as error:
        fit.conf_int()
    assert error.value.argument == "penalty"
    assert "not shown" in str(fit.summary())


def test_the_divergence_is_that_of_the_weights():
    x_p, x_q, *_ = samples()
    penalised = pre.KLIEP(penalty=lambda d: 5 * cp.sum_squares(d)).fit(x_p, x_q)
    kl = np.sum(penalised.mu_ * np.log(penalised.mu_ * len(x_q)))
    assert penalised.divergence_ == pytest.approx(kl, abs=1e-8)


@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_sample_weights_have_mean_one_and_follow_the_rows_of_x_q(divergence):
    x_p, x_q, *_ = samples()
    log_lik_q = np.where(np.arange(len(x_q)) % 3, 0.0, -np.inf)  # every third row cannot occur
    fit = pre.PosteriorRatio(divergence=divergence).fit(x_p, x_q, None, log_lik_q)
    weight = fit.sample_weight()
    assert weight.shape == (len(x_q),)
    assert weight.mean() == pytest.approx(1.0)
    assert np.all(weight[::3] == 0.0)
    assert np.all(weight >= 0.0)
    np.testing.assert_allclose(np.average(x_q, axis=0, weights=weight), x_p.mean(axis=0), atol=1e-6)


def test_two_halves_of_one_sample_are_not_told_apart():
    same = np.random.default_rng(5).normal(size=(400, 2))
    fit = pre.KLIEP().fit(same[:200], same[200:])
    assert fit.divergence_p_value() > 0.05
    assert fit.divergence_interval()[0] == 0.0
    assert fit.in_region([0.0, 0.0])


def test_columns_of_data_frames_are_matched_by_name():
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    x_p, x_q, *_ = samples(100)
    for frame in (pd.DataFrame, pl.DataFrame, pa.table):
        p, q = ({"age": x[:, 0], "dose": x[:, 1]} for x in (x_p, x_q))
        fit = pre.KLIEP().fit(frame(p), frame(q))
        assert list(fit.feature_names_in_) == ["age", "dose"]
        reordered = frame({"dose": q["dose"], "age": q["age"]})
        np.testing.assert_array_equal(fit.log_ratio(reordered), fit.log_ratio(x_q))
        with pytest.raises(pre.DataError, match="dose") as error:
            fit.log_ratio(frame({"age": q["age"]}))
        assert error.value.argument == "x"
    numbered = pre.KLIEP().fit(pd.DataFrame(x_p), pd.DataFrame(x_q[:, ::-1], columns=[1, 0]))
    np.testing.assert_allclose(numbered.delta_, fit.delta_, atol=1e-12)
    assert list(fit.to_frame("polars")["feature"]) == ["age", "dose"]
    assert list(fit.to_frame()["feature"]) == ["age", "dose"]


def test_the_name_of_a_series_is_kept():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x_p, x_q, *_ = samples(100)
    for series in (lambda x, name: pd.Series(x, name=name), lambda x, name: pl.Series(name or "", x)):
        fit = pre.KLIEP().fit(series(x_p[:, 0], "age"), series(x_q[:, 0], "age"))
        assert fit.feature_names_ == ("age",)
        frame = pd.DataFrame({"other": x_q[:, 1], "age": x_q[:, 0]})
        np.testing.assert_array_equal(fit.log_ratio(frame), fit.log_ratio(series(x_q[:, 0], "grid")))
        for name_p, name_q in ((None, None), ("treated", "control")):
            assert pre.KLIEP().fit(series(x_p[:, 0], name_p), series(x_q[:, 0], name_q)).feature_names_ == ("x0",)


def test_a_score_test_is_the_same_for_every_radius():
    rng = np.random.default_rng(8)
    x_p, x_q = rng.normal(0.3, 1.0, (80, 3)), rng.normal(0.0, [1.0, 2.0, 0.5], (120, 3))
    exact = pre.KLIEP().fit(x_p, x_q).score_test()
    for options in ({"radius": 0.4}, {"radius": "cv", "penalty": "l1"}, {"radius": [0.1, 0.0, 0.2]}):
        test = pre.KLIEP(**options).fit(x_p, x_q).score_test()
        assert (test.df, test.statistic) == (3, pytest.approx(exact.statistic, rel=1e-9))
    apart = pre.KLIEP(radius="cv").fit(x_p + 9.0, x_q)  # no weights match these means
    assert apart.score_test().p_value < 1e-10
    for fit in (pre.KLIEP(pre.Kernel(), radius=0.5), pre.KLIEP(radius=[0.1, np.inf, 0.0])):
        with pytest.raises(pre.DataError):
            fit.fit(x_p, x_q).score_test()
