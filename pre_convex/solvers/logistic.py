"""solve_logistic(): the Newton engine and cone solvers on [LOGIT], certified; separable data are detected."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from .._internal.threads import blocking, single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_choice, as_flag
from ..certificate.certificate import NO_PROOF, Certificate, Proof
from ..certificate.family import linked_arithmetic, prove_linked
from ..certificate.logistic import logistic_certificate, make_logistic_penalty, proven_certificate
from ..data.blocks import show_progress
from ..data.linked import linked_tilt
from ..data.logistic import LogisticRows
from ..data.requests import Level, Requests
from ..errors import DataError, SolveError
from ..logistic import LogisticProblem, as_logistic_problem
from ..penalties import BallPenalty, PartialPenalty, Penalty, with_intercept
from ..solution import Solution, Stage, Status
from .newton import Descent, Point
from .registry import ConeCall, check_options, find_solver
from .separation import separating_direction, separation_error
from .settings import Clock, Settings, make_settings
from .stages import LIMITS, NewtonResult, Staged

__all__ = ["newton_logistic", "solve_logistic"]


class LogisticDescent(Descent):
    """Newton in θ = (c, δ); it stops when θ separates the sides along unpenalised coordinates."""

    def _may_separate(self, point: Point) -> bool:
        """Whether to check if θ separates: only along an unpenalised direction can the loss decrease for ever."""
        free = self.penalty.homogeneous and point.penalty == 0.0
        return free and (self.iterations in (1, 2) or self.iterations % 5 == 4)


class LogisticStages(Staged):
    """The stages in θ = (c, δ) for the pooled rows, with the certificate [FY]."""

    problem: LogisticProblem

    def _descent(self, level: Level, curvature: Array | None = None, variances: Array | None = None) -> Descent:
        return LogisticDescent(
            level, self.penalty, self.settings, self.clock, self.arithmetic.shift, curvature, variances
        )

    def _share(self, point: Point, level: Level) -> Requests[float]:
        """Information of a row relative to one of a p sample of n rows: as many rows count as the rarer side has."""
        yield from ()
        return min(1.0, 2.0 * min(self.problem.sizes) / self.problem.n)

    def _certify(self, descent: Descent, point: Point, subset: Level | None) -> Requests[Proof]:
        """Proof by a lift on the subset, and if that does not suffice on all rows."""
        if descent.reason == "diverges":
            return NO_PROOF
        assert isinstance(self.penalty, PartialPenalty)  # with a free intercept
        where = (point.delta, point.summary, self.penalty, self.arithmetic, self.problem.link.divergence)
        if subset is not None:
            proof = yield from prove_linked(*where, subset.number)
            if proof.gap <= self.settings.tol * (1.0 + abs(point.value)):
                return proof
        return (yield from prove_linked(*where))


def newton_logistic(
    problem: LogisticProblem,
    penalty: Penalty,
    settings: Settings,
    *,
    start: Array | None = None,
    verbose: bool = False,
) -> tuple[NewtonResult, Array]:
    """Solve [LOGIT] and certify the answer.

    Parameters
    ----------
    problem : LogisticProblem
        The problem.
    penalty : Penalty
        Penalty in the solver's units, from :func:`~pre_convex.certificate.logistic.make_logistic_penalty`.
    settings : Settings
        Tolerance, limits and sizes.
    start : array of shape (k + 1,), optional
        Initial θ = (c, δ), such as the answer of a cone solver.
    verbose : bool, default False
        Whether to print each stage.

    Returns
    -------
    NewtonResult
        Where Newton stopped.
    ndarray of shape (k + 1,)
        θ.
    """
    inner = replace(settings, tol=settings.tol / problem.unit)  # its objective is smaller by this factor
    with single_threaded_blas(), np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        staged = LogisticStages(
            problem.n, problem.k + 1, with_intercept(penalty, problem.k), inner, linked_arithmetic(problem.moments),
            start, row_cost=problem.rows.subset_cost, collinear_ends=False, verbose=verbose,
        )  # fmt: skip
        staged.problem = problem
        zero = np.zeros(problem.k + 1)
        staged.loss_at_zero = linked_tilt(problem.rows, problem.link, zero, covariance=False).log_z  # type: ignore[arg-type]
        outcome = LogisticRows(problem.rows, problem.link).run(staged.run())
        theta = outcome.point.delta
        certificate = proven_certificate(problem, theta, outcome.point.summary, penalty, outcome.proof)
    found = NewtonResult(
        np.array(theta[1:]), certificate, outcome.iterations, outcome.passes, outcome.reason, tuple(staged.trace)
    )
    return found, theta


@single_threaded_blas()
def solve_logistic(
    problem: LogisticProblem,
    formulation: str = "primal",
    solver: str = "auto",
    *,
    penalty: Any = None,
    constraints: Any = None,
    tol: float | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    settings: Settings | None = None,
    solver_options: dict[str, Any] | None = None,
    polish: bool = True,
    check: bool = True,
    verbose: bool = False,
) -> Solution:
    """Solve a logistic regression with offsets [LOGIT] and certify the answer.

    Parameters
    ----------
    problem : LogisticProblem
        The problem to solve.
    formulation : {"primal", "dual"}, default "primal"
        Program that a cone solver gets; the Newton engine solves both together.
    solver : str, default "auto"
        ``"auto"`` or ``"newton"`` for the package's Newton engine, or the name of an installed cone solver.
    penalty : callable, default None
        ``penalty(delta)`` returns a convex cvxpy expression that is added to the objective, as in :func:`solve`.
    constraints : callable, default None
        ``constraints(delta)`` returns convex cvxpy constraints on δ, as in :func:`solve`.
    tol : float, default None
        Tolerance between 0 and 1: the answer is optimal if its certified gap is at most ``tol · (1 + |value|)``. None
        uses that of the settings, 1e-8 by default.
    max_iter : int, default None
        Maximum number of steps; None uses that of the settings.
    time_limit : float, default None
        Seconds; None uses that of the settings, by default no limit.
    settings : Settings, default None
        All settings together.
    solver_options : dict, default None
        Options of a cone solver by its own names.
    polish : bool, default True
        Whether to refine a cone solver's answer by Newton steps; ``solution.raw`` is its own certificate.
    check : bool, default True
        Whether to raise an error if the answer is not proven optimal.
    verbose : bool, default False
        Whether to print progress.

    Returns
    -------
    Solution
        δ, intercept α, status and certificate. Its ``mu`` are the weights u/n_p of the pooled rows, p rows first.

    Raises
    ------
    SeparationError
        A combination of features without a radius separates the samples, so that there is no minimiser. Carries the
        direction.
    SolveError
        The gap is larger than the tolerance, a limit was reached, or the solver returned nothing.
    DataError
        An argument cannot be used.

    Examples
    --------
    >>> from pre_convex.logistic import LogisticProblem
    >>> solution = solve_logistic(LogisticProblem([[1.0], [2.0], [4.0]], [[0.0], [3.0]]))
    >>> solution.status.name, solution.delta.round(4)
    ('OPTIMAL', array([0.4395]))
    """
    problem = as_logistic_problem(problem)
    settings = make_settings(settings, tol=tol, max_iter=max_iter, time_limit=time_limit)
    as_choice(formulation, "formulation", ("primal", "dual"))
    polish, check, verbose = as_flag(polish, "polish"), as_flag(check, "check"), as_flag(verbose, "verbose")
    entry, options = find_solver(solver), check_options(solver_options, solver)
    if formulation == "dual" and not (penalty is None and constraints is None):
        raise DataError("formulation", "penalty and constraints are functions of delta", "use formulation='primal'")
    terms = make_logistic_penalty(problem, penalty, constraints)
    started = time.perf_counter()
    with show_progress(problem.rows, verbose), blocking(settings.threads, settings.block_size):
        if entry is None:
            solution = _solve_newton(problem, terms, settings, formulation, verbose)
        else:
            call = ConeCall(entry, formulation, penalty, constraints, options, verbose)
            solution = _solve_cone(problem, call, terms, settings, polish)
        solution = _decide_status(problem, solution, terms, settings)
    user_terms = penalty is not None or constraints is not None
    solution = replace(solution, user_terms=user_terms, solve_time=time.perf_counter() - started)
    if check and not solution.ok:
        raise _error(problem, solution)
    return solution


def _solve_newton(
    problem: LogisticProblem, terms: Penalty, settings: Settings, formulation: str, verbose: bool
) -> Solution:
    try:
        found, theta = newton_logistic(problem, terms, settings, verbose=verbose)
    except SolveError as error:  # constraints without a solution
        return _failed(problem, "newton", formulation, settings, str(error))
    return _solution(problem, found, theta, "newton", formulation, settings)


def _solution(
    problem: LogisticProblem,
    found: NewtonResult,
    theta: Array,
    solver: str,
    formulation: str,
    settings: Settings,
    **fields: Any,
) -> Solution:
    """Solution at (c, δ); status OPTIMAL by its certificate, or why Newton stopped."""
    delta, alpha = np.array(theta[1:]), problem.intercept_of(theta)
    proven = found.certificate.proves(settings.tol)
    return Solution(
        delta=delta,
        normaliser=alpha,
        weights=lambda: problem.weights(alpha, delta),
        status=Status.OPTIMAL if proven else LIMITS.get(found.reason, Status.INACCURATE),
        certificate=found.certificate,
        solver=solver,
        formulation=formulation,
        iterations=fields.pop("iterations", found.iterations),
        trace=found.trace,
        settings=settings,
        **fields,
    )


def _failed(problem: LogisticProblem, solver: str, formulation: str, settings: Settings, claim: str) -> Solution:
    """Solution of a solver that returned no numbers."""
    return Solution(
        delta=np.full(problem.k, np.nan),
        weights=np.full(problem.n, np.nan),
        status=Status.FAILED,
        certificate=Certificate(np.inf, -np.inf, np.inf, np.inf, np.inf, np.nan, np.nan),
        solver=solver,
        formulation=formulation,
        iterations=0,
        settings=settings,
        claim=claim,
    )


def _solve_cone(problem: LogisticProblem, call: ConeCall, terms: Penalty, settings: Settings, polish: bool) -> Solution:
    """Answer of a cone solver, certified, and polished on request."""
    from ..programs.logistic import logistic_dual_program, logistic_primal_program
    from .cone import run_program

    if call.formulation == "primal":

        def build() -> Any:
            return logistic_primal_program(problem, penalty=call.penalty, constraints=call.constraints, scaled=True)
    else:

        def build() -> Any:
            return logistic_dual_program(problem, scaled=True)

    answer = run_program(build, call, settings)
    if answer.delta is None:
        return _failed(problem, call.solver.name, call.formulation, settings, answer.claim)
    theta = problem.theta(problem.best_intercept(answer.delta), answer.delta)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        raw = logistic_certificate(problem, theta, terms)
    found = NewtonResult(answer.delta, raw, answer.iterations, 0, "", ())
    if polish:
        found, theta = newton_logistic(problem, terms, settings, start=theta)
    fields = {"claim": answer.claim, "raw": raw, "polished": polish, "iterations": answer.iterations}
    times = {"compile_time": answer.compile_time, "setup_time": answer.setup_time}
    return _solution(problem, found, theta, call.solver.name, call.formulation, settings, **fields, **times)


def _decide_status(problem: LogisticProblem, solution: Solution, terms: Penalty, settings: Settings) -> Solution:
    """Solution with the status SEPARATED if nothing was proven and a direction without a radius separates."""
    if solution.status in (Status.OPTIMAL, Status.TIME_LIMIT) or not isinstance(terms, BallPenalty | PartialPenalty):
        return solution
    free = np.asarray(terms.unpenalised(problem.k), dtype=np.intp)
    clock = Clock()
    hint = problem.theta(solution.intercept, solution.delta) if np.all(np.isfinite(solution.delta)) else None
    theta = separating_direction(problem, free, hint)
    reason = "no direction separates" if theta is None else "the samples are separable"
    stage = Stage("separation", problem.n, 1, clock.seconds, math.nan, reason)
    solution = replace(solution, trace=(*solution.trace, stage))
    if theta is None:
        return solution
    length = float(np.linalg.norm(theta[1:])) or 1.0
    direction = theta / length
    return replace(
        solution, delta=np.array(direction[1:]), normaliser=float(direction[0] - problem.target @ direction[1:]),
        status=Status.SEPARATED,
    )  # fmt: skip


def _error(problem: LogisticProblem, solution: Solution) -> SolveError:
    """Exception that belongs to a status."""
    if solution.status is Status.SEPARATED:
        return separation_error(problem, solution)
    report = f" {solution.solver} reported: {solution.claim}." if solution.claim else ""
    if solution.status is Status.FAILED:
        return SolveError(f"{solution.status}{report}", solution)
    return SolveError(f"{solution.status} {solution.certificate}.{report}", solution)
