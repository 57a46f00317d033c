"""The benchmark of ratio estimators: how draws become ranks, and that every setting can be drawn."""

import math

import numpy as np
import pytest

pytest.importorskip("threadpoolctl")
pytest.importorskip("sklearn")
from ratio_settings import SETTINGS, SPLITS
from ratios import judged, mean_ranks, means, merged, runs, stored_rows, summary


def row(setting, seed, estimator, regret, failure=""):
    return {"kind": "shift", "setting": setting, "seed": seed, "estimator": estimator, "regret": regret,
            "nmse": regret, "failure": failure, "seconds": 0.1}  # fmt: skip


def test_ranks_are_those_of_the_mean_over_draws_and_a_failure_is_last():
    rows = [row("a", 1, "x", 0.1), row("a", 2, "x", 0.5), row("a", 1, "y", 0.2), row("a", 2, "y", 0.2)]
    rows += [row("b", 1, "x", 0.1), row("b", 2, "x", 0.1), row("b", 1, "y", math.nan, "crash"), row("b", 2, "y", 0.0)]
    assert means(rows, "regret")["shift", "a"] == pytest.approx({"x": 0.3, "y": 0.2})
    assert means(rows, "regret")["shift", "b"]["y"] == math.inf
    assert mean_ranks(rows) == {"x": 1.5, "y": 1.5}
    line = next(one for one in summary(rows) if one.startswith("| x "))
    assert "| 1.0–2.0 |" in line
    assert "| 0.50 |" in line  # the worst draw


def test_every_setting_and_seed_is_run_once_and_draws_differ():
    todo = runs(SETTINGS[:2], (4, 5))
    assert [seed for _, seed in todo] == [4, 5, 4, 5]
    for setting in (SETTINGS[0], SPLITS[1]):
        one, other = setting.draw(4), setting.draw(5)
        assert not np.array_equal(one.x_p[:5], other.x_p[:5])
        assert judged(one, lambda x, one=one: one.log_ratio_q if x is one.test_q else one.log_ratio_p)["nmse"] < 1e-20


def test_rows_of_one_estimator_take_the_place_of_the_stored_ones():
    stored = [row("a", 1, "x", 0.1), row("a", 1, "y", 0.2), row("a", 2, "x", 0.3), row("a", 2, "y", 0.4)]
    both = merged([row("a", 1, "x", 0.5), row("a", 2, "x", 0.6)], stored)
    assert [(one["estimator"], one["regret"]) for one in both] == [("x", 0.5), ("x", 0.6), ("y", 0.2), ("y", 0.4)]
    assert {type(one["regret"]) for one in stored_rows()} == {float}
