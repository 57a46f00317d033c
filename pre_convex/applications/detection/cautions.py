"""Where a score cannot mean what its reader thinks."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...entropy import Array
from ...solution import Status
from .ratio import Found, Scorer
from .significance import Background
from .windows import flat

__all__ = ["DetectionWarning", "cautions", "influence", "no_alarm", "no_influence"]

#: share of the prior's rows from which a likelihood counts as flat
FLAT = 0.95
#: effective rows below which one row decides
ALONE = 1.5
#: pairs that are scored again with another window, and the share of the scores' spread that counts as no change
SWAPPED, UNCHANGED = 16, 0.01


class DetectionWarning(UserWarning):
    """A score that may not mean what it seems to."""


def cautions(found: Found, n_p: int, n_q: int, radius: float) -> Iterator[str]:
    """Sentences about flat likelihoods, single rows with all the weight, and targets outside the hull."""
    for side, ess, n in (("p", found.ess_p, n_p), ("q", found.ess_q, n_q)):
        share = np.nanmedian(ess) / n if np.isfinite(ess).any() else np.nan
        if share >= FLAT:
            yield (
                f"nearly flat likelihood on the {side} side: the effective sample size is {share:.1%} of the prior's "
                f"rows, so that y_{side} hardly changes the prior; is the noise too large?"
            )
        few, k = int(np.count_nonzero(ess < ALONE)), found.delta.shape[1]
        if few:
            yield (
                f"one row of prior_{side} holds nearly all the weight for {_of(few, len(ess))}, so that the posterior "
                "is that row; more prior samples, larger noise, or shorter windows help"
            )
        elif np.isfinite(ess).any() and np.nanmedian(ess) < k:
            yield (
                f"the effective sample size on the {side} side is {np.nanmedian(ess):.3g} in the median pair, below "
                f"the {k} features: scores are mostly noise of the prior sample; more prior samples or fewer features "
                "help"
            )
    outside = int(np.count_nonzero([status is Status.INFEASIBLE for status in found.status]))
    if outside:
        needed = np.nanmax(found.minimal_radius)
        yield (
            f"target outside the hull of the q features for {_of(outside, len(found.status))}: no finite δ exists and "
            f"the score is infinite at radius {radius:g}; a radius above {needed:.4g} gives every pair a score"
        )
    unproven = int(np.count_nonzero([status in (Status.INACCURATE, Status.FAILED) for status in found.status]))
    if unproven:
        yield f"no proof of optimality for {_of(unproven, len(found.status))}; see status and gap"


def no_alarm(background: Background, threshold: float, rate: float) -> Iterator[str]:
    """A sentence where background itself is so often infinite that nothing can lie above the threshold."""
    if threshold == np.inf:
        share, needed = np.isposinf(background.scores).mean(), background.minimal_radius
        cure = f"; a radius above {needed:.4g} gives every background pair a score" if needed > 0.0 else ""
        yield (
            f"no alarm is possible at rate {rate:g}: the threshold is infinite, because {share:.0%} of the background "
            f"pairs have an infinite score themselves{cure}"
        )


def influence(score: Scorer, found: Found, Y_p: Array, Y_q: Array, side: str) -> float:
    """Typical change of the score when one side's windows are exchanged, as a share of the scores' spread.

    Some pairs with finite scores get the window of another of them on this side. Zero says that the window has no
    influence; nan that nothing can be said, because there are too few finite scores or the windows are all the same.
    """
    # a target outside the hull would be so with any y_q, and costs a search of its own
    known = np.flatnonzero(np.isfinite(found.scores))
    if len(known) < 2:
        return np.nan
    some = known[np.unique(np.linspace(0, len(known) - 1, SWAPPED).astype(np.intp))]
    other = np.roll(some, len(some) // 2)
    windows = Y_q if side == "q" else Y_p
    if np.array_equal(windows[some], windows[other]):
        return np.nan
    to_p, to_q = (some, other) if side == "q" else (other, some)
    swapped = score(flat(Y_p[to_p]), flat(Y_q[to_q]), None)
    finite = np.isfinite(found.scores[some]) & np.isfinite(swapped.scores)
    if np.count_nonzero(finite) < 2:
        return np.nan
    before, after = found.scores[some][finite], swapped.scores[finite]
    change = float(np.median(np.abs(after - before)))
    spread = float(np.median(np.abs(before - np.median(before))))
    level = max(spread, 1e-6 * float(np.abs(before).max()))
    return change / level if level > 0.0 else 0.0


def no_influence(share: float, side: str) -> Iterator[str]:
    """A sentence where an exchanged window changes nothing."""
    if share <= UNCHANGED:
        yield (
            f"the score does not change when y_{side} is swapped for that of another pair (by {share:.2%} of the "
            f"scores' spread): y_{side} has no influence on it"
        )


def _of(some: int, total: int) -> str:
    return f"{some} of {total} pairs"
