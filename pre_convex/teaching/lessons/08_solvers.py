r"""
08 Inside the solvers: interior point against Newton, and what a pass costs
===========================================================================

Two engines solve the same programs: a cone solver, which receives the whole program, and a Newton method, which sees
the data only through averages. Afterwards you will know

* what one pass over the data returns, and how Newton's method is built from passes;
* why passes can be split into blocks and merged, in any order, on any machine;
* what a cone solver stores and how that grows with the number of rows, counted rather than timed;
* why solving a few rows first and keeping their curvature saves most of the work, and when a cone solver is the better
  choice.

Symbols: :math:`n` rows :math:`F_j` with :math:`k` features, base weights :math:`e^{a_j}`, target :math:`b`, ratio
parameter :math:`\delta`, tilted weights :math:`\mu(\delta)` of [LINK], their mean :math:`m` and covariance :math:`H`.
"""

# %%
# One pass
# --------
#
# Everything that the primal :math:`\ell(\delta) = \log Z(\delta) - \langle b,\delta\rangle` needs at a point is an
# average over the rows:
#
# .. math::
#
#    \begin{aligned}
#    \log Z & = \log\sum_j e^{a_j + \langle\delta,F_j\rangle}, \qquad m = \sum_j\mu_j F_j, \\
#    H & = \sum_j\mu_j (F_j - m)(F_j - m)^\top .
#    \end{aligned}
#
# The gradient is :math:`m - b` and the Hessian is :math:`H`. However many rows there are, they are reduced to
# :math:`1 + k + k^2` numbers.

import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, ORANGE, PINK


def one_pass(F, a, delta):
    """Log Z, mean and covariance of the rows under the tilted weights."""
    z = a + F @ delta
    top = z.max()
    weights = np.exp(z - top)
    total = weights.sum()
    mu = weights / total
    m = mu @ F
    G = F - m
    return top + np.log(total), m, G.T @ (mu[:, None] * G)


def planted(n, k, seed):
    """A problem whose answer is known: choose delta, then compute the target."""
    rng = np.random.default_rng(seed)
    F, truth = rng.uniform(-2.0, 2.0, size=(n, k)), np.linspace(2.0, -1.2, k)
    a = np.full(n, -np.log(n))
    return F, a, one_pass(F, a, truth)[1], truth


F, a, b, truth = planted(2000, 4, seed=8)
problem = pre.RatioProblem(target=b, features_q=F, log_base=a)
log_z, m, H = one_pass(F, a, truth)
summary = problem.tilt(truth, covariance=True)
assert np.isclose(summary.log_z, log_z)
assert np.allclose(summary.mean, m)
assert np.allclose(summary.covariance, H)
print(f"log Z {log_z:.4f}, mean {m.round(3)}, numbers kept: {1 + 4 + 16}")

# %%
# Newton's method
# ---------------
#
# Near :math:`\delta` the primal looks like a parabola with gradient :math:`m - b` and curvature :math:`H`. A linear
# solve finds its minimum:
#
# .. math::
#
#    d = H^{-1}(b - m), \qquad \lambda^2 = \langle b - m, d\rangle .
#
# :math:`\lambda^2` is the squared *Newton decrement*: the parabola predicts a decrease of :math:`\lambda^2/2`. Far from
# the optimum the prediction may be wrong, so the step is halved until the value falls by a fair share of it. The
# decrement also tells when to stop, because one half of it is close to the certified gap of
# :doc:`lesson 07 <07_certificates>`.


def newton(F, a, b, delta, steps=50, aim=1e-20):
    """Points visited, their squared decrements, and the number of passes."""
    points, decrements, passes = [delta], [], 1
    log_z, m, H = one_pass(F, a, delta)
    for _ in range(steps):
        d = np.linalg.solve(H, b - m)
        decrements.append((b - m) @ d)
        if decrements[-1] <= aim:
            break
        t, value = 1.0, log_z - b @ delta
        while True:
            log_z, m, H = one_pass(F, a, delta + t * d)
            passes += 1
            fall = value - (log_z - b @ (delta + t * d))
            if fall >= 0.25 * t * decrements[-1] or decrements[-1] < 1e-12:
                break
            t /= 2.0
        delta = delta + t * d
        points.append(delta)
    return points, decrements, passes


