"""The report: the same content as Markdown and as a self-contained HTML page."""

import builtins
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from benchmark_rows import four_problems, row, run_of
from pre_convex_lab.solvers.contenders import contenders_of, find_contender
from pre_convex_lab.solvers.document import Table
from pre_convex_lab.solvers.metrics import Verdict, judge
from pre_convex_lab.solvers.records import Row
from pre_convex_lab.solvers.report import report_sections, write_report
from pre_convex_lab.solvers.sets import load_set

from pre_convex.errors import DataError

FACTS = {
    "time_limit": 7.5,
    "cpu": "a processor",
    "versions": {"numpy": "2.9"},
    "sets": [{"name": "smoke", "title": "a few", "version": 3, "checksum": "c0ffee", "cases": 4, "names": ["plain"]}],
}
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Tags and text of an HTML page; checks that every tag is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.texts = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def smoke():
    """A run of the smoke set, solved and judged in this process."""
    rows = []
    for case in load_set("smoke").cases:
        for solver, formulation in contenders_of(["newton", "CLARABEL"], None):
            for tol in (1e-4, 1e-6):
                answer = find_contender(solver)(case.problem, formulation, tol)
                verdict, numbers = judge(case, answer, tol)
                start = ("smoke", case.name, case.problem.n_q, case.problem.k, case.truth.value)
                rows.append(Row(*start, solver, formulation, tol, verdict, answer.claim, numbers=numbers))
    return run_of(rows, **FACTS)


@pytest.fixture
def no_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)


@pytest.fixture(scope="module")
def written(smoke, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new"
    return folder, write_report(smoke, folder)


def test_the_report_is_two_texts_and_three_small_pictures(written):
    folder, paths = written
    assert [path.name for path in paths] == ["report.md", "report.html", "profile.png", "size.png", "gap.png"]
    assert sorted(paths) == sorted(folder.iterdir())
    for path in paths[2:]:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000


def test_markdown_has_regular_tables_pictures_and_settings(written):
    folder, _ = written
    text = (folder / "report.md").read_text(encoding="utf-8")
    for block in re.findall(r"(?:^\|.*\n)+", text, flags=re.M):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", text)
    assert len(pictures) == 3
    assert all((folder / name).exists() for name in pictures)
    for fact in ("a processor", "2.9", "c0ffee", "7.5 s"):
        assert fact in text
    assert "nan" not in text


def test_the_page_is_self_contained_and_accessible(written):
    folder, _ = written
    text = (folder / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    for _, attributes in page.tags:
        for name in ("src", "href"):
            assert attributes.get(name, "#").startswith(("#", "data:"))
    assert "@import" not in text
    assert "url(" not in text
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [attributes["href"] for attributes in page.all("a")]
    assert {link[1:] for link in links} <= set(ids)
    assert len(links) == 1 + len(page.all("h2"))
    assert all(image["alt"] for image in page.all("img"))
    boxes = [box for box in page.all("div") if "box" in box.get("class", "")]
    assert len(boxes) == len(page.all("table")) + len(page.all("img"))
    assert all(box["tabindex"] == "0" and box["aria-label"] for box in boxes)
    assert "prefers-color-scheme: dark" in text


def test_markdown_and_page_have_the_same_tables(smoke, written, no_matplotlib):
    folder, _ = written
    markdown = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "").replace("**", "")
    text = " ".join(Page((folder / "report.html").read_text(encoding="utf-8")).texts)
    for section in report_sections(smoke):
        assert section.title in text
        for part in section.parts:
            for row_ in part.rows if isinstance(part, Table) else ():
                assert f"| {' | '.join(row_)} |" in markdown
                assert all(cell in text for cell in row_)


def test_reports_are_reproducible(smoke, written, tmp_path):
    _, first = written
    second = write_report(smoke, tmp_path)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


UNUSUAL = {
    "one": [row("a")],
    "nothing solved": [row("a", verdict=Verdict.CRASH, claim="", seconds=np.nan, gap=np.nan)],
    "four problems": four_problems(),
    "markup in names": [
        row("a|b<script>`x`", "my_own.module:solver"),
        row("a", "B", test_set="<b>", tol=0.003, seconds=0.0),
    ],
    "no common case": [
        row("a", tol=1e-4),
        row("b", "B", test_set="real", truth="infeasible", claim="infeasible", tol=1e-9),
    ],
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_the_text_of_an_unusual_run_is_valid(name, tmp_path, no_matplotlib):
    markdown, text = (path.read_text(encoding="utf-8") for path in write_report(run_of(UNUSUAL[name]), tmp_path)[:2])
    prose = re.sub(r"(?<!\\)`[^`\n]+`", "", markdown)
    assert not re.search(r"(?<!\\)<", prose)
    Page(text)
    assert "<script" not in text
    assert "nan" not in text


@pytest.mark.parametrize("name", ["nothing solved", "no common case"])
def test_an_unusual_run_has_all_pictures(name, tmp_path):
    assert len(write_report(run_of(UNUSUAL[name]), tmp_path)) == 5


def test_an_unfinished_run_says_so(no_matplotlib):
    facts = {"sets": [{"name": "easy", "cases": 5}], "contenders": [["A", "dual"], ["B", "both"]], "tolerances": [1e-6]}
    first = report_sections(run_of(four_problems(), **facts))[0].parts[0]
    assert "not finished: 2 rows of 10" in first
    complete = {**facts, "sets": [{"name": "easy", "cases": 4}]}
    assert "not finished" not in report_sections(run_of(four_problems(), **complete))[0].parts[0]


def test_a_run_without_rows_has_no_report(tmp_path):
    with pytest.raises(DataError) as error:
        write_report(run_of([]), tmp_path)
    assert error.value.argument == "run"


def test_without_matplotlib_the_report_says_that_pictures_are_missing(smoke, tmp_path, no_matplotlib):
    paths = write_report(smoke, tmp_path)
    assert [path.name for path in paths] == ["report.md", "report.html"]
    text = paths[0].read_text(encoding="utf-8")
    assert text.count("no picture") == 3
    assert "![" not in text
