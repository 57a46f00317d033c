r"""
13 One problem, three divergences
=================================

The weights of :doc:`lesson 04 <04_dual>` are those closest to the base weights in the Kullback-Leibler divergence. What
if *close* means something else? Afterwards you will know

* how the choice of a divergence fixes the shape of the ratio: an exponential, a straight line or a hyperbola;
* that KLIEP and least-squares importance fitting (LSIF) are two members of one family;
* what bounds on the ratio do to the dual, to the conjugate and to the ratio;
* why one identity certifies all of them.

Symbols: :math:`\pi_j` are the base weights, :math:`t_j = \mu_j/\pi_j` is the ratio at row :math:`j`, :math:`\varphi`
the divergence, :math:`\varphi^*` its conjugate, and :math:`s_j = c + \langle\delta, F_j\rangle` with an intercept
:math:`c`.
"""

# %%
# Three measures of how far ratios are from one
# ---------------------------------------------
#
# The dual chooses weights with the right moments whose ratios :math:`t_j` are as close to 1 as possible:
#
# .. math::
#
#    \begin{gathered}
#    \text{minimise}\quad \sum_j\pi_j\,\varphi(\mu_j/\pi_j) \\
#    \text{subject to}\quad \sum_j\mu_j = 1,\quad F^\top\mu = b,\quad \mu\ge0 .
#    \end{gathered}
#
# Any convex :math:`\varphi` with its minimum 0 at :math:`t = 1` will do. The package has three:
#
# * ``"kl"``: :math:`\varphi(t) = t\log t - t + 1`;
# * ``"chi2"``: :math:`\varphi(t) = \frac12(t - 1)^2`;
# * ``"reverse-kl"``: :math:`\varphi(t) = -\log t + t - 1`.
#
# They are scaled alike: :math:`\varphi(1) = \varphi'(1) = 0` and :math:`\varphi''(1) = 1`. Near 1 all three are
# :math:`\frac12(t-1)^2`. They differ far from 1: reverse KL forbids a ratio of zero and is the most tolerant of large
# ratios; :math:`\chi^2` punishes large ratios most.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import xlogy

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

PHI = {
    "kl": lambda t: xlogy(t, t) - t + 1.0,
    "chi2": lambda t: 0.5 * (t - 1.0) ** 2,
    "reverse-kl": lambda t: -np.log(t) + t - 1.0,
}
COLOUR = {"kl": BLUE, "chi2": ORANGE, "reverse-kl": GREEN}

h = 1e-4
for phi in PHI.values():
    assert phi(1.0) == 0.0
    assert abs(phi(1.0 + h) - phi(1.0 - h)) / (2.0 * h) < 1e-6
    assert np.isclose((phi(1.0 + h) + phi(1.0 - h)) / h**2, 1.0, atol=1e-6)
print("at t = 5:   ", {name: round(float(phi(5.0)), 3) for name, phi in PHI.items()})
print("at t = 0.01:", {name: round(float(phi(0.01)), 3) for name, phi in PHI.items()})
assert PHI["reverse-kl"](5.0) < PHI["kl"](5.0) < PHI["chi2"](5.0)
assert PHI["chi2"](0.01) < PHI["kl"](0.01) < PHI["reverse-kl"](0.01)

# %%
# Why exp becomes a line
# ----------------------
#
# Put a multiplier :math:`c` on the sum and :math:`\delta` on the moments. What is left is one small problem for each
# row, with :math:`s = c + \langle\delta, F_j\rangle`:
#
# .. math::
#
#    \varphi^*(s) = \sup_{t\ge0}\ s\,t - \varphi(t) .
#
# Set the derivative to zero: :math:`\varphi'(t) = s`. So the ratio is the *inverse of the derivative*,
# :math:`t(s) = (\varphi')^{-1}(s)`, and this is [LINK]:
#
# * ``"kl"``: :math:`\varphi'(t) = \log t`, so :math:`t = e^s` and :math:`\varphi^* = e^s - 1`;
# * ``"chi2"``: :math:`\varphi'(t) = t - 1`, so :math:`t = 1 + s`, a line. Below :math:`s = -1` the best
#   :math:`t\ge0` is 0, and :math:`\varphi^* = \frac12(1 + s)_+^2 - \frac12`;
# * ``"reverse-kl"``: :math:`\varphi'(t) = 1 - 1/t`, so :math:`t = 1/(1 - s)` and :math:`\varphi^* = -\log(1 - s)`, for
#   :math:`s < 1` only.
#
# The exponential of this package is not an assumption about the data. It is the inverse of the logarithm in the
# derivative of KL. With another divergence the same program gives a line or a hyperbola. The code checks the formulas
# against the largest value of :math:`s\,t - \varphi(t)` on a fine grid of :math:`t`.

