"""Figures of the normal distribution of estimates: QQ plot and confidence ellipse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, ndtri

from .._internal.validation import MAX_ENTRY, as_fraction, as_matrix, as_numbers, as_vector, preview
from ..errors import DataError
from ..statistics.inference import Inference
from ..statistics.small_samples import quadratic_quantile
from .canvas import BLUE, GREY, LIGHT, ORANGE, axes_of, label, percent, position, set_legend, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ellipse_border", "plot_ellipse", "plot_qq"]

#: maximum number of points in a QQ plot; those in the tails are always drawn
MAX_POINTS = 3000


def plot_qq(z: Any, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Normal QQ plot of standardised values, with a pointwise band.

    The band is exact: the i-th smallest of n uniform values has a beta distribution. About 5 % of the points of a
    normal sample lie outside a 95 % band.

    Parameters
    ----------
    z : array of any shape
        Standardised values, such as (δ̂ − δ)/s.e. over repetitions.
    level : float, default 0.95
        Probability of the band at each point, between 0 and 1.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> plot_qq(np.random.default_rng(0).normal(size=200)).get_xlabel()
    'standard normal quantiles'
    """
    values = np.sort(as_vector(as_numbers(z, "z").ravel(), "z", limit=MAX_ENTRY))
    level = as_fraction(level, "level")
    n = len(values)
    i = np.arange(1, n + 1)
    if n > MAX_POINTS:
        tail = np.unique(np.geomspace(1, n / 2, MAX_POINTS // 2).astype(int))
        i = np.unique(np.concatenate([tail, n + 1 - tail]))
        values = values[i - 1]
    expected = ndtri((i - 0.5) / n)
    low, high = (ndtri(betaincinv(i, n + 1 - i, share)) for share in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    ax, is_new = axes_of(ax, 5.4, 5.4)
    ax.fill_between(expected, low, high, color=GREY, alpha=0.25, linewidth=0, label=f"{percent(level)} pointwise band")
    ends = np.array([expected[0], expected[-1]]) if n > 1 else np.array([-1.0, 1.0])
    ax.plot(ends, ends, color="black", linewidth=1.0, label="standard normal")
    size = 4.0 if n <= 300 else 2.5
    ax.plot(expected, values, "o", color=BLUE, markersize=size, markeredgewidth=0, label="values")
    ax.set(xlabel="standard normal quantiles", ylabel="quantiles of the values")
    ax.grid(color=LIGHT)
    ax.set_axisbelow(True)
    set_legend(ax)
    set_title(ax, is_new, f"Normal QQ plot of {n:,} value{'s' * (n > 1)}")
    return ax


def plot_ellipse(
    inference: Inference,
    pair: Sequence[int | str] = (0, 1),
    *,
    level: float = 0.95,
    points: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Joint confidence ellipse of two coefficients, with two degrees of freedom.

    Parameters
    ----------
    inference : Inference
        Inference of a fit, from ``fit.inference()``.
    pair : sequence of two int or str, default (0, 1)
        Indices or names of two different features.
    level : float, default 0.95
        Confidence level of the ellipse, between 0 and 1.
    points : array of shape (m, 2) or (m, k), optional
        Other estimates of the coefficients to compare with, such as those of ``fit.bootstrap()``.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> import pre_convex as pre
    >>> rng = np.random.default_rng(0)
    >>> fit = pre.KLIEP().fit(rng.normal(0.3, 1.0, (200, 2)), rng.normal(0.0, 1.0, (200, 2)))
    >>> plot_ellipse(fit.inference()).get_xlabel()
    'δ of x0'
    """
    if not isinstance(inference, Inference):
        raise DataError("inference", f"is a {type(inference).__name__}, not an Inference", "pass fit.inference()")
    problem = inference.problem
    is_pair = isinstance(pair, list | tuple) and len(pair) == 2
    chosen = [position(key, problem.feature_names, "pair") for key in pair] if is_pair else []
    if len(set(chosen)) != 2:
        raise DataError("pair", f"{preview(pair)} is not a pair of coefficients", "pass two different ones")
    level = as_fraction(level, "level")
    centre = inference.delta[chosen]
    V = inference.covariance[np.ix_(chosen, chosen)]
    hypothesis = np.zeros((2, problem.k))
    hypothesis[[0, 1], chosen] = 1.0
    border = centre[:, None] + ellipse_border(V, level, inference.wald_test(hypothesis).noise_df)
    ax, is_new = axes_of(ax, 5.4, 5.2)
    if points is not None:
        cloud = _cloud(points, chosen, problem.k)
        alpha = float(np.clip(120.0 / len(cloud), 0.15, 0.8))
        ax.scatter(
            cloud[:, 0],
            cloud[:, 1],
            s=12,
            color=GREY,
            alpha=alpha,
            linewidths=0,
            label=f"{len(cloud):,} points",
            zorder=2,
        )
    ax.plot(*border, color=BLUE, linewidth=1.8, label=f"{percent(level)} confidence ellipse", zorder=3)
    ax.plot(*centre, "o", color=ORANGE, markeredgecolor="black", markersize=7, label="estimate", zorder=4)
    _zero_lines(ax)
    ax.set(xlabel=f"δ of {label(problem.feature_names[chosen[0]])}")
    ax.set(ylabel=f"δ of {label(problem.feature_names[chosen[1]])}")
    set_title(ax, is_new, "Joint confidence of two coefficients")
    set_legend(ax)
    return ax


def ellipse_border(covariance: Any, level: float = 0.95, noise_df: float = np.inf) -> Any:
    """Border of the ellipse that holds a centred normal vector with a given probability, shape (2, 361).

    ``noise_df`` are the degrees of freedom of the covariance [DF].

    Examples
    --------
    >>> border = ellipse_border(np.diag([1.0, 4.0]))
    >>> border.max(axis=1).round(2)
    array([2.45, 4.9 ])
    """
    sizes, turns = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    circle = np.sqrt(quadratic_quantile(level, 2, noise_df)) * np.stack([np.cos(angle), np.sin(angle)])
    return turns @ (np.sqrt(np.maximum(sizes, 0.0))[:, None] * circle)


def _cloud(points: Any, chosen: Sequence[int], k: int) -> Any:
    """The two coefficients of every point."""
    cloud = as_matrix(points, "points", limit=MAX_ENTRY)
    if cloud.shape[1] == 2:
        return cloud
    if cloud.shape[1] == k:
        return cloud[:, list(chosen)]
    raise DataError("points", f"has {cloud.shape[1]} columns", f"pass the two coefficients, or all {k}")


def _zero_lines(ax: Axes) -> None:
    """Lines at zero if zero is in view; the limits stay as they are."""
    x, y = ax.get_xlim(), ax.get_ylim()
    if x[0] < 0.0 < x[1]:
        ax.axvline(0.0, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    if y[0] < 0.0 < y[1]:
        ax.axhline(0.0, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    ax.set(xlim=x, ylim=y)
