"""Calibration of a survey to known totals, compared with R's survey package (``benchmarks/survey.R``)."""

import csv
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pre_convex as pre

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
METHODS = {
    "raking": {},
    "linear": {"divergence": "chi2"},
    "bounded": {"divergence": "chi2", "bounds": (0.6, 1.7)},
    "api99": {"divergence": "chi2", "bounds": (0.6, 1.5)},
}


def stored():
    with (BENCHMARKS / "results" / "survey.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


ROWS = stored()
CELLS = [row for row in ROWS if row["kind"] == "cell"]


def sample():
    """One row for each school; all that is known of it is its cell, and the mean outcomes there."""
    counts = [int(cell["value"]) for cell in CELLS]
    table = pd.DataFrame(
        {
            "stype": [cell["stype"] for cell in CELLS],
            "met": [cell["sch_wide"] for cell in CELLS],
            **{name: [float(c[name]) / n for c, n in zip(CELLS, counts, strict=True)] for name in ("api00", "enroll")},
        }
    )
    return table.loc[np.repeat(np.arange(len(CELLS)), counts)].reset_index(drop=True)


def population():
    """Size of the population and totals of the indicators."""
    totals = {row["stype"] or row["sch_wide"]: float(row["value"]) for row in ROWS if row["kind"] == "total"}
    named = {"stype[T.H]": totals["H"], "stype[T.M]": totals["M"], "met[T.Yes]": totals["Yes"]}
    return totals["No"] + totals["Yes"], named


def calibrated(method, table, y, **parameters):
    size, totals = population()
    base = np.full(len(table), float(next(row["value"] for row in ROWS if row["kind"] == "base")))
    model = pre.Balance(formula="stype + met", **METHODS[method], **parameters)
    return model.fit(table, y=table[y], base_weights=base, targets=totals, total=size), base


def answer(method):
    row = next(row for row in ROWS if row["kind"] == "answer" and row["method"] == method)
    return float(row["api00"]), float(row["enroll"])


@pytest.mark.parametrize("method", ["raking", "linear", "bounded"])
def test_weights_means_and_totals_are_those_of_r(method):
    table = sample()
    api00, enroll = answer(method)
    fit, base = calibrated(method, table, "enroll")
    assert fit.effect_.name == "total"
    assert fit.effect_.estimate == pytest.approx(enroll, rel=1e-6)
    assert fit.weights_ @ table["api00"] / fit.weights_.sum() == pytest.approx(api00, rel=1e-6)
    ratios = {
        (row["stype"], row["sch_wide"]): float(row["value"])
        for row in ROWS
        if row["kind"] == "ratio" and row["method"] == method
    }
    expected = [ratios[key] for key in zip(table["stype"], table["met"], strict=True)]
    np.testing.assert_allclose(fit.weights_ / base, expected, rtol=1e-6)


def test_the_numbers_are_those_of_the_goal():
    assert answer("raking") == pytest.approx((641.23, 3_647_280), rel=1e-5)


def test_bounds_that_no_weights_satisfy_are_infeasible():
    size, totals = population()
    with pytest.raises(pre.InfeasibleError):
        pre.Balance(formula="stype + met", bounds=(0.6, 1.5)).fit(sample(), targets=totals, total=size)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="the rows are read from R's survey package")
def test_linear_calibration_with_bounds_is_that_of_r():
    run = ["Rscript", str(BENCHMARKS / "survey.R"), "rows"]
    found = subprocess.run(run, capture_output=True, text=True, check=False)
    if found.returncode:
        pytest.skip("R has no survey package")
    lines = list(csv.reader(found.stdout.splitlines()))
    size, *totals = (float(x) for x in lines[0][1:4])
    base, api99, met, api00, enroll = np.array([[float(x) for x in line[1:]] for line in lines[1:]]).T
    X = np.column_stack([api99, met])
    fit = pre.Balance(**METHODS["api99"]).fit(X, y=enroll, base_weights=base, targets=totals, total=size)
    ratio = fit.weights_ / base
    assert (ratio.min(), ratio.max()) == pytest.approx((0.6, 1.5))
    assert fit.effect_.estimate == pytest.approx(answer("api99")[1], rel=1e-6)
    assert fit.weights_ @ api00 / fit.weights_.sum() == pytest.approx(answer("api99")[0], rel=1e-6)


