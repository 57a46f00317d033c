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
    claims,
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


def test_claims_follow_from_the_findings():
    questions = (SAME_ROWS, OWN_ROWS, BOTH_OWN, EIGHT_FEATURES, f"{EIGHT_FEATURES}, LIME without kernel and ridge")
    judged = ("does not hold", "holds", "holds when n = 20", "holds, but below 0.01", "does not hold: reversed")
    findings = tuple(Finding(question, "", "", each) for question, each in zip(questions, judged, strict=True))
    assert list(claims(findings).values()) == [False, True, False, True, False]


def test_quick_run_reproduces_the_verdict(outcome):
    found, record = outcome
    assert found.claims["PRE has a larger AUC than LIME when LIME draws rows of its own"]
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
