"""Autoregressive models of many windows by exact Gaussian maximum likelihood.

A stationary AR(p) model is parametrised by its partial autocorrelations r_m in (−1, 1), of which the coefficients
follow by Durbin and Levinson's recursion. With β = (1, −φ₁, …, −φ_p) and D_ij = Σ_t y_{t+i} y_{t+j} over
t = 1 … n − i − j, the exact likelihood of a window of n points, its variance maximised out, is

    −2 log L = n log β'Dβ − Σ_m m log(1 − r_m²) + constant.

The first points of the window have their part in it; conditional least squares would throw p of them away, which is
two fifths of a window of 50 at p = 20.
"""

from __future__ import annotations

import numpy as np

from ...entropy import Array, Index, log
from .baselines import need_points
from .posteriors import Priors
from .ratio import Found, Options, Scorer

__all__ = ["ar_coefficients", "autoregression"]

#: steps at most, and the gradient to reach, for each point of the window
STEPS, SHARP = 500, 1e-7
#: partial autocorrelations stay below tanh of this
FARTHEST = 8.0


def autoregression(priors: Priors, options: Options) -> Scorer:
    """Distance between the coefficients of AR(order) models fitted to both windows, channel by channel."""
    need_points(priors.shape, 2 * options.order + 1, "coefficients")

    def score(Y_p: Array, Y_q: Array, left_out: Index | None = None) -> Found:
        square = np.zeros(len(Y_p))
        for y_p, y_q in zip(priors.shape.by_channel(Y_p), priors.shape.by_channel(Y_q), strict=True):
            both = ar_coefficients(np.concatenate([y_p, y_q]), options.order)
            square += np.square(both[: len(y_p)] - both[len(y_p) :]).sum(axis=1)
        return Found.plain(np.sqrt(square))

    return score


def ar_coefficients(y: Array, order: int) -> Array:
    """Coefficients φ of every row less its mean, shape (rows, order); zeros for a constant row.

    Examples
    --------
    >>> t = np.arange(400)
    >>> y = np.cos(0.5 * t) + 0.1 * np.random.default_rng(0).normal(size=400)
    >>> ar_coefficients(y[None], 2).round(1)
    array([[ 1.6, -0.8]])
    """
    centred = y - y.mean(axis=1, keepdims=True)
    size = np.square(centred).mean(axis=1)
    alive = np.flatnonzero(size > 1e-24 * np.square(y).mean(axis=1))
    phi = np.zeros((len(y), order))
    if alive.size:
        scaled = centred[alive] / np.sqrt(size[alive])[:, None]
        phi[alive] = _coefficients(np.tanh(_maximise(_products(scaled, order), y.shape[1], _start(scaled, order))))[-1]
    return phi


def _products(y: Array, p: int) -> Array:
    """D of every row, shape (rows, p + 1, p + 1)."""
    n = y.shape[1]
    D = np.empty((len(y), p + 1, p + 1))
    for i in range(p + 1):
        for j in range(i, p + 1):
            D[:, i, j] = D[:, j, i] = np.einsum("wt,wt->w", y[:, i : n - j], y[:, j : n - i])
    return D


def _start(y: Array, p: int) -> Array:
    """Inverse tanh of the sample's partial autocorrelations, which are always those of a stationary model."""
    n = y.shape[1]
    c = np.stack([np.einsum("wt,wt->w", y[:, : n - lag], y[:, lag:]) / n for lag in range(p + 1)], axis=1)
    r, phi, variance = np.empty((len(y), p)), np.empty((len(y), 0)), c[:, 0].copy()
    for m in range(p):
        r[:, m] = np.clip((c[:, m + 1] - np.einsum("wi,wi->w", phi, c[:, m:0:-1])) / variance, -0.99, 0.99)
        phi = _next(phi, r[:, m])
        variance *= 1.0 - r[:, m] ** 2
    return np.arctanh(r)


def _next(phi: Array, r: Array) -> Array:
    """Coefficients of one order more: φ_j − r φ_{m−j}, and r."""
    return np.column_stack([phi - r[:, None] * phi[:, ::-1], r])


