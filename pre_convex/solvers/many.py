"""solve_many(): problems that share the feature matrix, solved together.

The stages are those of the Newton engine, and each pass serves all problems that still need one: a tenth of a common
subset S of the rows, then S, then passes over all rows for values and gradients only, and a certificate [LIFT] on S.
Problems not proven by then continue with covariances of all rows. The rest (a target outside the hull or on its
boundary, collinear features, a few rows with all the weight) is left to :func:`pre_convex.solve`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._internal.entropy import safe_log
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array, Index
from .._internal.validation import (
    MAX_PARAMETER,
    as_flag,
    as_matrix,
    as_numbers,
    as_radii,
    as_vector,
    check_radius,
    check_tol,
    column_names,
    read_only,
)
from ..data.rows import inclusion_probability
from ..errors import DataError
from ..feasibility.hull import ZERO_DISTANCE
from ..problem import RatioProblem
from ..solution import Status
from .batch import BaseSummary, Batch, OwnLogBases, make_batch
from .batch_newton import BatchNewton, Penalties, certify_batch, pivots
from .solutions import SharedProblems, Solutions
from .solve import solve

__all__ = ["solve_many"]

#: size of the subset S: minimum, minimum per feature, maximum, and otherwise n divided by SUBSET_SHARE
SUBSET_MIN, SUBSET_PER_FEATURE, SUBSET_MAX, SUBSET_SHARE = 10_000, 500, 200_000, 20
#: a tenth of the rows is solved first if it has this many rows, and this many per feature
TENTH_MIN, TENTH_PER_FEATURE = 400, 20
#: maximum steps with covariances, and with gradients only; after these the subset counts as unrepresentative
MAX_COVARIANCE_STEPS, MAX_GRADIENT_STEPS = 40, 12
#: rows of the first attempt at a lift: minimum, and minimum per feature
LIFT_ROWS, LIFT_ROWS_PER_FEATURE = 1000, 50
#: up to this number of features, covariances cost little more than gradients
FEW_FEATURES = 8
#: squared decrement to reach on all rows, as a multiple of tol²
FINAL_AIM = 1e-4
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
    tol: float = 1e-8,
    start: Any = None,
    verbose: bool = False,
) -> Solutions:
    """Solve W problems [P] that share the features of the q side, and certify each answer.

    A problem without a solution raises no error; read its status.

    Parameters
    ----------
    features_q : array of shape (n, k), data frame, or RatioProblem
        Features F, one row for each q sample. From a problem its features are taken, and its base weights, radius and
        norm unless they are given.
    targets : array of shape (W, k)
        Moments b to match, one row for each problem.
    log_bases : array of shape (n,) or (W, n), or callable, default None
        Log base weights up to a constant, the same for all problems or one row for each; −inf gives a row no weight.
        ``None`` means equal weights. A function takes a slice of rows and returns their values for all problems, shape
        (rows, W), so that the whole array never has to exist; it is called in every pass, possibly by several threads
        at once.
    radius : float or array of shape (W,), default None
        Radius R ≥ 0 of the moment constraint, the same for all problems or one for each. ``None`` means 0, or the
        radius of ``features_q`` if that is a problem.
    norm : {2, inf, 1}, default None
        Norm of the moment constraint: 2 shrinks δ, inf makes δ sparse (an l1 penalty on δ), 1 bounds its largest
        entry. ``None`` means 2, or the norm of ``features_q`` if that is a problem.
    tol : float, default 1e-8
        Tolerance between 0 and 1: an answer is optimal if its certified gap is at most ``tol · (1 + |value|)``.
    start : array of shape (k,) or (W, k), default None
        Initial δ, the same for all problems or one row for each; ``None`` starts from zero.
    verbose : bool, default False
        Whether to print a line for each stage.

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
    tol, verbose = check_tol(tol), as_flag(verbose, "verbose")
    problems, delta = _checked(features_q, targets, log_bases, radius, norm, start)
    base_summary = _summarise_base(problems.batch)
    solver = _StagedSolver(problems, base_summary, delta, tol, verbose)
    solver.run()
    return solver.solutions()


def _checked(
    features_q: Any, targets: Any, log_bases: Any, radius: Any, norm: Any, start: Any
) -> tuple[SharedProblems, Array | None]:
    """Validated problems and start, as arrays of matching shapes."""
    names: tuple[str, ...] = ()
    if isinstance(features_q, RatioProblem):
        problem, features_q, names = features_q, features_q.features_q, features_q.feature_names
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
    problems = SharedProblems(template, read_only(B.copy()), _radii(radius, W), batch)
    return problems, None if start is None else _start(start, W, k)


def _radii(radius: Any, W: int) -> Array:
    """One radius for each problem."""
    if isinstance(radius, str) or not np.iterable(radius):
        return read_only(np.full(W, check_radius(radius)))
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


