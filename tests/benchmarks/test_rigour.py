"""Certificates judged by ball arithmetic: the generators, the judge, and the command."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from zoo import planted

import pre_convex as pre

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def test_numbers_go_through_all_kinds_ways_norms_and_radii():
    from hard_problems import KINDS, NORMS, WAYS, draw

    drawn = [draw(i) for i in range(2 * len(KINDS) * len(WAYS) * len(NORMS))]
    found = {(d.kind, d.way, d.problem.norm, d.problem.radius > 0.0) for d in drawn}
    assert len(found) == len(drawn)


def test_the_same_number_gives_the_same_problem():
    from hard_problems import draw

    one, other = draw(7), draw(7)
    assert np.array_equal(one.problem.features_q, other.problem.features_q)
    assert np.array_equal(one.problem.target, other.problem.target)


@pytest.mark.parametrize(("radius", "norm"), [(0.0, 2), (0.05, 2), (0.05, np.inf), (0.05, 1)])
def test_the_judge_catches_a_gap_that_is_too_small_and_no_other(radius, norm):
    from ball_judge import verdict
    from hard_problems import Answer

    problem, delta = planted(n=40, radius=radius, norm=norm)
    off = delta * (1.0 + 1e-4)
    honest, faked = pre.certify(problem, off), pre.certify(problem, delta)
    assert not verdict(Answer(problem, off, honest)).false
    found = verdict(Answer(problem, off, faked))
    assert found.false
    assert found.ratio > 1.0
    assert verdict(Answer(problem, delta, replace(faked, gap=-1e-12))).false


def test_the_judge_catches_wrong_weights_on_the_boundary():
    from ball_judge import verdict
    from hard_problems import solved

    problem = pre.RatioProblem([1.0, 0.5], [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    solution = pre.solve(problem, check=False)
    assert solution.status is pre.Status.BOUNDARY
    (right,) = solved(problem, solution)
    (wrong,) = solved(problem, replace(solution, weights=np.array([0.0, 0.0, 0.9, 0.1])))
    assert not verdict(right).wrong_weights
    assert verdict(wrong).wrong_weights


def test_a_target_that_rounding_puts_outside_is_told_apart_from_a_false_certificate():
    from ball_judge import verdict
    from hard_problems import Answer

    x = np.random.default_rng(0).normal(20.0, 5.0, 40)
    problem = pre.RatioProblem([21.0, np.nextafter(21.0, 22.0)], np.column_stack([x, x]))
    single = pre.RatioProblem([21.0], x[:, None])
    delta = pre.solve(single).delta
    found = verdict(Answer(problem, np.array([delta[0], 0.0]), pre.certify(single, delta)))
    assert found.rounding
    assert not found.false


def test_the_command_runs():
    command = [sys.executable, "-W", "error", ROOT / "benchmarks" / "rigour.py", "--count", "60", "--workers", "1"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("| all |")]
    assert int(line.split("|")[2]) == 60
