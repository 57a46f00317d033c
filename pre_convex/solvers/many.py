"""solve_many(): problems that share the feature matrix, solved together.

The course is that of the Newton engine, with every pass shared by all problems that still need one: a tenth of a
common subset S of the rows, then S, then passes over all rows that bring values and gradients only, and a proof
[LIFT] on S. What is not proven after that goes on with covariances of all rows, and what is not proven then
(a target outside the hull or on its boundary, collinear features, a few rows with all the weight) is left to
:func:`pre_convex.solve`, which finds out why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import as_flag, as_matrix, as_numbers, as_vector, column_names, frozen
from ..checks import LONGEST, as_radii, check_radius, check_tol
from ..entropy import Array, Index, log, log_of
from ..errors import DataError
from ..feasibility import ON_HULL
from ..passes import mixed_chance
from ..problem import RatioProblem
from ..solution import Status
from ..threads import one_thread_each
from .batch import Batch, Own, Survey, make_batch
from .lockstep import Lockstep, Penalties, pivots, prove
from .solutions import Family, Solutions
from .solve import solve

__all__ = ["solve_many"]

#: rows of the subset S: at least, at least for each feature, at most, and otherwise one row in so many
FEWEST, FEWEST_PER_FEATURE, MOST, ONE_IN = 10_000, 500, 200_000, 20
#: a tenth of the rows comes first if it has this many, and for each feature this many
TENTH, TENTH_PER_FEATURE = 400, 20
#: steps at most with covariances, and without them before the subset counts as a poor picture of all rows
WITH, WITHOUT = 40, 12
#: rows that a lift is first tried on, at least, and at least for each feature
LIFTED, LIFTED_PER_FEATURE = 1000, 50
#: up to so many features covariances cost little more than gradients
FEW_FEATURES = 8
#: squared decrement to reach on few rows, as a multiple of tol²
SHARP = 1e-4
#: runs of rows, and rows in each, that give a first idea of the sizes of base weights
RUNS, RUN = 16, 128


@one_thread_each()
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
    """Solve W problems [P] that share the features of the q side, and prove each answer.

    Nothing is raised for problems without a solution; their status says so.

    Parameters
    ----------
    features_q : array of shape (n, k), data frame, or RatioProblem
        F, one row for each q sample. Of a problem its features are taken, and its base weights, radius and norm where
        they are not given.
    targets : array of shape (W, k)
        One moment b to match for each problem.
    log_bases : array of shape (n,) or (W, n), or function, optional
        Logarithms of base weights up to a constant, the same for all problems or one row for each; −inf gives a row no
        weight. A function takes a slice of rows and returns their values for all problems, shape (rows, W); it is
        called in every pass, possibly by several threads at once, so that the whole never has to exist.
    radius : float or array of shape (W,)
        R ≥ 0, the same for all problems or one for each; 0 when left out.
    norm : {2, inf, 1}
        Norm of the moment constraint; 2 when left out.
    tol : float
        An answer counts as optimal when its certified gap is at most ``tol · (1 + |value|)``.
    start : array of shape (k,) or (W, k), optional
        Where to start.
    verbose : bool
        Whether to print what each stage did.

    Returns
    -------
    Solutions

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
    family, delta = _checked(features_q, targets, log_bases, radius, norm, start)
    survey = _survey(family.batch)
    course = _Course(family, survey, delta, tol, verbose)
    course.run()
    return course.solutions()


