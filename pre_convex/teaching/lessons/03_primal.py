r"""
03 The primal as a log-sum-exp program in cvxpy
===============================================

Lessons 01 and 02 ended with one function to minimise. With a radius :math:`R \ge 0` and the Euclidean norm it is the
primal program [P]:

.. math::

   \min_\delta\ \ell_R(\delta) = -\langle b,\delta\rangle + \log\sum_j e^{a_j+\langle\delta,F_j\rangle}
   + R\,\|\delta\|_2

The last term keeps :math:`\delta` small; lesson :doc:`06_radius` is about it, and about other norms. Here we write the
program in cvxpy, a language for convex programs. cvxpy accepts a program only if it can *see* that it is convex, by
the rules of disciplined convex programming (DCP). We build the program one atom at a time and see what cvxpy makes of
it.

After this lesson you will know

* what curvature and sign cvxpy assigns to each part, and the one rule that combines them,
* why ``log(sum(exp(z)))`` is rejected although it is the same function,
* which cones a solver gets to see, and how many,
* how to add your own penalty or constraint, and how parameters make a second solve cheap.

Symbols: target :math:`b`; matrix :math:`F` with :math:`n` rows :math:`F_j`; logarithms :math:`a_j` of the base
weights; parameter :math:`\delta` with :math:`k` entries; radius :math:`R`.
"""

# %%
# The data
# --------
#
# Eighty points in the plane and a target, generated as in lesson :doc:`02_likelihoods`. From here on only :math:`b`,
# :math:`F`, :math:`a` and :math:`R` matter.

import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, LIGHT, ORANGE

rng = np.random.default_rng(3)
x_p = rng.normal([1.0, 0.0], 1.0, size=(400, 2))
x_q = rng.normal(0.0, 1.2, size=(80, 2))
l_p, l_q = pre.Gaussian([1.0, -1.0]), pre.Gaussian([0.0, 0.0], precision=0.5)
problem = pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q, radius=0.1)
n, k = problem.features_q.shape
print(problem)

# %%
# Atom by atom
# ------------
#
# With named constants cvxpy prints formulas instead of numbers. Every expression knows its *curvature* (constant,
# affine, convex, concave, or unknown) and its *sign*.

b = cp.Constant(problem.target, name="b")
F = cp.Constant(problem.features_q, name="F")
a = cp.Constant(problem.log_base, name="a")
R = cp.Constant(problem.radius, name="R")
delta = cp.Variable(k, name="delta")

linear = -b @ delta
logits = a + F @ delta
log_z = cp.log_sum_exp(logits)
penalty = R * cp.norm(delta, 2)
objective = linear + log_z + penalty

for name, part in (
    ("linear", linear),
    ("logits", logits),
    ("log_z", log_z),
    ("penalty", penalty),
    ("objective", objective),
):
    print(f"{name:10s} {part.curvature.lower():8s} sign {part.sign.lower()}")

assert linear.is_affine()
assert logits.is_affine()
assert log_z.is_convex()
assert not log_z.is_affine()
assert penalty.is_convex()
assert penalty.is_nonneg()
assert objective.is_convex()

# %%
# The rule
# --------
#
# cvxpy does not test numbers. It knows a few facts about each atom and one rule for compositions. The expression
# :math:`h(g_1, \dots, g_m)` is convex if :math:`h` is convex and each argument :math:`g_i` is
#
# * affine, or
# * convex, where :math:`h` is non-decreasing in it, or
# * concave, where :math:`h` is non-increasing in it.
#
# For one smooth argument this is a line of calculus:
#
# .. math::
#
#    \frac{d^2}{dx^2}\,h(g(x)) = h''(g(x))\,g'(x)^2 + h'(g(x))\,g''(x) .
#
# The first term is not negative, since :math:`h` is convex. The second vanishes for affine :math:`g`, and in the other
# two cases :math:`h'` and :math:`g''` have the same sign.
#
# For concave :math:`h`, swap the words convex and concave. A sum of convex expressions is convex, and so is a
# non-negative multiple. Now go through the program.
#
# * ``-b @ delta`` and ``a + F @ delta`` are affine: sums of constants times variables.
# * ``log_sum_exp`` is a convex atom, non-decreasing in every argument. Its arguments are affine, so :math:`\log Z` is
#   convex.
# * ``norm`` is convex and non-negative; :math:`R \ge 0`, so the penalty is convex.
# * A sum of affine and convex parts is convex.
#
# That ``log_sum_exp`` is convex had to be proved once, by hand. One proof was in lesson 01: its second derivative is a
# covariance matrix. The figure shows the tree that cvxpy holds in memory; labels and colours are read from it.

