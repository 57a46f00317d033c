"""The ratio over one or two columns of the samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import as_flag, as_vector, shown
from ..checks import LARGEST
from ..entropy import Array, exp
from ..errors import DataError
from ..estimators import PosteriorRatio
from ..inference import confidence
from .canvas import (
    BLUE,
    GREY,
    at_most,
    axes_of,
    fitted,
    label,
    percent,
    position,
    refusal,
    set_title,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_ratio"]

#: points along a curve, and along each side of a contour plot
CURVE, SIDE = 240, 70
#: rows times points that an interval is computed for at a time
BLOCK = 10_000_000
#: sample points drawn at most
MOST_POINTS = 1500


def plot_ratio(
    fit: PosteriorRatio,
    x: Any,
    *,
    columns: int | str | Sequence[int | str] = (0,),
    at: Any = None,
    level: float = 0.95,
    log: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """The estimated ratio along one column with its confidence band, or its contours over two columns.

    The range is that of the sample x, up to half a percent in each tail. Where intervals would be wrong (a positive
    radius, a penalty) only the estimate is drawn, and the title says so.

    Parameters
    ----------
    fit : PosteriorRatio
        A fitted estimator.
    x : array of shape (n, d) or data frame
        A reference sample, best the q sample: it gives the ranges and the fixed values, and is drawn.
    columns : index or name of one column, or a sequence of one or two
    at : array of shape (d,), optional
        Values at which the other columns stay; their means when left out, weighted by the base weights if x is the
        q sample of the fit.
    level : float
        Confidence level; over two columns, dashed lines surround where the interval holds r = 1.
    log : bool
        Whether to draw log r or r.
    ax : Axes, optional

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x_p, x_q = rng.normal(0.5, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
    >>> plot_ratio(PosteriorRatio().fit(x_p, x_q), x_q).get_xlabel()
    'x0'
    """
    rows = fitted(fit)._rows(x)
    level, log = confidence(level), as_flag(log, "log")
    names = [str(c) for c in getattr(fit, "feature_names_in_", [f"x{i}" for i in range(rows.shape[1])])]
    wanted = columns if isinstance(columns, list | tuple) else [columns]
    chosen = [position(c, names, "columns") for c in wanted]
    if len(chosen) not in (1, 2) or len(set(chosen)) != len(chosen):
        raise DataError(f"columns: {shown(columns)} must be one column or two different ones")
    centre = _centre(fit, rows) if at is None else as_vector(at, "at", rows.shape[1], limit=LARGEST)
    grids = [_grid(rows[:, c], _fineness(fit, len(chosen))) for c in chosen]
    points = np.tile(centre, (int(np.prod([len(g) for g in grids])), 1))
    for c, values in zip(chosen, np.meshgrid(*grids), strict=True):
        points[:, c] = values.ravel()
    estimate, lower, upper, note = _evaluate(fit, points, level)
    fixed = _fixed_note(rows.shape[1] - len(chosen), at is not None)
    sample = rows[at_most(len(rows), MOST_POINTS)][:, chosen]
    if len(chosen) == 1:
        band = "" if lower is None else f"band: {percent(level)} pointwise intervals"
        ax, own = axes_of(ax, 6.4, 4.4)
        _curve(ax, grids[0], estimate, lower, upper, sample[:, 0], log)
    else:
        ax, own = axes_of(ax, 6.6, 5.4)
        drawn = _contours(ax, grids, estimate, lower, upper, sample, log)
        band = "white: r = 1" * drawn[0] + ", " * all(drawn) + f"dashed: where {percent(level)} limits are 1" * drawn[1]
        ax.set_ylabel(label(names[chosen[1]]))
    ax.set_xlabel(label(names[chosen[0]]))
    set_title(ax, own, f"Estimated {'log ' * log}ratio{fixed}", band, note, beside=0.8 * len(chosen))
    return ax


def _centre(fit: PosteriorRatio, rows: Array) -> Array:
    """Means of the columns, weighted by the base weights if the rows are those of the fit."""
    problem = fit.problem_
    if len(rows) == problem.n_q and np.allclose(fit.features_(rows), problem.features_q, rtol=1e-9, atol=1e-9):
        return np.asarray(exp(problem.log_base) @ rows)
    return np.asarray(rows.mean(axis=0))


def _fixed_note(others: int, given: bool) -> str:
    """What happens to the columns that are not drawn."""
    if not others:
        return ""
    return f", other column{'s' * (others > 1)} at {'the given point' if given else 'the mean'}"


def _grid(values: Array, count: int) -> Array:
    """Evenly spaced values over the sample, half a percent of which may lie beyond each end."""
    low, high = np.quantile(values, [0.005, 0.995])
    pad = 0.04 * (high - low) or 0.5 * max(abs(low), 1.0)
    return np.linspace(low - pad, high + pad, count)


def _fineness(fit: PosteriorRatio, columns: int) -> int:
    """Points along a column: fewer where a million rows have their influence on every one."""
    most = 4 * BLOCK // fit.problem_.n_q
    return int(np.clip(most, 60, CURVE)) if columns == 1 else int(np.clip(most**0.5, 25, SIDE))


def _evaluate(fit: PosteriorRatio, points: Array, level: float) -> tuple[Array, Array | None, Array | None, str]:
    """Log-ratio, its limits if they can be had, and a line about them for the title."""
    estimate = fit.log_ratio(points)
    step = max(BLOCK // fit.problem_.n_q, 1)
    try:
        parts = [fit.log_ratio_interval(points[i : i + step], level) for i in range(0, len(points), step)]
    except DataError as error:
        return estimate, None, None, refusal(fit, error)
    return estimate, np.concatenate([p.lower for p in parts]), np.concatenate([p.upper for p in parts]), ""


def _shown(values: Array, log: bool) -> Array:
    """Log r, or r without overflow."""
    return values if log else exp(np.clip(values, -700.0, 700.0))


def _curve(
    ax: Axes, grid: Array, estimate: Array, lower: Array | None, upper: Array | None, sample: Array, log: bool
) -> None:
    """The ratio along one column, with the sample as a rug."""
    curve = _shown(estimate, log)
    ax.axhline(0.0 if log else 1.0, color=GREY, linewidth=1.0, linestyle="--", zorder=1)
    if lower is not None and upper is not None:
        low, high = _shown(lower, log), _shown(upper, log)
        ax.fill_between(grid, low, high, color=BLUE, alpha=0.2, linewidth=0)
        if not log:  # one wide interval at the edge should not flatten the curve
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
    """Opacity at which crowded points still show where they crowd."""
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
    """Filled contours with the sample; whether the line r = 1 and the limits around it are in sight."""
    shape = len(grids[1]), len(grids[0])
    values = _shown(estimate, log).reshape(shape)
    levels = _levels(values, grids, sample, log)
    filled = ax.contourf(*grids, values, levels=levels, cmap="cividis", extend="both")
    ax.get_figure(root=False).colorbar(filled, ax=ax, label="log r(x)" if log else "r(x)")  # type: ignore[union-attr]
    ax.scatter(sample[:, 0], sample[:, 1], s=5, color="black", alpha=min(2.0 * _alpha(len(sample)), 0.8), linewidths=0)
    one = _zero_line(ax, grids, estimate.reshape(shape), "-", 1.8)
    limits = [_zero_line(ax, grids, v.reshape(shape), "--", 1.2) for v in (lower, upper) if v is not None]
    ax.set(xlim=(grids[0][0], grids[0][-1]), ylim=(grids[1][0], grids[1][-1]))
    return one, any(limits)


def _zero_line(ax: Axes, grids: Sequence[Array], values: Array, style: str, width: float) -> bool:
    """The line where the values are zero; whether there is one."""
    if not values.min() < 0.0 < values.max():
        return False
    ax.contour(*grids, values, levels=[0.0], colors="white", linewidths=width, linestyles=style)
    return True


def _levels(values: Array, grids: Sequence[Array], sample: Array, log: bool) -> Array:
    """Round levels over the values where the sample is; corners without data go beyond them."""
    from matplotlib.ticker import MaxNLocator

    i = np.clip(np.searchsorted(grids[0], sample[:, 0]), 0, len(grids[0]) - 1)
    j = np.clip(np.searchsorted(grids[1], sample[:, 1]), 0, len(grids[1]) - 1)
    low, high = np.quantile(values[j, i], [0.02, 0.995])
    if not high - low > 1e-9 * max(abs(low), abs(high), 1.0):
        low, high = low - 0.5, high + 0.5
    return np.asarray(MaxNLocator(10, steps=[1, 2, 2.5, 5, 10]).tick_values(low if log else max(low, 0.0), high))
