"""Figures of a fit: its weights, the balance of its features, its coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.entropy import effective_sample_size, safe_log
from .._internal.validation import as_flag, as_fraction
from ..errors import DataError
from ..estimators.posterior_ratio import PosteriorRatio
from ..statistics.diagnostics import base_moments
from ..statistics.inference import Interval
from .balance import draw_differences
from .canvas import (
    BLUE,
    GREY,
    MAX_NAMES,
    ORANGE,
    as_fit,
    axes_of,
    labels,
    name_rows,
    no_intervals,
    percent,
    set_legend,
    set_title,
    shown_of,
    text_width,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_balance", "plot_coefficients", "plot_weights"]

#: maximum number of points along a curve
MAX_POINTS = 2000


def plot_weights(fit: PosteriorRatio, *, ax: Axes | None = None) -> Axes:
    """Cumulative share of the largest weights: base weights and fitted weights μ.

    The axis of rows is logarithmic if an effective sample size is below a tenth of the rows.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes
        Its title holds the effective sample sizes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, 300), rng.normal(0.0, 1.0, 300))
    >>> print(plot_weights(fit).get_title())
    Effective sample size of 300 q rows
    base weights 300, weights μ 237
    """
    as_fit(fit)
    problem = fit.problem_
    ax, is_new = axes_of(ax, 6.4, 4.6)
    n = problem.n_q
    before, after = effective_sample_size(problem.log_base), effective_sample_size(safe_log(fit.mu_))
    rows = np.arange(1, n + 1)
    concentrated = min(before, after) < 0.1 * n  # a linear axis would show them at its left edge only
    many = n > MAX_POINTS
    drawn = np.unique(np.geomspace(1, n, MAX_POINTS).astype(int)) - 1 if concentrated and many else thin(n, MAX_POINTS)
    marker = "o" if n <= 25 else None
    if before < 0.999 * n:
        ax.plot(rows[drawn], rows[drawn] / n, color=GREY, linestyle=":", linewidth=1.4, label="equal weights")
    for weights, colour, style, name in (
        (np.exp(problem.log_base), ORANGE, "--", "base weights"),
        (fit.mu_, BLUE, "-", "weights μ"),
    ):
        share = np.cumsum(np.sort(weights)[::-1])
        ax.plot(
            rows[drawn],
            share[drawn],
            color=colour,
            linestyle=style,
            linewidth=1.8,
            marker=marker,
            markersize=4,
            label=name,
        )
    if concentrated:
        ax.set_xscale("log")
    ax.set_xlim(1 if concentrated else 0, n)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="number of q rows, largest weight first", ylabel="share of the total weight", ylim=(0.0, 1.02))
    set_title(
        ax,
        is_new,
        f"Effective sample size of {n:,} q rows",
        f"base weights {_size(before)}, weights μ {_size(after)}",
    )
    set_legend(ax)
    return ax


def _size(size: float) -> str:
    """An effective sample size to three digits, or as a whole number from 100 on."""
    return f"{size:,.0f}" if size >= 99.5 else f"{size:.3g}"


def plot_balance(fit: PosteriorRatio, *, ax: Axes | None = None) -> Axes:
    """Love plot: difference of every feature between the p and the q side, before and after weighting.

    Differences are target minus q mean, in standard deviations of the feature under the base weights; features that
    are constant on the q side are left out. At most 40 are shown, the largest first. Dotted lines mark ±0.1, a common
    threshold for balance.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, (300, 2)), rng.normal(0.0, 1.0, (300, 2)))
    >>> plot_balance(fit).get_xlabel()
    'standardised difference, p − q'
    """
    as_fit(fit)
    problem = fit.problem_
    mean, spread = base_moments(problem)
    varies = np.flatnonzero(spread > 0.0)
    if not varies.size:
        raise DataError(
            "fit", "every feature is constant on the q side, so none can be standardised", "fit features that vary"
        )
    before = (problem.target - mean)[varies] / spread[varies]
    after = problem.residual(fit.mu_)[varies] / spread[varies]
    order = np.argsort(-np.maximum(np.abs(before), np.abs(after)), kind="stable")[:MAX_NAMES]
    before, after = before[order], after[order]
    ax, is_new = axes_of(ax, 6.8, 1.9 + 0.23 * max(len(order), 4))
    draw_differences(ax, before, after, "base weights", "weights μ")
    names = labels(fit.feature_names_, varies[order])
    name_rows(ax, names)
    ax.set_xlabel("standardised difference, p − q")
    left_out = problem.k - len(varies)
    set_title(
        ax,
        is_new,
        "Balance of the features",
        shown_of(len(order), len(varies)) + " with the largest differences" * (len(order) < len(varies)),
        f"{left_out} constant {'feature' if left_out == 1 else 'features'} left out" * (left_out > 0),
        margin=text_width(names),
    )
    set_legend(ax)
    return ax


def plot_coefficients(
    fit: PosteriorRatio, *, level: float = 0.95, standardise: bool = False, ax: Axes | None = None
) -> Axes:
    """Coefficients δ with their confidence intervals, the most significant first.

    At most 40 are shown, those with the largest ``|δ|`` in standard errors. If the fit has no intervals, the
    coefficients are drawn alone, the largest ``|δ|`` first, and the title says why.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    level : float, default 0.95
        Confidence level of each interval, between 0 and 1.
    standardise : bool, default False
        Whether to multiply every δ by the standard deviation of its feature under the base weights, which makes
        features in different units comparable.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, (300, 2)), rng.normal(0.0, 1.0, (300, 2)))
    >>> plot_coefficients(fit).get_title()
    'Coefficients δ with 95 % intervals'
    """
    as_fit(fit)
    level, standardise = as_fraction(level, "level"), as_flag(standardise, "standardise")
    unit = base_moments(fit.problem_)[1] * fit.scale_ if standardise else np.ones(fit.problem_.k)
    interval: Interval | None = None
    estimate, note = fit.delta_, ""
    rank = np.abs(estimate * unit)
    try:
        interval = fit.conf_int(level)
    except DataError as error:
        note = no_intervals(error)
    else:
        estimate, error_of = interval.estimate, interval.std_error
        rank = np.divide(np.abs(estimate), error_of, out=np.zeros(len(estimate)), where=error_of > 0.0)
        rank[np.isinf(estimate)] = np.inf  # on the boundary
    order = np.argsort(-rank, kind="stable")[:MAX_NAMES]
    value, at = (estimate * unit)[order], np.arange(len(order))
    ax, is_new = axes_of(ax, 6.8, 1.6 + 0.23 * max(len(order), 4))
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    if interval is None:
        ax.hlines(at, 0.0, value, color=GREY, linewidth=0.8, zorder=2)
    else:
        lower, upper = (interval.lower * unit)[order], (interval.upper * unit)[order]
        ax.hlines(at, lower, upper, color=BLUE, linewidth=1.8, zorder=2)
    ax.plot(value, at, "o", color=BLUE, markersize=5, zorder=3)
    for y in at[np.isinf(value)]:
        sign = np.sign(value[y])
        side = {"x": 0.5 + 0.49 * sign, "ha": "right" if sign > 0.0 else "left", "transform": ax.get_yaxis_transform()}
        ax.text(y=y, s="∞" if sign > 0.0 else "−∞", color=BLUE, va="center", **side)
    names = labels(fit.feature_names_, order)
    name_rows(ax, names)
    ax.set_xlabel("δ · standard deviation of the feature" if standardise else "δ")
    first = "largest" if interval is None else "most significant"
    shown = shown_of(len(order), fit.problem_.k)
    limits = "" if interval is None else f" with {percent(level)} intervals"
    set_title(
        ax, is_new, f"Coefficients δ{limits}", f"the {first} {shown}" * bool(shown), note, margin=text_width(names)
    )
    return ax
