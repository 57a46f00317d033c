r"""
04 The Lagrangian dual, step by step
====================================

The primal program [P] chooses a parameter :math:`\delta`. The dual program [D] chooses weights :math:`\mu` on the q
points. They look nothing alike, yet they have the same value. This lesson derives one from the other on an example of
five points in which every number can be checked by hand.

After this lesson you will know

* how to write down the Lagrangian and minimise it, and where the entropy comes from,
* that :math:`\delta` is the multiplier of the dual's moment equation, its sign, and what it means,
* that any :math:`\delta` gives an upper bound and any feasible :math:`\mu` a lower bound, and when the two meet
  (Slater),
* what a radius :math:`R` becomes in the dual, and what the KKT conditions say.

Symbols: points :math:`F_j`; base weights :math:`e^{a_j}`; target :math:`b`; parameter :math:`\delta`; weights
:math:`\mu_j`; radius :math:`R`; :math:`D(\mu) = \sum_j -\mu_j\log\mu_j + \mu_j a_j`, the objective of the dual.
"""

# %%
# Five points
# -----------
#
# Five q points on a line, :math:`F = (-2,-1,0,1,2)`, with base weights :math:`(1,4,6,4,1)/16`, and the target
# :math:`b = 1`. The weights are binomial coefficients, so the sum in the primal has a closed form:
#
# .. math::
#
#    Z(\delta) &= \tfrac1{16}\left(e^{-2\delta}+4e^{-\delta}+6+4e^{\delta}+e^{2\delta}\right) \\
#    &= \left(\frac{e^{\delta/2}+e^{-\delta/2}}2\right)^4 = \cosh^4(\delta/2).
#
# The primal is :math:`\ell(\delta) = -\delta + 4\log\cosh(\delta/2)`. Its derivative is :math:`-1 + 2\tanh(\delta/2)`.
# It is zero for :math:`\tanh(\delta/2)=\tfrac12`, that is
#
# .. math::
#
#    \delta^* &= \log 3, \\
#    \ell(\delta^*) &= -\log 3 + 4\log\tfrac{2}{\sqrt3} = 4\log 2 - 3\log 3 \approx -0.5232 .

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax, xlogy

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE, SKY

F = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
base = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0
a, b = np.log(base), 1.0


def loss(delta, target=b):
    return -target * delta + logsumexp(a + delta * F)


def dual(mu):
    return -xlogy(mu, mu).sum() + mu @ a  # xlogy(0, 0) is 0, the limit of m log m


delta_star, value_star = np.log(3.0), 4.0 * np.log(2.0) - 3.0 * np.log(3.0)
print(f"loss at log 3: {loss(delta_star):.6f}, on paper {value_star:.6f}")
assert np.isclose(loss(delta_star), value_star)
assert np.isclose(loss(0.7), -0.7 + 4.0 * np.log(np.cosh(0.35)))
assert all(loss(delta_star) < loss(delta_star + h) for h in (-0.01, 0.01))