points, decrements, passes = newton(F, a, b, np.zeros(4))
for i, (point, decrement) in enumerate(zip(points, decrements, strict=True)):
    away = np.abs(point - truth).max()
    print(f"step {i}: squared decrement {decrement:.1e}, distance to the answer {away:.1e}")
assert np.allclose(points[-1], truth, atol=1e-9)
assert len(decrements) <= 9
assert np.allclose(pre.solve(problem).delta, points[-1], atol=1e-8)

# %%
# Close to the solution each step squares the error: the number of correct digits doubles. Compare with two other
# methods on a problem with 400 rows. Gradient descent uses :math:`m` and not :math:`H`. CLARABEL is an *interior-point*
# method: it replaces the walls of the cones by a steep but smooth barrier and follows the minimum while the barrier is
# lowered by a roughly constant factor at a time. We stop it after 1, 2, 3 … iterations and look at the value of its
# :math:`\delta`. The optimum :math:`\delta^*` is known here, and
# :math:`\ell(\delta) - \ell(\delta^*) = \mathrm{KL}(\mu(\delta^*)\,\|\,\mu(\delta))` as in lesson 07.

F, a, b, truth = planted(400, 4, seed=9)
problem = pre.RatioProblem(target=b, features_q=F, log_base=a)


def excess(delta):
    """Excess of the value over the optimum, as a divergence between weights."""
    log_mu = problem.log_mu(truth)
    return float(np.exp(log_mu) @ (log_mu - problem.log_mu(delta)))


newton_excess = [excess(p) for p in newton(F, a, b, np.zeros(4))[0]]
slow, slow_excess = np.zeros(4), []
steepest = np.linalg.eigvalsh(problem.hessian(truth)).max()
for _ in range(31):
    slow_excess.append(excess(slow))
    slow = slow - problem.gradient(slow) / steepest

