r"""
05 The hull: when there is no answer
====================================

Not every posterior ratio problem has a solution. This lesson shows exactly when one exists, and what to do when it does
not. Afterwards you will know

* why the moment :math:`F^\top\mu` of any weights lies in the convex hull of the rows of :math:`F`;
* why exactly one of two things is true: weights reach the target :math:`b`, or a direction :math:`v` separates it from
  the rows;
* how the primal diverges along :math:`v` while the dual has no feasible point, and what happens on the edge;
* how the minimal radius is certified from both sides, and how to read the error that the package raises.

Symbols: :math:`b` is the target, :math:`F_j` the feature rows of the q sample, :math:`a_j` the logarithms of their base
weights, :math:`\mu` weights on the simplex, :math:`\delta` the ratio parameter, :math:`R` the radius, and :math:`v` a
direction. :math:`\|\cdot\|` is the norm of the radius and :math:`\|\cdot\|_*` its dual norm. The primal :math:`\ell`
is [P] and the dual [D] of :doc:`/equations`; :doc:`lesson 04 <04_dual>` derives one from the other.
"""

# %%
# Weights make averages
# ---------------------
#
# With radius 0 the dual requires weights with
#
# .. math::
#
#    \mu_j \ge 0, \qquad \sum_j \mu_j = 1, \qquad \sum_j \mu_j F_j = b .
#
# The sum is a weighted average of the rows. The set of all weighted averages of some points is their *convex hull*: in
# the plane, the region that a rubber band around the points encloses. So :math:`b` can be reached if and only if it
# lies in the hull. Nothing else matters: not the base weights (as long as none is zero), not how many rows there are.
#
# Six rows with two features and equal base weights are enough to see everything. We take three targets: one inside the
# hull, one on its edge, one outside.

import textwrap

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE, PINK, SKY

F = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [2.0, 4.0], [0.0, 2.0], [2.0, 1.0]])
targets = {
    "inside": np.array([2.0, 2.0]),
    "edge": np.array([3.0, 3.0]),
    "outside": np.array([4.5, 4.5]),
}
colours = {"inside": GREEN, "edge": BLUE, "outside": ORANGE}
markers = {"inside": "o", "edge": "s", "outside": "D"}

rng = np.random.default_rng(5)
weights = rng.dirichlet(np.full(6, 0.5), size=1500)  # rows that sum to one
averages = weights @ F
assert averages.sum(axis=1).max() <= F.sum(axis=1).max() == 6.0
corners = F[ConvexHull(F).vertices]


def draw_hull(ax):
    """Draw the six rows, their hull, and the three targets."""
    ax.fill(*corners.T, facecolor=SKY, alpha=0.25, edgecolor=GREY)
    ax.plot(*F.T, "o", color="black", markersize=5, label="rows of F")
    for name, b in targets.items():
        ax.plot(*b, markers[name], color=colours[name], markersize=9, label=f"b {name}")
    ax.set(xlabel="feature x0", ylabel="feature x1", xlim=(-0.6, 5.6), ylim=(-0.6, 5.2), aspect="equal")


fig, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
ax.plot(*averages.T, ".", color=GREY, markersize=2, alpha=0.5, label="averages")
draw_hull(ax)
ax.set_title("1,500 weighted averages of six rows")
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()

# %%
# Look at the upper right edge. Every row satisfies :math:`x_0 + x_1 \le 6`, so every average of rows does. The target
# :math:`(4.5, 4.5)` has :math:`x_0 + x_1 = 9`. This one line is a complete proof that no weights reach it.

