"""solve(): choose an engine, polish, certify, and decide the status."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

from .._internal.threads import blocking, single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_choice, as_flag
from ..certificate.certificate import NO_PROOF, Certificate, certificate_of, make_certificate
from ..data.blocks import show_progress
from ..data.passes import tilt
from ..errors import BoundaryError, DataError, SolveError
from ..feasibility.capped import separates
from ..feasibility.exposed import ExposedFace
from ..feasibility.hull import Position, minimal_radius
from ..logistic import LogisticProblem
from ..penalties import BallPenalty, NoPenalty, PartialPenalty, Penalty, make_penalty
from ..problem import RatioProblem, as_problem
from ..solution import Solution, Stage, Status
from .boundary import closer, solve_on_boundary, solve_on_exposed_face
from .family import newton_linked
from .infeasible import infeasible_error
from .logistic import solve_logistic
from .registry import ConeCall, check_options, find_solver
from .settings import Clock, Settings, make_settings
from .stages import LIMITS, NewtonResult, newton
from .weight_terms import with_weight_terms

__all__ = ["solve", "solve_newton"]


@single_threaded_blas()
def solve(
    problem: RatioProblem | LogisticProblem,
    formulation: str = "primal",
    solver: str = "auto",
    *,
    penalty: Any = None,
    constraints: Any = None,
    weight_penalty: Any = None,
    weight_constraints: Any = None,
    tol: float | None = None,
    max_iter: int | None = None,
    time_limit: float | None = None,
    settings: Settings | None = None,
    solver_options: dict[str, Any] | None = None,
    polish: bool = True,
    check: bool = True,
    verbose: bool = False,
) -> Solution:
    """Solve a posterior-ratio problem, or a logistic regression with offsets, and certify the answer.

    Parameters
    ----------
    problem : RatioProblem or LogisticProblem
        The problem to solve.
    formulation : {"primal", "dual"}, default "primal"
        Program that a cone solver gets: [P] in δ, or [D] in μ. The solution holds both δ and μ either way. The Newton
        engine solves both together, so for it the choice makes no difference.
    solver : str, default "auto"
        ``"auto"`` or ``"newton"`` for the package's Newton engine, or the name of an installed cone solver such as
        ``"CLARABEL"``; :func:`installed_solvers` lists them. Upper and lower case are the same.
    penalty : callable, default None
        ``penalty(delta)`` takes a cvxpy expression of shape (k,) and returns a convex scalar expression that is added
        to ℓ_R, such as ``lambda d: 0.1 * cp.norm1(d)``. Primal formulation only.
    constraints : callable, default None
        ``constraints(delta)`` takes a cvxpy expression of shape (k,) and returns a list of convex cvxpy constraints,
        such as ``lambda d: [d >= 0]``. Primal formulation only.
    weight_penalty, weight_constraints : callable, default None
        Convex cvxpy terms of the weights μ, as in :func:`dual_program`; they need ``formulation="dual"`` and a cone
        solver. The certificate covers terms that are affine, such as ``lambda mu: [mu[:10].sum() <= 0.2]``. With any
        other term the answer is the solver's claim: its status is ``CLAIMED``, and no error is raised.
    tol : float, default None
        Tolerance between 0 and 1: the answer is optimal if its certified gap is at most ``tol · (1 + |value|)``.
        ``None`` uses that of the settings, 1e-8 by default.
    max_iter : int, default None
        Maximum number of steps on all rows, or of iterations of a cone solver; ``None`` uses that of the settings, 200.
    time_limit : float, default None
        Seconds after which the solve stops with the best certified gap so far; ``None`` uses that of the
        settings, by default no limit. ECOS has no such option.
    settings : Settings, default None
        All settings together; ``None`` takes the defaults of :class:`Settings`.
    solver_options : dict, default None
        Options of a cone solver by its own names, such as ``{"max_step_fraction": 0.9}`` for CLARABEL; they replace
        those that this function would set.
    polish : bool, default True
        Whether to refine a cone solver's answer by Newton steps. The certificate of the unrefined answer is in
        ``solution.raw``.
    check : bool, default True
        Whether to raise an error if the answer is not proven optimal. If False, read ``solution.status``.
    verbose : bool, default False
        Whether to print progress: one line for each stage of the solve, and the cone solver's own log.

    Returns
    -------
    Solution
        δ, weights μ, status, and the certificate that proves the status. If R = 0 and the target is the smallest or
        largest q value of some features, as for a category that the p side lacks, the status is ``BOUNDARY``: rows
        with other values have weight zero, ``delta`` is the finite part of δ, and ``recession`` names the coefficients
        that run to infinity.

    Raises
    ------
    InfeasibleError
        The target is further from the hull of the q features than the radius. Carries a separating direction and the
        smallest radius that has a solution.
    BoundaryError
        The target is on a face of the hull that no column exposes, so that no finite δ is optimal. Carries the optimal
        weights.
    SeparationError
        Features without a radius separate the samples of a logistic problem.
    SolveError
        The gap is larger than the tolerance, a limit was reached, or the solver returned nothing. Carries the best
        answer found.
    DataError
        An argument cannot be used; :class:`UnknownSolverError` if it is the solver.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> solution = solve(problem)
    >>> solution.delta.round(6), solution.mu.round(6), solution.status.name
    (array([-1.098612]), array([0.75, 0.25]), 'OPTIMAL')
    """
    if isinstance(problem, LogisticProblem):
        for name, value in (
            ("weight_penalty", weight_penalty), ("weight_constraints", weight_constraints),
        ):  # fmt: skip
            if value is not None:
                raise DataError(name, "is for a RatioProblem", "leave it out")
        return solve_logistic(
            problem, formulation, solver, penalty=penalty, constraints=constraints, tol=tol, max_iter=max_iter,
            time_limit=time_limit, settings=settings, solver_options=solver_options, polish=polish, check=check,
            verbose=verbose,
        )  # fmt: skip
    problem = as_problem(problem)
    settings = make_settings(settings, tol=tol, max_iter=max_iter, time_limit=time_limit)
    as_choice(formulation, "formulation", ("primal", "dual"))
    polish, check, verbose = as_flag(polish, "polish"), as_flag(check, "check"), as_flag(verbose, "verbose")
    entry, options = find_solver(solver), check_options(solver_options, solver)
    if formulation == "dual" and not (penalty is None and constraints is None):
        remedy = "use formulation='primal', or weight_penalty and weight_constraints for terms of the weights mu"
        raise DataError("formulation", "penalty and constraints are functions of delta", remedy)
    if not (weight_penalty is None and weight_constraints is None):
        return _solve_with_weight_terms(
            problem, formulation, entry, (weight_penalty, weight_constraints), options, settings, check, verbose
        )
    terms = make_penalty(problem, penalty, constraints)
    with show_progress(problem.rows, verbose), blocking(settings.threads, settings.block_size):
        if entry is None:
            solution = solve_newton(problem, terms, settings, formulation, verbose=verbose)
        else:
            call = ConeCall(entry, formulation, penalty, constraints, options, verbose)
            solution = _solve_cone(problem, call, terms, settings, polish)
    if penalty is not None or constraints is not None:
        solution = replace(solution, user_terms=True)
    if check and not solution.ok:
        raise _error(problem, solution)
    return solution


def solve_newton(
    problem: RatioProblem,
    terms: Penalty,
    settings: Settings,
    formulation: str = "primal",
    *,
    start: Array | None = None,
    verbose: bool = False,
) -> Solution:
    """Solve by the Newton engine, on the face of exposed columns if there is one."""

    def on(face: ExposedFace) -> Solution:
        inner, penalty = None if start is None else start[face.columns], make_penalty(face.reduced)
        on_rows = closer(settings) if face.recession else settings
        return _solve_newton(face.reduced, penalty, settings, formulation, inner, verbose, on_rows)

    limit = solve_on_exposed_face(problem, on) if _may_be_reduced(problem, terms) else None
    return limit or _solve_newton(problem, terms, settings, formulation, start, verbose, settings)


def _may_be_reduced(problem: RatioProblem, terms: Penalty) -> bool:
    """Whether features that are matched exactly may expose a face, on which KL without bounds is solved."""
    return problem.exponential and isinstance(terms, (NoPenalty, PartialPenalty))


def _solve_newton(
    problem: RatioProblem,
    terms: Penalty,
    settings: Settings,
    formulation: str,
    start: Array | None,
    verbose: bool,
    on_rows: Settings,
) -> Solution:
    """Stages, with settings of their own, then the hull if they prove nothing, then the face that holds the target."""
    started = time.perf_counter()
    if problem.k >= problem.n_q and isinstance(terms, BallPenalty) and not problem.has_intercept:
        # the target is seldom in the hull of fewer rows than columns, and the hull is found sooner than a Newton step
        outside = _far_outside(problem, terms, settings, formulation)
        if outside is not None:
            return replace(outside, solve_time=time.perf_counter() - started)
    try:
        found = _engine(problem)(problem, terms, on_rows, start=start, verbose=verbose)
    except SolveError as error:  # constraints without a solution
        return _failed_solution(problem, "newton", formulation, settings=settings, claim=str(error))
    status = Status.OPTIMAL if found.certificate.proves(settings.tol) else Status.INACCURATE
    taken = time.perf_counter() - started
    solution = _newton_solution(
        problem, found, "newton", formulation, settings=settings, status=status, solve_time=taken
    )
    if status is Status.OPTIMAL:
        return solution
    solution = _decide_status(problem, solution, terms, settings, found)
    return replace(solution, solve_time=time.perf_counter() - started)


def _engine(problem: RatioProblem) -> Any:
    """Newton in δ for KL without bounds, in (c, δ) for the other members of the family."""
    return newton_linked if problem.has_intercept else newton


def _far_outside(problem: RatioProblem, terms: Penalty, settings: Settings, formulation: str) -> Solution | None:
    """Solution of an infeasible problem, at δ = 0; ``None`` if the target is not proven to be too far from the hull."""
    clock = Clock()
    try:
        hull = minimal_radius(problem)
    except SolveError:
        return None
    if not hull.lower > problem.radius:
        return None
    zero = np.zeros(problem.k)
    certificate = certificate_of(problem, zero, tilt(problem.rows, zero, covariance=False), terms, NO_PROOF)
    stage = Stage("hull", problem.n_q, hull.passes, clock.seconds, math.nan, f"target {hull.position.value}")
    found = NewtonResult(zero, certificate, 0, 0, "diverges", (stage,))
    solution = _newton_solution(problem, found, "newton", formulation, settings=settings)
    return replace(solution, status=Status.INFEASIBLE, hull=hull)


def _newton_solution(
    problem: RatioProblem, found: NewtonResult, solver: str, formulation: str, **fields: Any
) -> Solution:
    """Solution at the point where Newton stopped; unless it is given, its status is decided later."""
    delta = found.delta
    finite = bool(np.all(np.isfinite(delta)))  # not after overflow
    return Solution(
        delta=delta,
        normaliser=(
            (lambda: problem.intercept(delta) if finite else math.nan)
            if found.intercept is None
            else found.intercept - float(problem.target @ delta)
        ),
        weights=lambda: problem.mu(delta) if finite else np.full(problem.n_q, np.nan),
        status=fields.pop("status", Status.INACCURATE),
        certificate=found.certificate,
        solver=solver,
        formulation=formulation,
        iterations=fields.pop("iterations", found.iterations),
        free_directions=found.free_directions,
        trace=found.trace,
        **fields,
    )


def _failed_solution(problem: RatioProblem, solver: str, formulation: str, **fields: Any) -> Solution:
    """Solution of a solver that returned no numbers."""
    return Solution(
        delta=np.full(problem.k, np.nan),
        weights=np.full(problem.n_q, np.nan),
        status=Status.FAILED,
        certificate=Certificate(np.inf, -np.inf, np.inf, np.inf, np.inf, np.nan, np.nan),
        solver=solver,
        formulation=formulation,
        iterations=fields.pop("iterations", 0),
        **fields,
    )


def _solve_cone(problem: RatioProblem, call: ConeCall, terms: Penalty, settings: Settings, polish: bool) -> Solution:
    """Answer of a cone solver, certified, and polished on request; on the face of exposed columns if there is one."""

    def on(face: ExposedFace) -> Solution:
        return _solve_cone_as_given(face.reduced, call, make_penalty(face.reduced), settings, polish)

    limit = solve_on_exposed_face(problem, on) if _may_be_reduced(problem, terms) else None
    return limit or _solve_cone_as_given(problem, call, terms, settings, polish)


def _solve_cone_as_given(
    problem: RatioProblem, call: ConeCall, terms: Penalty, settings: Settings, polish: bool
) -> Solution:
    """Answer of a cone solver to a whole problem."""
    from .cone import solve_cone

    clock = Clock(settings.time_limit)
    answer = solve_cone(problem, call, settings)
    name, formulation = call.solver.name, call.formulation
    fields: dict[str, Any] = {
        "iterations": answer.iterations,
        "claim": answer.claim,
        "compile_time": answer.compile_time,
        "setup_time": answer.setup_time,
        "settings": settings,
    }
    limit = "time limit" if clock.is_over else ""
    if settings.max_iter is not None and answer.iterations >= settings.max_iter:
        limit = "iteration limit"
    if answer.delta is None or answer.mu is None:
        failed = _failed_solution(problem, name, formulation, solve_time=answer.solve_time, **fields)
        nothing = NewtonResult(failed.delta, failed.certificate, 0, 0, limit, ())
        return _decide_status(problem, failed, terms, settings, nothing)
    started = time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"):
        raw = make_certificate(problem, answer.delta, answer.mu, penalty=terms)
    if polish and limit != "time limit":
        left = None if settings.time_limit is None else max(settings.time_limit - clock.seconds, 1e-3)
        found = _engine(problem)(problem, terms, replace(settings, time_limit=left), start=answer.delta)
        solution = _newton_solution(problem, found, name, formulation, raw=raw, **fields)
    else:
        found = NewtonResult(answer.delta, raw, answer.iterations, 0, limit, ())
        solution = replace(
            _newton_solution(problem, found, name, formulation, raw=raw, **fields), weights=answer.mu, polished=False
        )
    solution = _decide_status(problem, solution, terms, settings, found)
    return replace(solution, solve_time=answer.solve_time + time.perf_counter() - started)


def _decide_status(
    problem: RatioProblem, solution: Solution, terms: Penalty, settings: Settings, found: NewtonResult
) -> Solution:
    """Solution with the status that its certificate proves; if it proves nothing, the hull explains why.

    A lift proves that weights with moment b exist that are positive wherever μ(δ) is, so a target whose answer is
    proven is not on the hull's boundary.
    """
    if found.certificate.proves(settings.tol):
        return replace(solution, status=Status.OPTIMAL)
    if problem.has_intercept:
        return _decide_linked_status(problem, solution, terms, found)
    unproven = LIMITS.get(found.reason, solution.status)
    if unproven is Status.TIME_LIMIT:
        return replace(solution, status=unproven)
    clock = Clock()
    try:
        hull = minimal_radius(problem, hint=solution.delta if np.all(np.isfinite(solution.delta)) else None)
    except SolveError as error:  # the distance is unknown, so it decides nothing
        return replace(solution, status=unproven, claim=f"{solution.claim} {error}".strip())
    stage = Stage("hull", problem.n_q, hull.passes, clock.seconds, math.nan, f"target {hull.position.value}")
    solution = replace(solution, trace=(*solution.trace, stage), hull=hull)
    if not isinstance(terms, BallPenalty):  # the hull does not decide feasibility here; it helps to explain the failure
        return replace(solution, status=unproven)
    if hull.lower > problem.radius:
        return replace(solution, status=Status.INFEASIBLE)
    if problem.radius == 0.0 and hull.position is Position.BOUNDARY:
        limit = solve_on_boundary(problem, hull, solution, settings)
        if limit is not None:
            return limit
    return replace(solution, status=unproven)


def _decide_linked_status(problem: RatioProblem, solution: Solution, terms: Penalty, found: NewtonResult) -> Solution:
    """The same for a divergence other than KL, bounds, or one radius for each feature: δ may prove infeasibility."""
    unproven = LIMITS.get(found.reason, solution.status)
    if not terms.homogeneous:
        return replace(solution, status=unproven)
    delta = solution.delta
    finite = bool(np.all(np.isfinite(delta)))
    separated = finite and separates(problem, delta, terms.value(delta))
    if unproven is Status.TIME_LIMIT:
        return replace(solution, status=Status.INFEASIBLE if separated else unproven)
    clock = Clock()
    try:
        hull = minimal_radius(problem, hint=delta if finite else None)
        outside = bool(hull.conflict if problem.radius_per_feature else hull.lower > problem.radius)
    except SolveError as error:
        claim = f"{solution.claim} {error}".strip()
        return replace(solution, status=Status.INFEASIBLE if separated else unproven, claim=claim)
    stage = Stage("hull", problem.n_q, hull.passes, clock.seconds, math.nan, f"target {hull.position.value}")
    if separated and not outside:  # a distance that proves nothing is no advice
        return replace(solution, status=Status.INFEASIBLE, trace=(*solution.trace, stage))
    if not outside:
        on_edge = problem.exact and hull.position is Position.BOUNDARY
        return replace(solution, status=unproven, trace=(*solution.trace, stage), hull=hull if on_edge else None)
    return replace(solution, status=Status.INFEASIBLE, trace=(*solution.trace, stage), hull=hull)


def _solve_with_weight_terms(
    problem: RatioProblem,
    formulation: str,
    entry: Any,
    terms: tuple[Any, Any],
    options: dict[str, Any],
    settings: Settings,
    check: bool,
    verbose: bool,
) -> Solution:
    """Answer of a cone solver to [D] with the user's terms of μ: proven if they are affine, claimed otherwise."""
    from .cone import solve_cone

    name = "weight_penalty" if terms[0] is not None else "weight_constraints"
    if formulation != "dual":
        raise DataError(name, "is a function of the weights mu", "use formulation='dual'")
    if entry is None:
        raise DataError(name, "needs a cone solver", "name one, such as solver='CLARABEL'")
    call = ConeCall(entry, formulation, None, None, options, verbose, *terms)
    answer = solve_cone(problem, call, settings)
    fields: dict[str, Any] = {
        "iterations": answer.iterations, "claim": answer.claim, "settings": settings, "polished": False,
        "compile_time": answer.compile_time, "setup_time": answer.setup_time, "solve_time": answer.solve_time,
    }  # fmt: skip
    failed = _failed_solution(problem, entry.name, formulation, **fields)
    if answer.delta is None or answer.mu is None:
        if check:
            raise _error(problem, failed)
        return failed
    r, mu = problem.residual(answer.mu), np.maximum(answer.mu, 0.0)
    certificate = replace(
        failed.certificate,
        moment_residual=problem.excess(r),
        simplex_residual=max(abs(float(answer.mu.sum()) - 1.0), -float(answer.mu.min()), 0.0),
        slackness=problem.penalty_value(answer.delta) - float(r @ answer.delta),
    )
    solution = replace(failed, delta=answer.delta, weights=mu, certificate=certificate)
    proven = _with_affine_terms(problem, solution, terms, settings)
    if proven is not None:
        return proven
    if answer.claim == "optimal":
        return replace(solution, status=Status.CLAIMED)
    solution = replace(solution, status=Status.INACCURATE)
    if check:
        raise _error(problem, solution)
    return solution


