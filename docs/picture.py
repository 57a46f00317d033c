"""The picture of README and home page, from fits that run: ``make picture`` writes ``docs/picture.svg``.

One problem throughout: x on a line, priors N(½, 1) and N(0, 1), one observation each with a Gaussian likelihood, and
features (x, x²). Both posteriors are normal then, so that the true ratio is known.
"""

import io
from pathlib import Path

import cvxpy as cp
import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Polygon
from scipy.spatial import ConvexHull

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

HERE = Path(__file__).parent
INK, CARD = "#222222", "#fcfcfa"
STYLE = {
    "svg.hashsalt": "pre_convex",
    "svg.fonttype": "path",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": "#888888",
    "xtick.color": "#555555",
    "ytick.color": "#555555",
}
MEAN_P, TAU_P, TAU_Q, Y_P, Y_Q = 0.5, 1.0, 0.5, 1.5, -0.5
RADIUS = 0.5
LIMITS = (-3.0, 3.0)


def fitted():
    """The fit of 60 and 60 samples, and the samples."""
    rng = np.random.default_rng(5)
    x_p, x_q = rng.normal(MEAN_P, 1.0, (60, 1)), rng.normal(0.0, 1.0, (60, 1))
    fit = pre.PosteriorRatio("polynomial")
    return fit.fit(x_p, x_q, pre.Gaussian([Y_P], TAU_P), pre.Gaussian([Y_Q], TAU_Q)), x_p[:, 0], x_q[:, 0]


def true_log_ratio(x):
    """Log of N(x; posterior of p) / N(x; posterior of q)."""
    s_p, s_q = 1.0 / (1.0 + TAU_P), 1.0 / (1.0 + TAU_Q)
    m_p, m_q = s_p * (MEAN_P + TAU_P * Y_P), s_q * TAU_Q * Y_Q
    return 0.5 * (np.log(s_q / s_p) + (x - m_q) ** 2 / s_q - (x - m_p) ** 2 / s_p)


def feasible(problem, mu):
    """Weights of the simplex near μ that have the moments b, which [LIFT] gives without a care for signs."""
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


def samples(ax, x, weights, colour, words):
    """Samples as stems, as high as their weights are beside an even share."""
    high = weights * len(x)
    ax.vlines(x, 0.0, high, color=colour, linewidth=0.9, alpha=0.75)
    ax.plot(x, np.zeros_like(x), "|", color=colour, markersize=5, markeredgewidth=0.6, clip_on=False)
    ax.set(xlim=LIMITS, ylim=(0.0, 3.9), yticks=[0, 1, 2])
    ax.text(0.02, 0.98, words, transform=ax.transAxes, va="top", color=colour)


def hull(ax, fit):
    """The hull of the q features, the target, the ball around it, and the weights as areas of points."""
    problem, mu = fit.problem_, fit.mu_
    F, b = problem.features_q, problem.target
    corners = F[ConvexHull(F).vertices]
    ax.add_patch(Polygon(corners, facecolor=BLUE, alpha=0.10, edgecolor="none"))
    ax.add_patch(Polygon(corners, fill=False, edgecolor=BLUE, linewidth=0.8, alpha=0.5))
    ax.scatter(*F.T, s=1500.0 * mu, color=BLUE, alpha=0.45, linewidths=0)
    ax.scatter(*F.T, s=2.0, color=BLUE)
    ax.add_patch(Circle(b, RADIUS, fill=False, edgecolor=ORANGE, linestyle=(0, (3, 2)), linewidth=1.2))
    ax.plot(*b, marker="x", color=ORANGE, markersize=8, markeredgewidth=2.2)
    line = {"arrowstyle": "-", "color": ORANGE, "linewidth": 0.8, "shrinkA": 1, "shrinkB": 6}
    ax.annotate(r"$b=\sum w_i\,f(x_{p,i})$" + "\n" + r"   $=\sum\mu_j\,f(x_{q,j})$", b, (-1.1, 2.1), color=ORANGE,
                arrowprops=line)  # fmt: skip
    edge = b + RADIUS * np.array([0.5, -0.87])
    ax.annotate("ball of radius $R$:\nslack, if you like", edge, (0.62, -0.3), color=ORANGE,
                arrowprops={**line, "shrinkB": 0})  # fmt: skip
    ax.text(-2.05, -0.25, "areas: $\\mu_j$", color=BLUE)
    ax.text(-1.62, 3.06, "hull of $f(x_{q,j})$", color=BLUE)
    ax.set(
        xlim=(-2.2, 2.3),
        ylim=(-0.4, 4.1),
        xlabel="$x$",
        ylabel="$x^2$",
        aspect="equal",
        xticks=[-2, -1, 0, 1, 2],
        yticks=[0, 1, 2, 3, 4],
        anchor="N",
    )


