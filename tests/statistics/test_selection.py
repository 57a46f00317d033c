"""Choosing the radius: from the noise of the moments, and by cross-validation."""

import numpy as np
import pytest
from zoo import gaussian

import pre_convex as pre
from pre_convex.statistics import selection
from pre_convex.statistics.selection import automatic_radius


def test_the_automatic_radius_decreases_with_the_root_of_n():
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


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
def test_the_automatic_radius_reaches_a_target_outside_the_hull():
    x_p, x_q, *_ = gaussian(100, 0)
    fit = pre.KLIEP(radius="auto").fit(x_p + 6.0, x_q)
    assert fit.radius_choice_.raised
    assert fit.solution_.status.ok
    assert any("outside the hull" in text for text in fit.diagnostics().warnings)


def test_the_automatic_radius_of_a_duplicated_feature_is_that_of_the_feature_times_the_root_of_two():
    x_p, x_q, *_ = gaussian(200, 0)
    twice = pre.RatioProblem.from_samples(x_p, x_q, features=lambda x: x[:, [0, 0]])  # a singular covariance
    once = pre.RatioProblem.from_samples(x_p, x_q, features=lambda x: x[:, :1])
    ratio = automatic_radius(twice).radius / automatic_radius(once).radius
    assert ratio == pytest.approx(np.sqrt(2.0), rel=0.03)


def sparse_fit(seed):
    rng = np.random.default_rng(seed)
    delta = np.zeros(50)
    delta[[3, 17, 40]] = [0.8, -0.7, 0.6]
    x_q, x_p = rng.normal(size=(1000, 50)), rng.normal(size=(1000, 50)) + delta
    return pre.KLIEP(norm=np.inf, radius="cv").fit(x_p, x_q)


def test_the_one_standard_error_rule_finds_the_features_that_matter():
    good = 0
    for seed in range(10):
        found = set(np.flatnonzero(sparse_fit(seed).delta_))
        good += {3, 17, 40} <= found and len(found) <= 5
    assert good >= 9


def test_a_choice_holds_its_path():
    choice = sparse_fit(0).radius_choice_
    assert choice.radius >= choice.best
    assert choice.mean.shape == choice.radii.shape == choice.std_error.shape
    assert np.all(np.diff(choice.radii) < 0.0)


def test_an_automatic_radius_from_the_noise_of_few_rows_is_larger_than_a_normal_quantile(monkeypatch):
    rng = np.random.default_rng(1)
    even = pre.RatioProblem.from_samples(rng.uniform(size=(300, 2)), rng.uniform(size=(300, 2)))
    heavy = pre.RatioProblem.from_samples(rng.exponential(1.6, (100, 2)), rng.exponential(1.0, (100, 2)))
    radii = [automatic_radius(problem).radius for problem in (even, heavy)]
    monkeypatch.setattr(selection, "joint_degrees_of_freedom", lambda *_: np.inf)
    normal = [automatic_radius(problem).radius for problem in (even, heavy)]
    assert radii[0] == pytest.approx(normal[0], rel=0.02)
    assert radii[1] > 1.04 * normal[1]
