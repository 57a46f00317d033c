r"""
12 Explaining a classifier
==========================

A classifier is a black box: it takes a point and returns probabilities. What does it do near one point? After this
lesson you will know

* that a local linear classifier is a ratio of two posteriors, with the *same* rows on both sides;
* why its offset needs no labelled data;
* what its confidence intervals cover, and what they do not;
* how it compares with regression on the probabilities, the idea behind LIME, for better and for worse.

Symbols: the point :math:`x_0`, random points :math:`x_i = x_0 + u_i` around it, :math:`p_+(x)` the black box's
probability of the class that we explain and :math:`p_-(x) = 1 - p_+(x)`. Otherwise as before: :math:`w`, :math:`\mu`,
:math:`b`, :math:`H`, :math:`\delta`.
"""

# %%
# A black box that we can look into
# ---------------------------------
#
# To judge an explanation we need the truth. So our black box has known log-odds,
#
# .. math::
#
#    g(x) = 1.2\, x_1 - 0.8\, x_2 + 1.5\, x_1 x_2 = \log \frac{p_+}{p_-} .
#
# Because of the product, the effect of one coordinate depends on the other. At :math:`x_0 = (0.2, 0.5)` the gradient
# has the entries :math:`1.2 + 1.5 \cdot 0.5 = 1.95` and :math:`-0.8 + 1.5 \cdot 0.2 = -0.5`: this describes the black
# box there.

import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.applications.explanation import Box, explain
from pre_convex.plots import plot_boundary
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, ORANGE


def sigmoid(t):
    return 1.0 / (1.0 + np.exp(-t))


def log_odds(x):
    return 1.2 * x[:, 0] - 0.8 * x[:, 1] + 1.5 * x[:, 0] * x[:, 1]


def black_box(x):
    return sigmoid(log_odds(x))


x_0, gradient = np.array([0.2, 0.5]), np.array([1.95, -0.5])
step = 1e-5 * np.eye(2)
assert np.allclose((log_odds(x_0 + step) - log_odds(x_0 - step)) / 2e-5, gradient)
print(f"P(+) at x_0 = {black_box(x_0[None])[0]:.4f}")

# %%
# A ratio of posteriors
# ---------------------
#
# Draw points :math:`x_i` uniformly from a box around :math:`x_0`; call their density :math:`\pi`. Among points of
# class :math:`-` the density is :math:`\pi(x)\,p_-(x)/P_-`, by Bayes' rule, with :math:`P_-` the share of that class
# in the box, and likewise for :math:`+`. Their ratio is
#
# .. math::
#
#    r(x) = \frac{\pi(x)\, p_-(x) / P_-}{\pi(x)\, p_+(x) / P_+}
#    = \frac{p_-(x)}{p_+(x)} \cdot \frac{P_+}{P_-}.
#
# This is a posterior ratio: both priors are :math:`\pi`, the likelihoods are :math:`p_-` and :math:`p_+`. The same
# points serve as samples of both priors, once weighted by :math:`p_-` and once by :math:`p_+`. No labels are needed,
# only predictions of the black box. With features :math:`u = x - x_0` the log-ratio is
# :math:`\langle\delta, u\rangle - \log Z`, so the log-odds of :math:`-` are
#
# .. math::
#
#    \begin{aligned}
#    & \langle\delta, u\rangle + \delta_0, \qquad \delta_0 = \log\frac{P_-}{P_+} - \log Z \\
#    & \quad = \log \sum_i p_-(x_i) - \log \sum_i p_+(x_i)\, e^{\langle\delta, u_i\rangle}.
#    \end{aligned}
#
# Even the offset needs only the points: :math:`P_-/P_+` is estimated by :math:`\sum_i p_-(x_i) / \sum_i p_+(x_i)`. The
# coefficients for :math:`+`, which we want, are :math:`-\delta` and :math:`-\delta_0`.


def local_classifier(u, plus, swap=False):
    """Coefficients and offset of the log-odds of +, with the problem behind them."""
    p, q = (plus, 1.0 - plus) if swap else (1.0 - plus, plus)
    problem = pre.RatioProblem.from_samples(u, u, np.log(p), np.log(q), paired=True)
    delta = pre.solve(problem).delta
    offset = np.log(p.sum()) - np.log((q * np.exp(u @ delta)).sum())
    sign = 1.0 if swap else -1.0
    return sign * delta, sign * offset, problem


