"""Stored results of `make mutate`: counts that add up, and a reason for every survivor."""

import csv
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


def stored(name):
    with (RESULTS / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_nine_in_ten_mutants_of_every_module_are_killed():
    *modules, total = stored("mutation")
    known = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["mutmut"]["only_mutate"]
    assert {row["module"].replace(".", "/") + ".py" for row in modules} == set(known)
    assert total["module"] == "all"
    for column in ("mutants", "killed", "survived", "timeout"):
        assert int(total[column]) == sum(int(row[column]) for row in modules)
    for row in (*modules, total):
        mutants, killed, survived, timeouts = (int(row[c]) for c in ("mutants", "killed", "survived", "timeout"))
        assert killed + survived + timeouts == mutants
        assert float(row["rate"]) == pytest.approx((killed + timeouts) / mutants, abs=1e-4)
        assert float(row["rate"]) >= 0.9, row


def test_reasons_quote_lines_of_the_code():
    for row in stored("../mutation_reasons"):
        path = ROOT.joinpath(*row["module"].split(".")).with_suffix(".py")
        assert row["line"] in path.read_text(encoding="utf-8"), row
        assert row["reason"].strip()


def test_every_survivor_has_a_reason():
    found = Counter(row["module"] for row in stored("mutation-survivors"))
    assert found == {row["module"]: int(row["survived"]) for row in stored("mutation")[:-1] if row["survived"] != "0"}
    assert all(row["reason"].strip() for row in stored("mutation-survivors"))
