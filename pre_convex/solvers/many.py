"""solve_many(): problems that share the feature matrix, solved together.

Each problem goes through the stages of :mod:`pre_convex.solvers.stages`, and requests of the same kind are answered by
one pass for all of them. Problems that end without a proof (a target outside the hull or on its boundary, collinear
features) are then solved one by one, and so are problems with another divergence, bounds, or one radius for each
feature.
"""

from __future__ import annotations

import math
from collections.abc import Sized
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._internal.threads import blocking, single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import (
    MAX_PARAMETER,
    as_flag,
    as_matrix,
    as_numbers,
    as_radii,
    as_vector,
    check_radius,
    column_names,
    read_only,
)
from ..certificate.certificate import certificate_of
from ..certificate.lift import Arithmetic
from ..data.batch import BaseSummary, Batch, OwnLogBases, Together, make_batch
from ..data.requests import Requests
from ..errors import DataError
from ..penalties import Penalty, make_penalty
from ..penalties.radius import as_radius
from ..problem import RatioProblem
from ..solution import Solution, Stage, Status
from .settings import Settings, make_settings
from .solutions import SharedProblems, Solutions
from .solve import solve_newton
from .stages import Outcome, Staged

__all__ = ["solve_many"]

#: runs of consecutive rows, and rows in each, that give a first estimate of the sums of base weights
SAMPLED_RUNS, RUN_LENGTH = 16, 128


@single_threaded_blas()
def solve_many(
    features_q: Any,
    targets: Any,
    log_bases: Any = None,
    *,
    radius: Any = None,
    norm: float | None = None,
    divergence: str | None = None,
    bounds: Any = None,
    max_weight: float | None = None,
    tol: float | None = None,
    settings: Settings | None = None,
    start: Any = None,
    verbose: bool = False,
) -> Solutions:
    """Solve W problems [P] that share the features of the q side, and certify each answer.

    A problem without a solution raises no error; read its status. For KL without bounds and with one radius all
    problems share their passes over the rows, which is faster than a loop; other problems are solved one by one.

    Parameters
    ----------
    features_q : array of shape (n, k), data frame, or RatioProblem
        Features F, one row for each q sample. From a problem its features are taken, and its base weights, radius,
        norm, divergence and bounds unless they are given.
    targets : array of shape (W, k)
        Moments b to match, one row for each problem.
    log_bases : array of shape (n,) or (W, n), or callable, default None
        Log base weights up to a constant, the same for all problems or one row for each; −inf gives a row no weight.
        ``None`` means equal weights. A function takes a slice of rows and returns their values for all problems, shape
        (rows, W), so that the whole array never has to exist; it is called in every pass, possibly by several threads
        at once.
    radius : float, array of shape (W,), or array of shape (W, k) or (1, k), default None
        Radius R ≥ 0 of the moment constraint, the same for all problems or one for each; in two dimensions, one for
        each feature. ``None`` means 0, or the radius of ``features_q`` if that is a problem.
    norm : {2, inf, 1}, default None
        Norm of the moment constraint: 2 shrinks δ, inf makes δ sparse (an l1 penalty on δ), 1 bounds its largest
        entry. ``None`` means 2, or the norm of ``features_q`` if that is a problem.
    divergence : {"kl", "chi2", "reverse-kl"}, default None
        Divergence of all problems; ``None`` means ``"kl"``, or that of ``features_q`` if that is a problem.
    bounds : pair of floats or of arrays of shape (n,), default None
        Bounds (lo, hi) on the ratio μ/π of all problems; ``None`` means none, or those of a problem.
    max_weight : float, default None
        Largest weight of a row in all problems; ``None`` means no limit, or that of a problem.
    tol : float, default None
        Tolerance between 0 and 1: an answer is optimal if its certified gap is at most ``tol · (1 + |value|)``.
        ``None`` uses that of the settings, 1e-8 by default.
    settings : Settings, default None
        Limits and other settings of each solve; ``None`` takes the defaults.
    start : array of shape (k,) or (W, k), default None
        Initial δ, the same for all problems or one row for each; ``None`` starts from zero.
    verbose : bool, default False
        Whether to print how many problems were proven together.

    Returns
    -------
    Solutions
        One answer for each problem, with status and certified gap.

    Raises
    ------
    DataError
        An argument cannot be used.

    Examples
    --------
    >>> found = solve_many([[0.0], [1.0]], targets=[[0.25], [0.5], [2.0]])
    >>> found
    Solutions(3 problems, k=1: 2 OPTIMAL, 1 INFEASIBLE)
    >>> found.delta[:2].round(6).ravel() + 0.0
    array([-1.098612,  0.      ])
    >>> found[0].mu.round(6)
    array([0.75, 0.25])
    """
    settings, verbose = make_settings(settings, tol=tol), as_flag(verbose, "verbose")
    terms = {"divergence": divergence, "bounds": bounds, "max_weight": max_weight}
    problems, delta = _checked(features_q, targets, log_bases, radius, norm, terms, start)
    with blocking(settings.threads, settings.block_size):
        base = _summarise_base(problems.batch)
        if problems.terms or problems.radius.ndim > 1:
            return _one_by_one(problems, base, delta, settings)
        return _answers(problems, base, delta, settings, verbose)


