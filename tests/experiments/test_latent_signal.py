"""latent-signal: PRE leads rivals of the paper's order, not those of a fitting one; and its parts are right."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pre_convex.experiments import Setting, perform
from pre_convex.experiments.areas import area, area_interval, mean_interval, resampled_areas, roc, share_of_rows
from pre_convex.experiments.latent_signal import (
    DECIDING,
    FITTING,
    KNOWING,
    RIVALS,
    WITHOUT,
    _exact_ratio,
    _leads_when,
    _tune_spectra,
    _verdict,
    draw,
    make_pairs,
    scaled_spectra,
    simulate,
)


@pytest.fixture(scope="module")
def outcome():
    return perform("latent-signal", Setting(quick=True))[0]


def test_the_paper_s_lead_holds_and_is_that_of_the_order(outcome):
    assert outcome.verdict.startswith("holds when the rivals are of the paper's order 20. Of a fitting order")
    for one in outcome.data["readings"].values():
        assert set(one["lead"]) == set(DECIDING)
        assert all(one["lead"][name][1] > 0.0 for name in RIVALS)
        assert all(one["lead"][name][0] < 0.1 for name in (*FITTING, *KNOWING))
        assert min(one["repeated_auc"][name][0] for name in FITTING) > 0.85
        assert one["auc"]["exact ratio"][0] > 0.95
        assert one["proven"] == 1.0
    claimed = next(finding for finding in outcome.findings if finding.question == "AUC of PRE")
    assert claimed.verdict == "holds"


AHEAD, LEVEL, BEHIND = [0.2, 0.1, 0.3], [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1]


def leads(rivals, fitting, knowing):
    """Leads in both readings: one for the first, one for the second."""
    by_name = {**dict.fromkeys(RIVALS, rivals), **dict.fromkeys(FITTING, fitting), **dict.fromkeys(KNOWING, knowing)}
    return {
        reading: {"lead": {name: pair[i] for name, pair in by_name.items()}}
        for i, reading in enumerate(("variance", "sd"))
    }


@pytest.mark.parametrize(
    ("rivals", "fitting", "knowing", "begins", "ends"),
    [
        ([AHEAD, AHEAD], [AHEAD, AHEAD], [AHEAD, AHEAD], "holds", "holds"),
        ([AHEAD, AHEAD], [AHEAD, AHEAD], [BEHIND, BEHIND], "holds. With", "are ahead of PRE"),
        ([AHEAD, AHEAD], [LEVEL, LEVEL], [AHEAD, AHEAD], "holds when the rivals are of", "are behind PRE"),
        ([AHEAD, AHEAD], [LEVEL, LEVEL], [BEHIND, LEVEL], "holds when", "are ahead of PRE as variance, level as sd"),
        ([AHEAD, LEVEL], [LEVEL, LEVEL], [LEVEL, LEVEL], "holds in part: ", "holds when read as variance)"),
        ([LEVEL, BEHIND], [LEVEL, LEVEL], [LEVEL, LEVEL], "does not hold: ", "no lead; behind as sd)"),
    ],
)
def test_the_headline_follows_from_the_leads(rivals, fitting, knowing, begins, ends):
    verdict = _verdict(leads(rivals, fitting, knowing))
    assert verdict.startswith(begins)
    assert verdict.endswith(ends)


def test_those_at_the_same_place_are_named_together():
    found = leads([AHEAD, AHEAD], [LEVEL, LEVEL], [LEVEL, LEVEL])
    for one in found.values():
        one["lead"]["AR(1)"] = BEHIND
    assert "AR(1) is ahead of PRE, autocorr(1) and tuned SST are level with PRE. With" in _verdict(found)


def test_a_lead_in_one_reading_is_named():
    found = leads([AHEAD, BEHIND], [BEHIND, BEHIND], [LEVEL, LEVEL])
    assert _leads_when(found, RIVALS[0]) == "holds when read as variance; behind as sd"
    assert _leads_when(found, "AR(1)") == "does not hold: PRE is behind"
    assert _leads_when(found, WITHOUT) == "does not hold: no lead"


def test_nothing_is_left_without_y_q(outcome):
    for one in outcome.data["readings"].values():
        assert abs(one["auc"]["PRE, y_q = 0"][0] - 0.5) < 0.25
        assert one["lead"][WITHOUT][0] < 0.03


def test_both_windows_have_a_share_in_the_score_of_either_kind(outcome):
    for one in outcome.data["readings"].values():
        assert set(one["variance_due_to_y_p"]) == {"background", "signal"}
        for share, low, high in one["variance_due_to_y_p"].values():
            assert 0.0 < share < 1.0
            assert 0.0 <= low <= high <= 1.0


def test_the_likelihood_is_flat_in_one_reading(outcome):
    readings = outcome.data["readings"]
    assert readings["variance"]["ess_share"]["q"] < 0.6
    assert readings["sd"]["ess_share"]["p"] > 0.95
    assert any("nearly flat" in sentence for sentence in readings["sd"]["warnings"])
    assert max(one["ess_true_noise"] for one in readings.values()) < 3.0


def test_the_figure_is_drawn_from_the_stored_data(outcome):
    figure = draw(outcome.data)
    assert len(figure.axes) == 3
    assert len(figure.axes[0].lines) == len(figure.axes[1].lines) > 8


def test_sequences_are_those_of_the_process():
    x = simulate(np.full(20_000, 0.5), 0.3, np.random.default_rng(0))
    assert x.shape == (20_000, 50)
    variance = 0.3**2 / (1.0 - 0.25)
    np.testing.assert_allclose(x.var(axis=0), variance, rtol=0.06)
    np.testing.assert_allclose((x[:, 1:] * x[:, :-1]).mean() / variance, 0.5, atol=0.01)


def test_the_exact_ratio_is_that_of_two_gaussians():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(3, 50))
    lags = np.abs(np.subtract.outer(np.arange(50), np.arange(50)))
    log_density = []
    for alpha in (-0.2, 0.5):
        covariance = 0.3**2 / (1.0 - alpha**2) * alpha**lags + 0.2**2 * np.eye(50)
        log_density.append(multivariate_normal(np.zeros(50), covariance).logpdf(Y))
    # the determinants are the same for every window and left out
    found, wanted = _exact_ratio(Y, 0.3, 0.2), log_density[0] - log_density[1]
    np.testing.assert_allclose(found - found[0], wanted - wanted[0], atol=1e-8)


def test_areas_agree_with_the_curve_and_with_scikit_learn():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    values = np.r_[rng.integers(0, 8, 30), rng.integers(2, 10, 30)].astype(float)  # with ties
    found = resampled_areas({"one": values}, 30, rng)["one"]
    assert found[0] == pytest.approx(roc_auc_score(np.repeat([0, 1], 30), values))
    assert area(values, 30) == pytest.approx(found[0])
    assert found[1:].std() == pytest.approx(np.sqrt(found[0] * (1.0 - found[0]) / 60), rel=0.5)
    alarms, hits = roc(values, 30)
    assert np.trapezoid(hits, alarms) == pytest.approx(found[0])
    assert (alarms[-1], hits[-1]) == (1.0, 1.0)


def test_a_perfect_sample_is_not_a_perfect_method():
    areas = resampled_areas({"one": np.arange(40.0)}, 20, np.random.default_rng(0))["one"]
    middle, low, high = area_interval(areas, 20)
    assert middle == pytest.approx(1.0)
    assert low**20 == pytest.approx(0.025)
    assert high == pytest.approx(1.0)


def test_intervals_of_few_repetitions_cover_as_often_as_they_say():
    samples = np.random.default_rng(0).normal(1.0, 3.0, (4000, 4))
    covered = [low <= 1.0 <= high for _, low, high in map(mean_interval, samples)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.012)


def test_shares_of_variance_are_those_of_a_table_made_of_parts():
    rng = np.random.default_rng(0)
    shares = [
        share_of_rows(np.add.outer(3.0 * rng.normal(size=60), rng.normal(size=60)) + rng.normal(size=(60, 60)))
        for _ in range(20)
    ]
    assert np.mean(shares) == pytest.approx(0.9, abs=0.02)
    # rows that differ by chance alone have no share
    noise = [share_of_rows(2.0 * rng.normal(size=12) + rng.normal(size=(12, 12))) for _ in range(100)]
    assert np.mean(noise) < 0.03


def test_spectra_are_shares_outside_a_subspace():
    rng = np.random.default_rng(0)
    t = np.arange(50.0)
    wave, noise = np.sin(0.7 * t + rng.uniform(0.0, 6.0, (5, 1))), rng.normal(size=(5, 50))
    assert scaled_spectra(wave, np.roll(wave, 1, axis=0), 10, 2) == pytest.approx(0.0, abs=1e-12)
    outside = scaled_spectra(wave, noise, 10, 2)
    assert np.all((outside > 0.4) & (outside < 1.0))
    assert scaled_spectra(wave, 7.0 * noise, 10, 2) == pytest.approx(outside)


def test_tuning_prefers_few_eigenvectors_of_short_pieces():
    length, order = _tune_spectra(*make_pairs(150, 0.3, 0.1, np.random.default_rng(0)))
    assert order <= 5 <= length <= 15