RATIO = {
    "kl": np.exp,
    "chi2": lambda s: np.maximum(1.0 + s, 0.0),
    "reverse-kl": lambda s: 1.0 / (1.0 - s),
}
CONJUGATE = {
    "kl": np.expm1,
    "chi2": lambda s: 0.5 * np.maximum(1.0 + s, 0.0) ** 2 - 0.5,
    "reverse-kl": lambda s: -np.log1p(-s),
}

t = np.linspace(1e-4, 12.0, 60_001)
s = np.linspace(-3.0, 0.9, 200)
for name, phi in PHI.items():
    values = np.array([x * t - phi(t) for x in s])
    assert np.allclose(values.max(axis=1), CONJUGATE[name](s), atol=2e-4)
    assert np.allclose(t[values.argmax(axis=1)], RATIO[name](s), atol=2e-4)

fig, axes = plt.subplots(1, 3, figsize=(9.6, 3.4), layout="constrained")
axes[0].axvline(1.0, color=GREY, linewidth=0.8)
axes[1].axvline(0.0, color=GREY, linewidth=0.8)
axes[2].axvline(0.0, color=GREY, linewidth=0.8)
t_drawn = np.linspace(1e-3, 4.0, 400)
for name, colour in COLOUR.items():
    axes[0].plot(t_drawn, PHI[name](t_drawn), color=colour, label=name)
    axes[1].plot(s, CONJUGATE[name](s), color=colour)
    axes[2].plot(s, RATIO[name](s), color=colour)
axes[0].set(xlabel="ratio t", title=r"divergence $\varphi(t)$", ylim=(-0.1, 4.0))
axes[1].set(xlabel="s", title=r"conjugate $\varphi^*(s)$", ylim=(-1.6, 2.4))
axes[2].set(xlabel="s", title=r"ratio $t(s)$, its slope", ylim=(-0.2, 4.5))
axes[0].legend()
plt.show()

# %%
# The right panel is the slope of the middle one: the ratio is the derivative of the conjugate. All three curves touch
# at :math:`s = 0`, where the ratio is :math:`1 + s` plus a term of order :math:`s^2`. For two samples that hardly
# differ, the choice hardly matters.

for name in PHI:
    slope = (CONJUGATE[name](s + 1e-6) - CONJUGATE[name](s - 1e-6)) / 2e-6
    assert np.allclose(slope, RATIO[name](s), atol=1e-4)
    small = np.linspace(-0.1, 0.1, 21)
    assert np.all(np.abs(RATIO[name](small) - (1.0 + small)) <= 1.2 * small**2)

# %%
# One problem, three answers
# --------------------------
#
# The primal is the same for all members, with an intercept :math:`c` beside :math:`\delta`:
#
# .. math::
#
#    P(c, \delta) = -c - \langle b, \delta\rangle + \sum_j\pi_j\,\varphi^*(c + \langle\delta, F_j\rangle) .
#
# For KL the best :math:`c` is :math:`-\log Z(\delta)`, and :math:`P` becomes the log-sum-exp of
# :doc:`lesson 03 <03_primal>`. We shift a normal sample and use one feature, :math:`f(x) = x`.