def ratio(ax, fit):
    """The estimated log ratio with its band, and the true one."""
    x = np.linspace(*LIMITS, 121)
    band = fit.log_ratio_interval(x[:, None])
    ax.fill_between(x, band.lower, band.upper, color=GREEN, alpha=0.25, linewidth=0)
    ax.plot(x, band.estimate, color=GREEN, linewidth=2.0)
    ax.plot(x, true_log_ratio(x), color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    ax.axhline(0.0, color=GREY, linewidth=0.6)
    ax.set(xlim=LIMITS, ylim=(-8.5, 4.5), ylabel=r"$\log\,r(x)$", xlabel="$x$", yticks=[-6, -3, 0, 3])
    ax.text(0.42, 0.30, "estimate, 95 % band", color=GREEN, transform=ax.transAxes)
    ax.text(0.42, 0.12, "truth (dashed)", color=INK, transform=ax.transAxes)


def proof(ax, fit, steps=11):
    """The value of the primal from above and that of the dual from below."""
    upper, lower = bounds(fit.problem_, steps).T
    ax.fill_between(np.arange(steps), lower, upper, color=GREY, alpha=0.18, linewidth=0)
    ax.plot(upper, color=ORANGE, linewidth=1.8, marker="v", markersize=4)
    ax.plot(lower, color=BLUE, linewidth=1.8, marker="^", markersize=4)
    ax.set(
        xlim=(-0.2, steps - 0.8),
        xlabel="iterations",
        ylabel="value",
        xticks=range(0, steps, 2),
        yticks=[-1.5, -1, -0.5, 0],
        ylim=(-1.75, 0.1),
    )
    ax.text(0.25, 0.75, r"primal value of $\delta$", color=ORANGE, transform=ax.transAxes)
    ax.text(0.25, 0.04, r"dual value of feasible $\mu$", color=BLUE, transform=ax.transAxes)


def draw():
    """The picture as text."""
    with matplotlib.rc_context(STYLE):
        fit, x_p, x_q = fitted()
        figure = Figure(figsize=(10.2, 4.25), facecolor=CARD, layout="constrained")
        figure.get_layout_engine().set(w_pad=0.09, h_pad=0.09)
        left, middle, right = figure.add_gridspec(1, 3, width_ratios=[1.0, 1.12, 1.08], wspace=0.03)
        top, bottom = (figure.add_subplot(part) for part in left.subgridspec(2, 1))
        samples(top, x_p, np.exp(fit.problem_.log_weights_p), ORANGE, "prior p, weights $w_i\\propto l_p(x_{p,i})$")
        samples(bottom, x_q, np.exp(fit.problem_.log_base), BLUE, "prior q, weights $e^{a_j}\\propto l_q(x_{q,j})$")
        top.set_title("1  Two samples, two likelihoods", loc="left")
        top.tick_params(labelbottom=False)
        bottom.set_xlabel("$x$")
        centre = figure.add_subplot(middle)
        hull(centre, fit)
        centre.set_title("2  Weights on q with the moments of p", loc="left")
        top, bottom = (figure.add_subplot(part) for part in right.subgridspec(2, 1))
        ratio(top, fit)
        top.set_title("3  The ratio of the posteriors", loc="left")
        proof(bottom, fit)
        bottom.set_title("4  Proof: two bounds that meet", loc="left")
        for ax in figure.axes:
            ax.set_facecolor(CARD)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None}, facecolor=CARD)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines()) + "\n"


if __name__ == "__main__":
    (HERE / "picture.svg").write_text(draw(), encoding="utf-8")
