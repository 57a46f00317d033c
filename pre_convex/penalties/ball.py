"""What the penalties R‖δ‖_* of all norms share, and R = 0; the conjugate is the indicator of the ball ‖r‖ ≤ R."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .._internal.entropy import negative_kl, safe_log
from .._internal.linear_algebra import EPS, null_directions, positive_variances, solve_psd
from .._internal.typing import Array
from ..errors import SolveError
from .norms import Norm

if TYPE_CHECKING:
    from ..certificate.lift import Lift, LiftByPasses

__all__ = ["NEGLIGIBLE_GAP", "BallPenalty", "NoPenalty", "NormPenalty"]

#: once the gap is this small, no better bound is sought
NEGLIGIBLE_GAP = 1e-12


class BallPenalty:
    """g(δ) = R‖δ‖_*; its conjugate is zero on the ball ‖r‖ ≤ R and infinite elsewhere."""

    def __init__(self, norm: Norm, radius: float) -> None:
        self.norm, self.radius = norm, radius

    def start(self, k: int) -> Array:
        """Zero."""
        return np.zeros(k)

    def shorten(self, delta: Array, null: Array) -> Array:
        """δ without its component along the null directions."""
        return delta - null @ (null.T @ delta)

    def value(self, delta: Array) -> float:
        """R‖δ‖_*."""
        return self.radius * self.norm.dual(delta) if self.radius else 0.0

    def violation(self, delta: Array) -> float:
        """Zero: there are no constraints."""
        return 0.0

    def provably_zero(self, r: Array, slack: Array | float) -> NDArray[np.bool_]:
        """Coordinates that are zero in every optimal δ, if the optimal residual is within ``slack`` of r.

        ``slack`` is a bound for each coordinate. Only an ℓ1 penalty has such coordinates.
        """
        return np.zeros(r.size, dtype=bool)

    def gap(self, delta: Array, r: Array, lift: Lift | LiftByPasses) -> float:
        """Smallest g(δ) − ⟨r', δ⟩ + KL(μ' ‖ μ) over the trial residuals r' that a lift reaches."""
        g, best = self.value(delta), np.inf
        for trial in self.trial_residuals(delta, r, lift.scatter):
            lifted = lift.cost(r - trial)
            if lifted is not None:
                cost, remainder = lifted
                slack = max(g - float(trial @ delta), 0.0) + float(remainder @ np.abs(delta))
                best = min(best, slack + cost)
            if best <= NEGLIGIBLE_GAP:
                break
        return best

    def bound(self, r: Array, delta: Array, lift: Lift, log_base: Array) -> float:
        """Largest D(μ') over lifts of weights other than μ(δ); −inf if none is feasible."""
        best = -np.inf
        if np.any(log_base[lift.mu > 0.0] == -np.inf):  # a lift only rescales weights, and these must be zero
            return best
        for trial in self.trial_residuals(delta, r, lift.scatter):
            lifted = lift.correction(r - trial)
            if lifted is not None:  # a negative weight makes the value −inf
                weights = lift.mu * (1.0 + lifted.c)
                weights = weights / weights.sum()
                positive = weights > 0.0
                slope = np.where(positive, log_base - safe_log(np.where(positive, weights, 1.0)), 0.0)
                multipliers = np.abs(delta) + 2.0 * np.abs(lift.multiplier(slope))
                round_off = float((lifted.remainder + 4.0 * EPS * lift.centred_size) @ multipliers)
                best = max(best, negative_kl(weights, log_base) - round_off)
        return best

    def trial_residuals(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """Residuals r' to lift to: projections of r + tδ on the ball; t = 0 is nearest to r, large t aligns with δ."""
        if not self.radius:
            return [np.zeros_like(r)]
        length = float(np.linalg.norm(delta)) or 1.0
        aligned = 1e8 * self.radius / length
        factors = (0.0, np.trace(H) / len(H), H.diagonal(), aligned)
        trials = [self.project(r + t * delta) for t in factors]
        fixed = null_directions(H)  # along these no lift moves the moment
        if fixed.shape[1]:
            trials = [p for p in (self._project_along(p, r, fixed) for p in trials) if p is not None]
        return trials

    def project(self, point: Array, variances: Array | None = None) -> Array:
        """Projection on the ball, in the metric of the variances if given; never outside it by round-off."""
        if variances is None:
            point = self.norm.project(point, self.radius)
        else:
            point = self.norm.project_weighted(point, self.radius, variances)
        size = self.norm(point)
        return point * (self.radius / size) if size > self.radius else point

    def _project_along(self, point: Array, r: Array, fixed: Array) -> Array | None:
        """A point of the ball near ``point`` that agrees with r along fixed directions, by alternating projections."""
        for _ in range(30):
            point = point + fixed @ (fixed.T @ (r - point))
            excess = self.norm(point) - self.radius
            if excess <= 0.0:
                return point
            point = self.norm.project(point, max(self.radius - 2.0 * excess, 0.0))
        return None


class NoPenalty(BallPenalty):
    """R = 0: g is zero, and its conjugate is finite only at r = 0."""

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """δ − H⁺ gradient."""
        return delta - solve_psd(H, gradient)


class NormPenalty(BallPenalty):
    """R‖δ‖_* with R > 0; subclasses implement the Newton step."""

    @abstractmethod
    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """The step [STEP]."""

    def trial_residuals(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """The residual r − H(x − δ) expected after the step x comes first."""
        return [*self._expected_residual(delta, r, H), *super().trial_residuals(delta, r, H)]

    def _expected_residual(self, delta: Array, r: Array, H: Array) -> list[Array]:
        """That residual, projected on the ball; an empty list if there is no step."""
        try:
            x = self.step(delta, -r, H)
        except SolveError:
            return []
        with np.errstate(over="ignore", invalid="ignore"):  # a step may be too long for its product with H
            residual = r - H @ (x - delta)
        if not np.all(np.isfinite(residual)):
            return []
        # to get back into the ball, change columns that a lift moves easily
        return [self.project(residual, positive_variances(H))]
