r"""
06 The radius: dual norms, shrinkage, sparsity, the path
========================================================

Matching the target exactly is often too much to ask: the target is itself an average over a sample. The radius
:math:`R` lets the moment miss it. Afterwards you will know

* why a ball of radius :math:`R` in the dual is a penalty :math:`R\|\delta\|_*` in the primal, norm by norm;
* how the solution changes with :math:`R`, where it becomes zero, and when each coefficient enters;
* how this differs from ridge regression, and how ``"auto"`` and ``"cv"`` choose :math:`R`;
* what the radius costs: bias, which has to be removed before there can be confidence intervals.

Symbols: :math:`b` the target, :math:`F` the q features, :math:`a` the logarithms of base weights, :math:`\mu` weights,
:math:`\delta` the ratio parameter, :math:`r = b - F^\top\mu` the residual of the moment, :math:`\|\cdot\|` the norm it
is measured in, and :math:`\|\cdot\|_*` the dual norm.
"""

# %%
# From a ball to a penalty
# ------------------------
#
# The relaxed dual requires :math:`\|r\|\le R` instead of :math:`r = 0`. Give the equation :math:`r = b - F^\top\mu` the
# multiplier :math:`\delta`. The Lagrangian splits into two independent parts:
#
# .. math::
#
#    \max_{\mu}\Bigl[\,\sum_j \mu_j (a_j - \log\mu_j) + \langle\delta, F^\top\mu\rangle\Bigr] - \langle\delta, b\rangle
#    \;+\; \max_{\|r\|\le R}\langle \delta, r\rangle .
#
# The first maximum is :math:`\log Z(\delta)`, as without a radius. The second is new: the largest inner product of
# :math:`\delta` with a point of a ball. This is the *support function* of the ball, and by definition
#
# .. math::
#
#    \max_{\|r\|\le R}\langle\delta, r\rangle = R\,\|\delta\|_* .
#
# So the relaxed dual belongs to the primal with penalty :math:`R\|\delta\|_*`. Which norm is dual to which can be found
# by hand. In the maximum norm each :math:`r_i` may be :math:`\pm R` independently; the best choice is
# :math:`r_i = R\, \mathrm{sign}(\delta_i)`, and the maximum is :math:`R\sum_i|\delta_i|`. In norm 1 the whole budget
# goes to the largest :math:`|\delta_i|`. In norm 2, by Cauchy and Schwarz, :math:`r` is parallel to :math:`\delta`.

import textwrap

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, LIGHT, ORANGE, PINK, SKY

angle = np.linspace(0.0, 2.0 * np.pi, 3601)
circle = np.column_stack([np.cos(angle), np.sin(angle)])
delta = np.array([2.0, 1.0])
dual_order = {2: 2, np.inf: 1, 1: np.inf}
dual_ball_names = {
    2: r"$\sqrt{\delta_0^2 + \delta_1^2} \leq 1$",
    np.inf: r"$|\delta_0| + |\delta_1| \leq 1$",
    1: r"$\max_i|\delta_i| \leq 1$",
}
by_hand = {2: np.sqrt(5.0), np.inf: 3.0, 1: 2.0}  # the dual norms of (2, 1)

