"""Normality: predicted covariances, checks of normality, the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper import Finding, Setting
from pre_convex_lab.paper.intervals import Share
from pre_convex_lab.paper.normality import (
    CHECKS,
    NAMES,
    anderson_darling,
    check_findings,
    check_normal,
    claims,
    draw_sides,
    exact_delta,
    judge,
    predicted_covariance,
    shifted_features,
    simulate,
)
from scipy.optimize import brentq
from scipy.special import ndtri

from pre_convex.problem import RatioProblem
from pre_convex.solvers import solve
from pre_convex.statistics.inference import Inference


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("normality")[0]


@pytest.fixture(scope="module")
def large():
    """Problems with both features, so large that their estimated covariances are close to the predicted ones."""
    p, q = draw_sides(np.random.default_rng(5))
    x_p, x_q = np.random.default_rng(6).normal(size=(2, 200_000, 2))
    problems = {
        shift: RatioProblem.from_samples(x_p, x_q, p.log_lik, q.log_lik, features=shifted_features(shift))
        for shift in (0.0, 3.0)
    }
    return p, q, problems


@pytest.mark.parametrize("key", NAMES, ids=lambda key: f"{key[1]}-{key[0]:g}")
def test_predicted_covariance_is_that_of_a_large_sample(large, key):
    p, _, problems = large
    problem = problems[key[0]]
    V = 200_000 * Inference(problem, solve(problem).delta, kind=key[1]).covariance
    assert pytest.approx(predicted_covariance(p, *key), rel=0.02, abs=0.03) == V


def test_delta_star_is_what_a_large_sample_finds(large):
    p, q, problems = large
    wide = 5.0 * np.sqrt(np.diag(predicted_covariance(p, 0.0, "centred")) / 200_000)
    assert np.all(np.abs(solve(problems[0.0]).delta - exact_delta(p, q)) < wide)
    assert np.all(wide < 0.02)


def test_centred_covariance_ignores_a_shift_and_the_papers_does_not():
    p, _ = draw_sides(np.random.default_rng(5))
    assert predicted_covariance(p, 3.0, "centred") == pytest.approx(predicted_covariance(p, 0.0, "centred"), abs=1e-10)
    longest = [np.linalg.eigvalsh(predicted_covariance(p, shift, "paper"))[-1] for shift in (0.0, 3.0)]
    assert longest[1] > 5 * longest[0]


def test_p_values_of_normal_samples_are_uniform():
    rng = np.random.default_rng(11)
    found = np.array([[check_normal(rng.normal(size=300)).p[name] for name in CHECKS] for _ in range(400)])
    for level in (0.05, 0.3):
        share = dict(zip(CHECKS, (found <= level).mean(axis=0), strict=True))
        noise = 3.5 * np.sqrt(level / 400)
        assert share.pop("tail") <= level + noise  # the test of a count is conservative
        assert list(share.values()) == pytest.approx([level] * 3, abs=noise)


@pytest.mark.parametrize(("squared", "p"), [(1.248, 0.25), (2.492, 0.05), (3.878, 0.01)])
def test_anderson_darling_has_the_tabulated_critical_values(squared, p):
    """Scale a perfect sample until its A² is a critical value for a fully specified distribution."""
    z = ndtri((np.arange(1, 2001) - 0.5) / 2000)
    scale = brentq(lambda s: anderson_darling(s * z)[0] - squared, 1.0, 2.0)
    assert anderson_darling(scale * z)[1] == pytest.approx(p, rel=0.02)


@pytest.mark.parametrize(
    ("distort", "failing"),
    [
        (lambda z: z, set()),
        (lambda z: np.append(z[:-1], 6.0), {"largest"}),
        (lambda z: np.where(np.abs(z) > 2.3, 1.35 * z, z), {"tail", "largest", "ad"}),
        (lambda z: z + 0.2, {"ks", "ad"}),
    ],
)
def test_each_check_detects_its_departure_from_normality(distort, failing):
    z = distort(np.random.default_rng(3).normal(size=5000))
    verdicts = {finding.question: finding.verdict for finding in check_findings([check_normal(z)], len(z))}
    fails = {name for name, question in CHECKS.items() if verdicts[question] == "does not hold"}
    assert failing - {"ad"} <= fails <= failing


@pytest.mark.parametrize(
    ("failed", "holds"),
    [
        ((), [True, True]),
        (("largest",), [True, False]),
        (("tail", "largest"), [False, False]),
        (("ks",), [False, True]),
    ],
)
def test_claims_follow_from_the_findings(outcome, failed, holds):
    questions = [CHECKS[name] for name in failed]
    findings = tuple(
        Finding(f.question, f.ours, f.paper, "does not hold" if f.question in questions else f.verdict)
        for f in outcome.findings
    )
    assert list(claims(findings).values()) == [*holds, True, True, False]


def test_quick_run_reproduces_the_verdict(outcome):
    verdicts = {finding.question: finding.verdict for finding in outcome.findings}
    for name in ("ellipse, centred, x", "ellipse, centred, x+3", "own region, centred, x", "own region, centred, x+3"):
        assert verdicts[name] == "holds"
    for name in ("ellipse, paper, x", "own region, paper, x"):
        assert verdicts[name].startswith("holds nearly: tends to 4.")
    for name in ("ellipse, paper, x+3", "own region, paper, x+3"):
        assert verdicts[name].startswith("does not hold: tends to 1.")
    assert all(verdicts[question] == "holds" for question in CHECKS.values())
    assert list(outcome.claims.values()) == [True, True, True, True, False]


def test_every_run_is_certified_and_a_shift_of_features_moves_no_estimate(outcome):
    assert 0.0 < outcome.data["largest_gap"] < 1e-8
    assert outcome.data["largest_move_by_shift"] < 1e-6
    assert len(outcome.data["root_n_delta"][0]) == outcome.data["shares"][0]["total"] == 400


def test_run_does_not_depend_on_the_number_of_runs():
    p, q = draw_sides(np.random.default_rng(0))
    few, more = (simulate(Setting(quick=True), p, q, runs) for runs in (3, 130))
    assert np.array_equal(few.delta, more.delta[:3])
    assert more.covariance.shape == (130, len(NAMES), 2, 2)


@pytest.mark.parametrize(
    ("share", "limit", "verdict"),
    [
        (Share(250, 5000), 0.05, "holds"),
        (Share(210, 5000), 0.042, "holds nearly: tends to 4.2 %"),
        (Share(65, 5000), 0.015, "does not hold: tends to 1.5 %"),
        (Share(9, 400), 0.015, "does not hold: tends to 1.5 %"),
        (Share(400, 5000), 0.05, "does not hold"),
    ],
)
def test_share_is_judged_by_its_interval_and_its_limit(share, limit, verdict):
    assert judge(share, limit) == verdict
