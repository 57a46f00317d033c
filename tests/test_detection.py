"""Detection: scores against the estimator and brute force, calibration by simulation, warnings, files and command."""

import csv
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from scipy.io import wavfile
from scipy.linalg import toeplitz
from scipy.stats import gaussian_kde, ks_2samp, multivariate_normal

import pre_convex as pre
from pre_convex.applications import detection
from pre_convex.applications.detection import Background, DetectionWarning, Detector, cautions, scan, score, scores
from pre_convex.applications.detection.autoregression import ar_coefficients
from pre_convex.applications.detection.densities import fit_density
from pre_convex.applications.detection.observation import make_observation
from pre_convex.applications.detection.recordings import read_prior, read_recording
from pre_convex.applications.detection.windows import Shape
from pre_convex.plots import plot_scan
from pre_convex.solution import Status

FEATURES = pre.Autocorrelation(2)


def sequences(alpha, rng, window=12, sd=1.0):
    """AR(1) sequences, one for each α, after they have forgotten their start."""
    x = np.zeros((len(alpha), 20 + window))
    for t in range(1, x.shape[1]):
        x[:, t] = alpha * x[:, t - 1] + sd * rng.normal(size=len(alpha))
    return x[:, 20:]


def priors(n=600, seed=0, window=12):
    rng = np.random.default_rng(seed)
    return sequences(rng.normal(0.6, 0.1, n), rng, window), sequences(rng.uniform(-0.8, 0.8, n), rng, window)


def windows(count, alpha, seed=1, noise=1.5):
    rng = np.random.default_rng(seed)
    x = sequences(np.full(count, alpha), rng)
    return x + noise * rng.normal(size=x.shape)


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.02, 2), (0.02, np.inf), (0.02, 1)])
def test_the_score_is_that_of_the_estimator(radius, norm):
    p, q = priors()
    Y_p, Y_q = windows(3, 0.6), windows(3, -0.5, 2)
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, radius=radius, norm=norm)
    for w in range(3):
        fit = pre.PosteriorRatio(FEATURES, radius=radius, norm=norm)
        fit.fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)
        np.testing.assert_allclose(found.delta[w], fit.delta_, atol=1e-4)
        diagnostics = fit.diagnostics()
        np.testing.assert_allclose([found.ess_p[w], found.ess_q[w]], [diagnostics.ess_p, diagnostics.ess_base])
        assert found.status[w].ok
        one = score(Y_p[w], Y_q[w], p, q, noise=1.5, features=FEATURES, radius=radius, norm=norm)
        np.testing.assert_allclose(one.score, found.scores[w], atol=1e-9)
        assert one.names == ("acf1", "acf2")


def test_a_penalty_is_solved_pair_by_pair():
    import cvxpy as cp

    p, q = priors()
    Y_p, Y_q = windows(2, 0.6), windows(2, -0.5, 2)
    penalty = lambda delta: 0.05 * cp.sum_squares(delta)  # noqa: E731
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, penalty=penalty, warn=False)
    for w in range(2):
        fit = pre.PosteriorRatio(FEATURES, penalty=penalty)
        fit.fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)
    plain = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    assert np.all(found.scores < plain.scores)


@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_log_likelihoods_keep_their_digits_far_from_zero(offset):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 6)) + offset, rng.normal(size=(4, 6)) + offset
    noise = make_observation([0.1, 0.3], Shape(3, 2), x)
    found = noise.log_likelihoods(x, noise.rows(x), y)
    sigma = np.tile([0.1, 0.3], 3)
    wanted = -0.5 * np.square((x[None] - y[:, None]) / sigma).sum(axis=2)
    # constants of the windows are left out
    np.testing.assert_allclose(found - found[:, :1], wanted - wanted[:, :1], rtol=1e-6, atol=1e-6)


def test_noise_as_a_function_gives_the_same_scores():
    p, q = priors()
    Y_p, Y_q = windows(5, 0.6), windows(5, -0.5, 2)

    def log_likelihood(x, Y):
        return -0.5 * np.square(x[:, None] - Y[None]).sum(axis=2) / 1.5**2

    own = scores(Y_p, Y_q, p, q, noise=log_likelihood, features=FEATURES)
    plain = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    np.testing.assert_allclose(own.scores, plain.scores, atol=1e-7)


def test_groups_of_pairs_do_not_change_the_answer(monkeypatch):
    p, q = priors()
    Y_p, Y_q = windows(7, 0.6), windows(7, -0.5, 2)
    for method in detection.METHODS:
        detector = Detector(p, q, noise=1.5, features=FEATURES, method=method, order=3)
        whole = detector.scores(Y_p, Y_q, warn=False).scores
        with monkeypatch.context() as patch:
            patch.setattr(detection.detector, "NUMBERS", 2 * len(p))  # two pairs at a time
            parts = detector.scores(Y_p, Y_q, warn=False).scores
        np.testing.assert_allclose(parts, whole, atol=1e-7)


def by_channel(x):
    return np.concatenate([FEATURES(x[:, :, c]) for c in (0, 1)], axis=1)


@pytest.mark.parametrize("features", [FEATURES, by_channel])
def test_channels_have_their_own_noise_and_features(features):
    (p0, q0), (p1, q1) = priors(), priors(seed=5)
    p, q = np.stack([p0, p1], axis=2), np.stack([q0, q1], axis=2)
    Y_p = np.stack([windows(2, 0.6), windows(2, 0.6, 3)], axis=2)
    Y_q = np.stack([windows(2, -0.5, 4), windows(2, -0.5, 5)], axis=2)
    found = scores(Y_p, Y_q, p, q, noise=[1.5, 3.0], features=features, warn=False)
    for w in range(2):
        log_lik = [
            sum(-0.5 * np.square((x[:, :, c] - Y[w, :, c]) / s).sum(axis=1) for c, s in enumerate((1.5, 3.0)))
            for x, Y in ((p, Y_p), (q, Y_q))
        ]
        fit = pre.PosteriorRatio(lambda x: np.concatenate([FEATURES(x[:, ::2]), FEATURES(x[:, 1::2])], axis=1))
        fit.fit(p.reshape(len(p), -1), q.reshape(len(q), -1), *log_lik)
        np.testing.assert_allclose(found.scores[w], fit.divergence_, atol=1e-7)


