"""Vibrations of two units: the state-space model, runs and figures with known answers, and the quick version."""

import importlib.util

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

from pre_convex.experiments import Setting, perform
from pre_convex.experiments.gains import split_gains
from pre_convex.experiments.hvac import END, WARM, WINDOW, Pairs, Regime, cut_pairs, find_runs, read_unit
from pre_convex.experiments.judging import Judged, calibrated, interval, rate_interval, resampled, verdict
from pre_convex.experiments.regimes import BY_PRE, BY_SHAPE, DISTANCE, L2, REGIMES, RUNNING
from pre_convex.experiments.state_space import _deviance, simulate_ar
from pre_convex.experiments.vibration import PELT, SCHWARZ, _sentence, draw, exceeding, hard_level

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("skchange", "ruptures"))), reason="needs the extra 'experiments'"
)


@pytest.fixture(scope="module")
def outcome():
    return perform("vibration", Setting(quick=True))[0]


def test_the_filter_has_the_likelihood_of_the_joint_normal():
    level, phi, sd, noise = 0.3, 0.8, 1.5, 0.7
    lengths = (6, 4)
    runs = [np.random.default_rng(i).normal(size=n) for i, n in enumerate(lengths)]
    y = np.zeros((max(lengths), len(runs)))
    for r, run in enumerate(runs):
        y[: len(run), r] = run
    there = np.arange(len(y))[:, None] < np.array(lengths)
    joint = 0.0
    for run in runs:
        lag = np.abs(np.subtract.outer(range(len(run)), range(len(run))))
        covariance = sd**2 * phi**lag + noise**2 * np.eye(len(run))
        normal = multivariate_normal(np.full(len(run), level), covariance)
        joint -= 2.0 * normal.logpdf(run) + len(run) * np.log(2.0 * np.pi)
    theta = np.array([level, np.arctanh(phi), np.log(sd), np.log(noise)])
    assert _deviance(theta, y, there) == pytest.approx(joint, rel=1e-10)


def test_simulated_sequences_have_the_covariance_of_the_process():
    x = simulate_ar(np.full(100_000, 0.7), np.full(100_000, 2.0), 4, np.random.default_rng(0))
    lag = np.abs(np.subtract.outer(range(4), range(4)))
    assert np.cov(x.T) == pytest.approx(4.0 * 0.7**lag, abs=0.06)


@pytest.mark.parametrize("regime", REGIMES, ids=lambda r: r.name)
def test_runs_stay_within_their_level_and_have_no_gaps(regime):
    days, vibration = read_unit(regime.unit)
    runs = find_runs(regime, days, vibration)
    assert len(runs) > 15
    for run in runs:
        whole = slice(run.start - WARM, run.stop + END)
        assert np.all((vibration[whole] > regime.low) & (vibration[whole] < regime.high))
        assert np.diff(days[whole]).max() * 1440 < 15.0


def test_runs_end_at_gaps_and_at_other_levels():
    days = np.arange(60.0) / 144.0
    days[40:] += 1.0
    vibration = np.where(np.arange(60) < 5, 0.0, 1.0)
    assert find_runs(Regime("r", 0, 0.5, 2.0), days, vibration) == [slice(5 + WARM, 40 - END)]