# %%
# One of two, never both
# ----------------------
#
# **Theorem of alternatives.** Exactly one of these is true:
#
# 1. there are weights on the simplex with :math:`F^\top\mu = b`;
# 2. there is a direction :math:`v` with :math:`\langle v, b\rangle > \max_j \langle v, F_j\rangle`.
#
# *Never both*: an average is no larger than the largest of its terms, so the first gives
# :math:`\langle v, b\rangle = \sum_j \mu_j \langle v, F_j\rangle \le \max_j \langle v, F_j\rangle` for every :math:`v`.
#
# *At least one*: if the first fails, take the point of the hull that is nearest to :math:`b` and let :math:`v` point
# from it to :math:`b`. If some row lay beyond the plane through that point orthogonal to :math:`v`, a small step
# towards this row would come closer to :math:`b`. So none does, which is the second.
#
# Each side is a linear program. The first looks for weights. The second looks for the direction and the level
# :math:`h = \max_j\langle v, F_j\rangle` with the largest separation; without the bounds :math:`-1 \le v_i \le 1` it
# could be made arbitrarily large by scaling :math:`v`.
#
# .. math::
#
#    \begin{aligned}
#    \text{maximise}\quad & \langle v, b\rangle - h \\
#    \text{subject to}\quad & \langle v, F_j\rangle \le h \ \text{ for all } j, \quad -1 \le v_i \le 1
#    \end{aligned}


def find_weights(b):
    """Weights that reach b, or None."""
    A, c = np.vstack([F.T, np.ones(6)]), np.append(b, 1.0)
    found = linprog(np.zeros(6), A_eq=A, b_eq=c, bounds=(0, None))
    return found.x if found.status == 0 else None


def find_direction(b):
    """Direction in the box with the largest separation, and the separation."""
    found = linprog(
        np.append(-b, 1.0),
        A_ub=np.column_stack([F, -np.ones(6)]),
        b_ub=np.zeros(6),
        bounds=[(-1, 1), (-1, 1), (None, None)],
    )
    return found.x[:2], -found.fun


for name, b in targets.items():
    mu, (v, separation) = find_weights(b), find_direction(b)
    reached = "no weights" if mu is None else f"weights {mu.round(2) + 0.0}"
    print(f"{name:8s} separation {abs(separation):.3f}   {reached}")
    assert (mu is None) == (separation > 1e-9)  # exactly one of the two

v, separation = find_direction(targets["outside"])
assert np.allclose([*v, separation], [1.0, 1.0, 3.0])

# %%
# For the target outside, the program finds the line :math:`x_0 + x_1 = 6` that we saw: :math:`v = (1, 1)` and a
# separation of :math:`9 - 6 = 3`. On the edge the separation is zero, and weights exist. But note which: half on the
# row :math:`(4, 2)`, half on :math:`(2, 4)`, and zero on the other four. Weights that reach an edge are zero on all
# rows off it.

assert np.allclose(find_weights(targets["edge"]), [0.0, 0.0, 0.5, 0.5, 0.0, 0.0])

# %%
# The primal is unbounded
# -----------------------
#
# What does this mean for :math:`\delta`? Move :math:`b` into the sum of the primal:
#
# .. math::
#
#    \ell(\delta) = \log\sum_j \exp\bigl(a_j + \langle\delta, F_j - b\rangle\bigr).
#
# Move along :math:`\delta = t v` with :math:`t \ge 0` and :math:`v` of unit length. If :math:`v` separates with margin
# :math:`m > 0`, then :math:`\langle v, F_j - b\rangle \le -m` for every row, every exponent falls at least at this
# rate, and, since the base weights sum to one,
#
# .. math::
#
#    \ell(t v) \le -m\,t \;\longrightarrow\; -\infty .
#
# The primal is *unbounded*. If :math:`b` is on the edge, the terms of rows on the edge stay constant and all others
# vanish: :math:`\ell(tv)` decreases forever, but only to the logarithm of the total base weight on the edge. Here two
# of six equally weighted rows are on it, so the limit is :math:`\log(2/6) = -1.0986`. It is never reached: the infimum
# is finite and no :math:`\delta` attains it.