SIGNS = {
    "AddExpression": "+",
    "NegExpression": "−",
    "MulExpression": "@",
    "multiply": "×",
}
KINDS = {"CONSTANT": GREY, "AFFINE": BLUE, "CONVEX": ORANGE}
nodes, edges = [], []


def place(expression, depth=0, column=0.0):
    """Put an expression above its arguments; return its place and the next column."""
    below = []
    for argument in expression.args:
        x, column = place(argument, depth + 1, column)
        below.append(x)
    x, column = (np.mean(below), column) if below else (column, column + 1.0)
    name = type(expression).__name__ if below else expression.name()
    name = "norm" if name.startswith("Pnorm") else SIGNS.get(name, name)
    nodes.append((x, depth, name, expression.curvature))
    edges.extend((x, depth, other, depth + 1) for other in below)
    return x, column


place(objective)
fig, ax = plt.subplots(figsize=(7.6, 4.2), layout="constrained")
for x0, y0, x1, y1 in edges:
    ax.plot([x0, x1], [-y0, -y1], color=GREY, linewidth=1, zorder=1)
for x, depth, name, kind in nodes:
    box = {"boxstyle": "round,pad=0.35", "fc": "white", "ec": KINDS[kind], "lw": 2}
    ax.text(x, -depth, name, ha="center", va="center", bbox=box, zorder=2)
for kind, colour in KINDS.items():
    ax.plot([], [], "s", ms=9, mfc="white", mew=2, color=colour, label=kind.lower())
ax.legend(loc="upper right")
ax.set_title("The objective as cvxpy sees it")
ax.margins(0.08, 0.1)
ax.axis("off")
plt.show()

# %%
# The same function, rejected
# ---------------------------
#
# Why does log-sum-exp have its own atom? Write the logarithm of the sum of exponentials with three atoms. The values
# agree, but cvxpy does not find it convex: ``exp`` is convex, a sum of convex parts is convex, and ``log`` is *concave*
# and increasing. The rule does not cover an increasing concave function of a convex one. It is sufficient, not
# necessary: it never accepts a function that is not convex, and it rejects some that are.

spelled = cp.log(cp.sum(cp.exp(logits)))
delta.value = np.array([0.7, -0.4])
print(f"log_sum_exp(z)    {log_z.value:.6f}  convex to cvxpy: {log_z.is_convex()}")
print(f"log(sum(exp(z)))  {spelled.value:.6f}  convex to cvxpy: {spelled.is_convex()}")
assert np.isclose(log_z.value, spelled.value)
assert not spelled.is_convex()
try:
    cp.Problem(cp.Minimize(linear + spelled)).solve()
except cp.DCPError as error:
    print("DCPError:", str(error).splitlines()[0])
else:
    raise AssertionError("cvxpy accepted log(sum(exp))")

# %%
# The atom is also numerically safer: it subtracts the largest argument first, as in lesson 02.

large = np.array([1000.0, 1000.0])
with np.errstate(over="ignore"):
    print("log_sum_exp  ", cp.log_sum_exp(large).value)
    print("log(sum(exp))", cp.log(cp.sum(cp.exp(large))).value)
assert np.isclose(cp.log_sum_exp(large).value, 1000.0 + np.log(2.0))

# %%
# The cone program behind it
# --------------------------
#
# Solvers do not know atoms. They minimise a linear function subject to linear and conic constraints. cvxpy gets there
# by introducing variables. For the log-sum-exp, a bound :math:`t`:
#
# .. math::
#
#    \log\sum_j e^{z_j} \le t
#    &\iff \sum_j e^{z_j-t} \le 1 \\
#    &\iff e^{z_j-t} \le u_j \text{ for all } j,\quad \sum_j u_j \le 1 .
#
# Each :math:`e^{z_j-t}\le u_j` says that :math:`(z_j-t,\,1,\,u_j)` lies in the exponential cone, the set of
# :math:`(x,y,z)` with :math:`y>0` and :math:`y\,e^{x/y}\le z` (and its limit points). For the norm, a bound :math:`s`:
# :math:`\|\delta\|_2\le s` says that :math:`(s,\delta)` lies in a second-order cone. Count: :math:`n` exponential
# cones, one second-order cone of size :math:`k+1`, one inequality; variables :math:`\delta`, :math:`u`, :math:`t`,
# :math:`s`. cvxpy does the same:

