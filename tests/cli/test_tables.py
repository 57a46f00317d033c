"""Tables as users have them: categories, missing values, keys, separators, gzip; fits that are used again."""

import csv
import gzip
import json
import re

import numpy as np
import pytest

import pre_convex as pre

pd = pytest.importorskip("pandas")


def frame(n, seed, shift):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"{'pq'[shift == 0]}{i}" for i in range(n)],
            "age": rng.normal(40.0 + shift, 10.0, n).round(1),
            "sex": rng.choice(["f", "m"], n, p=[0.5 + 0.02 * shift, 0.5 - 0.02 * shift]),
            "dose": rng.normal(size=n).round(3),
        }
    )


@pytest.fixture
def folder(tmp_path):
    p, q = frame(150, 0, 5), frame(250, 1, 0)
    q.loc[[3, 70], "dose"] = np.nan
    p.to_csv(tmp_path / "p.csv", index=False)
    q.to_csv(tmp_path / "q.csv", index=False)
    with gzip.open(tmp_path / "p.csv.gz", "wt") as file:
        p.to_csv(file, index=False, sep=";")
    q.to_parquet(tmp_path / "q.parquet")
    p.to_csv(tmp_path / "p.tsv", index=False, sep="\t")
    return tmp_path


OPTIONS = ("--categorical", "sex", "--key", "id", "--drop-missing")


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_the_weights_of_a_table_have_its_keys_and_balance_it(folder, run_here):
    result = run_here("fit", "p.csv", "q.csv", *OPTIONS, "--out", "out", cwd=folder)
    assert result.returncode == 0, result.stderr
    assert "q.csv: dropped 2 of 250 rows" in result.stdout
    assert "sex=m" in result.stdout
    weights = rows(folder / "out" / "weights.csv")
    p, q = (pd.read_csv(folder / f"{side}.csv") for side in "pq")
    q = q.dropna().set_index("id")
    assert [row["id"] for row in weights] == list(q.index)
    w = np.array([float(row["weight"]) for row in weights])
    assert w.sum() == pytest.approx(1.0)
    assert np.mean([float(row["sample_weight"]) for row in weights]) == pytest.approx(1.0)
    assert w @ q["age"] == pytest.approx(p["age"].mean())
    assert w @ (q["sex"] == "m") == pytest.approx((p["sex"] == "m").mean())
    assert json.loads((folder / "out" / "results.json").read_text())["categories"] == {"sex": ["f", "m"]}


@pytest.mark.parametrize(("p", "q"), [("p.csv.gz", "q.parquet"), ("p.tsv", "q.csv")])
def test_formats_give_the_same_summary(folder, run_here, p, q):
    first = run_here("fit", "p.csv", "q.csv", *OPTIONS, cwd=folder).stdout
    other = run_here("fit", p, q, *OPTIONS, cwd=folder).stdout
    assert other.partition("KLIEP")[2] == first.partition("KLIEP")[2]


def test_columns_are_chosen_by_name(folder, run_here):
    for options in (("--columns", "age"), ("--exclude", "id,sex,dose")):
        printed = run_here("fit", "p.csv", "q.csv", *options, cwd=folder).stdout
        assert [line.split()[0] for line in printed.splitlines()[4:5]] == ["age"]
        assert "dose" not in printed


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ((), ("columns id and sex hold text", "--key id --categorical sex", "--exclude")),
        (("--categorical", "sex"), ("line 2, column 'id' holds 'p0'", "--categorical id", "--key id", "--exclude id")),
        (("--key", "id"), ("column 'sex' holds", "--categorical sex")),
        (("--key", "id", "--categorical", "sex"), ("q.csv", "line 5, column 'dose' is missing", "--drop-missing")),
    ],
)
def test_what_is_no_number_is_named_with_the_option_that_helps(folder, run_here, options, parts):
    result = run_here("fit", "p.csv", "q.csv", *options, cwd=folder)
    assert result.returncode == 2
    for part in parts:
        assert part in result.stderr


