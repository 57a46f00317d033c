"""Damped Newton for many problems in step: one pass serves all that are still on their way.

Every pass evaluates one trial point of each problem. Where the value has fallen enough the problem moves on to its next
step, elsewhere it tries a shorter one; a problem that is done, or stuck, leaves. With covariances each pass brings
the curvature; without them it is given and learns from gradients by a secant update (BFGS), as in
:mod:`pre_convex.solvers.newton`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpotrf

from ..entropy import Array, Index, exp, log
from ..errors import SolveError
from ..linear import solve_psd
from ..problem import RatioProblem
from ..solution import ENOUGH, EPS
from .batch import Batch, outer
from .newton import LONGEST_STEP, LOW
from .steps import make_penalty

__all__ = ["Lockstep", "Penalties", "Proof", "pivots", "prove"]

#: trial points of one step at most
TRIALS = 30


class Penalties:
    """R_w‖δ‖_* of every problem; problems of the same radius share what a step needs."""

    def __init__(self, problem: RatioProblem, radius: Array) -> None:
        self.radius, self.norm = radius, problem.ball
        self.terms = {R: make_penalty(problem.with_radius(R)) for R in np.unique(radius).tolist()}

    def value(self, delta: Array, who: Index) -> Array:
        """R_w‖δ_w‖_*."""
        if not self.radius.any():
            return np.zeros(len(delta))
        return np.asarray(self.radius[who] * np.linalg.norm(delta, self.norm.dual_order, axis=1))

    def step(self, delta: Array, gradient: Array, H: Array, who: Index) -> Array:
        """Minimisers of the quadratic models plus penalties [STEP]; nan where there is none."""
        free = self.radius[who] == 0.0
        x = np.full_like(delta, np.nan)
        x[free] = delta[free] - solve_all(H[free], gradient[free])
        rest = np.flatnonzero(~free & np.isfinite(H).all(axis=(1, 2)))
        if self.norm.order == 2.0 and rest.size:
            x[rest] = _secular(delta[rest], gradient[rest], H[rest], self.radius[who[rest]])
            rest = rest[np.isnan(x[rest, 0])]
        for i in rest:
            try:
                x[i] = self.terms[float(self.radius[who[i]])].step(delta[i], gradient[i], H[i])
            except SolveError:
                continue
        return x

    def points(self, w: int, delta: Array, r: Array, H: Array) -> list[Array]:
        """Residuals r' to try in a proof, the most promising first."""
        points: list[Array] = self.terms[float(self.radius[w])].points(delta, r, H)  # type: ignore[attr-defined]
        return points


