"""[FY]: the duality gap of (c, δ) for any divergence, with bounds on the ratio and with any penalty.

For weights ν that are feasible for [D], with s_j = c + ⟨δ, F_j⟩ and r' = b − F'ν,

    P(c,δ) − D(ν) = Σ_j [ φ*_j(s_j) + π_j φ(ν_j/π_j) − s_j ν_j ]  +  [ g(δ) + g*(r') − ⟨r', δ⟩ ],

and no term is negative. The weights ν are a lift of those of [LINK] that keeps every ratio strictly within its bounds:

    ν_j = μ_j + ω_j ⟨G_j, d⟩,   G_j = [1, F_j − b],   0 ≤ ω_j ≤ π_j min(1/φ''(t_j), t_j − lo, hi − t_j),

where S d = −m, S = Σ ω_j G_j G_j', and m is what the moments of μ miss. If |⟨G_j, d⟩| ≤ x < 1 on all rows, the first
sum is at most ½ K(x) q with q = m'S⁻¹m, because φ'' grows by a factor of at most K(x) on the way. As in [LIFT], no
weights have to be computed: bounds on m, S and x, round-off included, prove that ν exists.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf, dtrtri

from .._internal.linear_algebra import EPS
from .._internal.typing import Array, Index
from .._internal.validation import MAX_ENTRY, as_vector
from ..data.affine_span import LAST_PLACES, TARGET_NOISE
from ..data.linked import (
    LiftMoments,
    LiftRequest,
    LinkedRows,
    Magnitude,
    Magnitudes,
    Room,
    intercept_at,
    linked_scores,
    linked_tilt,
)
from ..data.passes import Summary
from ..data.requests import ALL, Requests
from ..divergences import Divergence
from ..penalties import PartialPenalty, Penalty, Trial, with_intercept
from ..problem import RatioProblem
from .certificate import SMALL_GAP, Certificate, Proof, arithmetic_of, certificate_of, with_noise
from .extended import precise_linked_value
from .lift import (
    CANCELS,
    ROUNDS,
    SMALL_PIVOT,
    UNIT,
    WELL_KNOWN,
    Arithmetic,
    LeftOut,
    eliminate,
    missed_moments,
    whitening,
)

__all__ = ["certificate_at", "linked_arithmetic", "linked_certificate", "prove_linked"]


#: share of its terms below which what is left of a relaxed column counts as zero: the radius has room for it
RELAXED = 1e-11
#: share of its mean square below which the variance of a column is round-off of a constant
CONSTANT = 1e-12
#: what is left of a variance, relative to the squared size of the column, that may be round-off
FLAT = 1e-13


class RoundOff:
    """Bounds on the round-off of a pass at θ.

    Attributes
    ----------
    value : float
        Of the loss.
    moment : ndarray of shape (k + 1,)
        Of Σ μ_j G_j.
    mass : float
        Sum of the absolute errors of the weights.
    scores : float
        Of every s_j.
    """

    def __init__(self, theta: Array, sizes: Magnitudes, arithmetic: Arithmetic) -> None:
        k, depth = theta.size, arithmetic.depth
        # s_j is k products and a few more terms; a ratio, a conjugate and a base weight are a few operations each
        self.scores = UNIT * (k + 8) * float(np.abs(theta) @ sizes.largest)
        weights = UNIT * (1.01 * (k + 8) * sizes.change + 16.0 * sizes.moment)
        self.mass = float(weights[0])
        self.moment = weights + UNIT * (depth + 4) * sizes.moment
        self.value = UNIT * ((k + depth + 32) * sizes.value + 4.0 * abs(float(theta[0])))


def prove_linked(
    theta: Array,
    summary: Summary,
    penalty: PartialPenalty,
    arithmetic: Arithmetic,
    divergence: Divergence,
    level: int = ALL,
) -> Requests[Proof]:
    """Duality gap of θ = (c, δ) by a lift on the rows of one level.

    Parameters
    ----------
    theta : ndarray of shape (k + 1,)
        (c, δ) for rows relative to the target.
    summary : Summary
        Result of a pass over all rows at θ.
    penalty : PartialPenalty
        g as a penalty of θ, from :func:`~pre_convex.penalties.with_intercept`.
    arithmetic : Arithmetic
        How the passes compute, for k + 1 columns.
    divergence : Divergence
        φ.
    level : int, default ALL
        Number of the level that is lifted; any rows give a valid bound, more rows a tighter one.
    """
    sizes: Magnitudes = yield Magnitude(theta)
    round_off = RoundOff(theta, sizes, arithmetic)
    noise = round_off.value + EPS * (theta.size + 4) * penalty.value(theta)
    H: Array = yield Room(theta, round_off.scores, level)
    trace = float(np.maximum(H.diagonal()[1:], 0.0).sum())  # round-off can leave a negative variance
    spread = math.sqrt(trace / H[0, 0]) if H[0, 0] > 0.0 else math.inf
    proof = Proof(math.inf, noise, spread)
    if not (math.isfinite(noise) and np.all(np.isfinite(H)) and np.all(np.isfinite(summary.mean))):
        return proof  # after overflow nothing can be proven
    relaxed = np.zeros(theta.size, dtype=bool)
    relaxed[np.setdiff1d(penalty.on, penalty.exact(theta.size))] = True
    margin, r = np.zeros(theta.size), -summary.mean
    if H[0, 0] > 0.0:  # what a constant column misses follows from the intercept, and no step should make up for it
        squares = H[0, 0] * H.diagonal()
        constant = ~relaxed & (squares - np.square(H[0]) <= CONSTANT * squares)
        r[constant] = H[0, constant] / H[0, 0] * r[0]
    for _ in range(ROUNDS):
        trial = penalty.trial(theta, r, H, margin)
        if trial is None:
            return proof
        lift = _Lift(theta, summary.mean, trial, H, np.sort(penalty.used), relaxed, sizes, round_off, arithmetic, level)
        lifted = yield from lift.run(divergence)
        if lifted is None:
            return proof
        # a relaxed residual is off by what is missed, and has to be in the ball nevertheless
        if np.all(lifted.missed[relaxed] <= margin[relaxed]):
            price = lifted.missed * np.abs(theta)
            last_digit = float(price[~relaxed].sum())
            gap = trial.slack + lifted.cost + float(price.sum()) + noise
            columns, missed = (tuple(x.tolist()) for x in (lifted.dependent - 1, lifted.missed[lifted.dependent]))
            return proof._replace(gap=gap, last_digit=last_digit, dependent=columns, missed=missed)
        # which columns count as dependent is a matter of round-off, so all get a margin of a few last digits
        last = LAST_PLACES * EPS * (sizes.largest + arithmetic.target)
        margin = np.maximum(margin, 4.0 * np.maximum(lifted.missed, last))
    return proof


class Lifted(NamedTuple):
    """What a lift proves: its cost, and which columns depend on others, with what is missed in them."""

    cost: float
    dependent: Index
    missed: Array


@dataclass(eq=False)
class _Lift:
    """The lift to residual r' in coordinates Y_j = V [1, F_j − b + r'] where S is close to the identity.

    Each coordinate belongs to one column. What earlier columns leave of a column may be zero, to the last digits, in
    every row that moves. Then the lift does not change that coordinate, and its moment stays as far off as it is.
    """

    theta: Array
    mean: Array
    trial: Trial
    H: Array
    used: Index
    relaxed: NDArray[np.bool_]
    sizes: Magnitudes
    round_off: RoundOff
    arithmetic: Arithmetic
    level: int

    def run(self, divergence: Divergence) -> Requests[Lifted | None]:
        """The lift; ``None`` if it is not proven to exist."""
        r = self.trial.residual
        self.G = self.sizes.largest + np.abs(r)
        used = self.used[self.G[self.used] > 0.0]  # a column that is the target in every row misses nothing
        # a coordinate is a sum of k products, and its round-off that of half as many last places
        places = LAST_PLACES + 0.5 * r.size
        known = places * self.arithmetic.accuracy * (self.G + self.arithmetic.target)
        target_known = np.maximum(known, TARGET_NOISE * (self.G + self.arithmetic.target))
        left_out: list[LeftOut] = []
        T = np.eye(r.size)
        T[1:, 0] = r[1:]
        S = (T @ self.H @ T.T)[np.ix_(used, used)]
        V, own = np.zeros((used.size, r.size)), used
        white = whitening(S)
        if white is not None and np.any(FLAT * self.H[0, 0] * np.square(white.diagonal() * self.G[used]) >= 1.0):
            white = None  # what others leave of a column may be round-off, which would get into other coordinates
        V[:, used] = np.diag(1.0 / self.G[used]) if white is None else white
        for _ in range(ROUNDS):
            found: LiftMoments = yield LiftRequest(self.theta, self.round_off.scores, V, r, self.level)
            z, lost = self._misses(V, found)
            last, size = np.abs(V) @ known, np.abs(V) @ self.G
            target_last, relaxed = np.abs(V) @ target_known, self.relaxed[own]
            spread = np.maximum(0.5 * (found.high - found.low), 0.0)
            zero = (spread <= last) & (found.moving <= target_last)
            zero = np.where(relaxed, found.moving <= RELAXED * size, zero)
            zero &= (found.moving <= CANCELS * size) & (own > 0)
            if eliminate(V, own, zero):  # V changed, so its moments have to be computed again
                continue
            left = np.minimum(np.abs(z) + lost + found.moving, found.peak + np.abs(V[:, 0]))
            left += UNIT * (r.size + 3) * size  # round-off of the coordinates
            if np.any(left[zero & ~relaxed] > 2.0 * target_last[zero & ~relaxed]):
                return None
            left_out += [LeftOut(int(own[i]), V[i], float(left[i])) for i in np.flatnonzero(zero)]
            V, own, found = V[~zero], own[~zero], found.some(~zero)
            if not (np.all(np.isfinite(found.second)) and np.all(found.second.diagonal() > 0.0)):
                return None
            cost = self._cost(V, found, z[~zero], lost[~zero], divergence)
            if cost < math.inf:
                missed = missed_moments(left_out, r.size)
                return Lifted(cost, np.array(sorted(one.column for one in left_out), dtype=np.intp), missed)
            V, own = _orthogonalised(
                V, own, found.second, [own == 0, (own > 0) & ~self.relaxed[own], self.relaxed[own]]
            )
        return None

    def _misses(self, V: Array, found: LiftMoments) -> tuple[Array, Array]:
        """What the moments of μ miss in coordinates V, and a bound on its round-off."""
        k, depth, size, r = V.shape[1], self.arithmetic.depth, np.abs(V), self.trial.residual
        moment = self.sizes.moment + np.abs(r) * max(self.sizes.moment[0], 1.0)
        error = size @ (self.trial.error + UNIT * (k + 4) * moment) + EPS * np.abs(V[:, 0])
        if self.level == ALL:
            error += found.peak * (self.round_off.mass + UNIT * (depth + 8) * self.sizes.moment[0])
            return found.mean - V[:, 0], error
        error += size @ (self.round_off.moment + np.abs(r) * self.round_off.moment[0] + EPS * (k + 4) * moment)
        return V @ (self.mean + r * (1.0 + self.mean[0])), error

    def _cost(self, V: Array, found: LiftMoments, z: Array, lost: Array, divergence: Divergence) -> float:
        """½ K(x) q with all round-off, in coordinates V; infinite if S is too far from the identity, or x from zero."""
        k, depth, size = V.shape[1], self.arithmetic.depth, np.abs(V)
        peak = found.moving + UNIT * (k + 4) * (size @ self.G)
        products = _norm(UNIT * (k + 4) * (size @ np.sqrt(found.squares)))  # round-off of coordinates, root mean square
        length = math.sqrt(float(np.trace(found.second)))
        eta = float(np.linalg.norm(found.second - np.eye(len(V)))) * (1.0 + EPS * k)
        eta += 3.0 * UNIT * (depth + k + 10) * length**2 + 2.0 * products * length + products**2
        if not eta <= WELL_KNOWN:
            return math.inf
        far = (_norm(z) + _norm(lost)) * (1.0 + EPS * (k + 8)) / (1.0 - eta)
        x = far * _norm(peak)
        return 0.5 * divergence.growth(x) * (1.0 - eta) * far**2 if x < 1.0 else math.inf


def _orthogonalised(V: Array, own: Index, S: Array, groups: list[NDArray[np.bool_]]) -> tuple[Array, Index]:
    """Coordinates in which S is closer to the identity, and their columns; small remainders are not scaled yet.

    Columns of earlier groups come first, so that columns of later ones are those that depend on others.
    """
    s = np.sqrt(S.diagonal())
    C, W = S / s / s[:, None], np.zeros((0, len(S)))
    rest, order, order_rest = [], [], []
    for group in groups:
        index = np.flatnonzero(group)
        if not index.size:
            continue
        R = np.eye(len(S))[index]
        R = R - (R @ C @ W.T) @ W
        left = R @ C @ R.T
        factor, pivots, rank, _ = dpstrf(left, tol=SMALL_PIVOT, lower=1)
        rank = rank if left.diagonal().max() > SMALL_PIVOT else 0  # LAPACK accepts any first pivot
        index, R, L = index[pivots - 1], R[pivots - 1], np.tril(factor)[:, :rank]
        first = np.tril(dtrtri(L[:rank], lower=1)[0]) @ R[:rank] if rank else R[:0]
        rest.append(R[rank:] - L[rank:] @ first)
        order.append(own[index[:rank]])
        order_rest.append(own[index[rank:]])
        W = np.vstack([W, first])
    return np.vstack([W, *rest]) @ (V / s[:, None]), np.concatenate([*order, *order_rest])


def _norm(x: Array) -> float:
    return math.sqrt(float(x @ x))


def certificate_at(
    problem: RatioProblem, theta: Array, summary: Summary, penalty: Penalty, proof: Proof
) -> Certificate:
    """Certificate of δ from what a lift at θ = (c, δ) proves; ``penalty`` is that of δ.

    The weights of δ are those with the best c, which sum to one, and the value at any other c is an upper bound.
    """
    moments = Summary(summary.log_z, summary.mean[1:], None)
    return certificate_of(problem, theta[1:], moments, penalty, proof)


def linked_arithmetic(problem: RatioProblem) -> Arithmetic:
    """How the passes of one problem compute, for the k + 1 columns [1, F]."""
    plain = arithmetic_of(problem)
    return plain._replace(shift=np.append(0.0, plain.shift), target=np.append(0.0, plain.target))


def linked_certificate(problem: RatioProblem, delta: Array, mu: Array | None, penalty: Penalty) -> Certificate:
    """Certificate of (δ, μ) with the best intercept for δ."""
    theta = np.append(intercept_at(problem.rows, problem.link, delta), delta)
    summary = linked_tilt(problem.rows, problem.link, theta, covariance=False)
    terms, arithmetic = with_intercept(penalty, problem.k), linked_arithmetic(problem)
    steps = prove_linked(theta, summary, terms, arithmetic, problem.link.divergence)
    proof = LinkedRows(problem.rows, problem.link).run(steps)
    if problem.rows.in_memory and problem.link.mass and SMALL_GAP < proof.gap < 2.0 * proof.noise:
        value, noise = precise_linked_value(problem, theta)
        summary, proof = with_noise(summary, proof, value, noise + EPS * (theta.size + 4) * penalty.value(delta))
    certificate = certificate_at(problem, theta, summary, penalty, proof)
    if mu is None:
        return certificate
    mu = as_vector(mu, "mu", problem.n_q, limit=MAX_ENTRY)
    pi, (lower, upper) = linked_scores(problem.rows, theta)[1], problem.bounds
    with np.errstate(invalid="ignore"):
        outside = max(float(np.nanmax(lower * pi - mu)), float(np.nanmax(mu - upper * pi)), 0.0)
    r = problem.residual(mu)
    e_qn = float(np.linalg.norm(r + summary.mean[1:]))
    return replace(
        certificate,
        moment_residual=problem.excess(r),
        simplex_residual=max(abs(float(mu.sum()) - 1.0), outside),
        slackness=penalty.value(delta) - float(r @ delta),
        e_qn=e_qn if e_qn > 1e-14 * certificate.spread else 0.0,
    )