rng = np.random.default_rng(13)
x_q, x_p = rng.normal(0.0, 1.0, (400, 1)), rng.normal(0.6, 1.0, (300, 1))
problems = {name: pre.RatioProblem.from_samples(x_p, x_q, divergence=name) for name in PHI}
answers = {name: pre.solve(problem) for name, problem in problems.items()}
for name, answer in answers.items():
    r = answer.mu * 400
    print(
        f"{name:>10}: mean {answer.mu @ x_q[:, 0]:.6f}, ratios from {r.min():.3f} to {r.max():.3f}, "
        f"{np.sum(r == 0.0)} are zero, gap {answer.gap:.0e}"
    )
    assert answer.status is pre.Status.OPTIMAL
    assert np.isclose(answer.mu.sum(), 1.0)
    assert np.isclose(answer.mu @ x_q[:, 0], x_p.mean(), atol=1e-7)
    assert np.allclose(r, RATIO[name](answer.intercept + x_q @ answer.delta), atol=1e-8)

kl = answers["kl"]
log_z = np.log(np.mean(np.exp(x_q @ kl.delta)))
assert np.isclose(kl.intercept, -log_z)
assert np.isclose(kl.primal_value, log_z - x_p.mean() * kl.delta[0])

# %%
# All three match the mean of p. Each is the best in its own divergence, and only there. The rows of :math:`\chi^2`
# with weight zero make its reverse KL infinite.

with np.errstate(divide="ignore"):  # reverse KL of a ratio of zero is infinite
    table = {by: {of: np.mean(PHI[by](answers[of].mu * 400)) for of in PHI} for by in PHI}
print("measured by   " + "".join(f"{of:>12}" for of in PHI))
for by, row in table.items():
    print(f"{by:>12}  " + "".join(f"{value:12.4f}" for value in row.values()))
    assert min(row, key=row.get) == by
assert table["reverse-kl"]["chi2"] == np.inf

fig, ax = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
grid = np.linspace(-3.0, 3.0, 300)
for name, answer in answers.items():
    s_grid = answer.intercept + grid * answer.delta[0]
    shown = s_grid < (1.0 if name == "reverse-kl" else np.inf)  # up to the pole of 1/(1 - s)
    ax.plot(grid[shown], RATIO[name](s_grid[shown]), color=COLOUR[name], label=name)
ax.plot(grid, np.exp(0.6 * grid - 0.18), "--", color=GREY, label="true ratio")
ax.plot(x_q[:, 0], np.full(400, -0.15), "|", color=GREY, markersize=5)
ax.set(xlabel="x", ylabel="ratio p(x)/q(x)", title="The same mean, three ratios", ylim=(-0.3, 7.0))
ax.legend()
plt.show()

# %%
# The true ratio of these two normal densities is an exponential, so here KL estimates the right thing and the other two
# only a line and a hyperbola with the same mean. The line is zero for small :math:`x`: these rows get no weight. The
# hyperbola never reaches zero. It has a pole just beyond the largest q row, which gets a very large weight.

truth = np.exp(0.6 * x_q[:, 0] - 0.18)
error = {name: np.sqrt(np.mean((answer.mu * 400 - truth) ** 2)) for name, answer in answers.items()}
print("error at the q rows:", {name: round(float(value), 3) for name, value in error.items()})
assert min(error, key=error.get) == "kl"
assert np.sum(answers["chi2"].mu == 0.0) > 0
assert answers["reverse-kl"].mu.min() > 0.0
largest, second = np.sort(answers["reverse-kl"].mu)[:-3:-1]
assert answers["reverse-kl"].mu.argmax() == x_q.argmax()
assert largest > 2.0 * second
assert answers["reverse-kl"].mu.max() > kl.mu.max() > answers["chi2"].mu.max()

