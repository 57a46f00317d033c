"""Rows and runs made by hand, whose summaries are known."""

from pre_convex.benchmark.metrics import Verdict
from pre_convex.benchmark.records import Row, Run

SOLVED, FALSE, NONE = Verdict.SOLVED, Verdict.FALSE_OPTIMAL, Verdict.FALSE_INFEASIBLE


def row(
    case,
    contender="A dual",
    verdict=SOLVED,
    seconds=1.0,
    *,
    group="easy",
    n=100,
    k=2,
    truth="optimal",
    tol=1e-6,
    claim="optimal",
    note="",
    **numbers,
):
    solver, _, formulation = contender.partition(" ")
    numbers = {"gap": 0.1 * tol, "time": seconds, **numbers}
    return Row(group, case, n, k, truth, solver, formulation or "both", tol, verdict, claim, note, numbers)


def run_of(rows, **facts):
    return Run(None, facts, tuple(rows))


def three_problems():
    """Three problems, two contenders: each solves two, and they share one."""
    return (
        row("p", "A dual", seconds=1.0),
        row("p", "B", seconds=4.0),
        row("q", "A dual", seconds=3.0),
        row("q", "B", Verdict.TIME, seconds=9.0, claim=""),
        row("r", "A dual", FALSE, seconds=0.1, gap=1e-5),
        row("r", "B", seconds=2.0),
        row("s", "A dual", Verdict.CRASH, claim=""),
        row("s", "B", Verdict.FAILED, claim="solver_error"),
    )
