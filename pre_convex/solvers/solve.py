"""solve(): choose an engine, polish, certify, and say what the answer is worth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import as_choice, as_flag
from ..assembly import watched
from ..checks import check_tol
from ..entropy import Array, exp
from ..errors import BoundaryError, InfeasibleError, SolveError
from ..feasibility import Hull, Position, minimal_radius
from ..problem import RatioProblem, as_problem
from ..solution import Certificate, Solution, Status, certificate
from ..threads import one_thread_each
from .boundary import solve_on_boundary
from .cooling import cooled, frozen_out
from .face import around_target
from .mixture import mixed_bound
from .newton import Outcome, newton
from .registry import ConeSolver, find_solver
from .steps import StepPenalty, make_penalty

__all__ = ["as_solution", "conclude", "solve"]


@one_thread_each()
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
    """Solve a posterior-ratio problem and prove the answer.

    Parameters
    ----------
    problem : RatioProblem
    formulation : {"primal", "dual"}
        [P] or [D]; both give δ and μ. The Newton engine finds them together.
    solver : str
        ``"auto"`` and ``"newton"`` for the package's own engine, or the name of an installed cone solver.
    penalty : callable, optional
        ``penalty(delta)`` returns a convex cvxpy expression that is added to ℓ_R.
    constraints : callable, optional
        ``constraints(delta)`` returns convex cvxpy constraints.
    tol : float
        The answer counts as optimal when its certified gap is at most ``tol · (1 + |value|)``.
    polish : bool
        Whether Newton steps refine a cone solver's answer; its own certificate stays in ``solution.raw``.
    check : bool
        Whether to raise when the answer is not proven optimal; otherwise ``solution.status`` says so.
    verbose : bool
        Whether to print progress.

    Returns
    -------
    Solution

    Raises
    ------
    InfeasibleError
        The target lies further from the hull than the radius; carries direction and minimal radius.
    BoundaryError
        The target lies on the boundary of the hull; carries the optimal weights.
    SolveError
        Nothing could be proven; carries the best numbers found.

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
    user = penalty is not None or constraints is not None
    if entry is None:
        try:
            with watched(problem.rows, verbose):
                found = newton(problem, terms, tol=tol, verbose=verbose)
        except SolveError as error:
            if check:
                raise
            return _nothing(problem, "newton", formulation, claim=str(error))
        seconds = time.perf_counter() - started
        solution, collapsed = as_solution(problem, found, "newton", formulation, solve_time=seconds), found.collapsed
    else:
        solution, collapsed = _cone(problem, entry, formulation, terms, penalty, constraints, tol, polish, verbose)
    solution = conclude(problem, solution, tol, user=user, collapsed=collapsed)
    if check and not solution.status.ok:
        raise _error(problem, solution)
    return solution


def as_solution(problem: RatioProblem, found: Outcome, solver: str, formulation: str, **facts: Any) -> Solution:
    """A Solution from where Newton stopped; its status is decided later."""
    return Solution(
        delta=found.delta,
        weights=lambda: exp(problem.log_mu(found.delta)),
        status=Status.INACCURATE,
        certificate=found.certificate,
        solver=solver,
        formulation=formulation,
        iterations=facts.pop("iterations", found.iterations),
        free_directions=found.free_directions,
        **facts,
    )


def _nothing(problem: RatioProblem, solver: str, formulation: str, **facts: Any) -> Solution:
    """A Solution without numbers."""
    return Solution(
        delta=np.full(problem.k, np.nan),
        weights=np.full(problem.n_q, np.nan),
        status=Status.FAILED,
        certificate=Certificate(np.inf, -np.inf, np.inf, np.inf, np.inf, np.nan, np.nan),
        solver=solver,
        formulation=formulation,
        iterations=facts.pop("iterations", 0),
        **facts,
    )