def _with_affine_terms(
    problem: RatioProblem, claimed: Solution, terms: tuple[Any, Any], settings: Settings
) -> Solution | None:
    """The answer of a cone solver refined and proven, if the user's terms of the weights are affine."""
    larger = with_weight_terms(problem, claimed.delta, *terms)
    if larger is None:
        return None
    started, form = time.perf_counter(), claimed.formulation
    found = _solve_newton(larger.problem, larger.penalty, settings, form, larger.start, False, settings)
    if found.status is not Status.OPTIMAL:
        return None
    proof = found.certificate
    return replace(
        claimed,
        delta=found.delta[: problem.k],
        weights=found.weights,
        status=Status.OPTIMAL,
        certificate=replace(
            proof, primal_value=proof.primal_value - larger.constant, dual_value=proof.dual_value - larger.constant
        ),
        polished=True,
        user_terms=True,
        free_directions=found.free_directions,
        trace=found.trace,
        solve_time=claimed.solve_time + time.perf_counter() - started,
    )


def _error(problem: RatioProblem, solution: Solution) -> SolveError:
    """Exception that belongs to a status."""
    if solution.status is Status.INFEASIBLE:
        return infeasible_error(problem, solution)
    report = f" {solution.solver} reported: {solution.claim}." if solution.claim else ""
    if solution.status is Status.BOUNDARY:
        return BoundaryError(f"{solution.status}{report}", solution)
    if solution.status is Status.FAILED:
        return SolveError(f"{solution.status}{report}", solution)
    note = ""
    if solution.hull is not None and solution.hull.lower > problem.radius:
        note = (
            f" The target is at distance {solution.hull.radius:.6g} from the hull of the q features, and the penalty "
            "and constraints may not keep delta bounded."
        )
    elif solution.hull is not None and solution.hull.position is Position.BOUNDARY and problem.has_intercept:
        within = "weights within the bounds" if problem.link.bounded else "weights"
        note = f" The target is on the edge of what {within} can match, to its last digits; a positive radius helps."
    return SolveError(f"{solution.status} {solution.certificate}.{note}{report}", solution)
