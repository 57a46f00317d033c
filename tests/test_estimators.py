"""Estimators: scikit-learn's conventions, radius choice, kernels, summaries, files."""

import pickle
import sys

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from zoo import gaussian

import pre_convex as pre
from pre_convex.kernels import median_length_scale, pivoted_cholesky
from pre_convex.selection import automatic_radius


def samples(n=300, seed=0):
    return gaussian(n, seed)[:4]


def test_a_fit_has_what_it_promises():
    x_p, x_q, l_p, l_q = samples()
    fit = pre.PosteriorRatio("polynomial").fit(x_p, x_q, l_p, l_q)
    assert fit.delta_.shape == (4,)
    assert fit.mu_.sum() == pytest.approx(1.0)
    assert fit.divergence_ == pytest.approx(-fit.solution_.primal_value)
    assert fit.solution_.status.ok
    assert fit.n_features_in_ == 2
    assert fit.feature_names_ == ("x0", "x1", "x0^2", "x1^2")
    base = np.exp(fit.problem_.log_base)
    assert base @ fit.ratio(x_q) == pytest.approx(1.0)  # normalised over the q posterior
    np.testing.assert_allclose(base * fit.ratio(x_q), fit.mu_, atol=1e-12)
    assert fit.score(x_p, x_q, l_p, l_q) == pytest.approx(fit.divergence_, abs=1e-12)


def test_log_ratio_takes_one_pass_over_the_fit_and_follows_a_new_one():
    x_p, x_q, l_p, l_q = samples()
    fit = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
    fit.log_ratio(x_q)
    seen = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        fit.log_ratio(x_q[:1])
    finally:
        sys.setprofile(None)
    assert "_log_ratio" in seen
    assert "tilt" not in seen
    fit.fit(x_p + 1.0, x_q, l_p, l_q)
    again = pre.PosteriorRatio().fit(x_p + 1.0, x_q, l_p, l_q)
    np.testing.assert_array_equal(fit.log_ratio(x_q), again.log_ratio(x_q))


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


def test_kliep_flat_likelihoods_and_the_plugin_are_the_same_numbers():
    x_p, x_q, *_ = samples()
    kliep = pre.KLIEP().fit(x_p, x_q)
    flat = pre.PosteriorRatio().fit(x_p, x_q, lambda x: np.full(len(x), 2.0), np.full(len(x_q), -7.0))
    plugin = pre.PluginRatio().fit(x_p, x_q, lambda x: np.full(len(x), 2.0), None)
    for other in (flat, plugin):
        np.testing.assert_allclose(other.delta_, kliep.delta_, atol=1e-10)
        np.testing.assert_allclose(other.log_ratio(x_q), kliep.log_ratio(x_q), atol=1e-10)
        assert other.divergence_ == pytest.approx(kliep.divergence_, abs=1e-10)


def test_the_plugin_gives_no_intervals_of_what_it_does_not_estimate():
    x_p, x_q, l_p, l_q = samples(100)
    plugin = pre.PluginRatio().fit(x_p, x_q, l_p, l_q)
    with pytest.raises(pre.DataError, match="its coefficients are those of the prior ratio"):
        plugin.log_ratio_interval(x_q)
    assert "not shown" in str(plugin.summary())


def test_the_plugin_is_the_prior_ratio_times_the_likelihood_ratio():
    x_p, x_q, l_p, l_q = samples()
    plugin, prior = pre.PluginRatio().fit(x_p, x_q, l_p, l_q), pre.KLIEP().fit(x_p, x_q)
    difference = plugin.log_ratio(x_q) - prior.log_ratio(x_q) - l_p(x_q) + l_q(x_q)
    np.testing.assert_allclose(difference, difference[0], atol=1e-10)
    base = np.exp(l_q(x_q))
    assert base / base.sum() @ plugin.ratio(x_q) == pytest.approx(1.0)
    with pytest.raises(pre.DataError, match="log_lik_p: must be a function"):
        pre.PluginRatio().fit(x_p, x_q, np.zeros(len(x_p)))