# %%
# Step 1: a constraint to relax
# -----------------------------
#
# A dual needs constraints, and the primal has none. So introduce some: give the arguments of the log-sum-exp their own
# names, :math:`t_j`, and add the equations that define them.
#
# .. math::
#
#    \min_{\delta,\,t}\quad &-b\,\delta + \log\sum_j e^{a_j+t_j} \\
#    \text{subject to}\quad &t_j = F_j\,\delta \quad(j=1,\dots,5).
#
# Step 2: the Lagrangian
# ----------------------
#
# Give each equation a price :math:`\mu_j` and move it into the objective. Violating the equation costs
# :math:`\mu_j(F_j\delta-t_j)`, which may be positive or negative:
#
# .. math::
#
#    L(\delta,t;\mu) = -b\,\delta + \log\sum_j e^{a_j+t_j} + \sum_j\mu_j\,(F_j\delta - t_j) .
#
# Where the equations hold, :math:`L` is the loss. So for *any* prices, the minimum of :math:`L` over *all*
# :math:`\delta` and :math:`t` is at most the minimum of the loss. Sort the terms: :math:`L` splits into a part with
# :math:`\delta` and a part with :math:`t`.
#
# .. math::
#
#    L = \Big(\sum_j\mu_jF_j - b\Big)\,\delta \;+\; \Big[\log\sum_j e^{a_j+t_j} - \sum_j\mu_jt_j\Big] .
#
# Step 3: minimise over δ
# -----------------------
#
# The first part is a straight line through zero. It falls to :math:`-\infty` on one side, unless its slope is zero. So
# prices are useful only if
#
# .. math::
#
#    \sum_j\mu_j F_j = b ,
#
# the moment equation that lesson 01 found at the optimum. Here it is a constraint on :math:`\mu`.
#
# Step 4: minimise over t
# -----------------------
#
# The second part has three cases.
#
# * Some :math:`\mu_j < 0`: send :math:`t_j\to-\infty`. The log-sum-exp stays bounded above, and
#   :math:`-\mu_jt_j\to-\infty`.
# * :math:`\sum_j\mu_j\ne1`: take all :math:`t_j = c`. The bracket is :math:`c\,(1-\sum_j\mu_j)`, since the base weights
#   sum to one, and :math:`c\to\pm\infty` makes it arbitrarily low.
# * :math:`\mu` on the simplex, that is :math:`\mu\ge0` and :math:`\sum_j\mu_j = 1`: there is a minimum.
#
# To find it, set the derivative to zero:
#
# .. math::
#
#    \frac{e^{a_j+t_j}}{\sum_ie^{a_i+t_i}} = \mu_j ,
#    \qquad\text{so}\qquad t_j = \log\mu_j - a_j + \text{const}.
#
# (Where :math:`\mu_j=0`, :math:`t_j\to-\infty` approaches the minimum, and :math:`0\log0` means 0.) Insert it; the
# constant drops out, and what remains is
#
# .. math::
#
#    D(\mu) = \sum_j-\mu_j\log\mu_j+\mu_ja_j .
#
# This is the entropy of :math:`\mu`, plus a term for the base weights; together it is minus the Kullback–Leibler
# divergence of :math:`\mu` from the base weights. Now check the three cases with numbers.


def bracket(t, mu):
    return logsumexp(a + t) - mu @ t


negative = np.array([-0.1, 0.2, 0.3, 0.3, 0.3])  # sums to one
heavy = np.array([0.3, 0.3, 0.2, 0.2, 0.2])  # sums to 1.2
first, ones = np.eye(5)[0], np.ones(5)
for c in (0.0, 100.0, 10000.0):
    low, lower = bracket(-c * first, negative), bracket(c * ones, heavy)
    print(f"one negative price: {low:8.1f}     sum of prices 1.2: {lower:8.1f}")
    assert low <= -0.1 * c + 1e-9
    assert np.isclose(lower, c * (1 - 1.2))

mu_try = np.array([0.1, 0.1, 0.2, 0.4, 0.2])
found = minimize(bracket, np.zeros(5), args=(mu_try,), options={"gtol": 1e-8})
print(f"on the simplex: numerical minimum {found.fun:.6f}, D {dual(mu_try):.6f}")
divergence = np.sum(mu_try * np.log(mu_try / base))
assert abs(found.fun - dual(mu_try)) < 1e-8
assert np.isclose(dual(mu_try), -divergence)

t_best, h = np.log(mu_try) - a, 1e-6
for e in h * np.eye(5):  # finite differences
    assert abs(bracket(t_best + e, mu_try) - bracket(t_best - e, mu_try)) / (2 * h) < 1e-8

