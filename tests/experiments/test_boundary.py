"""Local classifiers with an outlier: the parts do what they say, and the verdict is found again at a small size."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pre_convex.applications.explanation import explain
from pre_convex.experiments import Setting, perform
from pre_convex.experiments.boundary import BARE, DRAWN, LIME, METHODS, Bump, conclude, draw, judge
from pre_convex.experiments.local import KINDS, angle, lime_line, make_scene, pre_line, row_kernel, soft_line, train_box


@pytest.fixture(scope="module")
def scene():
    return make_scene(np.random.default_rng(5))


@pytest.fixture(scope="module")
def cloud(scene):
    x = scene.cloud(60, np.random.default_rng(6), 0)
    return x, scene.box.predict_proba(x)


@pytest.fixture(scope="module")
def outcome():
    return perform("boundary", Setting(quick=True))


@pytest.mark.parametrize("features", [2, 8])
def test_the_black_box_is_its_logit_and_gradient(features):
    box = train_box(np.random.default_rng(1), features)
    x, labels = box.draw(1000, np.random.default_rng(2))
    np.testing.assert_allclose(box.predict_proba(x)[:, 1], expit(box.logit(x)), atol=1e-9)
    steps = 1e-5 * np.eye(features)
    slopes = np.column_stack([(box.logit(x + step) - box.logit(x - step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(box.gradient(x), slopes, atol=1e-5)
    linear = LogisticRegression().fit(x, labels).score(x, labels)
    assert np.mean((box.logit(x) > 0.0) == labels) > linear  # it has learned what no linear classifier can


def test_a_bump_has_the_height_asked_for():
    box = Bump(np.array([4.0, 0.0]), np.array([1.5, 1.5]), -6.0 - 2.0)
    assert box.predict_proba(box.centre[None])[0, 0] == pytest.approx(expit(2.0))
    x = np.array([1.3, 1.6])
    slopes = [(box.logit((x + s)[None]) - box.logit((x - s)[None]))[0] / 2e-6 for s in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(box.gradient(x), slopes, rtol=1e-5)


def test_outliers_are_of_their_kind(scene):
    logit = scene.box.logit(scene.outliers)
    trend = (scene.outliers - scene.point) @ scene.direction
    for kind, value, along in zip(KINDS, logit, trend, strict=True):
        assert (value > 0.0) == kind.startswith("+")
        assert (value * along > 0.0) == ("with" in kind)
    assert scene.box.logit(scene.point[None])[0] == pytest.approx(0.0, abs=1e-7)


def test_kinds_share_all_rows_but_the_outlier(scene):
    clouds = [scene.cloud(30, np.random.default_rng(3), kind) for kind in (None, 0, 2)]
    assert all(np.array_equal(clouds[0][:-1], other[:-1]) for other in clouds[1:])
    np.testing.assert_array_equal(clouds[1][-1], scene.outliers[0])
    np.testing.assert_array_equal(clouds[2][0], scene.point)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_pre_is_soft_logistic_regression_with_its_own_weights(cloud, swap, weighted):
    """Why roles matter: PRE weighs the residual p − π by 1 + e^η, the swapped one by 1 + e^−η."""
    x, proba = cloud
    weights = row_kernel(x) if weighted else np.ones(len(x))
    line = pre_line(x, proba, swap=swap, weights=weights if weighted else None)
    design = np.column_stack([x, np.ones(len(x))])
    odds = design @ line
    pull = (1.0 + np.exp(odds if swap else -odds)) * weights * (proba[:, 1] - expit(odds))
    np.testing.assert_allclose(design.T @ pull, 0.0, atol=1e-5 * np.abs(pull).sum())
    assert np.abs(pull).max() > 0.1


def test_pre_is_what_explain_gives(scene, cloud):
    x, proba = cloud
    found = explain(scene.box.predict_proba, scene.point, x, label=1)
    np.testing.assert_allclose(pre_line(x, proba), [*found.coef, found.intercept], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("ridge", [False, True])
def test_lime_is_weighted_ridge_regression_on_the_same_rows(cloud, kernel, ridge):
    x, proba = cloud
    w = np.exp(-((x - x[0]) ** 2).sum(axis=1) / (2 * 0.75**2 * 2)) if kernel else np.ones(len(x))
    centre, level = w @ x / w.sum(), w @ proba[:, 1] / w.sum()
    away = x - centre
    coef = np.linalg.solve((away.T * w) @ away + ridge * np.eye(2), (away.T * w) @ (proba[:, 1] - level))
    np.testing.assert_allclose(lime_line(x, proba, kernel, ridge), [*coef, level - centre @ coef - 0.5], atol=1e-9)


def test_soft_logistic_solves_its_equation(cloud):
    x, proba = cloud
    design = np.column_stack([x, np.ones(len(x))])
    residual = proba[:, 1] - expit(design @ soft_line(x, proba))
    np.testing.assert_allclose(design.T @ residual, 0.0, atol=1e-5)


def test_without_outlier_a_linear_black_box_is_found_exactly():
    slope = np.array([3.0, -1.0])
    box = Bump(slope, np.array([9.0, 9.0]), 0.0)
    x = 0.2 * np.random.default_rng(0).normal(size=(40, 2))
    proba = box.predict_proba(x)
    for line in (pre_line(x, proba), pre_line(x, proba, swap=True), soft_line(x, proba)):
        np.testing.assert_allclose(line, [3.0, -1.0, 0.0], atol=1e-4)
    assert angle(lime_line(x, proba, False)[:-1], slope) > 0.01


def test_the_verdict_is_found_again(outcome):
    found, record = outcome
    assert found.verdict.startswith("holds when LIME has no kernel, for the paper's outlier (− against the trend)")
    data = record["data"]
    mean = dict(zip(data["methods"], np.array(data["angle"][0]).T, strict=True))
    none, minus, plus = 0, 1, 3
    assert mean["LIME"][minus] < mean["PRE"][minus] < mean["LIME, no kernel"][minus] - 2.0
    assert mean["PRE, roles swapped"][minus] > mean["PRE"][minus] + 5.0
    assert mean["PRE, roles swapped"][plus] < mean["LIME, no kernel"][plus] - 2.0
    assert mean["PRE"][plus] > mean["PRE, roles swapped"][plus] + 5.0
    assert mean["LIME"][plus] < mean["PRE, kernel"][plus] - 2.0
    assert all(mean[name][none] < 12.0 for name in METHODS)
    own, labelled = data["offset_agreement"].values()
    assert own > labelled
    assert data["black_boxes"] >= data["repetitions"]
    for name, lead in data["pre_less"].items():
        assert [pair[0] for pair in lead] == pytest.approx(list(mean["PRE"] - mean[name]), abs=1e-3)


FALLS, RISES, LEVEL = (-5.0, 1.0), (5.0, 1.0), (0.5, 1.0)


@pytest.mark.parametrize(("pair", "verdict"), [(FALLS, "holds"), (LEVEL, "does not hold"), (RISES, "does not hold: r")])
def test_a_difference_is_judged_by_its_interval(pair, verdict):
    assert judge(*pair).startswith(verdict)


@pytest.mark.parametrize(
    ("lime", "bare", "begins", "ends"),
    [
        ([FALLS] * 4, [FALLS] * 4, "holds, for", "− against, − with, + against, + with, more for none."),
        ([RISES, LEVEL, LEVEL, LEVEL], [FALLS] * 4, "holds when LIME has no kernel, for", "+ with, more for none."),
        ([FALLS] * 4, [LEVEL] * 4, "holds when LIME has its kernel, for", "LIME, no kernel for none, more for none."),
        ([RISES] * 4, [LEVEL] * 3 + [RISES], "does not hold, for", "for none, more for + with."),
    ],
)
def test_the_headline_follows_from_both_opponents(lime, bare, begins, ends):
    verdict = conclude({LIME: lime, BARE: bare})
    assert verdict.startswith(begins)
    assert verdict.endswith(ends)


def test_the_dial_shows_a_blind_and_a_sensitive_side(outcome):
    _, record = outcome
    dial = record["data"]["dial"]
    pre, swapped = DRAWN.index("PRE"), DRAWN.index("PRE, roles swapped")
    plus, minus = np.array(dial["plus_side"]), np.array(dial["minus_side"])
    middle = len(plus) // 2
    for other in set(range(DRAWN.index(LIME))) - {pre}:
        assert plus[middle, pre] < plus[middle, other] - 2.0
    for other in set(range(DRAWN.index(LIME))) - {swapped}:
        assert minus[middle, swapped] < minus[middle, other] - 2.0


def test_it_can_be_drawn_from_its_file(outcome):
    _, record = outcome
    figure = draw(record["data"])
    assert len(figure.get_axes()) == 5
    assert any("paper's picture" in ax.get_title() for ax in figure.get_axes())