def _checked(
    features_q: Any, targets: Any, log_bases: Any, radius: Any, norm: Any, terms: dict[str, Any], start: Any
) -> tuple[SharedProblems, Array | None]:
    """Validated problems and start, as arrays of matching shapes."""
    names: tuple[str, ...] = ()
    if isinstance(features_q, RatioProblem):
        problem, features_q, names = features_q, features_q.features_q, features_q.feature_names
        given = {"divergence": problem.divergence, "bounds": problem._bounds, "max_weight": problem.max_weight}
        terms = {name: given[name] if value is None else value for name, value in terms.items()}
        if radius is None and problem.radius_per_feature:
            radius = problem.radius[None]
        log_bases = problem.log_base if log_bases is None and not problem.rows.uniform else log_bases
        radius = problem.radius if radius is None else radius
        norm = problem.norm if norm is None else norm
    radius, norm = 0.0 if radius is None else radius, 2 if norm is None else norm
    B = as_matrix(targets, "targets", limit=MAX_PARAMETER)
    k = as_matrix(features_q, "features_q", column_names(features_q)).shape[1]
    if B.shape[1] != k:
        raise DataError(
            "targets",
            f"has {B.shape[1]} columns for {k} columns of features_q",
            f"pass shape (W, {k}), one row for each problem",
        )
    template = RatioProblem(B[0], features_q, norm=norm, feature_names=names)
    W, n = len(B), template.n_q
    common, own = _bases(log_bases, W, n)
    batch = make_batch(np.asarray(template.features_q, dtype=float), W, common, own)
    terms = {name: value for name, value in terms.items() if value is not None}
    problems = SharedProblems(template, read_only(B.copy()), _radii(radius, W, names or template.feature_names), batch)
    if terms and not replace(problems, terms=terms).problem(0).exponential:
        problems = replace(problems, terms=terms)
    return problems, None if start is None else _start(start, W, k)


def _radii(radius: Any, W: int, names: tuple[str, ...]) -> Array:
    """One radius for each problem, or one for each problem and feature."""
    if isinstance(radius, str) or not np.iterable(radius):
        return read_only(np.full(W, check_radius(radius)))
    if isinstance(radius, Sized) and len(radius) and np.ndim(next(iter(radius))) == 1:
        each = np.array([as_radius(one, names) for one in radius])
        if len(each) not in (1, W):
            reason = f"has {len(each)} rows for {W} problems"
            raise DataError("radius", reason, "pass one number for each feature, for all problems or for each")
        return read_only(np.array(np.broadcast_to(each, (W, len(names)))))
    R = np.array(as_radii(radius, "radius"))
    if R.size != W:
        raise DataError("radius", f"has {R.size} entries for {W} problems", "pass one number, or one for each problem")
    return read_only(R)


def _start(start: Any, W: int, k: int) -> Array:
    """One initial δ for each problem, shape (W, k)."""
    delta = as_numbers(start, "start")
    if delta.ndim == 1 and k > 1:
        delta = as_vector(delta, "start", k, limit=MAX_PARAMETER)
    else:
        delta = as_matrix(delta, "start", limit=MAX_PARAMETER)
    if delta.shape == (1, k):
        delta = delta[0]
    if delta.shape not in ((k,), (W, k)):
        raise DataError("start", f"has shape {delta.shape} for {W} problems and {k} features", f"pass shape ({W}, {k})")
    return np.broadcast_to(delta, (W, k))


def _bases(log_bases: Any, W: int, n: int) -> tuple[Array | None, OwnLogBases]:
    """(shared, own) log base weights; values of the own ones are checked in the first pass."""
    if log_bases is None or callable(log_bases):
        return None, log_bases
    own = as_numbers(log_bases, "log_bases")
    if own.ndim < 2:
        return as_vector(own, "log_bases", n, log_weights=True), None
    if own.shape != (W, n):
        remedy = "transpose it" if own.shape == (n, W) else f"pass shape ({n},) or ({W}, {n})"
        raise DataError("log_bases", f"has shape {own.shape} for {W} problems and {n} rows", remedy)
    return None, own


def _summarise_base(batch: Batch) -> BaseSummary:
    """Summary of the base weights; a few runs of rows give the sums that shares are relative to."""
    n = batch.shape[0]
    if batch.own is None or n <= 4 * SAMPLED_RUNS * RUN_LENGTH:
        return batch.summarise_base()
    starts = np.linspace(0, n - RUN_LENGTH, SAMPLED_RUNS).astype(np.intp)
    sample = batch.take((starts[:, None] + np.arange(RUN_LENGTH)).ravel())
    try:
        guess = sample.summarise_base().level + math.log(n / (SAMPLED_RUNS * RUN_LENGTH))
    except DataError:  # only −inf in these rows, or a bad value that the next call reports
        return batch.summarise_base()
    return batch.summarise_base(guess)


