"""Damped Newton for many problems at once: each pass over the rows serves all problems that are not finished.

A pass evaluates one trial point of each problem. A problem whose value has decreased enough takes its next step, the
others try a shorter one; a problem that has converged, or makes no progress, leaves. Passes with covariances compute
the curvature; otherwise it is given, and gradients update it by secants (BFGS), as in
:mod:`pre_convex.solvers.newton`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf

from .._internal.entropy import safe_log
from .._internal.linear_algebra import EPS, solve_psd
from .._internal.typing import Array, Index
from ..errors import SolveError
from ..penalties import make_penalty
from ..penalties.ball import NEGLIGIBLE_GAP
from ..problem import RatioProblem
from .batch import Batch, outer
from .newton import LOW_VALUE, MAX_STEP

__all__ = ["BatchCertificate", "BatchNewton", "Penalties", "certify_batch", "pivots"]

#: maximum number of trial points of one step
MAX_TRIALS = 30


class Penalties:
    """Penalties R_w‖δ‖_* of all problems; those of equal radius share one penalty object."""

    def __init__(self, problem: RatioProblem, radius: Array) -> None:
        self.radius, self.norm = radius, problem.moment_norm
        self.terms = {R: make_penalty(problem.with_radius(R)) for R in np.unique(radius).tolist()}

    def value(self, delta: Array, ids: Index) -> Array:
        """R_w‖δ_w‖_*."""
        if not self.radius.any():
            return np.zeros(len(delta))
        return np.asarray(self.radius[ids] * np.linalg.norm(delta, self.norm.dual_order, axis=1))

    def step(self, delta: Array, gradient: Array, H: Array, ids: Index) -> Array:
        """Minimisers of the quadratic models plus penalties [STEP]; nan if there is none."""
        free = self.radius[ids] == 0.0
        x = np.full_like(delta, np.nan)
        x[free] = delta[free] - solve_all(H[free], gradient[free])
        rest = np.flatnonzero(~free & np.isfinite(H).all(axis=(1, 2)))
        if self.norm.order == 2.0 and rest.size:
            x[rest] = _secular(delta[rest], gradient[rest], H[rest], self.radius[ids[rest]])
            rest = rest[np.isnan(x[rest, 0])]
        for i in rest:
            try:
                x[i] = self.terms[float(self.radius[ids[i]])].step(delta[i], gradient[i], H[i])
            except SolveError:
                continue
        return x

    def trial_residuals(self, w: int, delta: Array, r: Array, H: Array) -> list[Array]:
        """Residuals r' to try in a certificate, the most promising first."""
        residuals: list[Array] = self.terms[float(self.radius[w])].trial_residuals(delta, r, H)  # type: ignore[attr-defined]
        return residuals


def solve_all(H: Array, rhs: Array) -> Array:
    """H_w⁻¹ rhs_w for each w; a small multiple of the identity keeps nearly singular H invertible."""
    k = H.shape[-1]
    s = np.sqrt(np.einsum("wii->wi", H))
    s[~(s > 0.0)] = 1.0
    C = H / s[:, :, None] / s[:, None, :]
    C[:, np.arange(k), np.arange(k)] += EPS * k
    try:
        return np.asarray(np.linalg.solve(C, (rhs / s)[:, :, None])[:, :, 0] / s)
    except np.linalg.LinAlgError:
        return np.array([solve_psd(h, x) if np.isfinite(h).all() else x * np.nan for h, x in zip(H, rhs, strict=True)])


def _secular(delta: Array, gradient: Array, H: Array, R: Array) -> Array:
    """Steps with the penalties R_w‖δ‖₂: (H + λI) x = −q with λ‖x‖ = R, by safeguarded Newton on log λ.

    Rows of nan if it does not converge.
    """
    q = gradient - np.einsum("wij,wj->wi", H, delta)
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(values, 0.0)
    rotated = np.einsum("wij,wi->wj", vectors, q)
    length = np.linalg.norm(delta, axis=1)
    size = np.linalg.norm(q, axis=1)
    with np.errstate(all="ignore"):
        t = safe_log(np.where(length > 0.0, R / length, R * values.mean(axis=1) / size))
        t = np.where(np.isfinite(t), t, 0.0)
        low, high = np.full((2, len(t)), np.inf) * np.array([[-1.0], [1.0]])
        for _ in range(60):
            lam = np.exp(np.minimum(t, 600.0))[:, None]
            x = rotated / (values + lam)
            length = np.linalg.norm(x, axis=1)
            error = t + safe_log(length / R)
            done = np.abs(error) <= 1e-13 * np.maximum(1.0, np.abs(t))
            if np.all(done | (size <= R)):
                break
            low, high = np.where(error < 0.0, t, low), np.where(error < 0.0, high, t)
            slope = 1.0 - lam[:, 0] * np.einsum("wi,wi->w", x, x / (values + lam)) / length**2
            new = np.clip(t - error / np.maximum(slope, 1e-12), t - 40.0, t + 40.0)
            middle = np.where(np.isfinite(low + high), 0.5 * (low + high), t - 2.0 * np.sign(error))
            t = np.where(done, t, np.where((low < new) & (new < high), new, middle))
        x = -np.einsum("wij,wj->wi", vectors, x)
    x[~done] = np.nan
    x[size <= R] = 0.0
    return np.asarray(x)


