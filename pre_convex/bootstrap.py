"""The bootstrap: refits to resampled rows, many at a time, each warm-started from the fit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from .arrays import MOST, as_count, as_flag, as_vector, shown
from .checks import LARGEST
from .entropy import Array, exp, log, log_normalise
from .errors import DataError
from .problem import RatioProblem, as_problem
from .progress import track
from .rng import Rng, spawned
from .solution import Status
from .solvers.many import solve_many
from .solvers.newton import newton
from .solvers.steps import make_penalty
from .threads import one_thread_each

__all__ = ["bootstrap"]

#: resamples that are refitted together, and weights in all of them, at most; results depend on these and not on jobs
GROUP, GROUP_NUMBERS = 50, 10_000_000
#: gap to aim at, and gap up to which a refit counts
TOL, ENOUGH = 1e-8, 1e-6


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
    """δ̂ of data resampled row by row, shape (replicates, k); nan where a resample has no solution.

    Both samples are drawn anew, or the pairs of rows if the problem is paired. Resamples are weights on the rows, so
    that they share the features and are refitted together, unless the user's penalty or constraints ask for a program
    of their own. The result depends on ``rng`` only, not on the number of jobs.
    """
    as_problem(problem)
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("problem: has no p side in memory to resample; build it from arrays of samples")
    delta = as_vector(delta, "delta", problem.k, limit=LARGEST)
    replicates, progress = as_count(replicates, "replicates", 2), as_flag(progress, "progress")
    if not isinstance(jobs, int | np.integer) or isinstance(jobs, bool) or not jobs:
        raise DataError(f"jobs: {shown(jobs)} is not a number of processes; 1 stays in this one, -1 uses every core")
    streams = spawned(rng, replicates)
    if penalty is None and constraints is None:
        size = min(GROUP, max(1, GROUP_NUMBERS // problem.n_q))
        refit = partial(_refit_together, problem, delta)
    else:
        size = 1
        refit = partial(_refit_alone, problem, delta, penalty=penalty, constraints=constraints)
    groups = [streams[i : i + size] for i in range(0, len(streams), size)]
    if jobs == 1:
        found: Iterable[Array] = map(refit, groups)
    else:
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=int(max(min(jobs, len(groups)), -MOST)), return_as="generator")(
            delayed(refit)(group) for group in groups
        )
    return np.concatenate(list(track(found, "bootstrap", len(groups)) if progress else found))


def _resample(problem: RatioProblem, rng: np.random.Generator) -> tuple[Array, Array] | None:
    """Target and logarithms of base weights of one resample; ``None`` where no row has weight."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    n_p, n_q = len(problem.features_p), problem.n_q
    count_q = np.bincount(rng.integers(0, n_q, n_q), minlength=n_q)
    count_p = count_q if problem.paired else np.bincount(rng.integers(0, n_p, n_p), minlength=n_p)
    log_w = problem.log_weights_p + log(count_p.astype(float))
    log_a = problem.log_base + log(count_q.astype(float))
    if not (np.any(log_w > -np.inf) and np.any(log_a > -np.inf)):
        return None
    return exp(log_normalise(log_w)) @ problem.features_p, log_a


@one_thread_each()
def _refit_together(problem: RatioProblem, delta: Array, streams: list[np.random.Generator]) -> Array:
    """δ̂ of some resamples."""
    found = np.full((len(streams), problem.k), np.nan)
    drawn = {i: drawn for i, rng in enumerate(streams) if (drawn := _resample(problem, rng)) is not None}
    if drawn:
        targets, log_bases = (np.array(part) for part in zip(*drawn.values(), strict=True))
        refits = solve_many(problem, targets, log_bases, radius=problem.radius, norm=problem.norm, tol=TOL, start=delta)
        near = (refits.gap <= ENOUGH * (1.0 + np.abs(refits.primal_value))) & [
            status is Status.INACCURATE for status in refits.status
        ]
        found[list(drawn)] = np.where((refits.ok | near)[:, None], refits.delta, np.nan)
    return found


@one_thread_each()
def _refit_alone(
    problem: RatioProblem, delta: Array, streams: list[np.random.Generator], penalty: Any, constraints: Any
) -> Array:
    """δ̂ of some resamples, each by itself."""
    found = np.full((len(streams), problem.k), np.nan)
    for i, rng in enumerate(streams):
        drawn = _resample(problem, rng)
        if drawn is not None:
            again = RatioProblem(drawn[0], problem.features_q, drawn[1], radius=problem.radius, norm=problem.norm)
            outcome = newton(again, make_penalty(again, penalty, constraints), tol=TOL, start=delta)
            if outcome.certificate.proves(ENOUGH):
                found[i] = outcome.delta
    return found
