"""Background scores: p-values and thresholds, false-alarm rates by simulation, and where a background is refused."""

import numpy as np
import pytest
from scipy.stats import ks_2samp
from sequences import FEATURES, ar_sequences, changing_series, make_priors, make_windows

import pre_convex as pre
from pre_convex.applications.detection import METHODS, Background, Detector, scan, score


def tolerance(rate, *counts):
    """Three standard errors of a rate that is estimated from windows, simulations and prior rows."""
    return 3.0 * np.sqrt(rate * (1.0 - rate) * sum(1.0 / count for count in counts))


def test_threshold_and_p_values_agree():
    rng = np.random.default_rng(0)
    background = Background(rng.integers(0, 30, 99).astype(float))  # with ties
    values = np.r_[rng.uniform(-1.0, 31.0, 200), np.arange(30.0), np.inf]
    p = background.p_values(values)
    assert p.min() == pytest.approx(0.01)
    for rate in (0.01, 0.05, 0.1, 0.5, 0.99):
        np.testing.assert_array_equal(values > background.threshold(rate), p <= rate + 1e-12)
    with pytest.raises(pre.DataError) as error:
        background.threshold(0.005)
    assert error.value.argument == "rate"
    assert "199" in error.value.remedy


@pytest.mark.parametrize("method", ["pre", "pre-prior", "evidence", "plugin", "energy"])
def test_false_alarms_come_at_the_chosen_rate(method):
    p, q = make_priors(2000)
    detector = Detector(p, q, noise=1.5, features=FEATURES, method=method)
    background = detector.background(999, rng=3)
    rng, count, rate = np.random.default_rng(4), 600, 0.1
    fresh = [ar_sequences(rng.normal(0.6, 0.1, count), rng) + 1.5 * rng.normal(size=(count, 12)) for _ in range(2)]
    found = detector.scores(*fresh, background=background, rate=rate, warn=False)
    assert abs(found.alarms.mean() - rate) < tolerance(rate, count, 999, 2000)
    assert ks_2samp(background.scores, found.scores).pvalue > 1e-3
    if method != "energy":  # the signal hardly changes the energy
        signal = detector.scores(fresh[0], make_windows(count, -0.9, 9), background=background, rate=rate, warn=False)
        assert signal.alarms.mean() > found.alarms.mean() + 0.1


def test_a_likelihood_wider_than_the_noise_is_calibrated_by_drawing_the_real_noise():
    p, q = make_priors(2000)
    rng, count, rate = np.random.default_rng(4), 600, 0.1
    fresh = [ar_sequences(rng.normal(0.6, 0.1, count), rng) + 0.3 * rng.normal(size=(count, 12)) for _ in range(2)]
    shares = []
    for draw in (lambda x, rng: x + 0.3 * rng.normal(size=x.shape), None):
        detector = Detector(p, q, noise=2.0, features=FEATURES, draw=draw, method="evidence")
        found = detector.scores(*fresh, background=detector.background(999, rng=3), rate=rate, warn=False)
        shares.append(found.alarms.mean())
    assert abs(shares[0] - rate) < tolerance(rate, count, 999, 2000) < abs(shares[1] - rate)


def test_left_out_rows_are_ignored():
    p, q = make_priors(40)
    detector = Detector(p, q, noise=0.5, features=FEATURES, radius=0.3)
    Y = p[:2] + 0.5 * np.random.default_rng(0).normal(size=(2, 12))
    found = METHODS["pre"](detector.priors, detector.options)(Y[:1], Y[1:], np.array([[0, 1]]))
    rest = score(Y[0], Y[1], p[2:], q, noise=0.5, features=FEATURES, radius=0.3, warn=False)
    np.testing.assert_allclose(found.scores[0], rest.score, atol=1e-7)
    np.testing.assert_allclose(found.ess_p[0], rest.ess_p, rtol=1e-9)


