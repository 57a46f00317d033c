r"""
07 Certificates: why a gap proves an answer, and a solver that lies
===================================================================

How do you know that a solver's answer is right? Not because it says so. Afterwards you will know

* why any :math:`\delta` gives an upper bound and any feasible :math:`\mu` a lower bound on the optimum, in two lines;
* how one linear solve turns nearly feasible weights into exactly feasible ones;
* how to judge numbers from any source, and to tell *not proven* from *proven wrong* when a real solver says "optimal";
* what a gap of :math:`10^{-14}` does not tell you.

Symbols: :math:`\ell(\delta) = \log\sum_j e^{a_j + \langle\delta, F_j\rangle} - \langle b, \delta\rangle` is the primal
with radius 0, :math:`D(\mu) = \sum_j \mu_j(a_j - \log\mu_j)` the dual objective,
:math:`\mu(\delta)` the tilted weights of [LINK], :math:`m` and :math:`H` the mean and covariance of the rows under
them.
"""

# %%
# Weak duality is a proof
# -----------------------
#
# Take *any* :math:`\delta` and *any* feasible weights: non-negative, with sum one and moment :math:`F^\top\mu = b`. By
# [LINK], :math:`a_j = \log\mu_j(\delta) + \log Z(\delta) - \langle\delta, F_j\rangle`. Insert this into the dual:
#
# .. math::
#
#    \begin{aligned}
#    D(\mu) & = \sum_j\mu_j\log\frac{\mu_j(\delta)}{\mu_j} + \log Z(\delta) - \langle\delta, F^\top\mu\rangle \\
#    & = \ell(\delta) - \mathrm{KL}(\mu\,\|\,\mu(\delta)) .
#    \end{aligned}
#
# A Kullback-Leibler divergence is never negative, so
#
# .. math::
#
#    \begin{gathered}
#    D(\mu) \;\le\; \text{optimum} \;\le\; \ell(\delta), \\
#    \text{gap} = \ell(\delta) - D(\mu) = \mathrm{KL}(\mu\,\|\,\mu(\delta)) .
#    \end{gathered}
#
# Nothing was assumed about where the numbers come from. If the gap is :math:`10^{-6}`, no other :math:`\delta` has
# a value that is better by more than :math:`10^{-6}`. We check it on six rows and a thousand random pairs.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, rel_entr, xlog1py

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE, PINK

F = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 2.0], [2.0, 4.0], [0.0, 2.0], [2.0, 1.0]])
b = np.array([2.8, 1.9])
a = np.full(6, -np.log(6.0))
problem = pre.RatioProblem(target=b, features_q=F)


def primal(delta):
    return logsumexp(a + F @ delta) - b @ delta


def dual(mu):
    return -rel_entr(mu, np.exp(a)).sum()


def tilted(delta):
    z = a + F @ delta
    return np.exp(z - logsumexp(z))


rng = np.random.default_rng(7)
null = np.linalg.svd(np.vstack([F.T, np.ones(6)]))[2][3:]  # changes that keep sum and moment
start = pre.solve(problem).mu
uppers, lowers = [], []
while len(lowers) < 1000:
    mu = start + rng.normal(scale=0.1, size=3) @ null
    if mu.min() < 0.0:
        continue
    delta = rng.normal(scale=0.5, size=2)
    uppers.append(primal(delta))
    lowers.append(dual(mu))
    assert np.isclose(uppers[-1] - lowers[-1], rel_entr(mu, tilted(delta)).sum())
print(f"largest lower bound {max(lowers):.4f}, smallest upper bound {min(uppers):.4f}")
assert max(lowers) <= min(uppers)

# %%
# The weights we have are not feasible
# ------------------------------------
#
# A primal solver has :math:`\delta`, and with it :math:`\mu(\delta)`. The moment of these weights is :math:`m`, and at
# any :math:`\delta` other than the optimum :math:`m \ne b`. Then :math:`D(\mu(\delta))` is not a bound. At
# :math:`\delta = 0` it is 0, its largest possible value, far *above* the optimum.

