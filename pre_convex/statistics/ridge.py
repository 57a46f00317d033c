"""Ridge fits that are fast enough to compare many feature maps: [RIDGE], a proxy for the certified fit that follows.

    [RIDGE]  minimise over θ    loss(Fθ) + ½ Σ_i λ_i θ_i²

The loss is that of the estimator: the Kullback–Leibler loss of [P], or the logistic loss. Each part of the features has
its own λ. Scaled by √(λ of the first part / λ of its own part), the features have one λ, and then the minimiser is also
that of loss + R‖δ‖₂ for R = λ‖δ‖₂: so separate penalties of the parts become one radius of an ordinary problem.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import expit

from .._internal.typing import Array

__all__ = ["KullbackLeibler", "Logistic", "Loss", "Sample", "ridge", "standardisation"]

#: Newton steps of one fit, and halvings of one step
MAX_STEPS, MAX_HALVINGS = 60, 30
#: share of the squared decrement that a step with an old Hessian may leave before a new one is computed
SLOW = 0.2


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows of both samples, p first, with their weights.

    Attributes
    ----------
    x : ndarray of shape (n, d)
        Rows.
    is_p : ndarray of bool, shape (n,)
        Whether a row belongs to the p sample.
    weight : ndarray of shape (n,)
        Weights, zero for rows that are left out; for the Kullback–Leibler loss they sum to one on each side.
    offset : ndarray of shape (n,)
        Known part of the score η, added to α + ⟨θ, f(x)⟩ by the logistic loss.
    """

    x: Array
    is_p: Any
    weight: Array
    offset: Array

    def held_out(self, eta: Array) -> Array:
        """Logistic loss of every row, times its weight: a proper score, whatever the fit has minimised."""
        return np.asarray(self.weight * np.logaddexp(0.0, np.where(self.is_p, -eta, eta)))

    def restricted(self, used: Any) -> Array:
        """Weights of some of the rows, with the same sum on each side."""
        weight = np.where(used, self.weight, 0.0)
        for side in (self.is_p, ~self.is_p):
            weight[side] *= self.weight[side].sum() / (weight[side].sum() or 1.0)
        return weight