rng = np.random.default_rng(12)
u = rng.uniform(-0.5, 0.5, (400, 2))
coef, offset, problem = local_classifier(u, black_box(x_0 + u))
print(f"coefficients {coef.round(3)}, gradient {gradient}")
print(f"offset {offset:.3f}, log-odds at x_0 {log_odds(x_0[None])[0]:.3f}")

found = explain(black_box, x_0, Box(0.5), n=400, label=1)
check = local_classifier(found.points - x_0, found.answers)
print(f"explain(): {found.coef.round(3)}, by hand on its points {check[0].round(3)}")
assert np.allclose(found.coef, check[0], atol=1e-6)
assert abs(found.decision_function(x_0[None])[0] - check[1]) < 1e-6

# %%
# If the log-odds *are* linear, the result is exact with any points, even just ten: at the true coefficients the
# weighted rows are the same on both sides, :math:`\mu_i = w_i`, as in the last exercise of :doc:`09_uncertainty`.

ten = rng.uniform(-0.5, 0.5, (10, 2))
exact = local_classifier(ten, sigmoid(ten @ [2.0, -1.0] + 0.3))
print(f"from ten points: coefficients {exact[0].round(6)}, offset {exact[1]:.6f}")
assert np.allclose(exact[0], [2.0, -1.0], atol=1e-5)
assert abs(exact[1] - 0.3) < 1e-5

# %%
# The boundary, near and far
# --------------------------
#
# The decision boundary of the black box is a curve, that of the local classifier a line. In a small box they nearly
# agree. In a wide box no line can follow the curve.

fig, axes = plt.subplots(1, 2, figsize=(7.8, 4.3), layout="constrained")
for ax, half in zip(axes, (0.5, 1.5), strict=True):
    near = explain(black_box, x_0, Box(half), n=400, label=1)
    line = near.coef, near.intercept
    plot_boundary(near.points, near.answers, *line, x_0, black_box=black_box, ax=ax)
    ax.set(xlabel="$x_1$", ylabel="$x_2$")
    ax.set_title(f"half-width {half}: both agree at {near.fidelity.agreement:.0%}")
    handles = ax.get_legend_handles_labels()
    ax.get_legend().remove()
fig.legend(*handles, loc="outside lower center", ncols=3, fontsize=9)
plt.show()

# %%
# ``fidelity`` measures on new points how often both predict the same class (agreement), and how much of the variance of
# the black box's probabilities the local classifier explains (R2). An explanation with poor fidelity does not describe
# the black box.

print("half-width   agreement   R2      coefficients")
fidelities = {}
for half in (0.25, 0.5, 1.0, 2.0):
    near = explain(black_box, x_0, Box(half), n=1000, label=1)
    both, r2 = near.fidelity.agreement, near.fidelity.r2
    fidelities[half] = r2
    print(f"{half:10.2f}   {both:9.1%}   {r2:.3f}   {near.coef.round(3)}")
assert fidelities[0.25] > 0.97
assert fidelities[2.0] < 0.8

# %%
# What the intervals cover
# ------------------------
#
# Other random points would give other coefficients. The sandwich of :doc:`09_uncertainty` tells how much they vary. The
# two sides are the same rows, so the two influences of a row must be added before they are squared:
#
# .. math::
#
#    \begin{aligned}
#    V & = H^{-1} S H^{-1}, \\
#    S & = \sum_i (w_i - \mu_i)^2\, (u_i - b)(u_i - b)^\top .
#    \end{aligned}
#
# The true value that these intervals should cover is the result for infinitely many points in *this* box, computed here
# on a fine grid. They do cover it. Squaring first, as for independent samples, gives intervals that are many times too
# long.


def limit(half, swap=False):
    """The local classifier of infinitely many points, by the midpoint rule."""
    middle = (np.arange(60) + 0.5) / 30.0 - 1.0
    grid = half * np.stack(np.meshgrid(middle, middle), axis=-1).reshape(-1, 2)
    return local_classifier(grid, black_box(x_0 + grid), swap)[0]


goal, runs = limit(0.5), 300
hits, lengths = np.zeros((2, 2)), np.zeros(2)
for _ in range(runs):
    u = rng.uniform(-0.5, 0.5, (200, 2))
    coef, _, problem = local_classifier(u, black_box(x_0 + u))
    w, mu = np.exp(problem.log_weights_p), np.exp(problem.log_mu(-coef))
    f = u - problem.target
    inverse = np.linalg.inv(f.T @ (mu[:, None] * f))
    together = f.T @ (((w - mu) ** 2)[:, None] * f)
    apart = f.T @ ((w**2 + mu**2)[:, None] * f)
    for i, S in enumerate((together, apart)):
        error = np.sqrt(np.diag(inverse @ S @ inverse))
        hits[i] += np.abs(coef - goal) <= 1.96 * error
        lengths[i] += error.mean() / runs
