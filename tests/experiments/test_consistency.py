"""Conditions of consistency: parts with known answers, and the quick version of the experiment."""

import re

import numpy as np
import pytest

from pre_convex.experiments import Finding, Setting, perform
from pre_convex.experiments.consistency import (
    CONCLUSION,
    EIGENVALUE,
    HESSIAN,
    LIMIT,
    RATIO,
    SEEN,
    bounded_from,
    conclude,
    draw,
    judge_all,
    near,
    sample,
)
from pre_convex.experiments.shares import Share
from pre_convex.inference import Inference
from pre_convex.problem import RatioProblem
from pre_convex.theory import min_eigenvalue, min_eigenvalue_in_ball, weyl_bound


@pytest.fixture(scope="module")
def outcome():
    return perform("consistency", Setting(quick=True))[0]


@pytest.fixture(scope="module")
def large():
    return RatioProblem.from_samples(*np.random.default_rng(0).normal(size=(2, 400_000, 2)), SEEN, SEEN)


def test_the_population_has_the_hessian_that_weyl_is_given(large):
    assert large.hessian([0.0, 0.0]) == pytest.approx(HESSIAN, abs=0.01)


def test_the_limit_is_the_tail_of_a_normal_scores_length(large):
    variance = 400_000 * Inference(large, [0.0, 0.0]).score_variance
    length = np.linalg.norm(np.random.default_rng(1).multivariate_normal([0.0, 0.0], variance, 2_000_000), axis=1)
    share = (length / HESSIAN[0, 0] > RATIO).mean()
    assert pytest.approx(share, rel=0.1) == LIMIT


def test_the_minimum_on_a_ball_is_that_of_a_grid():
    problem = RatioProblem.from_samples(*np.random.default_rng(2).normal(size=(2, 100, 2)), SEEN, SEEN)
    angle = np.linspace(0.0, 2.0 * np.pi, 121)
    ball = [r * np.array([np.cos(a), np.sin(a)]) for a in angle for r in (0.0, 0.5, 0.8, 1.0)]
    inside, where = min_eigenvalue_in_ball(problem, np.zeros(2), 1.0)
    values = [min_eigenvalue(problem, delta) for delta in ball]
    assert min(values) - 1e-3 <= inside <= min(values) + 1e-12
    assert np.linalg.norm(where) <= 1.0 + 1e-12
    assert min_eigenvalue(problem, where) == pytest.approx(inside)
    away = [np.linalg.norm(problem.hessian(delta) - HESSIAN, 2) for delta in ball]
    bound = weyl_bound(problem, np.zeros(2), 1.0, reference=HESSIAN)
    assert bound == pytest.approx(0.5 - max(away), abs=1e-3)
    assert bound <= inside


def test_a_run_has_no_bounds_where_none_are_asked_for():
    first, second = (sample(Setting(seed=4), 1, (100, i)) for i in (0, 1))
    assert first.weyl <= first.inside <= first.centre
    assert first.weyl_sample <= first.inside
    assert np.isnan(second.weyl)
    assert np.isnan(second.weyl_sample)
    assert first.error <= first.score / first.inside


@pytest.mark.parametrize(
    ("values", "above", "verdict"),
    [
        ({100: 0.3, 400: 0.4, 800: 0.4}, True, "holds from n = 100 on"),
        ({100: 0.1, 400: 0.4, 800: 0.4}, True, "holds from n = 400 on"),
        ({100: 0.1, 400: 0.1, 800: 0.4}, True, "does not hold below n = 800"),
        ({100: 0.3, 400: 0.4, 800: 0.1}, True, "does not hold"),
        ({100: 0.1, 400: 0.4, 800: 0.1}, False, "does not hold below n = 800"),
    ],
)
def test_from_which_size_on_a_bound_holds(values, above, verdict):
    assert bounded_from(values, EIGENVALUE, above=above) == verdict


def test_near_means_to_a_tenth():
    assert [near(ratio) for ratio in (0.89, 0.91, 1.09, 1.11)] == ["does not hold", "holds", "holds", "does not hold"]


def test_of_no_case_nothing_is_said():
    assert [judge_all(*counts) for counts in ((0, 0), (3, 3), (2, 3))] == ["", "holds", "does not hold"]


@pytest.mark.parametrize(
    ("verdict", "tested", "above", "says"),
    [
        ("holds from n = 400 on", "holds", 0, "holds: .*No single run exceeds the ratio's bound.$"),
        ("holds from n = 400 on", "holds", 3, "holds: .*Single runs exceed .*3 of 50 for n ≥ 400, and at most 3 of 50"),
        ("holds from n = 400 on", "", 0, "holds: .*was not tested.$"),
        ("does not hold below n = 800", "holds", 0, "^does not hold: min λ$"),
        ("holds from n = 400 on", "does not hold", 0, f"^does not hold: {CONCLUSION}$"),
    ],
)
def test_the_headline_follows_from_the_findings(verdict, tested, above, says):
    findings = (Finding("min λ", "", "", verdict), Finding(CONCLUSION, "", "", tested))
    assert re.search(says, conclude(findings, {400: Share(above, 50)}, Share(above, 50)))


def test_verdicts(outcome):
    verdicts = {finding.question: finding.verdict for finding in outcome.findings}
    assert verdicts["min λ − 2 sd, n ≥ 400"].startswith("holds")
    for name in ("Weyl / min λ, n = 400", "λ at δ* / min λ, same n", "ratio by λ at δ*, same n"):
        assert verdicts[name] == "holds"
    assert verdicts["ratio + 2 sd, n ≥ 400"].startswith("holds")
    assert verdicts["√n‖δ̂‖ below the ratio"] == "holds"
    assert outcome.verdict.startswith("holds")


def test_eigenvalues_rise_towards_the_population(outcome):
    small, larger = outcome.data["rows"]
    for row in (small, larger):
        assert row["weyl"]["mean"] <= row["inside"]["mean"] <= row["centre"]["mean"]
        assert len(row["ratios"]) == outcome.data["repeats"]["ratio"]
    assert small["inside"]["mean"] < larger["inside"]["mean"] < 0.5


def test_the_figure_has_both_panels(outcome):
    left, right = draw(outcome.data).axes
    assert "eigenvalue" in left.get_ylabel()
    assert right.get_ylim()[1] > RATIO
