"""Warnings about scores that may not mean what they seem to."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..._internal.typing import Array
from ...solution import Status
from .background import Background
from .methods import Scorer
from .results import PairScores
from .windows import flatten

__all__ = ["DetectionWarning", "influence_warning", "score_warnings", "threshold_warning", "window_influence"]

#: effective share of the prior rows from which a likelihood counts as flat
FLAT_SHARE = 0.95
#: effective sample size below which a single row has nearly all the weight
SINGLE_ROW_ESS = 1.5
#: pairs that are scored again with swapped windows, and the relative change below which a window has no influence
SWAPPED_PAIRS, NEGLIGIBLE_CHANGE = 16, 0.01


class DetectionWarning(UserWarning):
    """Warning that a score may not mean what it seems to."""


def score_warnings(pairs: PairScores, n_p: int, n_q: int, radius: float) -> Iterator[str]:
    """Warnings about flat likelihoods, dominant single rows, targets outside the hull, and missing proofs."""
    count, k = pairs.delta.shape
    for side, ess, n in (("p", pairs.ess_p, n_p), ("q", pairs.ess_q, n_q)):
        median = float(np.nanmedian(ess)) if np.isfinite(ess).any() else np.nan
        if median / n >= FLAT_SHARE:
            yield (
                f"nearly flat likelihood on the {side} side: the effective sample size is {median / n:.1%} of the "
                f"prior rows, so y_{side} hardly changes the prior; use smaller noise or longer windows"
            )
        single = int(np.count_nonzero(ess < SINGLE_ROW_ESS))
        if single:
            yield (
                f"one row of prior_{side} has nearly all the weight for {single} of {count} pairs, so the posterior is "
                "a single row; use more prior samples, larger noise, or shorter windows"
            )
        elif median < k:
            yield (
                f"the median effective sample size on the {side} side is {median:.3g}, below the {k} features: scores "
                "are mostly sampling noise of the prior; use more prior samples or fewer features"
            )
    outside = sum(status is Status.INFEASIBLE for status in pairs.status)
    if outside:
        yield (
            f"target outside the hull of the q features for {outside} of {count} pairs: no finite δ exists and the "
            f"score is infinite at radius {radius:g}; use a radius above {np.nanmax(pairs.minimal_radius):.4g} to give "
            "every pair a finite score"
        )
    unproven = sum(status in (Status.INACCURATE, Status.FAILED) for status in pairs.status)
    if unproven:
        yield f"no proof of optimality for {unproven} of {count} pairs; see status and gap"


def threshold_warning(background: Background, threshold: float, rate: float) -> Iterator[str]:
    """Warning about an infinite threshold, which no score can exceed."""
    if threshold == np.inf:
        share, needed = np.isposinf(background.scores).mean(), background.minimal_radius
        remedy = f"; use a radius above {needed:.4g} to make all background scores finite" if needed > 0.0 else ""
        yield (
            f"no alarm is possible at rate {rate:g}: the threshold is infinite because {share:.0%} of the background "
            f"scores are infinite{remedy}"
        )


def window_influence(score: Scorer, pairs: PairScores, Y_p: Array, Y_q: Array, side: str) -> float:
    """Typical change of the score when one side's windows are swapped, relative to the spread of the scores.

    Some pairs with finite scores get another pair's window on this side. Zero means that the window has no influence;
    nan that nothing can be said: too few finite scores, or all windows equal.
    """
    # not among pairs outside the hull: no y_q changes that, and each costs a search for the distance
    finite = np.flatnonzero(np.isfinite(pairs.scores))
    if len(finite) < 2:
        return np.nan
    own = finite[np.unique(np.linspace(0, len(finite) - 1, SWAPPED_PAIRS).astype(np.intp))]
    other = np.roll(own, len(own) // 2)
    windows = Y_q if side == "q" else Y_p
    if np.array_equal(windows[own], windows[other]):
        return np.nan
    index_p, index_q = (own, other) if side == "q" else (other, own)
    swapped = score(flatten(Y_p[index_p]), flatten(Y_q[index_q]), None)
    known = np.isfinite(swapped.scores)
    if np.count_nonzero(known) < 2:
        return np.nan
    before, after = pairs.scores[own][known], swapped.scores[known]
    change = float(np.median(np.abs(after - before)))
    spread = float(np.median(np.abs(before - np.median(before))))
    scale = max(spread, 1e-6 * float(np.abs(before).max()))
    return change / scale if scale > 0.0 else 0.0


def influence_warning(influence: float, side: str) -> Iterator[str]:
    """Warning about a window without influence on the score."""
    if influence <= NEGLIGIBLE_CHANGE:
        yield (
            f"swapping y_{side} with that of another pair changes the score by only {influence:.2%} of the scores' "
            f"spread: y_{side} has no influence on it"
        )
