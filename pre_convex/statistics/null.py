"""Tests of a given δ: by the score there [SCORE], and by the rise of ℓ from its minimum [RISE].

A Wald interval uses the noise at δ̂ and a linear approximation there. With heavy weights or many features both change
on the way to the end of the interval, so these tests use the noise at the tested value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from .._internal.linear_algebra import solve_psd
from .._internal.threads import single_threaded_blas
from .._internal.typing import Array
from .influence import Influence, odds
from .small_samples import joint_degrees_of_freedom, quadratic_p_value, whitening
from .tilted import TiltedProblem
from .weighted_chi2 import p_value_text, weighted_chi2_sf

__all__ = ["Null", "ScoreTest", "at_null", "noise", "rise_test", "score_rows", "score_test"]


@dataclass(frozen=True)
class ScoreTest:
    """Result of the score test of a value of δ.

    Attributes
    ----------
    statistic : float
        T² = g'V⁻¹g for the score g = b − F'μ(δ) at the tested δ, with its covariance V there.
    df : int
        Degrees of freedom: the rank of V.
    noise_df : float
        Degrees of freedom of V itself [DF]; infinite for rows that are read block by block.
    p_value : float
        Probability of a statistic at least this large if the hypothesis is true, from Hotelling's T² distribution.
    """

    statistic: float
    df: int
    noise_df: float
    p_value: float

    def __str__(self) -> str:
        law = f"chi2({self.df})" if np.isinf(self.noise_df) else f"T2({self.df}, {self.noise_df:.0f})"
        return f"score {law} = {self.statistic:.4g}, {p_value_text(self.p_value)}"


@dataclass(frozen=True, eq=False)
class Null:
    """A hypothetical δ.

    Attributes
    ----------
    delta : ndarray of shape (k,)
        δ.
    log_z : float
        ℓ(δ), for features relative to the target.
    mu : ndarray of shape (n_q,)
        Weights μ(δ).
    score : ndarray of shape (k,)
        g = b − F'μ.
    centred : ndarray of shape (n_q, k)
        F minus its mean under μ.
    hessian : ndarray of shape (k, k)
        Covariance of F under μ.
    """

    delta: Array
    log_z: float
    mu: Array
    score: Array
    centred: Array
    hessian: Array


def at_null(tilted: TiltedProblem, delta: Array) -> Null:
    """Moments at another δ, for rows in memory."""
    problem = tilted.problem
    f = problem.features_q - problem.target
    z = problem.log_base + f @ delta
    top = float(z.max())
    mu = np.exp(z - top)
    mass = float(mu.sum())
    mu /= mass
    mean = mu @ f
    g = f - mean
    return Null(delta, top + float(np.log(mass)), mu, -mean, g, (g * mu[:, None]).T @ g)


def score_rows(tilted: TiltedProblem, null: Null, power: float) -> Array:
    """Influence of every row on the score at δ, divided by one minus its weight to a power [SCORE]."""
    problem = tilted.problem
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    w = np.exp(problem.log_weights_p)
    p = _enlarged(w, power)[:, None] * (problem.features_p - problem.target)
    q = _enlarged(null.mu, power)[:, None] * null.centred
    return p - q if problem.paired else np.concatenate([p, -q])


def _enlarged(weights: Array, power: float) -> Array:
    """w / (1 − w)^power."""
    return np.asarray(weights ** (1.0 - power) * odds(weights) ** power)


@single_threaded_blas()
def score_test(tilted: TiltedProblem, delta: Array, *, leave_out: bool = False) -> ScoreTest:
    """Score test of δ.

    Parameters
    ----------
    tilted : TiltedProblem
        The problem at its solution.
    delta : array of shape (k,)
        The tested δ.
    leave_out : bool, default False
        Whether the variance is the sum of squared changes when rows are left out; otherwise it is without bias for
        equal weights, as at δ = 0.
    """
    noise_df = np.inf
    if tilted.by_row:
        null = at_null(tilted, delta)
        rows = score_rows(tilted, null, 1.0 if leave_out else 0.5)
        V, g = rows.T @ rows, null.score
        T = whitening(V)
        noise_df = joint_degrees_of_freedom(rows, T)
    else:
        there = tilted.at(delta)
        g, q = there.residual, there.q
        shift = np.outer(q.squares_sum, g)  # the sums are relative to b, and F'μ is b − g
        V = tilted.p.squares_second + q.squares_second + shift + shift.T + q.squares * np.outer(g, g)
        T = whitening(V)
    statistic, df = float(np.square(T.T @ g).sum()), T.shape[1]
    return ScoreTest(statistic, df, noise_df, quadratic_p_value(statistic, df, noise_df))


@single_threaded_blas()
def rise_test(tilted: TiltedProblem, influence: Influence, delta: Array) -> float:
    """p-value of δ from the rise 2(ℓ(δ) − ℓ(δ̂)), a weighted χ² with the noise half-way from δ̂ to δ [RISE]."""
    assert influence.rows is not None
    null = at_null(tilted, delta)
    rows = score_rows(tilted, null, 1.0)
    here, there = noise(influence.H, influence.score), noise(null.hessian, rows.T @ rows)
    size = np.sqrt(np.sort(here) * np.sort(there))
    size = size[size > 1e-10 * size.max(initial=0.0)]
    if not size.size:
        return 1.0
    p = weighted_chi2_sf(2.0 * max(null.log_z - tilted.value, 0.0), size)
    df = [joint_degrees_of_freedom(r, whitening(r.T @ r)) for r in (influence.rows, rows)]
    return quadratic_p_value(float(chdtri(size.size, p)), size.size, float(np.sqrt(df[0] * df[1])))


def noise(H: Array, V: Array) -> Array:
    """Variances of the independent parts of g'H⁻¹g: the eigenvalues of H⁻¹V."""
    return np.asarray(np.maximum(np.linalg.eigvals(solve_psd(H, V)).real, 0.0))