def test_the_background_depends_on_the_seed_alone():
    p, q = make_priors(200)
    detector = Detector(p, q, noise=1.5, features=FEATURES)
    first, again, other = (detector.background(20, rng=seed).scores for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_a_scan_with_a_reference_needs_a_background_with_that_reference():
    p, q = make_priors(1000)
    detector = Detector(p, q, noise=1.5, features=FEATURES)
    rng, count, rate, errors = np.random.default_rng(4), 400, 0.1, []
    x = ar_sequences(rng.normal(0.6, 0.1, count + 6), rng)
    y = x + 1.5 * rng.normal(size=x.shape)
    varying = detector.background(499)
    for reference in y[count:]:
        found = detector.scores(np.tile(reference, (count, 1)), y[:count], warn=False, swap=False).scores
        fixed = detector.background(499, reference=reference)
        errors.append([abs(np.mean(found > each.threshold(rate)) - rate) for each in (varying, fixed)])
    worst = np.max(errors, axis=0)
    assert worst[1] < tolerance(rate, count, 499, 1000) < worst[0]
    series = changing_series()
    found = scan(
        series, 12, p, q, noise=1.5, features=FEATURES, step=40, reference=series[:12], replicates=99, warn=False
    )
    assert found.threshold == detector.background(99, reference=series[:12]).threshold()


def test_neighbouring_windows_of_a_slow_process_need_a_background_from_pairs():
    def slow(n, length):
        x = np.empty((n, length))
        x[:, 0] = 1.5 * rng.normal(size=n)
        for t in range(1, length):
            x[:, t] = 0.97 * x[:, t - 1] + 1.5 * np.sqrt(1.0 - 0.97**2) * rng.normal(size=n)
        return x

    rng, rate, count = np.random.default_rng(0), 0.1, 600
    prior_p, prior_q = slow(2000, 8), rng.uniform(-20, 20, (2000, 1)) + slow(2000, 8)
    detector = Detector(prior_p, prior_q, noise=1.0, features=lambda x: x.mean(axis=1))
    both = slow(count, 16) + rng.normal(size=(count, 16))
    found = detector.scores(both[:, :8], both[:, 8:], warn=False, swap=False).scores
    near, apart = detector.background(999, pairs=slow(1500, 16)), detector.background(999)
    assert abs(np.mean(found > near.threshold(rate)) - rate) < tolerance(rate, count, 999, 2000)
    assert np.mean(found > apart.threshold(rate)) < 0.01


@pytest.mark.parametrize("channels", [0, 2])
def test_pairs_are_split_into_halves_without_leaving_rows_out(channels):
    p, q = make_priors(100)
    if channels:
        p, q = (np.stack([x, x[::-1]], axis=2) for x in (p, q))
    detector = Detector(p, q, noise=1.5, features=FEATURES, radius=0.1, draw=lambda x, rng: x)
    pairs = np.concatenate([p[:30], p[30:60]], axis=1)
    expected = detector.scores(p[:30], p[30:60], warn=False).scores
    np.testing.assert_allclose(detector.background(30, pairs=pairs).scores, np.sort(expected), atol=1e-7)
    np.testing.assert_allclose(detector.background(60, pairs=pairs).scores[::2], np.sort(expected), atol=1e-7)


@pytest.mark.parametrize("convert", [np.copy, np.ndarray.tolist])
def test_rows_are_left_out_of_both_priors_if_these_are_equal(convert):
    p = make_priors(60)[0]
    expected = Detector(p, p, noise=0.5, features=FEATURES, method="evidence").background(50).scores
    found = Detector(p, convert(p), noise=0.5, features=FEATURES, method="evidence").background(50).scores
    # a drawn row left in one prior only would look like a signal
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found, 0.0, atol=1e-9)


def test_a_background_is_refused_by_another_detector():
    p, q = make_priors(100)
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
        Detector(*make_priors(100, window=13), **given),
    ]
    for other in others:
        with pytest.raises(pre.DataError) as error:
            other.scan(series, step=40, background=background)
        assert error.value.argument == "background"
    again = Detector(p.tolist(), q.tolist(), **given).scan(series, step=40, background=background, warn=False)
    by_hand = others[1].scan(series, step=40, background=Background(background.scores), warn=False)
    assert again.threshold == by_hand.threshold == background.threshold()


def test_a_background_for_a_reference_is_refused_without_it():
    p, q = make_priors(100)
    detector, series = Detector(p, q, noise=1.5, features=FEATURES), changing_series()
    fixed, varying = detector.background(39, reference=series[:12]), detector.background(39)
    for call in (
        lambda: detector.scan(series, step=40, background=fixed),
        lambda: detector.scan(series, step=40, reference=series[1:13], background=fixed),
        lambda: detector.scan(series, step=40, reference=series[:12], background=varying),
        lambda: detector.score(series[1:13], series[:12], background=fixed),
    ):
        with pytest.raises(pre.DataError) as error:
            call()
        assert error.value.argument == "background"
    assert detector.score(series[:12], series[50:62], background=fixed, warn=False).p_value > 0.0
    for background in (varying, Background(varying.scores)):
        detector.scan(series, step=40, background=background, warn=False)
    detector.scan(series, step=40, reference=series[:12], background=Background(fixed.scores), warn=False)


def test_noise_as_a_function_needs_draw():
    p, q = make_priors(200)
    custom = {"noise": lambda x, Y: -np.abs(x[:, None] - Y[None]).sum(axis=2), "features": FEATURES}
    with pytest.raises(pre.DataError) as error:
        Detector(p, q, **custom).background(9)
    assert error.value.argument == "draw"
    background = Detector(p, q, **custom, draw=lambda x, rng: x + rng.laplace(size=x.shape)).background(9)
    assert np.all(np.isfinite(background.scores))