# %%
# KLIEP and LSIF
# --------------
#
# Two well-known methods were derived differently. KLIEP maximises the mean of :math:`\log r` over the p sample,
# subject to a mean of :math:`r` over the q sample of one. With :math:`r = e^{c + \langle\delta, f\rangle}` that is
# :math:`-P` for KL. LSIF fits :math:`r` to the true ratio by least squares, which up to a constant means to minimise
#
# .. math::
#
#    J(r) = \tfrac12\,\mathrm{E}_q[r^2] - \mathrm{E}_p[r] .
#
# Insert :math:`r = 1 + s`, the line of :math:`\chi^2`. As :math:`\varphi^*(s) = s + \frac12s^2 = \frac12r^2 - \frac12`
# and :math:`c + \langle b, \delta\rangle = \mathrm{E}_p[s] = \mathrm{E}_p[r] - 1`,
#
# .. math::
#
#    P(c, \delta) = \tfrac12\,\mathrm{E}_q[r^2] - \mathrm{E}_p[r] + \tfrac12 = J(r) + \tfrac12 .
#
# So ``pre.KLIEP`` and ``pre.LSIF`` are the same estimator with another :math:`\varphi`. Without clipping, :math:`J` is
# quadratic and one linear system solves it. We check both on samples that are closer, so that no row is clipped.

near_p = rng.normal(0.2, 1.0, (300, 1))
kliep, lsif = pre.KLIEP().fit(near_p, x_q), pre.LSIF().fit(near_p, x_q)

log_r = np.log(kliep.ratio(near_p)).mean()
print(f"KLIEP: mean of log r on p {log_r:.8f}, -P {-kliep.solution_.primal_value:.8f}")
assert np.isclose(log_r, -kliep.solution_.primal_value)
assert np.isclose(kliep.ratio(x_q).mean(), 1.0)

J = 0.5 * np.mean(lsif.ratio(x_q) ** 2) - lsif.ratio(near_p).mean()
print(f"LSIF: J + 1/2 {J + 0.5:.8f}, P {lsif.solution_.primal_value:.8f}")
assert np.isclose(J + 0.5, lsif.solution_.primal_value)

ones_q, ones_p = np.column_stack([np.ones(400), x_q]), np.column_stack([np.ones(300), near_p])
theta = np.linalg.solve(ones_q.T @ ones_q / 400, ones_p.mean(axis=0))  # r = theta_0 + theta_1 x
print("LSIF by one linear system:", theta.round(6))
assert (ones_q @ theta).min() > 0.0
assert np.allclose(theta, [1.0 + lsif.solution_.intercept, lsif.delta_[0]], atol=1e-6)

# %%
# What bounds do to the dual
# --------------------------
#
# ``bounds=(lo, hi)`` adds :math:`lo \le t_j \le hi` to the dual: a smaller set of weights, so the divergence can only
# grow. In the primal the only change is the range of the supremum:
#
# .. math::
#
#    \varphi^*(s) = \sup_{lo\le t\le hi}\ s\,t - \varphi(t),\qquad
#    t(s) = \mathrm{clip}\bigl((\varphi')^{-1}(s),\ lo,\ hi\bigr) .
#
# Where :math:`(\varphi')^{-1}(s)` is above :math:`hi`, the best :math:`t` is :math:`hi`, and the conjugate continues as
# a *straight line* of slope :math:`hi`, on the other side with slope :math:`lo`. The :math:`\chi^2` line that
# stops at zero is this rule with :math:`lo = 0`. We draw it for KL with bounds 0.4 and 2.

lo, hi = 0.4, 2.0
inside = np.linspace(lo, hi, 20_001)
s = np.linspace(-2.5, 1.5, 200)
bounded = np.array([np.max(x * inside - PHI["kl"](inside)) for x in s])
s_lo, s_hi = np.log(lo), np.log(hi)
assert np.allclose(bounded[s > s_hi], s[s > s_hi] * hi - PHI["kl"](hi), atol=1e-8)
assert np.allclose(bounded[s < s_lo], s[s < s_lo] * lo - PHI["kl"](lo), atol=1e-8)
between = (s > s_lo) & (s < s_hi)
assert np.allclose(bounded[between], np.expm1(s[between]), atol=1e-8)

fig, (left, right) = plt.subplots(1, 2, figsize=(8.2, 3.5), layout="constrained")
left.plot(s, np.expm1(s), "--", color=GREY, label="without bounds")
left.plot(s, bounded, color=BLUE, label="bounds 0.4 and 2")
left.set(xlabel="s", title=r"conjugate $\varphi^*(s)$ of KL")
left.legend()
right.plot(s, np.exp(s), "--", color=GREY)
right.plot(s, np.clip(np.exp(s), lo, hi), color=BLUE)
right.set(xlabel="s", title=r"ratio $t(s)$")
for ax in (left, right):
    ax.axvspan(s_lo, s_hi, color=BLUE, alpha=0.08)
