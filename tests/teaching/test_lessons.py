"""Lessons are well formed, and convert to scripts and notebooks that run."""

import ast
import json
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from pre_convex.cli.app import app
from pre_convex.errors import DataError
from pre_convex.teaching.catalogue import find_lesson, lessons
from pre_convex.teaching.notebook import to_markdown, to_notebook, to_script

LESSONS = lessons()
NUMBERED = [lesson for lesson in LESSONS if lesson.name.isdigit()]


def by_stem(lesson):
    return lesson.stem


def teach(folder, *words):
    return subprocess.run(
        [sys.executable, "-m", "pre_convex", "teach", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
    )


def test_lessons_are_numbered_without_a_gap():
    assert [int(lesson.name) for lesson in NUMBERED] == list(range(1, 15))
    assert [lesson.name for lesson in LESSONS[14:]] == ["errata"]


@pytest.mark.parametrize("lesson", LESSONS, ids=by_stem)
def test_every_lesson_has_a_title_text_and_code(lesson):
    book = json.loads(to_notebook(lesson))
    kinds = [cell["cell_type"] for cell in book["cells"]]
    assert kinds[0] == "markdown"
    assert kinds.count("code") >= 3
    assert book["cells"][0]["source"].startswith("# ")


@pytest.mark.parametrize("lesson", NUMBERED, ids=by_stem)
def test_every_exercise_has_a_solution_with_code(lesson):
    text = lesson.source
    asked = re.findall(r"^# \*\*Exercise (\d+)\.\*\*", text, re.M)
    solved = re.findall(r"^# Solution (\d+)\n# \^{3,}$", text, re.M)
    assert len(asked) >= 3
    assert asked == solved == [str(i + 1) for i in range(len(asked))]
    parts = re.split(r"^# Solution \d+\n# \^{3,}$", text, flags=re.M)[1:]
    for part in parts:
        assert re.search(r"^[^#\s]", part, re.M), "a solution has no code"


@pytest.mark.parametrize("lesson", LESSONS, ids=by_stem)
def test_a_lesson_states_what_its_code_checks(lesson):
    tree = ast.parse(lesson.source)
    assert sum(isinstance(node, ast.Assert) for node in ast.walk(tree)) >= 3


@pytest.mark.parametrize("lesson", LESSONS, ids=by_stem)
def test_figures_set_their_layout(lesson):
    """The site sets a style for figures; in a script or notebook labels would overlap without a layout."""
    calls = [node for node in ast.walk(ast.parse(lesson.source)) if isinstance(node, ast.Call)]
    figures = [call for call in calls if ast.unparse(call.func) in ("plt.subplots", "plt.figure")]
    assert figures
    for call in figures:
        assert {"layout", None} & {word.arg for word in call.keywords}, ast.unparse(call)


@pytest.mark.parametrize("lesson", LESSONS, ids=by_stem)
def test_notebooks_are_valid_and_contain_no_restructuredtext(lesson):
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.reads(to_notebook(lesson), as_version=4)
    nbformat.validate(book)
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    assert ast.dump(ast.parse(code)) == ast.dump(ast.Module(ast.parse(lesson.source).body[1:], []))
    for cell in book.cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"\$\$.*?\$\$|```.*?```|\$[^$]+\$|`[^`]+`", "", cell.source, flags=re.S)
            assert not re.search(r"^\s*\.\. |:\w+:`|``|`_|^[=^-]{3,}$|^::|\\ ", prose, re.M), prose
            assert prose.count("$") == 0, prose
            assert prose.count("`") == 0, prose
            assert not re.search(r"^(?![-+*>#\d]|  )\S.*\n(?:[-+*>#]|1\.) ", prose, re.M), (
                f"a list by accident: {prose}"
            )


@pytest.mark.parametrize("lesson", NUMBERED, ids=by_stem)
@pytest.mark.parametrize("make", [to_script, to_notebook])
def test_solutions_can_be_left_out(lesson, make):
    text = make(lesson, solutions=False)
    assert "Solution 1" not in text
    count = len(re.findall(r"^# \*\*Exercise \d+\.\*\*", lesson.source, re.M))
    assert text.count("Your answer here") == text.count("your code here") == count
    for number in range(1, count + 1):
        assert f"**Exercise {number}.**" in text
    if make is to_script:
        body = lesson.source.split("# Exercises\n")[0]
        kept = ast.parse(text).body[1:]
        assert ast.dump(ast.Module(kept, [])) == ast.dump(ast.Module(ast.parse(body).body[1 : len(kept) + 1], []))
        assert len(kept) == len(ast.parse(body).body) - 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Title\n=====\n\nText.", "# Title\n\nText."),
        ("A\n---", "## A"),
        ("Solution 1\n^^^^^^^^^^", "### Solution 1"),
        (r"the ratio :math:`r_\delta(x)` of", r"the ratio $r_\delta(x)$ of"),
        (".. math::\n\n   a = b\n\nand", "$$\na = b\n$$\n\nand"),
        (".. math::\n\n   a &= b \\\\\n     &= c", "$$\n\\begin{aligned}\na &= b \\\\\n  &= c\n\\end{aligned}\n$$"),
        ("* one\n\n  .. math::\n\n     x\n\n* two", "* one\n\n  $$\n  x\n  $$\n\n* two"),
        (".. note::\n\n   Take :math:`x`.\n\nOn.", "> **Note.**\n> Take $x$.\n\nOn."),
        (r"where :math:`\delta\ x` is", r"where $\delta\ x$ is"),
        ("``a * b`` and *text*.", "`a * b` and *text*."),
        (":doc:`the dual <04_dual>` and :doc:`/equations`", "*the dual* and *equations*"),
        ("lesson :doc:`04_dual`", "lesson *04 The Lagrangian dual, step by step*"),  # a number for pre-convex teach
        ("a long\n:math:`x\n+ y` one", "a long\n$x\n+ y$ one"),
    ],
)
def test_markdown(given, expected):
    assert to_markdown(given) == expected


