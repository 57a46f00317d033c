"""Plain logistic regression with offsets, row weights and a ridge: damped Newton in memory, without a certificate.

It is for inner loops such as the choice of features; the solver of ``LogisticRatio`` is the one
that proves its answers.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._internal.linear_algebra import solve_psd
from .._internal.typing import Array
from ..data.logistic import LogisticLink, logistic_loss

__all__ = ["LogisticRegression", "logistic_loss", "logistic_regression"]

#: halvings of a step, and the share of the expected decrease that a step has to reach
MAX_HALVINGS, ENOUGH = 30, 1e-4


class LogisticRegression(NamedTuple):
    """A fitted logistic regression.

    Attributes
    ----------
    intercept : float
        α.
    coefficients : ndarray of shape (k,)
        δ.
    loss : float
        The objective: weighted sum of losses plus the ridge.
    steps : int
        Newton steps.
    converged : bool
        Whether the last step was short enough. Without a ridge, separable data have no minimiser and do not converge.
    """

    intercept: float
    coefficients: Array
    loss: float
    steps: int
    converged: bool

    def score(self, features: Array, offset: Any = 0.0) -> Array:
        """η = α + ⟨δ, f⟩ + offset of every row."""
        return np.asarray(features @ self.coefficients + self.intercept + offset)


def logistic_regression(
    features: Array,
    positive: NDArray[np.bool_],
    *,
    offset: Any = 0.0,
    weights: Any = 1.0,
    ridge: Any = 0.0,
    start: LogisticRegression | None = None,
    tol: float = 1e-9,
    max_steps: int = 50,
) -> LogisticRegression:
    """Minimise Σ_i v_i log(1 + exp(∓η_i)) + ½ Σ_l ridge_l δ_l² over (α, δ), with η_i = α + ⟨δ, f_i⟩ + offset_i.

    Parameters
    ----------
    features : ndarray of shape (n, k)
        f_i; columns of similar size keep the ridge meaningful.
    positive : ndarray of bool, shape (n,)
        Rows of the p side.
    offset : float or ndarray of shape (n,), default 0.0
        Known part of η.
    weights : float or ndarray of shape (n,), default 1.0
        v_i ≥ 0.
    ridge : float or ndarray of shape (k,), default 0.0
        Ridge of the coefficients; the intercept has none.
    start : LogisticRegression, optional
        Where to start, such as the fit for a neighbouring ridge.
    tol : float, default 1e-9
        Squared Newton decrement at which to stop, relative to the sum of the weights.
    max_steps : int, default 50
        Maximum number of Newton steps.

    Returns
    -------
    LogisticRegression

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = np.concatenate([rng.normal(0.5, 1.0, (500, 1)), rng.normal(0.0, 1.0, (500, 1))])
    >>> fit = logistic_regression(x, np.arange(1000) < 500)
    >>> fit.converged, fit.coefficients.round(2)
    (True, array([0.57]))
    """
    n, k = features.shape
    positive = np.asarray(positive, dtype=bool)
    v, o = np.broadcast_to(np.asarray(weights, dtype=float), n), np.broadcast_to(np.asarray(offset, dtype=float), n)
    total = float(v.sum())
    penalty = np.append(0.0, np.broadcast_to(np.asarray(ridge, dtype=float), k))
    if start is None:
        start = LogisticRegression(_balance(positive, o, v / total), np.zeros(k), np.nan, 0, False)
    theta = np.append(start.intercept, start.coefficients)
    centre = v @ features / total  # so that the intercept is nearly independent of the coefficients
    F = features - centre
    theta[0] += float(centre @ theta[1:])

    def at(theta: Array) -> tuple[Array, float]:
        eta = F @ theta[1:] + theta[0] + o
        return eta, float(v @ logistic_loss(eta, positive) + 0.5 * penalty @ np.square(theta))

    eta, loss = at(theta)
    steps, converged = 0, False
    while True:
        u = expit(eta)
        # of a p row u − 1 is computed as −expit(−η), which keeps its digits
        slope, curvature = v * np.where(positive, -expit(-eta), u), v * u * expit(-eta)
        gradient = np.append(slope.sum(), slope @ F) + penalty * theta
        H = np.empty((k + 1, k + 1))
        H[0, 0], H[0, 1:] = curvature.sum(), curvature @ F
        H[1:, 0] = H[0, 1:]
        H[1:, 1:] = (F * curvature[:, None]).T @ F
        H += np.diag(penalty)
        d = -solve_psd(H, gradient)
        decrement = -float(gradient @ d)
        converged = 0.0 <= decrement <= tol * total and bool(np.all(np.isfinite(d)))
        if converged or steps == max_steps or not np.isfinite(decrement):
            break
        for halving in range(MAX_HALVINGS):
            step = 0.5**halving
            new_eta, new_loss = at(theta + step * d)
            if new_loss <= loss - ENOUGH * step * decrement:
                break
        else:
            break
        theta, eta, loss, steps = theta + step * d, new_eta, new_loss, steps + 1
    if converged and loss <= tol * total:  # complete separation: the loss tends to zero, and so does the decrement
        converged = False
    return LogisticRegression(float(theta[0] - centre @ theta[1:]), theta[1:], loss, steps, converged)


def _balance(positive: NDArray[np.bool_], offset: Array, weights: Array) -> float:
    """Intercept at which the sides about balance without features; offsets may be far from zero."""
    return LogisticLink(positive, offset).intercept(np.zeros(len(offset)), weights, -float(np.median(offset)), 1e-2)
