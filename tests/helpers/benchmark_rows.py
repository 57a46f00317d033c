"""Handmade rows and runs of the solver benchmark, whose statistics are known."""

from pre_convex_lab.solvers.metrics import Verdict
from pre_convex_lab.solvers.records import Row, Run

SOLVED, FALSE_OPTIMAL, FALSE_INFEASIBLE = Verdict.SOLVED, Verdict.FALSE_OPTIMAL, Verdict.FALSE_INFEASIBLE


def row(
    case,
    contender="A dual",
    verdict=SOLVED,
    seconds=1.0,
    *,
    test_set="easy",
    n=100,
    k=2,
    truth="optimal",
    tol=1e-6,
    claim="optimal",
    note="",
    **numbers,
):
    """A row; the contender is a solver and, after a space, its formulation."""
    solver, _, formulation = contender.partition(" ")
    numbers = {"gap": 0.1 * tol, "time": seconds, **numbers}
    return Row(test_set, case, n, k, truth, solver, formulation or "both", tol, verdict, claim, note, numbers)


def run_of(rows, **facts):
    """A run of these rows that was not stored."""
    return Run(None, facts, tuple(rows))


def four_problems():
    """Four problems and two contenders; each solves two of them, both solve "p", neither solves "s"."""
    return (
        row("p", "A dual", seconds=1.0),
        row("p", "B", seconds=4.0),
        row("q", "A dual", seconds=3.0),
        row("q", "B", Verdict.TIME, seconds=9.0, claim=""),
        row("r", "A dual", FALSE_OPTIMAL, seconds=0.1, gap=1e-5),
        row("r", "B", seconds=2.0),
        row("s", "A dual", Verdict.CRASH, claim=""),
        row("s", "B", Verdict.FAILED, claim="solver_error"),
    )