def test_standardised_features_change_delta_and_not_the_score_without_a_radius():
    p, q = priors()
    Y_p, Y_q = windows(3, 0.6), windows(3, -0.5, 2)
    raw = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, warn=False)
    scaled = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, standardise=True)
    np.testing.assert_allclose(scaled.scores, raw.scores, atol=1e-7)
    np.testing.assert_allclose(scaled.delta / FEATURES(q).std(axis=0), raw.delta, atol=1e-3)


# baselines


def test_autocorrelation_and_energy_are_distances():
    p, q = priors()
    Y_p, Y_q = windows(4, 0.6), windows(4, -0.5, 2)
    detector = Detector(p, q, noise=1.0, features=FEATURES, method="autocorrelation", order=3)
    acf = pre.Autocorrelation(3)
    np.testing.assert_allclose(detector.scores(Y_p, Y_q).scores, np.linalg.norm(acf(Y_p) - acf(Y_q), axis=1))
    power = np.abs(np.square(Y_p).mean(axis=1) - np.square(Y_q).mean(axis=1))
    np.testing.assert_allclose(detector.using("energy").scores(Y_p, Y_q).scores, power)
    for method in ("autocorrelation", "energy", "ar"):
        np.testing.assert_allclose(detector.using(method).scores(Y_p, Y_p).scores, 0.0, atol=1e-12)


def test_the_plugin_score_is_that_of_the_plugin_estimator():
    p, q = priors()
    Y_p, Y_q = windows(2, 0.6), windows(2, -0.5, 2)
    found = scores(Y_p, Y_q, p, q, noise=1.5, features=FEATURES, method="plugin")
    for w in range(2):
        fit = pre.PluginRatio(FEATURES).fit(p, q, pre.Gaussian(Y_p[w], 1.5**-2), pre.Gaussian(Y_q[w], 1.5**-2))
        np.testing.assert_allclose(found.scores[w], fit.divergence_, rtol=1e-6)


def test_kernel_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    F, at = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), rng.normal(size=(20, 3))
    density = fit_density(F)
    np.testing.assert_allclose(density.log(at), gaussian_kde(F.T).logpdf(at.T), rtol=1e-6)
    # without its own kernel a row has the density of the others, kernels of the same shape
    terms = [multivariate_normal(F[j], gaussian_kde(F.T).covariance).pdf(F[7]) for j in range(300) if j != 7]
    np.testing.assert_allclose(density.log(F, own=True)[7], np.log(np.mean(terms)), rtol=1e-6)


def test_the_kde_plugin_uses_those_densities():
    p, q = priors(300)
    y_p, y_q = windows(1, 0.6), windows(1, -0.5, 2)
    found = score(y_p[0], y_q[0], p, q, noise=1.5, features=FEATURES, method="kde")
    F_p, F_q = FEATURES(p), FEATURES(q)
    d_p, d_q = fit_density(F_p), fit_density(F_q)
    l_p, l_q = (lambda x, y=y: -0.5 * np.square(x - y).sum(axis=1) / 1.5**2 for y in (y_p, y_q))
    g_p = d_p.log(F_p, own=True) - d_q.log(F_p) + l_p(p) - l_q(p)
    g_q = d_p.log(F_q) - d_q.log(F_q, own=True) + l_p(q) - l_q(q)
    w, a = np.exp(l_p(p)), np.exp(l_q(q))
    np.testing.assert_allclose(found.score, w @ g_p / w.sum() - np.log(a @ np.exp(g_q) / a.sum()), rtol=1e-8)


def test_evidence_is_the_logarithm_of_a_bayes_factor():
    p, q = priors(300)
    Y = windows(3, -0.5)
    found = scores(Y, Y, p, q, noise=1.5, features=FEATURES, method="evidence")
    likelihood = [np.exp(-0.5 * np.square(x[None] - Y[:, None]).sum(axis=2) / 1.5**2).mean(axis=1) for x in (p, q)]
    np.testing.assert_allclose(found.scores, np.log(likelihood[1] / likelihood[0]), rtol=1e-9)


def minus_two_log_lik(y, phi):
    """Exact Gaussian likelihood of an AR model with its variance maximised out, from the dense covariance."""
    psi = np.zeros(3000)
    psi[0] = 1.0
    for k in range(1, len(psi)):
        past = psi[max(0, k - len(phi)) : k][::-1]
        psi[k] = phi[: len(past)] @ past
    covariance = toeplitz([psi[: len(psi) - lag] @ psi[lag:] for lag in range(len(y))])
    return len(y) * np.log(y @ np.linalg.solve(covariance, y)) + np.linalg.slogdet(covariance)[1]


@pytest.mark.parametrize("order", [1, 2, 5])
def test_ar_coefficients_maximise_the_exact_likelihood(order):
    rng = np.random.default_rng(order)
    y = sequences(np.array([0.7, -0.4, 0.0]), rng, 40)
    phi = ar_coefficients(y, order)
    for row, best in zip(y, phi, strict=True):
        row = row - row.mean()
        value = minus_two_log_lik(row, best)
        for i in range(order):
            for h in (-1e-3, 1e-3):
                other = best.copy()
                other[i] += h
                assert minus_two_log_lik(row, other) > value
        assert value <= minus_two_log_lik(row, np.zeros(order))


def test_ar_coefficients_find_a_known_model_and_bear_odd_windows():
    rng = np.random.default_rng(0)
    y = np.zeros((1, 4000))
    for t in range(2, y.shape[1]):
        y[0, t] = 1.2 * y[0, t - 1] - 0.5 * y[0, t - 2] + rng.normal()
    np.testing.assert_allclose(ar_coefficients(y + 7.0, 3), [[1.2, -0.5, 0.0]], atol=0.05)
    odd = ar_coefficients(np.array([np.full(50, 3.0), np.sin(np.arange(50.0)), np.r_[np.zeros(49), 1.0]]), 20)
    assert np.all(np.isfinite(odd))
    assert not odd[0].any()