best = pre.solve(problem)
near = 0.8 * best.delta
print(f"optimum           {best.primal_value:.6f}")
print(f"D(mu(delta))      {dual(tilted(near)):.6f}   at 0.8 times the optimal delta")
assert dual(tilted(near)) > best.primal_value

# %%
# The lift
# --------
#
# We need weights next to :math:`\mu(\delta)` that have the moment exactly. Change each weight by a relative amount that
# is linear in its row:
#
# .. math::
#
#    \begin{gathered}
#    \mu'_j = \mu_j\bigl(1 + \langle F_j - m,\ d\rangle\bigr), \\
#    H d = u, \qquad u = b - m .
#    \end{gathered}
#
# This is [LIFT]. Two sums show that it does what it should:
#
# .. math::
#
#    \begin{aligned}
#    \sum_j\mu'_j & = 1 + \langle m - m, d\rangle = 1, \\
#    \sum_j\mu'_j F_j & = m + \sum_j\mu_j F_j(F_j - m)^\top d \\
#    & = m + Hd = b .
#    \end{aligned}
#
# Both hold exactly, not just to first order. Only one thing has to be checked: that no weight becomes negative.


def lift(delta):
    """Tilted weights, relative changes that make them feasible, and the step d."""
    mu = tilted(delta)
    m = mu @ F
    H = (F - m).T @ (mu[:, None] * (F - m))
    d = np.linalg.solve(H, b - m)
    return mu, (F - m) @ d, d


mu, change, _ = lift(near)
lifted = mu * (1.0 + change)
print("mu   ", mu.round(4), " moment", (mu @ F).round(4))
print("mu'  ", lifted.round(4), " moment", (lifted @ F).round(4))
assert np.isclose(lifted.sum(), 1.0, atol=1e-14)
assert np.allclose(lifted @ F, b, atol=1e-13)
assert lifted.min() >= 0.0

upper, lower, cost = primal(near), dual(lifted), rel_entr(lifted, mu).sum()
print(f"{lower:.6f} <= optimum <= {upper:.6f},  gap {upper - lower:.6f},  KL(mu' | mu) {cost:.6f}")
assert np.isclose(upper - lower, cost, atol=1e-14)
assert lower <= best.primal_value <= upper

# %%
# For a small :math:`u` the gap is about :math:`\frac12 u^\top H^{-1}u`, one half of the squared Newton decrement of
# :doc:`lesson 08 <08_solvers>`. So the gap decreases with the *square* of the residual. Watch the two bounds close in
# as Newton's method runs; its step is the :math:`d` of the lift. The gap is computed in two ways: as the difference of
# the bounds, and with the changes :math:`c_j = \langle F_j - m, d\rangle` as
#
# .. math::
#
#    \mathrm{KL}(\mu'\,\|\,\mu) = \sum_j \mu_j\bigl[(1 + c_j)\log(1 + c_j) - c_j\bigr] ,
#
# where :math:`\sum_j\mu_j c_j = 0` was subtracted. Each term is non-negative.


def cost_of(mu, change):
    return mu @ (xlog1py(1.0 + change, change) - change)


delta, trace = np.zeros(2), []
for _ in range(6):
    mu, change, d = lift(delta)
    assert change.min() >= -1.0
    trace.append((primal(delta), dual(mu * (1.0 + change)), cost_of(mu, change)))
    delta = delta + d
upper, lower, gap = np.array(trace).T
for step, (u, low, kl) in enumerate(trace):
    print(f"step {step}: {low:+.7f} <= optimum <= {u:+.7f}  difference {u - low:+.0e}, KL {kl:.0e}")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.5), layout="constrained")
