"""Local explanations: exact for a linear black box, honest intervals otherwise, an answer to every oddity."""

import csv
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pre_convex as pre
from pre_convex.applications.explanation import (
    Box,
    Gaussian,
    OnOff,
    Points,
    SuperPixels,
    Tabular,
    Words,
    explain,
    explain_all,
)
from pre_convex.applications.explanation.black_box import BlackBox
from pre_convex.applications.explanation.fidelity import roc_area
from pre_convex.applications.explanation.local_fit import fit_local, probability_of
from pre_convex.inference import Inference

ROOT = Path(__file__).parents[1]
SLOPES = np.array([2.0, -1.0, 0.0])
X = np.array([0.3, -0.2, 5.0])


def linear(z):
    return probability_of(np.asarray(z) @ SLOPES + 0.7)


def bent(z):
    return probability_of(3.0 * np.sin(2.0 * z[:, 0]) + z[:, 1])


def three(z):
    """Three classes, of which the last is never the likeliest."""
    odds = np.exp(np.column_stack([z[:, 0], -z[:, 0] + z[:, 1] ** 2, np.full(len(z), -3.0)]))
    return odds / odds.sum(axis=1, keepdims=True)


# --- exactness ---


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kernel_width", [None, 0.4])
@pytest.mark.parametrize(
    "perturbation",
    [0.5, Box([0.5, 1.0, 2.0]), Box(data=np.random.default_rng(0).normal(size=(50, 3))), Gaussian(0.5)],
)
def test_a_linear_black_box_is_found_exactly(perturbation, kernel_width, swap):
    found = explain(linear, X, perturbation, 300, label=1, kernel_width=kernel_width, swap=swap, tol=1e-12)
    np.testing.assert_allclose(found.coef, SLOPES, atol=1e-6)
    assert found.intercept == pytest.approx(0.7, abs=1e-5)
    assert found.decision_function(X)[0] == pytest.approx(X @ SLOPES + 0.7, abs=1e-5)
    assert found.predict_proba(X[None])[0] == pytest.approx([1 - linear(X[None])[0], linear(X[None])[0]], abs=1e-5)
    assert found.std_error.max() < 1e-5  # the noise of points cancels where the model is exact
    assert found.fidelity.r2 == pytest.approx(1.0, abs=1e-8)


def test_the_other_class_has_the_opposite_coefficients():
    one, zero = (explain(linear, X, 0.5, 300, label=label) for label in (1, 0))
    np.testing.assert_allclose(one.coef, -zero.coef, atol=1e-6)
    # for a bent black box the two labels exchange the roles of PRE
    one, zero = explain(bent, [0.1, 0.0], 1.0, 300, label=1, swap=True), explain(bent, [0.1, 0.0], 1.0, 300, label=0)
    np.testing.assert_allclose(one.coef, -zero.coef, atol=1e-8)
    assert one.intercept == pytest.approx(-zero.intercept, abs=1e-8)


@pytest.mark.parametrize("swap", [False, True])
def test_the_moments_are_matched_with_the_offset(swap):
    found = explain(bent, [0.1, 0.0], 1.0, 400, label=1, swap=swap, kernel_width=0.7, tol=1e-12)
    u = found.points - found.origin
    weight = np.exp(-0.5 * (np.square(u).mean(axis=1)) / 0.7**2)
    odds = np.exp(found.decision_function(found.points))
    residual = (found.answers - (1 - found.answers) * odds) if swap else (1 - found.answers - found.answers / odds)
    assert (weight * residual).sum() == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose((weight * residual) @ u, 0.0, atol=1e-6)


def test_a_narrow_kernel_finds_the_gradient():
    x, step = np.array([0.3, 0.1]), 1e-5
    odds = np.array(
        [np.log(bent(z) / (1 - bent(z)))[0] for z in (x[None] + step * e for e in (*np.eye(2), *-np.eye(2)))]
    )
    gradient = (odds[:2] - odds[2:]) / (2 * step)
    wide, narrow = (explain(bent, x, 1.0, 4000, label=1, kernel_width=h).coef for h in (None, 0.05))
    assert np.linalg.norm(narrow - gradient) < 0.1 < np.linalg.norm(wide - gradient)


@pytest.mark.parametrize("width", [1e-3, 0.02])
def test_a_kernel_that_leaves_a_few_points_is_told(width):
    found = explain(bent, [0.1, 0.0], 1.0, 400, kernel_width=width)
    assert "different points with weight cannot show the noise of 2 coefficients" in found.refusal
    assert np.isnan(found.std_error).all()
    assert any(text.startswith("the kernel leaves") and "a wider one" in text for text in found.warnings)
    assert not any("smaller neighbourhood" in text for text in found.warnings)
    assert f"ESS {found.fidelity.ess:.0f}" in str(found.fidelity)
    assert found.fidelity.ess < 10.0


def test_a_wide_kernel_changes_nothing():
    same, wide = (explain(bent, [0.1, 0.0], 1.0, 200, kernel_width=h).coef for h in (None, 1e6))
    np.testing.assert_allclose(same, wide, rtol=1e-9)


# --- noise ---


@pytest.mark.parametrize("kind", ["hc3", "centred"])
@pytest.mark.parametrize("swap", [False, True])
def test_both_ways_to_the_standard_errors_agree(kind, swap):
    fit = explain(bent, [0.1, 0.0], 1.0, 150, kind=kind, swap=swap).fit
    expected = Inference(fit.problem, fit.solution.delta, kind=kind).std_error
    # both count how far the solver may be off, which is little beside the noise
    np.testing.assert_allclose(np.sqrt(np.diag(fit.spread))[1:], fit.std_error, rtol=1e-12)
    np.testing.assert_allclose(fit.std_error, expected, rtol=1e-8)


def test_round_off_is_not_taken_for_an_effect():
    found = explain(linear, X, OnOff(), 300, label=1)
    frame = found.to_frame()
    assert abs(frame["z"][2]) < 2.0  # the third slope is zero
    assert np.all(np.abs(frame["coef"] - SLOPES * X) < 2.0 * frame["std_error"])
    assert found.std_error.max() < 1e-5