def test_sst_finds_a_second_tone_and_not_the_same_one():
    t = np.arange(60.0)
    tone, other = np.sin(0.4 * t), np.sin(1.1 * t)
    detector = Detector(*priors(20, window=60), noise=1.0, features=FEATURES, method="sst", order=2)
    same, new = detector.scores([tone, tone], [np.sin(0.4 * t + 1.0), other]).scores
    assert same < 1e-20  # a tone spans two dimensions, whatever its phase
    pieces = np.lib.stride_tricks.sliding_window_view(other, 30)
    assert 0.5 * np.square(pieces).mean() < new <= np.square(pieces).mean()


# significance


def room(rate, *counts):
    """Three times the spread of a share, of which the windows, the simulation and the prior sample have a part."""
    return 3.0 * np.sqrt(rate * (1.0 - rate) * sum(1.0 / count for count in counts))


def test_threshold_and_p_values_agree():
    rng = np.random.default_rng(0)
    background = Background(rng.integers(0, 30, 99).astype(float))  # with ties
    values = np.r_[rng.uniform(-1.0, 31.0, 200), np.arange(30.0), np.inf]
    p = background.p_values(values)
    assert p.min() == pytest.approx(0.01)
    for rate in (0.01, 0.05, 0.1, 0.5, 0.99):
        np.testing.assert_array_equal(values > background.threshold(rate), p <= rate + 1e-12)
    with pytest.raises(pre.DataError, match="at least 199 replicates"):
        background.threshold(0.005)


@pytest.mark.parametrize("method", ["pre", "evidence", "plugin", "energy"])
def test_false_alarms_come_at_the_chosen_rate(method):
    p, q = priors(2000)
    detector = Detector(p, q, noise=1.5, features=FEATURES, method=method)
    background = detector.background(999, rng=3)
    rng, count, rate = np.random.default_rng(4), 600, 0.1
    fresh = [sequences(rng.normal(0.6, 0.1, count), rng) + 1.5 * rng.normal(size=(count, 12)) for _ in range(2)]
    found = detector.scores(*fresh, background=background, rate=rate, warn=False)
    assert abs(found.alarms.mean() - rate) < room(rate, count, 999, 2000)
    assert ks_2samp(background.scores, found.scores).pvalue > 1e-3
    if method != "energy":  # which hardly differs between the two
        signal = detector.scores(fresh[0], windows(count, -0.9, 9), background=background, rate=rate, warn=False)
        assert signal.alarms.mean() > found.alarms.mean() + 0.1


def test_a_likelihood_wider_than_the_noise_is_calibrated_with_the_noise():
    p, q = priors(2000)
    rng, count, rate = np.random.default_rng(4), 600, 0.1
    fresh = [sequences(rng.normal(0.6, 0.1, count), rng) + 0.3 * rng.normal(size=(count, 12)) for _ in range(2)]
    shares = []
    for draw in (lambda x, rng: x + 0.3 * rng.normal(size=x.shape), None):
        detector = Detector(p, q, noise=2.0, features=FEATURES, draw=draw, method="evidence")
        found = detector.scores(*fresh, background=detector.background(999, rng=3), rate=rate, warn=False)
        shares.append(found.alarms.mean())
    # background with noise 2 is not the one observed
    assert abs(shares[0] - rate) < room(rate, count, 999, 2000) < abs(shares[1] - rate)


def test_drawn_sequences_have_no_part_in_their_own_prior():
    p, q = priors(40)
    detector = Detector(p, q, noise=0.5, features=FEATURES, radius=0.3)
    rng = np.random.default_rng(0)
    Y = p[:2] + 0.5 * rng.normal(size=(2, 12))
    left_out = np.array([[0, 1]])
    found = detector._scorer(Y[:1], Y[1:], left_out)
    rest = score(Y[0], Y[1], p[2:], q, noise=0.5, features=FEATURES, radius=0.3, warn=False)
    np.testing.assert_allclose(found.scores[0], rest.score, atol=1e-7)
    np.testing.assert_allclose(found.ess_p[0], rest.ess_p, rtol=1e-9)