def test_a_stored_fit_predicts_rows_of_other_files(folder, run_here):
    assert run_here("fit", "p.csv", "q.csv", *OPTIONS, "--out", "out", cwd=folder).returncode == 0
    shuffled = pd.read_csv(folder / "p.csv").iloc[:9, ::-1].assign(other="text")
    shuffled.to_csv(folder / "rows.csv", index=False)
    printed = run_here("predict", "out/fit.npz", "rows.csv", "--key", "id", "--level", "0.9", cwd=folder)
    assert printed.returncode == 0, printed.stderr
    found = list(csv.DictReader(printed.stdout.splitlines()))
    assert list(found[0]) == ["id", "ratio", "log_ratio", "lower", "upper"]
    assert [row["id"] for row in found] == list(shuffled["id"])
    fit = pre.load(folder / "out" / "fit.npz")
    x = np.column_stack([shuffled["age"], shuffled["sex"] == "m", shuffled["dose"]])
    np.testing.assert_allclose([float(row["ratio"]) for row in found], fit.ratio(x))
    for row in found:
        assert float(row["lower"]) < float(row["log_ratio"]) < float(row["upper"])
    shuffled.loc[0, "sex"] = "unknown"
    shuffled.to_csv(folder / "rows.csv", index=False)
    refused = run_here("predict", "out/fit.npz", "rows.csv", cwd=folder)
    assert "'unknown', which the fit has not seen" in refused.stderr
    (folder / "out" / "results.json").unlink()
    assert "FIT" in run_here("predict", "out/fit.npz", "rows.csv", cwd=folder).stderr


def test_an_infeasible_fit_advises_options_that_work(folder, run_here):
    far = pd.read_csv(folder / "p.csv")
    far["age"] += 40.0
    far.to_csv(folder / "far.csv", index=False)
    result = run_here("fit", "far.csv", "q.csv", *OPTIONS, cwd=folder)
    assert result.returncode == 2
    assert "outside the q range" in result.stderr
    for option in (("--radius", "cv"), ("--radius", "auto"), ("--exclude", "age")):
        assert " ".join(option) in result.stderr
        again = run_here("fit", "far.csv", "q.csv", *OPTIONS, *option, cwd=folder)
        assert again.returncode == 0, again.stderr


def test_groups_are_balanced(folder, run_here):
    q = pd.read_csv(folder / "q.csv").dropna()
    q["treated"] = (q["age"] > 38.0).astype(int) ^ (np.arange(len(q)) % 4 == 0)
    q["earned"] = 2.0 * q["treated"] + 0.1 * q["age"]
    q.to_csv(folder / "jobs.csv", index=False)
    options = ("--treatment", "treated", "--outcome", "earned", "--categorical", "sex", "--key", "id", "--out", "b")
    result = run_here("balance", "jobs.csv", *options, cwd=folder)
    assert result.returncode == 0, result.stderr
    results = json.loads((folder / "b" / "results.json").read_text())
    assert results["effect"]["estimate"] == pytest.approx(2.0)  # the outcome is linear in what is balanced
    assert max(abs(float(row["after"])) for row in rows(folder / "b" / "balance.csv")) < 1e-8
    weights = rows(folder / "b" / "weights.csv")
    assert [row["id"] for row in weights] == list(q["id"])
    assert {path.name for path in (folder / "b").iterdir()} == {
        *("weights.csv", "balance.csv", "results.json", "balance.png")
    }


@pytest.mark.parametrize("command", ["balance", "demo", "detect", "explore", "fit", "predict", "solvers", "teach"])
def test_every_command_has_an_example(run_here, command):
    assert f"pre-convex {command}" in " ".join(run_here(command, "--help").stdout.split())


