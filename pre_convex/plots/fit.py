"""A fit as a whole: its weights, its balance, its coefficients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import as_flag
from ..entropy import Array, effective_sample_size, exp, log
from ..errors import DataError
from ..estimators import PosteriorRatio
from ..inference import Interval, confidence
from ..problem import RatioProblem
from .canvas import (
    BLUE,
    GREY,
    MOST_NAMES,
    ORANGE,
    at_most,
    axes_of,
    fitted,
    labels,
    name_rows,
    percent,
    refusal,
    set_legend,
    set_title,
    shown_of,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_balance", "plot_coefficients", "plot_weights"]


def plot_weights(fit: PosteriorRatio, *, ax: Axes | None = None) -> Axes:
    """How few rows carry the weight: cumulative share of the largest weights, before (base) and after (μ).

    The axis of rows is logarithmic where the effective sample size is below a tenth of them.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    ax : Axes, optional

    Returns
    -------
    Axes
        The title holds the effective sample sizes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> fit = PosteriorRatio().fit(rng.normal(0.5, 1.0, 300), rng.normal(0.0, 1.0, 300))
    >>> print(plot_weights(fit).get_title())
    Effective sample size of 300 q rows
    base weights 300, weights μ 237
    """
    fitted(fit)
    problem = fit.problem_
    ax, own = axes_of(ax, 6.4, 4.6)
    n = problem.n_q
    before, after = effective_sample_size(problem.log_base), effective_sample_size(log(fit.mu_))
    rows = np.arange(1, n + 1)
    few = min(before, after) < 0.1 * n  # on a linear axis they would be its left edge
    some = np.unique(np.geomspace(1, n, 2000).astype(int)) - 1 if few and n > 2000 else at_most(n, 2000)
    marker = "o" if n <= 25 else None
    if before < 0.999 * n:
        ax.plot(rows[some], rows[some] / n, color=GREY, linestyle=":", linewidth=1.4, label="equal weights")
    for weights, colour, style, name in (
        (exp(problem.log_base), ORANGE, "--", "base weights"),
        (fit.mu_, BLUE, "-", "weights μ"),
    ):
        share = np.cumsum(np.sort(weights)[::-1])
        ax.plot(
            rows[some],
            share[some],
            color=colour,
            linestyle=style,
            linewidth=1.8,
            marker=marker,
            markersize=4,
            label=name,
        )
    if few:
        ax.set_xscale("log")
    ax.set_xlim(1 if few else 0, n)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    ax.set(xlabel="number of q rows, largest weight first", ylabel="share of the total weight", ylim=(0.0, 1.02))
    set_title(
        ax,
        own,
        f"Effective sample size of {n:,} q rows",
        f"base weights {_size(before)}, weights μ {_size(after)}",
    )
    set_legend(ax)
    return ax


def _size(size: float) -> str:
    """An effective sample size, with a decimal where it matters."""
    return f"{size:,.0f}" if size >= 99.5 else f"{size:.3g}"


def _base_moments(problem: RatioProblem) -> tuple[Array, Array]:
    """Mean and standard deviation of every feature under the base weights."""
    base = exp(problem.log_base)
    mean = np.asarray(base @ problem.features_q)
    spread = np.sqrt(np.array([base @ np.square(f - m) for f, m in zip(problem.features_q.T, mean, strict=True)]))
    spread[spread <= 1e-12 * np.abs(mean)] = 0.0  # round-off of a constant
    return mean, spread


def plot_balance(fit: PosteriorRatio, *, ax: Axes | None = None) -> Axes:
    """Love plot: difference of every feature between the p and the q side, before and after weighting.

    Differences are target minus q mean, in standard deviations of the feature under the base weights; features that
    are constant on the q side have none and are left out. At most 40 are shown, the largest before weighting first.
    Dotted lines mark ±0.1, a usual limit of what counts as balanced.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    ax : Axes, optional
    """
    fitted(fit)
    problem = fit.problem_
    mean, spread = _base_moments(problem)
    varies = np.flatnonzero(spread > 0.0)
    if not varies.size:
        raise DataError("fit: every feature is constant on the q side, so there are no standardised differences")
    before = (problem.target - mean)[varies] / spread[varies]
    after = problem.moment(fit.mu_)[varies] / spread[varies]
    order = np.argsort(-np.maximum(np.abs(before), np.abs(after)), kind="stable")[:MOST_NAMES]
    before, after = before[order], after[order]
    at = np.arange(len(order))
    ax, own = axes_of(ax, 6.8, 1.9 + 0.23 * max(len(order), 4))
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    for limit in (-0.1, 0.1):
        ax.axvline(limit, color=GREY, linewidth=1.0, linestyle=":", zorder=1)
    ax.hlines(at, before, after, color=GREY, linewidth=0.8, zorder=2)
    ax.plot(before, at, "o", color="white", markeredgecolor=ORANGE, markeredgewidth=1.5, label="base weights", zorder=3)
    ax.plot(after, at, "o", color=BLUE, markersize=5, label="weights μ", zorder=4)
    names = labels(fit.feature_names_, varies[order])
    name_rows(ax, names)
    ax.set_xlabel("standardised difference, p − q")
    left_out = problem.k - len(varies)
    set_title(
        ax,
        own,
        "Balance of the features",
        shown_of(len(order), len(varies)) + " with the largest differences" * (len(order) < len(varies)),
        f"{left_out} constant {'feature' if left_out == 1 else 'features'} left out" * (left_out > 0),
        beside=text_width(names),
    )
    set_legend(ax)
    return ax


def plot_coefficients(
    fit: PosteriorRatio, *, level: float = 0.95, standardise: bool = False, ax: Axes | None = None
) -> Axes:
    """Coefficients δ with their confidence intervals, the clearest first.

    At most 40 are shown, those with the largest ``|δ|`` in standard errors. Where intervals would be wrong, the
    coefficients stand alone, the largest ``|δ|`` first, and the title says why.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    level : float
        Confidence level.
    standardise : bool
        Multiply every δ by the standard deviation of its feature under the base weights, which makes features in
        different units comparable.
    ax : Axes, optional
    """
    fitted(fit)
    level, standardise = confidence(level), as_flag(standardise, "standardise")
    unit = _base_moments(fit.problem_)[1] if standardise else np.ones(fit.problem_.k)
    interval: Interval | None = None
    rank = np.abs(fit.delta_ * unit)
    note = ""
    try:
        interval = fit.conf_int(level)
    except DataError as error:
        note = refusal(fit, error)
    else:
        rank = np.abs(interval.estimate) / np.where(interval.std_error > 0.0, interval.std_error, np.inf)
    order = np.argsort(-rank, kind="stable")[:MOST_NAMES]
    value, at = (fit.delta_ * unit)[order], np.arange(len(order))
    ax, own = axes_of(ax, 6.8, 1.6 + 0.23 * max(len(order), 4))
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    if interval is None:
        ax.hlines(at, 0.0, value, color=GREY, linewidth=0.8, zorder=2)
    else:
        lower, upper = (interval.lower * unit)[order], (interval.upper * unit)[order]
        ax.hlines(at, lower, upper, color=BLUE, linewidth=1.8, zorder=2)
    ax.plot(value, at, "o", color=BLUE, markersize=5, zorder=3)
    names = labels(fit.feature_names_, order)
    name_rows(ax, names)
    ax.set_xlabel("δ · standard deviation of the feature" if standardise else "δ")
    first = "largest" if interval is None else "clearest"
    some = shown_of(len(order), fit.problem_.k)
    limits = "" if interval is None else f" with {percent(level)} intervals"
    set_title(ax, own, f"Coefficients δ{limits}", f"the {first} {some}" * bool(some), note, beside=text_width(names))
    return ax
