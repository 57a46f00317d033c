"""Peaks, data frames and figures of a scan."""

from dataclasses import replace

import numpy as np
import pytest
from sequences import FEATURES, changing_series, make_priors

from pre_convex.applications.detection import scan


def test_peaks_are_local_maxima_at_least_a_window_apart():
    p, q = make_priors(300)
    found = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, warn=False)
    peaks = found.peaks()
    heights = [peak.score for peak in peaks]
    assert heights == sorted(heights, reverse=True)
    assert heights[0] == found.scores.max()
    times = sorted(peak.time for peak in peaks)
    assert min(np.diff(times)) >= 12
    assert len(found.peaks(2)) == 2
    assert [peak.score for peak in found.peaks(above=heights[2])] == heights[:2]


def test_peaks_among_infinite_scores_lie_farthest_from_the_hull():
    p, q = make_priors(60)
    found = scan(changing_series(), 12, p, q, noise=1.5, features=FEATURES, warn=False)
    scores, radius, index = np.array(found.scores), np.full(len(found), np.nan), np.arange(len(found))
    distance = 0.2 + 0.1 * np.cos((index - 30) / 5.0)
    scores[10:100], radius[10:100] = np.inf, distance[10:100]
    peaks = replace(found, scores=scores, minimal_radius=radius).peaks()
    assert {peak.index for peak in peaks[:3]} == {30, 61, 93}  # a period of 10π apart
    finite = [np.isfinite(peak.score) for peak in peaks]
    assert finite == sorted(finite)
    assert finite[-1]


def test_frames_and_figures_show_the_scores():
    p, q = make_priors(300)
    series = np.column_stack([changing_series(), changing_series(1)])
    options = {"noise": [1.5, 1.5], "features": FEATURES, "warn": False}
    found = scan(series, 12, *(np.stack([x, x[::-1]], axis=2) for x in (p, q)), step=10, replicates=39, **options)
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
