"""Settings of a solve: tolerance, limits, and numbers of the Newton engine that a user may need to change."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from .._internal.validation import as_count, check_positive, check_tol
from ..errors import DataError

__all__ = ["Clock", "Settings", "make_settings"]


@dataclass(frozen=True)
class Settings:
    """Settings of a solve; ``pre.solve(problem, settings=pre.Settings(max_iter=20))``.

    Parameters
    ----------
    tol : float, default 1e-8
        Tolerance between 0 and 1: an answer is optimal if its certified gap is at most ``tol · (1 + |value|)``.
    max_iter : int or None, default None
        Maximum number of Newton steps on all rows, or of iterations of a cone solver; ``None`` for the engine's own:
        200, and 5,000 for SCS.
    time_limit : float or None, default None
        Seconds after which the solve stops, at the end of a pass over the rows; ``None`` for no limit. Among the cone
        solvers ECOS has no such limit.
    max_step : float, default 4.0
        Longest Newton step, as the standard deviation under μ of the change of the log-weights.
    small : int, default 400_000
        Problems with at most this number of entries of F are solved on all rows from the start, larger ones first on a
        sample.
    first_rows : int, default 100
        Rows per feature of the first sample, which has between 2,000 and 20,000 rows.
    subset_rows : int or None, default None
        Rows of the subset that is solved before all rows. ``None`` chooses the size that minimises the work.
    threads : int or None, default None
        Threads that passes over the rows use; ``None`` for as many as BLAS may use. Results do not depend on it, to the
        last bit.
    block_size : int or None, default None
        Entries of F in one block of rows in memory, the work of one thread; ``None`` for 2,000,000. Results depend on
        it by round-off. Files are read in blocks of their own, and :func:`solve_many` chooses its own.

    Examples
    --------
    >>> Settings(tol=1e-6, threads=2).threads
    2
    """

    tol: float = 1e-8
    max_iter: int | None = None
    time_limit: float | None = None
    max_step: float = 4.0
    small: int = 400_000
    first_rows: int = 100
    subset_rows: int | None = None
    threads: int | None = None
    block_size: int | None = None

    def __post_init__(self) -> None:
        check_tol(self.tol)
        if self.max_iter is not None:
            as_count(self.max_iter, "max_iter", 1)
        if self.time_limit is not None:
            check_positive(self.time_limit, "time_limit")
        check_positive(self.max_step, "max_step")
        as_count(self.small, "small", 0)
        as_count(self.first_rows, "first_rows", 1)
        for name in ("subset_rows", "threads", "block_size"):
            if getattr(self, name) is not None:
                as_count(getattr(self, name), name, 1)


def make_settings(settings: Any, **changes: Any) -> Settings:
    """The given settings, or the defaults, with the changes that are not ``None``."""
    if settings is None:
        settings = Settings()
    if not isinstance(settings, Settings):
        reason = f"must be a Settings object, not {type(settings).__name__}"
        raise DataError("settings", reason, "make one with Settings(...)")
    changes = {name: value for name, value in changes.items() if value is not None}
    return replace(settings, **changes) if changes else settings


class Clock:
    """Time since the start of a solve, and whether its limit has passed."""

    def __init__(self, limit: float | None = None) -> None:
        self.started, self.limit = time.perf_counter(), limit

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.started

    @property
    def is_over(self) -> bool:
        """Whether the time limit has passed."""
        return self.limit is not None and self.seconds > self.limit
