"""The demo's problem, whose exact answer is known, and its figure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._internal.rng import Rng, as_generator
from .._internal.typing import Array
from ..data.likelihoods import Gaussian
from ..plots.canvas import BLUE, GREEN, GREY, LIGHT, ORANGE, new_figure
from ..problem import RatioProblem
from ..solution import Solution
from ..solvers import Comparison

if TYPE_CHECKING:
    from ..plots.canvas import Figure

__all__ = ["Demo", "make_demo", "plot_demo"]


@dataclass(frozen=True, eq=False)
class Demo:
    """Prior sample (n, 2), the problem, and its exact δ."""

    x: Array
    problem: RatioProblem
    delta: Array

    def distance(self, solution: Solution) -> float:
        """Euclidean distance from a solution's δ to the exact one."""
        return float(np.linalg.norm(solution.delta - self.delta))


def make_demo(n: int = 1000, rng: Rng = 0) -> Demo:
    """Two observations of one latent x in the plane: the same prior sample, two Gaussian likelihoods.

    With precisions τ_p, τ_q and observations y_p, y_q the log-likelihoods differ by ⟨δ, [x, x²]⟩ and a constant,
    for δ = [τ_p y_p − τ_q y_q, −(τ_p − τ_q)/2]. Since both sides use the same prior rows, this is the
    exact answer for any sample.
    """
    x = as_generator(rng).normal(size=(n, 2))
    y_p, tau_p = np.array([0.9, 0.5]), 3.0
    y_q, tau_q = np.array([-0.4, 0.2]), 1.5
    problem = RatioProblem.from_samples(
        x, x, Gaussian(tuple(y_p), tau_p), Gaussian(tuple(y_q), tau_q), features="polynomial", paired=True
    )
    delta = np.concatenate([tau_p * y_p - tau_q * y_q, np.full(2, -(tau_p - tau_q) / 2)])
    return Demo(x, problem, delta)


def plot_demo(demo: Demo, result: Comparison) -> Figure:
    """Three panels: the ratio on the prior sample, the hull with the target, and the certified gaps."""
    figure = new_figure(14.5, 4.6)
    ratio, hull, gaps = figure.subplots(1, 3)
    _plot_ratio(figure, ratio, demo, result[0].solution.delta)
    _plot_hull(hull, demo)
    _plot_gaps(gaps, result)
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
    """Hull of the first two q features, their mean under the base weights, and the target."""
    from scipy.spatial import ConvexHull

    problem = demo.problem
    pair = problem.features_q[:, :2]
    corners = np.append(ConvexHull(pair).vertices, ConvexHull(pair).vertices[0])
    base = np.exp(problem.log_base)
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


def _plot_gaps(axes: Any, result: Comparison) -> None:
    """Gap of each solver's own answer, and after polishing."""
    floor = 1e-17  # a gap of zero has no place on a log axis
    own = np.maximum([row.own_gap for row in result], floor)
    polished = np.maximum([row.gap for row in result], floor)
    cone = np.array([row.solution.raw is not None for row in result])
    y = np.arange(len(result))
    axes.hlines(y[cone], own[cone], polished[cone], color=GREY, linewidth=1, zorder=1)
    axes.plot(own[cone], y[cone], "o", color=ORANGE, label="solver's own answer")
    axes.plot(polished, y, "D", color=BLUE, label="after Newton polish")
    axes.axvline(result.tol, color=GREEN, linestyle="--", linewidth=1.2, label="tolerance")
    axes.set_xscale("log")
    axes.set_xlim(floor / 3, max(1e-5, result.tol * 100))
    axes.set_yticks(y, [f"{row.solver}\n{row.formulation}" for row in result], fontsize=8)
    axes.invert_yaxis()
    axes.set(title="Certified duality gap: upper bound on\nthe distance to the optimal value", xlabel="gap")
    axes.grid(axis="x", color=LIGHT)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, loc="upper right")
