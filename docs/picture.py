"""The picture of README and home page, from fits that run: ``make picture`` writes ``docs/picture.svg``.

One problem throughout: samples of N(0.8, 0.7²) and N(0, 1), and features (x, x²), so that the true ratio is known.
"""

import io
from pathlib import Path

import cvxpy as cp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import norm

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

HERE = Path(__file__).parent
INK, CARD = "#222222", "#fcfcfa"
STYLE = {
    "svg.hashsalt": "pre_convex",
    "svg.fonttype": "path",
    "font.size": 10.0,
    "axes.titlesize": 11.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#888888",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
}
P, Q = norm(0.8, 0.7), norm(0.0, 1.0)
LIMITS = (-3.0, 3.0)
BINS = np.linspace(*LIMITS, 25)


def fitted():
    """The fit of 400 and 600 samples, and the samples."""
    rng = np.random.default_rng(3)
    x_p, x_q = P.rvs((400, 1), random_state=rng), Q.rvs((600, 1), random_state=rng)
    return pre.KLIEP("polynomial").fit(x_p, x_q), x_p[:, 0], x_q[:, 0]


def feasible(problem, mu):
    """Weights of the simplex close to μ that have the moments b."""
    change = cp.Variable(problem.n_q)
    F = problem.features_q - problem.target
    limits = [change >= -1, mu @ change == 0, (mu[:, None] * F).T @ change == -F.T @ mu]
    cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(np.sqrt(mu), change))), limits).solve(solver="CLARABEL")
    return np.maximum(mu * (1.0 + change.value), 0.0)


def bounds(problem, steps):
    """Upper and lower bounds along Newton steps of 2/5 from δ = 0: ℓ(δ), and the dual value of feasible weights."""
    delta, found = np.zeros(problem.k), []
    for _ in range(steps):
        found.append((problem.value(delta), problem.dual_value(feasible(problem, np.exp(problem.log_mu(delta))))))
        delta = delta - 0.4 * np.linalg.solve(problem.hessian(delta), problem.gradient(delta))
    return np.array(found)


def samples(ax, x_p, x_q):
    """Histograms of the two samples."""
    ax.hist(x_q, BINS, density=True, color=BLUE, alpha=0.45)
    ax.hist(x_p, BINS, density=True, color=ORANGE, alpha=0.55)
    ax.text(-2.9, 0.42, "q: the sample\nyou have", color=BLUE)
    ax.text(1.45, 0.5, "p: the one\nyou want", color=ORANGE)
    ax.set(xlim=LIMITS, ylim=(0.0, 0.68), xlabel="x", ylabel="density of the sample")


def ratio(ax, fit):
    """The estimated ratio with its band, and the true one, on a logarithmic axis."""
    x = np.linspace(*LIMITS, 121)
    band = fit.log_ratio_interval(x[:, None])
    ax.fill_between(x, np.exp(band.lower), np.exp(band.upper), color=GREEN, alpha=0.25, linewidth=0)
    ax.plot(x, np.exp(band.estimate), color=GREEN, linewidth=2.0)
    ax.plot(x, P.pdf(x) / Q.pdf(x), color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.axhline(1.0, color=GREY, linewidth=0.6)
    ax.set(xlim=LIMITS, ylim=(5e-4, 12.0), yscale="log", xlabel="x", ylabel="ratio p(x) / q(x)")
    ax.set_yticks([0.001, 0.01, 0.1, 1, 10], ["0.001", "0.01", "0.1", "1", "10"])
    ax.minorticks_off()
    ax.text(0.45, 0.38, "estimate, with\n95 % band", color=GREEN, transform=ax.transAxes)
    ax.text(0.45, 0.22, "truth (dashed)", color=INK, transform=ax.transAxes)


def reweighted(ax, fit, x_p, x_q):
    """Histogram of the q sample, weighted by the ratio, and of the p sample."""
    ax.hist(x_q, BINS, density=True, weights=fit.sample_weight(), color=BLUE, alpha=0.45)
    ax.hist(x_p, BINS, density=True, histtype="step", color=ORANGE, linewidth=1.8)
    ax.text(-2.9, 0.42, "q, weighted\nby the ratio", color=BLUE)
    ax.text(1.6, 0.5, "p", color=ORANGE)
    ax.set(xlim=LIMITS, ylim=(0.0, 0.68), xlabel="x", ylabel="density of the sample")


def proof(ax, fit, steps=11):
    """The value of the primal from above and that of the dual from below."""
    upper, lower = bounds(fit.problem_, steps).T
    ax.fill_between(np.arange(steps), lower, upper, color=GREY, alpha=0.18, linewidth=0)
    ax.plot(upper, color=ORANGE, linewidth=1.8, marker="v", markersize=4)
    ax.plot(lower, color=BLUE, linewidth=1.8, marker="^", markersize=4)
    ax.set(xlim=(-0.2, steps - 0.8), ylim=(-0.48, 0.02), xticks=range(0, steps, 2))
    ax.set(xlabel="iterations", ylabel="bounds on the optimum")
    ax.text(0.22, 0.70, "upper bound (primal)", color=ORANGE, transform=ax.transAxes)
    ax.text(0.30, 0.05, "lower bound (dual)", color=BLUE, transform=ax.transAxes)


def draw():
    """The picture as text."""
    with matplotlib.rc_context(STYLE):
        fit, x_p, x_q = fitted()
        figure = Figure(figsize=(12.4, 3.5), facecolor=CARD, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
        axes = figure.subplots(1, 4)
        samples(axes[0], x_p, x_q)
        ratio(axes[1], fit)
        reweighted(axes[2], fit, x_p, x_q)
        proof(axes[3], fit)
        titles = (
            "1  Two samples",
            "2  Ratio of their densities",
            "3  Weights make q look like p",
            "4  Proof: the bounds meet",
        )
        for ax, title in zip(axes, titles, strict=True):
            ax.set_title(title, loc="left")
            ax.set_facecolor(CARD)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, facecolor=CARD)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


if __name__ == "__main__":
    (HERE / "picture.svg").write_text(draw(), encoding="utf-8")
