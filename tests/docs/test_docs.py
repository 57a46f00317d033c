"""What README and docs say is what happens."""

import ast
import contextlib
import csv
import io
import os
import re
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest
from quotes import quoted

import pre_convex.errors
from pre_convex import Status

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


def assert_same(printed, expected):
    """The same words; numbers may differ in the last place, or where they are round-off."""
    words, wanted = printed.split(), expected.split()
    assert len(words) == len(wanted), printed
    for word, want in zip(words, wanted, strict=True):
        if word != want:
            assert float(word.strip("[],()%:;")) == pytest.approx(float(want.strip("[],()%:;")), rel=0.01, abs=1e-12)


def sources():
    """Pages that are written by hand; what a build generates is not among them."""
    made = {ROOT / "docs" / name for name in ("_build", "lessons")}
    return [p for p in sorted(ROOT.glob("docs/**/*.md")) if not made & set(p.parents)]


PAGES = [p for p in [ROOT / "README.md", *sources()] if "```python" in p.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
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


@pytest.mark.parametrize("page", ["benchmark", "howto/add-a-solver"])
def test_a_function_on_a_page_runs_in_the_benchmark_and_gets_what_the_page_says(page, tmp_path):
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    shown = next(text for _, text in BLOCK.findall(text) if text.startswith("$ pre-convex bench"))
    command, _, expected = shown.partition("\n")
    words = command.removeprefix("$ pre-convex").split()
    module, function = words[-1].split(",")[-1].split(":")
    assert f"`{module}.py`" in text
    code = next(code for language, code in BLOCK.findall(text) if language == "python" and f"def {function}(" in code)
    (tmp_path / f"{module}.py").write_text(code, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "pre_convex", *words],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split() == expected.split()


def sentences(path, *functions):
    """What functions append or yield as text, each as its longest part without a number in it."""
    tree = ast.parse((ROOT / "pre_convex" / path).read_text(encoding="utf-8"))
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in functions:
            for node in ast.walk(function):
                said = None
                if isinstance(node, ast.Yield):
                    said = node.value
                elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "append":
                    said = node.args[0]
                elif isinstance(node, ast.Return) and isinstance(node.value, ast.List) and node.value.elts:
                    said = node.value.elts[0]
                if said is not None:
                    parts = said.values if isinstance(said, ast.JoinedStr) else [said]
                    yield max((str(p.value) for p in parts if isinstance(p, ast.Constant)), key=len).strip()


def printed_on(page):
    """All output that a page shows, which the test of its blocks compares with what is printed."""
    text = (ROOT / "docs" / "howto" / f"{page}.md").read_text(encoding="utf-8")
    return " ".join(" ".join(body.split()) for language, body in BLOCK.findall(text) if language == "")


@pytest.mark.parametrize(
    ("page", "path", "functions", "count"),
    [
        ("when-a-fit-warns", "statistics/diagnostics.py",
         ["_warnings", "_weight_warnings", "_outside", "recession_warnings", "dependence_warnings",
          "radius_warnings"], 10),
        ("when-a-score-or-explanation-warns", "applications/detection/diagnostics.py",
         ["score_warnings", "threshold_warning", "influence_warning"], 7),
        ("when-a-score-or-explanation-warns", "applications/explanation/diagnostics.py",
         ["explanation_warnings", "_few_points", "_poor_fit"], 11),
    ],
)  # fmt: skip
def test_every_warning_is_brought_about_on_the_page_that_explains_it(page, path, functions, count):
    found = list(sentences(path, *functions))
    assert len(found) >= count
    shown = printed_on(page)
    for sentence in found:
        assert sentence in shown, f"{page}.md shows no warning with: {sentence}"


def test_every_status_and_every_error_has_its_section():
    text = (ROOT / "docs" / "howto" / "when-a-fit-warns.md").read_text(encoding="utf-8")
    headings = " ".join(re.findall(r"^###? (.*)$", text, re.M)).split()
    for name in [*(status.name for status in Status), *pre_convex.errors.__all__]:
        assert name in headings, name
    shown = printed_on("when-a-fit-warns")
    for status in Status:
        assert status in shown


def test_every_how_to_page_is_a_question_and_is_listed():
    listed = (ROOT / "docs" / "howto" / "index.md").read_text(encoding="utf-8")
    pages = [p for p in ROOT.glob("docs/howto/*.md") if p.stem != "index"]
    assert len(pages) >= 9
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert text.splitlines()[0].startswith("# ")
        assert "?" in text.splitlines()[0], page.name
        assert f" <{page.stem}>\n" in listed, page.name
        assert "](../reference/" in text or "](../detection.md" in text or "](../equations.md" in text, page.name
        assert "](../lessons/" in text or page.stem in ("dask", "save-and-load"), page.name


def test_relative_links_lead_somewhere():
    lessons = ROOT / "docs" / "lessons"
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sources(), *ROOT.glob("benchmarks/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if link.startswith("https://"):
                continue  # make linkcheck asks other hosts
            target = (page.parent / link).resolve()
            if target.parent == lessons and target.suffix == ".rst":  # made by the build from a lesson's code
                source = "GALLERY_HEADER.rst" if target.stem == "index" else f"{target.stem}.py"
                target = ROOT / "pre_convex" / "teaching" / "lessons" / source
            assert target.exists(), f"{page.name}: {link}"


def test_the_commands_in_the_docs_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"):
        for target in re.findall(r"(?:^|`)make ([a-z-]+)\b", page.read_text(encoding="utf-8"), re.M):
            rule = rf"^(?:[a-z-]+ )*{target}(?: [a-z-]+)*:"
            assert re.search(rule, makefile, re.M), f"{page.name} names make {target}"


def table(name):
    with (ROOT / "benchmarks" / "results" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def figures(row):
    return f"| {row['work']} | {row['measured']} {row['unit']} | {row['aim']} | {row['met']} |"


def test_quoted_costs_are_the_stored_ones():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for row in table("costs"):
        assert f"| {row['part']} | {row['ratio']} {row['unit']} |" in text


@pytest.mark.parametrize("page", ["benchmarks/README.md", "docs/scale.md"])
def test_quoted_figures_are_the_stored_ones(page):
    lines = quoted(ROOT / page, "scale")[2:]
    assert lines
    for line in lines:
        assert any(line.startswith(figures(row)) for row in table("scale")), line


def test_every_aim_is_on_the_page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import scale

    text = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    aims = [row for row in table("scale") if row["aim"]]
    assert len(aims) >= 25
    for row in aims:
        if scale.headline(row):
            assert figures(row) in text


def compared(row):
    """Cells of a row of the comparison: this package, empirical_calibration, CLARABEL, densratio, L-BFGS-B."""
    text = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith(f"| {row} |"))
    return [cell.strip(" *") for cell in line.strip("|").split("|")[1:]]


def number(cell):
    return float(re.search(r"[\d.]+", cell)[0])


OF_PEER = {0: "pre_convex newton", 1: "empirical_calibration", 4: "scipy L-BFGS-B"}


@pytest.mark.parametrize(("column", "peer"), OF_PEER.items(), ids=OF_PEER.values())
def test_the_comparison_counts_what_is_stored(column, peer):
    run = [row for row in table("peers") if row["peer"] == peer and row["failure"] not in ("cannot state it",)]
    failed = [row["failure"] for row in run if row["failure"]]
    assert compared("failures on moment problems it can state")[column] == f"{len(failed)} of {len(run)}"
    false = sum(words == "claims an answer where there is none" for words in failed)
    assert compared("false claims of an answer")[column] == str(false)
    times = [float(row["time"]) for row in run if not row["failure"]]
    cell = compared("time on small problems, newton = 1")[column]
    assert number(cell) == pytest.approx(statistics.median(times), abs=0.01)


def test_the_comparison_has_the_times_of_large_problems():
    stored = {row["work"]: number(row["measured"]) for row in table("scale")}
    large, same = compared("time, 10⁶ rows, 20 columns, isotropic"), compared("the same, correlated")
    lbfgs = "L-BFGS-B (scipy's defaults)", "L-BFGS-B (asked for 1e-9, columns standardised)"
    for cell, who, rows, kind in (
        (large[1], "empirical_calibration", "1,000,000", "isotropic"),
        (same[1], "empirical_calibration", "1,000,000", "correlated"),
        (large[2], "CLARABEL", "100,000", "isotropic"),
        (large[4], lbfgs[0], "1,000,000", "isotropic"),
        (same[4], lbfgs[1], "1,000,000", "correlated"),
    ):
        assert number(cell) == pytest.approx(stored[f"solve against {who}, n = {rows}, k = 20, {kind}"], rel=0.005)


def test_the_comparison_has_what_the_solver_benchmark_says_of_clarabel():
    text = (ROOT / "docs" / "solvers.md").read_text(encoding="utf-8")
    solved, false = re.search(r"^\| CLARABEL primal \| 1e-6 \| \d+ % \| (\d+) \| (\d+) \|", text, re.M).groups()
    assert compared("failures on moment problems it can state")[2].startswith(f"{159 - int(solved)} of 159")
    assert compared("false claims of an answer")[2].startswith(false)
    slower = re.search(r"At 1e-6 newton is quickest.*?CLARABEL primal takes ([\d.]+) times", text)[1]
    assert compared("time on small problems, newton = 1")[2].startswith(slower)


def test_the_comparison_has_the_correlations_of_two_bumps():
    found = {}
    for row in table("peers"):
        if row["kind"] == "two bumps against one":
            found.setdefault(row["peer"], []).append(float(row["correlation"]))
    middle = {peer: round(statistics.median(values), 2) for peer, values in found.items()}
    cells = compared("two bumps against one: correlation with the truth")
    ours = middle["pre_convex, quadratic and kernel, cv"], middle["pre_convex, kernel, radius auto"]
    assert re.findall(r"0\.\d+", cells[0]) == [f"{value:.2f}" for value in ours]
    others = [value for peer, value in middle.items() if peer.startswith(("densratio", "adapt"))]
    assert re.findall(r"0\.\d+", cells[3]) == [f"{min(others):.2f}", f"{max(others):.2f}"]


def named_by_order(svg):
    """An SVG with names by their order, for those of letters and of clipped areas differ by matplotlib's version."""
    order = {name: f"n{i}" for i, name in enumerate(dict.fromkeys(re.findall(r'(?<= id=")[^"]+', svg)))}
    return re.sub(r'(?<= id=")[^"]+|(?<=#)[^"()]+(?=[")])', lambda found: order.get(found[0], found[0]), svg)


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "examples").glob("*.md")), ids=lambda page: page.stem)
def test_the_figure_of_an_example_is_shown(page):
    text = page.read_text(encoding="utf-8")
    drawn = "\nfigure = " in text or "\nfigure, " in text
    assert drawn == (f"]({page.stem}.png)" in text)
    assert drawn == page.with_suffix(".png").is_file(), "make picture"


