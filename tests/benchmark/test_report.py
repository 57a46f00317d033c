"""The report: the same figures as Markdown and as a page that needs nothing else."""

import builtins
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from benchmark_rows import FALSE, NONE, row, run_of, three_problems

from pre_convex.benchmark.contenders import find_contender, formulations_of
from pre_convex.benchmark.metrics import Verdict, judge
from pre_convex.benchmark.page import Section, Table, as_html, as_markdown, number, percent, plain_table
from pre_convex.benchmark.records import Row
from pre_convex.benchmark.report import report_sections, write_report
from pre_convex.benchmark.sets import load_set
from pre_convex.benchmark.verdict import in_short
from pre_convex.errors import DataError

FACTS = {
    "time_limit": 7.5,
    "cpu": "a processor",
    "versions": {"numpy": "2.9"},
    "sets": [{"name": "smoke", "title": "a few", "version": 3, "checksum": "c0ffee", "cases": 4, "names": ["plain"]}],
}
VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """What a page is made of, and whether its tags are closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
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
        self.words.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="module")
def smoke():
    """Real answers to the smoke set, judged here."""
    rows = []
    for case in load_set("smoke").cases:
        for solver in ("newton", "CLARABEL"):
            for formulation in formulations_of(solver):
                for tol in (1e-4, 1e-6):
                    answer = find_contender(solver)(case.problem, formulation, tol)
                    verdict, numbers = judge(case, answer, tol)
                    size = (case.problem.n_q, case.problem.k, case.truth.value)
                    kind = (solver, formulation, tol, verdict, answer.claim)
                    rows.append(Row("smoke", case.name, *size, *kind, numbers=numbers))
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


def test_files(written):
    folder, paths = written
    assert [path.name for path in paths] == ["report.md", "report.html", "profile.png", "size.png", "gap.png"]
    assert sorted(paths) == sorted(folder.iterdir())
    for path in paths[2:]:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000


def test_markdown_tables_are_whole_and_pictures_there(written):
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


def test_page_stands_alone(written):
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


def test_both_say_the_same(smoke, written, no_matplotlib):
    folder, _ = written
    markdown = (folder / "report.md").read_text(encoding="utf-8").replace("\\", "").replace("**", "")
    words = " ".join(Page((folder / "report.html").read_text(encoding="utf-8")).words)
    for section in report_sections(smoke):
        assert section.title in words
        for part in section.parts:
            for row_ in part.rows if isinstance(part, Table) else ():
                assert f"| {' | '.join(row_)} |" in markdown
                assert all(cell in words for cell in row_)


def test_same_run_same_files(smoke, written, tmp_path):
    _, first = written
    second = write_report(smoke, tmp_path)
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]


def test_verdict_names_the_best_and_the_false():
    rows = [row(str(i), "newton", seconds=0.1) for i in range(4)]
    rows += [row(str(i), "SCS dual", FALSE if i < 2 else Verdict.SOLVED, 0.4, gap=1.0 if i else 2e-6) for i in range(4)]
    rows += [row(str(i), "SCS primal", NONE if i == 0 else Verdict.SOLVED, 0.8, claim="infeasible") for i in range(4)]
    text = " ".join(in_short(rows, limit=10.0))
    assert "newton solved 100 % of them" in text
    assert "Next come SCS primal (75 %) and SCS dual (50 %)" in text
    assert "2 claims of an optimum were false, 1 of them grossly" in text
    assert "1 claim that there is none was false" in text
    assert "newton made no false claim" in text
    assert "newton is quickest in the shifted geometric mean, with unsolved cases at the limit of" in text
    assert "with SCS the primal solves 3 and the dual 2 of 4, and where both do the dual is 2.00 times as quick" in text


def test_verdict_when_nobody_solves_anything():
    rows = [row("p", name, Verdict.TIME, np.nan, claim="") for name in ("A dual", "A primal", "B")]
    text = " ".join(in_short(rows, limit=10.0))
    assert "Nobody solved any of them." in text
    assert "quickest" not in text
    assert "0 %" not in text


def test_verdict_of_equals():
    """Those who solve as many on average need not solve the same."""
    rows = [row("p", "A", tol=1e-4), row("p", "A", FALSE, tol=1e-8, gap=1.0)]
    rows += [row("p", "B", FALSE, tol=1e-4, gap=1.0), row("p", "B", tol=1e-8)]
    rows += [row("p", "C", tol=1e-4), row("p", "C", FALSE, tol=1e-8, gap=1.0)]
    text = " ".join(in_short(rows, limit=10.0))
    assert "A and C each solved 100 % and 0 % of them. Next comes B (0 % and 100 %, from loose to tight)." in text
    assert "A, B and C made the most (1 each)" in text


def test_one_who_makes_every_false_claim():
    rows = [row("p", "A"), row("p", "B", FALSE, gap=1.0), row("q", "A"), row("q", "B")]
    text = " ".join(in_short(rows, limit=10.0))
    assert "1 claim of an optimum was false, 1 of them grossly; B made all (1)." in text


ODD = {
    "one": [row("a")],
    "nothing solved": [row("a", verdict=Verdict.CRASH, claim="", seconds=np.nan, gap=np.nan)],
    "three": three_problems(),
    "odd names": [row("a|b<script>`x`", "my_own.module:solver"), row("a", "B", group="<b>", tol=0.003, seconds=0.0)],
    "nothing shared": [
        row("a", tol=1e-4),
        row("b", "B", group="real", truth="infeasible", claim="infeasible", tol=1e-9),
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_text_of_odd_runs(name, tmp_path, no_matplotlib):
    text = write_report(run_of(ODD[name]), tmp_path)[1].read_text(encoding="utf-8")
    Page(text)
    assert "<script" not in text
    assert "nan" not in text


@pytest.mark.parametrize("name", ["nothing solved", "nothing shared"])
def test_pictures_of_odd_runs(name, tmp_path):
    assert len(write_report(run_of(ODD[name]), tmp_path)) == 5


def test_an_unfinished_run_says_so(no_matplotlib):
    facts = {"sets": [{"name": "easy", "cases": 5}], "contenders": [["A", "dual"], ["B", "both"]], "tolerances": [1e-6]}
    first = report_sections(run_of(three_problems(), **facts))[0].parts[0]
    assert first == "This run is not finished: 2 rows of 10 are missing."
    whole = {**facts, "sets": [{"name": "easy", "cases": 4}]}
    assert "not finished" not in report_sections(run_of(three_problems(), **whole))[0].parts[0]


def test_a_run_without_rows_is_refused(tmp_path):
    with pytest.raises(DataError, match="run: it has no rows"):
        write_report(run_of([]), tmp_path)


def test_without_matplotlib_there_is_a_note(smoke, tmp_path, no_matplotlib):
    paths = write_report(smoke, tmp_path)
    assert [path.name for path in paths] == ["report.md", "report.html"]
    text = paths[0].read_text(encoding="utf-8")
    assert text.count("no picture") == 3
    assert "![" not in text


def test_cells_cannot_break_out():
    table = Table("a `b` <c>", ("x|y", "z"), (("p|q*r*", "<i>"),), 1, frozenset({(0, 1)}))
    sections = [Section("<t>", (table, "text with `code` & <b>"))]
    assert r"| p\|q\*r\* | **\<i\>** |" in as_markdown("t", sections)
    text = as_html("t", sections)
    assert "<strong>&lt;i&gt;</strong>" in text
    assert "<code>code</code> &amp; &lt;b&gt;" in text


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (1.0, "1.00"), (9.999, "10.0"), (99.96, "100"), (-2.5, "-2.50"), (1e-4, "1.0e-04"), (2e7, "2.0e+07")],
)
def test_numbers(value, words):
    assert number(value) == words


def test_shares_are_never_rounded_to_all_or_nothing():
    shares = (0.0, 1e-9, 0.123, 1 - 1e-9, 1.0, np.nan)
    assert [percent(x) for x in shares] == [
        "0 %",
        "0.1 %",
        "12 %",
        "99.9 %",
        "100 %",
        "–",
    ]


def test_lines_of_a_terminal_are_short():
    lines = plain_table(Table("c", ("name", "figure"), (("x" * 90, "1"), ("y", "22"))), 80)
    assert all(len(line) <= 80 for line in lines)
