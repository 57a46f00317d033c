"""Simulated coverage of the confidence intervals: stored results, the page that quotes them, and the command."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from interval_coverage import DEFAULTS, outside, span
from interval_settings import settings
from scipy import stats

ROOT = Path(__file__).parents[2]
SETTINGS = {setting.name: setting for setting in settings()}


def stored():
    with (ROOT / "benchmarks" / "results" / "coverage.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_page_shows_the_stored_coverage():
    lines = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    for row in stored():
        if row["quantity"] in DEFAULTS and row["kind"] == "auto":
            own = [line for line in lines if line.startswith(f"| {row['setting']}")]
            assert any(f"| {span(row)} |" in line for line in own), row


def test_every_setting_is_stored():
    assert {row["setting"] for row in stored()} == set(SETTINGS)
    assert sum(setting.held_back for setting in SETTINGS.values()) == 8
    assert len(SETTINGS) - 8 >= 16


def test_the_page_lists_every_default_outside_the_goal():
    lines = (ROOT / "docs" / "coverage.md").read_text(encoding="utf-8").splitlines()
    found = outside(stored())
    assert all(line in lines for line in found)
    for row in stored():
        if row["quantity"] == "joint region" and row["kind"] == "auto" and "paired" not in row["setting"]:
            assert float(row["lowest"]) >= 92.0, row  # the page says where paired rows fall short


@pytest.mark.parametrize("name", ["N(1, 1) and N(0, 1), x and x²", "Poisson counts", "gamma shapes, x and log x"])
def test_true_values_are_those_of_formulas(name):
    delta, divergence = {
        "N(1, 1) and N(0, 1), x and x²": ([1.0, 0.0], 0.5),
        "Poisson counts": ([np.log(3.0 / 2.2)], 3.0 * np.log(3.0 / 2.2) - 0.8),
        "gamma shapes, x and log x": ([0.0, 1.0], stats.gamma(3.0).expect(lambda x: np.log(x)) - np.log(2.0)),
    }[name]
    truth = SETTINGS[name].truth
    np.testing.assert_allclose(truth.delta, delta, atol=1e-7)
    assert truth.divergence == pytest.approx(divergence, abs=1e-8)


def test_the_simulation_runs():
    script = ROOT / "benchmarks" / "interval_coverage.py"
    command = [sys.executable, "-W", "error", script, "--runs", "2", "--only", "set-up of the paper"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "| set-up of the paper |" in result.stdout