def solve_all(H: Array, rhs: Array) -> Array:
    """H_w⁻¹ rhs_w for every w; a curvature that has all but gone in some direction counts as tiny there."""
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
    """Steps with the penalties R_w‖δ‖₂: (H + λI) x = −q with λ‖x‖ = R, a safeguarded Newton iteration on log λ.

    Rows of nan where it does not settle.
    """
    q = gradient - np.einsum("wij,wj->wi", H, delta)
    values, vectors = np.linalg.eigh(H)
    values = np.maximum(values, 0.0)
    turned = np.einsum("wij,wi->wj", vectors, q)
    length = np.linalg.norm(delta, axis=1)
    size = np.linalg.norm(q, axis=1)
    with np.errstate(all="ignore"):
        t = log(np.where(length > 0.0, R / length, R * values.mean(axis=1) / size))
        t = np.where(np.isfinite(t), t, 0.0)
        low, high = np.full((2, len(t)), np.inf) * np.array([[-1.0], [1.0]])
        for _ in range(60):
            lam = exp(np.minimum(t, 600.0))[:, None]
            x = turned / (values + lam)
            length = np.linalg.norm(x, axis=1)
            error = t + log(length / R)
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
    """Pivots of the Cholesky factors, squared, shape (W, k); none are positive after the first that is not.

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
    found[~(found > 0.0)] = 0.0  # nan is not seen as a failure everywhere
    return found


class Lockstep:
    """Where W problems are: δ, value, gradient and curvature, and the next step of each."""

    def __init__(self, batch: Batch, targets: Array, penalties: Penalties, delta: Array) -> None:
        W, k = targets.shape
        self.batch, self.targets, self.penalties = batch, targets, penalties
        self.delta, self.mean, self.direction = delta.copy(), np.zeros((W, k)), np.zeros((W, k))
        self.curvature = np.zeros((W, k, k))
        self.log_z, self.value, self.ess = np.zeros(W), np.zeros(W), np.zeros(W)
        self.decrement, self.length, self.fall, self.rise = np.full((4, W), np.inf)
        self.iterations, self.passes = np.zeros(W, dtype=int), 0
        self.low, self.away = np.full(W, -LOW), np.zeros(W, dtype=bool)

    def begin(self, who: Index, *, covariance: bool) -> None:
        """The first pass, at δ as it is."""
        guess = np.zeros(who.size)
        now = self.batch.moments(self.delta[who], who, guess, covariance=covariance)
        self.passes += 1
        self._arrive(who, self.delta[who], now.log_z, now.mean, now.ess)
        if now.covariance is not None:
            self.curvature[who] = now.covariance
        self._look(who)

    def run(self, who: Index, aim: Array, limit: int, *, covariance: bool) -> None:
        """Step until the squared decrement of each problem is at most its ``aim``, or no step helps any more."""
        last, trials = np.full((2, len(self.delta)), np.inf)
        trials[who] = 0
        until = self.iterations + limit
        noisy = np.zeros(len(self.delta), dtype=bool)
        who = who[self.decrement[who] > aim[who]]
        for _ in range(limit + TRIALS):
            if not who.size:
                break
            d, t = self.direction[who], self.length[who, None]
            trial = self.delta[who] + t * d
            guess = self.log_z[who] + t[:, 0] * np.einsum("wi,wi->w", self.mean[who], d)
            guess = np.where(np.isfinite(guess), guess, 0.0)
            now = self.batch.moments(trial, who, guess, covariance=covariance)
            self.passes += 1
            value = self._loss(who, trial, now.log_z) + self.penalties.value(trial, who)
            slope = np.einsum("wi,wi->w", now.mean - self.targets[who], d) + self.rise[who]
            fall, noise = self.fall[who], self._noise(who)
            good = value <= self.value[who] - 1e-4 * t[:, 0] * np.maximum(fall, 0.0) + noise
            good &= slope <= 0.5 * np.abs(fall) + noise
            if now.covariance is not None:  # where few rows have all the weight, curvature all but goes
                good &= _curved(now.covariance, d) >= 0.01 * _curved(self.curvature[who], d)
            moved, stay = who[good], who[~good]
            with np.errstate(divide="ignore", invalid="ignore"):
                shorter = np.clip(fall / (fall + slope), 0.05, 0.5)
            self.length[stay] *= np.where((slope > 0.0) & (fall > 0.0), shorter, 0.5)[~good]
            trials[stay] += 1
            noisy[moved] = (self.value[who] - value <= noise)[good]
            last[moved] = self.decrement[moved]
            trials[moved] = 0
            self.iterations[moved] += 1
            if now.covariance is None:
                self._learn(moved, trial[good] - self.delta[moved], now.mean[good] - self.mean[moved])
            else:
                self.curvature[moved] = now.covariance[good]
            self._arrive(moved, trial[good], now.log_z[good], now.mean[good], now.ess[good])
            self._look(moved)
            slow = (self.decrement[who] > 0.25 * last[who]) & (noisy[who] | (not covariance)) & good
            going = (self.decrement[who] > aim[who]) & (trials[who] < TRIALS) & (self.iterations[who] < until[who])
            going &= ~slow & np.isfinite(self.decrement[who])
            low = self.value[who] < self.low[who]
            self.low[who] = np.where(low, 2.0 * self.value[who], self.low[who])
            far = low | (self.iterations[who] % 5 == 4)
            far = np.flatnonzero(far & going & good & (self.decrement[who] >= 0.1))
            if far.size:
                self.away[who[far]] = self.beyond(self.batch, who[far])
            who = who[going & ~self.away[who]]

    def beyond(self, batch: Batch, who: Index) -> Any:
        """Whether δ itself separates the target from every row, so that the value falls without end."""
        delta = self.delta[who]
        inner = np.einsum("wi,wi->w", self.targets[who], delta)
        top = batch.tops(delta, who, heights=True)
        return inner - self.penalties.value(delta, who) - top > 1e-9 * (np.abs(inner) + np.abs(top))

    def refresh(self, who: Index) -> None:
        """The curvature of the rows where the problems are now."""
        now = self.batch.moments(self.delta[who], who, self.log_z[who], covariance=True)
        self.passes += 1
        assert now.covariance is not None  # it was asked for
        self.curvature[who] = now.covariance

    def _loss(self, who: Index, delta: Array, log_z: Array) -> Array:
        return np.asarray(log_z - np.einsum("wi,wi->w", self.targets[who], delta))

    def _noise(self, who: Index) -> Array:
        """Round-off of the values."""
        inner = np.einsum("wi,wi->w", self.targets[who], self.delta[who])
        return np.asarray(1e-14 * (1.0 + np.abs(inner) + np.abs(self.log_z[who])))

    def _arrive(self, who: Index, delta: Array, log_z: Array, mean: Array, ess: Array) -> None:
        self.delta[who], self.log_z[who], self.mean[who], self.ess[who] = delta, log_z, mean, ess
        self.value[who] = self._loss(who, delta, log_z) + self.penalties.value(delta, who)

    def _look(self, who: Index) -> None:
        """The next step: its direction, what the model promises, and how far to go at first."""
        if not who.size:
            return
        delta, H = self.delta[who], self.curvature[who]
        gradient = self.mean[who] - self.targets[who]
        with np.errstate(all="ignore"):
            d = self.penalties.step(delta, gradient, H, who) - delta
            rise = self.penalties.value(delta + d, who) - self.penalties.value(delta, who)
            fall = -np.einsum("wi,wi->w", gradient, d) - rise
            curved = _curved(H, d)
            decrement = np.where(fall > self._noise(who), np.maximum(curved, fall), curved)
            decrement = np.where((np.abs(d).max(axis=1) < 1e100) & (curved >= 0.0), decrement, np.inf)
            self.length[who] = np.minimum(1.0, LONGEST_STEP / np.sqrt(np.maximum(decrement, 1e-300)))
        self.direction[who], self.rise[who], self.fall[who], self.decrement[who] = d, rise, fall, decrement

    def _learn(self, who: Index, s: Array, y: Array) -> None:
        """BFGS: the curvature closest to the old one that turns the step s into the change y of the gradient."""
        H = self.curvature[who]
        Hs = np.einsum("wij,wj->wi", H, s)
        sHs, sy = np.einsum("wi,wi->w", s, Hs), np.einsum("wi,wi->w", s, y)
        good = (sHs > 0.0) & (sy > 0.0)
        H[good] += outer(y[good] / np.sqrt(sy[good, None])) - outer(Hs[good] / np.sqrt(sHs[good, None]))
        self.curvature[who] = H


def _curved(H: Array, d: Array) -> Array:
    """d'Hd of every problem."""
    return np.asarray(np.einsum("wi,wi->w", np.einsum("wij,wj->wi", H, d), d))