fig, axes = plt.subplots(2, 3, figsize=(8.2, 5.4), layout="constrained")
for (norm, star), (top, bottom) in zip(dual_order.items(), axes.T, strict=True):
    ball = circle / np.linalg.norm(circle, norm, axis=1)[:, None]  # points with norm one
    dual_ball = circle / np.linalg.norm(circle, star, axis=1)[:, None]
    best = ball[np.argmax(ball @ delta)]
    assert np.isclose(np.max(ball @ delta), by_hand[norm], atol=1e-6)
    assert np.isclose(np.linalg.norm(delta, star), by_hand[norm])
    top.fill(*ball.T, facecolor=SKY, alpha=0.35, edgecolor=BLUE)
    arrow = {"arrowstyle": "->", "color": ORANGE, "linewidth": 2}
    top.annotate("", 0.75 * delta, (0, 0), arrowprops=arrow)
    top.text(1.5, 0.8, r"$\delta$", color=ORANGE, fontsize=13)
    across = np.array([-1.0, 2.0]) / np.sqrt(5.0)
    line = best + np.outer([-1.2, 1.2], across)  # as far along delta as the best
    top.plot(*line.T, "--", color=ORANGE, linewidth=1)
    top.plot(*best, "o", color=GREEN, markersize=8)
    top.set_title(f"norm {norm:g}: residuals $\\|r\\| \\leq 1$")
    bottom.fill(*dual_ball.T, facecolor=AMBER, alpha=0.3, edgecolor=ORANGE)
    bottom.set_title(dual_ball_names[norm])
    for ax in (top, bottom):
        ax.axhline(0, color=LIGHT, zorder=0)
        ax.axvline(0, color=LIGHT, zorder=0)
        ax.set(xlim=(-1.75, 1.75), ylim=(-1.5, 1.5), aspect="equal")
        ax.set(xticks=[-1, 0, 1], yticks=[-1, 0, 1])
plt.show()

# %%
# Above: the ball of residuals, the direction of :math:`\delta = (2, 1)`, and the residual that extends furthest along
# it (dot). The inner product of the two is the dual norm of :math:`\delta`: :math:`\sqrt 5`, :math:`2 + 1 = 3` and
# :math:`\max(2, 1) = 2`. Below: the dual balls. The corners matter. A penalty has a kink where its ball has a corner,
# and solutions tend to stay at kinks: the diamond has its corners where coefficients are zero, the square where they
# are equally large.

# %%
# The same on data
# ----------------
#
# Six features, normal with some correlation on both sides; the mean is shifted on the p side so that the true
# :math:`\delta` has three nonzero coefficients. For normal distributions with a common covariance :math:`\Sigma` the
# true ratio has :math:`\delta = \Sigma^{-1}(\text{shift})`, so we choose :math:`\delta` and shift by
# :math:`\Sigma\delta`. One shift is zero: ``x1`` has the same mean on both sides, although :math:`\delta_1 = -0.6`.
# Its correlation with ``x0`` and ``x2``, whose means rise, hides its effect.

k, n = 6, 1000
truth = np.array([1.0, -0.6, 0.5, 0.0, 0.0, 0.0])
sigma = 0.4 ** np.abs(np.subtract.outer(np.arange(k), np.arange(k)))
root = np.linalg.cholesky(sigma)


def draw(rng, n=n):
    """A p and a q sample."""
    x_p, x_q = rng.normal(size=(2, n, k)) @ root.T
    return x_p + sigma @ truth, x_q


print("shift", (sigma @ truth).round(3) + 0.0)
assert abs((sigma @ truth)[1]) < 1e-12
x_p, x_q = draw(np.random.default_rng(5))
problem = pre.RatioProblem.from_samples(x_p, x_q)
b, F = problem.target, problem.features_q

for norm, star in dual_order.items():
    relaxed = problem.with_radius(0.2, norm=norm)
    primal = pre.solve(relaxed)
    dual = pre.dual_program(relaxed)
    dual.cvxpy.solve(solver=cp.CLARABEL)
    delta, mu = dual.recover()
    r = b - F.T @ mu
    penalty = 0.2 * np.linalg.norm(delta, star)
    length = np.linalg.norm(r, norm)
    print(f"norm {norm:<4g} primal {primal.primal_value:.7f}  dual {dual.cvxpy.value:.7f}")
    print(f"          |r| {length:.6f}  <r, delta> {r @ delta:.6f}  R|delta|* {penalty:.6f}")
    assert np.isclose(primal.primal_value, dual.cvxpy.value, atol=1e-6)
    assert np.allclose(primal.delta, delta, atol=1e-4)
    assert np.isclose(length, 0.2, atol=1e-6)
    assert np.isclose(r @ delta, penalty, atol=1e-5)