def test_groups_in_conflict_advise_options_that_work(tmp_path, run_here):
    rng = np.random.default_rng(0)
    treated = np.arange(200) < 60
    rows = pd.DataFrame({"age": rng.normal(size=200) + 1.5 * treated, "treated": 1 * treated})
    rows["group"] = np.where(treated, "yes", "no")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = run_here("balance", "rows.csv", "--columns", "age", "--treatment", "group", cwd=tmp_path)
    assert "encode it as numbers, which --treatment needs" in words.stderr
    command = ("balance", "rows.csv", "--columns", "age", "--treatment", "treated", "--max-weight", "0.02")
    refused = run_here(*command, cwd=tmp_path)
    assert refused.returncode == 2
    assert "--max-weight" in refused.stderr
    assert "--exclude" in refused.stderr
    radius = re.search(r"--radius ([\d.]+\d)", refused.stderr).group(1)
    assert run_here(*command, "--radius", radius, cwd=tmp_path).returncode == 0


def test_a_fit_with_chosen_features_is_written_and_used_again(folder, run_here):
    result = run_here("fit", "p.csv", "q.csv", *OPTIONS, "--features", "auto", "--out", "out", cwd=folder)
    assert result.returncode == 0, result.stderr
    again = run_here("predict", "out/fit.npz", "p.csv", "--key", "id", "--out", "r.csv", cwd=folder)
    assert again.returncode == 0, again.stderr


def test_a_penalty_by_its_name_is_its_norm(folder, run_here):
    names = ("fit", "p.csv", "q.csv", *OPTIONS, "--radius", "0.1")
    lasso = run_here(*names, "--penalty", "l1", cwd=folder)
    assert "in norm inf" in lasso.stdout
    assert lasso.stdout == run_here(*names, "--norm", "inf", cwd=folder).stdout
    assert "debiased()" not in lasso.stdout  # for Python only
    both = run_here(*names, "--penalty", "l1", "--norm", "1", cwd=folder)
    assert (both.returncode, "--penalty" in both.stderr) == (2, True)


def test_a_decimal_comma_is_pointed_out(folder, run_here):
    pd.read_csv(folder / "q.csv")[["age"]].assign(n=1).to_csv(folder / "comma.csv", index=False, sep=";", decimal=",")
    result = run_here("fit", "p.csv", "comma.csv", "--columns", "age", cwd=folder)
    assert (result.returncode, "decimal point" in result.stderr) == (2, True)
    with pytest.raises(pre.DataError, match="decimal point"):
        pre.KLIEP().fit(folder / "comma.csv", folder / "comma.csv")


def test_a_lesson_is_kept_unless_it_has_changed(tmp_path, run_here):
    command = ("teach", "4", "--no-open")
    first, again = (run_here(*command, cwd=tmp_path) for _ in range(2))
    assert (again.returncode, again.stdout) == (0, first.stdout)
    (tmp_path / "lessons" / "04_dual.py").write_text("notes of my own")
    assert run_here(*command, cwd=tmp_path).returncode == 2
    assert (tmp_path / "lessons" / "04_dual.py").read_text() == "notes of my own"


def test_the_index_that_pandas_writes_is_left_out(folder, run_here):
    table = pd.read_csv(folder / "q.csv").dropna()[["age", "dose"]]  # rows are missing in its index
    table.to_csv(folder / "plain.csv", index=False)
    table.to_csv(folder / "index.csv")
    first, other = (
        run_here("fit", "p.csv", name, "--exclude", "id,sex", cwd=folder) for name in ("plain.csv", "index.csv")
    )
    assert other.stdout == first.stdout
    assert pre.KLIEP().fit(folder / "index.csv", folder / "plain.csv").feature_names_ == ("age", "dose")
    table.rename(index=lambda i: 0.5 * i).to_csv(folder / "index.csv")
    with pytest.raises(pre.DataError, match="column 1 has no name"):
        pre.KLIEP().fit(folder / "index.csv", folder / "plain.csv")
    assert "column 1 has no name" in run_here("fit", "plain.csv", "index.csv", cwd=folder).stderr