def pivots(H: Array) -> Array:
    """Squared pivots of the Cholesky factors, shape (W, k); zero from the first failed pivot on.

    Examples
    --------
    >>> pivots(np.array([[[4.0, 2.0], [2.0, 2.0]], [[0.0, 0.0], [0.0, 1.0]]]))
    array([[4., 1.],
           [0., 0.]])
    """
    found = np.zeros(H.shape[:2])
    for w, A in enumerate(H):
        factor, failed = dpotrf(A, lower=1, clean=0)
        good = failed - 1 if failed > 0 else len(A)
        found[w, :good] = np.square(factor.diagonal()[:good])
    found[~(found > 0.0)] = 0.0  # LAPACK does not always report nan as a failure
    return found


class BatchNewton:
    """State of W problems: δ, value, mean of the features, curvature and the next step of each.

    The next step is ``direction`` times ``length``. ``fall`` is the decrease of the model along the whole direction,
    ``rise`` the increase of the penalty, and ``diverged`` marks problems whose δ separates the target from all rows.
    """

    def __init__(self, batch: Batch, targets: Array, penalties: Penalties, delta: Array) -> None:
        W, k = targets.shape
        self.batch, self.targets, self.penalties = batch, targets, penalties
        self.delta, self.mean, self.direction = delta.copy(), np.zeros((W, k)), np.zeros((W, k))
        self.curvature = np.zeros((W, k, k))
        self.log_z, self.value, self.ess = np.zeros(W), np.zeros(W), np.zeros(W)
        self.decrement, self.length, self.fall, self.rise = np.full((4, W), np.inf)
        self.iterations, self.passes = np.zeros(W, dtype=int), 0
        self.low_value, self.diverged = np.full(W, -LOW_VALUE), np.zeros(W, dtype=bool)

    def start(self, ids: Index, *, covariance: bool) -> None:
        """Evaluate the current δ of some problems, as the first pass."""
        guess = np.zeros(ids.size)
        moments = self.batch.moments(self.delta[ids], ids, guess, covariance=covariance)
        self.passes += 1
        self._move_to(ids, self.delta[ids], moments.log_z, moments.mean, moments.ess)
        if moments.covariance is not None:
            self.curvature[ids] = moments.covariance
        self._plan_step(ids)

    def run(self, ids: Index, aim: Array, limit: int, *, covariance: bool) -> None:
        """Step until the squared decrement of each problem is at most its ``aim``, or no step makes progress."""
        last, trials = np.full((2, len(self.delta)), np.inf)
        trials[ids] = 0
        until = self.iterations + limit
        at_round_off = np.zeros(len(self.delta), dtype=bool)
        ids = ids[self.decrement[ids] > aim[ids]]
        for _ in range(limit + MAX_TRIALS):
            if not ids.size:
                break
            d, t = self.direction[ids], self.length[ids, None]
            trial = self.delta[ids] + t * d
            guess = self.log_z[ids] + t[:, 0] * np.einsum("wi,wi->w", self.mean[ids], d)
            guess = np.where(np.isfinite(guess), guess, 0.0)
            moments = self.batch.moments(trial, ids, guess, covariance=covariance)
            self.passes += 1
            value = self._loss(ids, trial, moments.log_z) + self.penalties.value(trial, ids)
            slope = np.einsum("wi,wi->w", moments.mean - self.targets[ids], d) + self.rise[ids]
            fall, noise = self.fall[ids], self._noise(ids)
            accepted = value <= self.value[ids] - 1e-4 * t[:, 0] * np.maximum(fall, 0.0) + noise
            accepted &= slope <= 0.5 * np.abs(fall) + noise
            if moments.covariance is not None:  # where few rows take all the weight, the curvature vanishes
                accepted &= _quadratic_form(moments.covariance, d) >= 0.01 * _quadratic_form(self.curvature[ids], d)
            moving, rejected = ids[accepted], ids[~accepted]
            with np.errstate(divide="ignore", invalid="ignore"):
                shorter = np.clip(fall / (fall + slope), 0.05, 0.5)
            self.length[rejected] *= np.where((slope > 0.0) & (fall > 0.0), shorter, 0.5)[~accepted]
            trials[rejected] += 1
            at_round_off[moving] = (self.value[ids] - value <= noise)[accepted]
            last[moving] = self.decrement[moving]
            trials[moving] = 0
            self.iterations[moving] += 1
            if moments.covariance is None:
                self._update_curvature(
                    moving, trial[accepted] - self.delta[moving], moments.mean[accepted] - self.mean[moving]
                )
            else:
                self.curvature[moving] = moments.covariance[accepted]
            self._move_to(
                moving, trial[accepted], moments.log_z[accepted], moments.mean[accepted], moments.ess[accepted]
            )
            self._plan_step(moving)
            slow = (self.decrement[ids] > 0.25 * last[ids]) & (at_round_off[ids] | (not covariance)) & accepted
            active = (self.decrement[ids] > aim[ids]) & (trials[ids] < MAX_TRIALS) & (self.iterations[ids] < until[ids])
            active &= ~slow & np.isfinite(self.decrement[ids])
            low = self.value[ids] < self.low_value[ids]
            self.low_value[ids] = np.where(low, 2.0 * self.value[ids], self.low_value[ids])
            suspect = low | (self.iterations[ids] % 5 == 4)
            suspect = np.flatnonzero(suspect & active & accepted & (self.decrement[ids] >= 0.1))
            if suspect.size:
                self.diverged[ids[suspect]] = self.separates(self.batch, ids[suspect])
            ids = ids[active & ~self.diverged[ids]]

    def separates(self, batch: Batch, ids: Index) -> Any:
        """Whether δ itself separates the target from every row, so that the value is unbounded below."""
        delta = self.delta[ids]
        inner = np.einsum("wi,wi->w", self.targets[ids], delta)
        top = batch.largest_logits(delta, ids, heights=True)
        return inner - self.penalties.value(delta, ids) - top > 1e-9 * (np.abs(inner) + np.abs(top))

    def refresh_curvature(self, ids: Index) -> None:
        """Recompute the curvature at the current δ."""
        moments = self.batch.moments(self.delta[ids], ids, self.log_z[ids], covariance=True)
        self.passes += 1
        assert moments.covariance is not None  # requested
        self.curvature[ids] = moments.covariance

    def _loss(self, ids: Index, delta: Array, log_z: Array) -> Array:
        return np.asarray(log_z - np.einsum("wi,wi->w", self.targets[ids], delta))

    def _noise(self, ids: Index) -> Array:
        """Round-off of the values."""
        inner = np.einsum("wi,wi->w", self.targets[ids], self.delta[ids])
        return np.asarray(1e-14 * (1.0 + np.abs(inner) + np.abs(self.log_z[ids])))

    def _move_to(self, ids: Index, delta: Array, log_z: Array, mean: Array, ess: Array) -> None:
        self.delta[ids], self.log_z[ids], self.mean[ids], self.ess[ids] = delta, log_z, mean, ess
        self.value[ids] = self._loss(ids, delta, log_z) + self.penalties.value(delta, ids)

    def _plan_step(self, ids: Index) -> None:
        """Compute the next step: direction, decrease of the model, and first trial length."""
        if not ids.size:
            return
        delta, H = self.delta[ids], self.curvature[ids]
        gradient = self.mean[ids] - self.targets[ids]
        with np.errstate(all="ignore"):
            d = self.penalties.step(delta, gradient, H, ids) - delta
            rise = self.penalties.value(delta + d, ids) - self.penalties.value(delta, ids)
            fall = -np.einsum("wi,wi->w", gradient, d) - rise
            curved = _quadratic_form(H, d)
            decrement = np.where(fall > self._noise(ids), np.maximum(curved, fall), curved)
            decrement = np.where((np.abs(d).max(axis=1) < 1e100) & (curved >= 0.0), decrement, np.inf)
            self.length[ids] = np.minimum(1.0, MAX_STEP / np.sqrt(np.maximum(decrement, 1e-300)))
        self.direction[ids], self.rise[ids], self.fall[ids], self.decrement[ids] = d, rise, fall, decrement

    def _update_curvature(self, ids: Index, s: Array, y: Array) -> None:
        """BFGS update: the curvature closest to the old one that maps the step s to the gradient change y."""
        H = self.curvature[ids]
        Hs = np.einsum("wij,wj->wi", H, s)
        sHs, sy = np.einsum("wi,wi->w", s, Hs), np.einsum("wi,wi->w", s, y)
        good = (sHs > 0.0) & (sy > 0.0)
        H[good] += outer(y[good] / np.sqrt(sy[good, None])) - outer(Hs[good] / np.sqrt(sHs[good, None]))
        self.curvature[ids] = H