def _cone(
    problem: RatioProblem,
    entry: ConeSolver,
    formulation: str,
    terms: StepPenalty,
    penalty: Any,
    constraints: Any,
    tol: float,
    polish: bool,
    verbose: bool,
) -> tuple[Solution, bool]:
    """Answer of a cone solver, polished if asked for, and whether it may be one of a sequence that runs away."""
    from .cone import cone

    answer = cone(problem, entry, formulation, penalty=penalty, constraints=constraints, tol=tol, verbose=verbose)
    facts: dict[str, Any] = {
        "iterations": answer.iterations,
        "claim": answer.claim,
        "compile_time": answer.compile_time,
        "setup_time": answer.setup_time,
    }
    started = time.perf_counter()
    if answer.delta is None or answer.mu is None:
        return _nothing(problem, entry.name, formulation, solve_time=answer.solve_time, **facts), False
    raw = certificate(problem, answer.delta, answer.mu, penalty=terms)
    if polish:
        found = newton(problem, terms, tol=tol, start=answer.delta)
        seconds = answer.solve_time + time.perf_counter() - started
        solution = as_solution(problem, found, entry.name, formulation, raw=raw, solve_time=seconds, **facts)
        return solution, found.collapsed
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
        **facts,
    )
    return unpolished, True


def conclude(
    problem: RatioProblem, solution: Solution, tol: float, *, user: bool = False, collapsed: bool = False
) -> Solution:
    """The status that the certificate allows; where it proves nothing, the hull says why.

    A point far out on a sequence that runs away is as good as optimal and is proven to be so. Where it has left
    almost no curvature, the hull decides whether an optimum exists at all.
    """
    proven = solution.certificate.proves(tol)
    if proven and (user or problem.radius > 0.0 or not collapsed):
        return replace(solution, status=Status.OPTIMAL)
    status = solution.status
    hint = solution.delta if np.all(np.isfinite(solution.delta)) else None
    try:
        hull = minimal_radius(problem, hint=hint)
    except SolveError as error:  # the distance could not be found, so it decides nothing
        status = Status.OPTIMAL if proven else status
        return replace(solution, status=status, claim=f"{solution.claim} {error}".strip())
    if user:  # the hull does not decide, but it tells why nothing was proven
        return replace(solution, hull=hull)
    slack = 1e-9 * max(hull.radius, problem.radius)
    if hull.lower > problem.radius:
        return replace(solution, status=Status.INFEASIBLE, hull=hull)
    edge = None
    if problem.radius == 0.0 and hull.position is Position.BOUNDARY:
        edge = solve_on_boundary(problem, hull, solution, tol)
        # a target so close to the boundary that it counts as on it may have a proof only as one inside
        if edge.certificate.proves(tol) or not (proven or problem.rows.in_memory):
            return edge
    if proven:
        return replace(solution, status=Status.OPTIMAL)
    # an answer of Newton's is tried again from elsewhere; what a cone solver alone has to say is judged as it is
    # and a radius that is the distance but for round-off has no other answer than the boundary's
    beside = problem.radius > 0.0 and abs(hull.radius - problem.radius) <= slack
    if problem.rows.in_memory and hint is not None and not beside and solution.raw is not solution.certificate:
        again = _from_elsewhere(problem, solution, hull, tol)
        if again is not None or edge is not None:
            return again or edge  # type: ignore[return-value]  # one of them is there
    if problem.rows.in_memory and np.all(np.isfinite(solution.mu)):
        mixed = _mixed(problem, solution.certificate, solution.mu, hull)
        if mixed.proves(tol):
            return replace(solution, status=Status.OPTIMAL, certificate=mixed, hull=hull)
        if solution.raw is not solution.certificate:
            solution = replace(solution, certificate=mixed)
    # a radius well below the distance of the nearest weights that were found is not shown to be reached by any
    if problem.radius > 0.0 and -slack <= hull.radius - problem.radius <= 1e-6 * problem.radius:
        return solve_on_boundary(problem, hull, solution, tol)
    return replace(solution, status=status, hull=hull)


