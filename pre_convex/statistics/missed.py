"""[MISSED]: a score test of products of columns that a fit does not have as features.

Features of single columns cannot detect a change of the correlation between columns. If the model is right, the mean
of a product h = x_i x_j is the same under w and under μ; its difference is compared with its standard error, for which
h is first regressed on the features, because δ was estimated.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from .._internal.linear_algebra import solve_psd
from .._internal.typing import Array
from .tilted import TiltedProblem

__all__ = ["missed_products", "product_warnings"]

#: probability of a warning if nothing is missed; fewest effective rows under the weights, and smallest share of those
#: under the base weights, for the normal approximation of means of products
LEVEL, MIN_ESS, MIN_SHARE = 1e-3, 100.0, 0.3
#: rows times products times features up to which the test is made
CHEAP = 200_000_000
#: most products that a warning names
MOST_NAMES = 3


def missed_products(tilted: TiltedProblem, d: int, squares: bool) -> tuple[list[tuple[int, int]], Array]:
    """z-scores of the products of columns, which are the first d features of the fit.

    Parameters
    ----------
    tilted : TiltedProblem
        A problem with both samples in memory at the δ of radius 0.
    d : int
        Number of columns.
    squares : bool
        Whether to test squares too.

    Returns
    -------
    pairs : list of tuple of int
        The columns of each product.
    z : ndarray
        Difference of its means under w and under μ, in standard errors; zero where it is a combination of the features.

    Examples
    --------
    >>> from pre_convex import RatioProblem, solve
    >>> rng = np.random.default_rng(0)
    >>> x_q = rng.normal(size=(500, 2))
    >>> x_p = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.5], [0.5, 1.0]], 500)
    >>> problem = RatioProblem.from_samples(x_p, x_q)
    >>> pairs, z = missed_products(TiltedProblem(problem, solve(problem).delta), 2, squares=False)
    >>> pairs, bool(z[0] > 5.0)
    ([(0, 1)], True)
    """
    problem, mu = tilted.problem, tilted.mu
    assert problem.features_p is not None
    assert problem.log_weights_p is not None
    w = np.exp(problem.log_weights_p)
    F_p, F_q = problem.features_p - problem.target, problem.features_q - problem.target
    mean = mu @ F_q
    H = (mu[:, None] * (F_q - mean)).T @ (F_q - mean)
    spread = np.sqrt(H.diagonal()[:d])
    spread[spread == 0.0] = 1.0
    X_p, X_q = F_p[:, :d] / spread, F_q[:, :d] / spread
    pairs, scores = [], []
    for i in range(d):
        js = np.arange(i if squares else i + 1, d)
        if not js.size:
            continue
        h_p, h_q = X_p[:, [i]] * X_p[:, js], X_q[:, [i]] * X_q[:, js]
        difference = w @ h_p - mu @ h_q
        centred_p, centred_q = h_p - w @ h_p, h_q - mu @ h_q
        slopes = solve_psd(H, (mu[:, None] * (F_q - mean)).T @ centred_q)
        p = w[:, None] * (centred_p - F_p @ slopes)
        q = mu[:, None] * (centred_q - (F_q - mean) @ slopes)
        p, q = p / (1.0 - w)[:, None], q / (1.0 - mu)[:, None]  # a heavy row hides its own residual
        variance = np.square(p - q).sum(axis=0) if problem.paired else (p**2).sum(axis=0) + (q**2).sum(axis=0)
        size = np.square(w[:, None] * centred_p).sum(axis=0) + np.square(mu[:, None] * centred_q).sum(axis=0)
        known = variance > 1e-16 * size  # not a combination of the features
        scores.append(np.where(known, difference / np.sqrt(np.where(known, variance, 1.0)), 0.0))
        pairs += [(i, int(j)) for j in js]
    return pairs, np.concatenate(scores) if scores else np.zeros(0)


def product_warnings(tilted: TiltedProblem, d: int, squares: bool) -> list[str]:
    """A warning if a product of columns differs between the samples by more than chance, after a fit without it."""
    problem = tilted.problem
    if problem.log_weights_p is None or not tilted.in_memory or not problem.exact or tilted.recession:
        return []
    count = d * (d + 1) // 2 if squares else d * (d - 1) // 2
    w = np.exp(problem.log_weights_p)
    if not count or (problem.n_q + w.size) * count * problem.k > CHEAP:
        return []
    base = np.exp(problem.log_base)
    ess_p, ess_base, ess_mu = (1.0 / float(v @ v) for v in (w, base, tilted.mu))
    if min(ess_p, ess_mu) < MIN_ESS or ess_mu < MIN_SHARE * ess_base:
        return []
    pairs, z = missed_products(tilted, d, squares)
    limit = float(norm.isf(0.5 * LEVEL / count))
    order = [one for one in np.argsort(-np.abs(z)) if abs(z[one]) > limit]
    if not order:
        return []
    names = problem.feature_names
    shown = [
        f"{names[i]}^2" if i == j else f"{names[i]}*{names[j]}" for i, j in (pairs[one] for one in order[:MOST_NAMES])
    ]
    more = f" and {len(order) - MOST_NAMES} more" if len(order) > MOST_NAMES else ""
    return [
        f"{', '.join(shown)}{more}: the mean under the weights is not that of the p sample (z = {z[order[0]]:.1f}); "
        "these features miss that: use features='quadratic' for products of columns, or features='auto'"
    ]