# %%
# In words: :math:`-D`, a negative entropy, is the *conjugate* of the log-sum-exp. For a slope :math:`\mu`, the
# conjugate says how far the line with that slope through the origin must be moved down until it just touches the
# function. Two points with base weights 1/2 are enough for a picture: :math:`\varphi(t)=\log(\tfrac12+\tfrac12e^t)`,
# the log-sum-exp with :math:`t_1=0` and :math:`t_2=t`.

line, slope = np.linspace(-4.0, 5.0, 200), np.linspace(0.0, 1.0, 201)
phi = np.log(0.5 + 0.5 * np.exp(line))
height = -(xlogy(slope, 2 * slope) + xlogy(1 - slope, 2 * (1 - slope)))
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.5), layout="constrained")
left.plot(line, phi, color="black", label="φ(t)")
for m, colour in ((0.2, BLUE), (0.5, GREEN), (0.9, ORANGE)):
    intercept = np.min(phi - m * line)
    exact = -(m * np.log(2 * m) + (1 - m) * np.log(2 * (1 - m)))
    assert abs(intercept - exact) < 1e-3  # the grid is coarse
    assert intercept >= exact - 1e-12
    left.plot(line, exact + m * line, color=colour, linewidth=1, label=f"slope {m}")
    left.plot(0.0, exact, "o", color=colour, markersize=5)
    right.plot(m, exact, "o", color=colour, markersize=5)
right.plot(slope, height, color="black", zorder=0)
left.set(xlabel="t", ylabel="φ", ylim=(-1.0, 3.0))
left.set_title("Lines that just touch", fontsize=11)
left.legend(fontsize=9, loc="upper left")
right.set(xlabel="slope μ", ylabel="height of the line at t = 0")
right.set_title("Their heights are an entropy", fontsize=11)
plt.show()

# %%
# Step 5: the dual program
# ------------------------
#
# Prices outside the simplex, or that violate the moment equation, give the useless bound :math:`-\infty`. The others
# give :math:`D(\mu)`. The best bound is the dual program:
#
# .. math::
#
#    \max_\mu\quad &\sum_j-\mu_j\log\mu_j+\mu_ja_j \\
#    \text{subject to}\quad &\mu\ge0,\quad\sum_j\mu_j=1,\quad\sum_j\mu_jF_j=b .
#
# On paper: the derivative in step 4 gives :math:`\mu_j\propto e^{a_j+\delta F_j}` at the optimum, the relation [LINK].
# With :math:`e^{\delta}=3` the weights are :math:`(1,4,6,4,1)` times :math:`(1,3,9,27,81)`, up to a factor:
#
# .. math::
#
#    \mu^* = \tfrac1{256}\,(1,\,12,\,54,\,108,\,81) .
#
# Check: they sum to one, and their mean is :math:`(-2-12+0+108+162)/256 = 1`. Also
# :math:`\mu^*_j/e^{a_j} = 3^{F_j+2}/16`, so
#
# .. math::
#
#    D(\mu^*) &= -\sum_j\mu^*_j\,[(F_j+2)\log3-\log16] \\
#    &= -(1+2)\log3+\log16 = 4\log2-3\log3 .
#
# This is the value of the primal: there is no gap.

mu_star = np.array([1, 12, 54, 108, 81]) / 256
print(f"sum {mu_star.sum()}, mean {mu_star @ F}")
print(f"dual value {dual(mu_star):.6f}, primal value {value_star:.6f}")
assert mu_star.sum() == 1.0
assert mu_star @ F == 1.0
assert np.isclose(dual(mu_star), value_star)
assert np.allclose(softmax(a + delta_star * F), mu_star)