def test_the_background_depends_on_the_seed_alone():
    p, q = priors(200)
    detector = Detector(p, q, noise=1.5, features=FEATURES)
    first, again, other = (detector.background(20, rng=seed).scores for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_reference_has_a_background_of_its_own():
    p, q = priors(1000)
    detector = Detector(p, q, noise=1.5, features=FEATURES)
    rng, count, rate, away = np.random.default_rng(4), 400, 0.1, []
    x = sequences(rng.normal(0.6, 0.1, count + 6), rng)
    y = x + 1.5 * rng.normal(size=x.shape)
    varying = detector.background(499)
    for reference in y[count:]:
        found = detector.scores(np.tile(reference, (count, 1)), y[:count], warn=False, swap=False).scores
        own = detector.background(499, reference=reference)
        away.append([abs(np.mean(found > each.threshold(rate)) - rate) for each in (varying, own)])
    worst = np.max(away, axis=0)
    assert worst[1] < room(rate, count, 499, 1000) < worst[0]
    series = changing_series()
    found = scan(
        series, 12, p, q, noise=1.5, features=FEATURES, step=40, reference=series[:12], replicates=99, warn=False
    )
    assert found.threshold == detector.background(99, reference=series[:12]).threshold()


def test_neighbouring_windows_of_a_slow_process_have_a_background_of_their_own():
    def slow(n, length):
        x = np.empty((n, length))
        x[:, 0] = 1.5 * rng.normal(size=n)
        for t in range(1, length):
            x[:, t] = 0.97 * x[:, t - 1] + 1.5 * np.sqrt(1.0 - 0.97**2) * rng.normal(size=n)
        return x

    rng, rate, count = np.random.default_rng(0), 0.1, 600
    detector = Detector(slow(2000, 8), rng.uniform(-20, 20, (2000, 1)) + slow(2000, 8), noise=1.0, features=level)
    both = slow(count, 16) + rng.normal(size=(count, 16))
    found = detector.scores(both[:, :8], both[:, 8:], warn=False, swap=False).scores
    near, apart = detector.background(999, pairs=slow(1500, 16)), detector.background(999)
    assert abs(np.mean(found > near.threshold(rate)) - rate) < room(rate, count, 999, 2000)
    assert np.mean(found > apart.threshold(rate)) < 0.01


def level(x):
    return x.mean(axis=1)


@pytest.mark.parametrize("channels", [0, 2])
def test_pairs_are_cut_in_two_and_nothing_is_left_out(channels):
    p, q = priors(100)
    if channels:
        p, q = (np.stack([x, x[::-1]], axis=2) for x in (p, q))
    detector = Detector(p, q, noise=1.5, features=FEATURES, radius=0.1, draw=lambda x, rng: x)
    pairs = np.concatenate([p[:30], p[30:60]], axis=1)  # of the prior, which is not known
    wanted = detector.scores(p[:30], p[30:60], warn=False).scores
    np.testing.assert_allclose(detector.background(30, pairs=pairs).scores, np.sort(wanted), atol=1e-7)
    np.testing.assert_allclose(detector.background(60, pairs=pairs).scores[::2], np.sort(wanted), atol=1e-7)


@pytest.mark.parametrize("as_other", [np.copy, np.ndarray.tolist])
def test_equal_priors_are_shared_whatever_object_they_are(as_other):
    p = priors(60)[0]
    wanted = Detector(p, p, noise=0.5, features=FEATURES, method="evidence").background(50).scores
    found = Detector(p, as_other(p), noise=0.5, features=FEATURES, method="evidence").background(50).scores
    # a drawn row that stayed in the other prior would speak for a signal
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_allclose(found, 0.0, atol=1e-9)


def test_a_background_is_refused_where_it_was_not_made_for():
    p, q = priors(100)
    given = {"noise": 1.5, "features": FEATURES}
    detector, series = Detector(p, q, **given), changing_series()
    background = detector.background(39)
    others = [
        detector.using("energy"),
        Detector(p, q, **{**given, "noise": 1.6}),
        Detector(p, q, **given, radius=0.1),
        Detector(p, q, **{**given, "features": pre.Autocorrelation(3)}),
        Detector(p, q, **given, standardise=True),
        Detector(q, p, **given),
        Detector(*priors(100, window=13), **given),
    ]
    for other in others:
        with pytest.raises(pre.DataError, match="background: was made for"):
            other.scan(series, step=40, background=background)
    again = Detector(p.tolist(), q.tolist(), **given).scan(series, step=40, background=background, warn=False)
    by_hand = others[1].scan(series, step=40, background=Background(background.scores), warn=False)
    assert again.threshold == by_hand.threshold == background.threshold()


def test_a_background_for_a_reference_is_refused_elsewhere():
    p, q = priors(100)
    detector, series = Detector(p, q, noise=1.5, features=FEATURES), changing_series()
    fixed, varying = detector.background(39, reference=series[:12]), detector.background(39)
    for reference, background, message in (
        (None, fixed, "for one reference"),
        (series[1:13], fixed, "for one reference"),
        (series[:12], varying, "for many y_p"),
    ):
        with pytest.raises(pre.DataError, match=f"background: was made {message}"):
            detector.scan(series, step=40, reference=reference, background=background)
    with pytest.raises(pre.DataError, match="background: was made for one reference"):
        detector.score(series[1:13], series[:12], background=fixed)
    assert detector.score(series[:12], series[50:62], background=fixed, warn=False).p_value > 0.0
    for background in (varying, Background(varying.scores)):
        detector.scan(series, step=40, background=background, warn=False)
    detector.scan(series, step=40, reference=series[:12], background=Background(fixed.scores), warn=False)


def test_a_likelihood_of_ones_own_needs_draws_of_ones_own():
    p, q = priors(200)
    own = {"noise": lambda x, Y: -np.abs(x[:, None] - Y[None]).sum(axis=2), "features": FEATURES}
    with pytest.raises(pre.DataError, match="draw"):
        Detector(p, q, **own).background(9)
    background = Detector(p, q, **own, draw=lambda x, rng: x + rng.laplace(size=x.shape)).background(9)
    assert np.all(np.isfinite(background.scores))


# warnings


def test_a_flat_likelihood_is_warned_of():
    p, q = priors()
    with pytest.warns(DetectionWarning, match="nearly flat likelihood on the q side"):
        found = scores(windows(4, 0.6), windows(4, -0.5, 2), p, q, noise=200.0, features=FEATURES)
    assert any("on the p side" in sentence for sentence in found.warnings)


def test_a_row_with_all_the_weight_is_warned_of():
    p, q = priors()
    found = scores(p[:3] + 1e-3, q[:3] + 1e-3, p, q, noise=0.01, features=FEATURES, warn=False)
    assert any("one row of prior_p holds nearly all the weight for 3 of 3" in sentence for sentence in found.warnings)
    np.testing.assert_allclose(found.ess_p, 1.0, atol=1e-6)


def test_fewer_effective_rows_than_features_are_warned_of():
    p, q = priors(300)
    found = scores(windows(4, 0.6), windows(4, -0.5, 2), p, q, noise=0.9, features="linear", radius=0.5, warn=False)
    assert 1.5 < np.median(found.ess_q) < 12
    assert any("below the 12 features" in sentence or "one row" in sentence for sentence in found.warnings)


def test_a_target_outside_the_hull_has_an_infinite_score_and_a_minimal_radius():
    rng = np.random.default_rng(0)
    p, q = rng.normal(5.0, 0.1, (50, 3)), rng.normal(0.0, 1.0, (60, 3))
    Y = np.full((2, 3), 2.0)
    with pytest.warns(DetectionWarning, match="target outside the hull of the q features for 2 of 2 pairs"):
        found = scores(Y, Y, p, q, noise=10.0, features="linear")
    assert found.status == (Status.INFEASIBLE, Status.INFEASIBLE)
    assert np.all(np.isposinf(found.scores))
    least = float(found.minimal_radius.max())
    problem = pre.RatioProblem.from_samples(p, q, *(pre.Gaussian(Y[0], 0.01),) * 2)
    assert least == pytest.approx(pre.minimal_radius(problem).radius, rel=1e-6)
    enough = scores(Y, Y, p, q, noise=10.0, features="linear", radius=1.05 * least, warn=False)
    assert np.all(np.isfinite(enough.scores))
    assert all(status.ok for status in enough.status)


def test_a_background_outside_the_hull_leaves_no_alarm_and_says_so():
    rng = np.random.default_rng(0)
    p, q, series = rng.normal(2.5, 1.0, (60, 3)), rng.normal(0.0, 1.0, (60, 3)), rng.normal(2.5, 1.5, 30)
    detector = Detector(p, q, noise=1.0, features="linear")
    background = detector.background(39)
    assert background.threshold() == np.inf
    found = detector.scan(series, step=3, background=background, warn=False)
    assert not found.alarms.any()
    assert found.peaks() == []
    (said,) = [sentence for sentence in found.warnings if "no alarm is possible at rate 0.05" in sentence]
    assert f"a radius above {background.minimal_radius:.4g} gives every background pair a score" in said
    relaxed = Detector(p, q, noise=1.0, features="linear", radius=1.05 * background.minimal_radius).background(39)
    assert np.all(np.isfinite(relaxed.scores))
    assert relaxed.minimal_radius == 0.0
    by_hand = detector.scan(series, step=3, background=Background(background.scores), warn=False)
    assert any("no alarm is possible" in sentence and "radius" not in sentence for sentence in by_hand.warnings)


@pytest.mark.parametrize("side", ["p", "q"])
def test_the_swap_leaves_pairs_outside_the_hull_alone(side):
    rng = np.random.default_rng(0)
    p, q = np.r_[rng.normal(0.0, 0.5, (50, 3)), rng.normal(9.0, 0.5, (50, 3))], rng.normal(0.0, 1.0, (60, 3))
    detector = Detector(p, q, noise=1.0, features="linear")
    Y_p, Y_q = np.tile([[0.1], [9.0]], (20, 3)) + 0.1 * rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    found, solved = detector.scores(Y_p, Y_q, warn=False, swap=False), []
    assert np.isposinf(found.scores).sum() == 20

    def noted(*pairs):
        solved.append(detector._scorer(*pairs))
        return solved[-1]

    assert cautions.influence(noted, found, Y_p, Y_q, side) > 0.0
    assert np.all(np.isfinite(solved[0].scores))
    assert np.isnan(cautions.influence(noted, detector.scores(Y_p[1::2], Y_q[1::2], warn=False), Y_p, Y_q, side))
    assert len(solved) == 1


def test_a_window_without_influence_is_warned_of():
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    q[:, 0] = 0.0

    def first_only(x, Y):  # says nothing about rows of q, whose first entries are all the same
        return -0.5 * np.square(x[:, None, 0] - Y[None, :, 0])

    Y_p, Y_q = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    known = {"noise": first_only, "features": lambda x: x[:, 1] + 0.3 * x[:, 0]}
    with pytest.warns(DetectionWarning):
        found = scores(Y_p, Y_q, p, q, **known)
    assert any("y_q has no influence" in sentence for sentence in found.warnings)
    assert not any("y_p has no influence" in sentence for sentence in found.warnings)
    both = scores(Y_p, Y_q, p, rng.normal(size=(300, 2)), **known, warn=False)
    assert not any("no influence" in sentence for sentence in both.warnings)


# scans


def changing_series(seed=0, length=240, at=120):
    """Background, then another α from ``at`` on."""
    rng = np.random.default_rng(seed)
    x = np.zeros(length)
    for t in range(1, length):
        x[t] = (0.6 if t < at else -0.9) * x[t - 1] + rng.normal()
    return x + 0.3 * rng.normal(size=length)


def test_a_scan_compares_the_window_before_with_the_one_after():
    p, q = priors()
    series = changing_series()
    found = scan(series, 12, p, q, noise=1.5, features=FEATURES, step=5, warn=False)
    np.testing.assert_array_equal(found.times, np.arange(12, 229, 5))
    for w in (0, 20, 43):
        t = found.times[w]
        one = score(series[t - 12 : t], series[t : t + 12], p, q, noise=1.5, features=FEATURES, warn=False)
        np.testing.assert_allclose(found.scores[w], one.score, atol=1e-7)
    fixed = scan(series, 12, p, q, noise=1.5, features=FEATURES, step=5, reference=series[:12], warn=False)
    assert fixed.times[0] == 0
    one = score(series[:12], series[50:62], p, q, noise=1.5, features=FEATURES, warn=False)
    np.testing.assert_allclose(fixed.scores[fixed.times == 50], one.score, atol=1e-7)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_scan_with_a_fixed_reference_raises_alarms_where_the_signal_is(seed):
    p, q = priors(1500)
    series = changing_series(seed)
    found = scan(
        series, 12, p, q, noise=1.0, features=FEATURES, step=4, reference=series[:12],
        method="evidence", replicates=199, rate=0.05, warn=False,
    )  # fmt: skip
    before, after = found.alarms[found.times <= 108], found.alarms[found.times >= 120]
    assert after.mean() > 0.4 > 0.2 > before.mean()
    best = found.peaks(1)[0]
    assert best.time >= 110
    assert best.p_value <= 0.05
    assert found.p_values[best.index] == best.p_value


def test_peaks_are_local_maxima_a_window_apart():
    p, q = priors(300)
    found = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, warn=False)
    peaks = found.peaks()
    heights = [peak.score for peak in peaks]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] == found.scores.max()
    times = sorted(peak.time for peak in peaks)
    assert min(np.diff(times)) >= 12
    assert len(found.peaks(2)) == 2
    level = heights[2]
    assert [peak.score for peak in found.peaks(above=level)] == heights[:2]


