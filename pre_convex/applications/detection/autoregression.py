"""Autoregressive models of many windows by exact Gaussian maximum likelihood.

A stationary AR(p) model is parametrised by its partial autocorrelations r_m in (−1, 1), from which the Durbin–Levinson
recursion gives the coefficients. With β = (1, −φ₁, …, −φ_p) and D_ij = Σ_t y_{t+i} y_{t+j} over t = 1 … n − i − j, the
exact likelihood of a window of n points, profiled over the variance, is

    −2 log L = n log β'Dβ − Σ_m m log(1 − r_m²) + constant.

Conditional least squares would drop the first p points of a window: two fifths of a window of 50 at p = 20.
"""

from __future__ import annotations

import numpy as np

from ..._internal.entropy import safe_log
from ..._internal.typing import Array, Index

__all__ = ["ar_coefficients"]

#: maximum number of iterations, and gradient tolerance per point of the window
MAX_ITERATIONS, GRADIENT_TOL = 500, 1e-7
#: bound on |arctanh r|, which keeps partial autocorrelations inside (−1, 1)
MAX_ARCTANH = 8.0


def ar_coefficients(y: Array, order: int) -> Array:
    """AR coefficients φ of every row after centring, shape (rows, order); zeros for a constant row.

    Parameters
    ----------
    y : ndarray of shape (rows, window)
        Windows, one to a row.
    order : int
        Order p of the model, below half the window.

    Examples
    --------
    >>> t = np.arange(400)
    >>> y = np.cos(0.5 * t) + 0.1 * np.random.default_rng(0).normal(size=400)
    >>> ar_coefficients(y[None], 2).round(1)
    array([[ 1.6, -0.8]])
    """
    centred = y - y.mean(axis=1, keepdims=True)
    variance = np.square(centred).mean(axis=1)
    varying = np.flatnonzero(variance > 1e-24 * np.square(y).mean(axis=1))
    phi = np.zeros((len(y), order))
    if varying.size:
        scaled = centred[varying] / np.sqrt(variance[varying])[:, None]
        best = _minimise(_products(scaled, order), y.shape[1], _initial(scaled, order))
        phi[varying] = _coefficients(np.tanh(best))[-1]
    return phi


def _products(y: Array, p: int) -> Array:
    """The matrix D of every row, shape (rows, p + 1, p + 1)."""
    n = y.shape[1]
    D = np.empty((len(y), p + 1, p + 1))
    for i in range(p + 1):
        for j in range(i, p + 1):
            D[:, i, j] = D[:, j, i] = np.einsum("wt,wt->w", y[:, i : n - j], y[:, j : n - i])
    return D


def _initial(y: Array, p: int) -> Array:
    """Initial u = arctanh r from the sample's partial autocorrelations, which always give a stationary model."""
    n = y.shape[1]
    c = np.stack([np.einsum("wt,wt->w", y[:, : n - lag], y[:, lag:]) / n for lag in range(p + 1)], axis=1)
    r, phi, variance = np.empty((len(y), p)), np.empty((len(y), 0)), c[:, 0].copy()
    for m in range(p):
        r[:, m] = np.clip((c[:, m + 1] - np.einsum("wi,wi->w", phi, c[:, m:0:-1])) / variance, -0.99, 0.99)
        phi = _raise_order(phi, r[:, m])
        variance *= 1.0 - r[:, m] ** 2
    return np.arctanh(r)


def _raise_order(phi: Array, r: Array) -> Array:
    """Coefficients of the next order: φ_j − r φ_{m−j}, and r."""
    return np.column_stack([phi - r[:, None] * phi[:, ::-1], r])


def _coefficients(r: Array) -> list[Array]:
    """Coefficients of all orders 0 … p, by the Durbin–Levinson recursion."""
    orders = [np.empty((len(r), 0))]
    for m in range(r.shape[1]):
        orders.append(_raise_order(orders[-1], r[:, m]))
    return orders