plt.show()

# %%
# On a straight piece the curvature is zero. A row on a bound is held there and takes no part in a Newton step; the
# other rows have to make up for it, and here :math:`\delta` grows. The bounds hold exactly, and the smaller ``hi`` is,
# the larger the divergence.

results = {}
for top in (np.inf, 4.0, 3.0, 2.0, 1.7):
    answer = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, bounds=(0.0, top)))
    r = answer.mu * 400
    held = int(np.sum(r >= top * (1.0 - 1e-12)))
    results[top] = (-answer.dual_value, answer.delta[0], held)
    print(f"hi {top:4.1f}: divergence {-answer.dual_value:.6f}, delta {answer.delta[0]:.3f}, rows at hi {held:3d}")
    assert answer.status is pre.Status.OPTIMAL
    assert r.max() <= top * (1.0 + 1e-14)
divergences, deltas, counts = np.array(list(results.values())).T
assert np.all(np.diff(divergences) >= -1e-12)
assert np.all(np.diff(deltas) > 0.0)
assert np.all(np.diff(counts) > 0)

# %%
# One identity certifies all of them
# ----------------------------------
#
# Take any :math:`(c, \delta)` and any weights :math:`\mu'` that the dual allows. Subtract the dual value from the
# primal one, and use :math:`\sum_j\mu'_j = 1` and :math:`F^\top\mu' = b`:
#
# .. math::
#
#    \begin{aligned}
#    P(c,\delta) - D(\mu') = \sum_j\bigl[ & \pi_j\varphi^*(s_j) + \pi_j\varphi(\mu'_j/\pi_j) \\
#    & - s_j\mu'_j\bigr] .
#    \end{aligned}
#
# This is [FY]. No bracket is negative, because :math:`\varphi^*` is a supremum. For KL the sum is
# :math:`\mathrm{KL}(\mu'\,\|\,\mu)`, up to the sum of :math:`\mu`, as in :doc:`lesson 07 <07_certificates>`. Feasible
# weights are easy to find here: the answer of *another* divergence has the right moments.

for name, phi in PHI.items():
    mu = 0.5 * (answers["kl"].mu + answers["reverse-kl"].mu)
    for _ in range(100):
        delta, c = rng.uniform(-0.1, 0.2), rng.uniform(-0.3, 0.2)
        s_rows = c + delta * x_q[:, 0]
        primal = -c - delta * x_p.mean() + np.mean(CONJUGATE[name](s_rows))
        dual = -np.mean(phi(mu * 400))
        gaps = (CONJUGATE[name](s_rows) + phi(mu * 400)) / 400 - s_rows * mu
        assert gaps.min() >= -1e-15
        assert np.isclose(primal - dual, gaps.sum(), atol=1e-7)
        assert dual <= answers[name].primal_value + 1e-7 <= primal + 2e-7

# %%
# Which one to choose? KL if the ratio spans orders of magnitude or likelihoods differ by a large factor: an exponential
# is always positive. :math:`\chi^2` if weights should vary little: with equal base weights it has the largest effective
# sample size of all weights with the same moments. Bounds if a single row must not dominate, whatever the divergence.

ess = {name: 1.0 / np.sum(answer.mu**2) for name, answer in answers.items()}
print("effective sample size:", {name: round(float(value), 1) for name, value in ess.items()})
assert max(ess, key=ess.get) == "chi2"

# %%
# Exercises
# ---------
#
# **Exercise 1.** By hand: one feature, two rows 0 and 1 with equal base weights, :math:`b = 0.25`. What are the weights
# for each divergence, and what are :math:`c` and :math:`\delta`?
#
# Solution 1
# ^^^^^^^^^^
#
# Two rows leave only one choice of weights: :math:`\mu = (0.75, 0.25)`, the ratios are 1.5 and 0.5, whatever the
# divergence. Only the coordinates differ. :math:`\varphi'(1.5) = c` and :math:`\varphi'(0.5) = c + \delta`:
#
# * KL: :math:`c = \log 1.5` and :math:`\delta = \log 0.5 - \log 1.5 = -\log 3`;
# * :math:`\chi^2`: :math:`c = 0.5` and :math:`\delta = -0.5 - 0.5 = -1`;
# * reverse KL: :math:`c = 1 - 1/1.5 = 1/3` and :math:`\delta = (1 - 1/0.5) - 1/3 = -4/3`.