def test_peaks_among_infinite_scores_lie_farthest_from_the_hull():
    p, q = priors(60)
    found = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, warn=False)
    scores, radius, places = np.array(found.scores), np.full(len(found), np.nan), np.arange(len(found))
    far = 0.2 + 0.1 * np.cos((places - 30) / 5.0)
    scores[10:100], radius[10:100] = np.inf, far[10:100]
    peaks = replace(found, scores=scores, minimal_radius=radius).peaks()
    assert {peak.index for peak in peaks[:3]} == {30, 61, 93}  # a period of 10π apart
    finite = [np.isfinite(peak.score) for peak in peaks]
    assert finite == sorted(finite)
    assert finite[-1]


def test_a_long_scan_takes_little_memory():
    detector = Detector(*priors(20, window=300), noise=1.0, features=FEATURES, method="energy")
    series = np.random.default_rng(0).normal(size=20_000)
    tracemalloc.start()
    try:
        detector.scan(series)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * 8 * 300 * len(series)  # all windows at once are that much


def test_one_channel_is_a_plain_series():
    p, q = priors(100)
    series = changing_series()
    given = {"noise": 1.5, "features": FEATURES, "step": 40, "warn": False}
    wanted = scan(series, 12, p, q, reference=series[:12], **given)
    for column in (series[:, None], pre_frame(series)):
        found = scan(column, 12, p, q, reference=series[:12, None], **given)
        np.testing.assert_array_equal(found.scores, wanted.scores)
        assert found.series.shape == (240,)
    found = scan(series, 12, p[:, :, None], q[:, :, None], reference=series[:12], **given)
    np.testing.assert_allclose(found.scores, wanted.scores)
    assert found.series.shape == (240, 1)


