"""What README and docs say is what happens."""

import contextlib
import csv
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def assert_same(printed, expected):
    """The same words; numbers may differ in the last place, or where they are round-off."""
    words, wanted = printed.split(), expected.split()
    assert len(words) == len(wanted), printed
    for word, want in zip(words, wanted, strict=True):
        if word != want:
            assert float(word.strip("[],()%:;")) == pytest.approx(float(want.strip("[],()%:;")), rel=0.01, abs=1e-12)


PAGES = sorted(p for p in [ROOT / "README.md", *ROOT.glob("docs/*.md")] if "```python" in p.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_every_python_block_runs_and_prints_what_it_shows(page):
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    scope = {}
    compared = 0
    for (language, code), (following, expected) in zip(blocks, [*blocks[1:], ("", "")], strict=True):
        if language != "python":
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, page.name, "exec"), scope)
        if following == "" and expected and printed.getvalue():
            assert_same(printed.getvalue(), expected)
            compared += 1
    assert compared >= 1


def test_the_benchmark_catches_the_solver_that_lies(tmp_path):
    blocks = BLOCK.findall((ROOT / "docs" / "benchmark.md").read_text(encoding="utf-8"))
    code = next(code for language, code in blocks if language == "python" and "def liar" in code)
    (tmp_path / "liar.py").write_text(code, encoding="utf-8")
    shown = next(text for _, text in blocks if text.startswith("$ pre-convex bench"))
    command, _, expected = shown.partition("\n")
    words = command.removeprefix("$ pre-convex").split()
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "pre_convex", *words],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == expected.split()


def test_relative_links_lead_somewhere():
    for page in [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
    ]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_commands_in_the_docs_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"):
        for target in re.findall(r"(?:^|`)make ([a-z-]+)\b", page.read_text(encoding="utf-8"), re.M):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page.name} names make {target}"


def table(name):
    with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def figures(row):
    return f"| {row['work']} | {row['measured']} {row['unit']} | {row['aim']} | {row['met']} |"


def test_quoted_costs_are_the_stored_ones():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for row in table("costs"):
        assert f"| {row['part']} | {row['ratio']} {row['unit']} |" in text


@pytest.mark.parametrize("page", ["README.md", "benchmarks/README.md", "docs/scale.md"])
def test_quoted_figures_are_the_stored_ones(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    quoted = re.search(r"<!-- scale -->\n(.*?)<!-- /scale -->", text, re.S)[1].splitlines()[2:]
    assert quoted
    for line in quoted:
        assert any(line.startswith(figures(row)) for row in table("scale")), line


def test_every_aim_is_in_the_readme(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import scale

    text = (ROOT / "README.md").read_text(encoding="utf-8")
    aims = [row for row in table("scale") if row["aim"]]
    assert len(aims) >= 25
    for row in aims:
        if scale.headline(row):
            assert figures(row) in text


def test_the_costs_have_a_command_that_runs():
    command = [sys.executable, ROOT / "benchmarks" / "costs.py", "--rows", "45000", "--repeats", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert len(result.stdout.splitlines()) == len(table("costs"))


def test_the_scale_benchmark_has_a_command_that_runs():
    command = [sys.executable, ROOT / "benchmarks" / "scale.py", "--quick", "--only", "passes", "small", "mapped"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "failed" not in result.stdout
    works = {row["work"].split(",")[0] for row in table("scale")}
    for line in result.stdout.splitlines():
        assert line.startswith("the machine is busy") or line.split(",")[0].strip() in works


def test_the_coverage_simulation_has_a_command_that_runs():
    command = [sys.executable, ROOT / "benchmarks" / "coverage.py", "--runs", "2"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "set-up of the paper" in result.stdout


def test_citation_is_valid():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["preferred-citation"]["title"] == "Posterior Ratio Estimation of Latent Variables"
    assert citation["license"] == "Apache-2.0"


def test_the_repository_names_no_registry_and_no_machine_path():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    words = re.compile("|".join(["pypi" + r"\.org", "file" + "://", "/work" + "/", "/ro" + "ot/", "npm" + "js"]))
    for name in tracked.stdout.splitlines():
        content = (ROOT / name).read_bytes()
        assert not words.search(content.decode("utf-8", errors="ignore")), name
