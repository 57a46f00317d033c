"""Linear constraints on δ: a Newton step is a quadratic program in k variables, solved by an active-set method."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._internal.linear_algebra import EPS, eigen_directions, solve_psd
from .._internal.typing import Array, Index
from ..errors import SolveError
from .penalty import Trial, UserTerms

__all__ = ["LinearConstraints"]

#: relative violation up to which a step counts as feasible; a certificate accepts ten times that
FEASIBLE = 1e-9
#: multipliers above minus this count as zero, relative to the largest and to the gradient
AGREEMENT = 1e-9
#: limit on the corrections of the active rows: a wrong choice takes a few of them, and more do not help
CHANGES = 20
#: singular values of the active rows below this fraction of the largest count as zero
RANK_TOLERANCE = 1e-12
#: slope along a direction without curvature that counts as round-off, in standard deviations of the features
NO_SLOPE = 1e-9
#: curvature assumed along a direction without any, relative to the features' variances, when the active rows are chosen
FLAT = 1e-8
#: relaxation of inequalities when the active rows are chosen, relative to the size of their terms: constraints that
#: leave a single point, such as d <= 1 and d >= 1, must not contradict each other by round-off
RELAXED = 1e-12
#: round-off of a sum, relative to the size of its terms
ROUND_OFF = 8.0 * EPS


class _Face(NamedTuple):
    """Points where some rows N hold with equality: N⁺ is their pseudo-inverse, Z a basis of their null space."""

    inverse: Array
    Z: Array


class LinearConstraints(UserTerms):
    """g(δ) = 0 where A δ ≤ h and E δ = f, infinite elsewhere.

    Multipliers bound its conjugate: g*(A'λ + E'ν) ≤ ⟨h, λ⟩ + ⟨f, ν⟩ for any λ ≥ 0 and any ν.

    Parameters
    ----------
    M : array of shape (m, k)
        Rows of E, followed by those of A.
    limit : array of shape (m,)
        f, followed by h; entries of h may be infinite.
    equalities : int
        Number of rows of E.
    scale : array of shape (k,)
        Standard deviations of the features; coefficients of δ are measured in units of their inverse.
    """

    def __init__(self, M: Array, limit: Array, equalities: int, scale: Array) -> None:
        is_equality = np.arange(limit.size) < equalities
        binding = is_equality | (limit < np.inf)
        # largest coefficient of a row about one, in units of δ; powers of two keep all digits
        largest = np.max(np.abs(M[binding]) / scale, axis=1, initial=0.0)
        unit = np.exp2(np.round(np.log2(np.where(largest > 0.0, largest, 1.0))))
        self.M, self.limit = M[binding] / unit[:, None], limit[binding] / unit
        self.equalities = np.flatnonzero(is_equality[binding])
        self.inequalities = np.flatnonzero(~is_equality[binding])
        self.scale = scale
        self._equality_face = self._face(self.equalities)
        # inequalities that the equalities do not already decide
        reduced = np.linalg.norm(self.M @ self._equality_face.Z, axis=1)
        self._open = self.inequalities[reduced[self.inequalities] > RANK_TOLERANCE]

    def start(self, k: int) -> Array:
        """Zero, or the shortest feasible point in units of the features; :class:`SolveError` if there is none."""
        zero = np.zeros(k)
        return zero if self.violation(zero) == 0.0 else self.step(zero, zero, np.diag(self.scale**2))

    def value(self, delta: Array) -> float:
        """Zero."""
        return 0.0

    def violation(self, delta: Array) -> float:
        """Largest violation, relative to a constraint's limit and terms; in units of the features if they are zero."""
        return float(np.max(self._violations(delta), initial=0.0))

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Minimiser of the quadratic model under the constraints; active bounds hold exactly."""
        return self._solve(delta, gradient, H)[0]

    def exact(self, k: int) -> Index:
        """All."""
        return np.arange(k)

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """r' = A'λ + E'ν, with slack ⟨λ, h − Aδ⟩ + ⟨ν, f − Eδ⟩.

        To second order, the multipliers of a step minimise the gap. Slack of the wrong sign does not lower it: that is
        a violation.
        """
        try:
            x, multipliers = self._solve(delta, -r, H)
        except SolveError:
            return None
        multipliers[self.inequalities] = np.maximum(multipliers[self.inequalities], 0.0)
        trial, change = multipliers @ self.M, H @ (x - delta)
        round_off = delta.size * ROUND_OFF * (np.abs(r) + np.abs(multipliers) @ np.abs(self.M))
        # they agree except for round-off, or for multipliers that were negative; at a vertex the change is zero, and
        # weights far from uniform may be unable to move by the round-off
        if np.all(np.abs(r - trial - change) <= round_off):
            trial = r - change
        slack = self.limit - self.M @ delta
        slack[self.equalities] = np.abs(slack[self.equalities])
        terms = np.abs(self.limit) + np.abs(self.M) @ np.abs(delta)
        complementarity = float(np.abs(multipliers) @ (np.maximum(slack, 0.0) + ROUND_OFF * terms))
        return Trial(trial, complementarity + float(round_off @ np.abs(delta)), round_off)

    def _violations(self, x: Array) -> Array:
        """Relative violation of each row, negative where there is slack."""
        excess = self.M @ x - self.limit
        excess[self.equalities] = np.abs(excess[self.equalities])
        size = np.maximum(np.where(self.limit == 0.0, 1.0, np.abs(self.limit)), np.abs(self.M) @ np.abs(x))
        return np.where(np.isfinite(self.limit), excess / size, np.inf)

    def _solve(self, delta: Array, gradient: Array, H: Array) -> tuple[Array, Array]:
        """(x, multipliers) of the step: choose the active rows, then solve a linear system on their face.

        If H is so ill-conditioned that the choice was wrong, rows are dropped and added one at a time.
        """
        if not np.all(np.isfinite(self.limit)):
            raise SolveError("Newton step: the constraints are infeasible, with an infinite limit")
        missing = self.limit - self.M @ delta
        inverse, Z = self._equality_face
        move = inverse @ missing[self.equalities]
        G, terms = self.M[self._open], np.abs(self.limit) + np.abs(self.M) @ (np.abs(delta) + np.abs(move))
        slack = (missing + RELAXED * terms)[self._open] - G @ move
        chosen = _active_rows(Z.T @ (gradient + H @ move), _curvature(H, Z), G @ Z, slack)
        active = np.zeros(self.limit.size, dtype=bool)
        active[self.equalities] = active[self._open[chosen]] = True
        for _ in range(CHANGES):
            x, multipliers = self._on_face(delta, gradient, H, np.flatnonzero(active))
            pull = np.where(active, multipliers, 0.0)
            pull[self.equalities] = 0.0
            largest = max(np.max(np.abs(gradient) / self.scale), np.max(np.abs(multipliers), initial=0.0))
            violations = self._violations(x)
            if np.min(pull, initial=0.0) < -AGREEMENT * largest:
                active[np.argmin(pull)] = False
            elif np.max(violations, initial=0.0) > FEASIBLE:
                worst = np.argmax(violations)
                if active[worst]:  # the active rows contradict each other
                    break
                active[worst] = True
            else:
                x = self._with_exact_bounds(x, active)
                if self.violation(x) > FEASIBLE:
                    break
                return x, multipliers
        raise SolveError("Newton step: no delta satisfies all constraints: they are infeasible")

    def _on_face(self, delta: Array, gradient: Array, H: Array, active: Index) -> tuple[Array, Array]:
        """(x, multipliers) of the step on the face where the active rows hold with equality."""
        inverse, Z = self._face(active) if active.size > self.equalities.size else self._equality_face
        move = inverse @ (self.limit - self.M @ delta)[active]
        if Z.shape[1]:  # the face is more than a point
            move = move - Z @ solve_psd(_curvature(H, Z), Z.T @ (gradient + H @ move))
        x = delta + move
        x += inverse @ (self.limit - self.M @ x)[active]  # remove the round-off of the sum
        multipliers = np.zeros(self.limit.size)
        multipliers[active] = -inverse.T @ (gradient + H @ move)
        return x, multipliers

    def _face(self, rows: Index) -> _Face:
        """The face of some rows."""
        U, singular, V = np.linalg.svd(self.M[rows] / self.scale)
        rank = int(np.count_nonzero(singular > RANK_TOLERANCE * singular.max(initial=0.0)))
        inverse = (V[:rank].T / singular[:rank]) @ U[:, :rank].T
        return _Face(inverse / self.scale[:, None], V[rank:].T / self.scale[:, None])

    def _with_exact_bounds(self, x: Array, active: NDArray[np.bool_]) -> Array:
        """x with coefficients set to their bounds where those are active or exceeded by round-off."""
        holds = (active | (self.M @ x > self.limit)) & (np.count_nonzero(self.M, axis=1) == 1)
        column = np.argmax(self.M[holds] != 0.0, axis=1)
        x[column] = self.limit[holds] / self.M[holds, column]
        return x


def _curvature(H: Array, Z: Array) -> Array:
    """Z'HZ with zeros in columns that are only round-off."""
    inner, size = Z.T @ H @ Z, np.abs(Z)
    noise = inner.diagonal() <= len(H) * ROUND_OFF * np.sum(size * (np.abs(H) @ size), axis=0)
    inner[noise, :] = inner[:, noise] = 0.0
    return np.asarray(inner)


