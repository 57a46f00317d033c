"""The demo in three panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import exp
from ..experiments.demo import Demo, DemoRow
from .canvas import BLUE, GREEN, GREY, ORANGE, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["plot_demo"]


def plot_demo(demo: Demo, rows: Sequence[DemoRow], tol: float) -> Figure:
    """Three panels: the ratio on the prior sample, the hull with its target, and the proven gaps."""
    figure = new_figure(14.5, 4.6)
    ratio, hull, gaps = figure.subplots(1, 3)
    best = rows[0].solution
    _plot_ratio(figure, ratio, demo, best.delta)
    _plot_hull(hull, demo)
    _plot_gaps(gaps, rows, tol)
    return figure


def _plot_ratio(figure: Figure, axes: Any, demo: Demo, delta: Any) -> None:
    """Contours of log r(x; δ) over the prior sample."""
    grid = np.linspace(-2.6, 2.6, 120)
    u, v = np.meshgrid(grid, grid)
    points = np.column_stack([u.ravel(), v.ravel()])
    log_z = demo.problem.tilt(delta).log_z
    log_ratio = (np.concatenate([points, points**2], axis=1) @ delta - log_z).reshape(u.shape)
    levels = np.arange(-12.0, 4.1, 2.0)
    filled = axes.contourf(u, v, log_ratio, levels=levels, cmap="cividis", extend="both")
    figure.colorbar(filled, ax=axes, label="log ratio")
    axes.contour(u, v, log_ratio, levels=[0.0], colors="white", linewidths=1.5)
    axes.scatter(*demo.x.T, s=3, color="black", alpha=0.25, linewidths=0)
    axes.set(
        title="log p(x|y$_p$)/q(x|y$_q$) over the prior sample\n(white: both posteriors equally likely)",
        xlabel="$x_0$", ylabel="$x_1$", xlim=(-2.6, 2.6), ylim=(-2.6, 2.6), aspect="equal",
    )  # fmt: skip


def _plot_hull(axes: Any, demo: Demo) -> None:
    """The first two q features, weighted, with base mean and target."""
    from scipy.spatial import ConvexHull

    problem = demo.problem
    pair = problem.features_q[:, :2]
    corners = np.append(ConvexHull(pair).vertices, ConvexHull(pair).vertices[0])
    base = exp(problem.log_base)
    axes.fill(*pair[corners].T, facecolor="#f0f0f0", edgecolor=GREY, linewidth=1.0, zorder=0)
    axes.scatter(*pair.T, s=4 + 6e3 * base, color=BLUE, alpha=0.35, linewidths=0, label="q rows, area = base weight")
    axes.plot(
        *(base @ pair),
        "o",
        color="white",
        markeredgecolor="black",
        markersize=9,
        label="mean under base weights",
    )
    axes.plot(*problem.target[:2], "*", color=ORANGE, markeredgecolor="black", markersize=15, label="target b")
    axes.set(
        title="The target is inside the hull of the q features,\nso a finite δ exists",
        xlabel=problem.feature_names[0], ylabel=problem.feature_names[1],
    )  # fmt: skip
    axes.set_ylim(top=pair[:, 1].max() + 0.35 * np.ptp(pair[:, 1]))
    axes.legend(loc="upper left", fontsize=8)


def _plot_gaps(axes: Any, rows: Sequence[DemoRow], tol: float) -> None:
    """Gap of each solver's own answer and of the polished one."""
    names = [f"{row.solution.solver}\n{row.solution.formulation}" for row in rows]
    floor = 1e-17
    for i, row in enumerate(rows):
        s = row.solution
        polished = max(s.gap, floor)
        if s.raw is not None:
            own = max(s.raw.gap, floor)
            axes.plot([own, polished], [i, i], color=GREY, linewidth=1, zorder=1)
            axes.plot(own, i, "o", color=ORANGE, label="solver's own answer" if i == 2 else None)
        axes.plot(polished, i, "D", color=BLUE, label="after Newton polish" if i == 0 else None)
    axes.axvline(tol, color=GREEN, linestyle="--", linewidth=1.2, label="tolerance")
    axes.set_xscale("log")
    axes.set_xlim(floor / 3, max(1e-5, tol * 100))
    axes.set_yticks(range(len(rows)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set(title="Certified duality gap: no answer can be\nbetter than this one by more", xlabel="gap")
    axes.grid(axis="x", color="#e6e6e6")
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, loc="upper right")
