"""Stored results and the checksums that tell whether their code has changed since."""

import csv
import json
import os
import re
import time

import pytest
import stale

CODE = '''
"""A module."""

def double(x):
    """Twice x."""
    return 2 * x
'''


def test_comments_docstrings_and_formatting_do_not_count():
    changed = CODE.replace('"""Twice x."""', "# twice x\n").replace("2 * x", "(2*x)").replace("A module", "Text")
    assert changed != CODE
    assert stale.code_of(changed) == stale.code_of(CODE)


@pytest.mark.parametrize(
    ("old", "new"),
    [("2 * x", "3 * x"), ("2 * x", "2 + x"), ("double(x)", "double(x, y=0)"), ("return 2 * x", "return '2 * x'")],
)
def test_code_counts(old, new):
    assert stale.code_of(CODE.replace(old, new)) != stale.code_of(CODE)


def test_a_string_that_is_not_a_docstring_counts():
    assert stale.code_of('x = "a"') != stale.code_of('x = "b"')


def test_a_checksum_depends_on_names_and_on_text_that_is_not_python(tmp_path):
    def checksum(name, text):
        (tmp_path / name).write_text(text)
        return stale.checksum([tmp_path / name])

    assert checksum("a.py", CODE) != checksum("b.py", CODE)
    assert checksum("a.txt", "numpy==1  # old") != checksum("a.txt", "numpy==1")


def test_every_stored_file_is_declared_and_every_file_of_a_stored_result_exists():
    folders = {"benchmarks/results": "*", "docs/experiments": "*.json"}
    found = {p.relative_to(stale.ROOT).as_posix() for f, glob in folders.items() for p in (stale.ROOT / f).rglob(glob)
             if p.is_file() and p != stale.CHECKSUMS}  # fmt: skip
    assert found <= {file for result in stale.RESULTS.values() for file in result.files}
    states = stale.states()
    stored = [result for name, result in stale.RESULTS.items() if states[name] != "unknown"]
    assert {file for result in stored for file in result.files} <= found


@pytest.mark.parametrize("name", stale.RESULTS)
def test_declared_code_exists_and_no_part_of_it_is_empty(name):
    for part in stale.RESULTS[name].code:
        files = list(stale.code_files([part]))
        assert files, part
        assert all(path.is_file() for path in files), part


def test_every_environment_on_the_page_is_declared():
    with (stale.ROOT / "benchmarks/results/environments.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {(r["dependencies"], r["python"].rpartition(".")[0]) for r in rows} == set(stale.ENVIRONMENTS)


def test_the_quotes_are_the_marks_on_the_pages():
    """README's other marks are passages that the home page includes."""
    pages = [*(stale.ROOT / "docs").rglob("*.md"), stale.ROOT / "README.md", stale.ROOT / "benchmarks" / "README.md"]
    marks = {(page.relative_to(stale.ROOT).as_posix(), mark) for page in pages if "_build" not in page.parts
             for mark in re.findall(r"^<!-- ([a-z-]+) -->$", page.read_text(encoding="utf-8"), re.M)}  # fmt: skip
    quotes = {quote for result in stale.RESULTS.values() for quote in result.quotes}
    assert marks - {("README.md", "what"), ("README.md", "example")} == quotes


@pytest.fixture
def library(tmp_path, monkeypatch):
    """A result of one file, in an empty repository."""
    code = tmp_path / "code.py"
    code.write_text(CODE)
    os.utime(code, (stale.STARTED - 10.0,) * 2)
    monkeypatch.setattr(stale, "ROOT", tmp_path)
    monkeypatch.setattr(stale, "CHECKSUMS", tmp_path / "checksums.json")
    monkeypatch.setattr(stale, "RESULTS", {"speed": stale.Result((), "make speed", ("code.py",), (("a.md", "m"),))})
    return code


def test_a_result_is_unknown_until_stored_then_fresh_until_its_code_changes(library):
    assert stale.states() == {"speed": "unknown"}
    stale.record("speed")
    assert stale.states() == {"speed": "fresh"}
    library.write_text(CODE + "# a remark\n")
    assert stale.states() == {"speed": "fresh"}
    assert stale.stale_quotes() == {}
    library.write_text(CODE + "x = 1\n")
    assert stale.states() == {"speed": "stale"}
    assert "`make speed`" in stale.stale_quotes()["a.md"]["m"]


def test_code_that_changed_during_the_run_leaves_the_result_unknown(library, capsys):
    os.utime(library, (time.time() + 10.0,) * 2)
    stale.record("speed")
    assert stale.states() == {"speed": "unknown"}
    assert json.loads(stale.CHECKSUMS.read_text())["speed"]["date"]
    assert "code.py" in capsys.readouterr().out