V = inverse @ together @ inverse  # of the last run
assert np.allclose(V, pre.Inference(problem, -coef, kind="centred").covariance, rtol=1e-5)

noise = np.sqrt(0.95 * 0.05 / runs)
print(f"{runs} runs; a share of 95 % has a standard error of {noise:.1%}")
for i, name in enumerate(("paired", "as if independent")):
    first, second = hits[i] / runs
    print(f"{name:18s} cover {first:.1%}, {second:.1%}; mean standard error {lengths[i]:.3f}")
assert np.all(np.abs(hits[0] / runs - 0.95) < 4 * noise)
assert np.all(hits[1] == runs)
assert lengths[1] > 4 * lengths[0]

# %%
# The intervals say nothing about the *choice* of the box. In the figure, the limits for boxes of growing width move
# away from the gradient, and no number of points brings them back. A wider box is a different question. So are swapped
# roles, with :math:`p_+` on the p side: the two agree where the black box is linear, and differ where it is not. That
# is a cheap test.

halves = np.array([0.1, 0.3, 0.5, 0.75, 1.0, 1.25, 1.5])
limits = np.array([limit(half) for half in halves])
swapped = np.array([limit(half, swap=True) for half in halves])
drawn = []
for i, half in enumerate(halves):
    near = explain(black_box, x_0, Box(half), n=300, label=1, rng=i)
    drawn.append([near.coef, 1.96 * near.std_error])
middle, reach = np.array(drawn).swapaxes(0, 1)

fig, axes = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
for i, ax in enumerate(axes):
    ax.axhline(gradient[i], color="black", ls="--", lw=1, label="gradient at $x_0$")
    ax.plot(halves, limits[:, i], color=BLUE, label="infinitely many points")
    ax.plot(halves, swapped[:, i], ":", color=GREEN, lw=2, label="the same, roles swapped")
    look = {"fmt": "o", "color": ORANGE, "ms": 4, "capsize": 3}
    ax.errorbar(halves, middle[:, i], reach[:, i], label="300 points, 95 %", **look)
    ax.set(xlabel="half-width of the box", ylabel=f"coefficient of $x_{i + 1}$")
handles = axes[0].get_legend_handles_labels()
fig.legend(*handles, loc="outside lower center", ncols=4, fontsize=8.5)
plt.show()
assert np.abs(limits[0] - gradient).max() < 0.02
gaps = np.abs(limits - swapped).max(axis=1)
assert gaps[0] < 0.02
assert gaps[-1] > 0.5

# %%
# A regression on probabilities
# -----------------------------
#
# LIME, the best-known method, fits a line to the *probabilities* by ridge regression. Its core is three lines of NumPy.
# (LIME also has a kernel, which we leave out, and it chooses its own points.) Another alternative is logistic
# regression on probabilities instead of labels. Take four features, of which only two matter, and log-odds
# :math:`c\,(u_1 - 0.7\, u_2)`, once gentle and once steep; in a third case a product :math:`3 u_1 u_2` is added. We
# report each coefficient relative to that of the first feature. In the linear cases the truth is
# :math:`(1, -0.7, 0, 0)`.


def ridge(u, plus, penalty=1.0):
    A = np.column_stack([np.ones(len(u)), u])
    return np.linalg.solve(A.T @ A + penalty * np.eye(A.shape[1]), A.T @ plus)[1:]


def soft_logistic(u, plus):
    A = np.column_stack([np.ones(len(u)), u])
    beta = np.zeros(A.shape[1])
    for _ in range(25):
        fitted = sigmoid(A @ beta)
        curvature = A.T @ ((fitted * (1.0 - fitted))[:, None] * A)
        beta = beta + np.linalg.solve(curvature, A.T @ (plus - fitted))
    return beta[1:]


def posterior_ratio(u, plus):
    return local_classifier(u, plus)[0]


methods = {
    "posterior ratio": posterior_ratio,
    "soft logistic": soft_logistic,
    "ridge": ridge,
}

