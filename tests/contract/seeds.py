"""Random numbers: what they may be made from."""

from __future__ import annotations

import numpy as np

import pre_convex as pre

from .kinds import seed
from .rows import Row

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, size=(40, 1)), RNG.normal(size=(50, 1))
FIT = pre.KLIEP().fit(X_P, X_Q)

ROWS: list[Row] = [
    *seed("KLIEP", "random_state", lambda s: pre.KLIEP(random_state=s).fit(X_P, X_Q)),
    *seed("KLIEP.bootstrap", "rng", lambda s: FIT.bootstrap(3, rng=s)),
    *seed("conditions", "rng", lambda s: pre.conditions(FIT.problem_, FIT.delta_, 0.1, starts=2, rng=s)),
]
