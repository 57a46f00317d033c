"""Scans of series, groups of pairs, memory and progress."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sequences import FEATURES, changing_series, make_priors, make_windows

import pre_convex as pre
from pre_convex.applications.detection import METHODS, Detector, scan, score, scores


@pytest.mark.parametrize("method", METHODS)
def test_scores_do_not_depend_on_the_pairs_scored_together(method):
    p, q = make_priors(60)
    Y_p, Y_q = make_windows(300, 0.6), make_windows(300, -0.5, 2)  # more than one block
    detector = Detector(p, q, noise=1.5, features=FEATURES, method=method, order=3)
    together = detector.scores(Y_p, Y_q, warn=False, swap=False).scores
    halves = [detector.scores(Y_p[h], Y_q[h], warn=False, swap=False).scores for h in (slice(150), slice(150, 300))]
    np.testing.assert_allclose(np.concatenate(halves), together, atol=1e-7)


def test_a_scan_compares_the_window_before_with_the_one_after():
    p, q = make_priors()
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
def test_a_scan_with_a_reference_raises_alarms_where_the_signal_is(seed):
    p, q = make_priors(1500)
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


def test_a_long_scan_does_not_copy_all_windows():
    detector = Detector(*make_priors(20, window=300), noise=1.0, features=FEATURES, method="energy")
    series = np.random.default_rng(0).normal(size=20_000)
    tracemalloc.start()
    try:
        detector.scan(series)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.25 * 8 * 300 * len(series)  # a quarter of all windows


def test_one_channel_is_a_plain_series():
    p, q = make_priors(100)
    series = changing_series()
    given = {"noise": 1.5, "features": FEATURES, "step": 40, "warn": False}
    expected = scan(series, 12, p, q, reference=series[:12], **given)
    for column in (series[:, None], pd.DataFrame({"v": series})):
        found = scan(column, 12, p, q, reference=series[:12, None], **given)
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert found.series.shape == (240,)
    found = scan(series, 12, p[:, :, None], q[:, :, None], reference=series[:12], **given)
    np.testing.assert_allclose(found.scores, expected.scores)
    assert found.series.shape == (240, 1)


def test_progress_is_shown_only_if_verbose(capsys):
    p, q = make_priors(100)
    options = {"noise": 1.5, "features": FEATURES, "step": 20, "warn": False}
    silent = scan(changing_series(), 12, p, q, **options)
    assert capsys.readouterr().out == ""
    verbose = scan(changing_series(), 12, p, q, **options, verbose=True)
    assert "pre" in capsys.readouterr().out
    np.testing.assert_array_equal(verbose.scores, silent.scores)


def test_another_method_shares_the_priors_but_not_the_background():
    p, q = make_priors(100)
    detector = Detector(p, q, noise=1.5, features=FEATURES)
    detector.background(39)
    energy = detector.using("energy", order=3)
    assert energy.priors is detector.priors
    assert (energy.method, energy.options.order, detector.method) == ("energy", 3, "pre")
    found = energy.scores(p[:2], q[:2], background=energy.background(39))
    assert np.all(found.p_values > 0.0)


def test_missing_values_of_a_series_are_refused():
    p, q = make_priors(30)
    series = changing_series()
    series[7] = np.nan
    with pytest.raises(pre.DataError) as error:
        scan(series, 12, p, q, noise=1.5, features=FEATURES)
    assert error.value.argument == "series"
    assert "7" in error.value.reason
    assert "fill" in error.value.remedy


def test_alarms_need_a_background():
    p, q = make_priors(30)
    found = scores(p[:2], p[:2], p, q, noise=1.5, features=FEATURES, warn=False)
    with pytest.raises(pre.DataError) as error:
        _ = found.alarms
    assert error.value.argument == "threshold"
