"""Love plot of a balance table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._internal.typing import Array
from ..errors import DataError
from ..statistics.balance import BalanceTable
from .canvas import (
    BLUE,
    GREY,
    MAX_NAMES,
    ORANGE,
    axes_of,
    labels,
    name_rows,
    set_legend,
    set_title,
    shown_of,
    text_width,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes as Axes

__all__ = ["plot_love"]


def plot_love(table: BalanceTable, *, ax: Axes | None = None) -> Axes:
    """Love plot: standardised mean differences before and after weighting.

    Constant features are left out. At most 40 are shown, the largest first. Dotted lines mark ±0.1, a common threshold
    for balance.

    Parameters
    ----------
    table : BalanceTable
        The ``balance_`` of a fitted :class:`~pre_convex.Balance`.
    ax : matplotlib Axes, optional
        Axes to draw on; a new figure when left out.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> table = BalanceTable("treated minus control", ("age", "dose"), np.array([0.5, -0.2]), np.zeros(2), {})
    >>> plot_love(table).get_xlabel()
    'standardised mean difference'
    """
    if not isinstance(table, BalanceTable):
        raise DataError("table", f"is a {type(table).__name__}, not a BalanceTable", "pass the balance_ of a fit")
    varies = np.flatnonzero(np.isfinite(table.before))
    if not varies.size:
        raise DataError("table", "every feature is constant", "balance features that vary")
    before, after = table.before[varies], table.after[varies]
    order = np.argsort(-np.maximum(np.abs(before), np.abs(after)), kind="stable")[:MAX_NAMES]
    before, after = before[order], after[order]
    ax, is_new = axes_of(ax, 6.8, 1.9 + 0.23 * max(len(order), 4))
    draw_differences(ax, before, after)
    names = labels(table.names, varies[order])
    name_rows(ax, names)
    ax.set_xlabel("standardised mean difference")
    few = len(order) < len(varies)
    shown = shown_of(len(order), len(varies)) + " with the largest differences" * few
    set_title(ax, is_new, table.title, shown, margin=text_width(names))
    set_legend(ax)
    return ax


def draw_differences(ax: Axes, before: Array, after: Array, base: str = "before", weighted: str = "after") -> None:
    """Points and lines of a love plot, one row for each feature from the top down."""
    at = np.arange(len(before))
    ax.axvline(0.0, color="black", linewidth=0.9, zorder=1)
    for limit in (-0.1, 0.1):
        ax.axvline(limit, color=GREY, linewidth=1.0, linestyle=":", zorder=1)
    ax.hlines(at, before, after, color=GREY, linewidth=0.8, zorder=2)
    ax.plot(before, at, "o", color="white", markeredgecolor=ORANGE, markeredgewidth=1.5, label=base, zorder=3)
    ax.plot(after, at, "o", color=BLUE, markersize=5, label=weighted, zorder=4)