def test_pairs_are_neighbours_and_changes_come_from_elsewhere():
    runs = [np.arange(20.0), 100.0 + np.arange(18), 200.0 + np.arange(17)]
    pairs = cut_pairs(runs, 1)
    assert pairs.run.tolist() == [0] * 5 + [1] * 3 + [2] * 2
    assert np.all(pairs.after[:, 0] - pairs.before[:, -1] == 1.0)
    pairs = Pairs(pairs.before, pairs.after, 2 * pairs.run)
    other = pairs.after[pairs.other_day(np.random.default_rng(0))]
    assert np.all(other[:, 0] // 100 != pairs.after[:, 0] // 100)


@pytest.mark.parametrize("calm", [1, 2])
@pytest.mark.parametrize("other_day", [False, True])
def test_figures_are_those_of_the_runs_and_draws_that_are_taken(calm, other_day):
    rng = np.random.default_rng(1)
    run = np.repeat(np.arange(4), [3, 5, 4, 6])
    null, change = rng.integers(0, 8, (calm, 18)) * 1.0, rng.integers(2, 10, (2, 18)) * 1.0
    second = rng.integers(0, 4, (2, 18)) if other_day else None
    background = rng.normal(5.0, 2.0, 39)
    sample = resampled(4, 2, 39, rng, 3)
    figures = Judged(null, change, run, second, background).figures(sample)
    for row, times, pick, (auc, alarms, power) in zip(
        sample.counts, sample.draws, sample.picks, figures.T, strict=True
    ):
        # every pair as often as both of its runs and its draw are taken
        nulls = [
            null[d, i]
            for d in range(calm)
            for i in range(18)
            for _ in range(int(row[run[i]] * (times[d] if calm > 1 else 1)))
        ]
        changes = [
            change[d, i]
            for d in range(2)
            for i in range(18)
            for _ in range(int(row[run[i]] * times[d] * (row[second[d, i]] if other_day else 1)))
        ]
        truth = np.repeat([0, 1], [len(nulls), len(changes)])
        threshold = np.sort(background[pick])[-2]  # with 39 simulations two p-values are at most 5 %
        assert auc == pytest.approx(roc_auc_score(truth, nulls + changes))
        assert alarms == pytest.approx(np.mean(np.array(nulls) > threshold))
        assert power == pytest.approx(np.mean(np.array(changes) > threshold))


def test_the_first_replicate_takes_everything_once():
    sample = resampled(5, 3, 7, np.random.default_rng(0), 20)
    assert sample.counts[0].tolist() == [1.0] * 5
    assert sample.draws[0].tolist() == [1.0] * 3
    assert sample.picks[0].tolist() == list(range(7))
    assert np.all(sample.counts.sum(axis=1) == 5.0)
    assert np.all(sample.draws.sum(axis=1) == 3.0)
    assert set(sample.picks.ravel()) == set(range(7))


def test_the_gain_of_the_l2_cost_is_the_distance_of_means():
    before, after = np.random.default_rng(2).normal(size=(2, 5, WINDOW))
    expected = 0.5 * WINDOW * (before.mean(axis=1) - after.mean(axis=1)) ** 2
    assert split_gains(1.0)[L2](before, after) == pytest.approx(expected)


def test_the_rbf_cost_sees_each_pair_anew():
    before, after = np.random.default_rng(3).normal(size=(2, 2, WINDOW))
    rbf = split_gains(1.0)["ruptures, rbf"]
    assert rbf(before, after)[1] == pytest.approx(rbf(before[1:], after[1:])[0])


def test_no_alarm_is_not_a_rate_of_zero():
    nothing = np.zeros(100)
    assert interval(nothing) == [0.0, 0.0, 0.0]
    assert (1.0 - rate_interval(nothing, 36)[2]) ** 36 == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("lead", "begins"),
    [
        ([0.1, 0.05, 0.2], "holds"),
        ([0.0, -0.1, 0.1], "does not hold: no"),
        ([-0.2, -0.3, -0.1], "does not hold: b"),
    ],
)
def test_a_lead_needs_an_interval_above_zero(lead, begins):
    assert verdict(lead).startswith(begins)


AHEAD, ALIKE, BEHIND = [0.1, 0.05, 0.2], [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1]
KEPT, OPEN, EXCEEDED, UNUSED = [0.05, 0.02, 0.08], [0.0, 0.0, 0.11], [0.09, 0.06, 0.12], [0.01, 0.0, 0.04]


