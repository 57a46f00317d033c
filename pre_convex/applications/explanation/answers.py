"""Points around x and what the black box says about them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from ...arrays import as_count, as_scalar, column_names
from ...entropy import Array, exp
from ...errors import DataError
from .black_box import BlackBox
from .perturbations import Box, Neighbourhood, Perturbation, Points, dimensions, distance

__all__ = ["Answers", "ask", "neighbourhood"]


@dataclass(frozen=True, eq=False)
class Answers:
    """Features of points, logarithms of their proximity weights, and class probabilities.

    Attributes
    ----------
    z : ndarray of shape (n, k)
    log_weights : ndarray of shape (n,) or None
    P : ndarray of shape (n, classes)
    """

    z: Array
    log_weights: Array | None
    P: Array

    @property
    def weights(self) -> Array:
        """Proximity weights; the largest is one."""
        if self.log_weights is None:
            return np.ones(len(self.z))
        return exp(self.log_weights - self.log_weights.max())

    def sides(self, index: int) -> tuple[Array, Array]:
        """Probabilities of a class and of all others; the latter as a sum, which keeps what is tiny."""
        return self.P[:, index], np.clip(np.delete(self.P, index, axis=1).sum(axis=1), 0.0, 1.0)


def ask(box: BlackBox, near: Neighbourhood, n: int, kernel_width: Any, rng: np.random.Generator) -> Answers:
    """Draw n points and ask the black box about them."""
    z = near.draw(n, rng)
    return Answers(z, _proximity(z, near, kernel_width), box.around(near, z, rng))


def _proximity(z: Array, near: Neighbourhood, kernel_width: Any) -> Array | None:
    """−d²/2h² for every point."""
    if kernel_width is None:
        return None
    width = as_scalar(kernel_width, "kernel_width")
    if width <= 0.0:
        raise DataError(f"kernel_width: {width:g} is not positive; None weights all points alike")
    with np.errstate(over="ignore"):
        log_weights = np.asarray(-0.5 * np.square(distance(z, near.origin, near.unit) / width))
    if log_weights.max() == -np.inf:
        raise DataError(f"kernel_width: {width:g} leaves no point any weight; take a wider kernel")
    return log_weights


def neighbourhood(perturbation: Any, x: Any, n: Any) -> tuple[Neighbourhood, int, bool]:
    """The neighbourhood that a caller asks for, the number of points in it, and whether these are given."""
    n = as_count(n, "n", 2)
    if perturbation is None:
        if not isinstance(x, str):
            raise DataError(
                "perturbation: how far points may lie from x is not known; give a half-width, Box(data=...), "
                "Tabular(data) or another perturbation"
            )
        from .words import Words

        perturbation = Words()
    if isinstance(perturbation, type):
        raise DataError(f"perturbation: {perturbation.__name__} is a class; write {perturbation.__name__}(...)")
    recipe: Perturbation
    if hasattr(perturbation, "around"):
        recipe = perturbation
    elif column_names(perturbation) is not None or dimensions(perturbation) == 2:
        recipe = Points(perturbation)
    elif isinstance(perturbation, Real) or (dimensions(perturbation) == 0 and hasattr(perturbation, "__float__")):
        recipe = Box(perturbation)
    else:
        raise DataError("perturbation: is neither a perturbation, a half-width nor rows of points")
    given = isinstance(recipe, Points)
    near = recipe.around(x)
    return near, len(near.draw(0, np.random.default_rng(0))) if given else n, given