v = np.array([1.0, 1.0]) / np.sqrt(2.0)
t = np.linspace(0.0, 6.0, 200)
margin = 3.0 / np.sqrt(2.0)

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
along = {}
for name, b in targets.items():
    problem = pre.RatioProblem(target=b, features_q=F)
    along[name] = np.array([problem.value(s * v) for s in t])
    ax.plot(t, along[name], color=colours[name], linewidth=2, label=f"b {name}")
    i = {"inside": 60, "edge": 150, "outside": 80}[name]
    ax.plot(t[i], along[name][i], markers[name], color=colours[name], markersize=7)
ax.plot(t, -margin * t, ":", color=ORANGE, label="slope: minus the margin")
ax.axhline(np.log(2 / 6), linestyle="--", color=BLUE, linewidth=1, label="log(2/6)")
ax.set(xlabel="t, distance along v", ylabel=r"primal value $\ell(tv)$", ylim=(-8, 3))
ax.set_title("Along the separating direction: up again, level, or unbounded")
ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
plt.show()

assert np.all(along["outside"] <= -margin * t + 1e-12)
assert np.all(np.diff(along["edge"]) < 0.0)
assert np.isclose(along["edge"][-1], np.log(2 / 6), atol=1e-3)
assert along["edge"][-1] > np.log(2 / 6)
assert along["inside"][-1] > along["inside"].min() + 1.0

# %%
# The dual has no feasible point. A cone solver recognises both: it calls the primal unbounded and the dual infeasible.
# These are two names for the same fact.

names = ("x0", "x1")
outside = pre.RatioProblem(target=targets["outside"], features_q=F, feature_names=names)
claims = {}
programs = {"primal": pre.primal_program(outside), "dual": pre.dual_program(outside)}
for name, program in programs.items():
    program.cvxpy.solve(solver=cp.CLARABEL)
    claims[name] = program.cvxpy.status
print(claims)
assert claims == {"primal": "unbounded", "dual": "infeasible"}

# %%
# How far from feasible: the minimal radius
# -----------------------------------------
#
# "Infeasible" is a poor answer. By *how much*? The smallest radius with a feasible point is the distance from the
# target to the hull,
#
# .. math::
#
#    \min_{\mu\ge 0,\ \sum\mu = 1}\ \|b - F^\top\mu\|
#    \;=\; \max_{\|v\|_*\le 1}\ \langle v, b\rangle - \max_j\langle v, F_j\rangle ,
#
# which is [HULL]. That the left side is never smaller than the right is one line: for any weights and any :math:`v`
# with :math:`\|v\|_*\le 1`,
#
# .. math::
#
#    \langle v, b\rangle - \max_j\langle v, F_j\rangle \;\le\; \langle v,\, b - F^\top\mu\rangle
#    \;\le\; \|b - F^\top\mu\| .
#
# Weights prove that the distance is not larger; a direction proves that it is not smaller. When the two meet, both are
# optimal, and no solver has to be trusted. In the plane we can try all directions. In the right figure the line shows
# the lower bound from each direction; each grey dot is an upper bound from some weights (weights have no angle, so the
# dots are spread out evenly).

angle = np.linspace(0.0, 2.0 * np.pi, 721)
directions = np.column_stack([np.cos(angle), np.sin(angle)])
separations = directions @ outside.target - (directions @ F.T).max(axis=1)
distances = np.linalg.norm(outside.target - averages, axis=1)

hull = pre.minimal_radius(outside)
print(f"{hull.position.value}: distance {hull.radius:.6f}, proven from below {hull.lower:.6f}")
print(f"direction {hull.direction.round(4)}")
print(f"nearest point: weights {hull.weights.round(2)} on the rows {hull.index}")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), width_ratios=[1, 1.15], layout="constrained")
draw_hull(left)
nearest = hull.weights @ F[hull.index]
left.annotate("", outside.target, nearest, arrowprops={"arrowstyle": "->", "color": ORANGE, "linewidth": 2})
left.plot([1.0, 5.4], [5.0, 0.6], "--", color=ORANGE, linewidth=1)
left.text(4.15, 3.5, "v", color=ORANGE, fontsize=12)
left.set_title("nearest point and direction")
right.plot(np.degrees(angle), separations, color=ORANGE, label="separation by a direction")
spread = np.linspace(0.0, 360.0, 300)
right.plot(spread, distances[:300], ".", color=GREY, markersize=4, label="distance by some weights")
right.axhline(hull.radius, color=BLUE, linewidth=1, linestyle="--", label="minimal radius")
right.set(xlabel="angle of v in degrees", ylabel="length", ylim=(-7, 12), xticks=[0, 45, 90, 180, 270, 360])
right.set_title("below and above the minimal radius")
right.legend(loc="upper center")
plt.show()

