"""Stored runs are read back as written; damage is reported, and an incomplete last line is ignored."""

import pytest
from pre_convex_lab.solvers.metrics import Verdict
from pre_convex_lab.solvers.records import Row, read_run, row_line

from pre_convex.errors import DataError

HEADER = "set,case,n,k,truth,solver,formulation,tol,verdict,claim,note,gap\n"
ROW = Row("s", 'a "case", odd', 3, 1, "optimal", "SCS", "dual", 1.5e-7, Verdict.INACCURATE, "c", "n", {"gap": 0.123456})
LINE = row_line(ROW, ["gap"])


def store(folder, *texts, facts='{"format": 1, "sets": [], "contenders": []}'):
    (folder / "run.json").write_text(facts, encoding="utf-8")
    (folder / "rows.csv").write_text("".join(texts), encoding="utf-8")


def test_a_row_is_read_as_it_was_written(tmp_path):
    store(tmp_path, HEADER, LINE)
    (row,) = read_run(tmp_path).rows
    assert row.key == ROW.key
    assert (row.n, row.k, row.truth, row.verdict, row.claim, row.note) == (3, 1, "optimal", ROW.verdict, "c", "n")
    assert row.numbers == {"gap": 0.1235}


def test_a_metric_of_another_version_is_kept(tmp_path):
    store(tmp_path, HEADER.replace("gap", "gap,beauty"), LINE.replace("\n", ",7\n"))
    assert read_run(tmp_path).rows[0].numbers["beauty"] == 7.0


def test_an_incomplete_last_line_is_ignored(tmp_path):
    for end in range(len(LINE)):
        store(tmp_path, HEADER, LINE, LINE.replace("SCS", "ECOS")[:end])
        assert len(read_run(tmp_path).rows) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a,b\n", "columns"),
        (HEADER + "s,c\n", "line 2"),
        (HEADER + LINE.replace("inaccurate", "lovely"), "lovely"),
        (HEADER + 2 * LINE, "line 3"),
        (HEADER + LINE.replace("1.5e-07", "nan"), "tol is nan"),
    ],
)
def test_damaged_rows_are_reported(tmp_path, text, reason):
    store(tmp_path, text)
    with pytest.raises(DataError) as error:
        read_run(tmp_path)
    assert error.value.argument == "run"
    assert reason in error.value.reason


@pytest.mark.parametrize(
    "facts",
    [
        "",
        "[]",
        "{}",
        '{"format": 99, "sets": []}',
        '{"format": 1}',
        '{"format": 1, "sets": [1], "contenders": []}',
        '{"format": 1, "sets": [{"name": "a", "cases": "many"}], "contenders": []}',
        '{"format": 1, "sets": [], "contenders": [], "time_limit": "long"}',
        '{"format": 1, "sets": [], "contenders": [], "tolerances": 3}',
    ],
)
def test_damaged_settings_are_reported(tmp_path, facts):
    store(tmp_path, HEADER, facts=facts)
    with pytest.raises(DataError, match=r"run\.json") as error:
        read_run(tmp_path)
    assert error.value.argument == "run"


def test_a_folder_without_a_run_is_reported(tmp_path):
    with pytest.raises(DataError) as error:
        read_run(tmp_path)
    assert error.value.argument == "run"
