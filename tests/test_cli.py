"""The command line as a user sees it, in a process of its own."""

import os
import subprocess
import sys

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


def test_solvers_lists_what_is_installed():
    result = run("solvers")
    assert result.returncode == 0
    for solver in pre.installed_solvers():
        assert solver in result.stdout


def test_help_and_version():
    assert "demo" in run("--help").stdout
    assert run("--version").stdout.strip() == f"pre_convex {pre.__version__}"


def test_an_output_folder_that_cannot_be_made_is_one_line_and_exit_code_two(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = run("demo", "--rows", "50", "--out", str(tmp_path / "file" / "folder"))
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