@dataclass(frozen=True, eq=False)
class Proof:
    """Certified gaps of V problems (inf where nothing was proven), round-off in them, and spreads of the features."""

    gap: Array
    noise: Array
    spread: Array


def prove(steps: Lockstep, rows: Batch, who: Index, tol: float) -> Proof:
    """Gaps by [LIFT] on some rows S, as :func:`pre_convex.solution.certificate` finds them for one problem.

    KL(μ' ‖ μ) is bounded by ½(1 + max|c|) Σ μ_j c_j², which holds as long as no |c_j| exceeds one.

    Parameters
    ----------
    steps : Lockstep
        Where the problems are, after a pass over all rows.
    rows : Batch
        S, with the weights the rows have among all.
    who : ndarray of int of shape (V,)
    tol : float
        A gap that is enough, relative to 1 + |value|; other lifts are tried only where it is not reached.
    """
    delta, log_z, b = steps.delta[who], steps.log_z[who], steps.targets[who]
    centre = steps.batch.centre
    part = rows.moments(delta, who, log_z, covariance=True)
    assert part.covariance is not None  # it was asked for
    with np.errstate(all="ignore"):
        total = exp(part.log_z - log_z)
        scatter = part.covariance * total[:, None, None]
        spread = np.sqrt(np.maximum(np.einsum("wii->wi", part.covariance), 0.0))
        reached = np.abs(part.mean) + spread
        size = reached + np.abs(centre)
        g = steps.penalties.value(delta, who)
        value = steps.value[who]
        far = np.einsum("wi,wi->w", np.abs(b) + reached, np.abs(delta))
        noise = 4.0 * EPS * (1.0 + np.abs(log_z) + np.abs(rows.level[who]) + far + np.abs(g))
    r = b - steps.mean[who]
    gap = np.full(who.size, np.inf)
    usable = np.flatnonzero(np.isfinite(scatter).all(axis=(1, 2)) & np.isfinite(noise))
    radius = steps.penalties.radius[who]
    points = {
        int(i): steps.penalties.points(int(who[i]), delta[i], r[i], scatter[i]) if radius[i] else [np.zeros_like(r[i])]
        for i in usable
    }
    enough = np.maximum(0.5 * tol * (1.0 + np.abs(value)) - noise, ENOUGH)
    for attempt in range(max((len(p) for p in points.values()), default=0)):
        i = np.array([j for j, p in points.items() if len(p) > attempt and gap[j] > enough[j]], dtype=np.intp)
        if not i.size:
            break
        aims = np.array([points[int(j)][attempt] for j in i])
        cost, left = _lift(
            rows, delta[i], who[i], log_z[i], part.mean[i], scatter[i], total[i], r[i] - aims, reached[i], size[i]
        )
        slack = np.maximum(g[i] - np.einsum("wi,wi->w", aims, delta[i]), 0.0)
        slack += np.einsum("wi,wi->w", left, np.abs(delta[i]))
        gap[i] = np.fmin(gap[i], slack + cost)
    return Proof(gap + noise, noise, np.sqrt(np.square(spread).sum(axis=1)))


