"""Rows about seeds and random generators."""

from __future__ import annotations

import numpy as np

import pre_convex as pre
from pre_convex.statistics.bootstrap import bootstrap
from pre_convex.statistics.selection import automatic_radius, cross_validated_kernel, cross_validated_radius
from pre_convex.statistics.staged import part_radius, staged_features

from .applications import DETECTOR, explained
from .kinds import seed
from .rows import Row

RNG = np.random.default_rng(0)
X_P, X_Q = RNG.normal(0.3, 1.0, size=(40, 1)), RNG.normal(size=(50, 1))
FIT = pre.KLIEP().fit(X_P, X_Q)

ROWS: list[Row] = [
    *seed("KLIEP", "random_state", lambda s: pre.KLIEP(random_state=s).fit(X_P, X_Q)),
    *seed("KLIEP.bootstrap", "rng", lambda s: FIT.bootstrap(3, rng=s)),
    *seed("conditions", "rng", lambda s: pre.conditions(FIT.problem_, FIT.delta_, 0.1, starts=2, rng=s)),
    *seed("bootstrap", "rng", lambda s: bootstrap(FIT.problem_, FIT.delta_, 3, rng=s)),
    *seed("automatic_radius", "rng", lambda s: automatic_radius(FIT.problem_, rng=s)),
    *seed("cross_validated_radius", "rng", lambda s: cross_validated_radius(FIT.problem_, rng=s)),
    *seed("cross_validated_kernel", "rng", lambda s: cross_validated_kernel(pre.Kernel(), X_P, X_Q, None, None, rng=s)),
    *seed("MixtureKLIEP", "random_state", lambda s: pre.MixtureKLIEP(0.5, centres=9, random_state=s).fit(X_P, X_Q)),
    *seed("part_radius", "rng", lambda s: part_radius(FIT.problem_, np.array([True]), rng=s)),
    *seed("staged_features", "rng", lambda s: staged_features(X_P, X_Q, rng=s)),
    *seed("Detector.background", "rng", lambda s: DETECTOR.background(3, rng=s)),
    *seed("explain", "rng", lambda s: explained(rng=s)),
]
