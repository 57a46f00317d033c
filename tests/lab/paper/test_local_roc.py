"""Local ROC: AUC and curves of many scores, the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper import Finding
from pre_convex_lab.paper.local_roc import (
    BOTH_OWN,
    EIGHT_FEATURES,
    OWN_ROWS,
    SAME_ROWS,
    auc_of_rows,
    conclude,
    judge,
    roc_of_rows,
)
from sklearn.metrics import roc_auc_score


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("local-roc")


def test_auc_and_curves_agree_with_scikit_learn():
    rng = np.random.default_rng(1)
    truth = rng.random(500) < 0.5
    scores = (rng.normal(size=(3, 500)) + truth * np.array([[0.0], [1.0], [3.0]])).round(2)  # with ties
    expected = [roc_auc_score(truth, row) for row in scores]
    np.testing.assert_allclose(auc_of_rows(truth, scores), expected, rtol=1e-12)
    rates = np.linspace(0.0, 1.0, 2001)
    np.testing.assert_allclose(np.trapezoid(roc_of_rows(truth, scores, rates), rates, axis=1), expected, atol=0.005)


@pytest.mark.parametrize("label", [False, True])
def test_auc_is_nan_if_all_labels_are_the_same(label):
    assert np.isnan(auc_of_rows(np.full(3, label), np.arange(6.0).reshape(2, 3))).all()


@pytest.mark.parametrize(
    ("mean", "verdict"),
    [
        ([0.05, 0.02], "holds"),
        ([0.005, 0.002], "holds, but below 0.01"),
        ([0.05, 0.0], "holds when n = 20"),
        ([0.05, -0.05], "holds when n = 20; reversed when n = 40"),
        ([0.0, -0.05], "does not hold; reversed when n = 40"),
        ([0.0, 0.0], "does not hold"),
        ([-0.02, -0.05], "does not hold: reversed"),
    ],
)
def test_lead_is_judged_by_its_interval_at_each_size(mean, verdict):
    assert judge(np.array(mean), np.array([0.001, 0.001]), (20, 40)) == verdict


@pytest.mark.parametrize(
    ("own", "both", "many", "ridge", "verdict"),
    [
        ("holds", "does not hold", "does not hold", 0.0, "holds when LIME draws its own rows (PRE has no lead"),
        ("holds", "does not hold: reversed", "does not hold", 0.0, "holds when LIME draws its own rows (PRE is behind"),
        ("holds", "holds", "does not hold", 0.0, "holds when LIME draws its own rows (PRE leads"),
        ("does not hold", "holds", "holds", 0.9, "holds when there are eight features (90 %"),
        ("does not hold", "holds", "holds", -0.2, "holds when there are eight features (0 %"),
        ("does not hold", "does not hold", "does not hold", 0.0, "does not hold;"),
    ],
)
def test_verdict_follows_from_the_findings(own, both, many, ridge, verdict):
    verdicts = {SAME_ROWS: "does not hold", OWN_ROWS: own, BOTH_OWN: both, EIGHT_FEATURES: many}
    findings = tuple(Finding(question, "", "", each) for question, each in verdicts.items())
    assert conclude(findings, ridge).startswith(verdict)


def test_quick_run_reproduces_the_verdict(outcome):
    found, record = outcome
    assert found.verdict.startswith("holds when LIME draws its own rows")
    data = record["data"]
    auc_of = dict(zip(data["methods"], np.moveaxis(np.array(data["auc"][0]), 2, 0), strict=True))
    plain, wide = data["cases"].index("no outlier"), data["cases"].index("eight features")
    pre, lime = auc_of["PRE"], auc_of["LIME"]
    assert np.all(np.abs(pre - lime)[plain] < 0.02)
    assert np.all(np.abs(pre - auc_of["LIME, no kernel or ridge"])[plain] < 0.01)
    assert np.all(pre[plain] > auc_of["LIME, its own rows"][plain] + 0.05)
    assert np.all(auc_of["PRE, LIME's own rows"][plain] < auc_of["LIME, its own rows"][plain] + 0.01)
    assert pre[wide, 0] > lime[wide, 0] + 0.01
    assert pre[wide, 0] - auc_of["LIME, no kernel or ridge"][wide, 0] < 0.5 * (pre - lime)[wide, 0]
