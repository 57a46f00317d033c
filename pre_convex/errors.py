"""Exceptions, one class for each way in which a caller may want to react."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from decimal import ROUND_CEILING, Context
from types import FrameType
from typing import Any

__all__ = [
    "BoundaryError",
    "DataError",
    "InfeasibleError",
    "MissingExtraError",
    "PreConvexError",
    "PreConvexWarning",
    "SeparationError",
    "SolveError",
    "UnknownSolverError",
]


class PreConvexError(Exception):
    """Base class of all exceptions of this package."""


class PreConvexWarning(UserWarning):
    """A correct answer needs attention; the message names the features concerned."""


def warn_caller(message: str) -> None:
    """Issue a :class:`PreConvexWarning` at the line outside this package that led here."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, PreConvexWarning, stacklevel=level)


class DataError(PreConvexError, ValueError):
    """An argument cannot be used.

    The message combines the three parameters, which are also attributes.

    Parameters
    ----------
    argument : str
        Name of the argument, option or file.
    reason : str
        What is wrong with it.
    remedy : str
        What to do about it, as an imperative.

    Examples
    --------
    >>> print(DataError("radius", "-1 is negative", "pass a number of at least 0"))
    radius: -1 is negative; pass a number of at least 0
    """

    def __init__(self, argument: Any, reason: str, remedy: str) -> None:
        self.argument, self.reason, self.remedy = str(argument), reason, remedy
        super().__init__(f"{self.argument}: {reason}; {remedy}")

    def renamed(self, argument: str) -> DataError:
        """The same error about an argument of another name, such as a command-line option.

        Parameters
        ----------
        argument : str
            The new name.

        Returns
        -------
        DataError

        Examples
        --------
        >>> print(DataError("radius", "-1 is negative", "pass 0").renamed("--radius"))
        --radius: -1 is negative; pass 0
        """
        return type(self)(argument, self.reason, self.remedy)

    def __reduce__(self) -> Any:
        return type(self), (self.argument, self.reason, self.remedy)