def _coefficients(r: Array) -> list[Array]:
    """Coefficients of all orders 0 … p."""
    found = [np.empty((len(r), 0))]
    for m in range(r.shape[1]):
        found.append(_next(found[-1], r[:, m]))
    return found


def _loss(u: Array, D: Array, n: int) -> tuple[Array, Array]:
    """−2 log L at r = tanh u, and its gradient by the recursion run backwards."""
    r = np.tanh(u)
    orders = _coefficients(r)
    beta = np.concatenate([np.ones((len(u), 1)), -orders[-1]], axis=1)
    along = np.einsum("wij,wj->wi", D, beta)
    # a window that its past foretells leaves nothing but round-off
    S = np.maximum(np.einsum("wi,wi->w", beta, along), 1e-14 * D[:, 0, 0])
    shrink = 1.0 - r**2
    m = np.arange(1, u.shape[1] + 1)
    value = n * log(S) - log(shrink) @ m
    back = -2.0 * n * along[:, 1:] / S[:, None]
    gradient = np.empty_like(u)
    for k in range(u.shape[1] - 1, -1, -1):
        lower, top = back[:, :k], back[:, k]
        gradient[:, k] = top - np.einsum("wi,wi->w", lower, orders[k][:, ::-1])
        back = lower - r[:, k, None] * lower[:, ::-1]
    return value, gradient * shrink + 2.0 * m * r


def _maximise(D: Array, n: int, u: Array) -> Array:
    """BFGS with backtracking, all rows in step; a row that is done rests."""
    W, p = u.shape
    u = u.copy()
    value, gradient = _loss(u, D, n)
    inverse = np.broadcast_to(np.eye(p) / n, (W, p, p)).copy()
    going = np.arange(W)
    for _ in range(STEPS):
        going = going[np.abs(gradient[going]).max(axis=1) > SHARP * n]
        if not going.size:
            break
        direction = -np.einsum("wij,wj->wi", inverse[going], gradient[going])
        slope = np.einsum("wi,wi->w", direction, gradient[going])
        length = np.minimum(1.0, 2.0 / np.maximum(np.abs(direction).max(axis=1), 1e-300))
        step, after, above = _backtrack(D, n, u, value, going, direction, slope, length)
        change = above - gradient[going]
        u[going] += step
        value[going], gradient[going] = after, above
        inverse[going] = _updated(inverse[going], step, change)
        stuck = ~np.any(step != 0.0, axis=1)
        going = going[~stuck]
    return u


def _backtrack(
    D: Array, n: int, u: Array, value: Array, going: Index, direction: Array, slope: Array, length: Array
) -> tuple[Array, Array, Array]:
    """Steps that lower the loss enough, with value and gradient there; none where halving does not help."""
    step, after, above = np.zeros_like(direction), value[going].copy(), np.zeros_like(direction)
    open_ = np.arange(going.size)
    for _ in range(40):
        rows = going[open_]
        to = np.clip(u[rows] + length[open_, None] * direction[open_], -FARTHEST, FARTHEST)
        found, gradient = _loss(to, D[rows], n)
        enough = found <= value[rows] + 1e-4 * length[open_] * slope[open_]
        done = open_[enough]
        step[done], after[done], above[done] = (to - u[rows])[enough], found[enough], gradient[enough]
        open_ = open_[~enough]
        if not open_.size:
            break
        length[open_] *= 0.5
    return step, after, above


def _updated(H: Array, s: Array, y: Array) -> Array:
    """BFGS's inverse Hessians; those without positive curvature along their step stay."""
    sy = np.einsum("wi,wi->w", s, y)
    good = sy > 1e-14
    rho = np.where(good, 1.0, 0.0) / np.where(good, sy, 1.0)
    Hy = np.einsum("wij,wj->wi", H, y)
    yHy = np.einsum("wi,wi->w", y, Hy)
    cross = s[:, :, None] * Hy[:, None, :]
    new = H - rho[:, None, None] * (cross + np.swapaxes(cross, 1, 2))
    new += (rho * (1.0 + rho * yHy))[:, None, None] * (s[:, :, None] * s[:, None, :])
    return np.where(good[:, None, None], new, H)
