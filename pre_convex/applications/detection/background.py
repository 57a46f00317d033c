"""Background scores: how they are simulated, and the p-values and thresholds they give."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._internal.rng import as_generator
from ..._internal.snapshots import freeze
from ..._internal.typing import Array, Index
from ..._internal.validation import as_fraction, as_matrix, as_numbers, call_user_function, preview, read_only
from ...errors import DataError
from .methods import MethodOptions
from .priors import Priors
from .windows import as_windows_like

__all__ = [
    "Background",
    "Draw",
    "ScoringSetup",
    "SimulatedPairs",
    "check_background",
    "make_setup",
    "simulate_pairs",
    "split_pairs",
]

#: (x, rng) → observations of the sequences x
Draw = Callable[[Array, np.random.Generator], Any]


@dataclass(frozen=True, eq=False)
class ScoringSetup:
    """What scores depend on besides the windows; a background is valid for the setup it was simulated with.

    Attributes
    ----------
    method : str
        The scoring method.
    options : MethodOptions
        Its options.
    fingerprint : ndarray
        Means of both priors' features, and of their log-likelihoods given one window: these differ between priors,
        features and noise.
    """

    method: str
    options: MethodOptions
    fingerprint: Array

    def check(self, other: ScoringSetup) -> None:
        """Raise if a background of this setup cannot be used in the other one."""
        if other.method != self.method:
            raise DataError(
                "background",
                f"was simulated for method {self.method!r}, this detector uses {other.method!r}",
                "use this detector's background()",
            )
        same = len(other.fingerprint) == len(self.fingerprint) and np.allclose(
            other.fingerprint, self.fingerprint, 1e-6, 1e-12
        )
        if not same or other.options != self.options:
            raise DataError(
                "background",
                "was simulated for other priors, features, noise or options",
                "use this detector's background()",
            )


def make_setup(method: str, options: MethodOptions, priors: Priors) -> ScoringSetup:
    """The setup of a detector."""
    fingerprint = []
    for prior in (priors.p, priors.q):
        log_lik = prior.noise.log_likelihoods(prior.x, prior.precomputed, priors.p.x[:1])
        fingerprint += [prior.features.mean(axis=0), [log_lik.mean()]]
    return ScoringSetup(method, options, np.concatenate(fingerprint))


class Background:
    """Scores of background pairs, which give p-values and thresholds.

    :meth:`Detector.background` simulates them for its own detector. Scores of your own background windows work as well,
    for any detector: ``Background(detector.scores(Y_p, Y_q).scores)``.

    Parameters
    ----------
    scores : array of shape (pairs,)
        Scores of background pairs; infinite ones are allowed, nan is not.
    minimal_radius : float, default nan
        The radius above which every pair has a finite score, at least 0; nan if unknown.
    made_for : ScoringSetup, optional
        The setup of the detector that simulated the scores; other detectors refuse it. Without it, any detector takes
        the background.
    reference : array of shape (1, numbers in a window), optional
        The one y_p of all pairs, for scans with that reference.

    Attributes
    ----------
    scores : ndarray of shape (pairs,)
        The scores, sorted from the lowest.
    minimal_radius, made_for, reference
        As given.

    Examples
    --------
    >>> background = Background(np.arange(99.0))
    >>> background.p_values([98.5, 50.0]), background.threshold(0.05)
    (array([0.01, 0.5 ]), 94.0)
    """

    def __init__(
        self,
        scores: Any,
        minimal_radius: float = np.nan,
        made_for: ScoringSetup | None = None,
        reference: Any = None,
    ) -> None:
        values = as_numbers(scores, "scores")
        if values.ndim != 1 or values.size == 0 or np.isnan(values).any():
            raise DataError(
                "scores", "is empty, holds nan, or is not one-dimensional", "pass at least one score, and drop nan"
            )
        radius: Any = minimal_radius
        if not isinstance(radius, float | int | np.number) or radius < 0.0:
            raise DataError(
                "minimal_radius",
                f"{preview(radius)} is not a number of at least 0",
                "pass a number, or nan if it is not known",
            )
        if made_for is not None and not isinstance(made_for, ScoringSetup):
            raise DataError("made_for", f"{preview(made_for)} is not a detector's scoring setup", "leave it out")
        self.scores = read_only(np.sort(values))
        self.minimal_radius = minimal_radius
        self.made_for = made_for
        self.reference = None if reference is None else freeze(as_matrix(reference, "reference").copy())

    def __repr__(self) -> str:
        return f"Background({len(self.scores)} scores, minimal_radius={self.minimal_radius:g})"

    def p_values(self, scores: Any) -> Array:
        """p-values of scores.

        A score counts itself, which keeps the false-alarm rate exact for any number of simulations.

        Parameters
        ----------
        scores : float or array
            Scores; nan gives nan.

        Returns
        -------
        ndarray
            (1 + number of background scores at least as large) / (1 + number of background scores), in the shape of
            ``scores``.
        """
        values = as_numbers(scores, "scores")
        larger = len(self.scores) - np.searchsorted(self.scores, values, side="left")
        return np.where(np.isnan(values), np.nan, (1.0 + larger) / (1.0 + len(self.scores)))

    def threshold(self, rate: float = 0.05) -> float:
        """The score above which, and only above which, the p-value is at most ``rate``.

        Parameters
        ----------
        rate : float, default 0.05
            False-alarm rate for each window, between 1 / (1 + number of background scores) and 1.

        Returns
        -------
        float
            The threshold; infinite if too many background scores are.
        """
        rate = as_fraction(rate, "rate")
        allowed = int(np.floor(rate * (len(self.scores) + 1) * (1.0 + 1e-12))) - 1
        if allowed < 0:
            raise DataError(
                "rate",
                f"{rate:g} is below 1/{len(self.scores) + 1}, the smallest p-value of {len(self.scores)} simulations",
                f"use at least {int(np.ceil(1.0 / rate)) - 1} replicates",
            )
        return float(self.scores[-1 - allowed])


def check_background(background: Any, setup: ScoringSetup, Y_p: Array | None, *, scan: bool = False) -> None:
    """Raise if a background cannot be used for pairs with these y_p.

    Parameters
    ----------
    background : object
        What the user passed.
    setup : ScoringSetup
        The setup of the detector that uses it.
    Y_p : ndarray of flat rows, or None
        The windows y_p; for a scan, its reference or ``None``.
    scan : bool
        Whether the pairs are those of a scan.
    """
    if not isinstance(background, Background):
        raise DataError(
            "background",
            f"{preview(background)} is not a Background",
            "use detector.background() or Background(scores)",
        )
    if background.made_for is None:
        return
    background.made_for.check(setup)
    reference = background.reference
    if reference is not None and (Y_p is None or np.any(Y_p != reference)):
        raise DataError(
            "background",
            "was simulated for one reference, which is not the y_p here",
            "use detector.background(reference=y_p), or no reference if y_p varies",
        )
    if reference is None and scan and Y_p is not None:
        raise DataError(
            "background",
            "was simulated for varying y_p, but this scan has a reference",
            "use detector.background(reference=...) with that reference",
        )


@dataclass(frozen=True, eq=False)
class SimulatedPairs:
    """Simulated pairs of background windows.

    Attributes
    ----------
    Y_p, Y_q : ndarray of shape (pairs, numbers in a window)
        The windows as flat rows.
    left_out : ndarray of int of shape (pairs, 1 or 2), or None
        Rows of prior p that each pair was drawn from, to be ignored when it is scored: no real observation has its
        exact latent sequence in the sample.
    """

    Y_p: Array
    Y_q: Array
    left_out: Index | None


def simulate_pairs(
    priors: Priors, draw: Draw | None, replicates: int, rng: Any, reference: Array | None
) -> SimulatedPairs:
    """Observe two random sequences of prior p for each pair, or one if y_p is the reference."""
    x, rng = priors.p.x, as_generator(rng)
    if len(x) < 4:
        raise DataError("prior_p", f"has {len(x)} rows, too few to simulate background from", "pass at least 4 rows")
    first = rng.integers(0, len(x), replicates)
    second = (first + rng.integers(1, len(x), replicates)) % len(x)
    Y_p, Y_q = (_observe(priors, draw, x[rows], rng) for rows in (first, second))
    if reference is None:
        return SimulatedPairs(Y_p, Y_q, np.column_stack([first, second]))
    return SimulatedPairs(np.broadcast_to(reference, Y_p.shape), Y_q, second[:, None])


def split_pairs(priors: Priors, draw: Draw | None, replicates: int, rng: Any, pairs: Any) -> SimulatedPairs:
    """Observe both halves of sequences two windows long, each sequence once before any is reused."""
    doubled, rng = replace(priors.shape, window=2 * priors.shape.window), as_generator(rng)
    x = as_windows_like(pairs, "pairs", doubled, "a pair of windows")
    x = x[np.resize(rng.permutation(len(x)), replicates)]
    Y_p, Y_q = (_observe(priors, draw, half, rng) for half in np.split(x, 2, axis=1))
    return SimulatedPairs(Y_p, Y_q, None)


def _observe(priors: Priors, draw: Draw | None, x: Array, rng: np.random.Generator) -> Array:
    """Noisy observations of sequences."""
    if draw is None:
        return priors.noise.draw(x, rng)
    drawn = call_user_function(draw, "draw", priors.shape.unflatten(x), rng)
    observations = as_windows_like(drawn, "draw", priors.shape, "prior_p")
    if len(observations) != len(x):
        raise DataError(
            "draw", f"returned {len(observations)} observations of {len(x)} sequences", "return one for each sequence"
        )
    return observations