# %%
# The multiplier is δ
# -------------------
#
# We began with :math:`\delta` and found prices :math:`\mu`. Begin with the dual, and the roles are swapped: the price
# of its moment equation is :math:`\delta`. A cone solver returns prices with its solution; cvxpy calls them
# ``dual_value``. For :math:`\max D(\mu)` cvxpy minimises :math:`-D(\mu)` and *adds* the price, call it :math:`\nu`,
# times the left side minus the right side. With the equation written as :math:`b-F^\top\mu=0`, setting the derivative
# to zero gives
#
# .. math::
#
#    \log\mu_j + 1 - a_j - \nu F_j + \text{const} = 0,
#    \qquad\text{so}\qquad \mu_j\propto e^{a_j+\nu F_j} ,
#
# which is [LINK] with :math:`\nu=\delta`. Written the other way round, :math:`F^\top\mu = b`, the price has the
# opposite sign. Signs of multipliers are conventions; check them on an example like this one before relying on them.
# Solvers stop at a tolerance: here the value is right to better than :math:`10^{-7}`. The price is less accurate, since
# the value is flat near the optimum: an error :math:`\varepsilon` in the value allows an error of about
# :math:`\sqrt\varepsilon` in :math:`\delta`.

mu = cp.Variable(5, name="mu")
simplex = [mu >= 0, cp.sum(mu) == 1]
entropy = cp.Maximize(cp.sum(cp.entr(mu)) + a @ mu)
for text, moment in (("b - F'mu == 0", b - F @ mu == 0), ("F'mu == b", F @ mu == b)):
    reached = cp.Problem(entropy, [*simplex, moment]).solve(solver=cp.CLARABEL)
    price = float(moment.dual_value)
    print(f"{text:14s} value {reached:.6f}   dual_value {price: .3f}   (log 3 is 1.099)")
    assert abs(reached - value_star) < 1e-7
    assert abs(abs(price) - np.log(3.0)) < 1e-3
    assert (price > 0) == text.startswith("b")
print("256 mu =", (256 * mu.value).round(1))
assert np.abs(mu.value - mu_star).max() < 1e-4

# the primal with its equations has the weights as prices
t, delta = cp.Variable(5, name="t"), cp.Variable(name="delta")
link = F * delta == t
primal = cp.Problem(cp.Minimize(-b * delta + cp.log_sum_exp(a + t)), [link])
primal.solve(solver=cp.CLARABEL)
print("256 x prices of F delta == t:", (256 * link.dual_value).round(1))
assert np.abs(link.dual_value - mu_star).max() < 1e-4

# %%
# The package builds the same program, and returns :math:`\delta` with the sign of the primal whichever program it
# solves.


def five_points(target, radius=0.0, log_base=a):
    return pre.RatioProblem([target], F[:, None], log_base, radius=radius)


problem = five_points(b)
print(pre.dual_program(problem))
solution = pre.solve(problem, "dual")
assert abs(solution.delta[0] - np.log(3.0)) < 1e-7
assert np.abs(solution.mu - mu_star).max() < 1e-7

# %%
# A price has a meaning: it is the rate at which the value changes when the constraint is moved. Let :math:`V(b)` be the
# common value as a function of the target. For our five points :math:`\delta(b) = \log\frac{2+b}{2-b}` (Exercise 1),
# and :math:`V'(b) = -\delta(b)`: moving the target by a small :math:`h` changes the value by :math:`-h\,\delta`.


def value(target):
    return loss(np.log((2 + target) / (2 - target)), target)


h = 1e-5
change = (value(1 + h) - value(1 - h)) / (2 * h)
print(f"change of the value per unit of b: {change:.6f}, -log 3 = {-np.log(3.0):.6f}")
assert abs(change + np.log(3.0)) < 1e-8