def figures(alarms, in_noise, day, noise, distance):
    """Data with one regime and two levels of noise; l2 finds half of the switches in the second."""
    return {
        "alarm_rate": {"unit": {BY_PRE: alarms, L2: KEPT}},
        "added": [4.0, 8.0],
        "noise_alarms": {BY_PRE: in_noise, L2: [KEPT, KEPT]},
        "noise_power": {L2: [[0.9, 0.8, 1.0], [0.45, 0.4, 0.5]]},
        "day_lead": {L2: day, "plugin": ALIKE, "kde": ALIKE},
        "noise_lead": {
            L2: [ALIKE, noise], DISTANCE: [ALIKE, distance], "plugin": [BEHIND, AHEAD], "kde": [BEHIND, ALIKE]
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            figures(KEPT, [EXCEEDED, KEPT], BEHIND, AHEAD, ALIKE),
            (
                "kept for unit, noise 8; exceeded for noise 4.",
                "PRE is behind the l2",
                "ahead of it, by the normal level",
            ),
        ),
        (
            figures(OPEN, [KEPT, UNUSED], ALIKE, AHEAD, AHEAD),
            ("open for unit; kept for noise 4; not reached for noise 8.", "ahead of it, and ahead of the plain"),
        ),
        (
            figures(UNUSED, [UNUSED, UNUSED], AHEAD, BEHIND, BEHIND),
            ("is not reached for unit, noise 4, noise 8.", "behind it, and behind the plain"),
        ),
    ],
)
def test_the_headline_follows_from_alarms_and_leads(data, words):
    said = _sentence(data)
    assert all(part in said for part in words), said
    assert "it is level and ahead beside the plugin, level and level beside the plugin with kernel" in said


def test_a_rate_is_kept_when_its_interval_says_so_on_both_sides():
    assert [calibrated(rate) for rate in (KEPT, OPEN, EXCEEDED, UNUSED)] == ["kept", "open", "exceeded", "not reached"]


def test_the_noise_of_findings_is_chosen_by_the_rival_alone():
    data = figures(KEPT, [KEPT, KEPT], ALIKE, ALIKE, ALIKE)
    assert hard_level(data) == 1
    data["noise_power"][BY_PRE] = [[0.5, 0.4, 0.6], [0.1, 0.0, 0.2]]
    assert hard_level(data) == 1


def test_where_others_exceed_their_rate_is_told():
    data = figures(EXCEEDED, [EXCEEDED, KEPT], ALIKE, ALIKE, ALIKE)
    assert exceeding(data) == {}
    data["noise_alarms"][L2] = [KEPT, EXCEEDED]
    assert exceeding(data) == {L2: "noise 8 9 %"}


def test_pre_keeps_its_rate_where_distance_to_the_level_does_not(outcome):
    rates = outcome.data["alarm_rate"][RUNNING.name]
    assert rates[BY_PRE][0] < 0.12
    assert calibrated(rates[BY_PRE]) != "exceeded"
    assert calibrated(rates[DISTANCE]) == "exceeded"


def test_levels_change_from_day_to_day_and_autocorrelations_do_not_tell(outcome):
    auc = {name: values[0] for name, values in outcome.data["day_auc"].items()}
    assert auc[BY_PRE] > 0.68 > 0.62 > auc[BY_SHAPE]
    assert abs(auc[BY_PRE] - auc[L2]) < 0.06
    assert abs(auc[BY_PRE] - auc["plugin"]) < 0.06


def test_in_noise_pre_gains_by_the_level_that_its_prior_knows(outcome):
    lead = {name: values[hard_level(outcome.data)] for name, values in outcome.data["noise_lead"].items()}
    assert lead[L2][1] > 0.0
    assert abs(lead[DISTANCE][0]) < 0.08
    assert abs(lead["kde"][0]) < 0.08


def test_every_switch_is_found_and_schwarz_takes_drift_for_changes(outcome):
    scan = outcome.data["scan"]
    assert set(scan["found"].values()) == {len(scan["switches"])}
    assert scan["penalty"] > 1.5
    assert max(scan["false"][BY_PRE], scan["false"][PELT]) < scan["false"][SCHWARZ]


def test_it_draws_what_was_read_back(outcome):
    figure = draw(outcome.data)
    assert len(figure.axes) == 5
    figure.draw_without_rendering()