def test_the_picture_is_what_its_script_draws(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    monkeypatch.syspath_prepend(ROOT / "docs")
    import picture

    number = re.compile(r"(?<![\w#.])-?\d+(?:\.\d+)?")
    stored = named_by_order((ROOT / "docs" / "picture.svg").read_text(encoding="utf-8"))
    drawn = named_by_order(picture.draw())
    assert number.sub("0", drawn) == number.sub("0", stored), "make picture"
    # other versions measure letters in another way, and leave more or less room for them
    drawn_with = f"matplotlib=={matplotlib.__version__.rpartition('.')[0]}."
    room = 0.02 if drawn_with in (ROOT / "constraints.txt").read_text(encoding="utf-8") else 5.0
    pairs = zip(number.findall(drawn), number.findall(stored), strict=True)
    assert max(abs(float(a) - float(b)) for a, b in pairs) < room


def test_the_proof_of_the_picture_holds(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    import picture

    fit, x_p, x_q = picture.fitted()
    upper, lower = picture.bounds(fit.problem_, 11).T
    best = fit.solution_.primal_value
    assert (upper >= best - 1e-9).all()
    assert (lower <= best + 1e-6).all()
    assert upper[-1] - lower[-1] < 1e-3
    x = np.concatenate([x_p, x_q])
    truth = picture.P.logpdf(x) - picture.Q.logpdf(x)
    band = fit.log_ratio_interval(x[:, None])
    assert ((band.lower < truth) & (truth < band.upper)).mean() > 0.9
    assert fit.sample_weight() @ x_q / len(x_q) == pytest.approx(x_p.mean())


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


def test_a_source_distribution_holds_what_readme_and_make_need():
    built = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = {link.partition("#")[0].split("/")[0] for link in re.findall(r"\]\((?!https?:)([^)]+)\)", text)}
    needed = {"Makefile", "constraints.txt"} if "make demo" in text else set()
    assert "docs" in linked
    assert (linked | needed) - set(built["sdist"]["include"]) == set()


def test_citation_is_valid():
    yaml = pytest.importorskip("yaml")
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["preferred-citation"]["title"] == "Posterior Ratio Estimation of Latent Variables"
    assert citation["license"] == "Apache-2.0"


def test_the_repository_names_no_registry_and_no_machine_path():
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    places = ["file" + "://", "/work" + "/", "/ro" + "ot/", "/tm" + "p/", "/ho" + "me/"]
    words = re.compile("|".join(["pypi" + r"\.org", "npm" + "js", *places]))
    for name in tracked.stdout.splitlines():
        content = (ROOT / name).read_bytes()
        assert not words.search(content.decode("utf-8", errors="ignore")), name
