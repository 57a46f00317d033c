"""Penalties on some of the coordinates; the others are unpenalised or left out.

The intercept of a divergence other than KL is free, and so are features whose own radius is zero; features whose own
radius is infinite are left out. A step first minimises over the free coordinates, which leaves a step of the inner
penalty with a Schur complement as curvature.
"""

from __future__ import annotations

import numpy as np

from .._internal.linear_algebra import schur_complement, solve_psd
from .._internal.typing import Array, Index
from .penalty import Penalty, Trial

__all__ = ["PartialPenalty"]


class PartialPenalty:
    """g(x) = inner(scale ∘ x[on]), with the coordinates ``free`` unpenalised and all others fixed at zero.

    Parameters
    ----------
    inner : Penalty
        Penalty on the coordinates ``on``.
    on, free : ndarray of int
        Coordinates that are penalised, and those that are not.
    scale : ndarray, optional
        Factors of the penalised coordinates; ones by default.
    """

    def __init__(self, inner: Penalty, on: Index, free: Index, scale: Array | None = None) -> None:
        self.inner, self.on, self.free = inner, on, free
        self.scale = np.ones(on.size) if scale is None else scale
        self.homogeneous = inner.homogeneous
        self.used = np.concatenate([on, free])

    def _join(self, k: int, on: Array, free: Array) -> Array:
        x = np.zeros(k)
        x[self.on], x[self.free] = on, free
        return x

    def start(self, k: int) -> Array:
        """The inner start; zero elsewhere."""
        return self._join(k, self.inner.start(self.on.size) / self.scale, np.zeros(self.free.size))

    def value(self, delta: Array) -> float:
        """Inner value; infinite if a coordinate is used that is left out."""
        if np.any(np.delete(delta, self.used)):
            return np.inf
        return self.inner.value(self.scale * delta[self.on])

    def violation(self, delta: Array) -> float:
        """Inner violation."""
        return self.inner.violation(self.scale * delta[self.on])

    def unpenalised(self, k: int) -> Index:
        """The free coordinates, and those that the inner penalty does not depend on."""
        return np.concatenate([self.free, self.on[self.inner.unpenalised(self.on.size)]])

    def exact(self, k: int) -> Index:
        """The free coordinates, and those whose moments the inner penalty matches."""
        return np.concatenate([self.free, self.on[self.inner.exact(self.on.size)]])

    def _reduced(self, r: Array, H: Array) -> tuple[Array, Array, Array]:
        """(r, H) of the inner penalty after minimising over the free coordinates, and H_ff⁺ [H_fo, r_f]."""
        on, free = self.on, self.free
        cross = H[np.ix_(free, on)]
        solved = solve_psd(H[np.ix_(free, free)], np.column_stack([cross, r[free]])) if free.size else cross
        inner_r = r[on] - cross.T @ solved[:, -1] if free.size else r[on]
        S = schur_complement(H[np.ix_(self.used, self.used)], np.arange(on.size))
        return inner_r / self.scale, S / self.scale / self.scale[:, None], solved

    def _complete(self, delta: Array, inner_d: Array, solved: Array) -> Array:
        """The whole direction of an inner one: free coordinates follow at their minimum."""
        d = inner_d / self.scale
        follow = solved[:, -1] - solved[:, :-1] @ d if self.free.size else np.zeros(0)
        return self._join(delta.size, d, follow)

    def step(self, delta: Array, gradient: Array, H: Array) -> Array:
        """Inner step [STEP] with the Schur complement of H, then the free coordinates."""
        inner_r, S, solved = self._reduced(-gradient, H)
        inner_delta = self.scale * delta[self.on]
        x = self.inner.step(inner_delta, -inner_r, S) if self.on.size else inner_delta
        return delta + self._complete(delta, x - inner_delta, solved)

    def trial(self, delta: Array, r: Array, H: Array, margin: Array) -> Trial | None:
        """Inner trial; zero in free coordinates. In those left out any residual will do."""
        inner_r, S, _ = self._reduced(r, H)
        found = self.inner.trial(self.scale * delta[self.on], inner_r, S, margin[self.on] / self.scale)
        if found is None:
            return None
        none = np.zeros(self.free.size)
        residual, error = (self._join(delta.size, self.scale * x, none) for x in (found.residual, found.error))
        return Trial(residual, found.slack, error)
