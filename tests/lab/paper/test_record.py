"""Settings, stored results, and the command ``pre-convex experiment``."""

import json

import pytest
from pre_convex_lab.paper import EXPERIMENTS, Finding, Setting, load_experiment, perform, read_outcome, write_outcome
from rich.cells import cell_len

from pre_convex.errors import DataError

NAME = "consistency"


@pytest.fixture(scope="module")
def performed(quick_run):
    return quick_run(NAME)


@pytest.fixture(scope="module")
def written(performed, tmp_path_factory):
    return list(write_outcome(performed[1], tmp_path_factory.mktemp("deep") / "er"))


@pytest.fixture
def command(run_here):
    return lambda *arguments, **options: run_here("experiment", *arguments, **options)


def test_written_result_is_read_back(performed, written):
    outcome, record = read_outcome(written[0])
    assert record == performed[1]
    assert outcome == performed[0]
    assert record["experiment"] == NAME
    assert record["quick"] is True
    assert {"python", "numpy", "pre_convex"} <= set(record["versions"])


def test_stored_file_is_strict_json(written):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(written[0].read_text(encoding="utf-8"), parse_constant=refuse)


def test_seed_determines_the_data(performed):
    first = performed[1]
    again, other = (perform(NAME, Setting(quick=True, seed=seed))[1] for seed in (0, 1))
    assert again["data"] == first["data"]
    assert again["findings"] == first["findings"]
    assert other["data"] != first["data"]


def test_random_streams_are_reproducible_and_distinct():
    def draw(setting, *stream):
        return setting.rng(*stream).normal()

    assert draw(Setting(seed=3), 1, 2) == draw(Setting(seed=3), 1, 2)
    assert len({draw(Setting(seed=s), *stream) for s in (3, 4) for stream in ((), (1,), (2,), (1, 2))}) == 8
    assert Setting().pick("full", "quick") == "full"
    assert Setting(quick=True).pick("full", "quick") == "quick"


def test_verdict_must_begin_with_holds_or_does_not_hold():
    for verdict in ("", "holds", "holds when n > 5", "does not hold: 3 %"):
        assert Finding("a", "b", verdict=verdict).verdict == verdict
    with pytest.raises(ValueError, match="perhaps"):
        Finding("a", "b", verdict="perhaps")


@pytest.mark.parametrize("seed", [0.5, "1", -1])
def test_seed_must_be_an_integer_from_zero(seed):
    with pytest.raises(DataError) as error:
        Setting(seed=seed)
    assert error.value.argument == "seed"
    assert error.value.remedy


@pytest.mark.parametrize("content", [None, "no json", "{}", '{"findings": [{"question": 1}]}', "[1]"])
def test_file_without_a_result_is_refused(tmp_path, content):
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=r"broken\.json") as error:
        read_outcome(path)
    assert error.value.argument == "path"
    assert error.value.remedy


def test_unknown_experiment_is_refused_and_the_known_ones_are_named(tmp_path, command):
    with pytest.raises(DataError, match="none") as error:
        load_experiment("none")
    assert error.value.argument == "name"
    assert all(name in error.value.remedy for name in EXPERIMENTS)
    result = command("none", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: NAME: ")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_unwritable_folder_is_refused_before_anything_runs(tmp_path, command):
    (tmp_path / "file").write_text("in the way")
    result = command(NAME, "--out", tmp_path / "file" / "folder")
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: --out: ")
    assert len(result.stderr.splitlines()) == 1
    assert "Verdict" not in result.stdout


def test_list_shows_every_experiment_and_its_question(command):
    result = command("list")
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for name in EXPERIMENTS:
        assert name in text
        assert load_experiment(name).TITLE.split()[0] in text


def test_command_shows_the_verdict_and_writes_both_files(tmp_path, command):
    result = command(NAME, "--quick", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    outcome, _ = read_outcome(tmp_path / "experiment-output" / f"{NAME}.json")
    words = " ".join(result.stdout.split())
    assert f"Verdict: {outcome.verdict}" in words
    assert max(map(cell_len, result.stdout.splitlines())) <= 80
    for ending in ("json", "png"):
        assert f"written: experiment-output/{NAME}.{ending}" in words
        assert (tmp_path / "experiment-output" / f"{NAME}.{ending}").exists()
