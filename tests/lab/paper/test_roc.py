"""ROC curves and areas against scikit-learn."""

import numpy as np
import pytest
from pre_convex_lab.paper.roc import auc, auc_interval, auc_replicates, roc_points
from sklearn.metrics import roc_auc_score


def test_auc_and_curve_agree_with_scikit_learn():
    rng = np.random.default_rng(0)
    scores = np.r_[rng.integers(0, 8, 30), rng.integers(2, 10, 30)].astype(float)  # with ties
    expected = roc_auc_score(np.repeat([0, 1], 30), scores)
    replicates = auc_replicates({"one": scores}, rng)["one"]
    assert auc(scores) == pytest.approx(expected)
    assert replicates[0] == pytest.approx(expected)
    assert replicates[1:].std() == pytest.approx(np.sqrt(expected * (1.0 - expected) / 60), rel=0.5)
    alarms, hits = roc_points(scores)
    assert np.trapezoid(hits, alarms) == pytest.approx(expected)
    assert (alarms[0], hits[0], alarms[-1], hits[-1]) == (0.0, 0.0, 1.0, 1.0)


def test_missing_scores_rank_lowest_and_infinite_ones_keep_their_order():
    scores = np.array([np.nan, 1.0, 2.0, -np.inf, 3.0, np.inf])
    ranked = np.array([0.0, 1.0, 2.0, 0.0, 3.0, 4.0])
    assert auc(scores) == auc(ranked)
    assert roc_points(scores) == roc_points(ranked)
    rngs = np.random.default_rng(0), np.random.default_rng(0)
    found, expected = (auc_replicates({"one": s}, rng)["one"] for s, rng in zip((scores, ranked), rngs, strict=True))
    np.testing.assert_array_equal(found, expected)


def test_interval_of_a_perfect_sample_is_exact_and_not_empty():
    value, low, high = auc_interval(auc_replicates({"one": np.arange(40.0)}, np.random.default_rng(0))["one"], 20)
    assert value == pytest.approx(1.0)
    assert low**20 == pytest.approx(0.025)
    assert high == pytest.approx(1.0)
