"""Estimators with other divergences, bounds on the ratio, and one radius for each feature."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import pre_convex as pre

pytestmark = pytest.mark.filterwarnings(
    "ignore::pre_convex.PreConvexWarning"
)  # the ratio of reverse KL has a heavy tail

MEMBERS = {
    "chi2": {"divergence": "chi2"},
    "reverse-kl": {"divergence": "reverse-kl"},
    "bounded": {"bounds": (0.2, 3.0)},
    "bounded chi2": {"divergence": "chi2", "bounds": (0.1, 2.5)},
    "largest weight": {"max_weight": 0.01},
    "radius by name": {"radius": {"x0": 0.1, ...: 0.02}},
    "radius as an array": {"radius": [0.1, np.inf], "divergence": "chi2"},
}


def samples(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(0.6, 1.0, (300, 2)), rng.normal(0.0, 1.0, (400, 2))


@pytest.fixture(params=MEMBERS, scope="module")
def fit(request):
    return pre.PosteriorRatio(**MEMBERS[request.param]).fit(*samples())


def test_the_ratio_on_the_q_rows_is_weights_over_base_weights(fit):
    _, x_q = samples()
    assert fit.solution_.status.ok
    np.testing.assert_allclose(fit.ratio(x_q) / 400, fit.mu_, rtol=1e-9, atol=1e-15)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(fit.log_ratio(x_q), np.log(400 * fit.mu_), rtol=1e-9, atol=1e-9)


def test_moments_are_matched_to_the_radius(fit):
    residual = np.abs(fit.problem_.residual(fit.mu_))
    assert np.all(residual <= np.asarray(fit.radius_) + 1e-6)  # the gap of 1e-8 bounds its square


def test_the_score_on_the_training_data_is_the_divergence_without_the_penalty(fit):
    penalty = fit.problem_.penalty_value(fit.solution_.delta)
    assert fit.score(*samples()) == pytest.approx(fit.divergence_ + penalty, rel=1e-9)


def test_intervals_are_shown_or_the_summary_says_why(fit):
    summary = str(fit.summary())
    if "not shown" not in summary:
        assert fit.problem_.exact
        assert np.all(fit.conf_int().std_error > 0.0)
    else:
        with pytest.raises(pre.DataError) as error:
            fit.inference()
        assert error.value.argument == ("bounds" if fit.problem_.exact else "radius")
        assert f"not shown: {error.value.reason}" in summary
    assert fit.diagnostics().ess_mu == pytest.approx(1.0 / np.square(fit.mu_).sum())


def test_a_file_brings_back_the_fit(fit, tmp_path):
    x_p, x_q = samples()
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    np.testing.assert_array_equal(copy.ratio(x_p), fit.ratio(x_p))
    np.testing.assert_array_equal(copy.mu_, fit.mu_)
    np.testing.assert_array_equal(copy.radius_, fit.radius_)
    assert copy.solution_.status is fit.solution_.status
    assert copy.problem_.divergence == fit.problem_.divergence
    for one, two in zip(copy.problem_.bounds, fit.problem_.bounds, strict=True):
        np.testing.assert_array_equal(one, two)
    assert str(copy.summary()) == str(fit.summary())
    np.testing.assert_array_equal(clone(copy).fit(x_p, x_q).mu_, fit.mu_)


def test_files_of_lsif_and_of_bounds_for_each_row(tmp_path):
    x_p, x_q = samples()
    for fit in (
        pre.LSIF(bounds=(0.0, 3.0)).fit(x_p, x_q),
        pre.KLIEP(bounds=(np.linspace(0.0, 0.3, 400), np.inf)).fit(x_p, x_q),
        pre.RatioClassifier(divergence="reverse-kl").fit(np.vstack([x_p, x_q]), np.repeat([1, 0], [300, 400])),
    ):
        copy = pre.load(pre.save(fit, tmp_path / "fit.npz", overwrite=True))
        assert type(copy) is type(fit)
        np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
        np.testing.assert_array_equal(copy.mu_, fit.mu_)


def test_parameters_survive_a_clone(fit):
    copy = clone(fit).fit(*samples())
    np.testing.assert_array_equal(copy.mu_, fit.mu_)


def test_a_ratio_of_chi2_is_a_line_clipped_at_zero():
    fit = pre.LSIF().fit(*samples())
    x = np.array([[-5.0, -5.0], [0.0, 0.0], [1.0, 1.0], [2.0, 2.0]])
    r = fit.ratio(x)
    assert r[0] == 0.0
    assert fit.log_ratio(x)[0] == -np.inf
    assert r[3] - r[2] == pytest.approx(r[2] - r[1], rel=1e-12)
    assert clone(fit).get_params() == fit.get_params()
    assert "divergence" not in fit.get_params()
    np.testing.assert_array_equal(pre.KLIEP(divergence="chi2").fit(*samples()).mu_, fit.mu_)


def test_new_points_are_clipped_to_the_bounds():
    for bounds in ((0.2, 4.0), (np.full(400, 0.2), np.linspace(3.0, 4.0, 400))):
        r = pre.PosteriorRatio(bounds=bounds).fit(*samples()).ratio([[-9.0, -9.0], [9.0, 9.0]])
        assert r.tolist() == [0.2, 4.0]


def test_a_classifier_takes_divergences_and_bounds():
    x_p, x_q = samples()
    X, y = pd.DataFrame(np.concatenate([x_p, x_q]), columns=["a", "b"]), np.repeat([1, 0], [300, 400])
    model = pre.RatioClassifier(divergence="chi2", bounds=(0.1, 4.0), radius={"a": 0.05}).fit(X, y)
    odds = model.ratio(X) * 300 / 400
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], odds / (1.0 + odds), rtol=1e-9)
    assert model.score(X, y) > 0.0


def test_a_plug_in_is_for_kl_without_bounds():
    with pytest.raises(pre.DataError, match="PluginRatio"):
        pre.PluginRatio(divergence="chi2").fit(*samples())
