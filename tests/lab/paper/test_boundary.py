"""Boundary: the verdict, and the quick version of the experiment."""

import numpy as np
import pytest
from pre_convex_lab.paper.boundary import DRAWN, LIME, METHODS, NO_KERNEL, Bump, claims, judge
from pre_convex_lab.paper.local_classifiers import angle, lime_line, pre_line, soft_line
from scipy.special import expit


@pytest.fixture(scope="module")
def outcome(quick_run):
    return quick_run("boundary")


def test_bump_sets_the_probability_at_its_centre():
    box = Bump(np.array([4.0, 0.0]), np.array([1.5, 1.5]), -6.0 - 2.0)
    assert box.predict_proba(box.centre[None])[0, 0] == pytest.approx(expit(2.0))
    x = np.array([1.3, 1.6])
    slopes = [(box.logit((x + s)[None]) - box.logit((x - s)[None]))[0] / 2e-6 for s in 1e-6 * np.eye(2)]
    np.testing.assert_allclose(box.gradient(x), slopes, rtol=1e-5)


def test_linear_black_box_is_recovered_exactly_without_an_outlier():
    slope = np.array([3.0, -1.0])
    box = Bump(slope, np.array([9.0, 9.0]), 0.0)
    x = 0.2 * np.random.default_rng(0).normal(size=(40, 2))
    proba = box.predict_proba(x)
    for line in (pre_line(x, proba), pre_line(x, proba, swap=True), soft_line(x, proba)):
        np.testing.assert_allclose(line, [3.0, -1.0, 0.0], atol=1e-4)
    assert angle(lime_line(x, proba, False)[:-1], slope) > 0.01


def test_quick_run_reproduces_the_verdict(outcome):
    found, record = outcome
    with_kernel, _, without, _ = found.claims.values()
    assert (with_kernel, without) == (False, True)
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


@pytest.mark.parametrize(
    ("pair", "verdict"), [(FALLS, "holds"), (LEVEL, "does not hold"), (RISES, "does not hold: reversed")]
)
def test_difference_is_judged_by_its_interval(pair, verdict):
    assert judge(*pair) == verdict


@pytest.mark.parametrize(
    ("lime", "no_kernel", "holds"),
    [
        ([FALLS] * 4, [FALLS] * 4, [True, True, True, True]),
        ([RISES, FALLS, FALLS, FALLS], [FALLS] * 4, [False, False, True, True]),
        ([FALLS] * 4, [LEVEL] * 4, [True, True, False, False]),
        ([FALLS, FALLS, FALLS, LEVEL], [RISES] * 4, [True, False, False, False]),
    ],
)
def test_claims_follow_from_lime_with_and_without_kernel(lime, no_kernel, holds):
    assert list(claims({LIME: lime, NO_KERNEL: no_kernel}).values()) == holds


def test_pre_is_robust_on_one_side_and_sensitive_on_the_other(outcome):
    _, record = outcome
    dial = record["data"]["dial"]
    pre, swapped = DRAWN.index("PRE"), DRAWN.index("PRE, roles swapped")
    plus, minus = np.array(dial["plus_side"]), np.array(dial["minus_side"])
    middle = len(plus) // 2
    for other in set(range(DRAWN.index(LIME))) - {pre}:
        assert plus[middle, pre] < plus[middle, other] - 2.0
    for other in set(range(DRAWN.index(LIME))) - {swapped}:
        assert minus[middle, swapped] < minus[middle, other] - 2.0