program = cp.Problem(cp.Minimize(objective))
data, _, _ = program.get_problem_data(cp.CLARABEL)
dims, matrix = data["dims"], data["A"]
print(f"exponential cones  {dims.exp}")
print(f"second-order cones {len(dims.soc)}, of size {dims.soc[0]}")
print(f"inequalities       {dims.nonneg}")
print(f"{matrix.shape[1]} variables, {matrix.shape[0]} rows, {matrix.nnz} entries")
assert (dims.exp, list(dims.soc), dims.nonneg, dims.zero) == (n, [k + 1], 1, 0)
assert matrix.shape == (3 * n + (k + 1) + 1, k + n + 2)

# %%
# Writing the cones by hand gives the same value. (We set CLARABEL's tolerance to :math:`10^{-6}`. On exponential cones
# it sometimes just fails to reach its default of :math:`10^{-8}`, and then it warns.)

clarabel = {"solver": cp.CLARABEL, "tol_gap_abs": 1e-6, "tol_gap_rel": 1e-6, "tol_feas": 1e-6}
t, s, u = cp.Variable(name="t"), cp.Variable(name="s"), cp.Variable(n, name="u")
by_hand = cp.Problem(
    cp.Minimize(linear + t + R * s),
    [cp.ExpCone(logits - t, np.ones(n), u), cp.sum(u) <= 1, cp.SOC(s, delta)],
)
by_hand.solve(**clarabel)
program.solve(**clarabel)
print(f"by hand {by_hand.value:.5f}, by cvxpy {program.value:.5f}")
assert abs(by_hand.value - program.value) < 1e-5

# %%
# At the solution the bounds are tight, and the variables have a meaning: :math:`t = \log Z`, and
# :math:`u_j = e^{z_j - \log Z}` are the weights :math:`\mu_j` of lesson 01. One cone per row is the price of a general
# solver: a million rows mean a million cones. Lesson :doc:`08_solvers` shows another way.

mu = np.exp(problem.log_mu(delta.value))
assert abs(t.value - log_z.value) < 1e-3
assert np.abs(u.value - mu).max() < 1e-3

# %%
# The package's program, and several solvers
# ------------------------------------------
#
# ``pre.primal_program`` builds what we built. Its ``.cvxpy`` is a ``cvxpy.Problem`` that you can inspect and change,
# and ``recover()`` returns :math:`\delta` and the weights after a solve. Compare several solvers, written by different
# people with different methods, and the package's own Newton engine:

built = pre.primal_program(problem)
print(built)
built.cvxpy.solve(**clarabel)
found, weights = built.recover()
newton = pre.solve(problem)
assert newton.gap < 1e-12
assert np.abs(found - newton.delta).max() < 1e-3
assert np.abs(weights - newton.mu).max() < 1e-3
assert pre.certify(problem, found, weights).gap < 1e-5

print(f"\n{'solver':10s} {'delta':20s} {'value':>10s}  gap below 1e-6")
for solver in pre.installed_solvers():
    solution = pre.solve(problem, solver=solver, polish=False)
    print(f"{solver:10s} {solution.delta.round(4)!s:20s} {solution.primal_value:10.6f}  {solution.gap < 1e-6}")
    assert np.abs(solution.delta - newton.delta).max() < 1e-3
    assert solution.gap < 1e-6

# %%
# They agree. ``polish=False`` keeps the solver's own numbers. The gap is not the one that a solver reports: the package
# computes it from :math:`\delta` and :math:`\mu` alone, as ``pre.certify`` does for numbers from any source (lesson
# :doc:`07_certificates`).
#
# Your own terms
# --------------
#
# Anything convex in :math:`\delta` may be added, as a function of a cvxpy expression. First a constraint: no
# coefficient may be negative. Then a penalty: half the sum of squares. A term that is not convex is rejected before a
# solver is called.

signed = pre.solve(problem, constraints=lambda d: [d >= 0])
ridge = pre.solve(problem, penalty=lambda d: 0.5 * cp.sum_squares(d))
print("free        ", newton.delta.round(4))
print("non-negative", signed.delta.round(4) + 0.0)
print("ridge       ", ridge.delta.round(4))
assert newton.delta[1] < 0.0
assert abs(signed.delta[1]) < 1e-6
assert np.linalg.norm(ridge.delta) < np.linalg.norm(newton.delta)
try:
    pre.solve(problem, penalty=lambda d: -cp.norm(d))
