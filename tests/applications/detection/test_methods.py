"""Every scoring method against the estimator or a formula written out."""

import cvxpy as cp
import numpy as np
import pytest
from sequences import FEATURES, make_priors, make_windows

import pre_convex as pre
from pre_convex.applications.detection import Detector, score, scores
from pre_convex.applications.detection.kernel_density import fit_kernel_density

pytestmark = pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")  # few rows on purpose


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.02, 2), (0.02, np.inf), (0.02, 1)])
def test_pre_scores_are_those_of_the_estimator(radius, norm):
    p, q = make_priors()
    Y_p, Y_q = make_windows(3, 0.6), make_windows(3, -0.5, 2)
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, radius=radius, norm=norm)
    for w in range(3):
        fit = pre.PosteriorRatio(FEATURES, radius=radius, norm=norm, standardise=False)
        fit.fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)
        np.testing.assert_allclose(found.delta[w], fit.delta_, atol=1e-4)
        diagnostics = fit.diagnostics()
        np.testing.assert_allclose([found.ess_p[w], found.ess_q[w]], [diagnostics.ess_p, diagnostics.ess_base])
        assert found.status[w].ok
        one = score(Y_p[w], Y_q[w], p, q, noise=1.5, features=FEATURES, radius=radius, norm=norm)
        np.testing.assert_allclose(one.score, found.scores[w], atol=1e-9)
        assert one.names == ("acf1", "acf2")


def test_a_penalty_gives_the_divergence_of_the_penalised_estimator():
    p, q = make_priors()
    Y_p, Y_q = make_windows(2, 0.6), make_windows(2, -0.5, 2)
    penalty = lambda delta: 0.05 * cp.sum_squares(delta)  # noqa: E731
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, penalty=penalty, warn=False)
    for w in range(2):
        fit = pre.PosteriorRatio(FEATURES, penalty=penalty)
        fit.fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)
    plain = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    assert np.all(found.scores < plain.scores)


@pytest.mark.parametrize("penalty", [None, lambda delta: 0.05 * cp.sum_squares(delta)])
def test_pre_prior_compares_y_q_with_the_prior_and_ignores_y_p(penalty):
    p, q = make_priors()
    Y_p, Y_q = make_windows(2, 0.6), make_windows(2, -0.5, 2)
    detector = Detector(p, q, noise=1.5, features=FEATURES, penalty=penalty, method="pre-prior")
    found = detector.scores(Y_p, Y_q, warn=False)
    for w in range(2):
        fit = pre.PosteriorRatio(FEATURES, penalty=penalty).fit(p, q, None, pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)
    np.testing.assert_array_equal(found.ess_p, len(p))
    np.testing.assert_array_equal(detector.scores(Y_q, Y_q, warn=False).scores, found.scores)


def by_channel(x):
    return np.concatenate([FEATURES(x[:, :, c]) for c in (0, 1)], axis=1)


@pytest.mark.parametrize("features", [FEATURES, by_channel])
def test_channels_have_their_own_noise_and_features(features):
    (p0, q0), (p1, q1) = make_priors(), make_priors(seed=5)
    p, q = np.stack([p0, p1], axis=2), np.stack([q0, q1], axis=2)
    Y_p = np.stack([make_windows(2, 0.6), make_windows(2, 0.6, 3)], axis=2)
    Y_q = np.stack([make_windows(2, -0.5, 4), make_windows(2, -0.5, 5)], axis=2)
    found = scores(Y_p, Y_q, p, q, noise=[1.5, 3.0], features=features, warn=False)
    for w in range(2):
        log_lik = [
            sum(-0.5 * np.square((x[:, :, c] - Y[w, :, c]) / s).sum(axis=1) for c, s in enumerate((1.5, 3.0)))
            for x, Y in ((p, Y_p), (q, Y_q))
        ]
        fit = pre.PosteriorRatio(lambda x: np.concatenate([FEATURES(x[:, ::2]), FEATURES(x[:, 1::2])], axis=1))
        fit.fit(p.reshape(len(p), -1), q.reshape(len(q), -1), *log_lik)
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)