def _answers(
    problems: SharedProblems, base: BaseSummary, start: Array | None, settings: Settings, verbose: bool
) -> Solutions:
    """Run the stages of all problems together; those that end without a proof are solved one by one."""
    batch = problems.batch.normalised(base.level)
    targets = problems.targets - batch.centre
    W, (n, k) = problems.batch.count, batch.shape
    template = problems.template
    penalties = {R: make_penalty(template.with_radius(R)) for R in np.unique(problems.radius).tolist()}
    terms = [penalties[R] for R in problems.radius.tolist()]
    offsets, depth = np.abs(batch.level).tolist(), batch.depth
    arithmetic = [
        Arithmetic(np.abs(targets[w]), np.abs(problems.targets[w]), depth, depth, n, offsets[w]) for w in range(W)
    ]
    starts = [None] * W if start is None else list(start)
    rough = batch.single
    staged = [Staged(n, k, terms[w], settings, arithmetic[w], starts[w], rough=rough) for w in range(W)]
    together = Together(batch, targets, base)
    exposed = _exposed(problems)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        runs = [_leave_out() if left else one.run() for one, left in zip(staged, exposed, strict=True)]
        outcomes: list[Outcome | None] = together.run(runs)
    if verbose:
        proven = sum(_is_proven(outcome, settings.tol) for outcome in outcomes)
        print(f"together: {together.passes} passes over all rows, {proven} of {W} problems proven")
    solutions, ess, solved_singly = [], [], {}
    for w, outcome in enumerate(outcomes):
        if outcome is not None and _is_proven(outcome, settings.tol):
            solution = _solution(problems, w, outcome, terms[w], staged[w].trace, settings)
            ess.append(outcome.point.summary.ess)
        else:
            solution = solved_singly[w] = solve_newton(problems.problem(w), terms[w], settings)
            ess.append(1.0 / float(solution.mu @ solution.mu))
        solutions.append(solution)
    return Solutions(
        problems, tuple(solutions), together.passes, read_only(np.array(ess)), read_only(base.ess), solved_singly
    )


def _one_by_one(problems: SharedProblems, base: BaseSummary, start: Array | None, settings: Settings) -> Solutions:
    """The same for divergences other than KL, bounds, and one radius for each feature."""
    solutions = {}
    for w in range(problems.batch.count):
        problem = problems.problem(w)
        delta = None if start is None else np.array(start[w])
        solutions[w] = solve_newton(problem, make_penalty(problem), settings, start=delta)
    ess = np.array([1.0 / float(one.mu @ one.mu) for one in solutions.values()])
    return Solutions(problems, tuple(solutions.values()), 0, read_only(ess), read_only(base.ess), solutions)


def _exposed(problems: SharedProblems) -> NDArray[np.bool_]:
    """Which targets are an extreme of a column, so that δ would diverge; these are solved on a face, one by one."""
    targets, exact = problems.targets, problems.radius == 0.0
    sample = problems.template.rows_as_given.sample(SAMPLED_RUNS * RUN_LENGTH).features
    likely = exact & np.any((targets <= sample.min(axis=0)) | (targets >= sample.max(axis=0)), axis=1)
    if likely.any():
        lowest, highest = problems.template.ranges
        likely &= np.any((lowest < highest) & ((targets == lowest) | (targets == highest)), axis=1)
    return np.asarray(likely)


def _leave_out() -> Requests[None]:
    """The stages of a problem that is not solved together with the others."""
    yield from ()


def _is_proven(outcome: Outcome | None, tol: float) -> bool:
    """Whether an outcome is a proven optimum."""
    if outcome is None or outcome.collinear:
        return False
    return outcome.proof.gap <= tol * (1.0 + abs(outcome.point.value))


def _solution(
    problems: SharedProblems, w: int, outcome: Outcome, terms: Penalty, trace: list[Stage], settings: Settings
) -> Solution:
    """Solution of one problem that was proven together with the others."""
    delta, summary = outcome.point.delta, outcome.point.summary
    return Solution(
        delta=delta,
        weights=lambda: np.exp(problems.problem(w).log_mu(delta)),
        status=Status.OPTIMAL,
        certificate=certificate_of(
            problems.template.with_radius(problems.radius[w]), delta, summary, terms, outcome.proof
        ),
        solver="newton",
        formulation="primal",
        iterations=outcome.iterations,
        settings=settings,
        trace=tuple(trace),
        normaliser=-summary.log_z - float(problems.targets[w] @ delta),
    )