@contextmanager
def renamed_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Rename the argument of a :class:`DataError` raised inside, for callers that call it something else.

    Parameters
    ----------
    names : mapping of str to str
        New names by old name; errors about other arguments pass unchanged.

    Examples
    --------
    >>> with renamed_arguments({"folds": "cv"}):
    ...     raise DataError("folds", "1 is less than 2", "pass at least 2")
    Traceback (most recent call last):
    pre_convex.errors.DataError: cv: 1 is less than 2; pass at least 2
    """
    try:
        yield
    except DataError as error:
        if error.argument not in names:
            raise
        raise error.renamed(names[error.argument]) from error


class UnknownSolverError(DataError):
    """The named solver does not exist, is not installed, or does not support exponential cones."""


class MissingExtraError(PreConvexError, ImportError):
    """An optional dependency is not installed.

    Parameters
    ----------
    package : str
        The missing package.
    extra : str, default ""
        Extra of this package that installs it; empty if there is none.

    Examples
    --------
    >>> print(MissingExtraError("matplotlib", "plot"))
    matplotlib is not installed; run: pip install 'pre_convex[plot]'
    """

    def __init__(self, package: str, extra: str = "") -> None:
        what = f"'pre_convex[{extra}]'" if extra else package
        super().__init__(f"{package} is not installed; run: pip install {what}")
        self.package = package
        self.extra = extra

    def __reduce__(self) -> Any:
        return type(self), (self.package, self.extra)


def round_up(x: float, digits: int = 3) -> float:
    """The smallest number of so many digits that is at least x.

    Examples
    --------
    >>> round_up(1.2301), round_up(5e-7)
    (1.24, 5e-07)
    """
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(x)
    return float(rounded) if float(rounded) >= x else float(rounded.next_plus(Context(prec=digits)))


class SolveError(PreConvexError):
    """No solution of the requested accuracy was proven.

    Parameters
    ----------
    message : str
        What happened.
    solution : Solution, optional
        The best point found, with its certificate.

    Attributes
    ----------
    solution : Solution or None
        The best point found, with its certificate.
    """

    def __init__(self, message: str, solution: Any = None) -> None:
        super().__init__(message)
        self.solution = solution

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.solution)


class BoundaryError(SolveError):
    """The target lies on a face of the hull that no column exposes: optimal weights exist, but no optimal finite δ.

    ``solution.mu`` holds feasible weights, optimal up to ``solution.gap``; ``solution.delta`` is a point of a diverging
    sequence. For a target at the smallest or largest q value of a feature, :func:`~pre_convex.solve` returns a solution
    instead, whose ``recession`` names the coefficients that run to infinity.
    """


class SeparationError(SolveError):
    """A combination of features separates the two samples, so logistic regression has no finite solution.

    Parameters
    ----------
    message : str
        What happened.
    solution : Solution, optional
        Its ``delta`` is the direction.
    direction : ndarray of shape (k,), optional
        Direction v of unit length: ⟨v, f⟩ is at least the threshold on every p row and at most that on every q row, and
        not equal to it on all of them.
    threshold : float, default nan
        The threshold.
    features : tuple of str, default ()
        Features that the direction uses.
    advised_radius : float, default nan
        A radius of the size of the noise of the means; every positive radius has a solution.

    Attributes
    ----------
    direction, threshold, features, advised_radius
        As given.
    """

    def __init__(
        self,
        message: str,
        solution: Any = None,
        direction: Any = None,
        threshold: float = math.nan,
        features: tuple[str, ...] = (),
        advised_radius: float = math.nan,
    ) -> None:
        super().__init__(message, solution)
        self.direction, self.threshold, self.features = direction, threshold, features
        self.advised_radius = advised_radius

    def __reduce__(self) -> Any:
        facts = (self.direction, self.threshold, self.features, self.advised_radius)
        return type(self), (str(self), self.solution, *facts)


class InfeasibleError(SolveError):
    """The target is further from the hull than the radius: no solution exists, and the error carries the proof.

    Parameters
    ----------
    message : str
        What happened.
    solution : Solution, optional
        The last point before the problem was proven infeasible.
    hull : Hull, optional
        Distance to the hull and separating direction.
    outside : tuple of str, default ()
        Features whose target is outside the range of the q rows.
    advised_relaxation : dict, default {}
        Radii of the features that are cheapest to relax: those of ``hull.relaxation``, a tenth larger, or by half for
        divergences other than KL, and rounded up; ``problem.with_radius(error.advised_relaxation)`` has a solution.
    advice : tuple of dict, default ()
        Parameters that the message advises, the most useful first: ``estimator.set_params(**error.advice[0])`` has a
        solution, and so has ``problem.with_radius(**error.advice[0])`` if the error comes from a problem. An estimator
        advises radii in standard deviations, unless it has ``standardise=False``.

    Attributes
    ----------
    drop : tuple of str
        Features without which the rest can be matched: those of ``advised_relaxation``. Empty if they are not known.
    direction : ndarray of shape (k,)
        Separating direction v of unit dual norm: max_j ⟨v, F_j⟩ + radius < ⟨v, b⟩. In an error of an estimator, it and
        the distances are for features in standard deviations, unless it has ``standardise=False``.
    minimal_radius : float
        Proven upper bound of the distance from the target to the hull; a solution exists for every larger radius.
    advised_radius : float
        The radius that the message advises, a tenth larger and rounded up: close to the minimal one, all weight is on
        few rows and δ is large.
    """

    #: ratio of the advised radius to the minimal one
    MARGIN = 1.1

    def __init__(
        self,
        message: str,
        solution: Any = None,
        hull: Any = None,
        outside: tuple[str, ...] = (),
        advised_relaxation: dict[str, float] | None = None,
        advice: tuple[dict[str, Any], ...] = (),
    ) -> None:
        super().__init__(message, solution)
        self.hull, self.outside, self.advised_relaxation = hull, outside, dict(advised_relaxation or {})
        self.advice = tuple(advice)

    @property
    def drop(self) -> tuple[str, ...]:
        """Features without which the rest can be matched; empty if they are not known."""
        return tuple(self.advised_relaxation)

    @property
    def conflict(self) -> tuple[str, ...]:
        """Features that no weights match together, none of which can be left out; empty if that is not known."""
        with suppress(SolveError):  # of a linear program
            return tuple(self.hull.conflict) if self.hull is not None else ()
        return ()

    @property
    def direction(self) -> Any:
        """Separating direction v; of unit dual norm if there is one radius for all features."""
        return self.hull.separating if self.hull is not None else self.solution.delta

    @property
    def minimal_radius(self) -> float:
        """Distance from the target to the hull of the q features; nan if it was not computed."""
        return float(self.hull.radius) if self.hull is not None else math.nan

    @property
    def advised_radius(self) -> float:
        """A radius that leaves room: the minimal one and a tenth, rounded up to three digits."""
        return round_up(self.MARGIN * self.minimal_radius)

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.solution, self.hull, self.outside, self.advised_relaxation, self.advice)