@pytest.mark.parametrize("swap", [False, True])
def test_the_errors_of_the_log_odds_are_those_of_the_jackknife(swap):
    u = np.random.default_rng(2).uniform(-1.0, 1.0, (80, 2))
    plus = bent(u)
    whole = fit_local(u, plus, 1 - plus, ("a", "b"), swap=swap, tol=1e-12)
    at = np.array([[0.0, 0.0], [1.0, -1.0]])
    changes = []
    for i in range(len(u)):
        rows = np.delete(np.arange(len(u)), i)
        changes.append(fit_local(u[rows], plus[rows], 1 - plus[rows], ("a", "b"), swap=swap, tol=1e-12).log_odds(at))
    jackknife = np.sqrt(np.square(np.array(changes) - whole.log_odds(at)).sum(axis=0))
    np.testing.assert_allclose(whole.log_odds_error(at), jackknife, rtol=0.05)


def test_intervals_cover_the_coefficients_of_many_points():
    nodes, weights = np.polynomial.legendre.leggauss(80)
    grid = np.array([[a, b] for a in nodes for b in nodes])
    plus = bent(grid)
    truth = fit_local(grid, plus, 1 - plus, ("a", "b"), log_weights=np.log(np.outer(weights, weights).ravel()))
    runs, hits = 300, np.zeros(3)
    for seed in range(runs):
        found = explain(bent, [0.0, 0.0], 1.0, 300, label=1, n_test=0, rng=seed)
        interval, at_x = found.conf_int(), found.decision_interval()
        hits[:2] += (interval.lower <= truth.coef) & (truth.coef <= interval.upper)
        hits[2] += at_x.lower[0] <= truth.offset <= at_x.upper[0]
    for count in hits:
        assert 2 * min(binom.cdf(count, runs, 0.95), binom.sf(count - 1, runs, 0.95)) > 1e-3


def test_wider_levels_give_wider_intervals():
    found = explain(bent, [0.1, 0.0], 1.0, 200)
    narrow, wide = found.conf_int(0.5), found.conf_int(0.99)
    assert np.all(wide.lower < narrow.lower)
    assert np.all(wide.upper > narrow.upper)
    with pytest.raises(pre.DataError, match=r"^level: "):
        found.conf_int(95)


def test_the_seed_decides():
    first, again, other = (explain(bent, [0.1, 0.0], 1.0, 200, rng=s) for s in (3, 3, 4))
    assert np.array_equal(first.points, again.points)
    assert np.array_equal(first.coef, again.coef)
    assert not np.allclose(first.coef, other.coef, rtol=1e-3)


def outlier(side):
    """Points of a linear black box with one outlier, deep on one side, that says the opposite."""
    z = np.random.default_rng(5).uniform(-1.0, 1.0, (300, 2))
    z = np.concatenate([z, [[3.0 * side, 0.0]]])
    plus = probability_of(2.0 * z[:, 0])
    plus[-1] = 0.02 if side > 0 else 0.98
    return z, plus


@pytest.mark.parametrize("side", [1, -1])
def test_a_role_is_blind_on_one_side_and_sensitive_on_the_other(side):
    z, plus = outlier(side)
    off = {swap: abs(fit_local(z, plus, 1 - plus, ("a", "b"), swap=swap).coef[0] - 2.0) for swap in (False, True)}
    # unswapped, the residual p₋ − p₊e^η is bounded where the local odds favour the label and not on the other side
    bounded, unbounded = off[side < 0], off[side > 0]
    assert unbounded > 3.0 * bounded


# --- classes ---


def test_every_class_against_the_rest():
    found = explain_all(three, [0.2, 0.5], 0.5, 400)
    assert list(found) == [0, 1, 2]
    for label, one in found.items():
        alone = explain(three, [0.2, 0.5], 0.5, 400, label=label)
        np.testing.assert_array_equal(one.coef, alone.coef)
        assert one.label == label
        assert one.probability == pytest.approx(three(np.array([[0.2, 0.5]]))[0, label])
    assert explain(three, [0.2, 0.5], 0.5, 400).label == int(np.argmax(three(np.array([[0.2, 0.5]]))))
    assert any("P is below one half at every point" in text for text in found[2].warnings)
    with pytest.raises(pre.DataError, match=r"^label: all classes are explained here"):
        explain_all(three, [0.2, 0.5], 0.5, label=1)


def test_labels_are_those_of_the_classifier():
    data = np.random.default_rng(0).normal(size=(300, 2))
    model = LogisticRegression().fit(data, np.where(data[:, 0] > 0, "yes", "no"))
    for classifier in (model, model.predict_proba):
        found = explain(classifier, [1.0, 0.0], 0.5, 200)
        assert found.label == "yes"
        np.testing.assert_allclose(found.coef, model.coef_[0], atol=1e-5)
        assert set(explain_all(classifier, [1.0, 0.0], 0.5, 200)) == {"no", "yes"}
    with pytest.raises(pre.DataError, match=r"^label: 'maybe' is not among the classes 'no', 'yes'"):
        explain(model, [1.0, 0.0], 0.5, label="maybe")
    with pytest.raises(pre.DataError, match=r"^label: \['no'\] is not among the classes"):
        explain(model, [1.0, 0.0], 0.5, label=["no"])
    model.classes_ = np.array(["yes"])
    with pytest.raises(pre.DataError, match=r"^predict_proba: knows one class only"):
        explain(model, [1.0, 0.0], 0.5)


@pytest.mark.parametrize(
    "answer",
    [linear, lambda z: linear(z)[:, None], lambda z: np.column_stack([1 - linear(z), linear(z)]).astype("float32")],
)
def test_probabilities_come_in_many_shapes(answer):
    np.testing.assert_allclose(explain(answer, X, 0.5, 300, label=1).coef, SLOPES, atol=2e-5)


def test_tiny_probabilities_keep_their_digits():
    """P = 1 − 1e-9 and more: the sum of the other columns says what one minus P no longer can."""

    def sure(z):
        odds = z @ [1.0, -2.0] + 22.0
        return np.column_stack([np.exp(-odds) / (1 + np.exp(-odds)), 1 / (1 + np.exp(-odds))])

    np.testing.assert_allclose(explain(sure, [0.0, 0.0], 0.5, 300, label=1).coef, [1.0, -2.0], rtol=1e-6)


# --- sparse ---


def few_matter(z):
    return probability_of(2.0 * z[:, 0] - 1.5 * z[:, 4] + 0.3)


def test_a_radius_makes_it_sparse_and_refuses_intervals():
    found = explain(few_matter, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf)
    assert set(np.flatnonzero(found.coef)) == {0, 4}
    assert np.isnan(found.std_error).all()
    assert np.isnan(found.decision_interval().std_error).all()
    assert "the radius" in found.refusal
    text = str(found.summary())
    assert "intervals" in text
    assert "10 of 12 features" in text
    assert found.to_frame()["lower"].isna().all()