@pytest.mark.parametrize("kind", [pre.PosteriorRatio, pre.KLIEP, pre.PluginRatio, pre.RatioClassifier])
def test_scikit_learn_conventions(kind):
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
def test_every_estimator_works_with_every_solver(solver, formulation):
    x_p, x_q, l_p, l_q = samples(60)
    options = {"solver": solver, "formulation": formulation}
    np.testing.assert_allclose(
        pre.PosteriorRatio(**options).fit(x_p, x_q, l_p, l_q).delta_,
        pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q).delta_,
        atol=1e-6,
    )
    np.testing.assert_allclose(pre.KLIEP(**options).fit(x_p, x_q).delta_, pre.KLIEP().fit(x_p, x_q).delta_, atol=1e-6)
    plugin = pre.PluginRatio(**options).fit(x_p, x_q, l_p, l_q)
    assert plugin.solution_.solver == ("newton" if solver == "newton" else solver)


def test_penalty_and_constraints_are_passed_through():
    x_p, x_q, *_ = samples()
    fit = pre.KLIEP(constraints=lambda d: [d >= 0], penalty=lambda d: 0.01 * cp.norm1(d)).fit(x_p, x_q)
    assert fit.delta_.min() >= -1e-9
    with pytest.raises(pre.DataError, match="penalised or constrained"):
        fit.conf_int()
    assert "not shown" in str(fit.summary())


def test_a_summary_says_in_a_sentence_why_a_radius_has_no_intervals():
    x_p, x_q, *_ = samples()
    notes = dict(pre.KLIEP(radius=0.1).fit(x_p, x_q).summary().notes)
    assert notes["intervals"].startswith("not shown: a radius of 0.1 biases the estimate towards zero")


def test_the_classifier_stands_in_pipelines_and_grid_searches():
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    x_p, x_q, *_ = samples(150)
    X, y = np.concatenate([x_p, x_q]), np.repeat([1, 0], 150)
    pipeline = make_pipeline(StandardScaler(), pre.RatioClassifier())
    grid = {"ratioclassifier__radius": [0.0, 0.1, 5.0], "ratioclassifier__features": ["linear", "polynomial"]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_params_["ratioclassifier__radius"] < 5.0
    proba = search.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.mean(search.predict(X) == y) > 0.55
    weighted = pre.RatioClassifier().fit(X, y, sample_weight=np.repeat([1.0, 2.0], 150))
    np.testing.assert_allclose(weighted.delta_, pre.RatioClassifier().fit(X, y).delta_, atol=1e-9)
    pd = pytest.importorskip("pandas")
    named = pre.RatioClassifier("polynomial").fit(pd.DataFrame(X, columns=["u", "v"]), y)
    assert named.feature_names_ == ("u", "v", "u^2", "v^2")
    with pytest.raises(pre.DataError, match="y: Only binary classification is supported; y has one class"):
        pre.RatioClassifier().fit(X, np.ones(300))


#: what scikit-learn's own checks ask beyond what a two-sample fit promises
NOT_PROMISED = {
    "check_n_features_in_after_fitting": "the message about a wrong number of columns has other words",
    "check_fit2d_predict1d": "a vector is one column here",
    "check_fit1d": "a vector is one column here",
    "check_dtype_object": "the message about objects has other words",
    "check_estimators_empty_data_messages": "the message about empty data has other words",
    "check_estimators_nan_inf": "the message names the entry instead of 'NaN or inf'",
    "check_sample_weight_equivalence_on_dense_data": "an automatic radius and the share of p rows depend on n",
    "check_sample_weight_equivalence_on_sparse_data": "the same; only scikit-learn 1.6 asks where sparse is not taken",
}


@pytest.mark.filterwarnings("ignore")
def test_scikit_learns_own_checks():
    from sklearn.utils.estimator_checks import check_estimator

    results = check_estimator(pre.RatioClassifier(radius="auto"), on_fail=None, on_skip=None)
    failed = {r["check_name"] for r in results if r["status"] == "failed"}
    assert failed <= set(NOT_PROMISED)
    assert sum(r["status"] == "passed" for r in results) >= 50


def test_the_automatic_radius_falls_with_the_root_of_n():
    radii = []
    for n in (500, 8000):
        x_p, x_q, l_p, l_q, _ = gaussian(n, 0)
        radii.append(pre.PosteriorRatio(radius="auto").fit(x_p, x_q, l_p, l_q).radius_)
    assert radii[0] / radii[1] == pytest.approx(4.0, rel=0.15)


def test_the_automatic_radius_covers_the_residual_at_the_truth():
    inside = 0
    for seed in range(200):
        x_p, x_q, l_p, l_q, delta = gaussian(300, seed)
        problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q)
        inside += np.linalg.norm(problem.gradient(delta)) <= automatic_radius(problem, alpha=0.2).radius
    assert 0.72 <= inside / 200 <= 0.88


