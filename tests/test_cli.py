"""The command line as a user sees it, in a process of its own."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pytest

import pre_convex as pre


def run(*arguments, cwd=None, env=None):
    return subprocess.run(
        [sys.executable, "-m", "pre_convex", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "80", **(env or {})},
    )


def test_demo_proves_every_engine_and_writes_a_figure(tmp_path):
    result = run("demo", "--rows", "200", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    for solver in pre.installed_solvers():
        for formulation in ("primal", "dual"):
            row = next(line.split() for line in lines if line.split()[:2] == [formulation, solver])
            assert row[2] == "optimal"
            assert float(row[-3]) <= 1e-8  # gap
            assert float(row[-2]) <= 1e-5  # distance to the exact δ
    assert "it proves the answer" in result.stdout
    assert max(map(len, lines)) <= 80
    picture = (tmp_path / "demo-output" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_solvers_lists_what_is_installed(run_here):
    result = run_here("solvers")
    assert result.returncode == 0
    for solver in pre.installed_solvers():
        assert solver in result.stdout


def test_help_and_version():
    assert "demo" in run("--help").stdout
    assert run("--version").stdout.strip() == f"pre_convex {pre.__version__}"


def test_an_output_folder_that_cannot_be_made_is_one_line_and_exit_code_two(tmp_path, run_here):
    (tmp_path / "file").write_text("in the way")
    result = run_here("demo", "--rows", "50", "--out", str(tmp_path / "file" / "folder"))
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: --out: cannot write")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_extra_says_what_to_install(tmp_path, missing):
    # a finder that knows nothing of the package stands in for an environment without it
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nold = u.find_spec\n"
        f"u.find_spec = lambda name, *a: None if name == '{missing}' else old(name, *a)\n"
    )
    result = run("solvers", env={"PYTHONPATH": str(tmp_path)})
    assert result.returncode == 1
    assert f"{missing} is not installed; run: pip install 'pre_convex[cli]'" in result.stderr


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
            "results.json", "coefficients.csv", "weights.csv",
            "coefficients.png", "weights.png", "balance.png", "ratio.png",
        }  # fmt: skip
    assert printed[0] == printed[1] == printed[2]
    assert "age^2" in printed[0]
    assert "divergence" in printed[0]


def test_fit_chooses_radius_and_solver(files, run_here):
    likelihoods = ("--loglik-p", "ll", "--loglik-q", "ll")
    result = run_here("fit", "P.csv", "Q.csv", *likelihoods, "--radius", "auto", cwd=files)
    assert "not shown" in result.stdout
    options = ("--solver", "CLARABEL", "--formulation", "dual")
    result = run_here("fit", "P.npz", "Q.npz", *likelihoods, *options, cwd=files)
    assert "CLARABEL, dual" in result.stdout


BAD = {
    "missing file": (("P.csv", "absent.csv"), "absent.csv: cannot be read (No such file or directory)"),
    "ending": (("P.csv", "Q.xls"), "the ending '.xls' is not known"),
    "text in a cell": (("text.csv", "Q.csv"), "line 3, column 'dose' holds 'many', which is not a number"),
    "empty cell": (("hole.csv", "Q.csv"), "line 2, column 'age' holds '', which is not a number"),
    "short line": (("short.csv", "Q.csv"), "line 2 has 1 cells, the header has 3"),
    "header only": (("header.csv", "Q.csv"), "has a header and no rows"),
    "empty": (("empty.csv", "Q.csv"), "empty.csv: is empty"),
    "nan": (("nan.csv", "Q.csv"), "line 2, column 'dose' holds 'nan', which is not a number"),
    "no header": (("bare.csv", "Q.csv"), "bare.csv: has no header; its first line holds numbers"),
    "double column": (("twice.csv", "Q.csv"), "the column 'age' stands there twice"),
    "an index": (("index.csv", "index.csv"), "index.csv: column 1 has no name; name it, or take it out"),
    "other columns": (("other.csv", "Q.csv"), "its columns differ from those of P in age, dose, height, ll"),
    "pickled object": (("P.csv", "object.npz"), "object.npz: is not an npz file of plain arrays"),
    "no parquet": (("P.csv", "text.parquet"), "text.parquet: is not a Parquet file"),
    "binary": (("binary.csv", "Q.csv"), "binary.csv: is not a CSV file"),
    "likelihood column": (
        ("P.csv", "Q.csv", "--loglik-p", "nope"),
        "--loglik-p: 'nope' is not among the columns age, dose, ll",
    ),
    "radius": (("P.csv", "Q.csv", "--radius", "big"), "--radius: 'big' is neither"),
    "norm": (("P.csv", "Q.csv", "--norm", "7"), "norm: '7' is not known"),
    "solver": (("P.csv", "Q.csv", "--solver", "nope"), "solver: 'nope' is not known"),
    "features": (("P.csv", "Q.csv", "--features", "nope"), "features: 'nope' is not known"),
    "folder": (("P.csv", "Q.csv", "--out", "P.csv"), "--out: cannot write to P.csv"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_or_option_is_one_line_and_exit_code_two(files, case, run_here):
    (files / "text.csv").write_text("age,dose,ll\n1,2,0\n1,many,0\n")
    (files / "hole.csv").write_text("age,dose,ll\n,2,0\n")
    (files / "short.csv").write_text("age,dose,ll\n1\n")
    (files / "header.csv").write_text("age,dose,ll\n")
    (files / "empty.csv").write_text("")
    (files / "nan.csv").write_text("age,dose,ll\n1,nan,0\n")
    (files / "bare.csv").write_text("1,2,0\n3,4,0\n")
    (files / "twice.csv").write_text("age,age,ll\n1,2,0\n")
    (files / "other.csv").write_text("height\n1\n2\n")
    (files / "index.csv").write_text(",age,dose\n0,1,2\n1,3,5\n")
    (files / "Q.xls").write_text("x")
    (files / "text.parquet").write_text("not parquet")
    (files / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    np.savez(files / "object.npz", x=np.array([object()], dtype=object))
    arguments, message = BAD[case]
    result = run_here("fit", *arguments, cwd=files)
    assert result.returncode == 2
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