# %%
targets = np.linspace(-1.999, 1.999, 200)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.4), layout="constrained")
left.bar(F - 0.18, base, 0.36, color=SKY, label="base weights")
left.bar(F + 0.18, mu_star, 0.36, color=ORANGE, label="μ*")
left.axvline(0.0, color=SKY, linestyle=":")
left.axvline(1.0, color=ORANGE, linestyle=":")
left.set(xlabel="F (dotted: means)", ylabel="weight", ylim=(0, 0.52))
left.set_title("Weights that reach b = 1")
left.legend(fontsize=9, loc="upper left")
right.plot(targets, [value(v) for v in targets], color="black", label="V(b)")
near = np.array([0.3, 1.7])
tangent = value_star - delta_star * (near - 1.0)
right.plot(near, tangent, color=ORANGE, label="slope −log 3")
right.plot(1.0, value_star, "o", color=ORANGE)
right.set(xlabel="b", ylabel="value", title="δ is the price of the target")
right.legend(fontsize=9, loc="lower center")
plt.show()

# %%
# Weak duality: two kinds of bounds
# ---------------------------------
#
# By steps 2 to 4, *every* :math:`\delta` and *every* feasible :math:`\mu` satisfy :math:`D(\mu)\le\ell(\delta)`. No
# optimality is needed. We can even say what the difference is. Let :math:`\mu(\delta)` be the weights that [LINK]
# assigns to :math:`\delta`. Then :math:`\log\mu_j(\delta) = a_j+\delta F_j-\log Z(\delta)`, and with the moment
# equation
#
# .. math::
#
#    \ell(\delta) - D(\mu) = \sum_j\mu_j\log\frac{\mu_j}{\mu_j(\delta)} \ge 0 ,
#
# a Kullback–Leibler divergence again: it is zero only if :math:`\mu = \mu(\delta)`. Random parameters and random
# feasible weights never cross:

rng = np.random.default_rng(4)
deltas = rng.normal(1.0, 1.5, size=300)


def repaired(weights):
    """Mix in an extreme point, on the side that lacks weight, to make the mean b."""
    mean, end = weights @ F, 4 if weights @ F < b else 0
    share = (b - mean) / (F[end] - mean)
    return (1.0 - share) * weights + share * np.eye(5)[end]


feasible = np.array([repaired(rng.dirichlet(np.ones(5))) for _ in range(300)])
assert np.abs(feasible @ F - 1.0).max() < 1e-12
assert feasible.min() >= 0.0
highest, lowest = max(dual(m) for m in feasible), min(loss(d) for d in deltas)
print(f"highest of 300 lower bounds {highest:.4f}")
print(f"common value                {value_star:.4f}")
print(f"lowest of 300 upper bounds  {lowest:.4f}")
assert highest <= value_star <= lowest
for d, m in zip(deltas, feasible, strict=True):
    assert np.isclose(loss(d) - dual(m), np.sum(xlogy(m, m / softmax(a + d * F))))

# %%
# This makes proofs possible. To show that :math:`\delta=0.9` is nearly optimal, give feasible weights with it: the
# difference of the two values bounds the error. In the figure each :math:`\delta` gives an upper bound
# :math:`\ell(\delta)`, and its weights, repaired to be feasible, give a lower bound. The curves touch at
# :math:`\log3`.

axis = np.linspace(-0.6, 2.8, 180)
upper = np.array([loss(d) for d in axis])
lower = np.array([dual(repaired(softmax(a + d * F))) for d in axis])
assert np.all(lower <= value_star + 1e-12)
assert np.all(upper >= value_star - 1e-12)
claim, error = loss(0.9) - dual(repaired(softmax(a + 0.9 * F))), loss(0.9) - value_star
print(f"delta = 0.9: error at most {claim:.4f}, true error {error:.4f}")
assert 0.0 < error < claim < 0.03

# %%
fig, ax = plt.subplots(layout="constrained")
ax.fill_between(axis, lower, upper, color=GREY, alpha=0.12, lw=0, label="gap")
ax.plot(axis, upper, color=ORANGE, label="upper bound: ℓ(δ)")
ax.plot(axis, lower, color=BLUE, label="lower bound: D of repaired weights")
ax.axhline(value_star, color=GREY, linestyle=":", linewidth=1)
ax.plot(delta_star, value_star, "o", color="black", label="δ = log 3, no gap")
ax.set(xlabel="δ", ylabel="value", ylim=(-1.4, 0.55), title="Bounds from both sides")
ax.legend(loc="upper center")
plt.show()

