"""What all experiments share: settings, files that can be read again, and the command."""

import json

import numpy as np
import pytest

from pre_convex.errors import DataError
from pre_convex.experiments import EXPERIMENTS, Finding, Setting, load_experiment, perform, read_outcome, write_outcome
from pre_convex.experiments.record import _plain, _text
from pre_convex.experiments.shares import Share

NAME = "consistency"


@pytest.fixture(scope="module")
def performed():
    return perform(NAME, Setting(quick=True))


@pytest.fixture(scope="module")
def written(performed, tmp_path_factory):
    return list(write_outcome(performed[1], tmp_path_factory.mktemp("deep") / "er"))


@pytest.fixture
def command(run_here):
    return lambda *arguments, **options: run_here("experiment", *arguments, **options)


def test_what_is_written_is_read_again(performed, written):
    outcome, record = read_outcome(written[0])
    assert record == performed[1]
    assert outcome == performed[0]
    assert record["experiment"] == NAME
    assert record["quick"] is True
    assert {"python", "numpy", "pre_convex"} <= set(record["versions"])


def test_the_file_is_strict_json(written):
    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    json.loads(written[0].read_text(encoding="utf-8"), parse_constant=refuse)


def test_the_figure_is_drawn_from_what_was_read(written):
    _, record = read_outcome(written[0])
    assert written[1].read_bytes().startswith(b"\x89PNG")
    assert len(load_experiment(NAME).draw(record["data"]).axes) > 0


def test_the_same_seed_gives_the_same_data_and_another_one_does_not(performed):
    first = performed[1]
    again, other = (perform(NAME, Setting(quick=True, seed=seed))[1] for seed in (0, 1))
    assert again["data"] == first["data"]
    assert again["findings"] == first["findings"]
    assert other["data"] != first["data"]


def test_data_becomes_plain_and_stays_readable():
    data = {
        "array": np.array([[1.0, np.nan], [np.inf, 1 / 3]]),
        "truth": np.bool_(True),
        "count": np.int64(3),
        2: None,
        "empty": [],
        "nothing": {},
        "deep": [{"a": (1, 2.5)}, [], "ü"],
    }
    plain = _plain(data)
    assert plain["array"] == [[1.0, None], [None, 0.333333]]
    assert plain["truth"] is True
    assert plain["count"] == 3
    assert plain["2"] is None
    assert json.loads(_text(plain)) == plain
    with pytest.raises(TypeError, match="set is not plain data"):
        _plain({"a": {1}})


def test_streams_of_random_numbers_differ_and_repeat():
    def draw(setting, *stream):
        return setting.rng(*stream).normal()

    assert draw(Setting(seed=3), 1, 2) == draw(Setting(seed=3), 1, 2)
    assert len({draw(Setting(seed=s), *stream) for s in (3, 4) for stream in ((), (1,), (2,), (1, 2))}) == 8
    assert Setting().pick("full", "quick") == "full"
    assert Setting(quick=True).pick("full", "quick") == "quick"


def test_a_verdict_says_whether_the_claim_holds():
    for verdict in ("", "holds", "holds when n > 5", "does not hold: 3 %"):
        assert Finding("a", "b", verdict=verdict).verdict == verdict
    with pytest.raises(ValueError, match="begins with neither"):
        Finding("a", "b", verdict="perhaps")


@pytest.mark.parametrize(("count", "total"), [(0, 20), (20, 20), (7, 50), (249, 5000)])
def test_intervals_of_shares_are_exact(count, total):
    from scipy.stats import binom, binomtest

    share = Share(count, total)
    exact = binomtest(count, total).proportion_ci(method="exact")
    assert (share.lower, share.upper) == pytest.approx((exact.low, exact.high), abs=1e-12)
    assert share.lower <= share.value <= share.upper
    if 0 < count < total:
        assert binom.sf(count - 1, total, share.lower) == pytest.approx(0.025)
        assert binom.cdf(count, total, share.upper) == pytest.approx(0.025)


@pytest.mark.parametrize("content", [None, "no json", "{}", '{"findings": [{"question": 1}]}', "[1]"])
def test_a_file_that_holds_no_outcome_is_named(tmp_path, content):
    path = tmp_path / "broken.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(DataError, match=r"path: .*broken\.json"):
        read_outcome(path)


def test_unknown_names_are_refused_with_those_that_are_known(tmp_path, command):
    with pytest.raises(DataError, match="experiment: 'none' is not known; use one of normality"):
        load_experiment("none")
    result = command("none", "--out", tmp_path / "out")
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: experiment: 'none' is not known")
    assert len(result.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path, command):
    (tmp_path / "file").write_text("in the way")
    result = command(NAME, "--out", tmp_path / "file" / "folder")
    assert result.returncode == 2
    assert result.stderr.startswith("pre-convex: --out: cannot write")
    assert len(result.stderr.splitlines()) == 1
    assert "Verdict" not in result.stdout


def test_list_names_every_experiment_and_what_it_decides(command):
    result = command("list")
    assert result.returncode == 0, result.stderr
    text = " ".join(result.stdout.split())
    for name in EXPERIMENTS:
        assert name in text
        assert load_experiment(name).TITLE.split()[0] in text


def test_the_command_shows_findings_and_writes_both_files(tmp_path, command):
    result = command(NAME, "--quick", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    outcome, _ = read_outcome(tmp_path / "experiment-output" / f"{NAME}.json")
    words = " ".join(result.stdout.split())
    assert f"Verdict: {outcome.verdict}" in words
    assert max(map(len, result.stdout.splitlines())) <= 80
    for ending in ("json", "png"):
        assert f"written: experiment-output/{NAME}.{ending}" in words
        assert (tmp_path / "experiment-output" / f"{NAME}.{ending}").exists()
