"""The demo: one posterior-ratio problem with a known answer, solved by every engine in both formulations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..entropy import Array, exp
from ..likelihoods import Gaussian
from ..plots.canvas import BLUE, GREEN, GREY, ORANGE, new_figure
from ..problem import RatioProblem
from ..rng import Rng, as_generator
from ..solution import Solution
from ..solvers import installed_solvers, solve

if TYPE_CHECKING:
    from ..plots.canvas import Figure

__all__ = ["Demo", "DemoRow", "make_demo", "plot_demo", "run_demo"]


@dataclass(frozen=True, eq=False)
class Demo:
    """The samples, the problem, and its exact answer."""

    x: Array
    problem: RatioProblem
    delta: Array


@dataclass(frozen=True, eq=False)
class DemoRow:
    """One solve: its solution and its distance to the exact δ."""

    solution: Solution
    error: float

    @property
    def seconds(self) -> float:
        """Time from data to certified answer."""
        s = self.solution
        return s.compile_time + s.setup_time + s.solve_time


def make_demo(n: int = 1000, rng: Rng = 0) -> Demo:
    """Two observers of one latent x in the plane: the same prior sample, two Gaussian likelihoods.

    With precisions τ_p, τ_q and observations y_p, y_q the log-likelihoods differ by ⟨δ, [x, x²]⟩ and a constant,
    for δ = [τ_p y_p − τ_q y_q, −(τ_p − τ_q)/2]. Since both sides use the same prior rows, the empirical
    problem has exactly this answer, whatever the sample.
    """
    x = as_generator(rng).normal(size=(n, 2))
    y_p, tau_p = np.array([0.9, 0.5]), 3.0
    y_q, tau_q = np.array([-0.4, 0.2]), 1.5
    problem = RatioProblem.from_samples(
        x, x, Gaussian(tuple(y_p), tau_p), Gaussian(tuple(y_q), tau_q), features="polynomial", paired=True
    )
    delta = np.concatenate([tau_p * y_p - tau_q * y_q, np.full(2, -(tau_p - tau_q) / 2)])
    return Demo(x, problem, delta)


def run_demo(demo: Demo, tol: float = 1e-8) -> Iterator[DemoRow]:
    """Solve as primal and dual with every installed solver, one row at a time."""
    for solver in installed_solvers():
        for formulation in ("primal", "dual"):
            solution = solve(demo.problem, formulation, solver, tol=tol, check=False)
            yield DemoRow(solution, float(np.linalg.norm(solution.delta - demo.delta)))


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
