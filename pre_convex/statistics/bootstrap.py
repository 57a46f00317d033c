"""The bootstrap: refits to resampled rows, many at a time, each warm-started from the fit."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from .._internal.entropy import log_normalise, safe_log
from .._internal.progress import track
from .._internal.rng import Rng, spawn_generators
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .._internal.validation import MAX_COUNT, MAX_ENTRY, as_count, as_flag, as_vector, preview
from ..errors import DataError
from ..penalties import make_penalty
from ..penalties.user import check_terms
from ..problem import RatioProblem, as_problem
from ..solution import Status
from ..solvers.family import newton_linked
from ..solvers.many import solve_many
from ..solvers.settings import Settings
from ..solvers.stages import newton

__all__ = ["bootstrap"]

#: maximum numbers of resamples and of weights in a group that is refitted together; fixed, so that results do not
#: depend on the number of jobs
MAX_GROUP, MAX_GROUP_WEIGHTS = 50, 10_000_000
#: gap to aim for, and largest gap of a refit that is used
TOL, ACCEPTED_GAP = 1e-8, 1e-6


def bootstrap(
    problem: RatioProblem,
    delta: Array,
    replicates: int = 200,
    *,
    penalty: Any = None,
    constraints: Any = None,
    rng: Rng = 0,
    jobs: int = 1,
    progress: bool = False,
) -> Array:
    """δ̂ of resampled data.

    Rows of both samples are drawn with replacement, or pairs of rows if the problem is paired. A resample is a set of
    weights on the rows, so all of them share the features and are refitted together; with a penalty or constraints,
    another divergence than KL, bounds, or one radius for each feature, each is refitted on its own. A row that is drawn
    twice may get twice the largest weight. The result depends on ``rng`` only, not on the number of jobs.

    Parameters
    ----------
    problem : RatioProblem
        A problem built from samples in memory.
    delta : array of shape (k,)
        Its solution, from which every refit starts.
    replicates : int, default 200
        Number of resamples, at least 2.
    penalty : function of a cvxpy expression, optional
        Convex penalty of the fit, as in :func:`~pre_convex.solve`.
    constraints : function of a cvxpy expression, optional
        Constraints of the fit, as in :func:`~pre_convex.solve`.
    rng : int, sequence of int, SeedSequence, BitGenerator, Generator or None, default 0
        Seed or generator of the resamples.
    jobs : int, default 1
        Number of processes: 1 runs in this process, −1 uses all cores.
    progress : bool, default False
        Whether to show a progress bar.

    Returns
    -------
    ndarray of shape (replicates, k)
        One δ̂ per resample; nan where a resample has no solution, ±inf for coefficients that run to infinity.

    Examples
    --------
    >>> import pre_convex as pre
    >>> x = np.random.default_rng(0).normal(size=(400, 1))
    >>> problem = pre.RatioProblem.from_samples(x[:200] + 0.3, x[200:])
    >>> resampled = bootstrap(problem, pre.solve(problem).delta)
    >>> resampled.shape, resampled.std(axis=0).round(1)
    ((200, 1), array([0.1]))
    """
    problem = as_problem(problem)
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("problem", "has no p sample in memory to resample", "build it with RatioProblem.from_samples")
    check_terms(penalty, constraints)
    delta = as_vector(delta, "delta", problem.k, limit=MAX_ENTRY)
    replicates, progress = as_count(replicates, "replicates", 2), as_flag(progress, "progress")
    if not isinstance(jobs, int | np.integer) or isinstance(jobs, bool) or not jobs:
        raise DataError(
            "jobs", f"{preview(jobs)} is not a number of processes", "pass 1 for this process, -1 for all cores"
        )
    generators = spawn_generators(rng, replicates)
    if penalty is None and constraints is None and not problem.has_intercept:
        size = min(MAX_GROUP, max(1, MAX_GROUP_WEIGHTS // problem.n_q))
        refit = partial(_refit_together, problem, delta)
    else:
        size = 1
        refit = partial(_refit_one_by_one, problem, delta, penalty=penalty, constraints=constraints)
    groups = [generators[i : i + size] for i in range(0, len(generators), size)]
    if jobs == 1:
        refits: Iterable[Array] = map(refit, groups)
    else:
        from joblib import Parallel, delayed

        refits = Parallel(n_jobs=int(max(min(jobs, len(groups)), -MAX_COUNT)), return_as="generator")(
            delayed(refit)(group) for group in groups
        )
    return np.concatenate(list(track(refits, "bootstrap", len(groups)) if progress else refits))


def _resample(problem: RatioProblem, rng: np.random.Generator) -> tuple[Array, Array] | None:
    """Target and log base weights of one resample; ``None`` if no row of one side has weight."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    n_p, n_q = len(problem.features_p), problem.n_q
    count_q = np.bincount(rng.integers(0, n_q, n_q), minlength=n_q)
    count_p = count_q if problem.paired else np.bincount(rng.integers(0, n_p, n_p), minlength=n_p)
    log_w = problem.log_weights_p + safe_log(count_p.astype(float))
    log_a = problem.log_base + safe_log(count_q.astype(float))
    if not (np.any(log_w > -np.inf) and np.any(log_a > -np.inf)):
        return None
    return np.exp(log_normalise(log_w)) @ problem.features_p, log_a


@single_threaded_blas()
def _refit_together(problem: RatioProblem, delta: Array, generators: list[np.random.Generator]) -> Array:
    """δ̂ of one resample per generator, solved as one batch."""
    deltas = np.full((len(generators), problem.k), np.nan)
    resamples = {i: drawn for i, rng in enumerate(generators) if (drawn := _resample(problem, rng)) is not None}
    if resamples:
        targets, log_bases = (np.array(part) for part in zip(*resamples.values(), strict=True))
        refits = solve_many(problem, targets, log_bases, radius=problem.radius, norm=problem.norm, tol=TOL, start=delta)
        close = (refits.gap <= ACCEPTED_GAP * (1.0 + np.abs(refits.primal_value))) & [
            status is Status.INACCURATE for status in refits.status
        ]
        found = np.where((refits.ok | close)[:, None], refits.delta, np.nan)
        for one, refit in zip(found, refits, strict=True):
            for feature, sign in refit.recession:
                one[feature] = sign * np.inf
        deltas[list(resamples)] = found
    return deltas


@single_threaded_blas()
def _refit_one_by_one(
    problem: RatioProblem, delta: Array, generators: list[np.random.Generator], penalty: Any, constraints: Any
) -> Array:
    """δ̂ of one resample per generator, each with a program of its own."""
    deltas = np.full((len(generators), problem.k), np.nan)
    terms: dict[str, Any] = {"radius": problem.radius, "norm": problem.norm}
    if not problem.exponential:
        terms |= {"divergence": problem.divergence, "bounds": problem.bounds}
    engine = newton_linked if problem.has_intercept else newton
    for i, rng in enumerate(generators):
        drawn = _resample(problem, rng)
        if drawn is not None:
            with suppress(DataError):  # the bounds may allow no weights on the rows that were drawn
                again = RatioProblem(drawn[0], problem.features_q, drawn[1], **terms)
                outcome = engine(again, make_penalty(again, penalty, constraints), Settings(tol=TOL), start=delta)
                if outcome.certificate.proves(ACCEPTED_GAP):
                    deltas[i] = outcome.delta
    return deltas
