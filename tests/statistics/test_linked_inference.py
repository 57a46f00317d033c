"""Inference for the whole family: influences against refits with slightly changed weights, and refusals."""

import pickle

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.statistics.linked_inference import LinkedInference

MEMBERS = {
    "kl": {},
    "chi2": {"divergence": "chi2"},
    "reverse-kl": {"divergence": "reverse-kl"},
    "bounded kl": {"bounds": (0.3, 1.7)},
    "bounded chi2": {"divergence": "chi2", "bounds": (0.4, 1.6)},
    "largest weight": {"divergence": "reverse-kl", "max_weight": 0.05},
}
STEP = 1e-5


def samples(n_p=60, n_q=60, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0.15, 0.9, (n_p, 2)), rng.normal(size=(n_q, 2)), 0.3 * rng.normal(size=n_p)


def solved(problem):
    return pre.solve(problem, tol=1e-13, check=False)


def derivatives(x_p, x_q, l_p, terms, points):
    """Derivative of (δ, log r at some points, divergence) for one more copy of each row, by refits; [FAMINF]."""

    def estimate(copies_p, copies_q):
        base = copies_q / copies_q.sum()
        given = {key: value for key, value in terms.items() if key != "max_weight"}
        if "max_weight" in terms:  # each copy may have the largest weight
            given["bounds"] = (0.0, terms["max_weight"] * copies_q / base)
        w = copies_p * np.exp(l_p)
        problem = pre.RatioProblem(w @ x_p / w.sum(), x_q, np.log(copies_q), **given)
        found = solved(problem)
        ratio = pre.divergences.Link(problem.link.divergence, *terms.get("bounds", (0.0, np.inf))).ratio
        return np.concatenate(
            [found.delta, np.log(ratio(found.intercept + points @ found.delta)), [-found.primal_value]]
        )

    p, q = np.ones(len(x_p)), np.ones(len(x_q))
    rows = []
    for i in range(len(x_p)):
        move = STEP * np.eye(1, len(x_p), i)[0]
        rows.append((estimate(p + move, q) - estimate(p - move, q)) / (2 * STEP))
    for j in range(len(x_q)):
        move = STEP * np.eye(1, len(x_q), j)[0]
        rows.append((estimate(p, q + move) - estimate(p, q - move)) / (2 * STEP))
    return np.array(rows)


@pytest.mark.parametrize("name", MEMBERS)
def test_variances_are_those_of_the_influence_of_every_row(name):
    x_p, x_q, l_p = samples(25, 30)
    points = np.array([[0.1, -0.2], [0.3, 0.2]])
    problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, None, **MEMBERS[name])
    solution = solved(problem)
    if problem.link.bounded:  # some rows are on a bound, and the points are not
        pi = np.exp(problem.log_base)
        assert np.any(np.isclose(solution.mu, problem.bounds[1] * pi) | np.isclose(solution.mu, problem.bounds[0] * pi))
    found = LinkedInference(problem, solution.delta)
    D = derivatives(x_p, x_q, l_p, MEMBERS[name], points)
    variances = D.T @ D
    np.testing.assert_allclose(found.covariance, variances[:2, :2], rtol=2e-3, atol=1e-7)
    intervals = found.log_ratio(points)
    inside = intervals.std_error > 0.0  # the others are on a bound
    assert inside.any()
    np.testing.assert_allclose(intervals.std_error[inside] ** 2, np.diag(variances)[2:4][inside], rtol=2e-3, atol=1e-8)
    np.testing.assert_allclose(found.divergence().std_error ** 2, variances[4, 4], rtol=2e-3)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("kind", ["centred", "hc3"])
