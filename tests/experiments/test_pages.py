"""Pages of experiments quote their stored files, and those are full runs."""

import re
from pathlib import Path

import pytest
from quotes import quoted

from pre_convex.experiments import EXPERIMENTS, load_experiment, read_outcome

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "experiments"
STORED = sorted(FOLDER.glob("*.json"))


@pytest.fixture
def command(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import experiments

    return experiments


def test_every_experiment_has_its_page_its_file_and_its_figure():
    for ending in ("md", "json", "png"):
        names = {path.stem for path in FOLDER.glob(f"*.{ending}")} - {"README"}
        assert names == set(EXPERIMENTS), ending


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_page_quotes_its_file(path, command):
    assert quoted(FOLDER / f"{path.stem}.md", path.stem) == command.findings(read_outcome(path)[1])


def test_the_index_quotes_every_verdict(command):
    assert quoted(FOLDER / "README.md", "verdicts") == command.verdicts(command.stored())


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_file_is_a_full_run_of_what_it_says(path):
    _, record = read_outcome(path)
    assert record["experiment"] == path.stem
    assert record["title"] == load_experiment(path.stem).TITLE
    assert record["quick"] is False
    assert record["findings"]
    assert record["verdict"]
    assert path.stat().st_size < 300_000
    assert path.with_suffix(".png").stat().st_size < 300_000


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_links_and_figures_of_a_page_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        assert (FOLDER / link).exists(), link
    assert page.stem == "README" or f"{page.stem}.png" in links


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_figure_can_be_drawn_again(path):
    assert load_experiment(path.stem).draw(read_outcome(path)[1]["data"]).axes


def test_cells_of_tables_stay_cells(command):
    assert command.table(["a"], [["x | y\nz"]])[-1] == "| x \\| y z |"
