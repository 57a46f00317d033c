"""Links lead somewhere, tags of equations are defined and cited, and every public name has its place."""

import importlib
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from site_pages import all_pages, page

import pre_convex
from pre_convex.teaching.catalogue import lessons
from pre_convex.teaching.notebook import to_notebook

ROOT = Path(__file__).parents[2]


def faults_of(path, site):
    """What is wrong with the links of a page."""
    found = page(path)
    for address in [*found.links, *found.loaded]:
        parts = urlsplit(address)
        if parts.scheme in ("http", "https", "mailto") and address not in found.loaded:
            continue
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            yield f"{path.name}: {address} is loaded from elsewhere, or is no link"
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if not target.is_relative_to(site.resolve()) or not target.is_file():
            yield f"{path.relative_to(site)}: {address} is not there"
        elif parts.fragment and target.suffix == ".html" and not leads_to(unquote(parts.fragment), page(target)):
            yield f"{path.relative_to(site)}: {address} has no such anchor"


def leads_to(fragment, target):
    """Whether a page has this anchor; after an equals sign stands a word that a script of the page knows."""
    _, equals, word = fragment.partition("=")
    return re.search(rf"\b{re.escape(word)}\b", target.text) if equals else fragment in target.anchors


def test_the_site_builds_without_warnings(built):
    _, code, log = built
    assert code == 0, log
    assert log.strip() == ""


def test_every_link_image_and_script_is_there(site):
    pages = all_pages(site)
    assert len(pages) > 40
    faults = [fault for path in pages for fault in faults_of(path, site)]
    assert not faults, "\n".join(faults)


def test_a_broken_link_would_be_found(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#here">b</a><a href="b.html#set=none">b</a><img src="c.png"><script src="https://x.y/z.js"></script>'
    )
    (tmp_path / "b.html").write_text('<p id="there">')
    faults = list(faults_of(tmp_path / "a.html", tmp_path))
    assert [fault.split()[1] for fault in faults] == ["b.html#here", "b.html#set=none", "c.png", "https://x.y/z.js"]


def test_outside_links_are_addresses(site):
    outside = {link for path in all_pages(site) for link in page(path).links if urlsplit(link).scheme}
    print("\n".join(sorted(outside)))  # listed, never loaded: make linkcheck does that
    for link in outside:
        assert re.fullmatch(r"https?://[^\s/]+\.[^\s]+|mailto:\S+@\S+", link), link


def test_tags_of_equations_are_defined_and_cited(site):
    text = (ROOT / "docs" / "equations.md").read_text(encoding="utf-8")
    defined = {f"eq-{tag.lower()}" for tag in re.findall(r"^\*\*\[([A-Z]+)\]\*\*", text, re.M)}
    anchors = {name for name in page(site / "equations.html").anchors if name.startswith("eq-")}
    assert anchors == defined
    cited = {urlsplit(tag).fragment for path in (site / "reference").glob("*.html") for tag in page(path).tags}
    assert cited == defined
    for path in all_pages(site):  # links to anchors are checked above, here that tags lead to this page
        for tag in page(path).tags:
            place = (path.parent / urlsplit(tag).path).resolve() if urlsplit(tag).path else path.resolve()
            assert place == (site / "equations.html").resolve()


MODULES = [
    "pre_convex",
    "pre_convex.applications.detection",
    "pre_convex.applications.explanation",
    "pre_convex_lab.solvers",
    "pre_convex_lab.paper",
    "pre_convex.plots",
    "pre_convex.programs",
    "pre_convex.solvers",
    "pre_convex.teaching.catalogue",
    "pre_convex.teaching.notebook",
]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_on_an_api_page(site, module):
    places = {name for path in (site / "reference").glob("*.html") for name in page(path).anchors}
    names = importlib.import_module(module).__all__
    top = set(pre_convex.__all__)
    missing = [n for n in names if f"{module}.{n}" not in places and not (n in top and f"pre_convex.{n}" in places)]
    assert not missing


def test_solutions_are_closed_and_downloads_are_not_among_them(site):
    lessons = sorted((site / "lessons").glob("[0-9]*.html"))
    assert lessons
    for path in lessons:
        found = page(path)
        assert found.solutions == len({name for name in found.anchors if re.fullmatch(r"solution-\d+", name)}) > 0
        assert found.footers_in_solutions == 0
        assert any(link.endswith(".ipynb") for link in found.links)
        assert any(link.endswith(".py") for link in found.links)


def test_downloads_are_what_teach_writes(site):
    for lesson in lessons():
        for name, text in ((f"{lesson.stem}.ipynb", to_notebook(lesson)), (f"{lesson.stem}.py", lesson.source)):
            [place] = (site / "_downloads").glob(f"*/{name}")
            assert place.read_text(encoding="utf-8") == text, name


def test_punctuation_stays_with_its_formula(site):
    behind = re.compile(r"\\\)</span>[.,;:!?)\]”]+(.{7})")
    found = [(path.name, mark[0], mark[1]) for path in all_pages(site) for mark in behind.finditer(page(path).text)]
    assert len(found) > 100
    assert [place for place in found if place[2] != "</span>"] == []


def test_letters_of_shapes_are_not_links(site):
    for path in (site / "reference").glob("*.html"):
        assert re.findall(r"<a [^>]*><em>[a-z]\w*</em></a>", page(path).text) == [], path.name


def test_nothing_else_is_closed(site):
    for path in all_pages(site):
        if path.parent.name != "lessons":
            assert page(path).solutions == 0, path.name


def test_no_page_tells_how_long_lessons_ran(site):
    assert not list(site.rglob("sg_execution_times*"))