assert separations.max() <= hull.radius + 1e-12 <= distances.min() + 2e-12
assert np.isclose(separations.max(), 3.0 / np.sqrt(2.0))  # 45 degrees is among the angles
assert np.isclose(hull.radius, 3.0 / np.sqrt(2.0))
assert np.isclose(hull.lower, hull.radius)
assert np.allclose(nearest, [3.0, 3.0])

# %%
# Everything can be checked by hand: the nearest point is :math:`(3, 3)`, the direction :math:`(1,1)/\sqrt 2`, the
# distance :math:`3/\sqrt 2 = 2.1213`. Length depends on the norm, and so does the unit ball of directions:
# :math:`\|v\|_*\le 1` is the box for norm 1, the disc for norm 2 and the diamond for norm inf. The linear program
# above, with its box, computed the distance in norm 1.

by_hand = {1: 3.0, 2: 3.0 / np.sqrt(2.0), np.inf: 1.5}
for norm, value in by_hand.items():
    found = pre.minimal_radius(outside.with_radius(0.0, norm=norm))
    print(f"norm {norm:<4g} distance {found.radius:.4f}")
    assert np.isclose(found.radius, value)
    assert np.isclose(found.lower, value)

# %%
# Reading the error
# -----------------
#
# ``pre.solve`` does not return meaningless numbers. It raises ``InfeasibleError``:

try:
    pre.solve(outside)
except pre.InfeasibleError as error:
    caught = error
print(textwrap.fill(str(caught), 74))

v = caught.direction  # the proof is in the error
assert (F @ v).max() < outside.target @ v
assert np.isclose(caught.minimal_radius, 3.0 / np.sqrt(2.0))

# %%
# Sentence by sentence:
#
# * *at distance 2.12132 from the hull of the q features in norm 2*: this is [HULL], and ``error.direction`` proves it;
# * *the target 4.5 is outside the q range [0, 4]*: this feature cannot be matched even on its own. Histograms would
#   reveal only this case. Exercise 2 has a target inside every range and outside the hull; then the error names
#   features that cannot be matched together, in ``error.conflict``;
# * *relax the cheapest features*: one radius for each feature, with which a solution exists, as small as possible in
#   standard deviations, plus a margin;
# * the other *remedies*: see the end of this lesson.

assert "outside the q range [0, 4]" in str(caught)
assert pre.solve(outside.with_radius(caught.advised_relaxation)).status.ok

# %%
# On the edge, solvers report "optimal"
# -------------------------------------
#
# Between inside and outside lies the edge, where the dual has an optimum and the primal has none. A cone solver works
# with tolerances. It stops as soon as the primal is flat enough, and reports what it has.

edge = pre.RatioProblem(target=targets["edge"], features_q=F)
half = np.array([0.0, 0.0, 0.5, 0.5, 0.0, 0.0])
lengths, off_edge = [], []
for tol in (1e-3, 1e-5, 1e-7):
    program = pre.primal_program(edge)
    tols = {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}
    program.cvxpy.solve(solver=cp.CLARABEL, **tols)
    delta, mu = program.recover()
    lengths.append(np.linalg.norm(delta))
    off_edge.append(mu[half == 0.0].sum())
    claim, value = program.cvxpy.status, program.cvxpy.value
    print(f"tol {tol:.0e}: {claim}, value {value:.6f}")
    print(f"  length of delta {lengths[-1]:.2f}, weight off the edge {off_edge[-1]:.0e}")
    assert claim == "optimal"
    assert np.abs(mu - half).max() < 1e-3
