"""The cone engine: [P] or [D] through cvxpy and a named solver, and what that solver says about it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import cvxpy as cp

from ..entropy import Array
from ..errors import DataError
from ..problem import RatioProblem
from ..programs import dual_program, primal_program
from ..threads import alone, quietly
from .registry import ConeSolver

__all__ = ["ConeAnswer", "cone"]


@dataclass(frozen=True, eq=False)
class ConeAnswer:
    """A solver's numbers and claim; (δ, μ) are ``None`` where it left none."""

    delta: Array | None
    mu: Array | None
    claim: str
    iterations: int
    compile_time: float
    setup_time: float
    solve_time: float


@alone()
def cone(
    problem: RatioProblem,
    solver: ConeSolver,
    formulation: str,
    *,
    penalty: Any,
    constraints: Any,
    tol: float,
    verbose: bool,
) -> ConeAnswer:
    """Build, compile and solve one program, with the solver named and its own words kept; one thread at a time."""
    started = time.perf_counter()
    if formulation == "primal":
        program = primal_program(problem, penalty=penalty, constraints=constraints, scaled=solver.scaled_primal)
    elif penalty is None and constraints is None:
        program = dual_program(problem, scaled=solver.scaled_dual, counts=solver.counts)
    else:
        raise DataError("formulation: penalty and constraints are functions of delta; use formulation='primal'")
    built = time.perf_counter()
    claim, iterations = "", 0
    compiled: float | None = None
    with quietly():  # cvxpy warns of inaccurate solutions; the certificate decides
        try:
            program.cvxpy.get_problem_data(solver.name)
            compiled = time.perf_counter()
            program.cvxpy.solve(solver=solver.name, verbose=verbose, **solver.options(tol))
            claim = str(program.cvxpy.status)
        except Exception as error:  # solvers raise types of their own, such as a missing licence
            compiled = compiled or time.perf_counter()  # a failed solve is no part of the translation
            claim = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
    solve_time = time.perf_counter() - compiled
    stats = getattr(program.cvxpy, "solver_stats", None)
    if stats is not None and isinstance(stats.num_iters, int):
        iterations = stats.num_iters
    found = None if claim in (cp.INFEASIBLE, cp.UNBOUNDED) else program.recover()
    delta, mu = found if found is not None else (None, None)
    return ConeAnswer(delta, mu, claim, iterations, compiled - built, built - started, solve_time)
