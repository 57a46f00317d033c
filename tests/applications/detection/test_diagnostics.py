"""Warnings about scores that mean nothing."""

import numpy as np
import pytest
from sequences import FEATURES, make_priors, make_windows

import pre_convex as pre
from pre_convex.applications.detection import METHODS, Background, DetectionWarning, Detector, scores
from pre_convex.applications.detection.diagnostics import window_influence
from pre_convex.solution import Status


def about(warnings, words):
    return [sentence for sentence in warnings if words in sentence]


def test_a_flat_likelihood_gives_a_warning():
    p, q = make_priors()
    with pytest.warns(DetectionWarning, match="flat likelihood on the q side"):
        found = scores(make_windows(4, 0.6), make_windows(4, -0.5, 2), p, q, noise=200.0, features=FEATURES)
    assert about(found.warnings, "flat likelihood on the p side")


def test_a_single_row_with_all_the_weight_gives_a_warning():
    p, q = make_priors()
    found = scores(p[:3] + 1e-3, q[:3] + 1e-3, p, q, noise=0.01, features=FEATURES, warn=False)
    for side in ("p", "q"):
        assert about(about(found.warnings, f"one row of prior_{side}"), "3 of 3 pairs")
    np.testing.assert_allclose(found.ess_p, 1.0, atol=1e-6)


def test_fewer_effective_rows_than_features_give_a_warning():
    p, q = make_priors(300)
    Y_p, Y_q = make_windows(4, 0.6), make_windows(4, -0.5, 2)
    for noise, warnings in ((1.1, 2), (1.6, 0)):  # on both sides, or on none
        found = scores(Y_p, Y_q, p, q, noise=noise, features="linear", radius=0.5, warn=False)
        assert sum(np.median(ess) < 12 for ess in (found.ess_p, found.ess_q)) == warnings
        assert len(about(found.warnings, "below the 12 features")) == warnings


def test_a_target_outside_the_hull_has_an_infinite_score_and_a_minimal_radius():
    rng = np.random.default_rng(0)
    p, q = rng.normal(5.0, 0.1, (50, 3)), rng.normal(0.0, 1.0, (60, 3))
    Y = np.full((2, 3), 2.0)
    with pytest.warns(DetectionWarning, match="outside the hull of the q features for 2 of 2 pairs"):
        found = scores(Y, Y, p, q, noise=10.0, features="linear")
    assert found.status == (Status.INFEASIBLE, Status.INFEASIBLE)
    assert np.all(np.isposinf(found.scores))
    least = float(found.minimal_radius.max())
    problem = pre.RatioProblem.from_samples(p, q, *(pre.Gaussian(Y[0], 0.01),) * 2)
    assert least == pytest.approx(pre.minimal_radius(problem).radius, rel=1e-6)
    enough = scores(Y, Y, p, q, noise=10.0, features="linear", radius=1.05 * least, warn=False)
    assert np.all(np.isfinite(enough.scores))
    assert all(status.ok for status in enough.status)


def test_an_infinite_threshold_gives_a_warning_with_the_radius_that_helps():
    rng = np.random.default_rng(0)
    p, q, series = rng.normal(2.5, 1.0, (60, 3)), rng.normal(0.0, 1.0, (60, 3)), rng.normal(2.5, 1.5, 30)
    detector = Detector(p, q, noise=1.0, features="linear")
    background = detector.background(39)
    assert background.threshold() == np.inf
    found = detector.scan(series, step=3, background=background, warn=False)
    assert not found.alarms.any()
    assert found.peaks() == []
    (warning,) = about(found.warnings, "no alarm is possible")
    assert f"radius above {background.minimal_radius:.4g}" in warning
    relaxed = Detector(p, q, noise=1.0, features="linear", radius=1.05 * background.minimal_radius).background(39)
    assert np.all(np.isfinite(relaxed.scores))
    assert relaxed.minimal_radius == 0.0
    by_hand = detector.scan(series, step=3, background=Background(background.scores), warn=False)
    (warning,) = about(by_hand.warnings, "no alarm is possible")
    assert "radius" not in warning


@pytest.mark.parametrize("side", ["p", "q"])
def test_windows_are_swapped_among_pairs_with_finite_scores_only(side):
    rng = np.random.default_rng(0)
    p, q = np.r_[rng.normal(0.0, 0.5, (50, 3)), rng.normal(9.0, 0.5, (50, 3))], rng.normal(0.0, 1.0, (60, 3))
    detector = Detector(p, q, noise=1.0, features="linear")
    Y_p, Y_q = np.tile([[0.1], [9.0]], (20, 3)) + 0.1 * rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    found, swapped = detector.scores(Y_p, Y_q, warn=False, swap=False), []
    assert np.isposinf(found.scores).sum() == 20

    def recorded(*pairs):
        swapped.append(METHODS["pre"](detector.priors, detector.options)(*pairs))
        return swapped[-1]

    assert window_influence(recorded, found, Y_p, Y_q, side) > 0.0
    assert np.all(np.isfinite(swapped[0].scores))
    infinite = detector.scores(Y_p[1::2], Y_q[1::2], warn=False)
    assert np.isnan(window_influence(recorded, infinite, Y_p, Y_q, side))
    assert len(swapped) == 1


def test_a_window_without_influence_gives_a_warning():
    rng = np.random.default_rng(0)
    p, q = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    q[:, 0] = 0.0

    def first_only(x, Y):  # does not distinguish rows of q, whose first entries are all zero
        return -0.5 * np.square(x[:, None, 0] - Y[None, :, 0])

    Y_p, Y_q = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    options = {"noise": first_only, "features": lambda x: x[:, 1] + 0.3 * x[:, 0]}
    with pytest.warns(DetectionWarning):
        found = scores(Y_p, Y_q, p, q, **options)
    assert about(found.warnings, "y_q has no influence")
    assert not about(found.warnings, "y_p has no influence")
    both = scores(Y_p, Y_q, p, rng.normal(size=(300, 2)), **options, warn=False)
    assert not about(both.warnings, "no influence")
