"""Targets near, on and beyond a face of the unit cube, where the hull is known exactly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import exp

import numpy as np
from scipy.optimize import brentq

from pre_convex._internal.entropy import log_normalise
from pre_convex._internal.typing import Array
from pre_convex.problem import RatioProblem

from ..cases import Case, Truth, planted

TITLE = "targets 1e-1 to 1e-6 inside and outside the hull, and on it"
VERSION = 1

DISTANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
#: distances to the face, by number of columns and codimension of the face
FACES = {(2, 1): DISTANCES, (2, 2): (1e-2, 1e-4, 1e-6), (5, 1): (1e-2, 1e-4, 1e-6), (5, 3): (1e-2, 1e-4, 1e-6)}


def cases() -> Iterator[Case]:
    """Faces of codimension one and more; then targets outside the hull that a radius makes feasible."""
    for (k, codimension), distances in FACES.items():
        F, log_base, delta = _cube(k, codimension)
        for d in distances:
            yield _inside(F, log_base, delta, codimension, d)
        yield _on(F, log_base, delta, codimension)
        for d in distances:
            yield _outside(F, log_base, codimension, d)
    F, log_base, delta = _cube(5, 1)
    delta = np.append(4.0, 0.1 * delta[1:])
    for norm in (1, 2, np.inf):
        yield planted(f"reached-norm{norm:g}", F, delta, log_base, radius=0.3, norm=norm)


def _cube(k: int, codimension: int) -> tuple[Array, Array, Array]:
    """Features, log base weights and δ: the corners, rows on the face where the first columns are one, rows inside."""
    rng = np.random.default_rng([3, k, codimension])
    corners = np.array(list(product((0.0, 1.0), repeat=k)))
    on_face, inside = rng.uniform(size=(20, k)), rng.uniform(size=(300, k))
    on_face[:, :codimension] = 1.0
    F = np.concatenate([corners, on_face, inside])
    return F, 0.5 * rng.normal(size=len(F)), rng.normal(size=k)


def _inside(F: Array, log_base: Array, delta: Array, codimension: int, d: float) -> Case:
    """A planted case whose target is at distance d from the face, in the closest of its columns."""
    untargeted = RatioProblem(np.zeros(F.shape[1]), F, log_base)
    delta = delta.copy()

    def excess(log_delta: float) -> float:
        delta[:codimension] = exp(log_delta)
        return float(1.0 - untargeted.gradient(delta)[:codimension].max()) - d

    delta[:codimension] = exp(brentq(excess, -8.0, 20.0, xtol=1e-14))
    return planted(f"inside-{_name(F, codimension)}-{d:.0e}", F, delta, log_base, distance=d)


def _on(F: Array, log_base: Array, delta: Array, codimension: int) -> Case:
    """The target is a weighted mean of the rows on the face."""
    rows = np.flatnonzero(np.all(F[:, :codimension] == 1.0, axis=1))
    mu = np.zeros(len(F))
    mu[rows] = np.exp(log_normalise(log_base[rows] + F[rows] @ delta))
    target = mu @ F
    target[:codimension] = 1.0  # without round-off of the sum
    problem = RatioProblem(target, F, log_base)
    return Case(f"on-{_name(F, codimension)}", problem, Truth.BOUNDARY, problem.dual_value(mu), facts={"distance": 0.0})


def _outside(F: Array, log_base: Array, codimension: int, d: float) -> Case:
    """Outside the hull, at Euclidean distance d from the face."""
    target = np.full(F.shape[1], 0.4)
    target[:codimension] = 1.0 + d / np.sqrt(codimension)
    problem = RatioProblem(target, F, log_base)
    return Case(f"outside-{_name(F, codimension)}-{d:.0e}", problem, Truth.INFEASIBLE, -np.inf, facts={"distance": -d})


def _name(F: Array, codimension: int) -> str:
    """Dimensions of the cube and of the face."""
    return f"k{F.shape[1]}-face{F.shape[1] - codimension}"