except pre.DataError as error:
    print("DataError:", str(error).split(",")[0])
else:
    raise AssertionError("a concave penalty was accepted")

# the same, by changing the cvxpy problem itself
variable = built.cvxpy.variables()[0]
changed = cp.Problem(built.cvxpy.objective, [variable >= 0])
changed.solve(**clarabel)
assert np.abs(variable.value - signed.delta).max() < 1e-3

# %%
# Parameters: compile once, solve often
# -------------------------------------
#
# To follow the solution along many radii, let :math:`R` be a ``cp.Parameter``. If the program is affine in its
# parameters in the right way (DPP, disciplined parametrised programming), cvxpy translates it to cones once, and a new
# value only fills in numbers. A parameter may multiply an expression; it may not divide one. ``norm(delta) / S`` is the
# same program with :math:`S = 1/R`, and still convex, but :math:`1/S` is not affine in :math:`S`: cvxpy retranslates it
# for each value, and warns.

radius = cp.Parameter(nonneg=True, name="R")
inverse = cp.Parameter(pos=True, name="S")
times = cp.Problem(cp.Minimize(linear + log_z + radius * cp.norm(delta)))
divided = cp.Problem(cp.Minimize(linear + log_z + cp.norm(delta) / inverse))
print("times R:   DCP", times.is_dcp(), " DPP", times.is_dcp(dpp=True))
print("divided S: DCP", divided.is_dcp(), " DPP", divided.is_dcp(dpp=True))
assert times.is_dcp(dpp=True)
assert divided.is_dcp()
assert not divided.is_dcp(dpp=True)

radii = np.linspace(0.0, 1.4, 29)
path = []
for value in radii:
    radius.value = value
    times.solve(**clarabel)
    path.append(delta.value.copy())
path = np.array(path)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    inverse.value = 1.0 / radii[4]
    divided.solve(**clarabel)
print("warned:", any("not DPP" in str(w.message) for w in caught))
assert any("not DPP" in str(w.message) for w in caught)
assert np.abs(delta.value - path[4]).max() < 1e-3

# %%
# Left: the objective along one coordinate, with the other at its optimum, and two tangents. A convex function lies
# above each of its tangents, so a horizontal tangent touches it at the minimum. Right: the solution as a function of
# :math:`R`. Both coefficients shrink, and from :math:`R = \|b - \sum_j e^{a_j}F_j\|_2` on they are zero; lesson 06
# explains that number.

end = np.linalg.norm(problem.target - np.exp(problem.log_base) @ problem.features_q)
first = np.linspace(-1.0, 3.0, 120)
loss = np.array([problem.value([d, newton.delta[1]]) for d in first])
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.5), layout="constrained")
left.plot(first, loss, color=ORANGE, label="objective")
for at, colour in ((-0.5, GREY), (newton.delta[0], BLUE)):
    point = np.array([at, newton.delta[1]])
    slope = problem.gradient(point)[0] + problem.radius * point[0] / np.linalg.norm(point)
    tangent = problem.value(point) + slope * (first - at)
    assert np.all(tangent <= loss + 1e-12)
    assert at != newton.delta[0] or abs(slope) < 1e-6  # horizontal
    left.plot(first, tangent, color=colour, linewidth=1, label="tangent")
    left.plot(at, problem.value(point), "o", color=colour, markersize=5)
left.set(xlabel="δ₁", ylabel="loss", ylim=(loss.min() - 0.35, loss.max()))
left.set_title("Above every tangent")
left.legend(fontsize=9, loc="upper center")
for name, along, colour in zip(("δ₁", "δ₂"), path.T, (ORANGE, GREEN), strict=True):
    right.plot(radii, along, ".-", color=colour, ms=4, linewidth=1, label=name)
right.axvline(end, color=GREY, linestyle=":")
right.axhline(0.0, color=LIGHT, zorder=0)
right.set(xlabel="R", ylabel="δ", title="One program, 29 radii")
right.legend()
plt.show()
assert np.abs(path[radii > end + 0.01]).max() < 1e-3
assert np.linalg.norm(path[radii < end - 0.01], axis=1).min() > 1e-3