# %%
# At each solution :math:`\langle r,\delta\rangle = R\|\delta\|_*`: the residual is the point of the ball that extends
# furthest along :math:`\delta`. Read the other way round, this explains the three behaviours.
#
# * **norm 2**: :math:`r` is parallel to :math:`\delta`. Every moment is missed in proportion to its coefficient:
#   :math:`\delta` gets shorter, and no coefficient is exactly zero, except by coincidence.
# * **norm inf**: :math:`r_i = R\,\mathrm{sign}(\delta_i)` where :math:`\delta_i\ne 0`. A feature whose residual is
#   strictly between :math:`-R` and :math:`R` has :math:`\delta_i = 0`: the penalty is :math:`\ell_1` and :math:`\delta`
#   is *sparse*.
# * **norm 1**: :math:`r_i \ne 0` only where :math:`|\delta_i|` is the largest. Only features at this cap may miss their
#   moments; all others match theirs exactly.

sparse = pre.solve(problem.with_radius(0.2, norm=np.inf))
capped = pre.solve(problem.with_radius(0.5, norm=1))
for name, solution in (("norm inf", sparse), ("norm 1", capped)):
    print(f"{name:8s}  delta {solution.delta.round(3)}")
    print(f"          r     {(b - F.T @ solution.mu).round(3) + 0.0}")
zero = sparse.delta == 0.0
assert 0 < zero.sum() < k
r = b - F.T @ sparse.mu
assert np.all(np.abs(r[zero]) < 0.2)
assert np.allclose(r[~zero], 0.2 * np.sign(sparse.delta[~zero]), atol=1e-6)
at_cap = np.isclose(np.abs(capped.delta), np.abs(capped.delta).max())
assert at_cap.sum() >= 2
assert np.allclose((b - F.T @ capped.mu)[~at_cap], 0.0, atol=1e-6)

# %%
# The path
# --------
#
# When is :math:`\delta = 0` the solution? It corresponds to the base weights :math:`e^{a}`. They maximise the dual
# without the moment constraint, so they also maximise it with the constraint as soon as they satisfy it:
#
# .. math::
#
#    \delta = 0 \iff R \ge R_{\max} = \|b - F^\top e^{a}\| .
#
# The path runs from there down to 0. ``pre.radius_path`` computes it, with each problem warm-started from its
# neighbour.

gap_of_means = b - F.T @ np.exp(problem.log_base)
shares = np.linspace(1.05, 0.0, 36)
paths, tops = {}, {}
for norm in dual_order:
    tops[norm] = np.linalg.norm(gap_of_means, norm)
    data = problem.with_radius(0.0, norm=norm)
    path = pre.radius_path(data, tops[norm] * shares)
    assert all(s.status.ok for s in path)
    paths[norm] = np.array([s.delta for s in path])
    below, above = pre.radius_path(data, [0.99 * tops[norm], 1.01 * tops[norm]])
    assert np.any(below.delta != 0.0)
    assert np.allclose(above.delta, 0.0, atol=1e-9)

colours = [BLUE, ORANGE, GREEN, GREY, GREY, GREY]
styles = ["-", "-", "-", "-", "--", ":"]
effects = {2: "shrinks", np.inf: "selects", 1: "caps"}
fig, axes = plt.subplots(1, 3, figsize=(8.6, 3.6), sharey=True, layout="constrained")
for ax, (norm, path) in zip(axes, paths.items(), strict=True):
    for i in range(k):
        ax.plot(shares, path[:, i], styles[i], color=colours[i], label=f"x{i}, true {truth[i]:g}")
    ax.axvline(1.0, color=PINK, linewidth=1)
    ax.axhline(0.0, color=LIGHT, zorder=0)
    ax.set(xlabel=r"$R / R_{\max}$", title=f"norm {norm:g} {effects[norm]}")
axes[0].set_ylabel(r"coefficients $\delta_i$")
fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, fontsize=9)
plt.show()

# %%
# At the right end, :math:`R_{\max}`, everything is zero; at the left, :math:`R = 0`, the three paths meet in the same
# unpenalised solution. Individual coefficients may grow or change sign on the way as :math:`R` increases; what shrinks
# is the dual norm :math:`\|\delta\|_*`. In norm inf the first coefficient to enter as :math:`R` decreases is the one
# whose moment the base weights miss most, because its residual is the first to reach the sides of the box. After that
# the order is not that of the initial residuals: a feature that has entered changes the residuals of all features
# correlated with it. Look at ``x1``: its moment is hardly missed at first, but it enters before ``x3``, whose moment
# is missed more.