# %%
# Each case is drawn fifty times, with 300 points, to see the noise too.


def relative(steepness, product, draws=50):
    """Coefficients relative to the first, shape (methods, draws, 4)."""
    found = np.empty((len(methods), draws, 4))
    for i in range(draws):
        u = rng.uniform(-1.0, 1.0, (300, 4))
        straight = steepness * (u[:, 0] - 0.7 * u[:, 1])
        plus = sigmoid(straight + product * u[:, 0] * u[:, 1])
        for m, method in enumerate(methods.values()):
            coef = method(u, plus)
            found[m, i] = coef / coef[0]
    return found


cases = {
    "gentle, linear": (0.5, 0.0),
    "steep, linear": (6.0, 0.0),
    "steep, with a product": (6.0, 3.0),
}
results = {name: relative(*case) for name, case in cases.items()}
print(f"{'':40s}  {'feature 2':>11s}  {'features 3, 4':>13s}")
print(f"{'':40s}  {'mean':>11s}  {'mean size':>13s}")
for name, found in results.items():
    for m, method in enumerate(methods):
        second = found[m, :, 1].mean()
        leak = np.abs(found[m, :, 2:]).mean()
        print(f"{name:22s}  {method:16s}  {second:11.3f}  {leak:13.4f}")
exact = np.array([1.0, -0.7, 0.0, 0.0])
assert np.abs(results["steep, linear"][:2] - exact).max() < 1e-5
assert np.abs(results["gentle, linear"][2] - exact).max() < 0.02
assert results["steep, linear"][2, :, 1].mean() > -0.66

fig, axes = plt.subplots(1, 3, figsize=(7.8, 3.2), sharey=True, layout="constrained")
for ax, (name, found) in zip(axes, results.items(), strict=True):
    for m, method in enumerate(methods):
        look = {"marker": "os^"[m], "color": (BLUE, GREEN, AMBER)[m], "s": 9, "alpha": 0.6}
        at = np.arange(2, 5) + 0.22 * (m - 1) + np.linspace(-0.07, 0.07, 50)[:, None]
        ax.scatter(at, found[m, :, 1:], label=method, linewidths=0, **look)
    ax.hlines([-0.7, 0.0, 0.0], [1.6, 2.6, 3.6], [2.4, 3.4, 4.4], color="black", lw=0.8)
    ax.set(xlabel="feature", xticks=[2, 3, 4])
    ax.set_title(name, fontsize=10)
axes[0].set_ylabel("coefficient / first one")
names = axes[0].get_legend_handles_labels()
fig.legend(*names, loc="outside lower center", ncols=3, markerscale=2.5)
plt.show()

# %%
# Where probabilities stay away from 0 and 1, all three agree. Where they saturate, no straight line can follow them:
# ridge regression gives weight to features without effect and shrinks the second coefficient. Log-odds do not saturate.
# But it is the log-odds that help, not the posterior ratio as such: soft logistic regression is exact as well. With a
# product in the log-odds there is no exact line; each method finds a different one, and all of them give some weight to
# features without effect.
#
# The same works for texts and images, whose features are words and super-pixels that are on or off;
# ``explain(model, text)`` and ``explain(model, image, SuperPixels((4, 4)))`` do it.
#
# Exercises
# ---------
#
# **Exercise 1.** One word is either in a text, :math:`z = 1`, or not, :math:`z = 0`. The black box says
# :math:`p_+ = 3/4` with it and :math:`1/4` without it. Take each of the two texts once. Compute :math:`\delta` and
# :math:`\delta_0` by hand from the formulas above.
#
# Solution 1
# ^^^^^^^^^^
#
# The p side has weights :math:`p_-`: :math:`3/4` at 0 and :math:`1/4` at 1, so :math:`b = 1/4`. The base weights are
# :math:`1/4` and :math:`3/4`. We need :math:`\mu_1 = 1/4`, that is
# :math:`\tfrac34 e^\delta = \tfrac14 (\tfrac14 + \tfrac34 e^\delta)`, so :math:`e^\delta = 1/9` and
# :math:`\delta = -2\log 3`. The sums in the offset are :math:`\tfrac34 + \tfrac14 = 1` and
# :math:`\tfrac14 + \tfrac34 \cdot \tfrac19 = \tfrac13`, so :math:`\delta_0 = \log 1 - \log\tfrac13 = \log 3`. For
# :math:`+` the log-odds are :math:`-\log 3 + 2 \log 3 \cdot z`, which is correct at both points:
# :math:`\log\tfrac{1/4}{3/4}` and :math:`\log\tfrac{3/4}{1/4}`.

