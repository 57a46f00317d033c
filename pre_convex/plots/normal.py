"""How normal estimates are: quantiles and confidence ellipses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv, chdtri, ndtri

from ..arrays import as_matrix, as_numbers, as_vector, shown
from ..checks import LARGEST
from ..errors import DataError
from ..inference import Inference, confidence
from .canvas import BLUE, GREY, LIGHT, ORANGE, axes_of, label, percent, position, set_legend, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ellipse_border", "plot_ellipse", "plot_qq"]

#: points drawn at most, those of the tails always
MOST_POINTS = 3000


def plot_qq(z: Any, *, level: float = 0.95, ax: Axes | None = None) -> Axes:
    """Quantiles of standardised values against those of the standard normal law, with a pointwise band.

    The band is exact: the i-th smallest of n uniform values has a beta law. About 5 % of the points of a normal sample
    lie outside of a 95 % band.

    Parameters
    ----------
    z : array
        Standardised values, such as (δ̂ − δ)/s.e. over repetitions.
    level : float
        Of the band, at each point.
    ax : Axes, optional

    Examples
    --------
    >>> plot_qq(np.random.default_rng(0).normal(size=200)).get_xlabel()
    'standard normal quantiles'
    """
    values = np.sort(as_vector(as_numbers(z, "z").ravel(), "z", limit=LARGEST))
    level = confidence(level)
    n = len(values)
    i = np.arange(1, n + 1)
    if n > MOST_POINTS:
        tail = np.unique(np.geomspace(1, n / 2, MOST_POINTS // 2).astype(int))
        i = np.unique(np.concatenate([tail, n + 1 - tail]))
        values = values[i - 1]
    expected = ndtri((i - 0.5) / n)
    low, high = (ndtri(betaincinv(i, n + 1 - i, share)) for share in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
    ax, own = axes_of(ax, 5.4, 5.4)
    ax.fill_between(expected, low, high, color=GREY, alpha=0.25, linewidth=0, label=f"{percent(level)} pointwise band")
    ends = np.array([expected[0], expected[-1]]) if n > 1 else np.array([-1.0, 1.0])
    ax.plot(ends, ends, color="black", linewidth=1.0, label="standard normal")
    size = 4.0 if n <= 300 else 2.5
    ax.plot(expected, values, "o", color=BLUE, markersize=size, markeredgewidth=0, label="values")
    ax.set(xlabel="standard normal quantiles", ylabel="quantiles of the values")
    ax.grid(color=LIGHT)
    ax.set_axisbelow(True)
    set_legend(ax)
    set_title(ax, own, f"Normal QQ plot of {n:,} value{'s' * (n > 1)}")
    return ax


def plot_ellipse(
    inference: Inference,
    pair: Sequence[int | str] = (0, 1),
    *,
    level: float = 0.95,
    points: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Joint confidence ellipse of two coefficients, whatever the others are: two degrees of freedom.

    Parameters
    ----------
    inference : Inference
        ``fit.inference()``.
    pair : two indices or names of features
    level : float
        Confidence level.
    points : array of shape (m, 2) or (m, k), optional
        Other values of the coefficients to compare, such as those of repetitions.
    ax : Axes, optional
    """
    if not isinstance(inference, Inference):
        raise DataError(f"inference: must be an Inference, not {type(inference).__name__}; take fit.inference()")
    problem = inference.problem
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise DataError(f"pair: {shown(pair)} must be two different coefficients")
    chosen = [position(key, problem.feature_names, "pair") for key in pair]
    if chosen[0] == chosen[1]:
        raise DataError(f"pair: {shown(pair)} must be two different coefficients")
    level = confidence(level)
    centre = inference.delta[chosen]
    V = inference.covariance[np.ix_(chosen, chosen)]
    border = centre[:, None] + ellipse_border(V, level)
    ax, own = axes_of(ax, 5.4, 5.2)
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
    set_title(ax, own, "Joint confidence of two coefficients")
    set_legend(ax)
    return ax


def ellipse_border(covariance: Any, level: float = 0.95) -> Any:
    """Border of the region that holds a centred normal vector of two entries with the given chance, shape (2, 361).

    Examples
    --------
    >>> border = ellipse_border(np.diag([1.0, 4.0]))
    >>> border.max(axis=1).round(2)
    array([2.45, 4.9 ])
    """
    sizes, turns = np.linalg.eigh(covariance)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    circle = np.sqrt(chdtri(2, 1.0 - level)) * np.stack([np.cos(angle), np.sin(angle)])
    return turns @ (np.sqrt(np.maximum(sizes, 0.0))[:, None] * circle)


def _cloud(points: Any, chosen: Sequence[int], k: int) -> Any:
    """The two coefficients of every point."""
    cloud = as_matrix(points, "points", limit=LARGEST)
    if cloud.shape[1] == 2:
        return cloud
    if cloud.shape[1] == k:
        return cloud[:, list(chosen)]
    raise DataError(f"points: have {cloud.shape[1]} columns; give the two coefficients, or all {k}")


def _zero_lines(ax: Axes) -> None:
    """Lines at zero where zero is in sight, without moving the limits."""
    x, y = ax.get_xlim(), ax.get_ylim()
    if x[0] < 0.0 < x[1]:
        ax.axvline(0.0, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    if y[0] < 0.0 < y[1]:
        ax.axhline(0.0, color=GREY, linewidth=0.9, linestyle="--", zorder=1)
    ax.set(xlim=x, ylim=y)
