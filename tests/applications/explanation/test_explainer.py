"""explain() and explain_all(): exact for linear log-odds; kernels, radii, classes, frames."""

import numpy as np
import pandas as pd
import pytest
from black_boxes import SLOPES, X, bent, linear, sparse, three_classes
from scipy.special import expit
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import pre_convex as pre
from pre_convex.applications.explanation import Box, Gaussian, Points, Tabular, explain, explain_all


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("kernel_width", [None, 0.4])
@pytest.mark.parametrize(
    "perturbation",
    [0.5, Box([0.5, 1.0, 2.0]), Box(data=np.random.default_rng(0).normal(size=(50, 3))), Gaussian(0.5)],
)
def test_linear_log_odds_are_recovered_exactly(perturbation, kernel_width, swap):
    found = explain(linear, X, perturbation, 300, label=1, kernel_width=kernel_width, swap=swap, tol=1e-12)
    np.testing.assert_allclose(found.coef, SLOPES, atol=1e-6)
    assert found.intercept == pytest.approx(0.7, abs=1e-5)
    assert found.decision_function(X)[0] == pytest.approx(X @ SLOPES + 0.7, abs=1e-5)
    assert found.predict_proba(X[None])[0] == pytest.approx([1 - linear(X[None])[0], linear(X[None])[0]], abs=1e-5)
    assert found.std_error.max() < 1e-5  # no noise if the log-odds are linear
    assert found.fidelity.r2 == pytest.approx(1.0, abs=1e-8)


def test_the_other_class_has_opposite_coefficients():
    one, zero = (explain(linear, X, 0.5, 300, label=label) for label in (1, 0))
    np.testing.assert_allclose(one.coef, -zero.coef, atol=1e-6)
    # if the log-odds are not linear, the other label swaps the roles of PRE
    one, zero = explain(bent, [0.1, 0.0], 1.0, 300, label=1, swap=True), explain(bent, [0.1, 0.0], 1.0, 300, label=0)
    np.testing.assert_allclose(one.coef, -zero.coef, atol=1e-8)
    assert one.intercept == pytest.approx(-zero.intercept, abs=1e-8)


@pytest.mark.parametrize("swap", [False, True])
def test_moments_match_including_the_offset(swap):
    found = explain(bent, [0.1, 0.0], 1.0, 400, label=1, swap=swap, kernel_width=0.7, tol=1e-12)
    u = found.points - found.origin
    weight = np.exp(-0.5 * (np.square(u).mean(axis=1)) / 0.7**2)
    odds = np.exp(found.decision_function(found.points))
    residual = (found.answers - (1 - found.answers) * odds) if swap else (1 - found.answers - found.answers / odds)
    assert (weight * residual).sum() == pytest.approx(0.0, abs=1e-7)
    np.testing.assert_allclose((weight * residual) @ u, 0.0, atol=1e-6)


def test_a_narrow_kernel_gives_the_gradient():
    x, step = np.array([0.3, 0.1]), 1e-5
    odds = np.array(
        [np.log(bent(z) / (1 - bent(z)))[0] for z in (x[None] + step * e for e in (*np.eye(2), *-np.eye(2)))]
    )
    gradient = (odds[:2] - odds[2:]) / (2 * step)
    wide, narrow = (explain(bent, x, 1.0, 4000, label=1, kernel_width=h).coef for h in (None, 0.05))
    assert np.linalg.norm(narrow - gradient) < 0.1 < np.linalg.norm(wide - gradient)


def test_a_wide_kernel_changes_nothing():
    same, wide = (explain(bent, [0.1, 0.0], 1.0, 200, kernel_width=h).coef for h in (None, 1e6))
    np.testing.assert_allclose(same, wide, rtol=1e-9)


def test_points_depend_on_the_seed_alone():
    first, again, other = (explain(bent, [0.1, 0.0], 1.0, 200, rng=s) for s in (3, 3, 4))
    assert np.array_equal(first.points, again.points)
    assert np.array_equal(first.coef, again.coef)
    assert not np.allclose(first.coef, other.coef, rtol=1e-3)


