"""latent-signal: PRE leads the paper's rivals, not those who know the priors; and its parts are right."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from pre_convex.experiments import Setting, perform
from pre_convex.experiments.latent_signal import (
    RIVALS,
    WITHOUT,
    _areas,
    _exact_ratio,
    _leads_when,
    _roc,
    _verdict,
    draw,
    simulate,
)


@pytest.fixture(scope="module")
def outcome():
    return perform("latent-signal", Setting(quick=True))[0]


def test_the_paper_s_lead_holds_and_is_explained(outcome):
    assert outcome.verdict.startswith("holds when the rivals are the paper's")
    for one in outcome.data["readings"].values():
        assert all(one["lead"][name][1] > 0.0 for name in RIVALS)
        assert one["lead"]["Bayes factor"][0] < 0.1  # PRE is at most a little ahead, by chance
        assert one["auc"]["exact ratio"][0] > 0.95
        assert one["proven"] == 1.0
    claimed = next(finding for finding in outcome.findings if finding.question == "AUC of PRE")
    assert claimed.verdict == "holds"


AHEAD, LEVEL, BEHIND = [0.2, 0.1, 0.3], [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1]


def leads(rivals, bayes, without):
    """Leads in both readings: one for the first, one for the second."""
    by_name = {**dict.fromkeys(RIVALS, rivals), "Bayes factor": bayes, WITHOUT: without}
    return {
        reading: {"lead": {name: pair[i] for name, pair in by_name.items()}}
        for i, reading in enumerate(("variance", "sd"))
    }


@pytest.mark.parametrize(
    ("rivals", "bayes", "without", "begins", "ends"),
    [
        ([AHEAD, AHEAD], [AHEAD, AHEAD], [AHEAD, AHEAD], "holds", "holds"),
        ([AHEAD, AHEAD], [BEHIND, BEHIND], [BEHIND, BEHIND], "holds when the rivals", "better, and y_p adds noise"),
        ([AHEAD, AHEAD], [LEVEL, LEVEL], [AHEAD, AHEAD], "holds when the rivals", "alone does as well"),
        ([AHEAD, AHEAD], [AHEAD, BEHIND], [AHEAD, AHEAD], "holds when the rivals", "alone does about as well"),
        ([AHEAD, LEVEL], [LEVEL, LEVEL], [LEVEL, LEVEL], "holds in part: ", "holds when read as variance)"),
        ([LEVEL, BEHIND], [LEVEL, LEVEL], [LEVEL, LEVEL], "does not hold: ", "no lead; behind as sd)"),
    ],
)
def test_the_headline_follows_from_the_leads(rivals, bayes, without, begins, ends):
    verdict = _verdict(leads(rivals, bayes, without))
    assert verdict.startswith(begins)
    assert verdict.endswith(ends)


def test_a_lead_in_one_reading_is_named():
    found = leads([AHEAD, BEHIND], [BEHIND, BEHIND], [LEVEL, LEVEL])
    assert _leads_when(found, RIVALS[0]) == "holds when read as variance; behind as sd"
    assert _leads_when(found, "Bayes factor") == "does not hold: PRE is behind"
    assert _leads_when(found, WITHOUT) == "does not hold: no lead"


def test_only_one_window_matters(outcome):
    for one in outcome.data["readings"].values():
        assert one["variance_shares"]["y_q"] > 0.6
        assert abs(one["auc"]["PRE, y_q = 0"][0] - 0.5) < 0.25
        assert one["lead"]["PRE, y_p = 0"][0] < 0.02


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
    area = _areas({"one": values}, 30, rng)["one"]
    assert area[0] == pytest.approx(roc_auc_score(np.repeat([0, 1], 30), values))
    assert area[1:].std() == pytest.approx(np.sqrt(area[0] * (1.0 - area[0]) / 60), rel=0.5)
    alarms, hits = _roc(values, 30)
    assert np.trapezoid(hits, alarms) == pytest.approx(area[0])
    assert (alarms[-1], hits[-1]) == (1.0, 1.0)