left.plot(upper, "o-", color=ORANGE, label=r"upper: $\ell(\delta)$")
left.plot(lower, "s-", color=BLUE, label=r"lower: $D(\mu')$")
left.fill_between(range(6), lower, upper, color=GREY, alpha=0.2, label="the optimum is here")
left.set(xlabel="Newton step", ylabel="value", title="Two bounds")
left.legend()
right.semilogy(gap, "D-", color=GREEN)
right.axhline(np.finfo(float).eps, color=GREY, linestyle="--", linewidth=1)
right.text(0.0, 5e-16, "precision of numbers near 1", color=GREY, fontsize=9, va="bottom")
right.set(xlabel="Newton step", ylabel="gap", title="Their distance", ylim=(1e-24, 1))
plt.show()

assert np.all(lower <= best.primal_value + 1e-12)
assert np.all(upper >= best.primal_value - 1e-12)
assert np.all(gap >= 0.0)
assert gap[2] < 1e-4
assert gap[4] < 1e-17  # as a difference of values it would be lost in round-off

# %%
# In the last steps the difference of two numbers near 0.18 is round-off and may even be negative. The sum of small
# terms still shows how small the gap is. A bound on the round-off in the logits themselves has to be added to it; the
# package does so, which is why its gaps end at about :math:`10^{-14}` and not at zero.

# %%
# ``pre.certify`` judges numbers from any source
# ----------------------------------------------
#
# The package does the same for any :math:`\delta`, with or without weights, for any radius and norm, and adds a bound
# on round-off. It needs no solver. Here it judges a general-purpose optimiser from SciPy, stopped early and run to the
# end.

settings = {
    "stopped after 2 steps": {"maxiter": 2},
    "default settings": {},
    "with gtol 1e-10": {"gtol": 1e-10},
}


def slope(delta):
    return tilted(delta) @ F - b


for name, options in settings.items():
    found = minimize(primal, np.zeros(2), jac=slope, method="BFGS", options=options)
    proof = pre.certify(problem, found.x)
    print(f"BFGS {name:22s} gap {proof.gap:.1e}   proves 1e-8: {proof.proves(1e-8)}")
    assert proof.proves(1e-8) == (name != "stopped after 2 steps")

# %%
# The package changes the lift in two ways, so that round-off cannot hide in it. It never computes the weights, only a
# few sums over the rows, whose round-off is easy to bound. And it does not subtract :math:`m`: with
# :math:`G_j = F_j - b`, weights :math:`\nu\ge0` have the moment :math:`b`, after division by their sum, if and only if
# :math:`\sum_j\nu_jG_j = 0`. So take
#
# .. math::
#
#    \nu_j = \mu_j(1 + c_j),\quad c_j = \langle G_j, d\rangle,\quad
#    d = -\Bigl(\sum_j\mu_jG_jG_j^\top\Bigr)^{-1}\sum_j\mu_jG_j .
#
# Logarithms are bounded, too: with :math:`q = \sum_j\mu_jc_j^2` and :math:`x = \max(0, -\min_j c_j)`,
#
# .. math::
#
#    \sum_j\nu_j = 1 - q,\qquad \mathrm{KL}\Bigl(\frac{\nu}{1-q}\,\Big\|\,\mu\Bigr) \le \frac{(1 + x)\,q}{2\,(1 - q)} ,
#
# because :math:`(1 + c)\log(1 + c) - c` is at most :math:`\frac12 c^2` for :math:`c \ge 0` and at most
# :math:`\frac12 (1 + |c|)\,c^2` for :math:`-1 \le c \le 0`. Near the optimum :math:`x` and :math:`q` are tiny and the
# bound is tight. The gap that is reported is this bound plus a bound on the round-off of all these sums.

mu, G = tilted(near), F - b
change = -G @ np.linalg.solve(G.T @ (mu[:, None] * G), mu @ G)
q, x = mu @ change**2, max(0.0, -change.min())
nu = mu * (1.0 + change)
cost, bound = rel_entr(nu / nu.sum(), mu).sum(), (1.0 + x) * q / (2.0 * (1.0 - q))
judged = pre.certify(problem, near)
print(f"KL {cost:.10f}, its bound {bound:.10f}, gap by pre.certify {judged.gap:.10f}")
assert nu.min() >= 0.0
assert np.allclose(nu @ G, 0.0, atol=1e-14)
assert np.isclose(nu.sum(), 1.0 - q, atol=1e-14)
assert cost <= bound
assert bound <= judged.gap <= bound + 1e-10