word = local_classifier(np.array([[0.0], [1.0]]), np.array([0.25, 0.75]))
print(f"coefficient {word[0][0]:.4f}, 2 log 3 = {2 * np.log(3):.4f}")
print(f"offset {word[1]:.4f}, -log 3 = {-np.log(3):.4f}")
assert abs(word[0][0] - 2 * np.log(3)) < 1e-6
assert abs(word[1] + np.log(3)) < 1e-6

# %%
# **Exercise 2.** The intervals shrink with the square root of the number of points. Explain the black box in the box of
# half-width 0.5 with 25, 100, 400 and 1,600 points, forty times each with different points (``rng``). How often does
# the interval for the second coefficient contain the gradient, :math:`-0.5`, and how often the limit for this box? What
# do you conclude?
#
# Solution 2
# ^^^^^^^^^^
#
# With 25 points most intervals contain the gradient, because they are long. With 1,600 none does. The intervals are
# right: they cover the best line for this box, which is not the tangent at :math:`x_0`. More points answer the question
# you asked more precisely. They do not turn it into another question.

goal, widths, held = limit(0.5)[1], [], []
print(f"gradient {gradient[1]}, limit for this box {goal:.3f}")
for n in (25, 100, 400, 1600):
    ends = []
    for i in range(40):
        near = explain(black_box, x_0, Box(0.5), n=n, label=1, rng=i)
        interval = near.conf_int()
        ends.append([interval.lower[1], interval.upper[1]])
    low, high = np.transpose(ends)
    widths.append(np.mean(high - low))
    held.append([np.mean((low <= aim) & (aim <= high)) for aim in (gradient[1], goal)])
    print(f"{n:5d} points: mean length {widths[-1]:.3f}, ", end="")
    print(f"hold the gradient {held[-1][0]:.0%}, the limit {held[-1][1]:.0%}")
held = np.array(held)
assert held[0, 0] > 0.5
assert held[3, 0] == 0.0
assert held[:, 1].min() > 0.75
# four times the points, half the length
assert np.all(np.abs(np.array(widths[:3]) / widths[1:] - 2.0) < 0.5)

# %%
# **Exercise 3.** The black box has log-odds :math:`3 u_1`, but is wrong at one of 300 points: there it returns
# :math:`1 - p_+` instead of :math:`p_+`. Let the outlier be the point where :math:`p_+` is largest, then the one where
# it is smallest. Is the damage to the coefficients the same?
#
# Solution 3
# ^^^^^^^^^^
#
# No. PRE solves :math:`\sum_i (p_- - p_+ e^{\eta})(1, u) = 0` with :math:`\eta` the log-odds of :math:`-`. An outlier
# where :math:`+` is likely has :math:`e^\eta \approx 0`, and its residual is at most one: little happens. An outlier
# where :math:`-` is likely has :math:`p_+ \approx 1` where :math:`e^\eta` is large, and its residual is of that size:
# one point in 300 reduces the first coefficient by a tenth, and gives weight to a feature without effect. With swapped
# roles it is the other way round. Both outliers have a small effect on the ridge regression. So PRE is robust on one
# side only, and not better than LIME in general; comparing with ``swap=True`` reveals the problem.

u = rng.uniform(-1.0, 1.0, (300, 2))
honest = sigmoid(3.0 * u[:, 0])
before = ridge(u, honest, 0.0)
damage = {}
for name, outlier in (("likely", np.argmax(honest)), ("unlikely", np.argmin(honest))):
    answers = honest.copy()
    answers[outlier] = 1.0 - answers[outlier]
    plain, other_way = (local_classifier(u, answers, swap)[0] for swap in (False, True))
    moved = np.abs(ridge(u, answers, 0.0) - before).max() / before[0]
    damage[name] = [np.abs(coef - [3.0, 0.0]).max() for coef in (plain, other_way)]
    print(f"outlier where + is {name}")
    print(f"  coefficients {plain.round(3)}, with swapped roles {other_way.round(3)}")
    print(f"  the ridge moves by {moved:.1%} of its first coefficient")
assert damage["unlikely"][0] > 3 * damage["likely"][0]
assert abs(damage["unlikely"][0] / 3.0 - 0.1) < 0.02
assert damage["likely"][1] > 3 * damage["unlikely"][1]