def test_kl_has_the_variances_of_its_own_formulas(kind, paired):
    x_p, x_q, l_p = samples(60, 60)
    problem = pre.RatioProblem.from_samples(x_q if paired else x_p, x_q, l_p, None, paired=paired)
    delta = solved(problem).delta
    one, two = pre.Inference(problem, delta, kind=kind), LinkedInference(problem, delta, kind=kind)
    scale = np.sqrt(np.outer(one.covariance.diagonal(), one.covariance.diagonal()))
    # for KL, HC3 takes exact changes when a row is left out [LOO]
    tolerance = 1e-8 if kind == "centred" else 0.05
    np.testing.assert_allclose(two.covariance / scale, one.covariance / scale, atol=tolerance)
    if kind == "centred":
        np.testing.assert_allclose(two.log_ratio(x_q).std_error, one.log_ratio(x_q).std_error, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(two.divergence().std_error, one.divergence().std_error, rtol=1e-6)


def test_hc3_is_the_jackknife_of_chi2():
    x_p, x_q, _ = samples(60, 50)
    terms = {"divergence": "chi2"}
    problem = pre.RatioProblem.from_samples(x_p, x_q, **terms)
    centre = solved(problem).delta
    left = [solved(pre.RatioProblem.from_samples(np.delete(x_p, i, 0), x_q, **terms)).delta for i in range(60)]
    left += [solved(pre.RatioProblem.from_samples(x_p, np.delete(x_q, j, 0), **terms)).delta for j in range(50)]
    jackknife = np.square(np.array(left) - centre).sum(axis=0)
    np.testing.assert_allclose(np.diag(LinkedInference(problem, centre, kind="hc3").covariance), jackknife, rtol=0.03)


def test_features_left_out_are_as_if_they_were_not_there():
    x_p, x_q, _ = samples()
    with_it = pre.PosteriorRatio(divergence="chi2", radius=[0.0, np.inf]).fit(x_p, x_q)
    without = pre.PosteriorRatio(divergence="chi2").fit(x_p[:, :1], x_q[:, :1])
    np.testing.assert_allclose(with_it.covariance()[0, 0], without.covariance()[0, 0], rtol=1e-9)
    assert not np.any(with_it.covariance()[1])
    one, two = with_it.log_ratio_interval(x_q[:5]), without.log_ratio_interval(x_q[:5, :1])
    np.testing.assert_allclose(one.lower, two.lower, rtol=1e-9)
    assert with_it.wald_test().df == 1


@pytest.mark.parametrize("name", ["chi2", "reverse-kl", "bounded kl"])
def test_a_fit_has_intervals_that_stay_within_the_bounds(name):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.1, 0.9, (900, 2)), rng.normal(size=(1000, 2))
    fit = pre.PosteriorRatio(**MEMBERS[name]).fit(x_p, x_q)
    inference = pre.Inference(fit.problem_, fit.delta_)
    assert isinstance(inference, LinkedInference)
    np.testing.assert_array_equal(fit.covariance(), inference.covariance)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(inference)).covariance, inference.covariance)
    low, high = fit.problem_.bounds
    found = inference.ratio(10.0 * x_q)
    assert np.all((found.lower >= low) & (found.upper <= high) & (found.lower <= found.estimate))
    np.testing.assert_allclose(found.estimate, fit.ratio(10.0 * x_q), atol=1e-9)
    spread = fit.bootstrap(100).std(axis=0)
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance())), spread, rtol=0.3)
    assert "not shown" not in str(fit.summary())


def test_bounds_that_the_noise_can_pass_are_warned_about():
    x_p, x_q, _ = samples()
    tight, wide = (pre.KLIEP(bounds=bounds).fit(x_p, x_q) for bounds in ((0.3, 1.7), (0.0, 50.0)))
    assert any("out of reach" in text for text in tight.diagnostics().warnings)
    assert not any("out of reach" in text for text in wide.diagnostics().warnings)
    assert np.all(tight.conf_int().lower < tight.conf_int().upper)


def test_what_makes_intervals_wrong_is_refused():
    x_p, x_q, _ = samples()
    relaxed = pre.RatioProblem.from_samples(x_p, x_q, divergence="chi2", radius=0.1)
    with pytest.raises(pre.DataError) as error:
        pre.Inference(relaxed, pre.solve(relaxed).delta)
    assert error.value.argument == "radius"
    bare = pre.RatioProblem(x_p.mean(axis=0), x_q, divergence="chi2")
    with pytest.raises(pre.DataError) as error:
        pre.Inference(bare, pre.solve(bare).delta)
    assert error.value.argument == "problem"
    with pytest.raises(pre.DataError) as error:
        pre.Inference(relaxed.with_radius(0.0), np.zeros(2), kind="paper")
    assert error.value.argument == "kind"
