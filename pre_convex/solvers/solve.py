"""solve(): choose an engine, polish, certify, and decide the status."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import as_choice, as_flag, check_tol
from ..certificate.certificate import Certificate, make_certificate
from ..data.blocks import show_progress
from ..errors import BoundaryError, InfeasibleError, SolveError
from ..feasibility.hull import Hull, Position, minimal_radius
from ..penalties import Penalty, make_penalty
from ..problem import RatioProblem, as_problem
from ..solution import Solution, Status
from .boundary import solve_on_boundary, with_mixture_bound
from .newton import NewtonResult, newton
from .registry import ConeSolver, find_solver
from .starts import continuation_start, vertex_start

__all__ = ["decide_status", "newton_solution", "solve"]


@single_threaded_blas()
def solve(
    problem: RatioProblem,
    formulation: str = "primal",
    solver: str = "auto",
    *,
    penalty: Any = None,
    constraints: Any = None,
    tol: float = 1e-8,
    polish: bool = True,
    check: bool = True,
    verbose: bool = False,
) -> Solution:
    """Solve a posterior-ratio problem and certify the answer.

    Parameters
    ----------
    problem : RatioProblem
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
    tol : float, default 1e-8
        Tolerance between 0 and 1: the answer is optimal if its certified gap is at most ``tol · (1 + |value|)``.
    polish : bool, default True
        Whether to refine a cone solver's answer by Newton steps. The certificate of the unrefined answer is in
        ``solution.raw``.
    check : bool, default True
        Whether to raise an error if the answer is not proven optimal. If False, read ``solution.status``.
    verbose : bool, default False
        Whether to print progress: one line for each pass over the rows, or the cone solver's own log.

    Returns
    -------
    Solution
        δ, weights μ, status, and the certificate that proves the status.

    Raises
    ------
    InfeasibleError
        The target is further from the hull of the q features than the radius. Carries a separating direction and the
        smallest radius that has a solution.
    BoundaryError
        The target is on the boundary of the hull, so that no finite δ is optimal. Carries the optimal weights.
    SolveError
        The gap is larger than the tolerance, or the solver returned nothing. Carries the best answer found.
    DataError
        An argument cannot be used; :class:`UnknownSolverError` if it is the solver.

    Examples
    --------
    >>> problem = RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
    >>> solution = solve(problem)
    >>> solution.delta.round(6), solution.mu.round(6), solution.status.name
    (array([-1.098612]), array([0.75, 0.25]), 'OPTIMAL')
    """
    problem, tol = as_problem(problem), check_tol(tol)
    as_choice(formulation, "formulation", ("primal", "dual"))
    polish, check, verbose = as_flag(polish, "polish"), as_flag(check, "check"), as_flag(verbose, "verbose")
    entry = find_solver(solver)
    started = time.perf_counter()
    terms = make_penalty(problem, penalty, constraints)
    has_user_terms = penalty is not None or constraints is not None
    if entry is None:
        try:
            with show_progress(problem.rows, verbose):
                found = newton(problem, terms, tol=tol, verbose=verbose)
        except SolveError as error:
            if check:
                raise
            return _failed_solution(problem, "newton", formulation, claim=str(error))
        seconds = time.perf_counter() - started
        solution = newton_solution(problem, found, "newton", formulation, solve_time=seconds)
        may_diverge = found.may_diverge
    else:
        solution, may_diverge = _cone_solution(
            problem, entry, formulation, terms, penalty, constraints, tol, polish, verbose
        )
    solution = decide_status(problem, solution, tol, has_user_terms=has_user_terms, may_diverge=may_diverge)
    if check and not solution.status.ok:
        raise _error(problem, solution)
    return solution


def newton_solution(
    problem: RatioProblem, found: NewtonResult, solver: str, formulation: str, **fields: Any
) -> Solution:
    """Solution at the point where Newton stopped; :func:`decide_status` sets its status."""
    return Solution(
        delta=found.delta,
        weights=lambda: np.exp(problem.log_mu(found.delta)),
        status=Status.INACCURATE,
        certificate=found.certificate,
        solver=solver,
        formulation=formulation,
        iterations=fields.pop("iterations", found.iterations),
        free_directions=found.free_directions,
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


def _cone_solution(
    problem: RatioProblem,
    entry: ConeSolver,
    formulation: str,
    terms: Penalty,
    penalty: Any,
    constraints: Any,
    tol: float,
    polish: bool,
    verbose: bool,
) -> tuple[Solution, bool]:
    """Answer of a cone solver, polished on request, and whether δ may belong to a diverging sequence."""
    from .cone import solve_cone

    answer = solve_cone(problem, entry, formulation, penalty=penalty, constraints=constraints, tol=tol, verbose=verbose)
    fields: dict[str, Any] = {
        "iterations": answer.iterations,
        "claim": answer.claim,
        "compile_time": answer.compile_time,
        "setup_time": answer.setup_time,
    }
    started = time.perf_counter()
    if answer.delta is None or answer.mu is None:
        return _failed_solution(problem, entry.name, formulation, solve_time=answer.solve_time, **fields), False
    raw = make_certificate(problem, answer.delta, answer.mu, penalty=terms)
    if polish:
        found = newton(problem, terms, tol=tol, start=answer.delta)
        seconds = answer.solve_time + time.perf_counter() - started
        solution = newton_solution(problem, found, entry.name, formulation, raw=raw, solve_time=seconds, **fields)
        return solution, found.may_diverge
    seconds = answer.solve_time + time.perf_counter() - started
    unpolished = Solution(
        delta=answer.delta,
        weights=answer.mu,
        status=Status.INACCURATE,
        certificate=raw,
        solver=entry.name,
        formulation=formulation,
        raw=raw,
        solve_time=seconds,
        polished=False,
        **fields,
    )
    return unpolished, True


def decide_status(
    problem: RatioProblem, solution: Solution, tol: float, *, has_user_terms: bool = False, may_diverge: bool = False
) -> Solution:
    """Solution with the status that its certificate proves; if it proves nothing, the hull explains why.

    Far out on a diverging sequence the gap is small although no finite δ is optimal. So if most of the curvature is
    lost (``may_diverge``), the position of the target relative to the hull decides whether an optimum exists.
    """
    proven = solution.certificate.proves(tol)
    if proven and (has_user_terms or problem.radius > 0.0 or not may_diverge):
        return replace(solution, status=Status.OPTIMAL)
    status = solution.status
    hint = solution.delta if np.all(np.isfinite(solution.delta)) else None
    try:
        hull = minimal_radius(problem, hint=hint)
    except SolveError as error:  # the distance is unknown, so it decides nothing
        status = Status.OPTIMAL if proven else status
        return replace(solution, status=status, claim=f"{solution.claim} {error}".strip())
    if has_user_terms:  # the hull does not decide feasibility here; it helps to explain the failure
        return replace(solution, hull=hull)
    slack = 1e-9 * max(hull.radius, problem.radius)
    if hull.lower > problem.radius:
        return replace(solution, status=Status.INFEASIBLE, hull=hull)
    on_boundary = None
    if problem.radius == 0.0 and hull.position is Position.BOUNDARY:
        on_boundary = solve_on_boundary(problem, hull, solution, tol)
        # a target this close to the boundary may be provable only as an interior one
        if on_boundary.certificate.proves(tol) or not (proven or problem.rows.in_memory):
            return on_boundary
    if proven:
        return replace(solution, status=Status.OPTIMAL)
    # Newton may succeed from another start; a cone solver's own answer is kept. If the radius equals the
    # distance to the hull up to round-off, only the boundary solution exists.
    at_hull_distance = problem.radius > 0.0 and abs(hull.radius - problem.radius) <= slack
    if problem.rows.in_memory and hint is not None and not at_hull_distance and solution.polished:
        restarted = _restart(problem, solution, hull, tol)
        if restarted is not None or on_boundary is not None:
            return restarted or on_boundary  # type: ignore[return-value]  # one of them is not None
    if problem.rows.in_memory and np.all(np.isfinite(solution.mu)):
        mixed = with_mixture_bound(problem, solution.certificate, solution.mu, hull)
        if mixed.proves(tol):
            return replace(solution, status=Status.OPTIMAL, certificate=mixed, hull=hull)
        if solution.polished:
            solution = replace(solution, certificate=mixed)
    # the radius equals the distance to the hull up to 1e-6; weights further away than that would prove nothing
    if problem.radius > 0.0 and -slack <= hull.radius - problem.radius <= 1e-6 * problem.radius:
        return solve_on_boundary(problem, hull, solution, tol)
    return replace(solution, status=status, hull=hull)


def _restart(problem: RatioProblem, solution: Solution, hull: Hull, tol: float) -> Solution | None:
    """Proven answer of Newton from other starting points, or None.

    Starts: continuation in the base weights, then a vertex of [D]. With a radius: the δ reached so far, then
    continuation, with features centred at the target, because a radius may be smaller than the round-off of the
    moments of large columns.
    """
    starts: list[Callable[[], Array | None]] = [lambda: continuation_start(problem, terms)]
    if problem.radius > 0.0:
        problem = problem.centred_at_target()
        starts.insert(0, lambda: solution.delta)
    else:
        starts.append(lambda: vertex_start(problem))
    terms = make_penalty(problem)
    for start in starts:
        delta = start()
        if delta is None or not np.all(np.isfinite(delta)):
            continue
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            proof, iterations, free = make_certificate(problem, delta, penalty=terms), 0, solution.free_directions
        if not proof.proves(tol):
            found = newton(problem, terms, tol=tol, start=delta)
            delta, proof, iterations, free = found.delta, found.certificate, found.iterations, found.free_directions
        if problem.radius > 0.0 and not proof.proves(tol):
            proof = with_mixture_bound(problem, proof, np.exp(problem.log_mu(delta)), hull)
        if proof.proves(tol):
            return replace(
                solution,
                delta=delta,
                weights=np.exp(problem.log_mu(delta)),
                status=Status.OPTIMAL,
                certificate=proof,
                iterations=solution.iterations + iterations,
                free_directions=free,
            )
    return None


def _error(problem: RatioProblem, solution: Solution) -> SolveError:
    """Exception that belongs to a status."""
    if solution.status is Status.INFEASIBLE and solution.hull is not None:
        return InfeasibleError(_infeasible_message(problem, solution.hull), solution, solution.hull)
    report = f" {solution.solver} reported: {solution.claim}." if solution.claim else ""
    if solution.status is Status.BOUNDARY:
        return BoundaryError(f"{solution.status}{report}", solution)
    if solution.status is Status.FAILED:
        return SolveError(f"{solution.status}{report}", solution)
    outside = ""
    if solution.hull is not None and solution.hull.lower > problem.radius:
        outside = (
            f" The target is at distance {solution.hull.radius:.6g} from the hull of the q features, and the penalty "
            "and constraints may not keep delta bounded."
        )
    return SolveError(f"{solution.status} {solution.certificate}.{outside}{report}", solution)


def _infeasible_message(problem: RatioProblem, hull: Hull) -> str:
    """Message with the distance to the hull, the features that contribute most, and remedies."""
    residual = problem.centred_target - hull.weights @ problem.rows.take(hull.index).features
    lowest, highest = problem.ranges
    share: Array = hull.direction * residual / hull.radius
    order = np.argsort(-share)
    worst = [i for i in order if share[i] >= 0.05][:5] or order[:3].tolist()
    shares = []
    for i in worst:
        low, high, b = float(lowest[i]), float(highest[i]), float(problem.target[i])
        where = "" if low <= b <= high else f", target {b:.4g} outside the q range [{low:.4g}, {high:.4g}]"
        shares.append(f"{problem.feature_names[i]} ({share[i]:.0%} of the distance{where})")
    return (
        f"The target is at distance {hull.radius:.6g} from the hull of the q features in norm {problem.norm:g}, more "
        f"than the radius {problem.radius:g}, so no weights on the q sample match it. Features: {'; '.join(shares)}. "
        f"Remedies: use a radius above {hull.radius:.6g}; add q samples where the p sample is; drop features."
    )