def test_the_automatic_radius_reaches_a_target_outside_the_hull():
    x_p, x_q, *_ = samples(100)
    fit = pre.KLIEP(radius="auto").fit(x_p + 6.0, x_q)
    assert fit.radius_choice_.raised
    assert fit.solution_.status.ok
    assert any("outside the hull" in text for text in fit.diagnostics().warnings)


def sparse_fit(seed):
    rng = np.random.default_rng(seed)
    delta = np.zeros(50)
    delta[[3, 17, 40]] = [0.8, -0.7, 0.6]
    x_q, x_p = rng.normal(size=(1000, 50)), rng.normal(size=(1000, 50)) + delta
    return pre.KLIEP(norm=np.inf, radius="cv").fit(x_p, x_q)


def test_cross_validation_with_the_one_standard_error_rule_finds_the_features_that_matter():
    good = 0
    for seed in range(10):
        found = set(np.flatnonzero(sparse_fit(seed).delta_))
        good += {3, 17, 40} <= found and len(found) <= 5
    assert good >= 9


def test_cross_validation_keeps_its_path():
    choice = sparse_fit(0).radius_choice_
    assert choice.radius >= choice.best
    assert choice.mean.shape == choice.radii.shape == choice.std_error.shape
    assert np.all(np.diff(choice.radii) < 0.0)


def bimodal(seed, n=300):
    rng = np.random.default_rng(seed)
    x_q = 1.5 * rng.normal(size=(2 * n, 1))
    return np.concatenate([rng.normal(-2, 0.5, (n, 1)), rng.normal(2, 0.5, (n, 1))]), x_q


def test_a_kernel_beats_linear_features_on_a_bimodal_ratio():
    x_p, x_q = bimodal(0)
    held_p, held_q = bimodal(1)
    scores = {f: pre.KLIEP(f, radius="auto").fit(x_p, x_q).score(held_p, held_q) for f in ("linear", "kernel")}
    assert scores["kernel"] > scores["linear"] + 0.2


@pytest.mark.parametrize(("kind", "n"), [("rbf", 150), ("laplacian", 40), ("polynomial", 150)])
def test_a_kernel_fit_is_the_dual_on_the_gram_matrix(kind, n):
    x_p, x_q = bimodal(2, n)
    kernel = pre.Kernel(kind, length_scale=1.0 if kind != "polynomial" else 3.0)
    R = 0.1
    fit = pre.KLIEP(kernel, radius=R).fit(x_p, x_q)
    K_qq, K_pq, K_pp = kernel.gram(x_q, x_q), kernel.gram(x_p, x_q), kernel.gram(x_p, x_p)
    joint = np.block([[K_qq, K_pq.T], [K_pq, K_pp]])
    values, vectors = np.linalg.eigh(joint)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T  # joint = root' root
    n = len(x_q)  # 300 in two of the cases
    mu = cp.Variable(n)
    residual = root[:, n:].mean(axis=1) - root[:, :n] @ mu
    dual = cp.Problem(
        cp.Maximize(cp.sum(cp.entr(mu)) - np.log(n) * cp.sum(mu)), [cp.sum(mu) == 1, cp.norm(residual) <= R]
    )
    dual.solve(solver="CLARABEL")
    assert -fit.divergence_ == pytest.approx(dual.value, abs=1e-6)
    np.testing.assert_allclose(fit.mu_, mu.value, atol=1e-5)


def test_a_kernel_needs_a_radius_and_says_why():
    x_p, x_q = bimodal(0, 30)
    with pytest.raises(
        pre.DataError, match="radius: a kernel needs a positive radius; it has as many features as points"
    ):
        pre.KLIEP("kernel").fit(x_p, x_q)


def test_the_length_scale_is_cross_validated():
    x_p, x_q = bimodal(0, 100)
    held_p, held_q = bimodal(1)
    chosen = pre.KLIEP(pre.Kernel(length_scale="cv"), radius="auto").fit(x_p, x_q)
    wide = pre.KLIEP(pre.Kernel(length_scale=50.0), radius="auto").fit(x_p, x_q)
    assert chosen.features_.length_scale < 5.0
    assert chosen.score(held_p, held_q) > wide.score(held_p, held_q)


