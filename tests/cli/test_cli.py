"""The command line as a user sees it; bad options are in ``tests/contract/commands.py``."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.cli.fit import OUTPUTS


def run(*arguments, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-m", "pre_convex", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **(env or {})},
    )


def test_demo_certifies_the_answer_of_every_solver_and_writes_a_figure(tmp_path):
    for rows in ("20", "200"):  # the second figure replaces the first
        result = run("demo", "--rows", rows, cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    cone = [(solver, formulation) for solver in pre.installed_solvers()[1:] for formulation in ("primal", "dual")]
    for solver, formulation in [("newton", "both"), *cone]:
        row = next(line.split() for line in lines if line.split()[:2] == [solver, formulation])
        assert row[2] == "optimal"
        assert float(row[4]) <= 1e-8  # gap
        assert float(row[-1]) <= 1e-5  # distance to the exact δ
    assert max(map(len, lines)) <= 80
    picture = (tmp_path / "demo-output" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_solvers_lists_what_is_installed(run_here):
    result = run_here("solvers")
    assert result.returncode == 0
    for solver in pre.installed_solvers():
        assert solver in result.stdout


def test_version():
    assert run("--version").stdout.strip() == f"pre_convex {pre.__version__}"


def test_help_lists_every_command_in_alphabetical_order_and_each_has_its_own(run_here):
    shown = run_here("--help").stdout.splitlines()
    commands = ["balance", "bench", "demo", "detect", "experiment", "explore", "fit", "predict", "solvers", "teach"]
    assert [word for line in shown if (word := line.strip("│ ").split(" ")[0]) in commands] == commands
    for command in commands:
        assert "--help" in run_here(command, "--help").stdout


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_says_what_to_install(tmp_path, missing):
    # a finder that does not find the package stands in for an environment without it
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nold = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name == '{missing}' else old(name, *a)\n"
    )
    result = run("solvers", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 1
    assert missing in result.stderr
    assert "pip install 'pre_convex[cli]'" in result.stderr


def table(path, x, log_lik, columns=("age", "dose")):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "ll"])
        writer.writerows(np.column_stack([x, log_lik]).tolist())


@pytest.fixture
def files(tmp_path):
    rng = np.random.default_rng(0)
    for name, n, mean in (("P", 200, 0.5), ("Q", 300, 0.0)):
        x = rng.normal(mean, 1.0, size=(n, 2))
        log_lik = -0.5 * ((x - [1.0, 0.0]) ** 2).sum(axis=1)
        table(tmp_path / f"{name}.csv", x, log_lik)
        np.savez(tmp_path / f"{name}.npz", x=x, columns=np.array(["age", "dose"]), ll=log_lik)
        polars = pytest.importorskip("polars")
        polars.DataFrame({"age": x[:, 0], "dose": x[:, 1], "ll": log_lik}).write_parquet(tmp_path / f"{name}.parquet")
    return tmp_path


def test_fit_reads_three_formats_and_writes_results(files, run_here):
    printed = []
    for kind in ("csv", "npz", "parquet"):
        options = ("--loglik-p", "ll", "--loglik-q", "ll", "--features", "polynomial", "--out", f"out-{kind}")
        result = run_here("fit", f"P.{kind}", f"Q.{kind}", *options, cwd=files)
        assert result.returncode == 0, result.stderr
        printed.append(result.stdout.split("written")[0])
        results = json.loads((files / f"out-{kind}" / "results.json").read_text())
        assert results["features"] == ["age", "dose", "age^2", "dose^2"]
        assert results["status"] == "OPTIMAL"
        assert results["certificate"]["gap"] < 1e-8
        lines = (files / f"out-{kind}" / "coefficients.csv").read_text().splitlines()
        assert lines[0] == "feature,coef,std_error,z,p_value,lower,upper"
        assert len(lines) == 5
        names = {path.name for path in (files / f"out-{kind}").iterdir()}
        assert names == {
            "fit.npz", "results.json", "coefficients.csv", "weights.csv",
            "coefficients.png", "weights.png", "balance.png", "ratio.png",
        }  # fmt: skip
    assert printed[0] == printed[1] == printed[2]
    assert "age^2" in printed[0]
    assert "divergence" in printed[0]


def test_a_fit_is_called_kliep_unless_it_has_likelihoods(files, run_here):
    for options, name in (((), "KLIEP, n_p"), (("--loglik-q", "ll"), "PosteriorRatio, n_p")):
        for side in ("P", "Q"):  # without the column of likelihoods, unless it is named
            x = np.load(files / f"{side}.npz")
            columns = {"ll": x["ll"]} if options and side == "Q" else {}
            np.savez(files / f"{side}2.npz", x=x["x"], **columns)
        result = run_here("fit", "P2.npz", "Q2.npz", *options, cwd=files)
        assert result.stdout.startswith(name), result.stderr


def test_fit_chooses_radius_and_solver(files, run_here):
    likelihoods = ("--loglik-p", "ll", "--loglik-q", "ll")
    result = run_here("fit", "P.csv", "Q.csv", *likelihoods, "--radius", "auto", cwd=files)
    assert "not shown" in result.stdout
    options = ("--solver", "CLARABEL", "--formulation", "dual")
    result = run_here("fit", "P.npz", "Q.npz", *likelihoods, *options, cwd=files)
    assert "CLARABEL, dual" in result.stdout


ODD = ("[/x]", "[bold]a", ":bug:", "a[0]", "\x1b[31mred")


@pytest.mark.parametrize("name", ODD)
def test_odd_names_of_files_are_printed_as_they_are(files, run_here, name):
    shown = name.replace("\x1b", r"\x1b")
    for command in (
        ("explore", "--no-open", "--out", f"{name}.html"),
        ("teach", "1", "--no-open", "--out", name),
        ("fit", "P.npz", "Q.npz", "--out", f"{name}-fit"),
    ):
        result = run_here(*command, cwd=files)
        assert result.returncode == 0, result.stderr
        assert shown in result.stdout
        assert "\x1b" not in result.stdout
    result = run_here("fit", name, "Q.csv", cwd=files)
    assert result.returncode == 2
    assert shown in result.stderr
    assert "\x1b" not in result.stderr


@pytest.mark.parametrize(
    ("command", "output"),
    [
        (("explore", "--no-open", "--out", "page.html"), "page.html"),
        (("fit", "P.csv", "Q.csv", "--out", "out"), "out/results.json"),
        (("fit", "P.csv", "Q.csv", "--out", "out"), "out/weights.csv"),
        (("fit", "P.csv", "Q.csv", "--out", "out"), "out/ratio.png"),
        (("teach", "1", "--no-open", "--out", "out"), "out/01_two_samples.ipynb"),
    ],
)
def test_a_file_of_others_is_replaced_only_if_asked(files, run_here, command, output):
    path = files / output
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine")
    before = sorted(files.rglob("*"))
    result = run_here(*command, cwd=files)
    assert result.returncode == 2
    assert "--out" in result.stderr
    assert "--replace" in result.stderr
    assert path.read_text() == "mine"
    assert sorted(files.rglob("*")) == before
    # the plot of the ratio is only drawn for two columns
    arguments = ("--loglik-p", "ll", "--loglik-q", "ll") if command[0] == "fit" else ()
    result = run_here(*command, *arguments, "--replace", cwd=files)
    assert result.returncode == 0, result.stderr
    assert path.read_bytes() != b"mine"


def test_an_explorer_replaces_an_older_one(tmp_path, run_here):
    for _ in range(2):
        assert run_here("explore", "--no-open", cwd=tmp_path).returncode == 0


def test_fit_checks_every_file_that_it_may_write(files, run_here):
    options = ("--loglik-p", "ll", "--loglik-q", "ll", "--radius", "cv", "--out", "out")
    assert run_here("fit", "P.csv", "Q.csv", *options, cwd=files).returncode == 0
    assert {path.name for path in (files / "out").iterdir()} == set(OUTPUTS)


def test_names_that_look_like_formulas_are_text_in_spreadsheets(files, run_here):
    rng = np.random.default_rng(0)
    for name in "PQ":
        table(files / f"{name}2.csv", rng.normal(size=(90, 2)), np.zeros(90), ("=1+2", "@x"))
    options = ("--loglik-p", "ll", "--loglik-q", "ll", "--out", "o")
    assert run_here("fit", "P2.csv", "Q2.csv", *options, cwd=files).returncode == 0
    cells = [line.split(",")[0] for line in (files / "o" / "coefficients.csv").read_text().splitlines()]
    assert cells == ["feature", "'=1+2", "'@x"]
    assert json.loads((files / "o" / "results.json").read_text())["features"] == ["=1+2", "@x"]
