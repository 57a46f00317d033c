"""[LIFT]: weights with a prescribed moment exist near the tilted ones, and a bound on the cost of moving to them.

Let G_j = F_j − b + r', so that weights ν ≥ 0 have the residual r' if Σ ν_j G_j = 0; scaling ν to sum to one changes
nothing. From the tilted weights μ, ν_j = μ_j (1 + c_j) with c_j = ⟨G_j, d⟩, d = −S⁻¹ m, m = Σ μ_j G_j and
S = Σ μ_j G_j G_j', satisfies this exactly, in real arithmetic. With q = m'S⁻¹m = Σ μ_j c_j² < 1 and c_j ≥ −x, x < 1,

    KL(ν / Σν ‖ μ) ≤ ½ (1 + x) q / (1 − √q),

because (1 + c) log(1 + c) ≤ c + ½ (1 + x) c², and Σν = 1 + Σ μ_j c_j ≥ 1 − √q. So no weights have to be computed:
bounds on m, S and the c_j are enough, and bounds on their round-off make the proof one in real arithmetic. An error in
m or S changes q by its square or by a factor. S may be a sum over some of the rows only; the bound is then larger and
still valid.

The bounds are those of worst-case analysis: a sum of products is off by at most the unit round-off times the number of
additions times the sum of the absolute values of its terms, in whatever order they are added.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf, dpstrf, dtrtri

from .._internal.linear_algebra import EPS
from .._internal.typing import Array, Index
from ..data.affine_span import LAST_PLACES, TARGET_NOISE
from ..data.passes import Summary
from ..data.requests import ALL, Lowest, Ranges, Requests, Whiten, Whitened
from ..data.rows import Reach

__all__ = [
    "Arithmetic",
    "LeftOut",
    "Lifted",
    "RoundOff",
    "eliminate",
    "lift",
    "lift_in_own_coordinates",
    "missed_moments",
    "whitening",
]

#: unit round-off of float64
UNIT = 0.5 * EPS
#: log of the smallest positive float, and more: logs of weights that do not underflow are above minus this
LOG_TINY = 800.0
#: relative error of S in its own metric up to which a lift is trusted
WELL_KNOWN = 0.5
#: passes that look for coordinates in which S is close to the identity
ROUNDS = 8
#: size of a coordinate, relative to its terms, below which it may be their round-off
CANCELS = 1e-4
#: variances below this share of the largest are computed again
SMALL_PIVOT = 1e-9
#: so are those that fell below this share when earlier coordinates were removed
RELIABLE = 0.5


class Arithmetic(NamedTuple):
    """How the passes of a problem compute, apart from the size of the features.

    Attributes
    ----------
    shift : ndarray of shape (k,)
        Absolute values of what passes subtract from their sums.
    target : ndarray of shape (k,)
        Absolute values of the target.
    depth, log_z_depth : int
        Additions that an entry goes through in a sum over rows, and in the sum of all weights.
    rows : int
        Number of rows.
    offset : float
        Constants that cancel in the logits.
    accuracy : float
        Relative accuracy of the features as they are stored: one unit in the last place.
    """

    shift: Array
    target: Array
    depth: int
    log_z_depth: int
    rows: int
    offset: float = 0.0
    accuracy: float = EPS


class RoundOff:
    """Bounds on the round-off of a pass at δ.

    Attributes
    ----------
    value : float
        Of log Z.
    mean : ndarray of shape (k,)
        Of F'μ − b.
    second : float
        Of Σ μ_j f_i f_l, relative to the roots of Σ μ_j f_i² and Σ μ_j f_l².
    weights, any_weight : float
        Relative errors of the weights: their root mean square under μ, and the largest.
    largest : ndarray of shape (k,)
        Bound on the features themselves, relative to the target.
    """

    def __init__(self, delta: Array, summary: Summary, reach: Reach, arithmetic: Arithmetic) -> None:
        size, k = np.abs(delta), delta.size
        shift, depth, rows, offset = arithmetic.shift, arithmetic.depth, arithmetic.rows, arithmetic.offset
        ess = summary.ess if summary.ess >= 1.0 else 1.0
        # Σ μ|f| ≤ (Σ μ²)^½ (Σ f²)^½, and Σ μ f² ≤ max μ Σ f²
        average = np.minimum(reach.largest, reach.root / math.sqrt(ess)) + shift
        root_mean = np.minimum(reach.largest, reach.root / ess**0.25) + shift
        if summary.covariance is not None:  # relative errors of its diagonal are far below this factor
            second = (
                1.01 * (np.sqrt(np.maximum(summary.covariance.diagonal(), 0.0)) + np.abs(summary.mean)) + 2.0 * shift
            )
            average, root_mean = np.minimum(average, second), np.minimum(root_mean, second)
        self.largest = reach.largest + shift
        # a logit has k products and a few more terms; those that are not products are at most this large on average
        constants = 2.0 * (abs(summary.log_z) + math.log(rows) + offset) + 20.0
        self.value = UNIT * ((k + 8) * float(size @ average) + constants + arithmetic.log_z_depth)
        self.weights = UNIT * ((k + 8) * float(size @ root_mean) + constants)
        self.mean = UNIT * (depth + k + 8) * average + self.weights * root_mean
        self.any_weight = UNIT * ((k + 8) * float(size @ self.largest) + constants + LOG_TINY)
        self.second = UNIT * 3.0 * (depth + k + 10) + self.any_weight


class Lifted(NamedTuple):
    """What a lift proves.

    Attributes
    ----------
    cost : float
        Bound on KL(μ' ‖ μ).
    q : float
        Bound on Σ μ_j c_j², infinite for [MIX].
    dependent : tuple of int
        Columns that are combinations of others to their last digits, or constant.
    missed : ndarray of shape (k,)
        Bound on what the moments of μ' miss in those columns.
    """

    cost: float
    q: float
    dependent: tuple[int, ...]
    missed: Array


def lift(
    delta: Array,
    summary: Summary,
    r: Array,
    r_error: Array,
    on_level: Summary,
    level: int,
    round_off: RoundOff,
    arithmetic: Arithmetic,
) -> Requests[Lifted | None]:
    """Lift of the tilted weights to residual r, on the rows of one level; ``None`` if it is not proven to exist.

    Parameters
    ----------
    delta : ndarray of shape (k,)
        δ.
    summary : Summary
        Pass over all rows at δ.
    r, r_error : ndarrays of shape (k,)
        Residual, known to this accuracy.
    on_level : Summary
        Pass over the rows of the level, with covariance.
    level : int
        Number of the level.
    round_off : RoundOff
        Bounds on the round-off of the pass over all rows.
    arithmetic : Arithmetic
        How the passes compute.
    """
    H, k = on_level.covariance, delta.size
    assert H is not None  # it was asked for
    total = math.exp(min(on_level.log_z - summary.log_z, 0.0))
    centre = on_level.mean + r
    S = total * (H + np.outer(centre, centre))
    V = whitening(S)
    if V is None:
        return None
    size = np.abs(V)
    root = np.sqrt(H.diagonal() + np.square(on_level.mean)) + arithmetic.shift + np.abs(r)
    eta = float(np.linalg.norm(V @ S @ V.T - np.eye(k)))
    eta += UNIT * 4 * (k + 2) * _squared(size @ np.sqrt(S.diagonal())) + total * round_off.second * _squared(
        size @ root
    )
    if not eta <= WELL_KNOWN:
        return None
    m = summary.mean + r
    z = V @ m
    lost = _norm(size @ (round_off.mean + r_error + UNIT * ((k + 4) * np.abs(m) + arithmetic.shift)))
    d = -(V.T @ z)
    left, lowest = _norm(V @ (S @ d + m)), (yield Lowest(delta, summary.log_z, d, level)) + float(r @ d)

    def bounded(largest: Array) -> Lifted | None:
        low = lowest - UNIT * 2 * (k + 4) * float(np.abs(d) @ largest)
        return _bounded(z, lost, eta, left, low, _norm(size @ largest), whole=level == ALL)

    lifted = bounded(round_off.largest + np.abs(r))
    if lifted is None and level != ALL:  # only the rows of the level move, and their largest numbers are soon found
        low, high = yield Ranges(level)
        largest = np.maximum(np.abs(low), np.abs(high)) + arithmetic.shift * 4 * EPS
        lifted = bounded(largest * (1.0 + 4 * EPS) + np.abs(r))
    return lifted


def _bounded(z: Array, lost: float, eta: float, left: float, low: float, largest: float, whole: bool) -> Lifted | None:
    """The cost of a lift in coordinates where S is within ``eta`` of the identity and m is within ``lost`` of z.

    ``left`` is the norm of Sd + m at the d for which ``low`` bounds the c_j, and ``largest`` bounds the norm of every
    row. If S is a sum over all rows, Σν = 1 − q.
    """
    length = _norm(z) * (1.0 + EPS * (z.size + 4))
    q = (length + lost) ** 2 / (1.0 - eta)
    inexact = (left + lost + eta * length) / (1.0 - eta)  # distance of d from the exact one
    x = max(0.0, -low + largest * inexact)
    if not (q < 1.0 and x < 1.0):
        return None
    return Lifted(0.5 * (1.0 + x) * q / (1.0 - (q if whole else math.sqrt(q))), q, (), np.zeros(1))


def _squared(x: Array) -> float:
    return float(x @ x)


def _norm(x: Array) -> float:
    return math.sqrt(float(x @ x))


def whitening(S: Array) -> Array | None:
    """V with V S V' close to the identity; ``None`` if S is too close to singular."""
    diagonal = S.diagonal()
    if not (np.all(np.isfinite(S)) and np.all(diagonal > 0.0)):
        return None
    s = np.sqrt(diagonal)
    factor, info = dpotrf(S / s / s[:, None], lower=1)
    if info:
        return None
    return np.asarray(np.tril(dtrtri(factor, lower=1)[0]) / s)


def lift_in_own_coordinates(
    delta: Array,
    summary: Summary,
    r: Array,
    r_error: Array,
    round_off: RoundOff,
    arithmetic: Arithmetic,
    room: float,
) -> Requests[Lifted | None]:
    """Lift on all rows in coordinates V G_j where S is close to the identity, however collinear the columns are.

    Each coordinate belongs to one column; it contains that column and earlier ones. What those leave of a column
    may be zero in every row, to the last digits of the columns that it is made of. Then the column is a combination of
    the others, it needs no coordinate, and its moment is missed by no more than the largest such remainder. With
    ``room`` the residual need not be r: then it is enough that the remainder varies by no more than this share of its
    terms, or that all rows where it is larger have a negligible weight.
    """
    ranges, log_z = (yield Ranges()), summary.log_z
    if ranges is None:
        return None
    G = np.maximum(np.abs(ranges[0]), np.abs(ranges[1])) + np.abs(r)
    known = room * G if room else LAST_PLACES * arithmetic.accuracy * (G + arithmetic.target)
    target_known = np.maximum(known, TARGET_NOISE * (G + arithmetic.target))
    constant = (ranges[0] == ranges[1]) & ((room > 0.0) | (np.abs(ranges[0] + r) <= target_known))
    own = np.flatnonzero(~constant)
    left_out = [
        LeftOut(i, np.eye(delta.size)[i], float(abs(ranges[0][i] + r[i]) + r_error[i] + 3.0 * UNIT * G[i]))
        for i in np.flatnonzero(constant).tolist()
    ]
    V, white, limit = np.eye(delta.size)[own] / G[own, None], 0, 1.0  # first come white coordinates, then remainders
    for _ in range(ROUNDS):
        found: Whitened = yield Whiten(delta, log_z, V, r)
        size, spread = np.abs(V), 0.5 * (found.high - found.low)
        zero = (spread <= size @ known) & (spread <= CANCELS * size @ G)
        if not room:
            zero &= (found.peak <= size @ target_known) & (found.peak <= CANCELS * size @ G)
        # a lift with q ≤ ½ moves no moment by more than this, however far out rows of negligible weight are
        moved = 4.0 * (np.sqrt(2.0 * found.second.diagonal()) + UNIT * (delta.size + 3) * (size @ G))
        light = (moved <= size @ known) & (room > 0.0) & (round_off.second <= WELL_KNOWN)
        zero |= light
        if eliminate(V, own, zero):  # V changed, so its moments have to be computed again
            white = 0
            continue
        left = np.where(light, moved, found.peak + UNIT * (delta.size + 3) * (size @ G)) + size @ r_error
        left_out += [LeftOut(int(own[i]), V[i], float(left[i])) for i in np.flatnonzero(zero)]
        white, limit = white - int(zero[:white].sum()), min(limit, 0.5 if light.any() else 1.0)
        V, own, found = V[~zero], own[~zero], found.some(~zero)
        if white == len(V):
            lifted = yield from _lift_whitened(delta, log_z, V, found, r, r_error, G, round_off, arithmetic)
            if lifted is not None and lifted.q <= limit:
                missed = missed_moments(left_out, delta.size)
                return lifted._replace(dependent=tuple(sorted(one.column for one in left_out)), missed=missed)
        if not np.all(np.isfinite(found.second)):
            return None
        better = _orthogonalised(V, found.second, white)
        if better is None:
            return None
        order, V, white = better
        own = own[order]
    return None


class LeftOut(NamedTuple):
    """A coordinate whose moment is off by at most ``left``, whatever the lift is, and the column it belongs to."""

    column: int
    coordinate: Array
    left: float


def eliminate(V: Array, own: Index, zero: NDArray[np.bool_]) -> bool:
    """Remove the columns of coordinates that are zero from all others, in place; whether there was anything to remove.

    A lift matches the moments of the other coordinates, which bounds nothing if a column in them is missed.
    """
    changed = False
    for i in np.flatnonzero(zero):
        others = np.flatnonzero(V[:, own[i]])
        others = others[others != i]
        V[others] -= np.outer(V[others, own[i]] / V[i, own[i]], V[i])
        V[others, own[i]] = 0.0
        changed = changed or others.size > 0
    return changed


def missed_moments(left_out: list[LeftOut], k: int) -> Array:
    """Bound on what moments miss in each column, if those of all coordinates that are not left out are matched.

    A coordinate has its own column and others, of which only those that are left out later are missed.
    """
    missed = np.zeros(k)
    for column, coordinate, left in reversed(left_out):
        others = float(np.abs(coordinate) @ missed)
        missed[column] = (left + others) / abs(coordinate[column]) * (1.0 + EPS * (k + 4))
    return missed


def _lift_whitened(
    delta: Array,
    log_z: float,
    V: Array,
    found: Whitened,
    r: Array,
    r_error: Array,
    G: Array,
    round_off: RoundOff,
    arithmetic: Arithmetic,
) -> Requests[Lifted | None]:
    """The lift, if S is close enough to the identity in the coordinates V."""
    k, size, s = delta.size, np.abs(V), np.sqrt(found.second.diagonal())
    omega = UNIT * (k + 4) * (size @ np.sqrt(found.squares))  # round-off of the coordinates, root mean square
    length, products = _norm(s), _norm(omega)
    eta = float(np.linalg.norm(found.second - np.eye(len(V)))) + round_off.second * length**2
    eta += 2.0 * products * length + products**2
    if not eta <= WELL_KNOWN:
        return None
    lost = _norm(omega + (UNIT * (arithmetic.depth + 8) + round_off.weights) * s + size @ r_error)
    d = -(V.T @ found.mean)
    low = (yield Lowest(delta, log_z, d, ALL)) + float(r @ d)
    low -= UNIT * 2 * (k + 4) * float(np.abs(d) @ G)
    left = _norm(found.second @ found.mean - found.mean)
    return _bounded(found.mean, lost, eta, left, low, _norm(found.peak), whole=True)


def _orthogonalised(V: Array, S: Array, white: int) -> tuple[Index, Array, int] | None:
    """(order, V, white): more coordinates that are white, followed by what they leave of the others, not scaled.

    Coordinates become white in the order of their variances, which may differ by many orders of magnitude: those that
    are less than a billionth of the largest wait until the next pass has computed them again. ``None`` if round-off
    makes them singular.
    """
    factor, failed = dpotrf(S[:white, :white], lower=1) if white else (S[:0, :0], 0)
    if failed:
        return None
    L = np.tril(factor)
    A = solve_triangular(L, V[:white], lower=True) if white else V[:0]
    across = solve_triangular(L, S[:white, white:], lower=True) if white else S[:0, white:]
    rest = V[white:] - across.T @ A
    schur = S[white:, white:] - across.T @ across
    # what was mostly round-off of the last orthogonalisation is computed again before it counts
    known = np.flatnonzero(schur.diagonal() > RELIABLE * S.diagonal()[white:])
    largest = float(schur.diagonal()[known].max(initial=0.0))
    rank, order = 0, np.arange(len(rest))
    new = rest[:0]
    if largest > 0.0:
        factor, pivots, rank, _ = dpstrf(schur[np.ix_(known, known)] / largest, tol=SMALL_PIVOT, lower=1)
        chosen = known[pivots[:rank] - 1]
        order = np.append(chosen, np.setdiff1d(order, chosen))
        L = math.sqrt(largest) * np.tril(factor)[:rank, :rank]
        new = solve_triangular(L, rest[chosen], lower=True)
        rest = rest - (solve_triangular(L, schur[chosen], lower=True)).T @ new
    return np.append(np.arange(white), white + order), np.vstack([A, new, rest[order[rank:]]]), white + rank