# %%
# Strong duality and Slater
# -------------------------
#
# That both values are *equal* is strong duality. For convex programs it follows from Slater's condition: there is a
# point inside the domain of the objective that satisfies all constraints, and strictly those that are neither equations
# nor linear. Then optimal multipliers exist too, unless the value is infinite. We use it twice.
#
# * From the primal: its only constraints are the equations :math:`t=F\delta`, and its domain is the whole space, so
#   Slater's condition always holds. Hence the values are equal, and if they are finite, optimal prices :math:`\mu`
#   exist.
# * From the dual: the domain of the entropy is :math:`\mu\ge0`, and its interior is :math:`\mu>0`. Slater's condition
#   requires weights that are *all positive* and reach :math:`b`: the target must lie in the relative interior of the
#   hull of the points, here :math:`-2<b<2`. Then the dual's multiplier exists, and that is a finite :math:`\delta`.
#
# At :math:`b=2` the second condition fails. Only :math:`\mu=(0,0,0,0,1)` reaches the target: the dual has a solution,
# with value :math:`a_5=-\log16`. The primal is
#
# .. math::
#
#    \ell(\delta) &= -2\delta+4\log\cosh(\delta/2) \\
#    &= -\log16 + 4\log(1+e^{-\delta}) .
#
# It decreases towards :math:`-\log16` forever and never reaches it. The values are equal, but the primal does not
# attain its value. At :math:`b=2.5` no weights reach the target, and the primal falls without bound. In the first case
# ``pre.solve`` returns the weights and names the coefficient that runs to infinity; in the second it raises an error
# (lesson :doc:`05_hull`), or reports it in the status with ``check=False``.

for d in (2.0, 10.0, 20.0):
    above = loss(d, 2.0) + np.log(16.0)
    print(f"b = 2, delta {d:4.0f}: loss + log 16 = {above:.2e}")
    assert np.isclose(above, 4.0 * np.log1p(np.exp(-d)), atol=1e-12)
assert np.isclose(dual(np.eye(5)[4]), -np.log(16.0))

for target, status in ((2.0, pre.Status.BOUNDARY), (2.5, pre.Status.INFEASIBLE)):
    answer = pre.solve(five_points(target), check=False)
    print(f"b = {target}: {answer.status.name}")
    assert answer.status is status

# %%
axis = np.linspace(-1.5, 8.0, 200)
fig, ax = plt.subplots(layout="constrained")
for target, colour, text in (
    (1.0, ORANGE, "b = 1, inside: a minimum"),
    (2.0, BLUE, "b = 2, on the boundary: a limit that is not reached"),
    (2.5, GREEN, "b = 2.5, outside: no bound"),
):
    ax.plot(axis, [loss(d, target) for d in axis], color=colour, label=text)
ax.axhline(-np.log(16.0), color=BLUE, linestyle=":", linewidth=1)
ax.plot(delta_star, value_star, "o", color=ORANGE)
ax.set(xlabel="δ", ylabel="ℓ(δ)", ylim=(-7.5, 5.5))
ax.set_title("Inside, on the boundary, outside")
ax.legend(loc="lower left")
plt.show()

