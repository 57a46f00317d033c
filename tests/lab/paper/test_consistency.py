"""Consistency: the theory it relies on, the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper import Finding, Setting
from pre_convex_lab.paper.consistency import (
    CONCLUSION,
    EIGENVALUE,
    HESSIAN,
    LIKELIHOOD,
    LIMIT,
    RATIO,
    claims,
    judge_always,
    judge_bound,
    judge_close,
    run_sample,
)

from pre_convex.problem import RatioProblem
from pre_convex.statistics.inference import Inference
from pre_convex.statistics.theory import min_eigenvalue, min_eigenvalue_in_ball, weyl_bound


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("consistency")[0]


@pytest.fixture(scope="module")
def large():
    return RatioProblem.from_samples(*np.random.default_rng(0).normal(size=(2, 400_000, 2)), LIKELIHOOD, LIKELIHOOD)


def test_hessian_of_a_large_sample_is_that_of_the_population(large):
    assert large.hessian([0.0, 0.0]) == pytest.approx(HESSIAN, abs=0.01)


def test_limit_is_the_tail_probability_of_the_length_of_a_normal_score(large):
    variance = 400_000 * Inference(large, [0.0, 0.0]).score_variance
    length = np.linalg.norm(np.random.default_rng(1).multivariate_normal([0.0, 0.0], variance, 2_000_000), axis=1)
    share = (length / HESSIAN[0, 0] > RATIO).mean()
    assert pytest.approx(share, rel=0.1) == LIMIT


def test_minimum_on_a_ball_agrees_with_a_grid_and_weyl_bounds_it():
    problem = RatioProblem.from_samples(*np.random.default_rng(2).normal(size=(2, 100, 2)), LIKELIHOOD, LIKELIHOOD)
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


def test_only_the_first_runs_have_weyl_bounds():
    first, second = (run_sample(Setting(seed=4), 1, (100, i)) for i in (0, 1))
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
def test_bound_is_judged_for_all_large_sizes(values, above, verdict):
    assert judge_bound(values, EIGENVALUE, above=above) == verdict


def test_close_means_within_a_tenth():
    verdicts = [judge_close(ratio) for ratio in (0.89, 0.91, 1.09, 1.11)]
    assert verdicts == ["does not hold", "holds", "holds", "does not hold"]


def test_always_has_no_verdict_without_cases():
    assert [judge_always(*counts) for counts in ((0, 0), (3, 3), (2, 3))] == ["", "holds", "does not hold"]


@pytest.mark.parametrize(
    ("verdict", "tested", "above", "holds"),
    [
        ("holds from n = 400 on", "holds", 0, [True, True, True]),
        ("holds from n = 400 on", "holds", 3, [True, False, True]),
        ("holds from n = 400 on", "", 0, [True, True]),
        ("does not hold below n = 800", "holds", 0, [False, True, True]),
        ("holds from n = 400 on", "does not hold", 0, [True, True, False]),
    ],
)
def test_claims_follow_from_the_findings(verdict, tested, above, holds):
    findings = (Finding("min λ", "", "", verdict), Finding(CONCLUSION, "", "", tested))
    data = {"rows": [{"n": 400, "above": above}], "repeats": {"ratio": 50}}
    assert list(claims(findings, data).values()) == holds


def test_quick_run_reproduces_the_verdict(outcome):
    verdicts = [finding.verdict for finding in outcome.findings if finding.paper]
    assert len(verdicts) == 6
    assert all(verdict.startswith("holds") for verdict in verdicts)
    first, *_, last = outcome.claims.values()
    assert first
    assert last


def test_eigenvalues_approach_those_of_the_population(outcome):
    small, larger = outcome.data["rows"]
    for row in (small, larger):
        assert row["weyl"]["mean"] <= row["inside"]["mean"] <= row["centre"]["mean"]
        assert len(row["ratios"]) == outcome.data["repeats"]["ratio"]
    assert small["inside"]["mean"] < larger["inside"]["mean"] < 0.5