def test_a_refit_on_new_points_has_intervals_for_what_was_chosen():
    found = explain(few_matter, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf, refit=True)
    chosen = np.flatnonzero(found.coef)
    np.testing.assert_allclose(found.coef[chosen], [2.0, -1.5], atol=1e-5)
    assert np.isfinite(found.std_error[chosen]).all()
    assert np.isnan(np.delete(found.std_error, chosen)).all()
    assert found.refusal == ""
    assert found.decision_interval().estimate[0] == pytest.approx(0.3, abs=1e-5)
    first = explain(few_matter, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf)
    assert not np.array_equal(first.points, found.points)


def test_a_radius_that_leaves_nothing():
    found = explain(few_matter, np.zeros(12), 1.0, 600, radius=10.0, norm=np.inf, refit=True)
    assert not found.coef.any()
    assert any("no feature to refit" in text for text in found.warnings)
    assert found.refusal == "the radius 10 leaves no feature to refit"


@pytest.mark.parametrize("radius", ["auto", 0.05])
@pytest.mark.parametrize("n", [13, 25, 60])
def test_few_points_give_exact_zeros_too(n, radius):
    slopes = np.zeros(40)
    slopes[:3] = [2.0, -1.5, 1.0]
    found = explain(
        lambda z: probability_of(z @ slopes), np.zeros(40), 1.0, n, label=1, radius=radius, norm=np.inf, refit=n > 13
    )
    chosen = np.flatnonzero(found.coef)
    assert len(chosen) <= 6
    assert np.abs(found.effect[chosen]).min(initial=1.0) > 1e-3


def test_a_refit_with_too_few_points_has_no_intervals():
    slopes = np.random.default_rng(0).normal(size=40)
    found = explain(
        lambda z: probability_of(z @ slopes + 0.5 * z[:, 0] * z[:, 1]), np.zeros(40), 1.0, 25,
        label=1, radius=1e-3, norm=np.inf, refit=True,
    )  # fmt: skip
    assert np.sum(found.coef != 0.0) >= 24
    assert found.refusal.startswith("25 different points with weight cannot show the noise")
    assert np.isnan(found.std_error).all()
    assert np.isnan(found.decision_interval().std_error).all()


def test_a_large_radius_is_named_and_not_the_black_box():
    found = explain(few_matter, np.zeros(12), 1.0, 600, radius=1.0)
    assert any(text.startswith("R2 is ") and "the radius 1 shrinks" in text for text in found.warnings)
    assert not any("far from linear" in text for text in found.warnings)
    off = explain(
        lambda z: probability_of(8.0 * z[:, 0]), [0.6], np.linspace(-1.0, 1.0, 50)[:, None], label=1, radius=1.0
    )
    assert any(text.startswith("at x itself") and "the radius 1 shrinks" in text for text in off.warnings)


# --- odd black boxes ---


def test_a_constant_black_box_has_nothing_to_explain():
    found = explain(lambda z: np.full(len(z), 0.7), X, 0.5, 100)
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)
    assert found.intercept == pytest.approx(np.log(0.7 / 0.3))
    assert np.isnan(found.std_error).all()
    assert "nothing to explain" in found.warnings[0]
    assert np.isnan(found.fidelity.r2)
    assert found.fidelity.agreement == 1.0
    assert "not shown" in str(found.summary())


@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_black_box_that_is_always_sure(answer):
    found = explain(lambda z: np.full(len(z), answer), X, 0.5, 100, label=1)
    np.testing.assert_allclose(found.coef, 0.0, atol=1e-12)
    assert (found.intercept > 20.0) == (answer == 1.0)


@pytest.mark.parametrize("floor", [1e-12, 1e-3])
@pytest.mark.parametrize("swap", [False, True])
def test_a_hard_and_separable_black_box_has_an_answer_and_a_warning(floor, swap):
    found = explain(
        lambda z: (z[:, 0] + z[:, 1] > 0.2).astype(float), [0.0, 0.0], 1.0, 800, label=1, floor=floor, swap=swap
    )
    assert found.fit.solution.status.ok
    assert np.all(found.coef > 0.0)
    assert found.coef[0] == pytest.approx(found.coef[1], rel=0.2)
    assert any("depend on that floor" in text for text in found.warnings)


def test_a_forest_with_zeros_and_ones():
    data = np.random.default_rng(1).normal(size=(300, 3))
    model = RandomForestClassifier(20, random_state=0).fit(data, data[:, 0] + 0.2 * data[:, 1] > 0.0)
    found = explain(model, [0.1, 0.0, 0.0], Box(data=data), 500, label=True)
    assert np.argmax(np.abs(found.effect)) == 0
    assert found.coef[0] > 0.0
    assert found.fidelity.held_out
    assert found.fidelity.auc > 0.9


def test_a_feature_that_never_changes_is_named():
    x = pd.DataFrame({"a": [0.1], "b": [0.2]})
    rows = pd.DataFrame({"a": np.random.default_rng(0).normal(size=50), "b": 0.2})
    found = explain(lambda z: probability_of(z["a"].to_numpy() + z["b"].to_numpy() ** 2), x, rows)
    assert np.isnan(found.std_error).tolist() == [False, True]
    assert any(text.startswith("b: never changes") for text in found.warnings)


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("constant", [1.0, "u"])
def test_a_constant_column_of_a_table_is_named(constant, place):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 4)), columns=list("abcd"))
    frame.insert(place, "still", constant)
    for near in (Tabular(frame), frame) if constant == 1.0 else (Tabular(frame),):
        found = explain(lambda z: probability_of(z["a"].to_numpy() - z["b"].to_numpy()), frame.iloc[0], near, label=1)
        slope = {"a": 1.0, "b": -1.0}
        np.testing.assert_allclose(found.coef, [slope.get(name, 0.0) for name in found.names], atol=1e-6)
        assert np.isnan(found.std_error[place])
        assert any(text.startswith("still") and "never changes" in text for text in found.warnings)


def test_words_that_are_never_off_are_named():
    found = [
        explain(lambda z: probability_of(np.array([len(t) / 10.0 for t in z]) - 1.0), "one two three four five six",
                Words(keep=0.95), 40, label=1, n_test=0, rng=seed)
        for seed in range(20)
    ]  # fmt: skip
    still = [np.ptp(one.points, axis=0) == 0.0 for one in found]
    assert any(each.any() for each in still)
    for one, never in zip(found, still, strict=True):
        assert one.fit.solution.status.ok
        assert any("never changes" in text for text in one.warnings) == never.any()