def test_bounds_are_on_weights_over_base_weights_also_if_their_sums_differ():
    rng = np.random.default_rng(0)
    X, base = rng.normal(size=(200, 1)), np.full(200, 30.0)
    fit = pre.Balance(bounds=(0.7, 1.8)).fit(X, base_weights=base, targets=[7000 * 0.25], total=7000.0)
    ratio = fit.weights_ / base
    assert fit.weights_.sum() == pytest.approx(7000.0)
    assert (ratio.min(), ratio.max()) == pytest.approx((0.7, 1.8))


@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl"])
def test_the_standard_error_is_that_of_the_residuals(divergence):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 2))
    y = X @ [2.0, -1.0] + rng.normal(size=300)
    fit = pre.Balance(divergence=divergence, tol=1e-11).fit(X, y=y, targets=[0.1, -0.1])
    step, base = 1e-3, np.ones(300)
    estimates = []
    for sign in (1.0, -1.0):
        base[5] = 1.0 + sign * step
        model = pre.Balance(divergence=divergence, tol=1e-11)
        estimates.append(model.fit(X, y=y, base_weights=base, targets=[0.1, -0.1]).effect_.estimate)
    assert fit.effect_.influence[5] == pytest.approx((estimates[0] - estimates[1]) / (2 * step), rel=1e-4)
    assert fit.effect_.std_error < 0.6 * y.std() / np.sqrt(300)  # most of the variance of y is explained


@pytest.mark.parametrize("divergence", ["kl", "chi2", "reverse-kl"])
def test_the_standard_error_is_that_of_the_jackknife(divergence):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    model = pre.Balance(divergence=divergence)

    def mean(rows):
        return model.fit(X[rows], y=y[rows], targets=[0.2, -0.2, 0.1]).effect_.estimate

    every = np.arange(80)
    changes = np.array([mean(every[every != i]) for i in every]) - mean(every)
    model.fit(X, y=y, targets=[0.2, -0.2, 0.1])
    assert model.effect_.std_error == pytest.approx(np.sqrt(changes @ changes), rel=0.05)


def test_targets_by_name_leave_other_features_out():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=["age", "dose"])
    fit = pre.Balance().fit(X, targets={"dose": 0.2})
    assert fit.feature_names_ == ("dose",)
    assert fit.weights_ @ X["dose"] == pytest.approx(0.2)


# --- targets and columns by name ---


