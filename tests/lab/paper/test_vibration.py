"""Vibration: model, runs, evaluation and verdict, and the quick version of the experiment."""

import importlib.util

import numpy as np
import pytest
from pre_convex_lab.paper.vibration.data import END, WARM, WINDOW, Pairs, Regime, cut_pairs, find_runs, read_unit
from pre_convex_lab.paper.vibration.evaluation import Scores, judge_lead, judge_rate, rate_interval, resample
from pre_convex_lab.paper.vibration.experiment import PELT, SCHWARZ, claims, exceeding, hard_level
from pre_convex_lab.paper.vibration.methods import DISTANCE, L2, PLAIN_PRE, PRE_SHAPE, REGIMES, RUNNING, split_gains
from pre_convex_lab.paper.vibration.state_space import deviance, simulate_ar
from scipy.stats import multivariate_normal
from sklearn.metrics import roc_auc_score

pytestmark = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("skchange", "ruptures"))), reason="needs the extra 'experiments'"
)


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("vibration")[0]


def test_deviance_is_that_of_the_joint_normal_distribution():
    level, phi, sd, noise = 0.3, 0.8, 1.5, 0.7
    lengths = (6, 4)
    runs = [np.random.default_rng(i).normal(size=n) for i, n in enumerate(lengths)]
    y = np.zeros((max(lengths), len(runs)))
    for r, run in enumerate(runs):
        y[: len(run), r] = run
    observed = np.arange(len(y))[:, None] < np.array(lengths)
    joint = 0.0
    for run in runs:
        lag = np.abs(np.subtract.outer(range(len(run)), range(len(run))))
        covariance = sd**2 * phi**lag + noise**2 * np.eye(len(run))
        normal = multivariate_normal(np.full(len(run), level), covariance)
        joint -= 2.0 * normal.logpdf(run) + len(run) * np.log(2.0 * np.pi)
    theta = np.array([level, np.arctanh(phi), np.log(sd), np.log(noise)])
    assert deviance(theta, y, observed) == pytest.approx(joint, rel=1e-10)


def test_simulated_sequences_have_the_covariance_of_the_process():
    x = simulate_ar(np.full(100_000, 0.7), np.full(100_000, 2.0), 4, np.random.default_rng(0))
    lag = np.abs(np.subtract.outer(range(4), range(4)))
    assert np.cov(x.T) == pytest.approx(4.0 * 0.7**lag, abs=0.06)


@pytest.mark.parametrize("regime", REGIMES, ids=lambda r: r.name)
def test_runs_stay_within_their_regime_and_have_no_gaps(regime):
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


def test_pairs_are_successive_windows_and_changes_come_from_other_runs():
    runs = [np.arange(20.0), 100.0 + np.arange(18), 200.0 + np.arange(17)]
    pairs = cut_pairs(runs, 1)
    assert pairs.run.tolist() == [0] * 5 + [1] * 3 + [2] * 2
    assert np.all(pairs.after[:, 0] - pairs.before[:, -1] == 1.0)
    pairs = Pairs(pairs.before, pairs.after, 2 * pairs.run)
    other = pairs.after[pairs.other_day(np.random.default_rng(0))]
    assert np.all(other[:, 0] // 100 != pairs.after[:, 0] // 100)


@pytest.mark.parametrize("null_draws", [1, 2])
@pytest.mark.parametrize("other_day", [False, True])
def test_measures_of_a_replicate_are_those_of_the_pairs_it_repeats(null_draws, other_day):
    rng = np.random.default_rng(1)
    run = np.repeat(np.arange(4), [3, 5, 4, 6])
    null, change = rng.integers(0, 8, (null_draws, 18)) * 1.0, rng.integers(2, 10, (2, 18)) * 1.0
    second = rng.integers(0, 4, (2, 18)) if other_day else None
    background = rng.normal(5.0, 2.0, 39)
    sample = resample(4, 2, 39, rng, 3)
    measures = Scores(null, change, run, second, background).measures(sample)
    for row, times, pick, (auc, alarms, power) in zip(
        sample.counts, sample.draws, sample.picks, measures.T, strict=True
    ):
        # each pair is repeated as often as both of its runs and its draw
        nulls = [
            null[d, i]
            for d in range(null_draws)
            for i in range(18)
            for _ in range(int(row[run[i]] * (times[d] if null_draws > 1 else 1)))
        ]
        changes = [
            change[d, i]
            for d in range(2)
            for i in range(18)
            for _ in range(int(row[run[i]] * times[d] * (row[second[d, i]] if other_day else 1)))
        ]
        truth = np.repeat([0, 1], [len(nulls), len(changes)])
        threshold = np.sort(background[pick])[-2]  # with 39 simulations, two have p ≤ 5 %
        assert auc == pytest.approx(roc_auc_score(truth, nulls + changes))
        assert alarms == pytest.approx(np.mean(np.array(nulls) > threshold))
        assert power == pytest.approx(np.mean(np.array(changes) > threshold))


def test_first_replicate_is_the_original_sample():
    sample = resample(5, 3, 7, np.random.default_rng(0), 20)
    assert sample.counts[0].tolist() == [1.0] * 5
    assert sample.draws[0].tolist() == [1.0] * 3
    assert sample.picks[0].tolist() == list(range(7))
    assert np.all(sample.counts.sum(axis=1) == 5.0)
    assert np.all(sample.draws.sum(axis=1) == 3.0)
    assert set(sample.picks.ravel()) == set(range(7))


def test_gain_of_the_l2_cost_is_the_distance_of_means():
    before, after = np.random.default_rng(2).normal(size=(2, 5, WINDOW))
    expected = 0.5 * WINDOW * (before.mean(axis=1) - after.mean(axis=1)) ** 2
    assert split_gains(1.0)[L2](before, after) == pytest.approx(expected)


def test_rbf_cost_does_not_reuse_the_kernel_of_another_pair():
    before, after = np.random.default_rng(3).normal(size=(2, 2, WINDOW))
    rbf = split_gains(1.0)["ruptures, rbf"]
    assert rbf(before, after)[1] == pytest.approx(rbf(before[1:], after[1:])[0])


def test_interval_of_a_rate_of_zero_is_exact_and_not_empty():
    rate, low, high = rate_interval(np.zeros(100), 36)
    assert rate == low == 0.0
    assert (1.0 - high) ** 36 == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("lead", "verdict"),
    [
        ([0.1, 0.05, 0.2], "holds"),
        ([0.0, -0.1, 0.1], "does not hold: no difference"),
        ([-0.2, -0.3, -0.1], "does not hold: behind"),
    ],
)
def test_lead_needs_an_interval_above_zero(lead, verdict):
    assert judge_lead(lead) == verdict