@pytest.mark.parametrize("lesson", LESSONS, ids=by_stem)
def test_a_lesson_is_found_by_number_name_and_file(lesson):
    names = [lesson.name, lesson.stem, f"{lesson.stem}.py", f" {lesson.stem.upper()}.ipynb"]
    if lesson in NUMBERED:
        names += [f"{int(lesson.name):02}", lesson.stem[3:]]
    assert [find_lesson(name) for name in names] == [lesson] * len(names)


@pytest.mark.parametrize("name", ["0", "15", "", "x", "1.0", ".py", "of-the-paper"])
def test_an_unknown_lesson_raises_an_error_that_lists_the_lessons(name):
    with pytest.raises(DataError) as error:
        find_lesson(name)
    assert error.value.argument == "LESSON"
    assert "1, 2, 3" in error.value.remedy


def test_teach_lists_the_lessons(tmp_path, run_here):
    ran = run_here("teach", cwd=tmp_path, columns=100)
    assert ran.returncode == 0
    for lesson in LESSONS:
        assert lesson.title in ran.stdout
    assert not list(tmp_path.iterdir())


def test_teach_writes_a_script_and_a_notebook_that_run(tmp_path, monkeypatch):
    monkeypatch.delenv("MPLBACKEND", raising=False)  # with agg a notebook draws nothing
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    ran = teach(tmp_path, "4")
    assert ran.returncode == 0, ran.stderr
    folder = tmp_path / "lessons"
    script, notebook = folder / "04_dual.py", folder / "04_dual.ipynb"
    assert sorted(folder.iterdir()) == [notebook, script]
    for path in (script, notebook):
        assert str(path.relative_to(tmp_path)) in ran.stdout
    printed = subprocess.run(
        [sys.executable, script], env={**os.environ, "MPLBACKEND": "agg"}, capture_output=True, text=True
    )
    assert printed.returncode == 0, printed.stderr
    book = nbformat.read(notebook, as_version=4)
    nbclient.NotebookClient(book, kernel_name="python3").execute()
    outputs = [output for cell in book.cells if cell.cell_type == "code" for output in cell.outputs]
    said = "".join(output.text for output in outputs if output.output_type == "stream" and output.name == "stdout")
    assert said == printed.stdout
    assert any("image/png" in output.get("data", {}) for output in outputs)


def test_teach_keeps_a_students_work(tmp_path, run_here):
    assert run_here("teach", "1", "--no-solutions", cwd=tmp_path).returncode == 0
    script = tmp_path / "lessons" / "01_two_samples.py"
    script.write_text("mine")
    refused = run_here("teach", "1", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--replace" in refused.stderr
    assert script.read_text() == "mine"
    assert run_here("teach", "1", "--replace", cwd=tmp_path).returncode == 0
    assert script.read_text(encoding="utf-8") == find_lesson("1").source


def test_teach_warns_without_matplotlib(tmp_path, monkeypatch):
    def said(folder):
        ran = CliRunner().invoke(app, ["teach", "hull", "--out", str(tmp_path / folder)])
        assert ran.exit_code == 0
        return ran.output

    assert "matplotlib" not in said("with")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "matplotlib is not installed; run: pip install 'pre_convex[plot]'" in said("without")


def test_teach_uses_the_jupyter_next_to_python(tmp_path):
    """The environment need not be activated, and another Jupyter would not find the package."""
    pty = pytest.importorskip("pty")
    beside, other = tmp_path / "environment", tmp_path / "other"
    for folder in (beside, other):
        folder.mkdir()
        (folder / "jupyter-lab").write_text(f"#!/bin/sh\necho {folder.name} opens $1\n")
        (folder / "jupyter-lab").chmod(0o755)
    start = "import sys; sys.executable = sys.argv.pop(1); from pre_convex.cli.app import run; run()"
    command = [sys.executable, "-c", start, str(beside / "python"), "teach", "1", "--out", str(tmp_path / "out")]
    screen, keys = pty.openpty()
    env = {**os.environ, "PATH": f"{other}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1"}
    ran = subprocess.run(command, stdout=keys, env=env)
    os.close(keys)
    assert ran.returncode == 0
    assert "environment opens" in os.read(screen, 10_000).decode()
    os.close(screen)


def test_teach_explains_bad_arguments(tmp_path, run_here):
    ran = run_here("teach", "99", cwd=tmp_path)
    assert ran.returncode == 2
    assert "no lesson '99'" in ran.stderr
    (tmp_path / "taken").write_text("")
    ran = run_here("teach", "1", "--out", "taken", cwd=tmp_path)
    assert ran.returncode == 2
    assert "--out" in ran.stderr
