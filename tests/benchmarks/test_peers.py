"""The comparison with other packages: what it counts as a failure, and that it runs with SciPy and scikit-learn."""

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from pre_convex_lab.solvers.contenders import Answer
from pre_convex_lab.solvers.sets import load_set

import pre_convex as pre

ROOT = Path(__file__).parents[2]


@pytest.fixture
def peers(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import peers

    return peers


def smoke(name):
    return next(case for case in load_set("smoke").cases if case.name == name)


def answer():
    yield {}
    yield {"failure": "", "time": 1.0}
    yield {"time": 2.0}


def crash():
    yield {}
    os.kill(os.getpid(), signal.SIGKILL)


def error():
    yield {}
    raise ValueError("no\nsuch thing")


def hang():
    yield {}
    time.sleep(60)


@pytest.mark.parametrize(
    ("work", "row"),
    [
        (answer, {"failure": "", "time": 2.0}),
        (error, {"failure": "ValueError", "note": "no"}),
        (crash, {"failure": "the process ended with -9"}),
        (hang, {"failure": "time limit"}),
    ],
)
def test_a_peer_that_fails_crashes_or_hangs_is_one_row(peers, work, row):
    assert peers.in_child(work, limit=1.0) == row


@pytest.mark.parametrize("name", ["lbfgs", "trust_exact", "logistic"])
def test_scipy_and_scikit_learn_find_the_solution(peers, name):
    case = smoke("plain")
    answer = getattr(peers, name)(case.problem, "both", 1e-6)
    row = peers.judged(case, case.problem.features_q @ case.delta, answer)
    assert row["failure"] == ""
    assert row["moment"] < 1e-4
    assert row["correlation"] > 1.0 - 1e-8
    assert row["gap"] < 1e-6


def test_a_penalty_is_expressed_exactly_or_not_at_all(peers):
    case = smoke("radius")  # norm inf
    np.testing.assert_allclose(peers.lbfgs(case.problem, "both", 1e-6).delta, case.delta, atol=1e-4)
    assert peers.trust_exact(case.problem, "both", 1e-6).claim == "cannot state the problem"
    problem = case.problem.with_radius(0.1, norm=2)
    ours = pre.solve(problem).delta
    for call in peers.SOLVERS[1].ways(problem).values():
        np.testing.assert_allclose(call().delta, ours, atol=1e-4)


def test_delta_is_recovered_from_weights(peers):
    import peer_solvers

    case = smoke("plain")
    weights = 3.0 * np.exp(case.problem.log_mu(case.delta))
    answer = peer_solvers.from_weights(case.problem, weights, "optimal")
    np.testing.assert_allclose(answer.delta, case.delta, atol=1e-12)
    assert peers.judged(case, None, answer)["moment"] < 1e-12
    weights[3] = np.nan
    assert peers.judged(case, None, peer_solvers.from_weights(case.problem, weights, "optimal"))["failure"]


@pytest.mark.parametrize(
    ("name", "answer", "failure"),
    [
        ("plain", Answer("optimal", np.array([0.5, -0.2])), "moments far off"),
        ("plain", Answer("gave up", np.array([0.5, -0.3])), "gave up"),
        ("plain", Answer("optimal", np.array([np.nan, 0.0])), "numbers that are not finite"),
        ("plain", Answer("optimal", np.array([0.5, -0.3])), ""),
        ("edge", Answer("boundary", np.array([0.0, 40.0])), ""),
        ("outside", Answer("optimal", np.array([0.0, 40.0])), "claims an answer where there is none"),
        ("outside", Answer("infeasible"), ""),
    ],
)
def test_failures(peers, name, answer, failure):
    assert peers.judged(smoke(name), None, answer)["failure"] == failure


def test_a_moment_within_the_radius_is_not_an_error(peers):
    F = np.array([[0.0], [2.0]])
    problem = pre.RatioProblem(np.array([1.5]), F, radius=0.2)
    assert peers.moment_error(problem, np.array([1.0, 1.0])) == pytest.approx(0.3)  # 0.5 off, 0.2 allowed, sd 1
    assert peers.moment_error(problem, np.array([0.3, 0.7])) == 0.0


def test_a_constant_column_is_measured_by_its_size(peers):
    case = next(case for case in load_set("scaling").cases if case.name == "constant-1e6")
    assert peers.moment_error(case.problem, np.exp(case.problem.log_mu(case.delta))) < 1e-12


def test_the_correlation_weights_the_rows(peers):
    x, y = np.array([0.0, 1.0, 2.0, 9.0]), np.array([0.0, 2.0, 4.0, -np.inf])
    assert peers.correlation(x, y, np.full(4, 0.25)) == pytest.approx(1.0)
    y[3] = -9.0
    assert peers.correlation(x, y, np.full(4, 0.25)) < 0.0
    assert peers.correlation(x, y, np.array([1.0, 1.0, 1.0, 0.0])) == pytest.approx(1.0)
    assert np.isnan(peers.correlation(x, np.ones(4), np.full(4, 0.25)))


def test_the_readme_shows_the_stored_results(peers):
    path = ROOT / "benchmarks" / "results" / "peers.csv"
    stored = path.read_text(encoding="utf-8").splitlines() if path.exists() else []  # else empty tables
    rows = list(csv.DictReader(stored))
    for row in rows:
        for name in ("time", "moment", "correlation", "gap"):
            row[name] = float(row[name]) if row[name] else ""
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    for mark, lines in peers.summaries(rows).items():
        table = peers.markdown(lines) if lines else []
        assert "\n".join([f"<!-- {mark} -->", *table, f"<!-- /{mark} -->"]) in text


def test_the_comparison_runs():
    command = [sys.executable, ROOT / "benchmarks" / "peers.py", "--quick", "--set", "smoke", "pairs"]
    command += ["--peer", "newton", "scipy", "linear features", "logistic, no penalty"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split(" | ") for line in result.stdout.splitlines() if line.startswith("| ")]
    cells = {(kind.removeprefix("| "), peer): rest for kind, peer, *rest in lines}
    run, failures, taken, moment, _, correlation, gap, _ = cells["smoke", "pre_convex newton"]
    assert (run, failures) == ("4", "0")
    assert float(moment) < 1e-4
    assert float(gap) < 1e-6
    assert float(correlation) > 0.9999
    assert float(taken) > 0.0
    assert cells["smoke", "scipy trust-exact"][0] == "3"  # it cannot express a radius
    kinds = [kind for kind, peer in cells if peer == "pre_convex, linear features"]
    assert len(kinds) == 2
    for kind in kinds:
        assert float(cells[kind, "pre_convex, linear features"][5]) > 0.97
        assert float(cells[kind, "logistic, no penalty"][5]) > 0.97


def test_rows_of_an_interrupted_run_are_kept_and_those_of_other_code_refused(peers, tmp_path):
    path, facts = tmp_path / "rows.jsonl", {"kind": "easy", "problem": "n500", "peer": "ebal"}
    first = peers.Kept(path)
    assert first.get(facts) is None
    first.add({**facts, "time": 2.0, "failure": ""})
    again = peers.Kept(path)
    assert again.get(facts) == {**facts, "time": 2.0, "failure": ""}
    again.add({**facts, "time": 2.0, "failure": ""})
    assert len(path.read_text().splitlines()) == 2  # the code and one row
    path.write_text('"other code"\n')
    with pytest.raises(SystemExit, match="other code"):
        peers.Kept(path)
    assert peers.Kept(None).get(facts) is None