# %%
# With a radius the same algebra gives one more term. For weights with residual :math:`r = b - F^\top\mu`,
# :math:`\|r\|\le R`,
#
# .. math::
#
#    \text{gap} = \mathrm{KL}(\mu\,\|\,\mu(\delta)) + \bigl[R\|\delta\|_* - \langle r, \delta\rangle\bigr] ,
#
# and the bracket is never negative, by the definition of the dual norm (:doc:`lesson 06 <06_radius>`).

relaxed = problem.with_radius(0.5)
mu, delta = tilted(near), np.array([0.5, -0.2])
r = b - mu @ F
slack = 0.5 * np.linalg.norm(delta) - r @ delta
assert np.linalg.norm(r) <= 0.5
assert slack >= 0.0
assert np.isclose(relaxed.value(delta) - dual(mu), rel_entr(mu, tilted(delta)).sum() + slack)

# %%
# A solver that lies
# ------------------
#
# First a mock solver. It returns the right weights and a wrong :math:`\delta`, and it says "optimal".


def liar(problem):
    """Claim that twice the optimal delta is optimal."""
    right = pre.solve(problem)
    return "optimal", 2.0 * right.delta, right.mu


claim, delta, mu = liar(problem)
proof = pre.certify(problem, delta, mu)
print(f"claim: {claim}; gap {proof.gap:.3f}, E_qn {proof.e_qn:.3f}")
print(f"moment residual of the weights: {proof.moment_residual:.0e}")
print("proves 1e-4:", proof.proves(1e-4))
assert not proof.proves(1e-4)
assert proof.moment_residual < 1e-6
assert proof.e_qn > 0.1

# %%
# The weights are feasible, but the claim fails: the gap is large, and ``e_qn``, the distance between the moments of
# :math:`\mu(\delta)` and of the weights, shows that :math:`\delta` and :math:`\mu` do not match.
#
# Now real solvers. The rows fill a square, and the target lies inside it, :math:`10^{-5}` from the right edge. A finite
# optimum exists. All solvers run with a tolerance of :math:`10^{-4}` and without polishing (``polish=False``). One
# certified solution judges them all: its lower bound is valid for every solver, so a value above it by more than the
# tolerance is *proven* wrong.

corners = [[0, 0], [0, 1], [1, 0], [1, 1]]
rows = np.vstack([corners, np.random.default_rng(7).uniform(size=(200, 2))])
square = pre.RatioProblem(target=[1.0 - 1e-5, 0.4], features_q=rows)
proven = pre.solve(square)
tol = 1e-4
allowed = tol * (1.0 + abs(proven.primal_value))
print(f"proven value {proven.primal_value:.6f}, gap {proven.gap:.0e}; allowed excess {allowed:.1e}")
false_claims = 0
for solver in [s for s in ("CLARABEL", "ECOS", "SCS", "MOREAU") if s in pre.installed_solvers()]:
    for formulation in ("primal", "dual"):
        answer = pre.solve(square, formulation, solver, tol=tol, polish=False, check=False)
        says = f"{solver:8s} {formulation:6s} says {answer.claim:18s}"
        if answer.raw is None:
            print(f"{says} and returns no numbers")
            continue
        excess = answer.raw.primal_value - proven.dual_value
        wrong = excess > allowed
        false_claims += answer.claim == "optimal" and wrong
        print(f"{says} excess {excess:.1e}  proven {'wrong' if wrong else 'right'}")
        # the package does not repeat a false claim
        assert not (wrong and answer.status is pre.Status.OPTIMAL)
assert proven.status.ok
assert false_claims >= 2

# %%
# These solvers do not lie on purpose. They keep their own promise: constraints and gap of *their* scaled program hold
# to :math:`10^{-4}`. Near the edge of the hull the value is steep, and even a small violation of the constraints
# changes it a lot. "Optimal" then means optimal for some nearby problem. It gets worse when the target is
# :math:`10^{-5}` *outside*. Then there is no solution at all, but a nearby problem has one.