def test_every_class_is_explained_against_the_rest_from_the_same_points():
    found = explain_all(three_classes, [0.2, 0.5], 0.5, 400)
    assert list(found) == [0, 1, 2]
    for label, one in found.items():
        alone = explain(three_classes, [0.2, 0.5], 0.5, 400, label=label)
        np.testing.assert_array_equal(one.coef, alone.coef)
        assert one.label == label
        assert one.probability == pytest.approx(three_classes(np.array([[0.2, 0.5]]))[0, label])
    assert explain(three_classes, [0.2, 0.5], 0.5, 400).label == int(np.argmax(three_classes(np.array([[0.2, 0.5]]))))
    assert any("P is below one half" in text for text in found[2].warnings)


def test_labels_are_those_of_the_classifier():
    data = np.random.default_rng(0).normal(size=(300, 2))
    model = LogisticRegression().fit(data, np.where(data[:, 0] > 0, "yes", "no"))
    for classifier in (model, model.predict_proba):
        found = explain(classifier, [1.0, 0.0], 0.5, 200)
        assert found.label == "yes"
        np.testing.assert_allclose(found.coef, model.coef_[0], atol=1e-5)
        assert set(explain_all(classifier, [1.0, 0.0], 0.5, 200)) == {"no", "yes"}
    for label in ("maybe", ["no"]):
        with pytest.raises(pre.DataError) as error:
            explain(model, [1.0, 0.0], 0.5, label=label)
        assert error.value.argument == "label"
        assert "'no', 'yes'" in error.value.remedy


def test_a_radius_gives_sparse_coefficients_without_intervals():
    found = explain(sparse, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf)
    assert set(np.flatnonzero(found.coef)) == {0, 4}
    assert np.isnan(found.std_error).all()
    assert np.isnan(found.decision_interval().std_error).all()
    assert "the radius" in found.refusal
    text = str(found.summary())
    assert "10 of 12 features" in text
    assert found.to_frame()["lower"].isna().all()


def test_a_refit_on_new_points_has_intervals_for_the_selected_features():
    found = explain(sparse, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf, refit=True)
    chosen = np.flatnonzero(found.coef)
    np.testing.assert_allclose(found.coef[chosen], [2.0, -1.5], atol=1e-5)
    assert np.isfinite(found.std_error[chosen]).all()
    assert np.isnan(np.delete(found.std_error, chosen)).all()
    assert found.refusal == ""
    assert found.decision_interval().estimate[0] == pytest.approx(0.3, abs=1e-5)
    first = explain(sparse, np.zeros(12), 1.0, 600, label=1, radius="auto", norm=np.inf)
    assert not np.array_equal(first.points, found.points)


@pytest.mark.parametrize("radius", ["auto", 0.05])
@pytest.mark.parametrize("n", [13, 25, 60])
def test_coefficients_are_exactly_zero_even_with_few_points(n, radius):
    slopes = np.zeros(40)
    slopes[:3] = [2.0, -1.5, 1.0]
    found = explain(
        lambda z: expit(z @ slopes), np.zeros(40), 1.0, n, label=1, radius=radius, norm=np.inf, refit=n > 13
    )
    chosen = np.flatnonzero(found.coef)
    assert len(chosen) <= 6
    assert np.abs(found.effect[chosen]).min(initial=1.0) > 1e-3


def test_all_given_points_are_used():
    rows = np.random.default_rng(0).normal(size=(70, 3))
    for perturbation, n in ((rows, 1000), (Points(rows), 1000), (Points(rows), 20)):
        found = explain(linear, X, perturbation, n, label=1)
        np.testing.assert_array_equal(found.points, rows)
        assert not found.fidelity.held_out
        np.testing.assert_allclose(found.coef, SLOPES, atol=1e-5)