def test_landmarks_come_close_to_the_exact_kernel():
    x_p, x_q = bimodal(0)
    exact = pre.KLIEP(pre.Kernel(length_scale=1.0), radius=0.05).fit(x_p, x_q)
    few = pre.KLIEP(pre.Kernel(length_scale=1.0, landmarks=12), radius=0.05).fit(x_p, x_q)
    assert len(few.delta_) == 12
    assert few.divergence_ == pytest.approx(exact.divergence_, abs=0.02)
    many = np.random.default_rng(0).normal(size=(6000, 1))
    assert len(pre.KLIEP(pre.Kernel(), radius=0.1).fit(many[:3000] + 0.5, many[3000:]).delta_) <= 500


def test_pivoted_cholesky_and_the_median_heuristic():
    x = np.random.default_rng(0).normal(size=(200, 2))
    kernel = pre.Kernel(length_scale=1.0)
    K = kernel.gram(x, x)
    pivots, L = pivoted_cholesky(np.ones(200), lambda i: K[i], 1e-10, 200)
    assert np.trace(K - L @ L.T) <= 1e-10 * 200 * 1.01
    assert len(set(pivots)) == len(pivots) < 200
    distances = np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1))
    assert median_length_scale(x) == pytest.approx(np.median(distances[np.triu_indices(200, 1)]))


def test_frames_in_names_out_and_reordered_columns_at_prediction():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x_p, x_q, *_ = samples(100)
    for frame in (pd.DataFrame, pl.DataFrame):
        p, q = ({"age": x[:, 0], "dose": x[:, 1]} for x in (x_p, x_q))
        fit = pre.KLIEP().fit(frame(p), frame(q))
        assert list(fit.feature_names_in_) == ["age", "dose"]
        turned = frame({"dose": q["dose"], "age": q["age"]})
        np.testing.assert_array_equal(fit.log_ratio(turned), fit.log_ratio(x_q))
        with pytest.raises(pre.DataError, match="x: lacks the columns dose of the fit"):
            fit.log_ratio(frame({"age": q["age"]}))
    numbered = pre.KLIEP().fit(pd.DataFrame(x_p), pd.DataFrame(x_q[:, ::-1], columns=[1, 0]))
    np.testing.assert_allclose(numbered.delta_, fit.delta_, atol=1e-12)
    assert list(fit.to_frame("polars")["feature"]) == ["age", "dose"]
    assert list(fit.to_frame()["feature"]) == ["age", "dose"]


def test_the_summary_says_it_all():
    x_p, x_q, l_p, l_q = samples()
    report = pre.PosteriorRatio("polynomial").fit(x_p, x_q, l_p, l_q).summary()
    text = str(report)
    for part in ("coef", "std err", "P>|z|", "x1^2", "divergence", "Wald chi2(4)", "gap", "ESS", "newton"):
        assert part in text
    assert report._repr_html_().count("<tr>") == 5 + len(report.notes)
    assert report.to_latex().startswith(r"\begin{tabular}{lrrrrrr}")
    assert r"x1\^{}2" in report.to_latex()


def test_a_summary_shows_coefficients_whatever_the_units():
    x_p, x_q, *_ = samples()
    pounds = np.array([1.0, 2e4])
    fit, rich = pre.KLIEP().fit(x_p, x_q), pre.KLIEP().fit(x_p * pounds, x_q * pounds)
    for report in (fit.summary(), rich.summary(), pre.KLIEP(radius=0.01).fit(x_p * pounds, x_q * pounds).summary()):
        for row, line in zip(report.values, str(report).splitlines()[4:6], strict=True):
            shown = np.array(line.split()[1:], dtype=float)
            places = [0, 1, 4, 5] if len(shown) > 1 else [0]
            np.testing.assert_allclose(shown[places], row[places], rtol=0.01, atol=0.01 * np.abs(row[:2]).max())


def test_the_divergence_of_a_sample_from_itself_is_zero_without_a_sign():
    _, x, *_ = samples()
    for radius in (0.0, 1e3):
        assert dict(pre.KLIEP(radius=radius).fit(x, x).summary().notes)["divergence"].split(",")[0] == "0"


