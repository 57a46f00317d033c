"""AUC of local classifiers: the measure is right, LIME is LIME's, and the verdict is found again at a small size."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pre_convex.experiments import Finding, Setting, perform
from pre_convex.experiments.local import lime_line, lime_own_line, make_wide_scene, mean_and_half
from pre_convex.experiments.local_roc import (
    BOTH_OWN,
    MANY_FEATURES,
    OWN_ROWS,
    SAME_ROWS,
    _curves,
    conclude,
    draw,
    judge,
)


@pytest.fixture(scope="module")
def outcome():
    return perform("local-roc", Setting(quick=True))


def test_curves_enclose_the_auc():
    rng = np.random.default_rng(1)
    truth = rng.random(500) < 0.5
    scores = rng.normal(size=(3, 500)) + truth * np.array([[0.0], [1.0], [3.0]])
    rates = np.linspace(0.0, 1.0, 2001)
    areas = np.trapezoid(_curves(scores, truth, rates), rates, axis=1)
    np.testing.assert_allclose(areas, [roc_auc_score(truth, row) for row in scores], atol=0.005)


def test_lime_with_its_own_rows_is_lime_on_those_rows():
    scene = make_wide_scene(np.random.default_rng(2))
    line, rows = lime_own_line(scene.box, scene.point, 50, 3)
    assert rows.shape == (50, 8)
    np.testing.assert_allclose(rows[0], scene.point)
    assert 0.8 < np.std(rows - scene.point) < 1.2  # as wide as the training data
    np.testing.assert_allclose(line, lime_line(rows, scene.box.predict_proba(rows), kernel=True), atol=1e-6)


def test_mean_and_half_leave_out_nan():
    values = np.random.default_rng(3).normal(size=(50, 2))
    mean, half = mean_and_half(np.concatenate([values, np.full((5, 2), np.nan)]))
    np.testing.assert_allclose(mean, values.mean(axis=0))
    np.testing.assert_allclose(half, 1.96 * values.std(axis=0, ddof=1) / np.sqrt(50))


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
def test_what_counts_as_a_lead(mean, verdict):
    assert judge(np.array(mean), np.array([0.001, 0.001]), (20, 40)) == verdict


@pytest.mark.parametrize(
    ("own", "both", "many", "ridge", "verdict"),
    [
        (
            "holds",
            "does not hold",
            "does not hold",
            0.0,
            "holds when LIME draws its own rows (PRE has no lead on them)",
        ),
        ("holds", "does not hold: reversed", "does not hold", 0.0, "holds when LIME draws its own rows (PRE is behind"),
        ("holds", "holds", "does not hold", 0.0, "holds when LIME draws its own rows (PRE leads on them too); "),
        ("does not hold", "holds", "holds", 0.9, "holds when features are many (without LIME's kernel and ridge 90"),
        (
            "does not hold",
            "holds",
            "holds",
            -0.2,
            "holds when features are many (without LIME's kernel and ridge 0 ",
        ),
        ("does not hold", "does not hold", "does not hold", 0.0, "does not hold; in two dimensions"),
    ],
)
def test_the_headline_follows_from_the_findings(own, both, many, ridge, verdict):
    verdicts = {SAME_ROWS: "does not hold", OWN_ROWS: own, BOTH_OWN: both, MANY_FEATURES: many}
    findings = tuple(Finding(question, "", "", each) for question, each in verdicts.items())
    assert conclude(findings, ridge).startswith(verdict)


def test_the_verdict_is_found_again(outcome):
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


def test_it_can_be_drawn_from_its_file(outcome):
    _, record = outcome
    figure = draw(record["data"])
    assert len(figure.get_axes()) == 8
    assert any("eight features" in ax.get_title() for ax in figure.get_axes())
