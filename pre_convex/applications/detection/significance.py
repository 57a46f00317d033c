"""Significance of a score: what background alone would give."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...arrays import as_matrix, as_numbers, as_scalar, frozen, shown
from ...entropy import Array
from ...errors import DataError
from .posteriors import Priors
from .ratio import Options

__all__ = ["Background", "Origin", "check_background", "check_rate", "make_origin"]


@dataclass(frozen=True, eq=False)
class Origin:
    """What scores depend on besides the windows: where a background may be used.

    Attributes
    ----------
    method : str
    options : Options
    numbers : ndarray
        Means of both priors' features, and of their log-likelihoods given one window: others for other priors, features
        or noise.
    """

    method: str
    options: Options
    numbers: Array

    def check(self, here: Origin) -> None:
        """Raise unless what was made for this origin may be used here."""
        if here.method != self.method:
            raise DataError(
                f"background: was made for method {self.method!r}, this detector has {here.method!r}; use its own"
            )
        same = len(here.numbers) == len(self.numbers) and np.allclose(here.numbers, self.numbers, 1e-6, 1e-12)
        if not same or here.options != self.options:
            raise DataError("background: was made for other priors, features, noise or options; use the detector's own")


def make_origin(method: str, options: Options, priors: Priors) -> Origin:
    """The origin of a detector's scores."""
    numbers = []
    for side in (priors.p, priors.q):
        given = side.observation.log_likelihoods(side.x, side.half, priors.p.x[:1])
        numbers += [side.features.mean(axis=0), [given.mean()]]
    return Origin(method, options, np.concatenate(numbers))


@dataclass(frozen=True, eq=False)
class Background:
    """Scores of background pairs, sorted from the lowest.

    Scores of your own background windows will do, as ``Background(detector.scores(Y_p, Y_q).scores)``; these are taken
    everywhere. Those that :meth:`Detector.background` simulates belong to their detector.

    Attributes
    ----------
    scores : ndarray of shape (pairs,)
    minimal_radius : float
        The radius above which every pair has a finite score; nan where that is not known.
    made_for : Origin, optional
        Where it may be used; everywhere without it.
    reference : ndarray of shape (1, numbers in a window), optional
        The one y_p of all pairs, for scans with that reference.

    Examples
    --------
    >>> background = Background(np.arange(99.0))
    >>> background.p_values([98.5, 50.0]), background.threshold(0.05)
    (array([0.01, 0.5 ]), 94.0)
    """

    scores: Array
    minimal_radius: float = np.nan
    made_for: Origin | None = field(default=None, repr=False)
    reference: Array | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        values = _numbers(self.scores)
        if values.ndim != 1 or values.size == 0 or np.isnan(values).any():
            raise DataError("scores: must be numbers, at least one of them; nan cannot be ranked")
        least: Any = self.minimal_radius
        if not isinstance(least, float | int | np.number) or least < 0.0:
            raise DataError(f"minimal_radius: {shown(least)} is not a number of at least 0; nan where it is not known")
        if self.made_for is not None and not isinstance(self.made_for, Origin):
            raise DataError(f"made_for: {shown(self.made_for)} is not what a detector gives; leave it out")
        if self.reference is not None:
            object.__setattr__(self, "reference", as_matrix(self.reference, "reference"))
        object.__setattr__(self, "scores", frozen(np.sort(values)))

    def p_values(self, scores: Any) -> Array:
        """(1 + number of background scores at least as large) / (1 + number of background scores).

        Counting the score itself keeps the false-alarm rate right for every number of simulations.
        """
        values = _numbers(scores)
        larger = len(self.scores) - np.searchsorted(self.scores, values, side="left")
        return np.where(np.isnan(values), np.nan, (1.0 + larger) / (1.0 + len(self.scores)))

    def threshold(self, rate: float = 0.05) -> float:
        """The score above which, and only above which, the p-value is at most ``rate``."""
        rate = check_rate(rate)
        allowed = int(np.floor(rate * (len(self.scores) + 1) * (1.0 + 1e-12))) - 1
        if allowed < 0:
            raise DataError(
                f"rate: {rate:g} is below 1/{len(self.scores) + 1}, the smallest p-value of {len(self.scores)} "
                f"simulations; use at least {int(np.ceil(1.0 / rate)) - 1} replicates"
            )
        return float(self.scores[-1 - allowed])


def check_background(background: Any, origin: Origin, Y_p: Array | None, *, one: bool = False) -> None:
    """Raise unless a background may be used for pairs with these y_p; ``one`` if that is a scan's reference or None."""
    if not isinstance(background, Background):
        raise DataError(f"background: {shown(background)} is not one; use detector.background() or Background(scores)")
    if background.made_for is None:
        return
    background.made_for.check(origin)
    reference = background.reference
    if reference is not None and (Y_p is None or np.any(Y_p != reference)):
        raise DataError("background: was made for one reference, which is not the y_p here; make it for that, or none")
    if reference is None and one and Y_p is not None:
        raise DataError("background: was made for many y_p, the scan has one; use background(reference=...) with it")


def check_rate(rate: Any) -> float:
    """A share between 0 and 1."""
    value = as_scalar(rate, "rate")
    if not 0.0 < value < 1.0:
        raise DataError(f"rate: {value:g} is not between 0 and 1")
    return value


def _numbers(scores: Any) -> Array:
    """Scores as numbers, infinite ones among them."""
    return as_numbers(scores, "scores")
