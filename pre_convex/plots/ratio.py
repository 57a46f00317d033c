"""Figure of the ratio over one or two columns of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.typing import Array
from .._internal.validation import MAX_ENTRY, as_flag, as_fraction, as_vector, preview
from ..errors import DataError
from ..estimators.mixture import MixtureKLIEP
from ..estimators.posterior_ratio import PosteriorRatio
from .canvas import (
    BLUE,
    GREY,
    as_fit,
    axes_of,
    label,
    no_intervals,
    percent,
    position,
    set_title,
    thin,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_ratio"]

#: points along a curve, and along each side of a contour plot
CURVE_POINTS, CONTOUR_POINTS = 240, 70
#: log r that stands for a ratio of zero
LOWEST = -700.0
#: maximum number of sample points drawn
MAX_POINTS = 1500


def plot_ratio(
    fit: PosteriorRatio | MixtureKLIEP,
    x: Any = None,
    *,
    columns: int | str | Sequence[int | str] = (0,),
    at: Any = None,
    level: float = 0.95,
    log: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """The estimated ratio along one column with a confidence band, or its contours over two columns.

    The axes span the sample x, except for half a percent in each tail. If the fit has no intervals (a positive radius,
    a penalty), only the estimate is drawn and the title says so.

    Parameters
    ----------
    fit : PosteriorRatio or MixtureKLIEP
        A fitted estimator.
    x : array of shape (n, d) or data frame, optional
        A reference sample: it gives the ranges and the values of the other columns, and is drawn as points. By default
        up to 1,500 rows of the q sample of the fit.
    columns : int, str, or sequence of one or two of them, default (0,)
        Index or name of the column to draw along, or of two different columns.
    at : array of shape (d,), optional
        Values of all columns, of which those that are not drawn are used. By default the means of x, weighted by the
        base weights if x is the q sample of the fit.
    level : float, default 0.95
        Confidence level of the pointwise intervals, between 0 and 1. Over two columns, dashed lines bound the region
        where the interval contains r = 1.
    log : bool, default True
        Whether to draw log r; otherwise r.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
    >>> plot_ratio(PosteriorRatio().fit(x_p, x_q)).get_xlabel()
    'x0'
    """
    mixture = isinstance(fit, MixtureKLIEP)
    rows = _own_rows(fit) if x is None else (fit if mixture else as_fit(fit))._rows(x)
    level, log = as_fraction(level, "level"), as_flag(log, "log")
    names = [str(c) for c in getattr(fit, "feature_names_in_", [f"x{i}" for i in range(rows.shape[1])])]
    wanted = columns if isinstance(columns, list | tuple) else [columns]
    chosen = [position(c, names, "columns") for c in wanted]
    if len(chosen) not in (1, 2) or len(set(chosen)) != len(chosen):
        raise DataError("columns", f"{preview(columns)} is not one column or two", "pass one or two different columns")
    centre = _centre(fit, rows, x is None) if at is None else as_vector(at, "at", rows.shape[1], limit=MAX_ENTRY)
    count = CURVE_POINTS if len(chosen) == 1 else CONTOUR_POINTS
    grids = [_grid(rows[:, c], count) for c in chosen]
    points = np.tile(centre, (int(np.prod([len(g) for g in grids])), 1))
    for c, values in zip(chosen, np.meshgrid(*grids), strict=True):
        points[:, c] = values.ravel()
    estimate, lower, upper, note = _evaluate(fit, points, level)
    fixed = _fixed_note(rows.shape[1] - len(chosen), at is not None)
    sample = rows[thin(len(rows), MAX_POINTS)][:, chosen]
    if len(chosen) == 1:
        band = "" if lower is None else f"band: {percent(level)} pointwise intervals"
        ax, is_new = axes_of(ax, 6.4, 4.4)
        _curve(ax, grids[0], estimate, lower, upper, sample[:, 0], log)
    else:
        ax, is_new = axes_of(ax, 6.6, 5.4)
        drawn = _contours(ax, grids, estimate, lower, upper, sample, log)
        band = "white: r = 1" * drawn[0] + ", " * all(drawn) + f"dashed: where {percent(level)} limits are 1" * drawn[1]
        ax.set_ylabel(label(names[chosen[1]]))
    ax.set_xlabel(label(names[chosen[0]]))
    set_title(ax, is_new, f"Estimated {'log ' * log}ratio{fixed}", band, note, margin=0.8 * len(chosen))
    return ax


def _own_rows(fit: PosteriorRatio | MixtureKLIEP) -> Array:
    """The q rows that the fit keeps."""
    if isinstance(fit, MixtureKLIEP):
        return fit._rows_to_show()
    shown = as_fit(fit)._shown
    if shown is None:
        raise DataError("x", "is missing, and the fit has not kept rows of its q sample", "pass the q sample")
    return shown[0]


def _centre(fit: PosteriorRatio | MixtureKLIEP, rows: Array, own: bool) -> Array:
    """Means of the columns, weighted by the base weights if these are rows of the fit."""
    if isinstance(fit, MixtureKLIEP):
        return np.asarray(rows.mean(axis=0))
    problem = fit.problem_
    if own and fit._shown is not None:
        return np.asarray(np.average(rows, axis=0, weights=fit._shown[1]))
    same_size = problem.rows.in_memory and len(rows) == problem.n_q
    if same_size and np.allclose(fit._features(rows, "x"), problem.features_q, rtol=1e-9, atol=1e-9):
        return np.asarray(np.exp(problem.log_base) @ rows)
    return np.asarray(rows.mean(axis=0))


def _fixed_note(others: int, given: bool) -> str:
    """Part of the title about the columns that are not drawn."""
    if not others:
        return ""
    return f", other column{'s' * (others > 1)} at {'the given point' if given else 'the mean'}"


def _grid(values: Array, count: int) -> Array:
    """Evenly spaced values over the sample, except for half a percent in each tail."""
    low, high = np.quantile(values, [0.005, 0.995])
    pad = 0.04 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.linspace(low - pad, high + pad, count)


def _evaluate(
    fit: PosteriorRatio | MixtureKLIEP, points: Array, level: float
) -> tuple[Array, Array | None, Array | None, str]:
    """Log ratio, its limits or ``None``, and a line for the title if there are none."""
    if isinstance(fit, MixtureKLIEP):
        return np.maximum(fit.log_ratio(points), LOWEST), None, None, ""
    try:
        interval = fit.log_ratio_interval(points, level)
    except DataError as error:
        return fit.log_ratio(points), None, None, no_intervals(error)
    return interval.estimate, interval.lower, interval.upper, ""


def _displayed(values: Array, log: bool) -> Array:
    """Log r, or r without overflow."""
    return values if log else np.exp(np.clip(values, -700.0, 700.0))


def _curve(
    ax: Axes, grid: Array, estimate: Array, lower: Array | None, upper: Array | None, sample: Array, log: bool
) -> None:
    """Draw the ratio along one column, with the sample as a rug."""
    curve = _displayed(estimate, log)
    ax.axhline(0.0 if log else 1.0, color=GREY, linewidth=1.0, linestyle="--", zorder=1)
    if lower is not None and upper is not None:
        low, high = _displayed(lower, log), _displayed(upper, log)
        ax.fill_between(grid, low, high, color=BLUE, alpha=0.2, linewidth=0)
        if not log:  # a wide interval at the edge should not flatten the curve
            top = min(float(high.max()), 3.0 * float(max(curve.max(), 1.0)))
            ax.set_ylim(-0.03 * top, 1.05 * top)
    ax.plot(grid, curve, color=BLUE, linewidth=1.8)
    inside = sample[(sample >= grid[0]) & (sample <= grid[-1])]
    ax.vlines(
        inside, 0.0, 0.03, transform=ax.get_xaxis_transform(), color="black", linewidth=0.6, alpha=_alpha(len(inside))
    )
    ax.set_xlim(grid[0], grid[-1])
    ax.set_ylabel("log r(x)" if log else "r(x)")


def _alpha(count: int) -> float:
    """Opacity that shows the density of many points."""
    return float(np.clip(60.0 / max(count, 1), 0.12, 0.7))


def _contours(
    ax: Axes,
    grids: Sequence[Array],
    estimate: Array,
    lower: Array | None,
    upper: Array | None,
    sample: Array,
    log: bool,
) -> tuple[bool, bool]:
    """Draw filled contours and the sample; return whether the line r = 1 and the limits around it are in view."""
    shape = len(grids[1]), len(grids[0])
    values = _displayed(estimate, log).reshape(shape)
    levels = _levels(values, grids, sample, log)
    filled = ax.contourf(*grids, values, levels=levels, cmap="cividis", extend="both")
    ax.get_figure(root=False).colorbar(filled, ax=ax, label="log r(x)" if log else "r(x)")  # type: ignore[union-attr]
    ax.scatter(sample[:, 0], sample[:, 1], s=5, color="black", alpha=min(2.0 * _alpha(len(sample)), 0.8), linewidths=0)
    one = _zero_line(ax, grids, estimate.reshape(shape), "-", 1.8)
    limits = [_zero_line(ax, grids, v.reshape(shape), "--", 1.2) for v in (lower, upper) if v is not None]
    ax.set(xlim=(grids[0][0], grids[0][-1]), ylim=(grids[1][0], grids[1][-1]))
    return one, any(limits)


def _zero_line(ax: Axes, grids: Sequence[Array], values: Array, style: str, width: float) -> bool:
    """Draw the line where the values are zero; return whether there is one."""
    if not values.min() < 0.0 < values.max():
        return False
    ax.contour(*grids, values, levels=[0.0], colors="white", linewidths=width, linestyles=style)
    return True


def _levels(values: Array, grids: Sequence[Array], sample: Array, log: bool) -> Array:
    """Round contour levels over the values at the sample; corners without data may exceed them."""
    from matplotlib.ticker import MaxNLocator

    i = np.clip(np.searchsorted(grids[0], sample[:, 0]), 0, len(grids[0]) - 1)
    j = np.clip(np.searchsorted(grids[1], sample[:, 1]), 0, len(grids[1]) - 1)
    low, high = np.quantile(values[j, i], [0.02, 0.995])
    if not high - low > 1e-9 * max(abs(low), abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    return np.asarray(MaxNLocator(10, steps=[1, 2, 2.5, 5, 10]).tick_values(low if log else max(low, 0.0), high))