interior, tight = {}, {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9}
for limit in range(1, 61):
    program = pre.primal_program(problem, scaled=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # cvxpy warns about the early stop, which is intended
        program.cvxpy.solve(solver=cp.CLARABEL, max_iter=limit, **tight)
    interior[limit] = excess(program.recover()[0])
    if program.cvxpy.status == "optimal":
        break
print("Newton steps:", len(newton_excess) - 1, " interior-point iterations:", limit)

fig, ax = plt.subplots(layout="constrained")
floor = 1e-16
ax.semilogy(np.maximum(newton_excess, floor), "o-", color=BLUE, label="Newton")
heights = np.maximum(list(interior.values()), floor)
ax.semilogy(list(interior), heights, "s-", color=ORANGE, label="interior point (CLARABEL)")
ax.semilogy(np.maximum(slow_excess, floor), "-.", color=GREY, label="gradient descent")
ax.set(xlabel="iteration", ylabel="value above the optimum", ylim=(floor / 2, 10), title="Three kinds of convergence")
ax.legend()
plt.show()

assert newton_excess[6] < 1e-12
assert limit > 2 * (len(newton_excess) - 1)
assert interior[10] > slow_excess[10] > newton_excess[5]

# %%
# Newton needs few steps, each of them a pass with covariance. The interior-point method spends its first iterations
# getting close to the path that it follows, and then gains a roughly constant factor in each, until it is near its
# tolerance. Gradient descent gains a constant factor too, which gets worse the more the scales of the features differ.

# %%
# The same small matrix in both
# -----------------------------
#
# An interior-point method seems to have to solve for :math:`n` weights. Write the optimality conditions of the dual
# with multipliers :math:`\nu = (\delta, \nu_0)` for the rows of :math:`A = (F, 1)^\top`, that is for the moment and the
# sum, and take a Newton step on all of them. The block of the weights is diagonal and can be eliminated by hand:
#
# .. math::
#
#    \begin{gathered}
#    \Delta\mu = \mu\circ(A^\top\Delta\nu - r_d), \\
#    A\,\mathrm{diag}(\mu)A^\top\,\Delta\nu = A(\mu\circ r_d) - r_p ,
#    \end{gathered}
#
# with :math:`r_d = \log\mu - a + 1 - A^\top\nu` and :math:`r_p = A\mu - (b, 1)`. What remains is a linear system of
# size :math:`k + 1`. Eliminating its last unknown leaves, for weights with sum one, their covariance :math:`H`. Both
# methods solve the same small system. They differ in their variables: Newton has :math:`k` numbers, which determine the
# weights; the interior-point method has :math:`n` independent weights, whose sum and moment become correct on the way.

A, c = np.vstack([F.T, np.ones(len(F))]), np.append(b, 1.0)
mu, nu, residuals = np.exp(a), np.zeros(5), []
for _ in range(30):
    r_d, r_p = np.log(mu) - a + 1.0 - A.T @ nu, A @ mu - c
    residuals.append(np.abs(np.append(mu * r_d, r_p)).max())
    if residuals[-1] < 1e-12:
        break
    S = (A * mu) @ A.T
    dnu = np.linalg.solve(S, A @ (mu * r_d) - r_p)
    relative = A.T @ dnu - r_d  # change of every weight relative to itself
    t = min(1.0, 0.9 / max(-relative.min(), 1e-300))  # stay inside: no weight may reach zero
    mu, nu = mu * (1.0 + t * relative), nu + t * dnu
S = (A * mu) @ A.T
schur = S[:4, :4] - np.outer(S[:4, 4], S[:4, 4]) / S[4, 4]
print(f"{len(residuals) - 1} steps, delta {nu[:4].round(4)}")
assert np.allclose(nu[:4], truth, atol=1e-8)
assert np.allclose(mu, np.exp(problem.log_mu(truth)), atol=1e-10)
assert np.allclose(schur, problem.hessian(truth), atol=1e-8)

# %%
# The size of a cone solver's program
# -----------------------------------
#
# A general cone solver does not know this structure. cvxpy translates the primal into variables, a sparse matrix and
# cones: each row gets its own exponential cone (three rows of the matrix) and its own variable. We count.

print("    n  form    variables  matrix rows  cones  nonzeros  per row")
for n in (100, 200, 400):
    rows, base, target, _ = planted(n, 4, seed=1)
    small = pre.RatioProblem(target=target, features_q=rows, log_base=base)
    for form, program in (("primal", pre.primal_program(small)), ("dual", pre.dual_program(small))):
        data = program.cvxpy.get_problem_data(cp.CLARABEL)[0]
        matrix, cones = data["A"], data["dims"].exp
        height, width = matrix.shape
        print(f"{n:5d}  {form:6s} {width:10d} {height:12d} {cones:6d} {matrix.nnz:9d} {matrix.nnz / n:8.1f}")
        assert cones == n
        assert matrix.nnz == n * (4 + 3 if form == "primal" else 4 + 4)

# %%
# Everything grows in proportion to :math:`n`: about :math:`k + 3` nonzeros per row in the primal and :math:`k + 4` in
# the dual, and one cone per row. A sparse matrix stores an index with every number, and in every iteration the solver
# factors a larger matrix, built from this one and a block for each cone. So the *growth* is no worse than Newton's.
# What is worse is the constant factor, the memory and the number of iterations, which grows slowly if at all. (The
# package's Newton engine takes more steps than ours above, because near the optimum it avoids covariances and takes
# cheaper steps with gradients only.)

print("    n   CLARABEL primal   CLARABEL dual   Newton")
for n in (100, 400, 1600):
    rows, base, target, _ = planted(n, 4, seed=2)
    small = pre.RatioProblem(target=target, features_q=rows, log_base=base)
    counts = [pre.solve(small, form, "CLARABEL", polish=False).iterations for form in ("primal", "dual")]
    ours = pre.solve(small).iterations
    print(f"{n:5d} {counts[0]:17d} {counts[1]:15d} {ours:8d}")
    assert ours < min(counts)

# %%
# A pass can be split into blocks
# -------------------------------
#
# :math:`(\log Z, m, H)` of two sets of rows give those of their union. With the share
# :math:`s = Z_2/(Z_1 + Z_2)` of the second set,
#
# .. math::
#
#    \begin{aligned}
#    \log Z & = \log(e^{\log Z_1} + e^{\log Z_2}), \\
#    m & = m_1 + s(m_2 - m_1), \\
#    H & = (1 - s)H_1 + sH_2 \\
#    & \quad + s(1 - s)(m_2 - m_1)(m_2 - m_1)^\top .
#    \end{aligned}
#
# This operation is associative and commutative and has a neutral element, the summary of no rows. So blocks may be
# visited in any order, by any number of machines, and only :math:`1 + k + k^2` numbers have to be sent. Using
# :math:`\log Z` instead of :math:`Z` keeps everything finite: below, logits of 1,000 would overflow.


def merge(one, other):
    """Summary of the union of two sets of rows."""
    log_z = np.logaddexp(one[0], other[0])
    share = np.exp(other[0] - log_z)
    move = other[1] - one[1]
    return (
        log_z,
        one[1] + share * move,
        (1 - share) * one[2] + share * other[2] + share * (1 - share) * np.outer(move, move),
    )


def same(one, other):
    return all(np.allclose(x, y, rtol=1e-10, atol=1e-12) for x, y in zip(one, other, strict=True))


F, a, b, truth = planted(2000, 4, seed=8)
shifted = a + 1000.0 + np.linspace(-3.0, 3.0, 2000)
blocks = slice(0, 700), slice(700, 1990), slice(1990, 2000)
p1, p2, p3 = (one_pass(F[i], shifted[i], truth) for i in blocks)
whole = one_pass(F, shifted, truth)
empty = (-np.inf, np.zeros(4), np.zeros((4, 4)))
print(f"log Z of the parts {p1[0]:.1f}, {p2[0]:.1f}, {p3[0]:.1f}; merged {merge(p1, merge(p2, p3))[0]:.4f}")
assert same(merge(merge(p1, p2), p3), whole)
assert same(merge(p1, merge(p2, p3)), whole)
assert same(merge(p3, merge(p1, p2)), whole)
assert same(merge(p2, empty), p2)

# %%
# What a pass costs
# -----------------
#
# Count operations. A pass reads :math:`8nk` bytes once. The logits :math:`F\delta` and the mean :math:`F^\top\mu` take
# :math:`2nk` additions and multiplications each, and there are :math:`n` exponentials. The covariance adds
# :math:`2nk^2`, or half of that if symmetry is used. With many features the covariance is nearly all of the work, so it
# pays to compute it rarely.


def operations(n, k, covariance):
    """Additions and multiplications of a pass."""
    return 4 * n * k + (2 * n * k * k if covariance else 0)


print("a million rows:   reads   gradient   with covariance")
for k in (5, 20, 100):
    plain, full = operations(10**6, k, False) / 1e6, operations(10**6, k, True) / 1e6
    counts = f"{8 * k:5d} MB {plain:5.0f} Mflop {full:8.0f} Mflop"
    print(f"k = {k:3d}        {counts}, {full / plain:4.1f} times as many")
    assert np.isclose(full / plain, 1 + k / 2)

# %%
# Solve a few rows first
# ----------------------
#
# Newton from zero needs a pass with covariance over all rows for each step.

n, k, s = 100_000, 5, 4000
F, a, b, truth = planted(n, k, seed=10)
work = {}

points, decrements, passes = newton(F, a, b, np.zeros(k), aim=1e-12)
work["all rows from zero"] = passes * operations(n, k, True)
print(f"{passes} passes over {n:,} rows")

# %%
# The optimum of a random subset of :math:`s` rows differs from that of all rows only by sampling error. Its squared
# decrement in the full problem is of the order of :math:`k` divided by the *effective* number of rows in the subset,
# :math:`1/\sum_j\mu_j^2`. That is small enough for Newton's quadratic phase, so only a few full passes remain.

subset = np.random.default_rng(0).choice(n, s, replace=False)
F_sub, a_sub = F[subset], a[subset] + np.log(n / s)
start_points, _, sub_passes = newton(F_sub, a_sub, b, np.zeros(k), aim=1e-6)
start = start_points[-1]
points, decrements, passes = newton(F, a, b, start, aim=1e-12)
first = sub_passes * operations(s, k, True)
work["few rows first"] = first + passes * operations(n, k, True)

mu = np.exp(pre.RatioProblem(target=b, features_q=F_sub).log_mu(start))
effective = 1.0 / np.sum(mu**2)
print(f"{sub_passes} passes over {s:,} rows, then {passes} over all")
print(f"squared decrement after the few {decrements[0]:.1e}, k / effective {k / effective:.1e}")
assert 0.1 * k / effective < decrements[0] < 5 * k / effective

# %%
# We can go further and keep the curvature of the subset, so that full passes only compute gradients. Each pass then
# also improves the curvature: the change :math:`y` of the gradient along a step :math:`x` should be :math:`Hx`, and the
# BFGS formula corrects the kept :math:`H` accordingly. The :math:`k\times k` matrix is all that is kept from the
# subset. This is what the package's engine does on many rows.

delta, kept = start, one_pass(F_sub, a_sub, start)[2]
trail, m = [], one_pass(F, a, delta)[1]  # its covariance is not used
while True:
    x = np.linalg.solve(kept, b - m)
    trail.append((b - m) @ x)
    if trail[-1] <= 1e-12:
        break
    delta = delta + x
    before, m = m, one_pass(F, a, delta)[1]
    y, Hx = m - before, kept @ x
    kept = kept - np.outer(Hx, Hx) / (x @ Hx) + np.outer(y, y) / (x @ y)
work["kept curvature"] = first + len(trail) * operations(n, k, False)
print("squared decrements", " ".join(f"{value:.0e}" for value in trail))
for name, flops in work.items():
    print(f"{name:20s} {flops / 1e6:7.1f} Mflop")
assert np.allclose(delta, truth, atol=1e-5)
assert work["kept curvature"] < work["few rows first"] < work["all rows from zero"]
assert work["kept curvature"] < 0.5 * work["all rows from zero"]

fig, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
names = list(work)[::-1]
ax.barh(names, [work[name] / 1e6 for name in names], color=[GREEN, AMBER, BLUE])
ax.set(xlabel="million operations, counted", title=f"The same answer, {n:,} rows")
plt.show()

# %%
# When a cone solver is the better choice
# ---------------------------------------
#
# * **Terms of the weights.** Newton works with :math:`\delta` and gets the weights from [LINK], so a convex term of the
#   weights has to change [LINK] itself. In the dual program any such term is one line. Below it is a limit on the
#   largest weight. (This one Newton can do too, because it only clips [LINK], as :doc:`lesson 13 <13_divergences>`
#   shows: ``max_weight``. If the limit is too low, no weights reach the target, and both report infeasibility.)
# * **An independent check.** Agreement between two methods that share no code is worth more than one result.
# * **Teaching and experimenting**: the program can be printed, changed and solved again.

rows, base, _, _ = planted(60, 2, seed=3)
target = one_pass(rows, base, np.array([0.8, -0.5]))[1]
small = pre.RatioProblem(target=target, features_q=rows, log_base=base)
program = pre.dual_program(small)
program.cvxpy.solve(solver=cp.CLARABEL)
_, free = program.recover()
weights = program.cvxpy.variables()[0]
limited = cp.Problem(program.cvxpy.objective, [*program.cvxpy.constraints, weights <= 3.0 / 60])
limited.solve(solver=cp.CLARABEL)
assert limited.status == "optimal"
_, capped = program.recover()
print(f"largest weight: free {60 * free.max():.2f}/n, limited {60 * capped.max():.2f}/n")

fig, ax = plt.subplots(layout="constrained")
order = np.argsort(-free)
ax.plot(60 * free[order], "o", color=BLUE, markersize=4, label="free")
ax.plot(60 * capped[order], "s", color=ORANGE, markersize=4, label="at most 3/n each")
ax.axhline(3.0, color=PINK, linestyle="--", linewidth=1)
ax.set(xlabel="rows, by free weight", ylabel=r"$n\,\mu_j$", title="Weights with a limit, the moments the same")
ax.legend()
plt.show()

assert 60 * free.max() > 3.3
assert 60 * capped.max() < 3.0 + 1e-5
assert np.allclose(rows.T @ capped, target, atol=1e-6)
clipped = pre.RatioProblem(target=target, features_q=rows, log_base=base, max_weight=3.0 / 60)
assert np.allclose(pre.solve(clipped).mu, capped, atol=1e-5)

# %%
# Exercises
# ---------
#
# **Exercise 1.** By hand: one feature, rows 0 and 1 with equal base weights, :math:`b = 0.25`. Compute the first Newton
# step from :math:`\delta = 0`. How far is it from the solution :math:`-\log 3`?
#
# Solution 1
# ^^^^^^^^^^
#
# At zero the weights are one half each: :math:`m = 0.5` and :math:`H = 0.25`. The step is
# :math:`d = (0.25 - 0.5)/0.25 = -1`, the squared decrement :math:`0.25`. The answer is
# :math:`\delta = \log(0.25/0.75) = -1.0986`, so one step leaves an error of 0.0986, the second 0.0023, and the third
# about a millionth.

two = (np.array([[0.0], [1.0]]), np.log([0.5, 0.5]), np.array([0.25]))
points, decrements, _ = newton(*two, np.zeros(1))
print("points", np.round([p[0] for p in points[:4]], 6), " -log 3 =", -np.log(3.0).round(6))
assert np.isclose(points[1][0], -1.0)
assert np.isclose(decrements[0], 0.25)
assert 0.002 < points[2][0] + np.log(3.0) < 0.0025
assert 0.0 < points[3][0] + np.log(3.0) < 2e-6

# %%
# **Exercise 2.** Remove the line search from ``newton`` (always :math:`t = 1`) and start the two-row problem at
# :math:`\delta = 3`. What happens, and why?
#
# Solution 2
# ^^^^^^^^^^
#
# It diverges. At :math:`\delta = 3` nearly all the weight is on one row, the curvature is small and the parabola
# predicts too much: the step goes far past the solution to where *all* the weight is on the other row and the curvature
# is smaller still. The line search is essential.

delta, visited = 3.0, []
for _ in range(2):
    _, m, H = one_pass(two[0], two[1], np.array([delta]))
    delta = float(delta + (0.25 - m[0]) / H[0, 0])
    visited.append(delta)
print("without line search:", np.round(visited, 1))
safe, _, _ = newton(*two, np.array([3.0]))
print("with line search:   ", np.round([p[0] for p in safe], 4))
assert abs(visited[1]) > 1e4
assert np.isclose(safe[-1][0], -np.log(3.0))

# %%
# **Exercise 3.** A random subset is unbiased for every average. Is its solution always a good starting point, just less
# accurate? Take 3,000 standard normal rows in the plane and the target :math:`(2, 0)`, the mean of that distribution
# under the strong tilt :math:`\delta = (2, 0)`. Draw 20 subsets of 60 rows. For how many of them does the subset
# problem have a solution?
#
# Solution 3
# ^^^^^^^^^^
#
# For a good part of them there is none: the target is inside the hull of all rows but outside the hull of the subset
# (:doc:`lesson 05 <05_hull>`). Newton's method would diverge there, and its last point would be a bad start. An engine
# that solves a subset first has to notice this and continue with all rows. A sample may be unbiased for every average
# and still miss the edge.

rng = np.random.default_rng(11)
F = rng.normal(size=(3000, 2))
strong = np.array([2.0, 0.0])
assert pre.minimal_radius(pre.RatioProblem(target=strong, features_q=F)).position is pre.Position.INSIDE
lost = 0
for _ in range(20):
    drawn = F[rng.choice(3000, 60, replace=False)]
    hull = pre.minimal_radius(pre.RatioProblem(target=strong, features_q=drawn))
    lost += hull.position is pre.Position.OUTSIDE
print(f"target {strong}: outside the hull of 60 rows in {lost} of 20 subsets")
assert lost >= 4
