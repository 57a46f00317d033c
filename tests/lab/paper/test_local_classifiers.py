"""Local classifiers: black boxes, outliers, and what PRE, LIME and logistic regression solve."""

import numpy as np
import pytest
from pre_convex_lab.paper.local_classifiers import (
    KINDS,
    lime_line,
    lime_own_line,
    make_scene,
    make_wide_scene,
    pre_line,
    row_kernel,
    soft_line,
    train_box,
)
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from pre_convex.applications.explanation import explain


@pytest.fixture(scope="module")
def scene():
    return make_scene(np.random.default_rng(5))


@pytest.fixture(scope="module")
def cloud(scene):
    x = scene.cloud(60, np.random.default_rng(6), 0)
    return x, scene.box.predict_proba(x)


@pytest.mark.parametrize("features", [2, 8])
def test_logit_and_gradient_are_those_of_the_black_box(features):
    box = train_box(np.random.default_rng(1), features)
    x, labels = box.draw(1000, np.random.default_rng(2))
    np.testing.assert_allclose(box.predict_proba(x)[:, 1], expit(box.logit(x)), atol=1e-9)
    steps = 1e-5 * np.eye(features)
    slopes = np.column_stack([(box.logit(x + step) - box.logit(x - step)) / 2e-5 for step in steps])
    np.testing.assert_allclose(box.gradient(x), slopes, atol=1e-5)
    linear = LogisticRegression().fit(x, labels).score(x, labels)
    assert np.mean((box.logit(x) > 0.0) == labels) > linear  # it is not linear


def test_outliers_have_the_class_and_the_side_of_their_kind(scene):
    logit = scene.box.logit(scene.outliers)
    trend = (scene.outliers - scene.point) @ scene.direction
    for kind, value, along in zip(KINDS, logit, trend, strict=True):
        assert (value > 0.0) == kind.startswith("+")
        assert (value * along > 0.0) == ("with" in kind)
    assert scene.box.logit(scene.point[None])[0] == pytest.approx(0.0, abs=1e-7)


def test_clouds_differ_only_in_the_outlier(scene):
    clouds = [scene.cloud(30, np.random.default_rng(3), kind) for kind in (None, 0, 2)]
    assert all(np.array_equal(clouds[0][:-1], other[:-1]) for other in clouds[1:])
    np.testing.assert_array_equal(clouds[1][-1], scene.outliers[0])
    np.testing.assert_array_equal(clouds[2][0], scene.point)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("swap", [False, True])
def test_pre_is_weighted_soft_logistic_regression(cloud, swap, weighted):
    """PRE weights the residual p − π by 1 + e^η, with roles swapped by 1 + e^−η: this is why roles matter."""
    x, proba = cloud
    weights = row_kernel(x) if weighted else np.ones(len(x))
    line = pre_line(x, proba, swap=swap, weights=weights if weighted else None)
    design = np.column_stack([x, np.ones(len(x))])
    odds = design @ line
    pull = (1.0 + np.exp(odds if swap else -odds)) * weights * (proba[:, 1] - expit(odds))
    np.testing.assert_allclose(design.T @ pull, 0.0, atol=1e-5 * np.abs(pull).sum())
    assert np.abs(pull).max() > 0.1


def test_pre_line_agrees_with_explain(scene, cloud):
    x, proba = cloud
    found = explain(scene.box.predict_proba, scene.point, x, label=1)
    np.testing.assert_allclose(pre_line(x, proba), [*found.coef, found.intercept], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("ridge", [False, True])
def test_lime_is_weighted_ridge_regression(cloud, kernel, ridge):
    x, proba = cloud
    w = np.exp(-((x - x[0]) ** 2).sum(axis=1) / (2 * 0.75**2 * 2)) if kernel else np.ones(len(x))
    centre, level = w @ x / w.sum(), w @ proba[:, 1] / w.sum()
    away = x - centre
    coef = np.linalg.solve((away.T * w) @ away + ridge * np.eye(2), (away.T * w) @ (proba[:, 1] - level))
    np.testing.assert_allclose(lime_line(x, proba, kernel, ridge), [*coef, level - centre @ coef - 0.5], atol=1e-9)


def test_soft_logistic_solves_its_score_equation(cloud):
    x, proba = cloud
    design = np.column_stack([x, np.ones(len(x))])
    residual = proba[:, 1] - expit(design @ soft_line(x, proba))
    np.testing.assert_allclose(design.T @ residual, 0.0, atol=1e-5)


def test_lime_on_its_own_rows_is_lime_line_on_those_rows():
    scene = make_wide_scene(np.random.default_rng(2))
    line, rows = lime_own_line(scene.box, scene.point, 50, 3)
    assert rows.shape == (50, 8)
    np.testing.assert_allclose(rows[0], scene.point)
    assert 0.8 < np.std(rows - scene.point) < 1.2  # as wide as the training data
    np.testing.assert_allclose(line, lime_line(rows, scene.box.predict_proba(rows), kernel=True), atol=1e-6)
