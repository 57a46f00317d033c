"""Problems with known answers: δ is chosen first and the target computed from it."""

from __future__ import annotations

import numpy as np

import pre_convex as pre
from pre_convex.benchmark.answers import planted as case_of


def planted(n=200, k=3, seed=0, radius=0.0, norm=2, strength=0.5, spread=1.0, features=None):
    """(problem, δ): the problem has exactly this answer, for any radius and norm."""
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(n, k)) if features is None else features
    k = F.shape[1]
    log_base = spread * rng.normal(size=len(F))
    delta = strength * rng.normal(size=k)
    if norm == np.inf:
        delta[1::2] = 0.0  # what an ℓ1 penalty leaves
    if norm == 1:
        delta[0] = np.abs(delta).max() * 1.5
    return case_of("planted", F, delta, log_base, radius, norm).problem, delta


def gaussian(n, seed, precision=1.0, shift=(0.6, -0.3)):
    """(x_p, x_q, log l_p, log l_q, δ*): Gaussian priors and likelihoods, whose posterior ratio is log-linear.

    Prior N(m, I) and likelihood N(y; x, I/τ) give the posterior N((m + τy)/(1 + τ), I/(1 + τ)), so the ratio of
    two such posteriors has δ* = (m_p + τ y_p) − (m_q + τ y_q).
    """
    rng = np.random.default_rng(seed)
    m_p, y_p, y_q = np.array(shift), np.array([0.2, 0.4]), np.array([-0.1, 0.1])
    x_p, x_q = m_p + rng.normal(size=(n, 2)), rng.normal(size=(n, 2))
    return x_p, x_q, pre.Gaussian(y_p, precision), pre.Gaussian(y_q, precision), m_p + precision * (y_p - y_q)
