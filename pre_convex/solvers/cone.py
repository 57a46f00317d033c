"""Cone solvers: [P] or [D] through cvxpy, with the answer and status that the solver reports."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp

from .._internal.threads import cvxpy_lock, warnings_ignored
from .._internal.typing import Array
from .._internal.validation import first_line
from ..problem import RatioProblem
from ..programs import Program, dual_program, primal_program
from .registry import ConeCall
from .settings import Settings

__all__ = ["ConeAnswer", "run_program", "solve_cone"]


@dataclass(frozen=True, eq=False)
class ConeAnswer:
    """What a cone solver returned; δ and μ are ``None`` if it returned no numbers."""

    delta: Array | None
    mu: Array | None
    claim: str
    iterations: int
    compile_time: float
    setup_time: float
    solve_time: float


def solve_cone(problem: RatioProblem, call: ConeCall, settings: Settings) -> ConeAnswer:
    """Build, compile and solve [P] or [D] of a problem."""
    solver = call.solver

    def build() -> Program:
        if call.formulation == "primal":
            return primal_program(
                problem, penalty=call.penalty, constraints=call.constraints, scaled=solver.scaled_primal
            )
        return dual_program(
            problem,
            scaled=solver.scaled_dual,
            counts=solver.counts,
            weight_penalty=call.weight_penalty,
            weight_constraints=call.weight_constraints,
        )

    return run_program(build, call, settings)


@cvxpy_lock()
def run_program(build: Callable[[], Program], call: ConeCall, settings: Settings) -> ConeAnswer:
    """Build, compile and solve one program; one thread at a time, because cvxpy is not thread-safe."""
    started, solver, program = time.perf_counter(), call.solver, build()
    options = solver.options(settings.tol)
    for name, value in ((solver.iteration_option, settings.max_iter), (solver.time_option, settings.time_limit)):
        if name is not None and value is not None:
            options[name] = value
    options |= call.options
    built = time.perf_counter()
    claim, iterations = "", 0
    compiled: float | None = None
    with warnings_ignored():  # cvxpy warns of inaccurate solutions; the certificate decides
        try:
            program.cvxpy.get_problem_data(solver.name)
            compiled = time.perf_counter()
            program.cvxpy.solve(solver=solver.name, verbose=call.verbose, **options)
            claim = str(program.cvxpy.status)
        except Exception as error:  # solvers have their own exceptions, such as for a missing licence
            compiled = compiled or time.perf_counter()  # do not count a failed solve as compile time
            claim = f"{type(error).__name__}: {first_line(error)}"
    solve_time = time.perf_counter() - compiled
    stats = getattr(program.cvxpy, "solver_stats", None)
    if stats is not None and isinstance(stats.num_iters, int):
        iterations = stats.num_iters
    found = None if claim in (cp.INFEASIBLE, cp.UNBOUNDED) else program.recover()
    delta, mu = found if found is not None else (None, None)
    return ConeAnswer(delta, mu, claim, iterations, compiled - built, built - started, solve_time)