def standardisation(x: Array, weight: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of the columns over both sides; one for a constant column."""
    w = weight / weight.sum()
    centre = w @ x
    size = np.abs(x - centre).max(axis=0)
    unit = np.where(size > 0.0, size, 1.0)
    spread = unit * np.sqrt(w @ np.square((x - centre) / unit))
    return centre, np.where(spread > 1e-13 * np.abs(x).max(axis=0), spread, 1.0)


class At(NamedTuple):
    """The loss at θ, its derivative by η = Fθ, and what the Hessian needs."""

    value: float
    slope: Array
    curvature: Array


class Loss(ABC):
    """A loss of η on weighted rows; ``columns`` are added to the features in front, without a penalty."""

    columns: int = 0

    def __init__(self, F: Array, sample: Sample) -> None:
        self.F = np.hstack((np.ones((len(F), self.columns)), F)) if self.columns else F
        self.sample = sample

    @abstractmethod
    def at(self, theta: Array, weight: Array) -> At:
        """Value and derivatives."""

    @abstractmethod
    def hessian(self, at: At) -> Array:
        """Second derivative by θ."""

    @abstractmethod
    def log_ratio(self, theta: Array, weight: Array) -> Array:
        """Log r of every row, offset included, for a fit to rows of these weights."""

    def gradient(self, at: At) -> Array:
        """Derivative by θ."""
        return np.asarray(at.slope @ self.F)


class KullbackLeibler(Loss):
    """−⟨b,θ⟩ + log Σ_j π_j exp⟨θ,F_j⟩, the loss of [P]."""

    def __init__(self, F: Array, sample: Sample) -> None:
        super().__init__(F, sample)
        self.first_q = int(sample.is_p.sum())

    def at(self, theta: Array, weight: Array) -> At:
        """Value and derivatives; the curvature of the q rows is μ."""
        eta, n = self.F @ theta, self.first_q
        top = float(eta[n:].max())
        mu = weight[n:] * np.exp(eta[n:] - top)
        total = float(mu.sum())
        mu /= total
        value = np.log(total) + top - float(weight[:n] @ eta[:n])
        return At(value, np.concatenate([-weight[:n], mu]), mu)

    def hessian(self, at: At) -> Array:
        """Covariance of the q features under μ."""
        rows = self.F[self.first_q :]
        mean = at.curvature @ rows
        root = np.sqrt(at.curvature)[:, None] * rows
        return np.asarray(root.T @ root - np.outer(mean, mean))

    def log_ratio(self, theta: Array, weight: Array) -> Array:
        """⟨θ,f⟩ − log Z."""
        eta, n = self.F @ theta, self.first_q
        top = float(eta[n:].max())
        return np.asarray(eta - top - np.log(weight[n:] @ np.exp(eta[n:] - top)))


class Logistic(Loss):
    """Σ_p w log(1 + e^−η) + Σ_q π log(1 + e^η) with an intercept: logistic regression of p against q."""

    columns = 1

    def at(self, theta: Array, weight: Array) -> At:
        """Value and derivatives."""
        eta, is_p = self.log_ratio(theta, weight), self.sample.is_p
        value = float(weight @ np.logaddexp(0.0, np.where(is_p, -eta, eta)))
        share = expit(eta)
        return At(value, weight * np.where(is_p, share - 1.0, share), weight * share * (1.0 - share))

    def hessian(self, at: At) -> Array:
        """F' diag(curvature) F."""
        used = at.curvature > 0.0
        root = np.sqrt(at.curvature[used])[:, None] * self.F[used]
        return np.asarray(root.T @ root)

    def log_ratio(self, theta: Array, weight: Array) -> Array:
        """Offset + α + ⟨θ,f⟩."""
        return np.asarray(self.F @ theta + self.sample.offset)


def ridge(
    loss: Loss, weight: Array, penalty: Array, theta: Array, H: Array | None, tol: float
) -> tuple[Array, Array | None]:
    """Minimiser of [RIDGE] by Newton's method, with the Hessian of an earlier fit while that is good enough.

    Parameters
    ----------
    loss : Loss
        The loss, whose features have k columns, its own included.
    weight : ndarray of shape (n,)
        Weights of the rows; zero leaves a row out.
    penalty : ndarray of shape (k,)
        λ_i.
    theta : ndarray of shape (k,)
        Start.
    H : ndarray of shape (k, k), optional
        Hessian of the loss at a point nearby.
    tol : float
        Squared decrement at which the fit ends.

    Returns
    -------
    theta : ndarray of shape (k,)
    H : ndarray of shape (k, k)
        The last Hessian.
    """
    point = loss.at(theta, weight)
    value = point.value + 0.5 * float(penalty @ theta**2)
    last, fresh = np.inf, False
    for _ in range(MAX_STEPS):
        if H is None:
            H, fresh, last = loss.hessian(point), True, np.inf
        gradient = loss.gradient(point) + penalty * theta
        small = 1e-12 * max(float(np.trace(H)), 1e-300)
        try:
            step = -cho_solve(
                cho_factor(H + np.diag(penalty + small), check_finite=False), gradient, check_finite=False
            )
        except LinAlgError:
            break
        decrement = -float(gradient @ step)
        if not np.isfinite(decrement) or decrement <= tol:
            break
        if not fresh and decrement > SLOW * last:
            H = None
            continue
        t = 1.0
        for _ in range(MAX_HALVINGS):
            trial = loss.at(theta + t * step, weight)
            now = trial.value + 0.5 * float(penalty @ (theta + t * step) ** 2)
            if now <= value - 1e-4 * t * decrement:
                break
            t *= 0.5
        else:
            if fresh:
                break
            H = None
            continue
        theta, point, value, last = theta + t * step, trial, now, decrement
        if t < 1.0 or (fresh and decrement > 1.0):
            H = None
        fresh = False
    return theta, H