# %%
# A radius becomes a dual norm
# ----------------------------
#
# Relax the moment equation of the dual to :math:`\|b-F^\top\mu\|\le R`. Name the residual, :math:`r=b-F^\top\mu`, and
# give this equation the price :math:`\delta`. The Lagrangian, to be maximised over :math:`\mu` and :math:`r`, splits
# again:
#
# .. math::
#
#    -\langle b,\delta\rangle + \max_{\mu}\Big[D(\mu)+\sum_j\mu_j\langle\delta,F_j\rangle\Big]
#    + \max_{\|r\|\le R}\langle r,\delta\rangle .
#
# The first maximum, over the simplex, is :math:`\log\sum_je^{a_j+\langle\delta,F_j\rangle}`: the conjugate of the
# conjugate. The second is :math:`R` times the largest value of :math:`\langle r,\delta\rangle` on the unit ball. That
# largest value is called the dual norm :math:`\|\delta\|_*`. So the relaxed dual belongs to the primal with the penalty
# :math:`R\,\|\delta\|_*`. For :math:`\delta=(3,-4)` walk around each unit ball:

at_04 = softmax(a + 0.4 * F)  # the first maximum, at delta = 0.4
assert np.isclose(dual(at_04) + 0.4 * at_04 @ F, logsumexp(a + 0.4 * F))

angles = np.linspace(0.0, 2.0 * np.pi, 3601)
circle = np.column_stack([np.cos(angles), np.sin(angles)])
for order, dual_order, by_hand in ((2, 2, 5.0), (np.inf, 1, 7.0), (1, np.inf, 4.0)):
    ball = circle / np.linalg.norm(circle, order, axis=1, keepdims=True)
    reached = (ball @ [3.0, -4.0]).max()
    print(f"ball of norm {order:3}: largest {reached:.4f}, norm {dual_order} of (3, -4)")
    assert abs(reached - by_hand) < 1e-5
    assert np.linalg.norm([3.0, -4.0], dual_order) == by_hand

# %%
# On a line all norms are absolute values. With :math:`R=\tfrac12` our target may be missed by 1/2, and the entropy is
# largest if it is missed by all of that: the mean becomes 1/2. From :math:`2\tanh(\delta/2)=\tfrac12` we get
# :math:`\delta=\log\tfrac53`. With :math:`R=\tfrac32` the base weights themselves, with mean 0, are feasible, and
# :math:`\delta=0`.
#
# The optimality conditions of Karush, Kuhn and Tucker (KKT) collect everything: :math:`\delta` and :math:`\mu` are
# optimal if and only if
#
# * :math:`\mu_j = e^{a_j+\langle\delta,F_j\rangle}/Z(\delta)` (zero derivative),
# * :math:`\|r\|\le R` with :math:`r=b-F^\top\mu` (feasibility),
# * :math:`\langle r,\delta\rangle=R\,\|\delta\|_*` (complementary slackness: either the price is zero, or the residual
#   uses the whole radius and reaches as far along :math:`\delta` as the ball allows).

for radius, on_paper in ((0.5, np.log(5 / 3)), (1.5, 0.0)):
    relaxed = pre.solve(problem.with_radius(radius), "dual")
    d, m = relaxed.delta[0], relaxed.mu
    r = b - m @ F
    print(f"R = {radius}: delta {d:.6f}, on paper {on_paper:.6f}, residual {r:.4f}")
    assert abs(d - on_paper) < 1e-7
    assert np.allclose(m, softmax(a + d * F))
    assert abs(r) <= radius + 1e-8
    assert abs(r * d - radius * abs(d)) < 1e-8

# %%
# A radius also helps with Slater's condition. With :math:`R>0` it requires positive weights with a residual *strictly*
# below :math:`R`, and these exist as soon as :math:`R` is larger than the distance from :math:`b` to the hull. At
# :math:`b=2` any positive radius will do: with :math:`R=0.1` the mean becomes 1.9, and
# :math:`\delta=\log\frac{3.9}{0.1}=\log39`. For :math:`b=2.5` and :math:`R=0.6` the result is the same.

for target, radius in ((2.0, 0.1), (2.5, 0.6)):
    rescued = pre.solve(five_points(target, radius))
    print(f"b = {target}, R = {radius}: exp(delta) = {np.exp(rescued.delta[0]):.4f}")
    assert abs(np.exp(rescued.delta[0]) - 39.0) < 1e-3