def survey(n=400, seed=3):
    """A sample with categories, numbers, an outcome and design weights."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n, p=[0.6, 0.4]),
            "age": rng.choice(["young", "middle", "old"], n, p=[0.2, 0.3, 0.5]),
            "household": rng.integers(1, 6, n),
            "votes": rng.integers(0, 2, n),
            "weight": rng.uniform(50.0, 150.0, n),
        }
    )


BY_CATEGORY = {"sex": {"f": 26000, "m": 24000}, "age": {"young": 14000, "middle": 16000, "old": 20000}}
BY_FEATURE = {"sex[T.m]": 24000, "age[T.old]": 20000, "age[T.young]": 14000}


def test_targets_by_category_are_those_of_the_formula():
    table = survey()
    given = {"y": "votes", "base_weights": "weight", "total": 50000.0}
    named = pre.Balance().fit(table, targets=BY_CATEGORY, **given)
    formula = pre.Balance(formula="sex + age").fit(table, targets=BY_FEATURE, **given)
    assert named.weights_ == pytest.approx(formula.weights_, rel=1e-8)
    assert named.effect_.std_error == pytest.approx(formula.effect_.std_error, rel=1e-8)
    for column, sizes in BY_CATEGORY.items():
        for category, size in sizes.items():
            assert named.weights_[table[column] == category].sum() == pytest.approx(size, rel=1e-8)
    shares = {"sex": {"f": 0.52, "m": 0.48}, "household": 2.5}
    assert pre.Balance().fit(table, targets=shares).feature_names_ == ("sex=m", "household")


def test_every_kind_of_table_has_columns_by_name(tmp_path):
    table = survey()
    table.to_csv(tmp_path / "table.csv", index=False)
    table.to_parquet(tmp_path / "table.parquet", index=False)
    files = [tmp_path / "table.csv", str(tmp_path / "table.parquet")]
    kinds = [pl.from_pandas(table), pa.Table.from_pandas(table), *files]
    fits = [
        pre.Balance().fit(kind, y="votes", base_weights="weight", targets=BY_CATEGORY, total=50000.0)
        for kind in [table, *kinds]
    ]
    assert len({fit.effect_.estimate for fit in fits}) == 1
    numbers = table.drop(columns=["sex", "age"])
    by_name = pre.Balance().fit(numbers, "votes", "weight")
    arrays = pre.Balance().fit(numbers[["household"]], numbers["votes"], numbers["weight"])
    assert by_name.feature_names_ == ("household",)
    assert str(by_name.effect_) == str(arrays.effect_)
    formula = pre.Balance(formula="sex + age").fit(tmp_path / "table.csv", "votes", "weight")
    assert str(formula.effect_) == str(pre.Balance(formula="sex + age").fit(table, "votes", "weight").effect_)


@pytest.mark.parametrize(
    ("argument", "changes"),
    [
        ("targets", {"targets": {"age": {"young": 0.4, "old": 0.6}}}),
        ("targets", {"targets": {"sex": {"f": 0.5, "m": 0.4, "d": 0.1}}}),
        ("targets", {"targets": {"sex": {"f": 0.5, "m": 0.4}}}),
        ("targets", {"targets": BY_CATEGORY}),
        ("targets", {"targets": {"sex": 0.5}}),
        ("targets", {"targets": {"town": {"a": 1.0}}}),
        ("targets", {"targets": {"sex": {}}}),
        ("X", {"targets": [0.5]}),
        ("y", {"y": "vote"}),
        ("y", {"y": [np.nan] * 400}),
        ("base_weights", {"X": np.zeros((400, 1)), "base_weights": "weight"}),
    ],
)
def test_targets_and_columns_that_do_not_fit_are_refused(argument, changes):
    with pytest.raises(pre.DataError) as error:
        pre.Balance().fit(**{"X": survey(), "targets": {"household": 2.5}, **changes})
    assert error.value.argument == argument


def test_limits_are_in_units_of_the_population():
    table = survey()
    given = {"base_weights": "weight", "targets": BY_CATEGORY, "total": 50000.0}
    assert pre.Balance().fit(table, **given).weights_.max() > 250.0
    assert pre.Balance(max_weight=250.0).fit(table, **given).weights_.max() == pytest.approx(250.0)
    for name, value in {"max_weight": 120.0, "bounds": (0.8, 1.2)}.items():  # both leave no room for the total
        with pytest.raises(pre.DataError) as error:
            pre.Balance(**{name: value}).fit(table, **given)
        assert error.value.argument == name
        assert "total 50000" in error.value.reason
    with pytest.raises(pre.DataError) as error:
        pre.Balance(max_weight=250.0).fit(table, targets={"household": 2.5})
    assert error.value.argument == "max_weight"


def test_totals_without_their_size_are_pointed_out():
    with pytest.raises(pre.InfeasibleError, match="pass total, the size of the population"):
        pre.Balance(formula="sex + age").fit(survey(), targets=BY_FEATURE)


def test_groups_that_do_not_overlap_are_pointed_out():
    table = survey()
    with pytest.raises(pre.InfeasibleError, match="outside the range of the control rows, 0 to 0"):
        pre.Balance(formula="sex").fit(table, table["sex"] == "m")
    with pytest.raises(pre.DataError, match="1 for treated") as error:
        pre.Balance(formula="age").fit(table, "sex")
    assert error.value.argument == "treatment"


@pytest.mark.parametrize("limit", [{"max_weight": 140.0}, {"bounds": (0.7, 1.35)}])
def test_advised_limits_work(limit):
    (name,) = limit
    table, given = survey(), {"base_weights": "weight", "targets": BY_CATEGORY, "total": 50000.0}
    with pytest.raises(pre.InfeasibleError) as error:
        pre.Balance(**limit).fit(table, **given)
    (advice,) = (one for one in error.value.advice if name in one)
    assert str(advice[name]) in str(error.value) or f"{advice[name]:g}" in str(error.value)
    assert pre.Balance(**advice).fit(table, **given).solutions_["sample"].status is pre.Status.OPTIMAL


def test_limits_that_do_not_help_are_not_advised():
    with pytest.raises(pre.InfeasibleError) as error:
        pre.Balance(bounds=(0.5, 2.0)).fit(survey(), targets={"household": 9.0})
    assert "widen the bounds" not in str(error.value)
