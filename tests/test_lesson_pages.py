"""Pages of lessons show every exercise and close every solution."""

import importlib.util
from pathlib import Path

import pytest

docutils = pytest.importorskip("docutils.core")
pytest.importorskip("sphinx")

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


def test_an_exercise_is_not_part_of_the_solution_before_it():
    path = Path(__file__).parents[1] / "docs" / "_ext" / "lesson_pages.py"
    spec = importlib.util.spec_from_file_location("lesson_pages", path)
    pages = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pages)
    document = docutils.publish_doctree(TEXT)
    pages.CloseSolutions(document).apply()
    text = document.astext()
    opened = [part.split("</details>")[0] for part in text.split("<details")[1:]]
    assert ["First answer." in part for part in opened] == [True, False]
    assert ["Second answer." in part for part in opened] == [False, True]
    assert not any("Exercise" in part for part in opened)
    places = [text.index(words) for words in ("One?", "First", "</details>", "Two?", "Second")]
    assert places == sorted(places)