first = np.argmax(np.abs(paths[np.inf]) > 1e-8, axis=0)  # index on the path
entered = dict(enumerate(tops[np.inf] * shares[first]))
order = sorted(entered, key=entered.get, reverse=True)
print("R_max in norm inf:", tops[np.inf].round(4))
for i in order:
    missed = f"missed at first by {gap_of_means[i]:+.3f}"
    print(f"x{i} is in from R = {entered[i]:.3f} on, {missed}, true {truth[i]:+.1f}")
assert order[0] == np.argmax(np.abs(gap_of_means))
assert set(order[:3]) == {0, 1, 2}
assert abs(gap_of_means[1]) < abs(gap_of_means[3])
for norm, star in dual_order.items():
    assert np.all(np.diff(np.linalg.norm(paths[norm], star, axis=1)) > -1e-8)
assert np.allclose([p[-1] for p in paths.values()], paths[2][-1], atol=1e-6)

# %%
# .. note::
#
#    The radius of a problem has the units of the features. A feature in grams has a residual a thousand times that in
#    kilograms, and so enters much earlier. Put features on a common scale before you use a radius (exercise 2). The
#    estimators do so by default: their radius is in standard deviations, unless ``standardise=False``.

# %%
# Not quite ridge
# ---------------
#
# Ridge regression penalises the *square* of the length. With norm 2 we penalise the length. The gradients are
#
# .. math::
#
#    \nabla\, R\|\delta\|_2 = R\,\delta/\|\delta\|_2,
#    \qquad \nabla\, \tfrac{\lambda}{2}\|\delta\|_2^2 = \lambda\,\delta ,
#
# so a solution :math:`\hat\delta\ne 0` for :math:`R` is also the ridge solution for
# :math:`\lambda = R/\|\hat\delta\|_2`, and both families are the same curve. What differs is the speed along it: with
# the length, zero is reached at the finite :math:`R_{\max}`; with its square, never. The package accepts any convex
# penalty, so we can check.

for share in (0.2, 0.6, 0.95):
    R = share * tops[2]
    shrunk = pre.solve(problem.with_radius(R)).delta
    lam = R / np.linalg.norm(shrunk)
    ridge = pre.solve(problem, penalty=lambda d, c=lam: c / 2 * cp.sum_squares(d)).delta
    lengths = f"{np.linalg.norm(shrunk):.4f} and {np.linalg.norm(ridge):.4f}"
    print(f"R = {share:.2f} R_max: lambda {lam:.3f}, lengths {lengths}")
    assert np.allclose(ridge, shrunk, atol=1e-5)

# %%
# How the radius is chosen
# ------------------------
#
# ``"auto"`` asks how large the residual is *by chance*. At the true :math:`\delta` both :math:`b` and
# :math:`F^\top\mu(\delta)` estimate the same expectation, and their difference is noise of order :math:`1/\sqrt n`.
# The 95 % quantile of its norm is a radius just large enough to admit the truth. ``"cv"`` asks which radius predicts
# best: fit on four fifths, evaluate :math:`-\ell` on the fifth that was left out; of all radii within one standard
# error of the best it takes the largest. In this sample both drop the three irrelevant features; in other samples
# ``"cv"``, which optimises prediction only, may keep one of them with a small coefficient.

