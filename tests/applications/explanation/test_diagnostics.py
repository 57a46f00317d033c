"""Warnings about explanations, and refused intervals."""

import numpy as np
import pandas as pd
import pytest
from black_boxes import X, bent, sparse
from scipy.special import expit

from pre_convex.applications.explanation import OnOff, Tabular, Words, explain


def about(found, words):
    return [text for text in found.warnings if words in text]


@pytest.mark.parametrize("width", [1e-3, 0.02])
def test_a_kernel_that_leaves_few_points_gives_a_warning(width):
    found = explain(bent, [0.1, 0.0], 1.0, 400, kernel_width=width)
    assert "too few" in found.refusal
    assert np.isnan(found.std_error).all()
    assert about(found, "the kernel leaves")
    assert not about(found, "smaller neighbourhood")
    assert f"ESS {found.fidelity.ess:.0f}" in str(found.fidelity)
    assert found.fidelity.ess < 10.0


def test_a_constant_black_box_gives_a_warning():
    found = explain(lambda z: np.full(len(z), 0.7), X, 0.5, 100)
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)
    assert found.intercept == pytest.approx(np.log(0.7 / 0.3))
    assert np.isnan(found.std_error).all()
    assert about(found, "nothing to explain")
    assert np.isnan(found.fidelity.r2)
    assert found.fidelity.agreement == 1.0
    assert "not shown" in str(found.summary())


@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_black_box_that_is_always_certain_has_zero_coefficients(answer):
    found = explain(lambda z: np.full(len(z), answer), X, 0.5, 100, label=1)
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)
    assert (found.intercept > 20.0) == (answer == 1.0)


@pytest.mark.parametrize("floor", [1e-12, 1e-3])
@pytest.mark.parametrize("swap", [False, True])
def test_hard_separable_answers_depend_on_the_floor_and_give_a_warning(floor, swap):
    found = explain(
        lambda z: (z[:, 0] + z[:, 1] > 0.2).astype(float), [0.0, 0.0], 1.0, 800, label=1, floor=floor, swap=swap
    )
    assert found.fit.solution.status.ok
    assert np.all(found.coef > 0.0)
    assert found.coef[0] == pytest.approx(found.coef[1], rel=0.2)
    assert about(found, "depend on that floor")


def test_a_constant_column_of_given_points_gives_a_warning():
    x = pd.DataFrame({"a": [0.1], "b": [0.2]})
    rows = pd.DataFrame({"a": np.random.default_rng(0).normal(size=50), "b": 0.2})
    found = explain(lambda z: expit(z["a"].to_numpy() + z["b"].to_numpy() ** 2), x, rows)
    assert np.isnan(found.std_error).tolist() == [False, True]
    assert about(found, "b: constant")


@pytest.mark.parametrize("place", [0, 2, 4])
@pytest.mark.parametrize("constant", [1.0, "u"])
def test_a_constant_column_of_a_table_gives_a_warning(constant, place):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)), columns=list("abcd"))
    frame.insert(place, "still", constant)
    for near in (Tabular(frame), frame) if constant == 1.0 else (Tabular(frame),):
        found = explain(lambda z: expit(z["a"].to_numpy() - z["b"].to_numpy()), frame.iloc[0], near, label=1)
        slope = {"a": 1.0, "b": -1.0}
        np.testing.assert_allclose(found.coef, [slope.get(name, 0.0) for name in found.names], atol=1e-6)
        assert np.isnan(found.std_error[place])
        assert about(found, "still")


def test_words_that_are_never_off_give_a_warning():
    found = [
        explain(lambda z: expit(np.array([len(t) / 10.0 for t in z]) - 1.0), "one two three four five six",
                Words(keep=0.95), 40, label=1, n_test=0, rng=seed)
        for seed in range(20)
    ]  # fmt: skip
    still = [np.ptp(one.points, axis=0) == 0.0 for one in found]
    assert any(each.any() for each in still)
    for one, never in zip(found, still, strict=True):
        assert one.fit.solution.status.ok
        assert bool(about(one, "constant at all points")) == never.any()


@pytest.mark.parametrize(
    ("keep", "n", "warned"), [(0.5, 300, False), (0.8, 1000, False), (0.95, 300, True), (0.05, 300, True)]
)
def test_features_that_are_rarely_off_or_rarely_on_give_a_warning(keep, n, warned):
    near = Tabular(pd.DataFrame({"u": list("ab") * 10, "v": list("ccdd") * 5}), keep=keep)
    black_box = lambda z: expit((z["u"] == "a").to_numpy() * (1.0 + (z["v"] == "c").to_numpy()) - 0.5)  # noqa: E731
    found = explain(black_box, ["a", "c"], near, n, label=1)
    assert bool(about(found, "u = a, v = c: rarely off")) == warned
    weighted = explain(black_box, ["a", "c"], near, n, label=1, kernel_width=0.3)
    assert about(weighted, "rarely off") or not warned


def test_as_many_distinct_points_as_coefficients_give_no_intervals():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    found = explain(lambda z: expit(z[:, 0] + z[:, 1] ** 2 - 0.3), [0.0, 0.0], rows)
    assert "3 distinct points" in found.refusal
    assert np.isnan(found.std_error).all()
    # a single on/off feature has only two distinct points, and the fit is exact
    one = explain(lambda z: expit(z[:, 0] - 0.3), [1.0], OnOff(), 50, label=1)
    assert not one.refusal
    np.testing.assert_allclose(one.coef, 1.0, atol=1e-6)


def test_features_that_always_change_together_give_a_warning():
    z = np.random.default_rng(0).normal(size=(60, 1))
    found = explain(lambda z: expit(z[:, 0]), [0.0, 0.0], np.concatenate([z, 2 * z], axis=1))
    assert about(found, "always change together")


def test_log_odds_far_from_linear_give_a_warning():
    found = explain(lambda z: expit(5.0 * np.cos(4.0 * z[:, 0])), [0.0], 2.0, 400)
    assert about(found, "far from linear")


def test_a_large_radius_gives_a_warning():
    found = explain(sparse, np.zeros(12), 1.0, 600, radius=1.0)
    assert about(found, "the radius 1 shrinks")
    assert not about(found, "far from linear")
    off = explain(lambda z: expit(8.0 * z[:, 0]), [0.6], np.linspace(-1.0, 1.0, 50)[:, None], label=1, radius=1.0)
    (warning,) = about(off, "at x itself")
    assert "the radius 1 shrinks" in warning


def test_a_radius_that_selects_no_feature_gives_a_warning():
    found = explain(sparse, np.zeros(12), 1.0, 600, radius=10.0, norm=np.inf, refit=True)
    assert not found.coef.any()
    assert about(found, "no feature to refit")
    assert "no feature to refit" in found.refusal


def test_a_refit_with_too_few_points_gives_no_intervals():
    slopes = np.random.default_rng(0).normal(size=40)
    found = explain(
        lambda z: expit(z @ slopes + 0.5 * z[:, 0] * z[:, 1]), np.zeros(40), 1.0, 25,
        label=1, radius=1e-3, norm=np.inf, refit=True,
    )  # fmt: skip
    assert np.sum(found.coef != 0.0) >= 24
    assert "too few" in found.refusal
    assert np.isnan(found.std_error).all()
    assert np.isnan(found.decision_interval().std_error).all()