def _checked(
    features_q: Any, targets: Any, log_bases: Any, radius: Any, norm: Any, start: Any
) -> tuple[Family, Array | None]:
    """The arguments as arrays of matching shapes."""
    names: tuple[str, ...] = ()
    if isinstance(features_q, RatioProblem):
        problem, features_q, names = features_q, features_q.features_q, features_q.feature_names
        log_bases = problem.log_base if log_bases is None and not problem.rows.flat else log_bases
        radius = problem.radius if radius is None else radius
        norm = problem.norm if norm is None else norm
    radius, norm = 0.0 if radius is None else radius, 2 if norm is None else norm
    B = as_matrix(targets, "targets", limit=LONGEST)
    k = as_matrix(features_q, "features_q", column_names(features_q)).shape[1]
    if B.shape[1] != k:
        raise DataError(
            f"targets: has {B.shape[1]} columns for {k} columns of features_q; pass one row for each problem"
        )
    template = RatioProblem(B[0], features_q, norm=norm, feature_names=names)
    W, n = len(B), template.n_q
    if isinstance(radius, str) or not np.iterable(radius):
        R = np.full(W, check_radius(radius))
    else:
        R = np.array(as_radii(radius, "radius"))
        if R.size != W:
            raise DataError(f"radius: has {R.size} entries for {W} problems; pass one number, or one for each")
    common, own = _bases(log_bases, W, n)
    batch = make_batch(template.features_q, W, common, own)
    delta = None
    if start is not None:
        delta = as_numbers(start, "start")
        if delta.ndim == 1 and k > 1:
            delta = as_vector(delta, "start", k, limit=LONGEST)
        else:
            delta = as_matrix(delta, "start", limit=LONGEST)
        if delta.shape == (1, k):
            delta = delta[0]
        if delta.shape not in ((k,), (W, k)):
            raise DataError(f"start: has shape {delta.shape} for {W} problems and {k} features; pass shape ({W}, {k})")
        delta = np.broadcast_to(delta, (W, k))
    return Family(template, frozen(B.copy()), frozen(R.copy()), batch), delta


def _bases(log_bases: Any, W: int, n: int) -> tuple[Array | None, Own]:
    """(shared, own) logarithms of base weights; what stands in the own ones is looked at in the first pass."""
    if log_bases is None or callable(log_bases):
        return None, log_bases
    own = as_numbers(log_bases, "log_bases")
    if own.ndim < 2:
        return as_vector(own, "log_bases", n, log_weights=True), None
    if own.shape != (W, n):
        hint = "; transpose it" if own.shape == (n, W) else ""
        raise DataError(f"log_bases: has shape {own.shape} where ({n},) or ({W}, {n}) is needed{hint}")
    return None, own


def _survey(batch: Batch) -> Survey:
    """Sums of the base weights; shares of rows are relative to sums that a few runs of rows suggest."""
    n = batch.shape[0]
    if batch.own is None or n <= 4 * RUNS * RUN:
        return batch.survey()
    starts = np.linspace(0, n - RUN, RUNS).astype(np.intp)
    few = batch.take((starts[:, None] + np.arange(RUN)).ravel())
    try:
        guess = few.survey().level + log_of(n / (RUNS * RUN))
    except DataError:  # nothing but −inf in these rows; or what the next look will find as well
        return batch.survey()
    return batch.survey(guess)


