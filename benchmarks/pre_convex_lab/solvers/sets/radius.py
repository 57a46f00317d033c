"""One problem, three norms, radii from zero to beyond the threshold where δ becomes zero."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pre_convex._internal.typing import Array
from pre_convex.problem import RatioProblem

from ..cases import Case, Truth, planted, subgradient

TITLE = "radii from 0 to beyond the zero threshold, norms 1, 2 and inf"
VERSION = 1

RADII = (1e-6, 1e-3, 0.1, 1.0)


def cases() -> Iterator[Case]:
    """Below the threshold δ is fixed and the target moves with the radius; from the threshold on, δ is zero."""
    rng = np.random.default_rng(7)
    F, log_base = rng.normal(size=(300, 4)), rng.normal(size=300)
    delta = np.array([0.8, -0.5, 0.3, -0.2])
    yield planted("zero", F, delta, log_base, share=0.0)
    for norm in (1, 2, np.inf):
        answer = {1: np.array([0.8, -0.8, 0.3, 0.0]), 2: delta, np.inf: np.array([0.8, -0.5, 0.0, 0.0])}[norm]
        for radius in RADII:
            yield planted(f"norm{norm:g}-{radius:.0e}", F, answer, log_base, radius=radius, norm=norm)
        for share in (1.0, 1.01, 2.0):
            yield _zero(F, log_base, delta, norm, share)


def _zero(F: Array, log_base: Array, delta: Array, norm: float, share: float) -> Case:
    """The radius is ``share`` times the distance of the target from the weighted mean of the rows: δ = 0."""
    untargeted = RatioProblem(np.zeros(4), F, log_base)
    radius = 0.4
    target = untargeted.gradient(np.zeros(4)) + radius / share * subgradient(delta, norm)
    problem = RatioProblem(target, F, log_base, radius=radius, norm=norm)
    name = "threshold" if share == 1.0 else f"beyond-{share:g}"
    return Case(f"norm{norm:g}-{name}", problem, Truth.OPTIMAL, 0.0, np.zeros(4), {"share": share})