AHEAD, LEVEL, BEHIND = [0.1, 0.05, 0.2], [0.0, -0.1, 0.1], [-0.2, -0.3, -0.1]
KEPT, OPEN, EXCEEDED, UNUSED = [0.05, 0.02, 0.08], [0.0, 0.0, 0.11], [0.09, 0.06, 0.12], [0.01, 0.0, 0.04]


def results(alarms, in_noise, day, noise, distance):
    """Data with one regime and two levels of noise; in the second, l2 has a power of about one half."""
    return {
        "alarm_rate": {"unit": {PLAIN_PRE: alarms, L2: KEPT}},
        "added": [4.0, 8.0],
        "noise_alarms": {PLAIN_PRE: in_noise, L2: [KEPT, KEPT]},
        "noise_power": {L2: [[0.9, 0.8, 1.0], [0.45, 0.4, 0.5]]},
        "day_lead": {L2: day, "plugin": LEVEL, "kde": LEVEL},
        "noise_lead": {
            L2: [LEVEL, noise], DISTANCE: [LEVEL, distance], "plugin": [BEHIND, AHEAD], "kde": [BEHIND, LEVEL]
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "holds"),
    [
        (results(KEPT, [EXCEEDED, KEPT], BEHIND, AHEAD, LEVEL), [False, False, True, False]),
        (results(OPEN, [KEPT, UNUSED], LEVEL, AHEAD, AHEAD), [True, False, True, True]),
        (results(UNUSED, [UNUSED, UNUSED], AHEAD, BEHIND, BEHIND), [True, True, False, False]),
    ],
)
def test_claims_follow_from_alarms_and_leads(data, holds):
    found = claims(data)
    names = (
        "PRE nowhere",
        "between days PRE is ahead of the l2",
        "in noise PRE is ahead of the l2",
        "in noise PRE is ahead of the plain",
    )
    assert [each for text, each in found.items() if text.startswith(names)] == holds
    assert [each for text, each in found.items() if "plugin" in text] == [False, False, True]


def test_noise_level_of_the_findings_does_not_depend_on_pre():
    data = results(KEPT, [KEPT, KEPT], LEVEL, LEVEL, LEVEL)
    assert hard_level(data) == 1
    data["noise_power"][PLAIN_PRE] = [[0.5, 0.4, 0.6], [0.1, 0.0, 0.2]]
    assert hard_level(data) == 1


def test_other_methods_with_too_many_false_alarms_are_listed():
    data = results(EXCEEDED, [EXCEEDED, KEPT], LEVEL, LEVEL, LEVEL)
    assert exceeding(data) == {}
    data["noise_alarms"][L2] = [KEPT, EXCEEDED]
    assert exceeding(data) == {L2: "noise 8 9 %"}


def test_pre_keeps_its_false_alarm_rate_and_the_distance_to_the_level_does_not(outcome):
    rates = outcome.data["alarm_rate"][RUNNING.name]
    assert rates[PLAIN_PRE][0] < 0.12
    assert judge_rate(rates[PLAIN_PRE]) != "exceeded"
    assert judge_rate(rates[DISTANCE]) == "exceeded"


def test_levels_detect_another_day_and_autocorrelations_do_not(outcome):
    auc = {name: values[0] for name, values in outcome.data["day_auc"].items()}
    assert auc[PLAIN_PRE] > 0.68 > 0.62 > auc[PRE_SHAPE]
    assert abs(auc[PLAIN_PRE] - auc[L2]) < 0.06
    assert abs(auc[PLAIN_PRE] - auc["plugin"]) < 0.06


def test_lead_in_noise_comes_from_knowing_the_level(outcome):
    lead = {name: values[hard_level(outcome.data)] for name, values in outcome.data["noise_lead"].items()}
    assert lead[L2][1] > 0.0
    assert abs(lead[DISTANCE][0]) < 0.08
    assert abs(lead["kde"][0]) < 0.08


def test_every_switch_is_found_and_schwarz_penalty_gives_more_false_alarms(outcome):
    scan = outcome.data["scan"]
    assert set(scan["found"].values()) == {len(scan["switches"])}
    assert scan["penalty"] > 1.5
    assert max(scan["false"][PLAIN_PRE], scan["false"][PELT]) < scan["false"][SCHWARZ]