class _StagedSolver:
    """Staged solver for one batch."""

    def __init__(
        self, problems: SharedProblems, base_summary: BaseSummary, start: Array | None, tol: float, verbose: bool
    ) -> None:
        self.problems, self.base_summary, self.tol, self.verbose = problems, base_summary, tol, verbose
        self.batch = problems.batch.normalised(base_summary.level)
        self.targets = problems.targets - self.batch.centre
        self.penalties = Penalties(problems.template, problems.radius)
        W, k = problems.targets.shape
        self.started = start is not None
        self.start = np.zeros((W, k)) if start is None else np.array(start)
        self.newton = BatchNewton(self.batch, self.targets, self.penalties, self.start)
        self.curvature_at_zero = np.zeros((W, k, k))
        self.warm = np.zeros(W, dtype=bool)  # has δ and curvature from a subset of the rows
        self.gap, self.noise, self.spread = np.full((3, W), np.inf)
        self.proven, self.outside = np.zeros((2, W), dtype=bool)

    def run(self) -> None:
        """Run all stages; problems not proven afterwards are solved one by one."""
        n, k = self.batch.shape
        size = max(SUBSET_MIN, SUBSET_PER_FEATURE * k, min(n // SUBSET_SHARE, SUBSET_MAX))
        if n > 4 * size:
            subset, log_share = self._subset(size)
            weighted = subset.weighted(log_share)
            self._solve_on(weighted.every(10))
            self._solve_on(weighted)
            self._run_on_gradients(subset, 1.6 * self.tol * size / n)  # a lift on S costs half of it
        elif n >= 10 * max(TENTH_MIN, TENTH_PER_FEATURE * k):
            tenth = self.batch.every(10)
            self._solve_on(tenth)
            if k > FEW_FEATURES and n >= 1000 * k:
                self._run_on_gradients(tenth, FINAL_AIM * self.tol**2)
        self._run_on_covariances()

    def _subset(self, size: int) -> tuple[Batch, Array]:
        """About ``size`` distinct rows for all problems, and the log of the number of rows that each represents.

        Stratified sampling, one row from each of ``size`` equal blocks, if the base weights are even; otherwise
        each row independently, with a probability that mixes uniform sampling with its average share of base weight.
        """
        n = self.batch.shape[0]
        rng = np.random.default_rng(0)
        if self.base_summary.ess.min() > 0.25 * n:
            edges = np.linspace(0, n, size + 1).astype(np.intp)
            index = edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.intp)
            return self.batch.take(index), np.full(size, math.log(n / size))
        share = self.base_summary.share / self.base_summary.share.sum()
        chance = inclusion_probability(share, size, n)
        index = np.flatnonzero(rng.random(n) < chance)
        return self.batch.take(index), -safe_log(chance[index])

    def _solve_on(self, rows: Batch) -> None:
        """Solve on some rows, to their sampling error; δ and curvature are the start on more rows."""
        newton = BatchNewton(rows, self.targets, self.penalties, self.newton.delta)
        newton.curvature[:] = self.newton.curvature
        old, new = np.flatnonzero(self.warm), np.flatnonzero(~self.warm & ~self.outside)
        aim = np.full(len(self.warm), 0.3 * rows.shape[1] / rows.shape[0])
        if old.size:
            newton.start(old, covariance=False)
            newton.run(old, aim, MAX_GRADIENT_STEPS, covariance=False)
        if new.size:
            self._start_with_covariances(newton, new)
            newton.run(new, aim, MAX_COVARIANCE_STEPS, covariance=True)
        self.warm = (newton.decrement <= 1.0) & _well_conditioned(self.curvature_at_zero)
        old, far = old[self.warm[old]], np.flatnonzero(~self.warm & ~self.outside)
        if old.size:
            newton.refresh_curvature(old)
        if far.size:  # a direction that separates these rows from the target may separate all rows
            self.outside[far] = newton.separates(self.batch, far)
        self.newton.delta[:] = np.where(self.warm[:, None], newton.delta, self.start)
        self.newton.curvature[:] = newton.curvature
        self._print_stage(f"{rows.shape[0]} rows", newton, self.warm)

    def _start_with_covariances(self, newton: BatchNewton, ids: Index, *, fresh: bool = True) -> None:
        """First pass with covariances; a fresh problem records its curvature at δ = 0 for later comparison."""
        origin = newton
        if fresh and self.started:
            origin = BatchNewton(newton.batch, self.targets, self.penalties, np.zeros_like(newton.delta))
            origin.start(ids, covariance=True)
        newton.start(ids, covariance=True)
        if fresh:
            self.curvature_at_zero[ids] = origin.curvature[ids]
        worse = ids[~self._usable(newton, ids, origin.value[ids] if fresh else 0.0)]
        if worse.size:
            newton.delta[worse] = 0.0
            newton.start(worse, covariance=True)

    def _usable(self, newton: BatchNewton, ids: Index, value: Array | float = 0.0) -> Any:
        """Whether a start is no worse than δ = 0, whose value is given (zero on all rows)."""
        fine = (newton.value[ids] <= value + 1e-9) & np.isfinite(newton.decrement[ids])
        return fine | ~newton.delta[ids].any(axis=1)

    def _run_on_gradients(self, subset: Batch, goal: float) -> None:
        """Passes over all rows with the subset's curvature, and certificates on the subset.

        ``goal`` is the squared decrement to reach, relative to 1 + |value|.
        """
        newton, ids = self.newton, np.flatnonzero(self.warm)
        if not ids.size:
            return
        newton.start(ids, covariance=False)
        ids = ids[self._usable(newton, ids)]
        aim = goal * (1.0 + np.abs(newton.value))
        for _ in range(3):
            if not ids.size:
                break
            newton.run(ids, aim, MAX_GRADIENT_STEPS, covariance=False)
            self._certify(subset, ids)
            ids = ids[~self.proven[ids] & (newton.decrement[ids] <= aim[ids])]
            aim *= 1e-2
        self._print_stage("all rows, gradients", newton, self.proven)

    def _run_on_covariances(self) -> None:
        """Newton on all rows for the problems not proven yet."""
        newton, ids = self.newton, np.flatnonzero(~self.proven & ~self.outside)
        for fresh in (True, False):
            some = ids[self.warm[ids] != fresh]
            if some.size:
                self._start_with_covariances(newton, some, fresh=fresh)
        ids = ids[_well_conditioned(self.curvature_at_zero[ids]) & np.isfinite(newton.decrement[ids])]
        if not ids.size:
            return
        newton.run(ids, np.full(len(self.warm), FINAL_AIM * self.tol**2), MAX_COVARIANCE_STEPS, covariance=True)
        ids = ids[~newton.diverged[ids]]
        n, k = self.batch.shape
        step = n // max(LIFT_ROWS, LIFT_ROWS_PER_FEATURE * k)
        if step > 3:
            self._certify(self.batch.every(step), ids)
            ids = ids[~self.proven[ids]]
        if ids.size:
            self._certify(self.batch, ids)
        self._print_stage("all rows, covariances", newton, self.proven)

    def _certify(self, rows: Batch, ids: Index) -> None:
        """Gaps by a lift on these rows; a small gap on a diverging sequence does not prove an optimum."""
        proof = certify_batch(self.newton, rows, ids, self.tol)
        self.gap[ids], self.noise[ids], self.spread[ids] = proof.gap, proof.noise, proof.spread
        enough = proof.gap <= self.tol * (1.0 + np.abs(self.newton.value[ids]))
        with np.errstate(divide="ignore", invalid="ignore"):
            shrinkage = np.nanmin(pivots(self.newton.curvature[ids]) / pivots(self.curvature_at_zero[ids]), axis=1)
        may_diverge = shrinkage <= np.maximum(1e4 * self.newton.decrement[ids], ZERO_DISTANCE)
        self.proven[ids] = enough & ~(may_diverge & (self.problems.radius[ids] == 0.0))

    def _print_stage(self, stage: str, newton: BatchNewton, done: Any) -> None:
        if self.verbose:
            print(f"{stage}: {newton.passes} passes, {np.count_nonzero(done)} of {len(done)} problems done")

    def solutions(self) -> Solutions:
        """The answers; unproven problems are solved one by one."""
        newton, W = self.newton, len(self.warm)
        g = self.penalties.value(newton.delta, np.arange(W))
        r = self.targets - newton.mean
        certificate_fields = {
            "moment_residual": np.maximum(
                np.linalg.norm(r, self.penalties.norm.order, axis=1) - self.problems.radius, 0.0
            ),
            "slackness": g - np.einsum("wi,wi->w", r, newton.delta),
            "noise": self.noise,
            "spread": self.spread,
        }
        status = [Status.OPTIMAL] * W
        solved_singly = {}
        for w in np.flatnonzero(~self.proven).tolist():
            found = solve(self.problems.problem(w), tol=self.tol, check=False)
            solved_singly[w], status[w] = found, found.status
            newton.delta[w], newton.value[w], self.gap[w] = found.delta, found.primal_value, found.gap
            newton.ess[w], newton.iterations[w] = 1.0 / float(found.mu @ found.mu), found.iterations
        dual = np.array(newton.value - self.gap)
        return Solutions(
            delta=read_only(newton.delta),
            status=status,
            gap=read_only(self.gap),
            primal_value=read_only(newton.value),
            dual_value=read_only(np.where(np.isfinite(self.gap), dual, -np.inf)),
            iterations=newton.iterations,
            passes=newton.passes,
            ess=read_only(newton.ess),
            ess_base=read_only(self.base_summary.ess),
            solved_singly=solved_singly,
            problems=self.problems,
            certificate_fields=certificate_fields,
        )


def _well_conditioned(H: Array) -> Any:
    """Whether each H, scaled to unit diagonal, is far enough from singular."""
    s = np.sqrt(np.maximum(np.einsum("wii->wi", H), 0.0))
    s[s == 0.0] = 1.0
    return pivots(H / s[:, :, None] / s[:, None, :]).min(axis=1) > 1e-6
