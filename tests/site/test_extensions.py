"""The site's own extensions, each on a few lines; the other tests of ``tests/site`` see them in the whole site."""

import importlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

docutils = pytest.importorskip("docutils.core")
errors = pytest.importorskip("sphinx.errors")
pytest.importorskip("myst_parser")

FOLDER = Path(__file__).parents[2] / "docs" / "_ext"


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module


TEXT = """
Title
=====

Exercises
---------

**Exercise 1.** One?

Solution 1
^^^^^^^^^^

First answer.

**Exercise 2.** Two?

Solution 2
^^^^^^^^^^

Second answer.
"""


def test_an_exercise_is_not_part_of_the_solution_before_it(extension):
    pages = extension("lesson_pages")
    document = docutils.publish_doctree(TEXT)
    pages.CloseSolutions(document).apply()
    text = document.astext()
    opened = [part.split("</details>")[0] for part in text.split("<details")[1:]]
    assert ["First answer." in part for part in opened] == [True, False]
    assert ["Second answer." in part for part in opened] == [False, True]
    assert not any("Exercise" in part for part in opened)
    places = [text.index(words) for words in ("One?", "First", "</details>", "Two?", "Second")]
    assert places == sorted(places)


def test_a_damaged_script_for_formulas_is_not_used(extension, tmp_path, monkeypatch):
    files = extension("mathjax_files")
    script = tmp_path / files.VERSION / Path(files.FILE).name
    script.parent.mkdir()
    script.write_text("damaged")
    monkeypatch.setattr(files, "CACHE", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))  # without npm, which would download another
    with pytest.raises(errors.ExtensionError, match="npm is not installed"):
        files.fetch()


def test_a_tag_is_a_link_where_it_is_defined_and_a_warning_where_it_is_not(tmp_path):
    (tmp_path / "conf.py").write_text(
        f"import sys; sys.path.insert(0, {str(FOLDER)!r}); extensions = ['myst_parser', 'equation_tags']; "
        "html_theme = 'basic'"
    )
    (tmp_path / "equations.md").write_text("# Equations\n\n**[P]** is the primal.\n")
    (tmp_path / "index.md").write_text("# Page\n\nSee [P], [NONE] and `[CODE]`.\n\n```{toctree}\nequations\n```\n")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-q", "--no-color", str(tmp_path), str(tmp_path / "html")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stderr.split("WARNING: ")[1:] == ["index: [NONE] is not defined in equations.md\n"]
    text = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert text.count('href="equations.html#eq-') == 1
    assert 'id="eq-p"' in (tmp_path / "html" / "equations.html").read_text(encoding="utf-8")


def test_every_row_of_the_failure_contract_is_on_the_page(extension):
    contract = extension("failure_contract")
    parts, kinds = importlib.import_module("contract.parts"), contract.kinds()
    families = {name: "\n".join(fold.lines) for fold in kinds for name in fold.names}
    for part in parts.PARTS.values():
        pages = {name: "\n".join(fold.lines) for fold in contract.entries(part) for name in fold.names}
        for row in part.ROWS:
            page = pages[row.entry]
            assert f"`{row.argument}`" in page, row.name
            assert row.kind in page or (row.family in page and row.kind in families[row.family]), row.name
        for row in [*getattr(part, "TAKEN", []), *getattr(part, "KNOWN", [])]:
            assert row.argument in pages[row.entry], row.name


def test_folds_of_files_and_commands_hold_every_row(extension):
    contract = extension("failure_contract")
    on_disk = importlib.import_module("contract.parts").ON_DISK
    for name, folds in {"files": contract.on_disk, "commands": contract.commands}.items():
        pages = {entry: "\n".join(fold.lines) for fold in folds(on_disk[name]) for entry in fold.names}
        for row in on_disk[name].ROWS:
            assert row.kind in pages[row.entry], row.name


def test_a_stale_table_has_a_warning_above_it_and_the_site_still_builds(tmp_path):
    """A small site with one stale result, quoted on a page and on an included file."""
    root = FOLDER.parents[1]
    for name in ("docs/_ext", "benchmarks/results"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copy(FOLDER / "stale_tables.py", tmp_path / "docs" / "_ext")
    shutil.copy(root / "benchmarks" / "stale.py", tmp_path / "benchmarks")
    shutil.copy(root / "benchmarks" / "scale.py", tmp_path / "benchmarks")
    (tmp_path / "pre_convex").symlink_to(root / "pre_convex")
    old = {"scale": {"checksum": "0123456789abcdef", "date": "2026-01-02", "version": "0.1.0"}}
    (tmp_path / "benchmarks" / "results" / "checksums.json").write_text(json.dumps(old))
    stale, other = (f"\n<!-- {mark} -->\n| a |\n|---|\n| 1 |\n<!-- /{mark} -->\n" for mark in ("scale", "costs"))
    table = f"# Page\n\nText.\n{stale}{other}"
    docs = tmp_path / "docs"
    (docs / "conf.py").write_text(
        "import sys\nsys.path.insert(0, '_ext')\nextensions = ['myst_parser', 'stale_tables']\nroot_doc = 'scale'\n"
        "exclude_patterns = ['_ext']\n"
    )
    (docs / "scale.md").write_text(table + "\n```{toctree}\nbenchmarks\n```\n")
    (docs / "benchmarks.md").write_text("```{include} ../benchmarks/README.md\n```\n")
    (tmp_path / "benchmarks" / "README.md").write_text(table)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "-b", "html", ".", "html"]
    done = subprocess.run(command, cwd=docs, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for page in ("scale", "benchmarks"):
        text = (docs / "html" / f"{page}.html").read_text(encoding="utf-8")
        assert text.count("older than the code") == 1
        assert text.index("admonition warning") < text.index("2026-01-02") < text.index("<table")


def test_every_search_topic_has_its_page_and_no_other(extension):
    found = extension("search_topics").TOPICS
    assert [name for name in found if not (FOLDER.parent / f"{name}.md").exists()] == []
    topics = [topic for of_page in found.values() for topic in of_page]
    assert len(topics) == len(set(topics))