auto = pre.PosteriorRatio(radius="auto", norm=np.inf, standardise=False).fit(x_p, x_q)
cv = pre.PosteriorRatio(radius="cv", norm=np.inf, standardise=False).fit(x_p, x_q)
choice = cv.radius_choice_
print(f"auto: R = {auto.radius_:.4f}, delta {auto.delta_.round(3)}")
print(f"cv:   R = {cv.radius_:.4f}, delta {cv.delta_.round(3)}")
print(f"best held-out score at R = {choice.best:.4f}")
assert choice.best <= cv.radius_ <= tops[np.inf]
assert np.all(auto.delta_[3:] == 0.0)
assert np.all(cv.delta_[3:] == 0.0)

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
bars = {"color": BLUE, "ecolor": SKY, "marker": ".", "label": "held-out score"}
ax.errorbar(choice.radii, choice.mean, choice.std_error, **bars)
for value, name, colour, style in (
    (choice.best, "best", GREEN, ":"),
    (cv.radius_, "cv", ORANGE, "-"),
    (auto.radius_, "auto", PINK, "--"),
):
    ax.axvline(value, color=colour, linestyle=style, label=f"{name}, R = {value:.3f}")
ax.set(xscale="log", xlabel="radius R (norm inf)", ylabel=r"held-out $-\ell$")
ax.set_title("Prediction along the path")
ax.legend(loc="lower left")
plt.show()

# %%
# ``"auto"`` estimates the noise one Newton step from the shrunken solution, whose own weights are more even than those
# of the truth. The radius should then admit the truth in about 95 % of samples. On simulated samples, with 300 points
# on each side, we can count. (95 % of 60 is 57.)

passed = 0
for i in range(60):
    fit = pre.PosteriorRatio(radius="auto", norm=np.inf, standardise=False)
    fit.fit(*draw(np.random.default_rng(100 + i), n=300))
    passed += np.abs(fit.problem_.gradient(truth)).max() <= fit.radius_
print(f"the residual of the truth was within the radius in {passed} of 60 samples")
assert passed >= 54

# %%
# The price: bias
# ---------------
#
# A positive radius pulls :math:`\hat\delta` towards zero, by an amount that does not average out. We draw many new
# samples, again with 300 points on each side, and look at :math:`\hat\delta_0`, whose true value is 1.

runs, radii = 40, np.array([0.0, 0.05, 0.1, 0.2, 0.4])
estimates = np.zeros((runs, radii.size))
for i in range(runs):
    drawn = pre.RatioProblem.from_samples(*draw(np.random.default_rng(i), n=300))
    estimates[i] = [s.delta[0] for s in pre.radius_path(drawn, radii)]
bias, noise = estimates.mean(axis=0) - truth[0], estimates.std(axis=0, ddof=1)
for R, m, s in zip(radii, bias, noise, strict=True):
    print(f"R = {R:4.2f}: bias {m:+.3f}, standard deviation {s:.3f}")
assert np.all(np.diff(bias) < 0.0)
assert np.all(np.diff(noise) < 0.0)
assert abs(bias[0]) < 3.0 * noise[0] / np.sqrt(runs) + 0.05
assert bias[3] < -noise[3]

# %%
# The estimates become less variable, but biased. An interval of two standard deviations around them would be short and
# in the wrong place: at :math:`R = 0.2` the bias is already larger than the standard deviation. So with a positive
# radius ``summary()`` prints no interval, and asking for one raises an error that explains why. ``fit.debiased()``
# removes the bias first (:doc:`09_uncertainty`).

for line in str(auto.summary()).splitlines():
    print(textwrap.fill(line, 74, subsequent_indent=" " * 13))
try:
    auto.conf_int()
except pre.DataError as error:
    message = str(error)
assert "radius" in message
assert "not shown" in str(auto.summary())

# %%
# Exercises
# ---------
#
# **Exercise 1.** By hand: one feature, two q rows 0 and 1 with equal base weights, target :math:`b = 0.25`. Find
# :math:`\delta` as a function of :math:`R`, and the radius from which it is zero.
#
# Solution 1
# ^^^^^^^^^^
#
# The moment is :math:`\mu_1`, the weight of row 1. The base weights give 0.5. The constraint
# :math:`|0.25 - \mu_1|\le R` lets it come as close to 0.5 as :math:`\mu_1 = 0.25 + R`, and the entropy is largest as
# close as possible. By [LINK] :math:`\delta = \log(\mu_1/\mu_0)`, so :math:`\delta(R) = \log\frac{0.25 + R}{0.75 - R}`
# up to :math:`R_{\max} = |0.25 - 0.5| = 0.25`, and zero from there on. With one feature all three norms are the same.

two = pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
radii = (0.3, 0.2, 0.1, 0.0)
for R, solution in zip(radii, pre.radius_path(two, radii), strict=True):
    expected = np.log((0.25 + R) / (0.75 - R)) if R < 0.25 else 0.0
    print(f"R = {R:.1f}: delta {solution.delta[0]:.6f}, by hand {expected:.6f}")
    assert np.isclose(solution.delta[0], expected, atol=1e-7)

# %%
# **Exercise 2.** Let the features be lengths in metres, and measure ``x3``, whose true coefficient is zero, in
# centimetres: its numbers become a hundred times as large. How does the path in norm inf begin now? What does the path
# look like when each column of both samples is first divided by its standard deviation in the q sample?
#
# Solution 2
# ^^^^^^^^^^
#
# The residual of this column is a hundred times as large and reaches the box first: ``x3`` enters before all others,
# although it plays no part in the true ratio. Divided by their standard deviations, the columns have no units, and the
# path is the same whatever the units were.

scale = np.array([1.0, 1.0, 1.0, 100.0, 1.0, 1.0])


def first_in(x_p, x_q):
    """The feature that enters first along the path in norm inf."""
    data = pre.RatioProblem.from_samples(x_p, x_q, norm=np.inf)
    top = np.abs(data.gradient(np.zeros(k))).max()
    return int(np.flatnonzero(pre.radius_path(data, [0.99 * top])[0].delta)[0])


def standardised(x_p, x_q):
    """Both samples, in standard deviations of the q sample."""
    return x_p / x_q.std(axis=0), x_q / x_q.std(axis=0)


metres, mixed = (x_p, x_q), (x_p * scale, x_q * scale)
for name, samples in (("metres", metres), ("x3 in centimetres", mixed)):
    given, divided = first_in(*samples), first_in(*standardised(*samples))
    print(f"{name:18s} first in: x{given}, standardised: x{divided}")
    assert given == (3 if samples is mixed else 0)
    assert divided == 0
assert np.allclose(standardised(*metres), standardised(*mixed))

# %%
# **Exercise 3.** Three features: ``x0`` and ``x1`` independent, ``x2`` nearly their sum, scaled to variance one. The
# true :math:`\delta` is :math:`(1, 1, 0)`. Which feature enters first along the path in norm inf, and what happens to
# it later?
#
# Solution 3
# ^^^^^^^^^^
#
# ``x2``, which plays no part in the true ratio, enters *first*. Its moment is missed most, because shifts of ``x0`` and
# ``x1`` both move it. As the radius decreases, ``x0`` and ``x1`` take over and ``x2`` goes back towards zero. A sparse
# solution is not a list of causes: which features it selects depends on the radius and on their correlations.

last = [0.65, 0.65, np.sqrt(1.0 - 2 * 0.65**2)]
mix = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], last])
z_p, z_q = np.random.default_rng(3).normal(size=(2, 2000, 3)) @ mix.T
z_p += mix @ mix.T @ [1.0, 1.0, 0.0]
three = pre.RatioProblem.from_samples(z_p, z_q, norm=np.inf)
top = np.abs(three.gradient(np.zeros(3))).max()
shares = np.linspace(1.0, 0.0, 41)
path = np.array([s.delta for s in pre.radius_path(three, top * shares)])

fig, ax = plt.subplots(figsize=(6.0, 3.4), layout="constrained")
for i, (colour, style) in enumerate(((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."))):
    ax.plot(shares, path[:, i], style, color=colour, linewidth=2, label=f"x{i}")
ax.set(xlabel=r"$R / R_{\max}$", ylabel=r"coefficients $\delta_i$")
ax.set_title("First in, first out")
ax.legend()
plt.show()

print(f"largest x2 along the path: {path[:, 2].max():.3f}, at R = 0: {path[-1, 2]:.3f}")
assert np.flatnonzero(path[2])[0] == 2
assert np.count_nonzero(path[2]) == 1
assert path[:, 2].max() > 0.3
assert abs(path[-1, 2]) < 0.2
