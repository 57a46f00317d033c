"""Balancing of treatment groups: weights, effects and their standard errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import pre_convex as pre
from pre_convex.statistics.effects import Effect, weighted_mean

ESTIMANDS = ("ATT", "ATE", "ATC")
MEMBERS = {
    "kl": {},
    "chi2": {"divergence": "chi2"},
    "reverse-kl": {"divergence": "reverse-kl"},
    "bounded": {"bounds": (0.3, 4.0)},
    "bounded chi2": {"divergence": "chi2", "bounds": (0.4, 4.0)},
}


def data(seed=0, n=400):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    treated = rng.random(n) < 1.0 / (1.0 + np.exp(-0.5 * X[:, 0]))
    return X, treated, X[:, 0] + X[:, 1] ** 2 + 2.0 * treated + rng.normal(size=n)


def target(estimand, X, treated):
    rows = {"ATT": treated, "ATE": np.ones(len(X), dtype=bool), "ATC": ~treated}[estimand]
    return X[rows].mean(axis=0)


@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize("member", MEMBERS)
def test_groups_have_the_means_of_the_target(estimand, member):
    X, treated, y = data()
    fit = pre.Balance(estimand, **MEMBERS[member]).fit(X, treated, y)
    for rows in (treated, ~treated):
        assert fit.weights_[rows].sum() == pytest.approx(1.0)
        np.testing.assert_allclose(fit.weights_[rows] @ X[rows], target(estimand, X, treated), atol=1e-6)
    np.testing.assert_allclose(fit.balance_.after, 0.0, atol=1e-6)
    difference = fit.weights_ * np.where(treated, 1.0, -1.0) @ y
    assert fit.effect_.estimate == pytest.approx(difference)
    assert all(solution.ok for solution in fit.solutions_.values())


@pytest.mark.parametrize("estimand", ESTIMANDS)
@pytest.mark.parametrize("member", MEMBERS)
def test_the_influence_of_a_row_is_the_derivative_with_respect_to_its_base_weight(estimand, member):
    X, treated, y = data()
    model, step = pre.Balance(estimand, tol=1e-11, **MEMBERS[member]), 1e-3
    influence = model.fit(X, treated, y).effect_.influence
    assert influence.sum() == pytest.approx(0.0, abs=1e-8)
    for row in (0, 57, 211, 399):
        estimates = []
        for sign in (1.0, -1.0):
            base = np.ones(len(X))
            base[row] += sign * step
            estimates.append(model.fit(X, treated, y, base_weights=base).effect_.estimate)
        assert influence[row] == pytest.approx((estimates[0] - estimates[1]) / (2.0 * step), rel=1e-4, abs=1e-7)


def test_an_outcome_that_is_linear_in_the_features_has_no_error_from_the_controls():
    X, treated, _ = data()
    effect = pre.Balance().fit(X, treated, X @ [1.0, -2.0] + 3.0 * treated).effect_
    assert effect.estimate == pytest.approx(3.0)
    assert effect.std_error == pytest.approx(0.0, abs=1e-6)


def test_duplicated_rows_are_rows_of_double_weight():
    X, treated, y = data(n=120)
    twice = np.repeat(np.arange(120), np.where(np.arange(120) < 40, 2, 1))
    once = pre.Balance("ATE").fit(X, treated, y, base_weights=np.where(np.arange(120) < 40, 2.0, 1.0))
    both = pre.Balance("ATE").fit(X[twice], treated[twice], y[twice])
    assert once.effect_.estimate == pytest.approx(both.effect_.estimate, rel=1e-9)


def test_bounds_of_each_row_and_the_largest_weight_hold():
    X, treated, _ = data()
    high = np.linspace(3.0, 5.0, len(X))
    fit = pre.Balance(bounds=(np.full(len(X), 0.2), high)).fit(X, treated)
    ratio = fit.weights_[~treated] * np.sum(~treated)
    assert np.all(ratio >= 0.2 - 1e-12)
    assert np.all(ratio <= high[~treated] + 1e-12)
    assert fit.effect_ is None
    assert pre.Balance(max_weight=0.012).fit(X, treated).weights_[~treated].max() <= 0.012


def test_a_radius_is_in_standard_deviations():
    X, treated, y = data()
    X = pd.DataFrame(X * [1.0, 1000.0], columns=["age", "income"])
    fit = pre.Balance(radius={"age": 0.05, ...: 0.01}).fit(X, treated, y)
    assert np.all(np.abs(fit.balance_.after) <= np.array([0.05, 0.01]) + 1e-9)
    loose = pre.Balance(radius=100.0).fit(X, treated, y)  # nothing is held, so the weights stay equal
    groups = [y[treated], y[~treated]]
    assert loose.effect_.estimate == pytest.approx(groups[0].mean() - groups[1].mean())
    assert loose.effect_.std_error == pytest.approx(np.sqrt(sum(g.var() / len(g) for g in groups)), rel=0.01)


def test_constant_and_duplicated_features_change_nothing():
    X, treated, y = data()
    plain = pre.Balance().fit(X, treated, y)
    more = pre.Balance().fit(np.column_stack([X, np.full(len(X), 7.0), X[:, 0]]), treated, y)
    np.testing.assert_allclose(more.weights_, plain.weights_, atol=1e-9)
    assert more.effect_.std_error == pytest.approx(plain.effect_.std_error, rel=1e-6)
    assert np.isnan(more.balance_.before[2])


def test_a_formula_makes_products_and_categories():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.integers(20, 60, 300).astype(np.int8), "town": rng.choice(list("abc"), 300)})
    treated = rng.random(300) < 0.4
    fit = pre.Balance(formula="age + {age**2} + town").fit(X, treated)
    assert fit.feature_names_ == ("age", "age ** 2", "town[T.b]", "town[T.c]")
    age, weights = X.age.to_numpy(float), fit.weights_
    assert weights[treated] @ age[treated] ** 2 == pytest.approx(weights[~treated] @ age[~treated] ** 2)


def test_a_fit_that_fails_leaves_the_estimator_as_it_was():
    X, treated, y = data()
    fit = pre.Balance().fit(X, treated, y)
    before = fit.weights_
    with pytest.raises(pre.InfeasibleError):
        fit.fit(X + 99.0 * treated[:, None], treated, y)
    assert fit.weights_ is before


def test_the_table_prints_and_parameters_survive_a_clone():
    X, treated, y = data()
    model = pre.Balance("ATE", radius=[0.1, np.inf], bounds=(0.1, 9.0))
    fit = clone(model).fit(pd.DataFrame(X, columns=["age", "dose"]), treated, y)
    text = fit.summary()
    assert text.startswith("ATE ")
    for word in ("age", "dose", "before", "after", "effective sample size, treated", "certificate, control"):
        assert word in text
    assert list(fit.balance_.to_frame()["feature"]) == ["age", "dose"]
    assert "<table>" in fit.balance_._repr_html_()


def test_no_expansion_where_the_bounds_hold_nearly_every_row():
    x = np.array([[-1.0], [-1.0], [1.0], [1.0]])
    problem = pre.RatioProblem([0.2], x, divergence="chi2", bounds=(0.8, 1.2))
    assert not weighted_mean(problem, pre.solve(problem, check=False), x[:, 0]).regular
    loose = pre.RatioProblem([0.2], x, divergence="chi2", bounds=(0.1, 3.0))
    assert weighted_mean(loose, pre.solve(loose), x[:, 0]).regular


TERMS = (
    "(age + educ + black + hisp + marr + nodegree + re74 + re75 + u74 + u75)**2 + {age**2} + {educ**2}"
    " - black:hisp - re74:u74 - re75:u75 - educ:nodegree - re74:re75"
)


@pytest.mark.parametrize(
    ("parameters", "att", "ess"),
    [({}, 1571.37, 103.35), ({"max_weight": 0.015}, 1662.46, 119.54), ({"divergence": "chi2"}, 1668.75, 143.73)],
)
def test_lalonde_with_52_moments(parameters, att, ess):
    causaldata = pytest.importorskip("causaldata", reason="the data is in the package causaldata")
    nsw, cps = (getattr(causaldata, name).load_pandas().data for name in ("nsw_mixtape", "cps_mixtape"))
    rows = pd.concat([nsw[nsw.treat == 1], cps], ignore_index=True)
    rows = rows.assign(u74=1.0 * (rows.re74 == 0), u75=1.0 * (rows.re75 == 0))
    fit = pre.Balance(formula=TERMS, **parameters).fit(rows, rows.treat, rows.re78)
    assert len(fit.feature_names_) == 52
    assert fit.effect_.estimate == pytest.approx(att, abs=0.005)
    assert fit.balance_.sizes["control"][2] == pytest.approx(ess, abs=0.005)
    assert fit.solutions_["control"].status.ok
    np.testing.assert_allclose(fit.balance_.after, 0.0, atol=1e-5)


@pytest.mark.parametrize("parameters", [{}, {"radius": 0.05}, {"divergence": "chi2", "bounds": (0.0, 3.0)}], ids=str)
def test_covariates_in_conflict_are_named_with_a_radius_that_works(parameters):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    treated = np.arange(200) < 60
    x[~treated, 1] = x[~treated, 0] + 0.05 * rng.normal(size=140)  # in the controls age and dose are alike
    x[treated, :2] = [0.6, -0.6] + 0.2 * rng.normal(size=(60, 2))
    rows = pd.DataFrame(x, columns=["age", "dose", "sex"])
    with pytest.raises(pre.InfeasibleError, match="balance age and dose together") as error:
        pre.Balance(**parameters).fit(rows, treated)
    assert error.value.conflict == ("age", "dose")
    (advice,) = error.value.advice
    assert "pass radius={" in str(error.value)
    assert pre.Balance(**{**parameters, **advice}).fit(rows, treated).solutions_["control"].status.ok


def test_effect_shows_the_digits_that_its_standard_error_justifies():
    def shown(estimate, std_error):
        return str(Effect("ATT", estimate, std_error, np.zeros(1)))

    assert shown(1270.7347, 646.2) == "ATT 1270.7, std err 646.2, 95 % [4.2, 2537.3]"
    assert shown(2808490.2, 146900.0).startswith("ATT 2808490, std err 146900, ")
    assert shown(78.88271195, 1e-13).startswith("ATT 78.8827120, std err 0.0000000, ")  # at most nine digits
    assert shown(np.nan, np.nan) == "ATT nan, std err nan, 95 % [nan, nan]"