def test_the_black_box_gets_frames_if_x_is_one():
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
        return expit(z["a"].to_numpy() + z["b"].to_numpy() / 1000.0)

    x = data[["b", "a"]][:1]
    for perturbation in (Box(data=data), data, Points(data)):
        found = explain(classifier, x, perturbation, label=1)
        assert found.names == ("b", "a")
        np.testing.assert_allclose(found.coef, [1e-3, 1.0], rtol=1e-4)
        np.testing.assert_allclose(found.unit, data[["b", "a"]].to_numpy().std(axis=0))
        np.testing.assert_allclose(found.decision_function(data), found.decision_function(data[["b", "a"]]))
        with pytest.raises(pre.DataError) as error:
            found.decision_function(data[["b"]])
        assert error.value.argument == "z"
    other = library.DataFrame({"a": [1.0, 2.0], "c": [1.0, 2.0]})
    for argument, perturbation in (("data", Box(data=other)), ("perturbation", other)):
        with pytest.raises(pre.DataError, match="'b'") as error:
            explain(classifier, x, perturbation)
        assert error.value.argument == argument


def test_entries_of_a_series_are_matched_by_name():
    found = explain(lambda z: linear(z.to_numpy()), pd.Series(X, list("uvw")), 0.5, 100, label=1)
    row = pd.Series(X[::-1], list("wvu"))
    np.testing.assert_allclose(found.decision_function(row), found.decision_function(X))
    mixed = pd.Series({"u": 0.3, "v": -0.2, "w": True}, dtype=object)
    np.testing.assert_allclose(
        explain(lambda z: linear(z.to_numpy()), mixed, 0.5, 100, label=1).coef, SLOPES, atol=1e-5
    )


@pytest.mark.parametrize("recipe", [lambda data: Box(data=data), lambda data: data, Tabular])
def test_column_labels_may_be_numbers(recipe):
    data = pd.DataFrame(np.random.default_rng(0).normal(size=(50, 2)))
    found = explain(lambda z: expit(z[0].to_numpy() - z[1].to_numpy()), data.iloc[0], recipe(data), label=1)
    assert found.names == ("0", "1")
    np.testing.assert_allclose(found.decision_function(data), data[0] - data[1], atol=1e-5)


def test_the_black_box_may_overwrite_its_input():
    def careless(z):
        z += 1.0
        return linear(z - 1.0)

    for perturbation in (0.5, np.random.default_rng(0).normal(size=(50, 3))):
        found = explain(careless, X, perturbation, 100, label=1)
        np.testing.assert_allclose(found.coef, SLOPES, atol=1e-5)
        assert found.intercept == pytest.approx(0.7, abs=1e-4)


def test_a_forest_that_returns_zeros_and_ones_is_explained():
    data = np.random.default_rng(1).normal(size=(300, 3))
    model = RandomForestClassifier(20, random_state=0).fit(data, data[:, 0] + 0.2 * data[:, 1] > 0.0)
    found = explain(model, [0.1, 0.0, 0.0], Box(data=data), 500, label=True)
    assert np.argmax(np.abs(found.effect)) == 0
    assert found.coef[0] > 0.0
    assert found.fidelity.held_out
    assert found.fidelity.auc > 0.9


@pytest.mark.parametrize(
    ("argument", "x", "perturbation"),
    [
        ("x", "a b", 0.5),
        ("x", pd.Series([1.0, 2.0], ["a", "a"]), 0.5),
        ("x", pd.Series(X, ["a", "a", "b"]), Tabular(pd.DataFrame({"a": [1.0]}))),
        ("half_width", X, Box()),
        ("data", {"a": 1}, Tabular(pd.DataFrame({"a": [[1]]}))),  # unhashable
        ("data", {"a": 1}, Tabular(pd.DataFrame({"a": [2**60, 1]}))),  # rounded by floats
        ("categorical", X, Tabular(np.eye(3), categorical=[True, False, True])),
    ],
)
def test_points_and_data_that_do_not_fit_are_refused(argument, x, perturbation):
    with pytest.raises(pre.DataError) as error:
        explain(linear, x, perturbation)
    assert error.value.argument == argument


def test_a_kernel_that_gives_no_point_any_weight_is_refused():
    with pytest.raises(pre.DataError) as error:
        explain(linear, X, 0.5, 100, kernel_width=1e-200)
    assert error.value.argument == "kernel_width"
