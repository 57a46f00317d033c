"""Tables with numbers and categories, as frames and arrays."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import pre_convex as pre
from pre_convex.applications.explanation import Tabular, explain


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
    labels = np.where(rng.random(n) < expit(odds.to_numpy()), "yes", "no")
    columns = make_column_transformer(
        (OneHotEncoder(), ["job", "member", "town"]), (StandardScaler(), ["age", "income"])
    )
    return frame, make_pipeline(columns, LogisticRegression()).fit(frame, labels)


def test_a_pipeline_with_categories_is_explained(bank):
    frame, model = bank
    found = explain(model, frame.iloc[0], Tabular(frame), 800, label="yes")
    x = frame.iloc[0]
    assert found.names == ("age", "income", f"job = {x['job']}", f"member = {x['member']}", f"town = {x['town']}")
    scale, coef = model[0].transformers_[1][1].scale_, model[1].coef_[0]
    # all columns but the job, which has three categories, enter linearly
    assert np.all(np.abs(found.coef[:2] - coef[-2:] / scale) < 4.0 * found.std_error[:2])
    member = dict(zip(model[0].named_transformers_["onehotencoder"].get_feature_names_out(), coef, strict=False))
    step = member["member_True"] - member["member_False"]
    assert found.coef[3] == pytest.approx(step if x["member"] else -step, abs=4.0 * found.std_error[3])
    assert found.std_error[3] < 0.1 * abs(step)
    local, black_box = (answer(frame.iloc[[0]])[0, 1] for answer in (found.predict_proba, model.predict_proba))
    assert local == pytest.approx(black_box, abs=0.02)


def test_rows_have_the_types_and_ranges_of_the_data(bank):
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
        lambda z: expit(z[:, 0] - 2.0 * (z[:, 1] == 1.0)),
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
    found = explain(lambda z: expit(z[:, 0].astype(float) + (z[:, 1] == "u")), data[4], Tabular(data), 300, label=1)
    assert found.names == ("x0", "x1 = u")
    np.testing.assert_allclose(found.coef, [1.0, 1.0], atol=1e-5)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("int64", 0.5), ("uint8", 300), ("uint8", -1), ("Int8", 200), ("Int64", 1.5), ("float32", 1e300), ("bool", 0.5),
     ("boolean", 2), ("category", 7), ("int64", 1e300)],
)  # fmt: skip
def test_a_value_that_its_column_cannot_hold_is_refused(kind, value):
    data = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0.1, 0.2, 0.3, 0.4]}).astype({"a": kind})
    with pytest.raises(pre.DataError, match="'a'") as error:
        Tabular(data).around({"a": value, "b": 0.2})
    assert error.value.argument == "x"


@pytest.mark.parametrize("kind", ["int64", "uint8", "Int8", "float32", "Float32", "bool", "boolean", "category"])
def test_every_column_type_survives_a_round_trip(kind):
    data = pd.DataFrame({"a": [0, 1, 1, 0] * 5, "b": np.linspace(0.0, 1.0, 20)}).astype({"a": kind})
    near = Tabular(data).around({"a": 1, "b": 0.1})
    rng = np.random.default_rng(0)
    itself = near.inputs(near.origin[None, :], rng)
    assert dict(itself.dtypes) == dict(data.dtypes)
    assert float(itself["a"][0]) == 1.0
    z = near.draw(50, rng)
    np.testing.assert_allclose(near.encode(near.inputs(z, rng)), z, atol=1e-6)


def test_fractions_in_an_array_of_whole_numbers_are_refused():
    data = np.random.default_rng(0).integers(0, 5, (100, 2))
    for name, x, perturbation in (("x0", [2.5, 2.5], Tabular(data)), ("x1", [2, 2.5], Tabular(data, categorical=[1]))):
        with pytest.raises(pre.DataError, match=f"'{name}'") as error:
            perturbation.around(x)
        assert error.value.argument == "x"


def test_texts_longer_than_those_of_the_array_are_kept():
    data = np.array([["u", "v"], ["w", "v"], ["w", "z"]] * 10)
    found = explain(lambda z: expit(2.0 * (z[:, 0] == "longer")), ["longer", "v"], Tabular(data), label=1)
    np.testing.assert_allclose(found.coef, [2.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("gone", [None, np.nan, pd.NA])
def test_a_missing_category_is_a_category(gone):
    data = pd.DataFrame({"c": ["u", "v", gone] * 10, "b": np.linspace(0.0, 1.0, 30)}, dtype=object).astype({"b": float})
    found = explain(lambda z: expit(2.0 * z["c"].isna().to_numpy()), {"c": gone, "b": 0.5}, Tabular(data), 300, label=1)
    np.testing.assert_allclose(found.coef, [2.0, 0.0], atol=1e-6)


def test_a_single_row_may_be_a_series_a_mapping_or_features(bank):
    frame, model = bank
    found = explain(model, frame.iloc[0], Tabular(frame), 300, label="yes")
    expected = found.decision_function(frame.iloc[[0]])
    for row in (frame.iloc[0], frame.iloc[0][::-1], dict(frame.iloc[0]), found.origin, found.origin[None]):
        np.testing.assert_allclose(found.decision_function(row), expected)
    for wrong in (frame.iloc[0].drop("income"), {**frame.iloc[0], "income": np.nan}):
        with pytest.raises(pre.DataError, match="income") as error:
            found.decision_function(wrong)
        assert error.value.argument == "z"