no_answer = pre.RatioProblem(target=[1.0 + 1e-5, 0.4], features_q=rows)
for formulation in ("primal", "dual"):
    answer = pre.solve(no_answer, formulation, "CLARABEL", tol=tol, polish=False, check=False)
    v = answer.hull.direction
    margin = v @ no_answer.target - (rows @ v).max()
    says = f"CLARABEL {formulation:6s} says {answer.claim}"
    print(f"{says}; status {answer.status.name}, separated by {margin:.1e}")
    assert answer.claim == "optimal"
    assert answer.status is pre.Status.INFEASIBLE
    assert margin > 0.0

# %%
# A ``Solution`` keeps three things apart: ``claim`` is what the solver said, ``raw`` is the certificate of what it
# returned, and ``certificate`` is that of the final solution. By default the package polishes: it starts its own Newton
# steps at the solver's :math:`\delta`, so that the final solution is certified even if the solver's was poor. A raw gap
# of inf means that no lift of the solver's weights was feasible, so nothing is proven about its own solution.

polished = pre.solve(square, "dual", "CLARABEL", tol=1e-4)
print(f"claim {polished.claim}, raw gap {polished.raw.gap:.1e}")
print(f"final gap {polished.gap:.1e}, {polished.status.name}")
assert polished.status.ok
assert polished.raw.gap > polished.gap

# %%
# What a gap does not tell you
# ----------------------------
#
# The gap compares with the best solution *of this program, with these samples*. Other samples would give another
# program. How far the estimate is from the truth is a question for standard errors (:doc:`lesson 09 <09_uncertainty>`).
# To compare the two, move :math:`\delta` away from the optimum and look at the gap and at the distance in standard
# errors.

x_p, x_q = rng.normal(0.7, 1.0, size=(500, 2)), rng.normal(0.0, 1.0, size=(500, 2))
fit = pre.KLIEP("linear").fit(x_p, x_q)
errors = np.sqrt(np.diag(fit.covariance()))
print(f"delta {fit.delta_.round(3)}, standard errors {errors.round(3)}, gap {fit.solution_.gap:.0e}")

moves = np.logspace(-6, 0.5, 14)
gaps = [pre.certify(fit.problem_, fit.delta_ + [t * errors[0], 0.0]).gap for t in moves]
one = pre.certify(fit.problem_, fit.delta_ + [errors[0], 0.0]).gap
print(f"one standard error away the gap is {one:.1e}, of the order of 1/n = {1 / 500:.1e}")

fig, ax = plt.subplots(layout="constrained")
ax.loglog(gaps, moves, "o-", color=BLUE, label="moved from the optimum")
ax.loglog(gaps, np.sqrt(np.array(gaps) / one), "--", color=GREY, label="square root of the gap")
ax.axhline(1.0, color=ORANGE, label="one standard error, n = 500")
ax.axvline(1e-8, color=PINK, linestyle=":", label="default tolerance 1e-8")
ax.set(xlabel="certified gap", ylabel="distance in standard errors", title="How far off may delta be?")
ax.legend()
plt.show()

assert np.all(fit.solution_.gap < 1e-12)
assert 0.2 / 500 < one < 5.0 / 500
assert 5e-4 < np.sqrt(1e-8 / one) < 5e-3

# %%
# The distance is proportional to the square root of the gap, because the value is flat at its optimum. One standard
# error corresponds to a gap of the order of :math:`1/n`. The default tolerance :math:`10^{-8}` is thus a few
# thousandths of a standard error: more accuracy does not make the estimate better. A gap of :math:`10^{-14}` means that
# the *computation* is beyond doubt. It says nothing about the data, the model, or the choice of features.