@pytest.mark.parametrize(
    ("keep", "n", "told"), [(0.5, 300, False), (0.8, 1000, False), (0.95, 300, True), (0.05, 300, True)]
)
def test_features_that_are_rarely_off_or_on_are_told(keep, n, told):
    near = Tabular(pd.DataFrame({"u": list("ab") * 10, "v": list("ccdd") * 5}), keep=keep)
    black_box = lambda z: probability_of((z["u"] == "a").to_numpy() * (1.0 + (z["v"] == "c").to_numpy()) - 0.5)  # noqa: E731
    found = explain(black_box, ["a", "c"], near, n, label=1)
    assert any(text.startswith("u = a, v = c: rarely off, or rarely on") for text in found.warnings) == told
    weighted = explain(black_box, ["a", "c"], near, n, label=1, kernel_width=0.3)  # what is far counts for little
    assert any("rarely off" in text for text in weighted.warnings) or not told


def test_no_more_different_points_than_coefficients_have_no_intervals():
    rows = np.repeat([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], 20, axis=0)
    found = explain(lambda z: probability_of(z[:, 0] + z[:, 1] ** 2 - 0.3), [0.0, 0.0], rows)
    assert found.refusal.startswith("3 different points with weight cannot show the noise of 2 coefficients")
    assert np.isnan(found.std_error).all()
    # one feature that is on or off has two points, and no others: the fit is exact
    one = explain(lambda z: probability_of(z[:, 0] - 0.3), [1.0], OnOff(), 50, label=1)
    assert not one.refusal
    np.testing.assert_allclose(one.coef, 1.0, atol=1e-6)


def test_features_that_change_together_are_told():
    z = np.random.default_rng(0).normal(size=(60, 1))
    found = explain(lambda z: probability_of(z[:, 0]), [0.0, 0.0], np.concatenate([z, 2 * z], axis=1))
    assert any("always change together" in text for text in found.warnings)


def test_a_black_box_that_is_far_from_linear_is_told():
    found = explain(lambda z: probability_of(5.0 * np.cos(4.0 * z[:, 0])), [0.0], 2.0, 400)
    assert any(text.startswith("R2 is ") for text in found.warnings)


# --- points ---


def test_given_points_are_all_used():
    rows = np.random.default_rng(0).normal(size=(70, 3))
    for perturbation, n in ((rows, 1000), (Points(rows), 1000), (Points(rows), 20)):
        found = explain(linear, X, perturbation, n, label=1)
        np.testing.assert_array_equal(found.points, rows)
        assert not found.fidelity.held_out
        np.testing.assert_allclose(found.coef, SLOPES, atol=1e-5)
    with pytest.raises(pre.DataError, match=r"^refit: needs new points"):
        explain(linear, X, rows, refit=True, radius=0.1)


def test_frames_go_in_and_come_out():
    x = pd.Series({"u": 0.3, "v": -0.2, "w": 5.0})
    seen = []

    def frames(z):
        seen.append(z)
        return linear(z[["u", "v", "w"]].to_numpy())

    found = explain(frames, x, Box(0.5), 100, label=1)
    assert all(isinstance(z, pd.DataFrame) and list(z.columns) == ["u", "v", "w"] for z in seen)
    assert found.names == ("u", "v", "w")
    np.testing.assert_allclose(found.decision_function(pd.DataFrame([x])), [X @ SLOPES + 0.7], atol=1e-5)
    np.testing.assert_allclose(seen[0].to_numpy()[0], x.to_numpy())
    turned = pd.DataFrame([x])[["w", "u", "v"]]
    np.testing.assert_allclose(found.decision_function(turned), found.decision_function(X))


@pytest.mark.parametrize("library", [pd, pytest.importorskip("polars")])
def test_columns_are_matched_by_name(library):
    rng = np.random.default_rng(0)
    data = library.DataFrame({"a": rng.normal(size=100), "b": 1000.0 * rng.normal(size=100)})

    def classifier(z):
        return probability_of(z["a"].to_numpy() + z["b"].to_numpy() / 1000.0)

    x = data[["b", "a"]][:1]
    for perturbation in (Box(data=data), data, Points(data)):
        found = explain(classifier, x, perturbation, label=1)
        assert found.names == ("b", "a")
        np.testing.assert_allclose(found.coef, [1e-3, 1.0], rtol=1e-4)
        np.testing.assert_allclose(found.unit, data[["b", "a"]].to_numpy().std(axis=0))
        np.testing.assert_allclose(found.decision_function(data), found.decision_function(data[["b", "a"]]))
        with pytest.raises(pre.DataError, match=r"^z: lacks the column 'a'"):
            found.decision_function(data[["b"]])
    other = library.DataFrame({"a": [1.0, 2.0], "c": [1.0, 2.0]})
    with pytest.raises(pre.DataError, match=r"^data: lacks the column 'b' of x"):
        explain(classifier, x, Box(data=other))
    with pytest.raises(pre.DataError, match=r"^perturbation: lacks the column 'b' of x"):
        explain(classifier, x, other)


def test_a_series_is_matched_by_name():
    found = explain(lambda z: linear(z.to_numpy()), pd.Series(X, list("uvw")), 0.5, 100, label=1)
    row = pd.Series(X[::-1], list("wvu"))
    np.testing.assert_allclose(found.decision_function(row), found.decision_function(X))
    mixed = pd.Series({"u": 0.3, "v": -0.2, "w": True}, dtype=object)
    np.testing.assert_allclose(
        explain(lambda z: linear(z.to_numpy()), mixed, 0.5, 100, label=1).coef, SLOPES, atol=1e-5
    )


@pytest.mark.parametrize("recipe", [lambda data: Box(data=data), lambda data: data, Tabular])
def test_labels_of_columns_need_not_be_texts(recipe):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)))
    found = explain(lambda z: probability_of(z[0].to_numpy() - z[1].to_numpy()), data.iloc[0], recipe(data), label=1)
    assert found.names == ("0", "1")
    np.testing.assert_allclose(found.decision_function(data), data[0] - data[1], atol=1e-5)


def test_a_black_box_may_write_into_its_input():
    def careless(z):
        z += 1.0
        return linear(z - 1.0)

    for perturbation in (0.5, np.random.default_rng(0).normal(size=(50, 3))):
        found = explain(careless, X, perturbation, 100, label=1)
        np.testing.assert_allclose(found.coef, SLOPES, atol=1e-5)
        assert found.intercept == pytest.approx(0.7, abs=1e-4)