def _from_elsewhere(problem: RatioProblem, solution: Solution, hull: Hull, tol: float) -> Solution | None:
    """The proven answer of Newton from a start that followed the base weights, or was given by the largest of them.

    With a radius, also from where it was, and relative to the target: a radius may be less than the round-off of
    moments of large columns, but not less than that of their distances from the target.
    """
    starts: list[Callable[[], Array | None]] = [lambda: cooled(problem, terms)]
    if problem.radius > 0.0:
        problem = around_target(problem)
        starts.insert(0, lambda: solution.delta)
    else:
        starts.append(lambda: frozen_out(problem))
    terms = make_penalty(problem)
    for start in starts:
        delta = start()
        if delta is None or not np.all(np.isfinite(delta)):
            continue
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            proof, iterations, free = certificate(problem, delta, penalty=terms), 0, solution.free_directions
        if not proof.proves(tol):
            found = newton(problem, terms, tol=tol, start=delta)
            delta, proof, iterations, free = found.delta, found.certificate, found.iterations, found.free_directions
        if problem.radius > 0.0 and not proof.proves(tol):
            proof = _mixed(problem, proof, exp(problem.log_mu(delta)), hull)
        if proof.proves(tol):
            return replace(
                solution,
                delta=delta,
                weights=exp(problem.log_mu(delta)),
                status=Status.OPTIMAL,
                certificate=proof,
                iterations=solution.iterations + iterations,
                free_directions=free,
            )
    return None


def _mixed(problem: RatioProblem, proof: Certificate, mu: Array, hull: Hull) -> Certificate:
    """The certificate with the bound of a mixture of μ with other weights, where that is the better one."""
    gap = proof.primal_value - mixed_bound(problem, mu, hull) + proof.noise
    return replace(proof, gap=gap, dual_value=proof.primal_value - gap) if gap < proof.gap else proof


def _error(problem: RatioProblem, solution: Solution) -> SolveError:
    """The exception for a status."""
    if solution.status is Status.INFEASIBLE and solution.hull is not None:
        return InfeasibleError(_infeasible_message(problem, solution.hull), solution, solution.hull)
    said = f" {solution.solver} said: {solution.claim}." if solution.claim else ""
    if solution.status is Status.BOUNDARY:
        return BoundaryError(f"{solution.status}{said}", solution)
    if solution.status is Status.FAILED:
        return SolveError(f"{solution.status}{said}", solution)
    away = ""
    if solution.hull is not None and solution.hull.lower > problem.radius:
        away = (
            f" The target lies {solution.hull.radius:.6g} outside the hull of the q features, and the penalty and "
            "constraints may not keep delta bounded."
        )
    return SolveError(f"{solution.status} {solution.certificate}.{away}{said}", solution)


def _infeasible_message(problem: RatioProblem, hull: Hull) -> str:
    """Distance, features that make it, and what can be done."""
    residual = problem.residual_origin - hull.weights @ problem.rows.take(hull.index).features
    lowest, highest = problem.ranges
    share: Array = hull.direction * residual / hull.radius
    order = np.argsort(-share)
    worst = [i for i in order if share[i] >= 0.05][:5] or order[:3].tolist()
    parts = []
    for i in worst:
        low, high, b = float(lowest[i]), float(highest[i]), float(problem.target[i])
        where = "" if low <= b <= high else f", target {b:.4g} outside the q range [{low:.4g}, {high:.4g}]"
        parts.append(f"{problem.feature_names[i]} ({share[i]:.0%} of the distance{where})")
    return (
        f"The target lies {hull.radius:.6g} outside the hull of the q features in norm {problem.norm:g}, further than "
        f"the radius {problem.radius:g}, so no weights on the q sample reach it. Features: {'; '.join(parts)}. "
        f"Remedies: a radius above {hull.radius:.6g}; more q samples where the p side has its mass; fewer features."
    )
