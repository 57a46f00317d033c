"""The bootstrap: refits to resampled rows, in parallel, each warm-started from the fit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .entropy import Array, exp, log, log_normalise
from .errors import DataError, MissingExtraError
from .problem import RatioProblem
from .solvers.newton import newton
from .solvers.steps import make_penalty

__all__ = ["bootstrap"]


def bootstrap(
    problem: RatioProblem,
    delta: Array,
    replicates: int = 200,
    *,
    penalty: Any = None,
    constraints: Any = None,
    seed: int = 0,
    jobs: int = 1,
    progress: bool = False,
) -> Array:
    """δ̂ of data resampled row by row, shape (replicates, k); nan where a resample has no solution.

    Both samples are drawn anew, or the pairs of rows if the problem is paired. The result depends on the seed only, not
    on the number of jobs.
    """
    if problem.features_p is None or problem.log_weights_p is None:
        raise DataError("problem: has no p side to resample; build it from samples")
    if not isinstance(replicates, (int, np.integer)) or replicates < 2:
        raise DataError(f"replicates: {replicates!r} is not a whole number of at least 2")
    seeds = np.random.SeedSequence(seed).spawn(int(replicates))
    if jobs == 1:
        found: Iterable[Array] = (_refit(problem, delta, s, penalty, constraints) for s in seeds)
    else:
        from joblib import Parallel, delayed

        run = delayed(_refit)
        found = Parallel(n_jobs=jobs, return_as="generator")(
            run(problem, delta, s, penalty, constraints) for s in seeds
        )
    return np.array(list(_with_progress(found, int(replicates)) if progress else found))


def _with_progress(items: Iterable[Array], total: int) -> Iterator[Array]:
    """The same items, with a bar that rich draws."""
    try:
        from rich.progress import track
    except ImportError:
        raise MissingExtraError("rich", "cli") from None
    yield from track(items, description="bootstrap", total=total)


def _refit(problem: RatioProblem, delta: Array, seed: Any, penalty: Any, constraints: Any) -> Array:
    """δ̂ of one resample."""
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    rng = np.random.default_rng(seed)
    n_p, n_q = len(problem.features_p), problem.n_q
    count_q = np.bincount(rng.integers(0, n_q, n_q), minlength=n_q)
    count_p = count_q if problem.paired else np.bincount(rng.integers(0, n_p, n_p), minlength=n_p)
    log_w = problem.log_weights_p + log(count_p.astype(float))
    log_a = problem.log_base + log(count_q.astype(float))
    if not (np.any(log_w > -np.inf) and np.any(log_a > -np.inf)):
        return np.full(problem.k, np.nan)
    target = exp(log_normalise(log_w)) @ problem.features_p
    again = RatioProblem(target, problem.features_q, log_a, radius=problem.radius, norm=problem.norm)
    outcome = newton(again, make_penalty(again, penalty, constraints), tol=1e-8, start=delta)
    return outcome.delta if outcome.certificate.proves(1e-6) else np.full(problem.k, np.nan)