def _quadratic_form(H: Array, d: Array) -> Array:
    """d'Hd of each problem."""
    return np.asarray(np.einsum("wi,wi->w", np.einsum("wij,wj->wi", H, d), d))


@dataclass(frozen=True, eq=False)
class BatchCertificate:
    """Certified gaps of V problems (inf if nothing is proven), their round-off, and spreads of the features."""

    gap: Array
    noise: Array
    spread: Array


def certify_batch(newton: BatchNewton, rows: Batch, ids: Index, tol: float) -> BatchCertificate:
    """Gaps by [LIFT] on some rows S, as :func:`~pre_convex.certificate.certificate.make_certificate` for one problem.

    KL(μ' ‖ μ) is bounded by ½(1 + max|c|) Σ μ_j c_j², which holds if no |c_j| exceeds one.

    Parameters
    ----------
    newton : BatchNewton
        State of the problems after a pass over all rows.
    rows : Batch
        S, with the weights that its rows have among all rows.
    ids : ndarray of int of shape (V,)
        Indices of the problems.
    tol : float
        Sufficient gap, relative to 1 + |value|; further lifts are tried only for larger gaps.
    """
    delta, log_z, b = newton.delta[ids], newton.log_z[ids], newton.targets[ids]
    centre = newton.batch.centre
    subset = rows.moments(delta, ids, log_z, covariance=True)
    assert subset.covariance is not None  # requested
    with np.errstate(all="ignore"):
        total = np.exp(subset.log_z - log_z)
        scatter = subset.covariance * total[:, None, None]
        spread = np.sqrt(np.maximum(np.einsum("wii->wi", subset.covariance), 0.0))
        reached = np.abs(subset.mean) + spread
        size = reached + np.abs(centre)
        g = newton.penalties.value(delta, ids)
        value = newton.value[ids]
        terms = np.einsum("wi,wi->w", np.abs(b) + reached, np.abs(delta))
        noise = 4.0 * EPS * (1.0 + np.abs(log_z) + np.abs(rows.level[ids]) + terms + np.abs(g))
    r = b - newton.mean[ids]
    gap = np.full(ids.size, np.inf)
    usable = np.flatnonzero(np.isfinite(scatter).all(axis=(1, 2)) & np.isfinite(noise))
    radius = newton.penalties.radius[ids]
    residuals = {
        int(i): newton.penalties.trial_residuals(int(ids[i]), delta[i], r[i], scatter[i])
        if radius[i]
        else [np.zeros_like(r[i])]
        for i in usable
    }
    enough = np.maximum(0.5 * tol * (1.0 + np.abs(value)) - noise, NEGLIGIBLE_GAP)
    for attempt in range(max((len(p) for p in residuals.values()), default=0)):
        i = np.array([j for j, p in residuals.items() if len(p) > attempt and gap[j] > enough[j]], dtype=np.intp)
        if not i.size:
            break
        trial = np.array([residuals[int(j)][attempt] for j in i])
        cost, left = _lift(
            rows, delta[i], ids[i], log_z[i], subset.mean[i], scatter[i], total[i], r[i] - trial, reached[i], size[i]
        )
        slack = np.maximum(g[i] - np.einsum("wi,wi->w", trial, delta[i]), 0.0)
        slack += np.einsum("wi,wi->w", left, np.abs(delta[i]))
        gap[i] = np.fmin(gap[i], slack + cost)
    return BatchCertificate(gap + noise, noise, np.sqrt(np.square(spread).sum(axis=1)))