# %%
# In the :doc:`duality explorer </explorer>` you can drag the points and the target, change :math:`R`, and watch both
# programs move.

# %%
# Exercises
# ---------
#
# **Exercise 1.** Solve the five-point problem for any target :math:`-2<b<2`. Which weights :math:`\mu` appear? Compute
# :math:`e^\delta` and :math:`\mu` for :math:`b=-1` and for :math:`b=\tfrac32`.
#
# Solution 1
# ^^^^^^^^^^
#
# :math:`2\tanh(\delta/2)=b` gives :math:`e^\delta=\frac{2+b}{2-b}`. The weights are proportional to
# :math:`\binom4i e^{\delta i}` with :math:`i=F_j+2`: the binomial distribution of four trials with success probability
# :math:`\frac{2+b}4`. For :math:`b=-1`, :math:`e^\delta=\tfrac13`, and :math:`\mu` is :math:`\mu^*` read backwards. For
# :math:`b=\tfrac32`, :math:`e^\delta=7`, and :math:`\mu=(1,28,294,1372,2401)/4096`.

seven = np.array([1, 28, 294, 1372, 2401]) / 4096
for target, odds, weights in ((-1.0, 1 / 3, mu_star[::-1]), (1.5, 7.0, seven)):
    answer = pre.solve(five_points(target))
    print(f"b = {target}: exp(delta) = {np.exp(answer.delta[0]):.6f}")
    assert abs(np.exp(answer.delta[0]) - odds) < 1e-5
    assert np.abs(answer.mu - weights).max() < 1e-6

# %%
# **Exercise 2.** Change the base weights to 1/5 for every point, and keep :math:`b=1`. With :math:`x=e^\delta` the
# moment equation is a polynomial. Find :math:`\delta` from its positive root, and compare with ``pre.solve``.
#
# Solution 2
# ^^^^^^^^^^
#
# :math:`\sum_j(F_j-1)x^{F_j}=0`. Multiply by :math:`x^2`: :math:`-3-2x-x^2+0\,x^3+x^4=0`. The signs of the coefficients
# change once, so there is one positive root.

roots = np.roots([1.0, 0.0, -1.0, -2.0, -3.0])
positive = next(root.real for root in roots if abs(root.imag) < 1e-9 and root.real > 0)
flat = pre.solve(five_points(1.0, log_base=np.zeros(5)))
print(f"root {positive:.6f}, log of it {np.log(positive):.6f}, solve {flat.delta[0]:.6f}")
assert abs(np.log(positive) - flat.delta[0]) < 1e-7

# %%
# **Exercise 3.** Keep the five points, but let the likelihood rule out the point 2: its base weight is 0, so
# :math:`a_5 = -\infty`. The target is still 1, and 1 still lies between -2 and 2. What are :math:`\mu` and
# :math:`\delta`?
#
# Solution 3
# ^^^^^^^^^^
#
# Weight on a point with base weight zero costs an infinite divergence: :math:`\mu_5=0`. The hull that counts is that of
# the points with positive base weight, from -2 to 1, and the target is now on its boundary. All the weight goes to the
# point 1, and :math:`\delta` tends to infinity. A likelihood does not move any point, and yet it can make the solution
# disappear.

without = np.array([1.0, 4.0, 6.0, 4.0, 0.0])
with np.errstate(divide="ignore"):
    ruled_out = five_points(1.0, log_base=np.log(without))
answer = pre.solve(ruled_out, check=False)
print(*str(answer.status).split("; "), sep=";\n")
print("mu =", answer.mu.round(6) + 0.0)
assert answer.status is pre.Status.BOUNDARY
assert abs(answer.mu[3] - 1.0) < 1e-5
far = ruled_out.value([30.0])
print(f"loss at delta = 30: {far:.6f}, limit log(4/15) = {np.log(4 / 15):.6f}")
assert abs(far - np.log(4 / 15)) < 1e-9