by_hand = {"kl": (np.log(1.5), -np.log(3.0)), "chi2": (0.5, -1.0), "reverse-kl": (1.0 / 3.0, -4.0 / 3.0)}
for name, (c, delta) in by_hand.items():
    two = pre.solve(pre.RatioProblem(target=[0.25], features_q=[[0.0], [1.0]], divergence=name))
    print(f"{name:>10}: c {two.intercept:+.6f}, delta {two.delta[0]:+.6f}")
    assert np.allclose(two.mu, [0.75, 0.25], atol=1e-6)
    assert np.isclose(two.intercept, c, atol=1e-5)
    assert np.isclose(two.delta[0], delta, atol=1e-5)

# %%
# **Exercise 2.** The squared Hellinger distance is :math:`\varphi(t) = 2(\sqrt t - 1)^2`. Derive its ratio and its
# conjugate. Between which two members of the family does it lie?
#
# Solution 2
# ^^^^^^^^^^
#
# :math:`\varphi'(t) = 2 - 2/\sqrt t = s` gives :math:`t = (1 - s/2)^{-2}` for :math:`s < 2`, and
# :math:`\varphi^*(s) = s\,t - \varphi(t) = s/(1 - s/2)`. Between KL and reverse KL:
# :math:`e^s \le (1 - s/2)^{-2} \le 1/(1 - s)`; the first holds because :math:`1 - s/2 \le e^{-s/2}`, the second because
# :math:`(1 - s/2)^2 \ge 1 - s`.


def hellinger(t):
    return 2.0 * (np.sqrt(t) - 1.0) ** 2


s = np.linspace(-3.0, 0.9, 200)
values = np.array([x * t - hellinger(t) for x in s])
assert np.allclose(values.max(axis=1), s / (1.0 - s / 2.0), atol=2e-4)
assert np.allclose(t[values.argmax(axis=1)], (1.0 - s / 2.0) ** -2, atol=2e-4)
assert np.all(np.exp(s) <= (1.0 - s / 2.0) ** -2 + 1e-12)
assert np.all((1.0 - s / 2.0) ** -2 <= 1.0 / (1.0 - s) + 1e-12)
print("Hellinger lies between KL and reverse KL")

# %%
# **Exercise 3.** How small may ``hi`` be in the problem above, with ``lo`` 0? Find the largest mean that weights with
# ratios up to ``hi`` can have, and from it the smallest ``hi``. Does it depend on the divergence?
#
# Solution 3
# ^^^^^^^^^^
#
# The largest mean gives the weight :math:`hi/n` to the rows with the largest :math:`x`, until the sum is one. It falls
# as ``hi`` falls, so bisection finds where it equals :math:`b`. Feasibility does not depend on the divergence: it is
# about the weights that are allowed, not about which of them is best.

order = np.sort(x_q[:, 0])[::-1]


def largest_mean(top):
    filled = np.minimum(top / 400 * np.arange(1, 401), 1.0)
    return np.diff(filled, prepend=0.0) @ order


low, high = 1.0, 10.0
for _ in range(60):
    middle = 0.5 * (low + high)
    low, high = (middle, high) if largest_mean(middle) < x_p.mean() else (low, middle)
print(f"smallest hi: {high:.6f}")
for name in PHI:
    for factor, expected in ((1.01, True), (0.99, False)):
        tight = pre.RatioProblem.from_samples(x_p, x_q, divergence=name, bounds=(0.0, factor * high))
        answer = pre.solve(tight, check=False)
        print(f"{name:>10}, hi {factor * high:.4f}: {answer.status.name}")
        assert answer.status is (pre.Status.OPTIMAL if expected else pre.Status.INFEASIBLE)