def test_standardised_features_change_delta_but_not_the_score_without_a_radius():
    p, q = make_priors()
    Y_p, Y_q = make_windows(3, 0.6), make_windows(3, -0.5, 2)
    raw = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    scaled = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, standardise=True)
    np.testing.assert_allclose(scaled.scores, raw.scores, atol=1e-7)
    np.testing.assert_allclose(scaled.delta / FEATURES(q).std(axis=0), raw.delta, atol=1e-3)


def test_autocorrelation_energy_and_ar_are_distances():
    p, q = make_priors()
    Y_p, Y_q = make_windows(4, 0.6), make_windows(4, -0.5, 2)
    detector = Detector(p, q, noise=1.0, features=FEATURES, method="autocorrelation", order=3)
    acf = pre.Autocorrelation(3)
    np.testing.assert_allclose(detector.scores(Y_p, Y_q).scores, np.linalg.norm(acf(Y_p) - acf(Y_q), axis=1))
    power = np.abs(np.square(Y_p).mean(axis=1) - np.square(Y_q).mean(axis=1))
    np.testing.assert_allclose(detector.using("energy").scores(Y_p, Y_q).scores, power)
    for method in ("autocorrelation", "energy", "ar"):
        np.testing.assert_allclose(detector.using(method).scores(Y_p, Y_p).scores, 0.0, atol=1e-12)
        forward, backward = (detector.using(method).scores(*pair).scores for pair in ((Y_p, Y_q), (Y_q, Y_p)))
        np.testing.assert_allclose(forward, backward)


def test_plugin_scores_are_those_of_the_plugin_estimator():
    p, q = make_priors()
    Y_p, Y_q = make_windows(2, 0.6), make_windows(2, -0.5, 2)
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, method="plugin")
    for w in range(2):
        fit = pre.PluginRatio(FEATURES).fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, rtol=1e-6)


def test_kde_scores_use_leave_one_out_kernel_densities():
    p, q = make_priors(300)
    y_p, y_q = make_windows(1, 0.6), make_windows(1, -0.5, 2)
    found = score(y_p[0], y_q[0], p, q, noise=1.5, features=FEATURES, method="kde")
    F_p, F_q = FEATURES(p), FEATURES(q)
    d_p, d_q = fit_kernel_density(F_p), fit_kernel_density(F_q)
    l_p, l_q = (lambda x, y=y: -0.5 * np.square(x - y).sum(axis=1) / 1.5**2 for y in (y_p, y_q))
    g_p = d_p.log(F_p, leave_one_out=True) - d_q.log(F_p) + l_p(p) - l_q(p)
    g_q = d_p.log(F_q) - d_q.log(F_q, leave_one_out=True) + l_p(q) - l_q(q)
    w, a = np.exp(l_p(p)), np.exp(l_q(q))
    np.testing.assert_allclose(found.score, w @ g_p / w.sum() - np.log(a @ np.exp(g_q) / a.sum()), rtol=1e-8)


def test_evidence_is_a_log_bayes_factor():
    p, q = make_priors(300)
    Y = make_windows(3, -0.5)
    found = scores(Y, Y, p, q, noise=1.5, features=FEATURES, method="evidence")
    likelihood = [np.exp(-0.5 * np.square(x[None] - Y[:, None]).sum(axis=2) / 1.5**2).mean(axis=1) for x in (p, q)]
    np.testing.assert_allclose(found.scores, np.log(likelihood[1] / likelihood[0]), rtol=1e-9)


def test_sst_detects_another_tone_but_not_another_phase():
    t = np.arange(60.0)
    tone, other = np.sin(0.4 * t), np.sin(1.1 * t)
    detector = Detector(*make_priors(20, window=60), noise=1.0, features=FEATURES, method="sst", order=2)
    same, new = detector.scores([tone, tone], [np.sin(0.4 * t + 1.0), other]).scores
    assert same < 1e-20  # a tone spans two dimensions, whatever its phase
    segments = np.lib.stride_tricks.sliding_window_view(other, 30)
    assert 0.5 * np.square(segments).mean() < new <= np.square(segments).mean()