def pre_frame(series):
    import pandas as pd

    return pd.DataFrame({"v": series})


def test_progress_is_shown_to_those_who_ask(capsys):
    p, q = priors(100)
    silent = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, step=20, warn=False)
    assert capsys.readouterr().out == ""
    shown = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, step=20, warn=False, verbose=True)
    assert "pre" in capsys.readouterr().out
    np.testing.assert_array_equal(shown.scores, silent.scores)


def test_results_as_frames_and_figures():
    p, q = priors(300)
    series = np.column_stack([changing_series(), changing_series(1)])
    both = {"noise": [1.5, 1.5], "features": FEATURES, "warn": False}
    found = scan(series, 12, *(np.stack([x, x[::-1]], axis=2) for x in (p, q)), step=10, replicates=39, **both)
    frame = found.to_frame()
    assert list(frame.columns[:4]) == ["time", "score", "p_value", "status"]
    assert list(frame.columns[-2:]) == ["acf1 of channel 1", "acf2 of channel 1"]
    assert found.to_frame("polars").height == len(found)
    assert found[3].to_frame()["score"][0] == found.scores[3]
    figure = found.plot()
    assert [line.get_label() for line in figure.axes[0].lines[:2]] == ["channel 0", "channel 1"]
    np.testing.assert_allclose(figure.axes[1].lines[0].get_ydata(), found.scores)
    with pytest.raises(ValueError, match="read-only"):
        found.scores[0] = 0.0


@pytest.mark.parametrize(("channels", "last"), [(5, "channel 4"), (6, "channel 5"), (8, "channels 5 to 7")])
def test_the_legend_names_every_channel(channels, last):
    figure = plot_scan(np.zeros((50, channels)), np.arange(10, 40), np.ones(30))
    names = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert names == [*(f"channel {c}" for c in range(min(channels - 1, 5))), last]
    assert len(figure.axes[0].lines) == channels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": 13}, "window: is 13, the prior sequences have 12"),
        ({"step": 0}, "step: 0 is not"),
        ({"noise": -1.0}, "noise: -1.0 must be one positive standard deviation"),
        ({"noise": [1.0, 2.0]}, "noise:"),
        ({"noise": lambda x, Y: np.zeros(3)}, r"noise: returned shape \(3,\)"),
        ({"noise": lambda x, Y: np.full((len(x), len(Y)), -np.inf)}, "noise: every prior row has likelihood zero"),
        ({"series": np.zeros(20)}, "series: has 20 time points, too few"),
        ({"series": np.full(50, np.nan)}, "series: row 0"),
        ({"series": np.zeros((50, 2))}, r"series: has shape \(50, 2\)"),
        ({"prior_q": np.zeros((5, 11))}, "prior_q: has sequences of 11 time points, prior_p"),
        ({"prior_p": np.zeros(5)}, "prior_p: has 1 dimensions"),
        ({"features": "autocorrelation"}, "features: 20 autocorrelations need windows of more than 20"),
        ({"features": "nothing"}, "features: 'nothing' is not known"),
        ({"method": "magic"}, "method: 'magic' is not known; use one of 'pre', 'plugin'"),
        ({"method": "ar"}, "order: so many coefficients need windows of 41"),
        ({"method": "sst", "order": 6}, "order: so many eigenvectors"),
        ({"radius": -0.1}, "radius: -0.1 is negative"),
        ({"norm": 3}, "norm"),
        ({"penalty": 3.0}, "penalty: 3.0 is not a function"),
        ({"tol": 2.0}, "tol: 2.0"),
        ({"order": 0}, "order: 0"),
        ({"replicates": 9, "rate": 0.05}, "rate: 0.05 is below 1/10"),
        ({"noise": 1e-200}, "noise: 1e-200 must be"),
        ({"noise": 1e200, "replicates": 39}, r"noise: 1e\+200 must be"),
        ({"noise": lambda x, Y: "abc"}, "noise: is text"),
        ({"series": np.full(50, 1e305)}, r"series: holds 1e\+305, and numbers beyond"),
        ({"series": [[1.0], [2.0, 3.0]]}, "series: cannot be read as an array"),
        ({"series": np.full(50, np.nan)}, r"entries\); fill them in first"),
        ({"prior_p": [[1.0], [2.0, 3.0]]}, "prior_p: cannot be read as an array"),
        ({"draw": 3}, "draw: 3 is not a function"),
        ({"method": ["pre"]}, r"method: \['pre'\] is not known"),
        ({"rate": "x"}, "rate: 'x' is not a number"),
        ({"rate": 7}, "rate: 7 is not between"),
        ({"rng": -1, "replicates": 39}, "rng: -1 is no seed"),
        ({"rng": "a", "replicates": 39}, "rng: 'a' is no seed"),
        ({"reference": "a"}, "reference: is text"),
        ({"reference": [[1.0], [2.0, 3.0]]}, "reference: cannot be read as an array"),
        ({"pairs": np.zeros((9, 24))}, "pairs: are for simulated background"),
        ({"pairs": np.zeros((9, 12)), "replicates": 39}, "pairs: has sequences of 12 time points, a pair of windows"),
        ({"pairs": np.zeros((9, 24)), "replicates": 39, "reference": np.zeros(12)}, "pairs: say where y_p comes from"),
        ({"reference": np.zeros(5)}, "reference: has 5 time points, prior_p has sequences of 12"),
    ],
)
def test_mistakes_are_named(change, message):
    p, q = priors(30)
    given = {"series": changing_series(), "window": 12, "prior_p": p, "prior_q": q, "noise": 1.5, "features": FEATURES}
    with pytest.raises(pre.DataError, match=message):
        scan(**{**given, **change}, warn=False)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, y: d.score([[1, 2], [3]], y), "y_p: cannot be read as an array"),
        (lambda d, y: d.score(y, y[:5]), "y_q: has 5 time points, prior_p"),
        (lambda d, y: d.score(y, y, background=3), "background: 3 is not one"),
        (lambda d, y: d.scan(changing_series(), step=40, warn=False).peaks(distance="a"), "distance: 'a' is not"),
        (lambda d, y: d.scan(changing_series(), step=40, warn=False).peaks(-1), "count: -1 is not"),
        (lambda d, y: d.scan(changing_series(), step=40, warn=False).peaks(above=np.nan), "above: is nan"),
        (lambda d, y: Background("a"), "scores: is text"),
        (lambda d, y: Background([1.0]).p_values("a"), "scores: is text"),
    ],
)
def test_mistakes_in_methods_are_named(call, message):
    p, q = priors(30)
    with pytest.raises(pre.DataError, match=f"^{message}"):
        call(Detector(p, q, noise=1.5, features=FEATURES), p[0])