class _Course:
    """The way of a batch through its stages."""

    def __init__(self, family: Family, survey: Survey, start: Array | None, tol: float, verbose: bool) -> None:
        self.family, self.survey, self.tol, self.verbose = family, survey, tol, verbose
        self.batch = family.batch.normalised(survey.level)
        self.targets = family.targets - self.batch.centre
        self.penalties = Penalties(family.template, family.radius)
        W, k = family.targets.shape
        self.started = start is not None
        self.start = np.zeros((W, k)) if start is None else np.array(start)
        self.steps = Lockstep(self.batch, self.targets, self.penalties, self.start)
        self.base = np.zeros((W, k, k))
        self.known = np.zeros(W, dtype=bool)
        self.gap, self.noise, self.spread = np.full((3, W), np.inf)
        self.proven, self.outside = np.zeros((2, W), dtype=bool)

    def run(self) -> None:
        """All stages; what is then not proven is left to be solved alone."""
        n, k = self.batch.shape
        size = max(FEWEST, FEWEST_PER_FEATURE * k, min(n // ONE_IN, MOST))
        if n > 4 * size:
            subset, log_share = self._subset(size)
            weighted = subset.weighted(log_share)
            self._approach(weighted.thinned(10))
            self._approach(weighted)
            self._gradients(subset, 1.6 * self.tol * size / n)  # a lift on S costs half of it
        elif n >= 10 * max(TENTH, TENTH_PER_FEATURE * k):
            tenth = self.batch.thinned(10)
            self._approach(tenth)
            if k > FEW_FEATURES and n >= 1000 * k:
                self._gradients(tenth, SHARP * self.tol**2)
        self._covariances()

    def _subset(self, size: int) -> tuple[Batch, Array]:
        """About ``size`` distinct rows for all problems, and logarithms of what each stands for.

        One row from each of equally long stretches if the base weights are even; otherwise each row by itself, with a
        probability that mixes even sampling with its average share in the base weights.
        """
        n = self.batch.shape[0]
        rng = np.random.default_rng(0)
        if self.survey.ess.min() > 0.25 * n:
            edges = np.linspace(0, n, size + 1).astype(np.intp)
            index = edges[:-1] + (rng.random(size) * np.diff(edges)).astype(np.intp)
            return self.batch.take(index), np.full(size, log_of(n / size))
        share = self.survey.share / self.survey.share.sum()
        chance = mixed_chance(share, size, n)
        index = np.flatnonzero(rng.random(n) < chance)
        return self.batch.take(index), -log(chance[index])

    def _approach(self, rows: Batch) -> None:
        """Solve on some rows, no further than their sampling error; δ and curvature are a start on more rows."""
        steps = Lockstep(rows, self.targets, self.penalties, self.steps.delta)
        steps.curvature[:] = self.steps.curvature
        old, new = np.flatnonzero(self.known), np.flatnonzero(~self.known & ~self.outside)
        aim = np.full(len(self.known), 0.3 * rows.shape[1] / rows.shape[0])
        if old.size:
            steps.begin(old, covariance=False)
            steps.run(old, aim, WITHOUT, covariance=False)
        if new.size:
            self._set_out(steps, new)
            steps.run(new, aim, WITH, covariance=True)
        self.known = (steps.decrement <= 1.0) & _well_conditioned(self.base)
        old, far = old[self.known[old]], np.flatnonzero(~self.known & ~self.outside)
        if old.size:
            steps.refresh(old)
        if far.size:  # a direction that separates these rows may separate all
            self.outside[far] = steps.beyond(self.batch, far)
        self.steps.delta[:] = np.where(self.known[:, None], steps.delta, self.start)
        self.steps.curvature[:] = steps.curvature
        self._say(f"{rows.shape[0]} rows", steps, self.known)

    def _set_out(self, steps: Lockstep, who: Index, *, fresh: bool = True) -> None:
        """The first pass with covariances; a fresh problem keeps its curvature at δ = 0 to be compared with later."""
        origin = steps
        if fresh and self.started:
            origin = Lockstep(steps.batch, self.targets, self.penalties, np.zeros_like(steps.delta))
            origin.begin(who, covariance=True)
        steps.begin(who, covariance=True)
        if fresh:
            self.base[who] = origin.curvature[who]
        worse = who[~self._better(steps, who, origin.value[who] if fresh else 0.0)]
        if worse.size:
            steps.delta[worse] = 0.0
            steps.begin(worse, covariance=True)

    def _better(self, steps: Lockstep, who: Index, value: Array | float = 0.0) -> Any:
        """Whether a start is of any use, given the value at δ = 0, which is zero on all rows."""
        fine = (steps.value[who] <= value + 1e-9) & np.isfinite(steps.decrement[who])
        return fine | ~steps.delta[who].any(axis=1)

    def _gradients(self, subset: Batch, goal: float) -> None:
        """Passes over all rows with the subset's curvature, and proofs on the subset.

        ``goal`` is the squared decrement to reach, relative to 1 + |value|.
        """
        steps, who = self.steps, np.flatnonzero(self.known)
        if not who.size:
            return
        steps.begin(who, covariance=False)
        who = who[self._better(steps, who)]
        aim = goal * (1.0 + np.abs(steps.value))
        for _ in range(3):
            if not who.size:
                break
            steps.run(who, aim, WITHOUT, covariance=False)
            self._prove(subset, who)
            who = who[~self.proven[who] & (steps.decrement[who] <= aim[who])]
            aim *= 1e-2
        self._say("all rows, gradients", steps, self.proven)

    def _covariances(self) -> None:
        """Newton on all rows for the problems that are not proven yet."""
        steps, who = self.steps, np.flatnonzero(~self.proven & ~self.outside)
        for fresh in (True, False):
            some = who[self.known[who] != fresh]
            if some.size:
                self._set_out(steps, some, fresh=fresh)
        who = who[_well_conditioned(self.base[who]) & np.isfinite(steps.decrement[who])]
        if not who.size:
            return
        steps.run(who, np.full(len(self.known), SHARP * self.tol**2), WITH, covariance=True)
        who = who[~steps.away[who]]
        n, k = self.batch.shape
        step = n // max(LIFTED, LIFTED_PER_FEATURE * k)
        if step > 3:
            self._prove(self.batch.thinned(step), who)
            who = who[~self.proven[who]]
        if who.size:
            self._prove(self.batch, who)
        self._say("all rows, covariances", steps, self.proven)

    def _prove(self, rows: Batch, who: Index) -> None:
        """Gaps by a lift on these rows; on a sequence that runs away they prove less than they seem to."""
        proof = prove(self.steps, rows, who, self.tol)
        self.gap[who], self.noise[who], self.spread[who] = proof.gap, proof.noise, proof.spread
        enough = proof.gap <= self.tol * (1.0 + np.abs(self.steps.value[who]))
        with np.errstate(divide="ignore", invalid="ignore"):
            shrinkage = np.nanmin(pivots(self.steps.curvature[who]) / pivots(self.base[who]), axis=1)
        collapsed = shrinkage <= np.maximum(1e4 * self.steps.decrement[who], ON_HULL)
        self.proven[who] = enough & ~(collapsed & (self.family.radius[who] == 0.0))

    def _say(self, stage: str, steps: Lockstep, done: Any) -> None:
        if self.verbose:
            print(f"{stage}: {steps.passes} passes, {np.count_nonzero(done)} of {len(done)} problems done")

    def solutions(self) -> Solutions:
        """The answers; problems without a proof are solved one by one."""
        steps, W = self.steps, len(self.known)
        g = self.penalties.value(steps.delta, np.arange(W))
        r = self.targets - steps.mean
        facts = {
            "moment_residual": np.maximum(
                np.linalg.norm(r, self.penalties.norm.order, axis=1) - self.family.radius, 0.0
            ),
            "slackness": g - np.einsum("wi,wi->w", r, steps.delta),
            "noise": self.noise,
            "spread": self.spread,
        }
        status = [Status.OPTIMAL] * W
        alone = {}
        for w in np.flatnonzero(~self.proven).tolist():
            found = solve(self.family.problem(w), tol=self.tol, check=False)
            alone[w], status[w] = found, found.status
            steps.delta[w], steps.value[w], self.gap[w] = found.delta, found.primal_value, found.gap
            steps.ess[w], steps.iterations[w] = 1.0 / float(found.mu @ found.mu), found.iterations
        dual = np.array(steps.value - self.gap)
        return Solutions(
            delta=frozen(steps.delta),
            status=status,
            gap=frozen(self.gap),
            primal_value=frozen(steps.value),
            dual_value=frozen(np.where(np.isfinite(self.gap), dual, -np.inf)),
            iterations=steps.iterations,
            passes=steps.passes,
            ess=frozen(steps.ess),
            ess_base=frozen(self.survey.ess),
            alone=alone,
            family=self.family,
            facts=facts,
        )


def _well_conditioned(H: Array) -> Any:
    """Whether each H, its columns scaled alike, is so far from singular that every direction counts."""
    s = np.sqrt(np.maximum(np.einsum("wii->wi", H), 0.0))
    s[s == 0.0] = 1.0
    return pivots(H / s[:, :, None] / s[:, None, :]).min(axis=1) > 1e-6
