"""Statistics of handmade rows have known values."""

import numpy as np
import pytest
from benchmark_rows import FALSE_INFEASIBLE, FALSE_OPTIMAL, SOLVED, row
from pre_convex_lab.solvers.metrics import Verdict
from pre_convex_lab.solvers.summary import (
    ALL,
    accuracies,
    contenders,
    describe_subset,
    false_claims,
    median,
    set_names,
    successes,
    tols,
    unsolved_cases,
)


def test_names_are_in_a_fixed_order():
    rows = [
        row("a", "SCS dual", test_set="mine"),
        row("a", "newton", tol=1e-4),
        row("a", "SCS primal", test_set="peaked"),
    ]
    assert contenders(rows) == ("newton", "SCS primal", "SCS dual")
    assert set_names(rows) == ("easy", "peaked", "mine")
    assert tols(rows) == (1e-4, 1e-6)


def test_success_counts_every_verdict():
    rows = [row(str(i), verdict=verdict) for i, verdict in enumerate(Verdict)] + [row("x", test_set="real")]
    found = {s.test_set: s for s in successes(rows)}
    assert set(found) == {"easy", "real", ALL}
    assert all(count == 1 for count in found["easy"].counts.values())
    assert found["easy"].rate == 1 / len(Verdict)
    assert (found["real"].rate, found[ALL].solved, found[ALL].rows) == (1.0, 2, len(Verdict) + 1)


def test_success_is_nan_if_the_contender_was_not_run_on_the_set():
    rows = [row("a", "A"), row("b", "B", test_set="real")]
    (s,) = (s for s in successes(rows) if (s.contender, s.test_set) == ("A", "real"))
    assert s.rows == 0
    assert np.isnan(s.rate)


def test_false_claims_in_both_directions():
    rows = [
        row("right"),
        row("slightly", verdict=FALSE_OPTIMAL, gap=99e-6),
        row("grossly", verdict=FALSE_OPTIMAL, gap=101e-6),
        row("unbounded", verdict=FALSE_OPTIMAL, gap=np.inf),
        row("missing", verdict=FALSE_OPTIMAL, gap=np.nan),
        row("far outside", verdict=FALSE_OPTIMAL, gap=0.0, truth="infeasible", dual_residual=0.5),
        row("barely outside", verdict=FALSE_OPTIMAL, gap=np.nan, truth="infeasible", dual_residual=2e-6),
        row("recognised", truth="infeasible", claim="infeasible"),
        row("denied", verdict=FALSE_INFEASIBLE, claim="unbounded"),
        row("modest", verdict=Verdict.INACCURATE, claim="optimal_inaccurate", gap=1.0),
    ]
    (f,) = false_claims(rows)
    assert (f.claimed_optimal, f.false_optimal, f.gross) == (7, 6, 4)
    assert (f.claimed_infeasible, f.false_infeasible) == (2, 1)


def test_accuracy_covers_answers_called_optimal_and_cost_covers_solved_rows():
    times = {"setup": 1.0, "compile": 2.0, "solve": 5.0}
    rows = [
        row("a", gap=1e-9, error=1.0, iterations=4, memory=10.0, **times),
        row("b", gap=3e-9, error=np.nan, iterations=8, memory=30.0, **times),
        row("c", verdict=FALSE_OPTIMAL, gap=np.inf, error=5.0, iterations=100, memory=1000.0, solve=1e3),
        row("outside", claim="infeasible", truth="infeasible", gap=7.0, iterations=6),
        row("false", verdict=FALSE_OPTIMAL, truth="infeasible", gap=0.0),
    ]
    (a,) = accuracies(rows)
    assert a.rows == 3
    assert a.median["gap"] == 3e-9
    assert a.worst["gap"] == np.inf
    assert (a.median["error"], a.worst["error"]) == (3.0, 5.0)
    assert np.isnan(a.median["primal_residual"])
    assert a.median_cost == {"iterations": 6.0, "memory": 20.0}
    assert a.time_share == {"setup": 0.125, "compile": 0.25, "solve": 0.625}


@pytest.mark.parametrize(
    ("values", "expected"),
    [([1.0], 1.0), ([1.0, 3.0], 2.0), ([3.0, np.inf], np.inf), ([np.nan, 2.0, 9.0, 1.0], 2.0)],
)
def test_median_includes_infinity_and_skips_nan(values, expected):
    assert median(np.array(values)) == expected


def test_tolerances_with_the_same_unsolved_cases_are_joined():
    cases = [f"distance 1e-{i}" for i in range(1, 7)] + ["on"]
    rows = []
    for tol, first in ((1e-4, 4), (1e-6, 4), (1e-8, 2)):
        for i, case in enumerate(cases):
            bad = i + 1 >= first and case != "on"
            rows += [row(case, "A", Verdict.INACCURATE if bad else SOLVED, tol=tol, test_set="boundary")]
            rows += [row(case, "B", tol=tol, test_set="boundary")]
    found = unsolved_cases(rows)
    assert [(s.contender, s.tols, s.unsolved, s.rows, s.description) for s in found] == [
        ("A", (1e-4, 1e-6), 3, 7, "distance ≤ 1e-4 (3 of 6)"),
        ("A", (1e-8,), 5, 7, "distance ≤ 1e-2 (5 of 6)"),
    ]
    assert found[0].verdicts == {Verdict.INACCURATE: 3}


@pytest.mark.parametrize(
    ("names", "every", "description"),
    [
        (["a"], ["a", "b"], "a"),
        (["n-100", "n-300"], ["n-100", "n-300", "n-1000"], "n ≤ 300 (2 of 3)"),
        (["n300-k1", "n1000-k1"], ["n100-k1", "n300-k1", "n1000-k1", "n100-k2"], "n ≥ 300 (2 of 3), k1"),
        (["f1-1e-03", "f1-1e-04"], [f"f{i}-1e-0{j}" for i in (0, 1) for j in (1, 2, 3, 4)], "f1 ≤ 1e-03 (2 of 4)"),
        (["s1", "s3"], ["s1", "s2", "s3", "t"], "s 1, 3 (2 of 3)"),
        (["s1", "s2", "s3", "u"], ["s1", "s2", "s3", "t", "u"], "s (all 3); u"),
        (["only"], ["only"], "only"),
        (["1", "2"], ["1", "2", "3"], "≤ 2 (2 of 3)"),
    ],
)
def test_descriptions_of_subsets(names, every, description):
    assert describe_subset(names, every) == description