# %%
# Exercises
# ---------
#
# **Exercise 1.** By hand: one feature, two rows 0 and 1 with equal base weights, :math:`b = 0.25`. Lift the weights at
# :math:`\delta = 0`. What is the gap? Why is the lower bound already the optimum?
#
# Solution 1
# ^^^^^^^^^^
#
# :math:`\mu = (0.5, 0.5)`, :math:`m = 0.5`, :math:`H = 0.25`, :math:`u = -0.25`, so :math:`d = -1`. The factors are
# :math:`1 + (0 - 0.5)(-1) = 1.5` and :math:`1 + (1 - 0.5)(-1) = 0.5`: :math:`\mu' = (0.75, 0.25)`. With two rows these
# are the only feasible weights, so their value is the optimum. The gap is :math:`0.75\log 1.5 + 0.25\log 0.5 = 0.1308`:
# all of it is due to :math:`\delta`. ``pre.certify`` bounds it: :math:`G = (-0.25, 0.75)`,
# :math:`d = -0.25/0.3125 = -0.8` and :math:`c = (0.2, -0.6)`, so :math:`q = 0.2`, :math:`x = 0.6`, and the bound is
# :math:`1.6\cdot0.2/(2\cdot0.8) = 0.2`. Given the weights too, it finds the gap itself.

two = pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]])
by_hand = 0.75 * np.log(1.5) + 0.25 * np.log(0.5)
bounded, exact = pre.certify(two, [0.0]).gap, pre.certify(two, [0.0], [0.75, 0.25]).gap
print(f"by hand {by_hand:.6f}, certified {bounded:.6f}, and {exact:.6f} with the weights")
assert np.isclose(bounded, 0.2)
assert np.isclose(exact, by_hand)
assert np.isclose(pre.solve(two).primal_value, -by_hand)

# %%
# **Exercise 2.** A paper prints :math:`\hat\delta` of the six-row problem rounded to a few decimals. Change the code
# above to certify rounded versions. How many decimals are needed for a reader to verify the value to :math:`10^{-6}`?
# What does each further decimal gain?
#
# Solution 2
# ^^^^^^^^^^
#
# Each further decimal makes the error ten times and the gap about a hundred times smaller: the gap is quadratic in the
# error.

rounded = {d: pre.certify(problem, best.delta.round(d)).gap for d in range(1, 7)}
for decimals, g in rounded.items():
    print(f"{decimals} decimals: delta {best.delta.round(decimals)}, gap {g:.1e}")
needed = min(d for d, g in rounded.items() if g <= 1e-6)
print("decimals needed for 1e-6:", needed)
assert needed == 3
assert rounded[6] < 1e-11

# %%
# **Exercise 3.** Add a third feature that is the sum of the first two plus noise of size :math:`10^{-4}`. Find a
# :math:`\delta` at distance 100 from the optimal one that is certified to a gap below :math:`10^{-3}`. Is the
# certificate wrong?
#
# Solution 3
# ^^^^^^^^^^
#
# Move along :math:`(1, 1, -1)/\sqrt3`: the logits change only by :math:`100/\sqrt3` times the noise. The certificate is
# right. It is about the *value*, and through KL about the weights and the ratio at the rows: these are nearly the same.
# It does not say that :math:`\delta` is the only one with this value. If features are nearly collinear, very different
# coefficients describe the same ratio, and standard errors, not gaps, show it.

noise = 1e-4 * np.random.default_rng(1).normal(size=500)
wide_q = np.column_stack([x_q, x_q.sum(axis=1) + noise])
wide_b = np.append(x_p.mean(axis=0), x_p.mean(axis=0).sum())
collinear = pre.RatioProblem(target=wide_b, features_q=wide_q)
solution = pre.solve(collinear)
moved = solution.delta + 100.0 * np.array([1.0, 1.0, -1.0]) / np.sqrt(3.0)
proof = pre.certify(collinear, moved)
change = np.abs(np.exp(collinear.log_mu(moved)) / solution.mu - 1.0).max()
print(f"moved by 100, gap {proof.gap:.1e}, weights change by at most {change:.1%}")
assert proof.gap < 1e-3
assert change < 0.05