def test_noise_must_be_given():
    with pytest.raises(TypeError, match=r"score\(\) missing 1 required keyword-only argument: 'noise'"):
        score(np.zeros(12), np.zeros(12), *priors(30))


def test_pairs_must_match():
    p, q = priors(30)
    with pytest.raises(pre.DataError, match="Y_q: has 2 windows for 3"):
        scores(p[:3], p[:2], p, q, noise=1.5, features=FEATURES, warn=False)
    found = scores(p[:2], p[:2], p, q, noise=1.5, features=FEATURES, warn=False)
    with pytest.raises(pre.DataError, match="threshold: there is none"):
        _ = found.alarms


# files and the command


@pytest.mark.parametrize(
    ("dtype", "scale", "offset"), [(np.int16, 2**15, 0), (np.int32, 2**31, 0), (np.uint8, 128, 128), (np.float32, 1, 0)]
)
def test_sound_is_read_as_numbers_up_to_one(tmp_path, dtype, scale, offset):
    sound = np.sin(np.arange(100.0)) * 0.9
    wavfile.write(tmp_path / "a.wav", 8000, (sound * scale + offset).astype(dtype))
    found = read_recording(tmp_path / "a.wav")
    assert found.rate == 8000.0
    np.testing.assert_allclose(found.series, sound, atol=1.1 / min(scale, 1e7) if scale > 1 else 1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_only_the_chosen_columns_are_read(tmp_path, kind):
    import pandas as pd

    frame = pd.DataFrame({"time": ["2023-01-01T00:00", "2023-01-01T00:10"], "v": [1.0, 2.0], "w": [3.0, 4.0]})
    path = tmp_path / f"a.{kind}"
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    np.testing.assert_array_equal(read_recording(path, ["w"]).series, [3.0, 4.0])
    np.testing.assert_array_equal(read_recording(path, ["w", "v"]).series, [[3.0, 1.0], [4.0, 2.0]])
    with pytest.raises(pre.DataError, match=r"^columns: 'u' is not among time, v, w"):
        read_recording(path, ["u"])
    with pytest.raises(pre.DataError, match="column 'time'"):
        read_recording(path)


@pytest.mark.parametrize("text", ["v\n1\n\n3\n", "v,w\n1,2\n\n3,4\n"])
def test_an_empty_line_is_no_row_less(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(pre.DataError, match="line 3 is empty"):
        read_recording(tmp_path / "a.csv", ["v"])
    (tmp_path / "a.csv").write_text(text.replace("\n\n", "\n") + "\n\n")  # at the end it is nothing
    np.testing.assert_array_equal(read_recording(tmp_path / "a.csv", ["v"]).series, [1.0, 3.0])


def test_channels_of_a_sound_are_chosen_by_number(tmp_path):
    sound = np.column_stack([np.sin(np.arange(50.0)), np.cos(np.arange(50.0))]).astype(np.float32)
    wavfile.write(tmp_path / "a.wav", 8000, sound)
    assert read_recording(tmp_path / "a.wav").series.shape == (50, 2)
    np.testing.assert_array_equal(read_recording(tmp_path / "a.wav", ["1"]).series, sound[:, 1])
    with pytest.raises(pre.DataError, match=r"^columns: '2' is not among the channels 0, 1"):
        read_recording(tmp_path / "a.wav", ["2"])


def test_priors_are_read_without_pickles(tmp_path):
    np.savez(tmp_path / "p.npz", x=np.zeros((3, 4, 2)))
    assert read_prior(tmp_path / "p.npz").shape == (3, 4, 2)
    np.savez(tmp_path / "bad.npz", x=np.array([{}], dtype=object))
    np.save(tmp_path / "array.npy", np.zeros((3, 4)))
    for name, content in (("text.npz", b"no"), ("empty.npz", b"")):
        (tmp_path / name).write_bytes(content)
    for name, message in (
        ("bad.npz", "objects in it are not read"),
        ("text.npz", "is not an npz file"),
        ("empty.npz", "is not an npz file"),
        ("none.npz", "cannot be read"),
        ("array.npy", "is not an npz file of plain arrays, as np.savez writes it"),
    ):
        with pytest.raises(pre.DataError, match=message):
            read_prior(tmp_path / name)
    np.savez(tmp_path / "flat.npz", np.zeros(3))
    with pytest.raises(pre.DataError, match=r"has shape \(3,\)"):
        read_prior(tmp_path / "flat.npz")


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("detect")
    for name, x in zip("pq", priors(300), strict=True):
        np.savez(folder / f"{name}.npz", x=x)
    series = changing_series()
    with (folder / "series.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", "value"])
        writer.writerows(zip(range(len(series)), series, strict=True))
    wavfile.write(folder / "series.wav", 100, (series / 10.0).astype(np.float32))
    return folder


def command(name, *arguments):
    return ["detect", name, "--prior-p", "p.npz", "--prior-q", "q.npz", *arguments]


@pytest.fixture
def detect(files, run_here):
    return lambda *arguments: run_here(*command(*arguments), cwd=files)


def test_the_command_writes_scores_and_a_figure(files, detect):
    options = ["--columns", "value", "--window", "12", "--lags", "2", "--noise", "1.5", "--step", "10"]
    result = detect("series.csv", *options, "--replicates", "39", "--out", "found")
    assert result.returncode == 0, result.stderr
    with (files / "found" / "scores.csv").open() as file:
        rows = list(csv.DictReader(file))
    series = read_recording(files / "series.csv", ["value"]).series
    prior = [read_prior(files / f"{name}.npz") for name in "pq"]
    wanted = scan(series, 12, *prior, noise=1.5, features=FEATURES, step=10, replicates=39, warn=False)
    np.testing.assert_allclose([float(row["score"]) for row in rows], wanted.scores, atol=1e-9)
    np.testing.assert_allclose([float(row["p_value"]) for row in rows], wanted.p_values)
    assert (files / "found" / "scan.png").read_bytes().startswith(b"\x89PNG")
    assert f"{wanted.peaks(1, above=-np.inf)[0].time}" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize("kind", ["reference", "pairs"])
def test_the_command_calibrates_for_what_it_compares(files, monkeypatch, kind):
    from typer.testing import CliRunner

    from pre_convex.cli import app

    monkeypatch.chdir(files)
    series = read_recording("series.csv", ["value"]).series
    pairs = sequences(np.full(50, 0.6), np.random.default_rng(3), 24)
    np.savez("pairs.npz", pairs)
    option, given = {"reference": ("5", series[5:17]), "pairs": ("pairs.npz", pairs)}[kind]
    wanted = scan(
        series, 12, read_prior("p.npz"), read_prior("q.npz"), noise=1.5, features=FEATURES, step=40, replicates=39,
        warn=False, **{kind: given},
    )  # fmt: skip
    options = ["--columns", "value", "--lags", "2", "--noise", "1.5", "--step", "40", "--replicates", "39"]
    result = CliRunner().invoke(app, command("series.csv", *options, f"--{kind}", option))
    assert f"threshold {wanted.threshold:.4g} at rate 0.05 for each window" in result.stdout
    assert f"above it: {wanted.alarms.sum()}; {0.05 * len(wanted):.3g} expected of background alone" in result.stdout


def test_the_command_reads_sound_and_says_seconds(files, detect):
    options = ["--method", "ar", "--order", "2", "--replicates", "0", "--lags", "2"]
    result = detect("series.wav", "--noise", "0.15", *options)
    assert result.returncode == 0, result.stderr
    assert "seconds" in result.stdout
    assert "p-value" not in result.stdout


def test_a_mistake_on_the_command_line_is_one_line(detect):
    result = detect("series.csv", "--noise", "1", "--columns", "value", "--window", "50")
    assert result.returncode == 2
    assert result.stderr == "pre-convex: --window: is 50, the prior sequences have 12 time points\n"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("series.csv", ["--noise", "loud", "--columns", "value", "--lags", "2"], "--noise: 'loud' is not a number"),
        ("series.csv", ["--noise", "1", "--lags", "2", "--replicates", "0"], "SERIES: has shape (240, 2)"),
        ("series.csv", ["--noise", "1", "--columns", "speed"], "'speed' is not among"),
        ("series.wav", ["--noise", "1", "--lags", "2", "--noise-drawn", "1,2"], "--noise-drawn: has 2 numbers"),
        (
            "series.wav",
            ["--noise", "1", "--lags", "2", "--noise-drawn", "0"],
            "--noise-drawn: 0 is not a positive number",
        ),
        ("absent.wav", ["--noise", "1"], "absent.wav: cannot be read"),
        ("series.wav", ["--noise", "1,2", "--lags", "2"], "noise: [1.0, 2.0] must be one positive standard deviation"),
        ("series.wav", ["--noise", "1", "--features", "kernel"], "--features: 'kernel' is not known; use one of auto"),
        ("series.wav", ["--noise", "1", "--pairs", "p.npz", "--replicates", "0"], "--pairs: is for simulated"),
        ("series.wav", ["--noise", "1", "--columns", "1"], "columns: '1' is not among the channels 0"),
        ("p.npz", ["--noise", "1", "--method", "magic", "--lags", "2"], "method: 'magic' is not known"),
        (
            "series.wav",
            ["--noise", "1", "--lags", "2", "--reference", "235", "--replicates", "0"],
            "--reference: a window of 12 from 235",
        ),
    ],
)
def test_the_command_names_mistakes(files, monkeypatch, name, arguments, message):
    from typer.testing import CliRunner

    from pre_convex.cli import app

    monkeypatch.chdir(files)
    result = CliRunner().invoke(app, command(name, *arguments))
    assert isinstance(result.exception, pre.DataError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)