def test_boxes_are_bounded_and_take_their_size_from_the_data():
    data = np.random.default_rng(0).normal(size=(500, 3)) * [1.0, 10.0, 0.1]
    near = Box(0.5, data=data).around(X)
    np.testing.assert_allclose(near.unit, 0.5 * data.std(axis=0))
    z = near.draw(2000, np.random.default_rng(1))
    assert np.all(np.abs(z - X) <= near.unit)
    assert np.all(np.abs(z - X).max(axis=0) > 0.95 * near.unit)


def test_on_off_features_are_exact_for_a_linear_black_box():
    found = explain(linear, X, OnOff(off=[1.0, 2.0, 3.0]), 300, label=1, tol=1e-12)
    np.testing.assert_allclose(found.coef, SLOPES * (X - [1.0, 2.0, 3.0]), atol=1e-6)
    assert found.fit.offset == pytest.approx(X @ SLOPES + 0.7, abs=1e-6)


# --- tables ---


@pytest.fixture(scope="module")
def bank():
    rng = np.random.default_rng(0)
    n = 600
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "income": rng.gamma(4.0, 10.0, n),
            "job": rng.choice(["cook", "smith", "clerk"], n, p=[0.5, 0.3, 0.2]),
            "member": rng.random(n) < 0.4,
            "town": pd.Categorical(rng.choice(["A", "B"], n)),
        }
    )
    odds = 0.05 * (frame["age"] - 45) + 0.02 * frame["income"] - 1 + 1.5 * (frame["job"] == "cook") - frame["member"]
    labels = np.where(rng.random(n) < probability_of(odds.to_numpy()), "yes", "no")
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "member", "town"]), (StandardScaler(), ["age", "income"])
    )
    return frame, make_pipeline(columns, LogisticRegression()).fit(frame, labels)


def test_a_pipeline_with_categories(bank):
    frame, model = bank
    found = explain(model, frame.iloc[0], Tabular(frame), 800, label="yes")
    x = frame.iloc[0]
    assert found.names == ("age", "income", f"job = {x['job']}", f"member = {x['member']}", f"town = {x['town']}")
    scale, coef = model[0].transformers_[1][1].scale_, model[1].coef_[0]
    # all but the job, which has three categories, enter linearly: only drawing the other two makes noise
    assert np.all(np.abs(found.coef[:2] - coef[-2:] / scale) < 4.0 * found.std_error[:2])
    member = dict(zip(model[0].named_transformers_["onehotencoder"].get_feature_names_out(), coef, strict=False))
    step = member["member_True"] - member["member_False"]
    assert found.coef[3] == pytest.approx(step if x["member"] else -step, abs=4.0 * found.std_error[3])
    assert found.std_error[3] < 0.1 * abs(step)
    local, told = (answer(frame.iloc[[0]])[0, 1] for answer in (found.predict_proba, model.predict_proba))
    assert local == pytest.approx(told, abs=0.02)


def test_rows_around_a_row_look_like_the_data(bank):
    frame, _ = bank
    near = Tabular(frame, half_width=0.5).around(frame.iloc[[3]])
    rng = np.random.default_rng(0)
    z = near.draw(400, rng)
    rows = near.inputs(z, rng)
    assert dict(rows.dtypes) == dict(frame.dtypes)
    np.testing.assert_allclose(near.encode(rows), z)
    for name in ("age", "income"):
        assert rows[name].between(frame[name].min(), frame[name].max()).all()
        assert (rows[name] - frame[name].iloc[3]).abs().max() <= 0.5 * frame[name].std(ddof=0) + 1e-9
    assert set(rows["job"]) == {"cook", "smith", "clerk"}
    itself = near.inputs(near.origin[None, :], rng)
    pd.testing.assert_frame_equal(itself, frame.iloc[[3]].reset_index(drop=True))


def test_arrays_with_categorical_columns():
    data = np.column_stack([np.random.default_rng(0).normal(size=200), np.arange(200) % 3])
    found = explain(
        lambda z: probability_of(z[:, 0] - 2.0 * (z[:, 1] == 1.0)),
        data[1],
        Tabular(data, categorical=[1]),
        500,
        label=1,
    )
    assert found.names == ("x0", "x1 = 1.0")
    np.testing.assert_allclose(found.coef, [1.0, -2.0], atol=1e-5)
    np.testing.assert_allclose(found.decision_function(data[:2]), [data[0, 0], data[1, 0] - 2.0], atol=1e-5)


def test_arrays_of_objects():
    data = np.array([[0.1 * i, "uv"[i % 2]] for i in range(40)], dtype=object)
    found = explain(
        lambda z: probability_of(z[:, 0].astype(float) + (z[:, 1] == "u")), data[4], Tabular(data), 300, label=1
    )
    assert found.names == ("x0", "x1 = u")
    np.testing.assert_allclose(found.coef, [1.0, 1.0], atol=1e-5)


def counted(z):
    return probability_of(z["a"].to_numpy().astype(float) + z["b"].to_numpy())


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int64", 0.5), ("uint8", 300), ("uint8", -1), ("Int8", 200), ("Int64", 1.5), ("float32", 1e300), ("bool", 0.5),
     ("boolean", 2), ("category", 7), ("int64", 1e300)],
)  # fmt: skip
def test_what_a_column_cannot_hold_is_refused(kind, value):
    data = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0.1, 0.2, 0.3, 0.4]}).astype({"a": kind})
    with pytest.raises(pre.DataError, match=rf"^x: column 'a' is .*, which its type {kind} in the data cannot hold"):
        explain(counted, {"a": value, "b": 0.2}, Tabular(data))


@pytest.mark.parametrize("kind", ["int64", "uint8", "Int8", "float32", "Float32", "bool", "boolean", "category"])
def test_every_type_of_column_comes_back_as_it_was(kind):
    data = pd.DataFrame({"a": [0, 1, 1, 0] * 5, "b": np.linspace(0.0, 1.0, 20)}).astype({"a": kind})
    near = Tabular(data).around({"a": 1, "b": 0.1})
    rng = np.random.default_rng(0)
    itself = near.inputs(near.origin[None, :], rng)
    assert dict(itself.dtypes) == dict(data.dtypes)
    assert float(itself["a"][0]) == 1.0
    z = near.draw(50, rng)
    np.testing.assert_allclose(near.encode(near.inputs(z, rng)), z, atol=1e-6)