def _lift(
    rows: Batch,
    delta: Array,
    who: Index,
    log_z: Array,
    mean: Array,
    scatter: Array,
    total: Array,
    u: Array,
    reached: Array,
    size: Array,
) -> tuple[Array, Array]:
    """Cost of lifts that move the moments by u, inf where there is none, and the round-off that is left of u."""
    allowed = 1e-13 * (np.abs(u) + size)
    d, left, cost = np.zeros_like(u), u.copy(), np.full(len(u), np.inf)
    i = np.arange(len(u))
    with np.errstate(all="ignore"):
        for _ in range(2):  # the second round refines the first
            d[i] += solve_all(scatter[i], left[i])
            i = i[np.isfinite(d[i]).all(axis=1)]
            if not i.size:
                break
            moved, drift, squares, largest = rows.lift(delta[i], who[i], log_z[i], mean[i], d[i])
            left[i] = u[i] - moved
            largest += np.abs(drift) / total[i]  # the drift is taken out of c evenly
            there = np.all(np.abs(left[i]) <= allowed[i], axis=1)
            # what is left costs more than ⟨δ, left⟩, and is known up to the round-off of a moment
            price = 2.0 * np.einsum("wi,wi->w", np.abs(left[i]) + 4.0 * EPS * reached[i], np.abs(d[i]))
            cost[i] = np.where(there & (largest <= 1.0), 0.5 * (1.0 + largest) * squares + price, np.inf)
            i = i[~there]
    return cost, np.abs(left)
