"""Conclusions drawn from handmade rows name the right contenders and figures."""

import numpy as np
from benchmark_rows import FALSE_INFEASIBLE, FALSE_OPTIMAL, row
from pre_convex_lab.solvers.conclusions import conclusions
from pre_convex_lab.solvers.metrics import Verdict


def text_of(rows):
    return " ".join(conclusions(rows, limit=10.0))


def test_the_best_the_false_and_the_quickest_are_named():
    rows = [row(str(i), "newton", seconds=0.1) for i in range(4)]
    rows += [
        row(str(i), "SCS dual", FALSE_OPTIMAL if i < 2 else Verdict.SOLVED, 0.4, gap=1.0 if i else 2e-6)
        for i in range(4)
    ]
    rows += [
        row(str(i), "SCS primal", FALSE_INFEASIBLE if i == 0 else Verdict.SOLVED, 0.8, claim="infeasible")
        for i in range(4)
    ]
    text = text_of(rows)
    assert "newton solved 100 %" in text
    assert "SCS primal (75 %) and SCS dual (50 %)" in text
    assert "2 claims of optimality were false, 1 of them grossly" in text
    assert "1 claim of infeasibility was false" in text
    assert "newton made no false claim" in text
    assert "newton is quickest" in text
    assert "with SCS the primal solves 3 and the dual 2 of 4, and the dual is 2.00 times as quick" in text


def test_nothing_is_praised_if_nothing_is_solved():
    rows = [row("p", name, Verdict.TIME, np.nan, claim="") for name in ("A dual", "A primal", "B")]
    text = text_of(rows)
    assert "No contender solved any" in text
    assert "quickest" not in text
    assert "0 %" not in text


def test_ties_are_decided_by_the_rates_at_every_tolerance():
    """Contenders with the same average rate need not have the same rates."""
    rows = [row("p", "A", tol=1e-4), row("p", "A", FALSE_OPTIMAL, tol=1e-8, gap=1.0)]
    rows += [row("p", "B", FALSE_OPTIMAL, tol=1e-4, gap=1.0), row("p", "B", tol=1e-8)]
    rows += [row("p", "C", tol=1e-4), row("p", "C", FALSE_OPTIMAL, tol=1e-8, gap=1.0)]
    text = text_of(rows)
    assert "A and C each solved 100 % and 0 %" in text
    assert "B (0 % and 100 %, from loose to tight)" in text
    assert "A, B and C made the most (1 each)" in text


def test_the_only_one_with_false_claims_made_all_of_them():
    rows = [row("p", "A"), row("p", "B", FALSE_OPTIMAL, gap=1.0), row("q", "A"), row("q", "B")]
    assert "B made all (1)" in text_of(rows)
