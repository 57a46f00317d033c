"""Confidence limits of single coefficients by tests of their values, with the other coefficients refitted.

For δ_i = t the others minimise ℓ; :func:`~pre_convex.solve_many` finds them, with t F_i added to the log base weights.
A limit is where the statistic of t has the quantile of Student's t: that of the score test [SCORE], or the signed root
of the rise of ℓ [RISE].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from .._internal.linear_algebra import solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from ..solvers.many import solve_many
from .influence import MIN_REMAINDER, Influence, odds
from .null import Null, at_null
from .small_samples import degrees_of_freedom
from .tilted import TiltedProblem

__all__ = ["CoefficientTest"]

#: tolerance of the refits, and of a limit as a fraction of the interval
TOL, PRECISION = 1e-10, 1e-5
#: evaluations of each limit, and largest half-width in multiples of the first guess, beyond which a limit is infinite
MAX_EVALUATIONS, MAX_GROWTH = 25, 1e3


@dataclass(frozen=True, eq=False)
class CoefficientTest:
    """Tests of values of one coefficient.

    Attributes
    ----------
    tilted : TiltedProblem
        The problem at its solution, with all rows in memory.
    influence : Influence
        Influences of kind ``"hc3"``.
    feature : int
        Which coefficient.
    score : bool
        Whether to use the score alone.
    """

    tilted: TiltedProblem
    influence: Influence
    feature: int
    score: bool

    @single_threaded_blas()
    def tests(self, values: Array) -> tuple[Array, Array]:
        """(z, df): signed statistics of some values, positive below the estimate, and degrees of freedom."""
        found = [self._test(null) for null in self._refits(values)]
        return np.array([z for z, _ in found]), np.array([df for _, df in found])

    def _refits(self, values: Array) -> list[Null | None]:
        """The problem at each value, with the other coefficients refitted; ``None`` if that failed."""
        problem, i = self.tilted.problem, self.feature
        others = np.delete(np.arange(problem.k), i)
        deltas = np.tile(self.tilted.delta, (len(values), 1))
        deltas[:, i] = values
        if not others.size:
            return [at_null(self.tilted, delta) for delta in deltas]
        f = problem.features_q - problem.target
        H = self.influence.H
        path = -solve_psd(H[np.ix_(others, others)], H[others, i])
        start = self.tilted.delta[others] + np.outer(values - self.tilted.delta[i], path)
        bases = problem.log_base + np.outer(values, f[:, i])
        refits = solve_many(f[:, others], np.zeros((len(values), others.size)), bases, tol=TOL, start=start)
        deltas[:, others] = refits.delta
        return [
            at_null(self.tilted, delta) if gap <= 1e-6 and not one.recession else None
            for delta, gap, one in zip(deltas, refits.gap, refits, strict=True)
        ]

    def _test(self, null: Null | None) -> tuple[float, float]:
        """(z, df) at one value."""
        if null is None:  # too far from the estimate for a refit
            return np.inf, np.inf
        i, influence = self.feature, self.influence
        assert influence.rows is not None  # they are of kind "hc3"
        rows, curvature = self._rows(null)
        variance = float(rows @ rows)
        if not min(variance, curvature) > 0.0:  # so far that one row has all the weight
            return np.inf, np.inf
        df = float(degrees_of_freedom(rows[:, None])[0])
        side = np.sign(self.tilted.delta[i] - null.delta[i])
        if self.score:
            return float(side * abs(null.score[i]) / np.sqrt(variance)), df
        inverse = solve_psd(influence.H, np.eye(len(influence.H))[i])
        here = influence.rows @ inverse
        there = variance / curvature
        size = np.sqrt(float(here @ here) / float(inverse[i]) * there)
        rise = 2.0 * max(null.log_z - self.tilted.value, 0.0)
        return float(side * np.sqrt(rise / size)), float(np.sqrt(df * degrees_of_freedom(here[:, None])[0]))

    def _rows(self, null: Null) -> tuple[Array, float]:
        """Changes of the slope when each row is left out and the others are refitted, and the curvature along."""
        problem, i = self.tilted.problem, self.feature
        assert problem.features_p is not None
        assert problem.log_weights_p is not None
        others, H, g = np.delete(np.arange(problem.k), i), null.hessian, null.centred
        inner = H[np.ix_(others, others)]
        along, inverse = np.zeros(problem.k), np.zeros((len(g), 0))
        along[i], rate = 1.0, odds(null.mu)
        if others.size:
            along[others], inverse = -solve_psd(inner, H[others, i]), solve_psd(inner, g[:, others].T).T
        leverage = rate * np.einsum("jk,jk->j", g[:, others], inverse)
        p = odds(np.exp(problem.log_weights_p))[:, None] * (problem.features_p - problem.target)
        if problem.paired:
            change = rate[:, None] * g - p
            pull = np.einsum("jk,jk->j", inverse, change[:, others])
            rows = change @ along + rate * pull / np.maximum(1.0 - leverage, MIN_REMAINDER) * (g @ along)
        else:
            rows = np.append(p @ along, rate * (g @ along) / np.maximum(1.0 - leverage, MIN_REMAINDER))
        return rows, float(along @ H @ along)

    def limits(self, level: float, guess: float) -> tuple[float, float, float, float]:
        """Lower and upper limit, and the statistic of the value zero with its degrees of freedom.

        Parameters
        ----------
        level : float
            Confidence level.
        guess : float
            Half the width of the interval, about.
        """
        centre = float(self.tilted.delta[self.feature])
        ends = [_Search(guess), _Search(guess)]
        zero = df_of_zero = np.nan
        for turn in range(MAX_EVALUATIONS):
            values = np.array([centre - ends[0].at, centre + ends[1].at, *([0.0] if turn == 0 else [])])
            z, df = self.tests(values)
            if turn == 0:
                zero, df_of_zero = float(z[2]), float(df[2])
            ratio = np.abs(z) / stdtrit(df, 0.5 + 0.5 * level)
            for end, r in zip(ends, ratio, strict=False):
                end.take(float(r), guess)
            if all(end.done for end in ends):
                break
        return centre - ends[0].at, centre + ends[1].at, zero, df_of_zero


class _Search:
    """Search for the distance at which a ratio that is 0 at distance 0 becomes 1: secants between known bounds."""

    def __init__(self, guess: float) -> None:
        self.at, self.done = guess, False
        self.last, self.low, self.high = (0.0, 0.0), 0.0, np.inf

    def take(self, ratio: float, guess: float) -> None:
        """Take the ratio at ``at`` and go on."""
        if self.done:
            return
        here, (before, r) = self.at, self.last
        if ratio < 1.0:
            self.low = here
        else:  # or there is no refit, so that this is too far
            self.high = here
        secant = here + (1.0 - ratio) * (here - before) / (ratio - r) if ratio != r else np.nan
        self.done = abs(ratio - 1.0) <= PRECISION or self.high - self.low <= PRECISION * self.low
        if self.done:
            return
        if np.isfinite(ratio):
            self.last = (here, ratio)
        if self.low < secant < min(self.high, 4.0 * here):
            self.at = secant
        else:
            self.at = 0.5 * (self.low + self.high) if np.isfinite(self.high) else 2.0 * here
        if self.at > MAX_GROWTH * guess:
            self.at, self.done = np.inf, True