def _loss(u: Array, D: Array, n: int) -> tuple[Array, Array]:
    """−2 log L at r = tanh u, and its gradient by running the recursion backwards."""
    r = np.tanh(u)
    orders = _coefficients(r)
    beta = np.concatenate([np.ones((len(u), 1)), -orders[-1]], axis=1)
    D_beta = np.einsum("wij,wj->wi", D, beta)
    # for a window that its past predicts exactly, β'Dβ is round-off and may be negative
    S = np.maximum(np.einsum("wi,wi->w", beta, D_beta), 1e-14 * D[:, 0, 0])
    shrink = 1.0 - r**2
    m = np.arange(1, u.shape[1] + 1)
    value = n * safe_log(S) - safe_log(shrink) @ m
    back = -2.0 * n * D_beta[:, 1:] / S[:, None]
    gradient = np.empty_like(u)
    for k in range(u.shape[1] - 1, -1, -1):
        lower, top = back[:, :k], back[:, k]
        gradient[:, k] = top - np.einsum("wi,wi->w", lower, orders[k][:, ::-1])
        back = lower - r[:, k, None] * lower[:, ::-1]
    return value, gradient * shrink + 2.0 * m * r


def _minimise(D: Array, n: int, u: Array) -> Array:
    """Minimise the loss by BFGS with backtracking, for all rows at once until each has converged."""
    W, p = u.shape
    u = u.copy()
    value, gradient = _loss(u, D, n)
    inverse = np.broadcast_to(np.eye(p) / n, (W, p, p)).copy()
    active = np.arange(W)
    for _ in range(MAX_ITERATIONS):
        active = active[np.abs(gradient[active]).max(axis=1) > GRADIENT_TOL * n]
        if not active.size:
            break
        direction = -np.einsum("wij,wj->wi", inverse[active], gradient[active])
        slope = np.einsum("wi,wi->w", direction, gradient[active])
        length = np.minimum(1.0, 2.0 / np.maximum(np.abs(direction).max(axis=1), 1e-300))
        step, new_value, new_gradient = _backtrack(D, n, u, value, active, direction, slope, length)
        change = new_gradient - gradient[active]
        u[active] += step
        value[active], gradient[active] = new_value, new_gradient
        inverse[active] = _bfgs_update(inverse[active], step, change)
        stuck = ~np.any(step != 0.0, axis=1)
        active = active[~stuck]
    return u


def _backtrack(
    D: Array, n: int, u: Array, value: Array, active: Index, direction: Array, slope: Array, length: Array
) -> tuple[Array, Array, Array]:
    """Steps that satisfy Armijo's condition, with the new values and gradients; zero steps where halving fails."""
    step, new_value, new_gradient = np.zeros_like(direction), value[active].copy(), np.zeros_like(direction)
    pending = np.arange(active.size)
    for _ in range(40):
        rows = active[pending]
        trial = np.clip(u[rows] + length[pending, None] * direction[pending], -MAX_ARCTANH, MAX_ARCTANH)
        trial_value, gradient = _loss(trial, D[rows], n)
        enough = trial_value <= value[rows] + 1e-4 * length[pending] * slope[pending]
        done = pending[enough]
        step[done] = (trial - u[rows])[enough]
        new_value[done], new_gradient[done] = trial_value[enough], gradient[enough]
        pending = pending[~enough]
        if not pending.size:
            break
        length[pending] *= 0.5
    return step, new_value, new_gradient


def _bfgs_update(H: Array, s: Array, y: Array) -> Array:
    """Update the inverse Hessians; keep those without positive curvature along the step."""
    sy = np.einsum("wi,wi->w", s, y)
    good = sy > 1e-14
    rho = np.where(good, 1.0, 0.0) / np.where(good, sy, 1.0)
    Hy = np.einsum("wij,wj->wi", H, y)
    yHy = np.einsum("wi,wi->w", y, Hy)
    cross = s[:, :, None] * Hy[:, None, :]
    new = H - rho[:, None, None] * (cross + np.swapaxes(cross, 1, 2))
    new += (rho * (1.0 + rho * yHy))[:, None, None] * (s[:, :, None] * s[:, None, :])
    return np.where(good[:, None, None], new, H)