def _lift(
    rows: Batch,
    delta: Array,
    ids: Index,
    log_z: Array,
    mean: Array,
    scatter: Array,
    total: Array,
    u: Array,
    reached: Array,
    size: Array,
) -> tuple[Array, Array]:
    """Cost of lifts that move the moments by u (inf if there is none), and the round-off that remains of u."""
    allowed = 1e-13 * (np.abs(u) + size)
    d, left, cost = np.zeros_like(u), u.copy(), np.full(len(u), np.inf)
    i = np.arange(len(u))
    with np.errstate(all="ignore"):
        for _ in range(2):  # the second round refines the first
            d[i] += solve_all(scatter[i], left[i])
            i = i[np.isfinite(d[i]).all(axis=1)]
            if not i.size:
                break
            moved, drift, squares, largest = rows.lift(delta[i], ids[i], log_z[i], mean[i], d[i])
            left[i] = u[i] - moved
            largest += np.abs(drift) / total[i]  # the drift is subtracted evenly from c
            exact = np.all(np.abs(left[i]) <= allowed[i], axis=1)
            # the remainder costs more than ⟨δ, left⟩, and is known up to the round-off of a moment
            price = 2.0 * np.einsum("wi,wi->w", np.abs(left[i]) + 4.0 * EPS * reached[i], np.abs(d[i]))
            cost[i] = np.where(exact & (largest <= 1.0), 0.5 * (1.0 + largest) * squares + price, np.inf)
            i = i[~exact]
    return cost, np.abs(left)