def test_warnings_come_in_plain_words():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    sharp = pre.Gaussian([0.3, 0.1], precision=500.0)
    fit = pre.PosteriorRatio().fit(x_p, x_q, sharp, None)
    notes = fit.diagnostics().warnings
    assert any(n.startswith("ESS of the p side is ") and "sharper than the prior sample" in n for n in notes)
    doubled = np.column_stack([x_q, x_q[:, 0]])
    free = pre.KLIEP().fit(doubled + [0.1, 0.1, 0.1], doubled).diagnostics()
    assert free.free_directions == 1
    assert any("free direction" in n for n in free.warnings)
    calm = pre.KLIEP().fit(x_p, x_q).diagnostics()
    assert calm.warnings == ()
    assert calm.ess_p == pytest.approx(500)
    assert np.abs(calm.balance_after).max() < 1e-8


def test_collinear_features_are_told_unless_a_radius_shares_their_weight():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
    p, q = (np.hstack([x, x + 1e-5 * rng.normal(size=x.shape)]) for x in (x_p, x_q))

    def told(**settings):
        warnings = pre.KLIEP(**settings).fit(p, q).diagnostics().warnings
        return any("collinear" in text for text in warnings)

    assert told()
    assert told(radius=0.1, norm=np.inf)
    assert not told(radius=0.1)


def test_a_summary_says_which_extra_the_tails_need(monkeypatch):
    x = np.random.default_rng(0).normal(size=(100, 1))
    fit = pre.KLIEP().fit(x + 0.2, x)
    assert "weights" in dict(fit.summary().notes)["Pareto k"]
    for module in ("arviz_stats", "arviz_stats.base"):  # as if it were not installed
        monkeypatch.setitem(sys.modules, module, None)
    fit = pre.KLIEP().fit(x + 0.2, x)
    assert np.isnan(fit.diagnostics().pareto_k_mu)
    assert "pre_convex[diagnostics]" in dict(fit.summary().notes)["Pareto k"]


def test_pareto_k_knows_heavy_tails():
    pytest.importorskip("arviz_stats")
    from pre_convex.diagnostics import pareto_k

    rng = np.random.default_rng(0)
    assert pareto_k(np.log(rng.uniform(size=3000))) < 0.3
    assert pareto_k(np.log(rng.pareto(1.0, size=3000))) == pytest.approx(1.0, abs=0.25)


def test_bootstrap_is_reproducible_and_agrees_with_the_formula():
    x_p, x_q, l_p, l_q = samples(200)
    fit = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
    resampled = fit.bootstrap(150, rng=1)
    np.testing.assert_array_equal(resampled, fit.bootstrap(150, rng=1, jobs=2))
    np.testing.assert_allclose(resampled.std(axis=0), fit.conf_int().std_error, rtol=0.25)
    with pytest.raises(pre.DataError, match="replicates"):
        fit.bootstrap(1)


def test_files_hold_the_fit_and_no_code(tmp_path):
    x_p, x_q, l_p, l_q = samples(100)
    fit = pre.PosteriorRatio("polynomial", norm=np.inf, radius=0.05, solver="CLARABEL").fit(x_p, x_q, l_p, l_q)
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert str(copy.summary()) == str(fit.summary())
    assert copy.get_params()["norm"] == np.inf
    assert list(tmp_path.iterdir()) == [tmp_path / "fit.npz"]
    labelled = pre.RatioClassifier().fit(np.concatenate([x_p, x_q]), np.repeat([1, 0], 100))
    twin = pre.load(pre.save(labelled, tmp_path / "classifier.npz"))
    np.testing.assert_array_equal(twin.predict_proba(x_q), labelled.predict_proba(x_q))


