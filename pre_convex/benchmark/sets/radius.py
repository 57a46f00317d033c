"""One problem, three norms, radii from zero to beyond the one from which δ is zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...entropy import Array
from ...problem import RatioProblem
from ..answers import planted, subgradient
from ..case import Case, Truth

TITLE = "radii from 0 to beyond the zero threshold, norms 1, 2 and inf"
VERSION = 1

RADII = (1e-6, 1e-3, 0.1, 1.0)


def cases() -> Iterator[Case]:
    """The answer stays and the target moves with the radius; at and beyond the threshold the answer is zero."""
    rng = np.random.default_rng(7)
    F, log_base = rng.normal(size=(300, 4)), rng.normal(size=300)
    delta = np.array([0.8, -0.5, 0.3, -0.2])
    yield planted("zero", F, delta, log_base, share=0.0)
    for norm in (1, 2, np.inf):
        at = {1: np.array([0.8, -0.8, 0.3, 0.0]), 2: delta, np.inf: np.array([0.8, -0.5, 0.0, 0.0])}[norm]
        for radius in RADII:
            yield planted(f"norm{norm:g}-{radius:.0e}", F, at, log_base, radius=radius, norm=norm)
        for share in (1.0, 1.01, 2.0):
            yield _zero(F, log_base, delta, norm, share)


def _zero(F: Array, log_base: Array, delta: Array, norm: float, share: float) -> Case:
    """A radius of ``share`` times the distance between the target and the mean of the rows: δ = 0."""
    bare = RatioProblem(np.zeros(4), F, log_base)
    radius = 0.4
    target = bare.gradient(np.zeros(4)) + radius / share * subgradient(delta, norm)
    problem = RatioProblem(target, F, log_base, radius=radius, norm=norm)
    name = "threshold" if share == 1.0 else f"beyond-{share:g}"
    return Case(f"norm{norm:g}-{name}", problem, Truth.OPTIMAL, 0.0, np.zeros(4), {"share": share})
