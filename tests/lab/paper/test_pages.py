"""The pages of the experiments quote stored results of full runs."""

import re
from pathlib import Path

import pytest
from pre_convex_lab.paper import EXPERIMENTS, load_experiment, read_outcome, summarise
from quotes import quoted

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "experiments"
STORED = sorted(FOLDER.glob("*.json"))


@pytest.fixture
def command(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import experiments

    return experiments


def test_every_experiment_has_a_page_a_result_and_a_figure():
    for ending in ("md", "json", "png"):
        names = {path.stem for path in FOLDER.glob(f"*.{ending}")} - {"README"}
        assert names == set(EXPERIMENTS), ending


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_page_quotes_its_result(path, command):
    assert quoted(FOLDER / f"{path.stem}.md", path.stem) == command.findings(read_outcome(path)[1])


def test_index_quotes_every_verdict(command):
    assert quoted(FOLDER / "README.md", "verdicts") == command.verdicts(command.stored())


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_result_is_a_full_run(path):
    _, record = read_outcome(path)
    assert record["experiment"] == path.stem
    assert record["title"] == load_experiment(path.stem).TITLE
    assert record["quick"] is False
    assert record["findings"]
    assert record["claims"]
    assert path.stat().st_size < 300_000
    assert path.with_suffix(".png").stat().st_size < 300_000


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.md")), ids=lambda page: page.stem)
def test_links_and_figures_of_a_page_exist(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        assert (FOLDER / link).exists(), link
    assert page.stem == "README" or f"{page.stem}.png" in links


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_result_can_be_drawn(path):
    assert load_experiment(path.stem).draw(read_outcome(path)[1]["data"]).axes


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_quick_result_has_the_same_figure_as_a_full_one(name, quick_run):
    draw = load_experiment(name).draw
    quick, full = quick_run(name)[1], read_outcome(FOLDER / f"{name}.json")[1]
    assert len(draw(quick["data"]).axes) == len(draw(full["data"]).axes)


def test_table_cells_are_escaped(command):
    assert command.table(["a"], [["x | y\nz"]])[-1] == "| x \\| y z |"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_verdicts_rest_on_several_seeds(name, command):
    runs = command.seeds()[name]
    assert len(set(runs["seeds"])) == len(runs["claims"]) >= 5
    assert set().union(*runs["claims"]) == set(read_outcome(FOLDER / f"{name}.json")[0].claims)


def test_claims_are_counted_over_runs_that_could_test_them():
    runs = [{"a": True, "b": False, "c": True}, {"a": True, "b": False}, {"a": False, "b": False, "c": True}]
    assert summarise(runs) == "True in all 2 runs: c. True in 2 of 3: a. False in all 3 runs: b."