assert np.all(np.diff(lengths) > 1.0)  # every tightening sends delta further out
assert np.all(np.diff(off_edge) < 0.0)  # and takes weight from the rows off the edge

# %%
# The value converges to :math:`\log(2/6)`, the status is always "optimal", and :math:`\delta` depends entirely on the
# tolerance. Such a :math:`\delta` does not estimate anything. The weights do: they converge to one half on each row of
# the edge. The package distinguishes the cases.

try:
    pre.solve(edge)
except pre.BoundaryError as error:
    print(textwrap.fill(str(error), 74))
    on_edge = error.solution
print("weights", on_edge.mu.round(6))
assert np.allclose(on_edge.mu, half)
assert np.isclose(on_edge.dual_value, np.log(2 / 6))

# %%
# Remedies
# --------
#
# **A radius above the minimal one.** Then :math:`\|b - F^\top\mu\|\le R` has a point inside the hull, and
# :math:`\delta` is finite again. Just above the minimal radius the ball barely reaches into the hull, nearly all the
# weight is on the edge, and :math:`\delta` is large. So do not use the smallest radius that works.

shares = np.array([1.001, 1.01, 1.1, 1.5])
solutions = [pre.solve(outside.with_radius(s * hull.radius)) for s in shares]
for s, solution in zip(shares, solutions, strict=True):
    length = np.linalg.norm(solution.delta)
    print(f"R = {s:5.3f} x minimal: |delta| {length:.2f}, mu {solution.mu.round(3)}")
assert np.all(np.diff([np.linalg.norm(s.delta) for s in solutions]) < 0.0)

# %%
# **More q samples where p has its mass.** With one more row at :math:`(6, 6)` the target is inside.
#
# **Fewer features.** Each feature is one more average to match, and in more dimensions it is harder to be inside the
# hull. Exercise 3 shows how much harder.

more = pre.RatioProblem(target=targets["outside"], features_q=np.vstack([F, [6.0, 6.0]]))
print("with a row at (6, 6):", pre.minimal_radius(more).position.value)
assert pre.minimal_radius(more).position is pre.Position.INSIDE
assert pre.solve(more).status.ok

# %%
# Exercises
# ---------
#
# **Exercise 1.** By hand: for the target :math:`(5, 1)` find the nearest point of the hull, its weights, the separating
# direction, and the distance in the norms 1, 2 and inf.
#
# Solution 1
# ^^^^^^^^^^
#
# The right edge of the hull is :math:`x_0 = 4` with :math:`0\le x_1\le 2`. The nearest point is :math:`(4, 1)`, the
# average of the rows :math:`(4, 0)` and :math:`(4, 2)` with weights one half. The direction is :math:`v = (1, 0)`: it
# has length 1 in all three dual norms and separates by :math:`5 - 4 = 1`. The residual :math:`(1, 0)` has length 1 in
# all three norms. Weights and direction agree, so the distance is 1 in each of them.

for norm in (1, 2, np.inf):
    right_of_it = pre.RatioProblem(target=[5.0, 1.0], features_q=F, norm=norm)
    found = pre.minimal_radius(right_of_it)
    print(f"norm {norm:<4g} distance {found.radius:.4f}, v {found.direction.round(4)}")
    assert np.isclose(found.radius, 1.0)
    assert np.isclose(found.lower, 1.0)