def _active_rows(gradient: Array, H: Array, G: Array, slack: Array) -> Index:
    """Rows with a positive multiplier at the minimiser of ⟨gradient, z⟩ + ½ z'Hz where G z ≤ slack.

    In coordinates y where H is the identity, the minimiser is the point of the polyhedron nearest to the unconstrained
    one. Non-negative least squares finds it (least-distance programming, Lawson and Hanson, chapter 23).
    """
    from scipy.optimize import nnls  # slow to import, and most solves do without

    if not slack.size:
        return np.zeros(0, dtype=int)
    directions, curvature = eigen_directions(H)
    slope, flat = directions.T @ gradient, curvature == 0.0
    slope[flat & (np.abs(slope) <= NO_SLOPE)] = 0.0
    root = np.sqrt(np.where(flat, FLAT, curvature))
    B = G @ directions / root
    length = np.linalg.norm(B, axis=1)
    B = B / length[:, None]
    nearest = -slope / root
    excess = B @ nearest - RELAXED * np.abs(B) @ np.abs(nearest) - slack / length
    if not np.any(excess > 0.0):
        return np.zeros(0, dtype=int)
    try:
        multipliers, _ = nnls(np.vstack([-B.T, excess / excess.max()]), np.append(np.zeros(root.size), 1.0))
    except RuntimeError as error:
        raise SolveError(f"Newton step: the active constraints were not found: {error}") from error
    return np.flatnonzero(multipliers > 0.0)
