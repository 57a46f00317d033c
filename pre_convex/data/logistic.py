"""Passes for logistic regression with offsets: the pooled rows of both samples as rows of the convex family.

With t_i = 1 for p rows and 0 for q rows, scores η_i = c + ⟨δ, f_i − b⟩ + o_i and u_i = 1/(1 + e^{−η_i}), the loss
Σ_i π_i [log(1 + e^{η_i}) − t_i η_i] has the gradient Σ_i π_i (u_i − t_i) [1, f_i − b] and the Hessian
Σ_i π_i u_i (1 − u_i) [1, f_i − b][1, f_i − b]'. So it is one more link of :mod:`~pre_convex.data.linked`, whose weights
π_i (u_i − t_i) have signs and sum to zero instead of one. On p rows u_i − 1 is computed as −1/(1 + e^{η_i}), which
keeps its digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._internal.linear_algebra import EPS
from .._internal.root import increasing_root
from .._internal.typing import Array
from ..divergences import Divergence, get_divergence
from .linked import LinkedRows, linked_scores
from .requests import ALL, Draw, Height, Level
from .rows import Rows

__all__ = ["LogisticLink", "LogisticRows", "logistic_loss", "signed_margins"]


def logistic_loss(eta: Array, positive: NDArray[np.bool_]) -> Array:
    """log(1 + exp(−η)) of the positive rows and log(1 + exp(η)) of the others, without overflow.

    Examples
    --------
    >>> logistic_loss(np.array([800.0, 800.0]), np.array([True, False]))
    array([  0., 800.])
    """
    return np.asarray(np.logaddexp(0.0, np.where(positive, -eta, eta)))


@dataclass(frozen=True, eq=False)
class LogisticLink:
    """Which rows are p rows, and the offsets of their scores; the counterpart of a divergence with its bounds.

    Parameters
    ----------
    positive : ndarray of bool, shape (n,)
        Whether a row is of the p sample: t_i.
    offset : ndarray of shape (n,)
        o_i.
    """

    positive: NDArray[np.bool_]
    offset: Array
    #: what the weights sum to
    mass: float = 0.0
    per_row = True
    upper = 1.0

    @property
    def divergence(self) -> Divergence:
        """A divergence whose curvature grows as that of the binary entropy may, by a factor of at most 1/(1 − x)."""
        return get_divergence("kl")

    def take(self, index: Any) -> LogisticLink:
        """The link of some rows."""
        return LogisticLink(self.positive[index], self.offset[index], self.mass)

    def ratio(self, s: Array) -> Array:
        """u − t of every row."""
        eta = s + self.offset
        u: Array = np.where(self.positive, -expit(-eta), expit(eta))
        return u

    def conjugate(self, s: Array) -> Array:
        """Loss of every row."""
        return logistic_loss(s + self.offset, self.positive)

    def curvature(self, s: Array) -> Array:
        """u (1 − u) of every row."""
        eta = s + self.offset
        return np.asarray(expit(eta) * expit(-eta))

    def width(self, t: Array) -> Array:
        """u (1 − u) from u − t."""
        size = np.abs(t)
        return np.asarray(size * (1.0 - size))

    def room(self, t: Array, accuracy: float = 0.0) -> Array:
        """Curvature of a lift: at most u (1 − u) of every u that u − t may stand for, if scores have this accuracy."""
        width = self.width(t)
        error = accuracy + 2.0 * EPS * np.abs(self.offset)
        return np.maximum((0.99 - 4.0 * error) * width - 16.0 * EPS * np.abs(t), 0.0)

    def intercept(self, z: Array, pi: Array, guess: float = 0.0, tol: float = 2.0 * EPS) -> float:
        """The c at which the weighted sum of u − t is zero, or at most ``tol``: Newton within a bracket."""

        def excess(c: float) -> tuple[float, float]:
            return float(pi @ self.ratio(c + z)), float(pi @ self.curvature(c + z))

        return increasing_root(excess, guess, tol)


def signed_margins(rows: Rows, link: LogisticLink, theta: Array) -> Array:
    """c + ⟨δ, f_i − b⟩ of p rows and its negative of q rows, without offsets; all positive if θ separates them."""
    s = linked_scores(rows, theta)[0]
    return np.where(link.positive, s, -s)


class LogisticRows(LinkedRows):
    """Answers the requests of one logistic regression.

    Parameters
    ----------
    rows : Rows
        The pooled rows.
    link : LogisticLink
        Labels and offsets of these rows.
    """

    link: LogisticLink  # type: ignore[assignment]

    def __init__(self, rows: Rows, link: LogisticLink) -> None:
        super().__init__(rows, link)  # type: ignore[arg-type]
        self.links = [link]

    def _answer(self, request: Any) -> Any:
        self.link = self.links[getattr(request, "level", ALL)]
        if isinstance(request, Height):  # θ separates if its lowest margin is positive
            return -float(signed_margins(self.rows[request.level], self.link, request.direction).min())
        return super()._answer(request)

    def _draw(self, request: Draw) -> Level:
        """A new level with equal shares of both sides, as far as they have rows; the rarer rows count most."""
        rows, link = self.rows[request.source], self.links[request.source]
        probability = np.empty(rows.shape[0])
        for side in (link.positive, ~link.positive):
            probability[side] = min(1.0, 0.5 * request.size / max(int(side.sum()), 1))
        drawn = np.random.default_rng(0).random(probability.size) < probability
        index = np.flatnonzero(drawn)
        some = rows.take(index)
        self.rows.append(some)
        self.weighted.append(some.with_log_base(some.log_base - np.log(probability[index])))
        self.links.append(link.take(index))
        return Level(len(self.rows) - 1, index.size)