# %%
# **Exercise 2.** Take one coordinate :math:`x`, the features :math:`(x, x^2)`, the seven q samples
# :math:`-3, -2, \dots, 3`, and a narrow p sample with mean 1.5 and standard deviation 0.1. Each feature's target lies
# well inside the range of the q sample. Is there a solution? Draw the hull. What changes without the feature
# :math:`x^2`?
#
# Solution 2
# ^^^^^^^^^^
#
# The rows lie on a parabola, and an average of rows has :math:`m_2 - m_1^2 = \sum_j\mu_j (x_j - m_1)^2`, the variance
# under the weights. At mean 1.5 it is smallest when all the weight is on the neighbours 1 and 2, where it is 0.25. The
# p sample has variance 0.01. Its target :math:`(1.5,\ 2.26)` is below the chord between the neighbours, which has
# :math:`x^2 = 2.5` there and slope 3: the distance is :math:`0.24/\sqrt{10} = 0.0759`. The q sample has no two rows
# that are close enough for so narrow a distribution. Without :math:`x^2` only the mean has to be matched, and there is
# a solution.

x_q = np.arange(-3.0, 4.0)[:, None]
x_p = np.array([[1.4], [1.6]])  # mean 1.5, standard deviation 0.1
quadratic = pre.RatioProblem.from_samples(x_p, x_q, features="polynomial")
found = pre.minimal_radius(quadratic)
low, high = quadratic.ranges
print("target", quadratic.target.round(3), "q ranges", low, high)
print(f"{found.position.value}, distance {found.radius:.4f}")
assert np.all((low < quadratic.target) & (quadratic.target < high))
assert np.isclose(found.radius, 0.24 / np.sqrt(10.0))
assert pre.solve(pre.RatioProblem.from_samples(x_p, x_q, features="linear")).status.ok

parabola = np.column_stack([x_q[:, 0], x_q[:, 0] ** 2])
fig, axes = plt.subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
for ax, window in zip(axes, ((-3.3, 3.3, -0.5, 9.5), (0.9, 2.1, 0.8, 4.2)), strict=True):
    ax.fill(*parabola[ConvexHull(parabola).vertices].T, facecolor=SKY, alpha=0.25, edgecolor=GREY)
    ax.plot(*parabola.T, "o", color="black", markersize=5)
    ax.plot(*quadratic.target, "D", color=ORANGE, markersize=7, label="target")
    ax.plot(*(found.weights @ parabola[found.index]), "s", color=PINK, markersize=6, label="nearest")
    ax.set(xlim=window[:2], ylim=window[2:], xlabel="x", ylabel="x squared")
axes[0].legend(loc="center")
axes[0].set_title("rows on a parabola, and their hull")
axes[1].set_title("the same, enlarged")
plt.show()

# %%
# **Exercise 3.** Let both sides be the same: the q rows are :math:`n` draws from a normal distribution in
# :math:`k = 10` dimensions with mean zero, and the target is the true mean, zero. Guess how often the target is outside
# the hull for :math:`n = 15, 20, 30`. Then count.
#
# Solution 3
# ^^^^^^^^^^
#
# With twice as many rows as features there is no solution *half of the time*, although nothing is wrong with the data.
# This is Wendel's theorem: for any distribution that is symmetric about zero and has a density,
#
# .. math::
#
#    P(0 \text{ outside the hull of } n \text{ points}) = 2^{-(n-1)}\sum_{i=0}^{k-1}\binom{n-1}{i},
#
# the probability of fewer than :math:`k` heads in :math:`n - 1` coin tosses. For :math:`n = 2k` this is one half by
# symmetry. At :math:`n = 3k` it is rare. Duplicate rows count once, and rows with base weight zero not at all.

from math import comb

k, runs = 10, 150
for n in (15, 20, 30):
    outside_share = 0.0
    for _ in range(runs):
        A = np.vstack([rng.normal(size=(n, k)).T, np.ones(n)])
        infeasible = linprog(np.zeros(n), A_eq=A, b_eq=np.eye(k + 1)[k]).status == 2
        outside_share += infeasible / runs
    exact = sum(comb(n - 1, i) for i in range(k)) / 2 ** (n - 1)
    print(f"n = {n}: outside in {outside_share:.2f} of {runs} runs, exact {exact:.4f}")
    assert abs(outside_share - exact) <= 3.0 * np.sqrt(exact * (1.0 - exact) / runs)
    assert n != 20 or exact == 0.5