def test_whole_numbers_of_an_array_and_an_x_between_them():
    data = np.random.default_rng(0).integers(0, 5, (100, 2))
    with pytest.raises(pre.DataError, match=r"^x: column 'x0' is 2.5, which its type int64"):
        explain(lambda z: probability_of(z[:, 0] - z[:, 1]), [2.5, 2.5], Tabular(data))
    with pytest.raises(pre.DataError, match=r"^x: column 'x1' is 2.5"):  # a category that the array would cut
        explain(lambda z: probability_of(z[:, 0] - z[:, 1]), [2, 2.5], Tabular(data, categorical=[1]))


def test_texts_in_an_array_are_not_cut():
    data = np.array([["u", "v"], ["w", "v"], ["w", "z"]] * 10)
    found = explain(lambda z: probability_of(2.0 * (z[:, 0] == "longer")), ["longer", "v"], Tabular(data), label=1)
    np.testing.assert_allclose(found.coef, [2.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("gone", [None, np.nan, pd.NA])
def test_a_missing_category_is_a_category(gone):
    data = pd.DataFrame({"c": ["u", "v", gone] * 10, "b": np.linspace(0.0, 1.0, 30)}, dtype=object).astype({"b": float})
    found = explain(
        lambda z: probability_of(2.0 * z["c"].isna().to_numpy()), {"c": gone, "b": 0.5}, Tabular(data), 300, label=1
    )
    np.testing.assert_allclose(found.coef, [2.0, 0.0], atol=1e-6)


def test_one_row_is_a_table_of_one_row(bank):
    frame, model = bank
    found = explain(model, frame.iloc[0], Tabular(frame), 300, label="yes")
    expected = found.decision_function(frame.iloc[[0]])
    for row in (frame.iloc[0], frame.iloc[0][::-1], dict(frame.iloc[0]), found.origin, found.origin[None]):
        np.testing.assert_allclose(found.decision_function(row), expected)
    with pytest.raises(pre.DataError, match=r"^z: lacks the columns income"):
        found.decision_function(frame.iloc[0].drop("income"))
    with pytest.raises(pre.DataError, match=r"^z: column 'income' holds values that are not finite"):
        found.decision_function({**frame.iloc[0], "income": np.nan})


# --- texts and images ---


def test_words_of_a_linear_classifier_are_exact():
    texts = ["good film", "bad film", "a good and fine film", "a bad and dull film", "fine", "dull"] * 5
    model = make_pipeline(CountVectorizer(binary=True), LogisticRegression()).fit(texts, [1, 0, 1, 0, 1, 0] * 5)
    found = explain(model, "A good but dull film, good!", n=400, label=1)
    assert found.names == ("A", "good", "but", "dull", "film")
    weights = dict(zip(model[0].get_feature_names_out(), model[1].coef_[0], strict=True))
    expected = [0.0, weights["good"], 0.0, weights["dull"], weights["film"]]
    np.testing.assert_allclose(found.coef, expected, atol=1e-5)
    near = found.near
    assert near.inputs(near.origin[None, :], None) == ["A good but dull film, good!"]
    np.testing.assert_allclose(found.decision_function("good film"), found.decision_function([[0, 1, 0, 0, 1]]))
    np.testing.assert_allclose(found.decision_function("goodness"), found.decision_function([[0, 0, 0, 0, 0]]))


def test_every_place_of_a_word_can_be_a_feature():
    near = Words(together=False, mask="[MASK]").around("to be or not to be")
    assert near.names == ("to (1)", "be (1)", "or", "not", "to (2)", "be (2)")
    assert near.inputs(np.array([[1.0, 0, 1, 1, 0, 1]]), None) == ["to [MASK] or not [MASK] be"]
    with pytest.raises(pre.DataError, match=r"^z: a text does not say which place of a word is on"):
        near.encode("to be")


@pytest.mark.parametrize("fill", [0.0, "mean", 0.5])
@pytest.mark.parametrize("labelled", [False, True])
def test_super_pixels_of_a_linear_classifier_are_exact(fill, labelled):
    rng = np.random.default_rng(0)
    image, slopes = rng.random((6, 5)), rng.normal(size=30)
    labels = np.array([[10, 10, 10, 20, 20]] * 3 + [[30, 30, 30, 40, 40]] * 3)
    recipe = SuperPixels((2, 2), labels=labels if labelled else None, fill=fill, flat=True)
    found = explain(lambda z: probability_of(z @ slopes), image, recipe, 200, label=1, tol=1e-12)
    off = np.full(image.shape, 0.0 if fill == "mean" else fill)
    if fill == "mean":
        for cell in (10, 20, 30, 40):
            off[labels == cell] = image[labels == cell].mean()
    change = (image - off) * slopes.reshape(6, 5)
    np.testing.assert_allclose(found.coef, [change[labels == c].sum() for c in (10, 20, 30, 40)], atol=1e-6)
    assert found.names[0] == ("segment 10" if labelled else "row 0, column 0")


def test_colour_images_are_read_in_parts(monkeypatch):
    import pre_convex.applications.explanation.superpixels as module

    monkeypatch.setattr(module, "NUMBERS", 4 * 6 * 3 * 10)
    sizes = []

    def classifier(images):
        sizes.append(images.shape)
        return probability_of(images.astype(float).mean(axis=(1, 2, 3)) / 50.0 - 1.0)

    image = np.random.default_rng(0).integers(0, 255, (4, 6, 3)).astype(np.uint8)
    found = explain(classifier, image, SuperPixels((2, 3)), 60, n_test=0, label=1)
    assert set(sizes) == {(1, 4, 6, 3), (10, 4, 6, 3)}
    assert found.near.inputs(np.ones((1, 6)), None).dtype == np.uint8
    assert np.all(found.coef > 0.0)


@pytest.mark.parametrize(
    ("x", "perturbation", "things"),
    [(np.array([5.0, 7.0]), OnOff(), "columns"), ("five seven", Words(), "words"),
     (np.array([[5.0, 7.0]]), SuperPixels((1, 2)), "super-pixels")],
)  # fmt: skip
def test_features_are_on_or_off_and_nothing_else(x, perturbation, things):
    found = explain(lambda z: np.linspace(0.2, 0.6, len(z)), x, perturbation, 50, label=1)
    np.testing.assert_allclose(found.decision_function([1, 0]), found.coef[0] + found.intercept)
    np.testing.assert_allclose(found.decision_function([[1, 1]]), found.decision_interval().estimate)
    for wrong in ([5.0, 7.0], [[5.0, 7.0]], [[0.5, 1.0]]):
        with pytest.raises(pre.DataError, match=rf"^z: {things} are on \(1\) or off \(0\)"):
            found.decision_function(wrong)
    with pytest.raises(pre.DataError, match=rf"^z: has 3 columns for 2 {things}"):
        found.decision_function([1, 0, 1])


@pytest.mark.parametrize(
    ("kind", "fill", "message"),
    [("uint8", 0.5, "has values that the image's type uint8 cannot hold"), ("uint8", 300, "has values"),
     ("uint8", -1, "has values"), ("uint8", np.full((4, 4), 127.6), "has values"), ("float32", 1e300, "has values"),
     ("float64", np.nan, "has values that are not finite"), ("bool", 0.5, "has values"),
     ("float64", np.ones(3), "shape"), ("float64", None, "holds no numbers")],
)  # fmt: skip
def test_a_filling_that_the_image_cannot_hold(kind, fill, message):
    with pytest.raises(pre.DataError, match=f"^fill: {message}"):
        SuperPixels((2, 2), fill=fill).around(np.ones((4, 4), dtype=kind))


def test_the_mean_colour_of_whole_numbers_is_rounded():
    pixels = np.array([[0, 3, 3, 3], [1, 0, 0, 0]], dtype=np.uint8)
    recipe = SuperPixels((2, 1), fill="mean")
    assert recipe.around(pixels).filling.tolist() == [[2] * 4, [0] * 4]
    assert recipe.around(pixels > 0).filling.tolist() == [[True] * 4, [False] * 4]


# --- what is shown ---


def test_summary_and_frame():
    found = explain(bent, [0.1, 0.0], 1.0, 200, label=1)
    text = str(found.summary())
    assert text.startswith("Local explanation of 1 against the rest, n = 200")
    assert "agreement" in text
    frame = found.to_frame()
    assert list(frame["feature"]) == ["x0", "x1"]
    np.testing.assert_allclose(frame["coef"], found.coef)
    np.testing.assert_allclose(frame["effect"], found.coef * found.unit)
    np.testing.assert_allclose(frame["lower"], found.conf_int().lower)
    assert found.to_frame("polars").shape == frame.shape
    with pytest.raises(ValueError, match="read-only"):
        found.coef[0] = 1.0


@pytest.mark.parametrize(
    ("x", "perturbation"),
    [([0.1, 0.0], 1.0), ([0.1, 0.2], OnOff()), ([0.1, 0.0], np.random.default_rng(0).normal(size=(50, 2)))],
)
def test_explanations_can_be_sent_to_other_processes(x, perturbation):
    found = explain(bent, x, perturbation, 100, label=1)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.decision_function(found.points), found.decision_function(found.points))
    assert str(again.summary()) == str(found.summary())
    assert repr(again) == f"Explanation(label=1, 2 features, n={len(found.points)})"


def test_the_area_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, score, weights = rng.random(200) < 0.4, rng.integers(0, 20, 200) / 20.0, rng.random(200)
    assert roc_area(truth, score, weights) == pytest.approx(roc_auc_score(truth, score, sample_weight=weights))
    assert np.isnan(roc_area(np.ones(3, dtype=bool), np.arange(3.0)))


def drawn(axes):
    figure = axes.get_figure(root=True)
    figure.savefig(Path("/dev/null"), format="png")
    return axes


def test_bars_show_the_effects():
    found = explain(bent, [0.1, 0.0], Box([1.0, 0.5]), 300, label=1)
    axes = drawn(found.plot())
    order = np.argsort(-np.abs(found.effect))
    np.testing.assert_allclose(sorted(bar.get_width() for bar in axes.patches), sorted(found.effect))
    assert [t.get_text() for t in axes.get_yticklabels()] == [found.names[i] for i in order]
    assert "95 % intervals" in axes.get_title()
    sparse = explain(few_matter, np.zeros(12), 1.0, 300, radius=0.1, norm=np.inf)
    title = " ".join(drawn(sparse.plot()).get_title().split())
    assert "no intervals: the radius 0.1 shrinks" in title
    assert f"{np.sum(sparse.coef == 0.0)} features have no effect" in title
    nothing = drawn(explain(lambda z: np.full(len(z), 0.7), [0.1, 0.1], 1.0, 50).plot())
    assert nothing.get_legend() is None


def test_the_boundary_is_where_the_odds_are_even():
    found = explain(bent, [0.1, 0.0], 1.0, 300, label=1)
    axes = drawn(found.plot_boundary(bent))
    line = next(line for line in axes.lines if line.get_label() == "local classifier, one half")
    np.testing.assert_allclose(found.decision_function(line.get_xydata()), 0.0, atol=1e-9)
    with pytest.raises(pre.DataError, match=r"^plot_boundary: there are 3 features"):
        explain(linear, X, 0.5, 100).plot_boundary()


def test_super_pixels_are_coloured_by_their_effect():
    image = np.zeros((4, 4))
    image[:2, :2] = 1.0
    found = explain(
        lambda z: probability_of(z[:, 0] + z[:, 5] - 0.5), image, SuperPixels((2, 2), flat=True), 100, label=1
    )
    axes = drawn(found.plot_image())
    shade = axes.images[1].get_array()
    np.testing.assert_allclose(shade[:2, :2], found.coef[0])
    np.testing.assert_allclose(drawn(found.plot_image(clear=True)).images[1].get_array()[2:], 0.0, atol=1e-6)
    with pytest.raises(pre.DataError, match=r"^plot_image: what was explained is not an image"):
        explain(linear, X, 0.5, 100).plot_image()


# --- mistakes ---


@pytest.mark.parametrize(
    ("message", "arguments"),
    [
        ("perturbation: how far points may lie from x", (linear, X)),
        ("half_width: how far points may lie", (linear, X, Box())),
        ("half_width: -1 is not positive", (linear, X, -1)),
        ("perturbation: is neither", (linear, X, [0.5, 0.5, 0.5])),
        ("data: has 2 columns, x has 3", (linear, X, Box(data=np.eye(2)))),
        ("x: is empty", (linear, [], 0.5)),
        ("x: entry 1 is nan", (linear, [0.0, np.nan, 1.0], 0.5)),
        ("x: has shape \\(8, 8\\); pass one row", (linear, np.eye(8), 0.5)),
        ("x: is a text; leave the perturbation out", (linear, "a b", 0.5)),
        ("x: holds rows of different lengths", (linear, [[1.0], [1.0, 2.0]], 0.5)),
        ("x: the column 'a' stands there twice", (linear, pd.Series([1.0, 2.0], ["a", "a"]), 0.5)),
        (
            "x: a column stands there twice",
            (linear, pd.Series(X, ["a", "a", "b"]), Tabular(pd.DataFrame({"a": [1.0]}))),
        ),
        ("perturbation: Box is a class", (linear, X, Box)),
        ("pattern: is not a regular expression", (linear, "a b", Words(pattern=None))),
        ("mask: None is not a text", (linear, "a b", Words(mask=None))),
        ("grid: \\(3.7, 2\\) is not a pair of whole", (linear, np.eye(4), SuperPixels((3.7, 2)))),
        ("categorical: 9 is not a column", (linear, X, Tabular(np.eye(3), categorical=[9]))),
        ("categorical: True is not a column", (linear, X, Tabular(np.eye(3), categorical=[True, False, True]))),
        ("categorical: 'x0' is not a sequence", (linear, X, Tabular(np.eye(3), categorical="x0"))),
        ("categorical: None is not a sequence", (linear, X, Tabular(np.eye(3), categorical=None))),
        (
            "data: column 'a' holds values that cannot be counted",
            (linear, {"a": 1}, Tabular(pd.DataFrame({"a": [[1]]}))),
        ),
        ("data: column 'a' has numbers too large", (linear, {"a": 1}, Tabular(pd.DataFrame({"a": [2**60, 1]})))),
        ("predict_proba: its answers are not", (lambda z: np.full((len(z), 1000), 0.00105), X, 0.5)),
        ("x: has 2 rows", (linear, pd.DataFrame(np.eye(2)), 0.5)),
        ("x: ndarray is not a text", (linear, X, Words())),
        ("x: has no word", (linear, "...", None)),
        ("keep: 0 is not between", (linear, "a b", Words(keep=0.0))),
        ("grid: 9 × 9 super-pixels do not fit", (linear, np.eye(4), SuperPixels((9, 9)))),
        ("labels: shape", (linear, np.eye(4), SuperPixels(labels=np.eye(3)))),
        ("fill: 'median' is not known", (linear, np.eye(4), SuperPixels((2, 2), fill="median"))),
        ("x: shape", (linear, X, SuperPixels())),
        ("categorical: 'z' is not a column", (linear, X, Tabular(np.eye(3), categorical=["z"]))),
        ("x: has 2 entries, the data has 3 columns", (linear, X[:2], Tabular(np.eye(3)))),
        ("n: 1 is not a whole number", (linear, X, 0.5, 1)),
        ("n: 4 points cannot tell 3 features apart", (linear, X, 0.5, 4)),
        ("predict_proba: int is no function", (3, X, 0.5)),
        ("predict_proba: answers with shape", (lambda z: np.zeros((2, 2)), X, 0.5)),
        ("predict_proba: its answers are not probabilities", (lambda z: z[:, 0] * 9, X, 0.5)),
        ("predict_proba: 1 of 1 answers are not finite", (lambda z: np.full(len(z), np.nan), X, 0.5)),
        ("predict_proba: answers with several arrays", (lambda z: [np.ones((len(z), 1))] * 2, X, 0.5)),
    ],
)
def test_mistakes_are_named(message, arguments):
    with pytest.raises(pre.DataError, match=f"^{message}"):
        explain(*arguments)


@pytest.mark.parametrize(
    ("message", "options"),
    [
        ("label: 7 is not a column", {"label": 7}),
        ("label: array.* is not a column", {"label": np.array([0, 1])}),
        ("kernel_width: 1e-200 leaves no point", {"kernel_width": 1e-200}),
        ("kind: 'robust' is not known", {"kind": "robust", "radius": 0.1}),
        ("kernel_width: 0 is not positive", {"kernel_width": 0.0}),
        ("radius: 'best' is not known", {"radius": "best"}),
        ("radius: -1 is negative", {"radius": -1.0}),
        ("floor: 0 is not between", {"floor": 0.0}),
        ("refit: needs a positive radius", {"refit": True}),
        ("rng: -1 is no seed", {"rng": -1}),
        ("n_test: 0.5 is not", {"n_test": 0.5}),
        ("kind: 'robust' is not known", {"kind": "robust"}),
    ],
)
def test_wrong_options_are_named(message, options):
    with pytest.raises(pre.DataError, match=f"^{message}"):
        explain(linear, X, 0.5, 100, **options)


def test_what_is_not_a_row_of_features_is_refused():
    found = explain(linear, X, 0.5, 100)
    with pytest.raises(pre.DataError, match=r"^z: has 2 columns for 3 features"):
        found.decision_function([[0.0, 0.0]])
    with pytest.raises(pre.DataError, match=r"^x: lacks the columns b"):
        Tabular(pd.DataFrame({"a": [1.0], "b": [2.0]})).around({"a": 1.0})
    with pytest.raises(pre.DataError, match=r"^x: column 'a' is nan"):
        Tabular(pd.DataFrame({"a": [1.0, 2.0]})).around({"a": np.nan})
    assert BlackBox(linear).classes is None


# --- the measured coverage ---


def test_the_page_quotes_the_stored_coverage():
    text = (ROOT / "docs" / "explanation.md").read_text(encoding="utf-8")
    with (ROOT / "benchmarks" / "results" / "explanation.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 24
    for row in rows:
        cells = [row[key] for key in row if key.endswith(("hc3", "centred", "at x"))]
        line = f"| {row['points']} | {float(row['sd']):g} | {float(row['steepness']):g} | {int(row['n']):,} | "
        assert line + " | ".join(f"{cell} %" for cell in cells) + " |" in text
    with (ROOT / "benchmarks" / "results" / "explanation-on-off.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        cells = [row[key] for key in ("least covered", "most covered", "log-odds at x", "warned", "refused")]
        line = f"| {float(row['keep']):g} | {int(row['n']):,} | "
        assert line + " | ".join(f"{cell} %" for cell in cells) + " |" in text
        if min(float(row["least covered"]), float(row["log-odds at x"])) < 90.0:  # no silence where intervals are short
            assert float(row["warned"]) > 95.0


def test_the_coverage_has_a_command_that_runs():
    command = [sys.executable, ROOT / "benchmarks" / "explanation_coverage.py", "--runs", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == 24 + 12
