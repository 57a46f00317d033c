"""Latent signal: simulation and scores, the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper.latent_signal import (
    BASELINES,
    COMPARED,
    SUITABLE,
    WITH_PRIORS,
    WITHOUT,
    claims,
    exact_log_ratio,
    judge,
    make_pairs,
    share_of_rows,
    simulate,
    sst_scores,
    tune_sst,
)
from scipy.stats import multivariate_normal


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("latent-signal")[0]


def test_quick_run_reproduces_the_verdict(outcome):
    assert all(outcome.claims[f"PRE is ahead of {name}"] for name in BASELINES)
    for result in outcome.data["readings"].values():
        assert set(result["lead"]) == set(COMPARED)
        assert all(result["lead"][name][1] > 0.0 for name in BASELINES)
        assert all(result["lead"][name][0] < 0.1 for name in (*SUITABLE, *WITH_PRIORS))
        assert min(result["repeated_auc"][name][0] for name in SUITABLE) > 0.85
        assert result["auc"]["exact ratio"][0] > 0.95
        assert result["proven"] == 1.0
    claimed = next(finding for finding in outcome.findings if finding.question == "AUC of PRE")
    assert claimed.verdict == "holds"


AHEAD, LEVEL, BEHIND = [0.2, 0.1, 0.3], [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1]


def leads(baselines, suitable, with_priors):
    """Leads in both readings; each argument has one for each reading."""
    groups = ((BASELINES, baselines), (SUITABLE, suitable), (WITH_PRIORS, with_priors))
    by_name = {name: pair for names, pair in groups for name in names}
    return {
        reading: {"lead": {name: pair[i] for name, pair in by_name.items()}}
        for i, reading in enumerate(("variance", "sd"))
    }


@pytest.mark.parametrize(
    ("pair", "ahead", "behind"),
    [
        ([AHEAD, AHEAD], True, False),
        ([AHEAD, LEVEL], False, False),
        ([LEVEL, BEHIND], False, False),
        ([BEHIND, BEHIND], False, True),
    ],
)
def test_claims_need_a_lead_in_both_readings(pair, ahead, behind):
    found = claims(leads(pair, pair, pair))
    first = len(BASELINES) + len(SUITABLE)
    assert list(found.values()) == [ahead] * first + [behind] * (len(found) - first)


def test_lead_is_judged_in_both_readings():
    readings = leads([AHEAD, BEHIND], [BEHIND, BEHIND], [LEVEL, LEVEL])
    assert judge(readings, BASELINES[0]) == "holds for variance; behind for sd"
    assert judge(readings, "AR(1)") == "does not hold: PRE is behind"
    assert judge(readings, WITHOUT) == "does not hold: no lead"


def test_score_needs_y_q_but_not_y_p(outcome):
    for result in outcome.data["readings"].values():
        assert abs(result["auc"]["PRE, y_q = 0"][0] - 0.5) < 0.25
        assert result["lead"][WITHOUT][0] < 0.03


def test_both_windows_contribute_to_the_variance_of_the_score(outcome):
    for result in outcome.data["readings"].values():
        assert set(result["variance_due_to_y_p"]) == {"background", "signal"}
        for share, low, high in result["variance_due_to_y_p"].values():
            assert 0.0 < share < 1.0
            assert 0.0 <= low <= high <= 1.0


def test_likelihood_is_flat_in_one_reading(outcome):
    readings = outcome.data["readings"]
    assert readings["variance"]["ess_share"]["q"] < 0.6
    assert readings["sd"]["ess_share"]["p"] > 0.95
    assert any("flat" in warning for warning in readings["sd"]["warnings"])
    assert max(result["ess_true_noise"] for result in readings.values()) < 3.0


def test_simulated_sequences_have_the_moments_of_the_process():
    x = simulate(np.full(20_000, 0.5), 0.3, np.random.default_rng(0))
    assert x.shape == (20_000, 50)
    variance = 0.3**2 / (1.0 - 0.25)
    np.testing.assert_allclose(x.var(axis=0), variance, rtol=0.06)
    np.testing.assert_allclose((x[:, 1:] * x[:, :-1]).mean() / variance, 0.5, atol=0.01)


def test_exact_log_ratio_is_that_of_two_gaussians():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(3, 50))
    lags = np.abs(np.subtract.outer(np.arange(50), np.arange(50)))
    log_density = []
    for alpha in (-0.2, 0.5):
        covariance = 0.3**2 / (1.0 - alpha**2) * alpha**lags + 0.2**2 * np.eye(50)
        log_density.append(multivariate_normal(np.zeros(50), covariance).logpdf(Y))
    # up to a constant, the log-determinants
    found, wanted = exact_log_ratio(Y, 0.3, 0.2), log_density[0] - log_density[1]
    np.testing.assert_allclose(found - found[0], wanted - wanted[0], atol=1e-8)


def test_share_of_rows_is_that_of_a_simulated_table():
    rng = np.random.default_rng(0)
    shares = [
        share_of_rows(np.add.outer(3.0 * rng.normal(size=60), rng.normal(size=60)) + rng.normal(size=(60, 60)))
        for _ in range(20)
    ]
    assert np.mean(shares) == pytest.approx(0.9, abs=0.02)
    # rows that differ only by noise have no share
    noise = [share_of_rows(2.0 * rng.normal(size=12) + rng.normal(size=(12, 12))) for _ in range(100)]
    assert np.mean(noise) < 0.03


def test_sst_scores_are_shares_of_energy_outside_a_subspace():
    rng = np.random.default_rng(0)
    t = np.arange(50.0)
    wave, noise = np.sin(0.7 * t + rng.uniform(0.0, 6.0, (5, 1))), rng.normal(size=(5, 50))
    assert sst_scores(wave, np.roll(wave, 1, axis=0), 10, 2) == pytest.approx(0.0, abs=1e-12)
    outside = sst_scores(wave, noise, 10, 2)
    assert np.all((outside > 0.4) & (outside < 1.0))
    assert sst_scores(wave, 7.0 * noise, 10, 2) == pytest.approx(outside)


def test_tuning_prefers_few_eigenvectors_of_short_lag_vectors():
    length, order = tune_sst(*make_pairs(150, 0.3, 0.1, np.random.default_rng(0)))
    assert order <= 5 <= length <= 15