def test_a_plugin_with_gaussian_likelihoods_is_written_too(tmp_path):
    x_p, x_q, *_ = samples(60)
    likelihood = pre.Gaussian([0.2, 0.1], covariance=[[1.0, 0.3], [0.3, 2.0]])
    fit = pre.PluginRatio().fit(x_p, x_q, likelihood, None)
    copy = pre.load(pre.save(fit, tmp_path / "plugin.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert copy.divergence_ == fit.divergence_


def test_a_loaded_kernel_refits_with_landmarks_of_its_own(tmp_path):
    x_p, x_q = bimodal(0, 40)
    fit = pre.KLIEP("kernel", radius="cv", cv=3).fit(x_p, x_q)
    copy = pre.load(pre.save(fit, tmp_path / "kernel.npz"))
    np.testing.assert_array_equal(copy.radius_choice_.mean, fit.radius_choice_.mean)
    again = clone(copy).fit(x_p + 50.0, x_q + 50.0)
    assert again.features_.points.min() > 40.0


def test_estimators_refuse_what_would_be_wrong():
    x_p, x_q, *_ = samples(60)
    refusals = {
        "radius: 'auto' and 'cv' know nothing": pre.KLIEP(radius="cv", penalty=lambda d: cp.norm1(d)),
        "norm: a kernel's features": pre.KLIEP("kernel", radius=0.1, norm=np.inf),
        "random_state: -1": pre.KLIEP(random_state=-1),
        "radius: None is not a number": pre.KLIEP(radius=None),
        "radius: 'big' is not known": pre.KLIEP(radius="big"),
        "radius: a kernel needs a positive radius": pre.KLIEP(pre.Linear() + pre.Kernel()),
    }
    for message, estimator in refusals.items():
        with pytest.raises(pre.DataError, match=message):
            estimator.fit(x_p, x_q)
    for call in (
        lambda: pre.Kernel(landmarks=0),
        lambda: pre.Kernel(degree=0),
        lambda: pre.Kernel(length_scale=np.inf),
    ):
        with pytest.raises(pre.DataError):
            call()


def test_the_divergence_is_that_of_the_weights():
    x_p, x_q, l_p, l_q = samples()
    penalised = pre.KLIEP(penalty=lambda d: 5 * cp.sum_squares(d)).fit(x_p, x_q)
    kl = np.sum(penalised.mu_ * np.log(penalised.mu_ * len(x_q)))
    assert penalised.divergence_ == pytest.approx(kl, abs=1e-8)
    plugin = pre.PluginRatio().fit(x_p, x_q, l_p, l_q)
    assert f"divergence   {plugin.divergence_:.6g}" in str(plugin.summary())
    same = np.random.default_rng(5).normal(size=(400, 2))
    null = pre.KLIEP().fit(same[:200], same[200:])
    assert null.divergence_p_value() > 0.05
    assert "not told apart from zero" in str(null.summary())
    assert null.in_region([0.0, 0.0])


def test_files_that_are_no_fits(tmp_path):
    bad = tmp_path / "bad.npz"
    bad.write_bytes(b"not a file of ours")
    with pytest.raises(pre.DataError, match="is not a fit that this package wrote"):
        pre.load(bad)
    np.savez(bad, header=np.array([object()], dtype=object))
    with pytest.raises(pre.DataError, match="is not a fit that this package wrote"):
        pre.load(bad)  # a pickled object inside is refused, not run
    np.savez_compressed(bad, header=np.zeros(10**6))
    with pytest.raises(pre.DataError, match=r"not a fit that this package wrote \(its parts are compressed"):
        pre.load(bad)  # a small file that would fill the memory is not unpacked
    with pytest.raises(pre.DataError, match="path: cannot read"):
        pre.load(tmp_path / "absent.npz")
    x_p, x_q, *_ = samples(50)
    fit = pre.KLIEP().fit(x_p, x_q)
    with pytest.raises(pre.DataError, match="path: cannot write"):
        pre.save(fit, tmp_path / "no" / "folder.npz")
    with pytest.raises(pre.DataError, match="its log_lik_p is a function and cannot be written"):
        pre.save(pre.PluginRatio().fit(x_p, x_q, lambda x: x[:, 0]), bad)
    with pytest.raises(pre.DataError, match="functions and cannot be written"):
        pre.save(pre.KLIEP(penalty=lambda d: cp.norm1(d)).fit(x_p, x_q), bad)


def test_theory_orders_its_numbers():
    rng = np.random.default_rng(0)
    problem = pre.RatioProblem.from_samples(
        rng.normal(size=(500, 2)), rng.normal(size=(500, 2)), pre.Gaussian([0.0, 0.0]), pre.Gaussian([0.0, 0.0])
    )
    found = pre.conditions(problem, [0.0, 0.0], 10 / np.sqrt(500))
    assert found.weyl <= found.eigenvalue_in_ball <= found.eigenvalue
    grid = np.linspace(-1, 1, 41) * found.radius
    values = [
        np.linalg.eigvalsh(problem.hessian([u, v]))[0] for u in grid for v in grid if np.hypot(u, v) <= found.radius
    ]
    assert found.eigenvalue_in_ball == pytest.approx(min(values), rel=0.01)
    assert found.n == 500
    assert found.holds(1.5) == (found.ratio <= 10 / 1.5)