# %%
# Exercises
# ---------
#
# **Exercise 1.** Let :math:`L` be the convex expression ``log_sum_exp(a + F @ delta)``, whose sign is unknown. Decide
# on paper what the rule says about ``exp(L)``, ``-L``, ``square(L)``, ``square(pos(L))`` (where ``pos(z)`` is
# :math:`\max(z,0)`), and ``L - L``.
#
# Solution 1
# ^^^^^^^^^^
#
# * ``exp(L)``: convex and increasing of convex, so convex.
# * ``-L``: concave.
# * ``square(L)``: the square is convex but not monotone, unless the sign of its argument is known. Rejected, and
#   rightly so: where :math:`L<0` the square need not be convex.
# * ``square(pos(L))``: ``pos`` is convex and increasing, so ``pos(L)`` is convex and non-negative, and on non-negative
#   arguments the square is increasing. Convex.
# * ``L - L``: convex plus concave. Rejected, although it is zero: the rule looks at one node at a time.

L = log_z
for name, expression, convex, concave in (
    ("exp(L)", cp.exp(L), True, False),
    ("-L", -L, False, True),
    ("square(L)", cp.square(L), False, False),
    ("square(pos(L))", cp.square(cp.pos(L)), True, False),
    ("L - L", L - L, False, False),
):
    seen = expression.is_convex(), expression.is_concave()
    print(f"{name:15s} convex {seen[0]!s:6s} concave {seen[1]}")
    assert seen == (convex, concave)

# %%
# **Exercise 2.** Replace the Euclidean norm of :math:`\delta` by the sum of absolute values, ``cp.norm1``. (In the
# package this is ``norm=np.inf``: it names the norm of the dual's constraint, see lesson :doc:`04_dual`.) Which cones
# does the solver get now?
#
# Solution 2
# ^^^^^^^^^^
#
# Absolute values need no curved cone: :math:`|\delta_i|\le s_i` is two inequalities. The second-order cone is gone, and
# there are :math:`2k` inequalities in addition to the one of the log-sum-exp.

sparse = cp.Problem(cp.Minimize(linear + log_z + R * cp.norm1(delta)))
dims = sparse.get_problem_data(cp.CLARABEL)[0]["dims"]
print(f"exponential cones  {dims.exp}")
print(f"second-order cones {len(dims.soc)}")
print(f"inequalities       {dims.nonneg}")
assert (dims.exp, list(dims.soc), dims.nonneg) == (n, [], 1 + 2 * k)
sparse.solve(**clarabel)
package = pre.solve(problem.with_radius(0.1, norm=np.inf))
assert abs(sparse.value - package.primal_value) < 1e-5

# %%
# **Exercise 3.** KLIEP was originally formulated with a constraint instead of :math:`\log Z`, for a ratio that is
# linear in its parameters. Do the same for ours: let the log-ratio be :math:`\langle\delta,f(x)\rangle + c` with a free
# constant :math:`c`, maximise its mean over the p sample, and require the ratio to have mean one over the q sample,
# :math:`\sum_j e^{a_j+\langle\delta,F_j\rangle+c} = 1`. Write it in cvxpy. Does it follow the DCP rules? Replace ``==``
# by ``<=`` and solve (without penalty). What is :math:`c`?
#
# Solution 3
# ^^^^^^^^^^
#
# The equation is rejected: the points where a convex function *equals* one do not form a convex set in general. Those
# where it is *at most* one do, and nothing is lost. If the sum were below one, a larger :math:`c` would be allowed and
# would raise the objective. So the inequality is tight at the optimum, and the optimum is the same as before:
# :math:`c = -\log Z(\delta)`.

c = cp.Variable(name="c")
mean_ratio = cp.sum(cp.exp(logits + c))
equation = cp.Problem(cp.Maximize(b @ delta + c), [mean_ratio == 1])
relaxed = cp.Problem(cp.Maximize(b @ delta + c), [mean_ratio <= 1])
print("== is DCP:", equation.is_dcp(), "  <= is DCP:", relaxed.is_dcp())
relaxed.solve(**clarabel)
plain = pre.solve(problem.with_radius(0.0))
print(f"value {relaxed.value:.4f}, package {-plain.primal_value:.4f}")
print(f"sum {mean_ratio.value:.4f}, c {c.value:.4f}, -log Z {-log_z.value:.4f}")
assert not equation.is_dcp()
assert relaxed.is_dcp()
assert abs(relaxed.value + plain.primal_value) < 1e-4
assert abs(mean_ratio.value - 1.0) < 1e-4
assert abs(c.value + log_z.value) < 1e-4
