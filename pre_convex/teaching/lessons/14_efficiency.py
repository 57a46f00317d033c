r"""
14 What efficiency costs
========================

Posterior ratio estimation (PRE) weights every row by its likelihood, so rows far from the observations hardly count.
Another estimator uses all rows: logistic regression between the priors. Afterwards you will know

* why the ratio of two posteriors is a logistic regression, and what its intercept means;
* how much smaller its errors are, and when the difference is a factor of ten;
* what it gives up: if the model is wrong, it fits where the priors are, not where the posteriors are;
* how the difference of the two estimates tests the model.

Symbols: :math:`l_p` and :math:`l_q` are the likelihoods, :math:`n_p` and :math:`n_q` the numbers of rows, and
:math:`\sigma(\eta) = 1/(1 + e^{-\eta})`.
"""

# %%
# Which sample is this row from?
# ------------------------------
#
# The model is about posteriors, the samples are from priors. By Bayes' rule :math:`p(x|y_p) = p(x)\,l_p(x)/Z_p`, so
# :math:`\log r(x) = \langle\delta, f(x)\rangle - \log Z` gives for the priors
#
# .. math::
#
#    \begin{gathered}
#    \log\frac{p(x)}{q(x)} = \alpha + \langle\delta, f(x)\rangle + \log l_q(x) - \log l_p(x), \\
#    \alpha = \log Z_p - \log Z_q - \log Z .
#    \end{gathered}
#
# Pool all rows and forget which sample each is from. A row at :math:`x` is a p row with probability
# :math:`\sigma(\eta)`, where :math:`\eta = \log\bigl(n_p\,p(x)/n_q\,q(x)\bigr)`. This is a logistic regression with
# slopes :math:`\delta`. The log-likelihoods are *offsets*: known parts of :math:`\eta`, without a coefficient.
# Everything that is unknown about the posteriors, their normalisers, is in the intercept :math:`\alpha`. This is
# [LOGIT].
#
# Here both priors are :math:`N(0, 1)`, and the observations are 1 and 0 with noise of variance 1/4. The posteriors are
# :math:`N(0.8, 0.2)` and :math:`N(0, 0.2)`, so :math:`\log r(x) = 4x - 1.6`.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

rng = np.random.default_rng(14)
l_p, l_q = pre.Gaussian([1.0], precision=4.0), pre.Gaussian([0.0], precision=4.0)
x_p, x_q = rng.normal(size=(600, 1)), rng.normal(size=(800, 1))

local = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
efficient = pre.LogisticRatio().fit(x_p, x_q, l_p, l_q)
for fit in (local, efficient):
    error = fit.conf_int().std_error[0]
    print(f"{type(fit).__name__:>14}: delta {fit.delta_[0]:.3f}, standard error {error:.3f}")
    assert abs(fit.delta_[0] - 4.0) < 3.0 * error
assert efficient.conf_int().std_error[0] < 0.5 * local.conf_int().std_error[0]

# %%
# The two likelihoods are needed at the rows of *both* samples, which is why they are functions here. Any optimiser
# finds the same; the package's answer comes with a certified gap.

rows = np.concatenate([x_p, x_q])
label = np.repeat([1.0, 0.0], [600, 800])
offset = l_q(rows) - l_p(rows) + np.log(600 / 800)
design = np.column_stack([np.ones(1400), rows])


def loss_and_gradient(theta):
    eta = design @ theta + offset
    return np.logaddexp(0.0, eta).sum() - label @ eta, design.T @ (expit(eta) - label)


by_hand = minimize(loss_and_gradient, np.zeros(2), jac=True, options={"gtol": 1e-6}).x
print("alpha and delta by hand:", by_hand.round(5))
print("of the package:         ", np.array([efficient.intercept_, efficient.delta_[0]]).round(5))
assert np.allclose(by_hand, [efficient.intercept_, efficient.delta_[0]], atol=1e-4)
print(efficient.solution_.status)
assert efficient.solution_.status is pre.Status.OPTIMAL

# %%
# Two duals
# ---------
#
# PRE looks for weights on the *q rows*: those of largest entropy under which q has the moments of p
# (:doc:`lesson 04 <04_dual>`). The dual of logistic regression looks for a probability :math:`u_i` on *all rows*, with
# the largest sum of binary entropies :math:`H(u) = -u\log u - (1-u)\log(1-u)`:
#
# .. math::
#
#    \begin{gathered}
#    \text{maximise}\quad \sum_iH(u_i) + (u_i - t_i)\,o_i \\
#    \text{subject to}\quad \sum_iu_i = n_p,\quad \sum_iu_if_i = \sum_{i\in p}f_i ,
#    \end{gathered}
#
# where :math:`t_i` is 1 on p rows and :math:`o_i` is the offset. So :math:`\hat p_i = u_i/n_p` are weights on all rows
# with the moments of the *prior* p, and :math:`\hat q_i = (1 - u_i)/n_q` those of the prior q. Their ratio is that of
# the model.

u = expit(efficient.intercept_ + rows @ efficient.delta_ + offset)
p_hat, q_hat = u / 600, (1.0 - u) / 800
assert np.isclose(p_hat.sum(), 1.0)
assert np.isclose(q_hat.sum(), 1.0)
assert np.isclose(p_hat @ rows[:, 0], x_p.mean())
assert np.isclose(q_hat @ rows[:, 0], x_q.mean())
posterior_q = q_hat * np.exp(l_q(rows))
posterior_q /= posterior_q.sum()
print("mean of r under the estimated posterior q:", round(float(posterior_q @ efficient.ratio(rows)), 9))
assert np.isclose(posterior_q @ efficient.ratio(rows), 1.0)

# %%
# This is how the ratio is normalised: mean one under the estimated posterior q, for which all 1,400 rows are used. The
# primal and the dual are both available in cvxpy.

print(pre.dual_program(efficient.problem_))
assert "entr(1.0 - u)" in str(pre.dual_program(efficient.problem_))

# %%
# What is gained
# --------------
#
# If the model is right, logistic regression is the maximum likelihood estimate of a semiparametric model, and no
# estimator has a smaller variance in large samples. We repeat the experiment 300 times, for likelihoods from weak to
# sharp. Their precision :math:`\tau` is the inverse variance of the noise, and :math:`\delta = \tau`.


def one_experiment(tau, rng):
    likelihoods = pre.Gaussian([1.0], precision=tau), pre.Gaussian([0.0], precision=tau)
    samples = rng.normal(size=(600, 1)), rng.normal(size=(800, 1))
    problem = pre.LogisticProblem.from_samples(*samples, *likelihoods)
    posterior = pre.RatioProblem.from_samples(*samples, *likelihoods)
    return pre.solve(posterior).delta[0], pre.solve(problem).delta[0]


taus = np.array([0.25, 1.0, 4.0, 16.0])
estimates = {tau: np.array([one_experiment(tau, rng) for _ in range(300)]) for tau in taus}
spread = np.array([np.sqrt(np.mean((found - tau) ** 2, axis=0)) for tau, found in estimates.items()])
for tau, (pre_error, logistic_error) in zip(taus, spread, strict=True):
    print(f"precision {tau:5}: error of PRE {pre_error:.3f}, logistic {logistic_error:.3f}")
gain = (spread[:, 0] / spread[:, 1]) ** 2
print("ratio of mean squared errors:", gain.round(1))
assert np.all(np.diff(gain) > 0.0)
assert gain[0] < 3.0
assert spread[:, 1].max() < 1.3 * spread[:, 1].min()
assert gain[-1] > 15.0

fig, (left, right) = plt.subplots(1, 2, figsize=(8.6, 3.6), layout="constrained")
left.hist(estimates[4.0], bins=30, color=[ORANGE, BLUE], label=["PRE", "logistic"])
left.axvline(4.0, color=GREY, linewidth=0.8)
left.set(xlabel=r"estimate of $\delta = 4$", title="300 experiments, precision 4")
left.legend()
right.loglog(taus, spread[:, 0], "o-", color=ORANGE)
right.loglog(taus, spread[:, 1], "o-", color=BLUE)
right.set(xlabel=r"precision $\tau$ of the likelihoods", title=r"error of $\delta$", ylim=(0.02, 0.6))
plt.show()

# %%
# With sharp likelihoods few rows have weight in PRE, and they all sit in a narrow range, where a slope is hard to see.
# Logistic regression estimates the slope of the *log ratio of the priors* over their whole range, and the likelihoods
# that turn it into the slope for the posteriors are known without error. The error of PRE grows with the precision,
# that of logistic regression stays the same.
#
# Without likelihoods there is less to gain: both estimators then use all rows. For :math:`N(m, 1)` against
# :math:`N(0, 1)` they are equal to first order at :math:`m = 0`, and the gain grows with the distance.

gains = []
for m in (0.0, 0.5, 1.0, 1.5):
    found = []
    for _ in range(200):
        samples = rng.normal(m, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
        kliep, logistic = pre.RatioProblem.from_samples(*samples), pre.LogisticProblem(*samples)
        found.append([pre.solve(kliep).delta[0] - m, pre.solve(logistic).delta[0] - m])
    squares = np.mean(np.square(found), axis=0)
    gains.append(squares[0] / squares[1])
print("ratio of mean squared errors without likelihoods:", np.round(gains, 2))
assert abs(gains[0] - 1.0) < 0.1
assert gains[-1] > 1.5

# %%
# What it costs
# -------------
#
# Now the model is wrong: the likelihoods have the precisions 4 and 1, the posteriors :math:`N(0.8, 0.2)` and
# :math:`N(0, 0.5)`, and :math:`\log r` is a parabola. Both estimators fit a straight line. PRE fits it where the
# posterior rows are. Logistic regression fits it where the prior rows are, most of which are far from both posteriors.

l_q_wide = pre.Gaussian([0.0], precision=1.0)
big_p, big_q = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 1))
local = pre.PosteriorRatio().fit(big_p, big_q, l_p, l_q_wide)
global_ = pre.LogisticRatio().fit(big_p, big_q, l_p, l_q_wide)


def true_log_ratio(x):
    return 0.5 * np.log(5.0 / 2.0) - 2.5 * (x - 0.8) ** 2 + x**2


def rms_error(fit, x):
    return float(np.sqrt(np.mean((fit.log_ratio(x[:, None]) - true_log_ratio(x)) ** 2)))


at_posterior = 0.8 + np.sqrt(0.2) * rng.normal(size=4000)
at_prior = rng.normal(size=4000)
for where, x in (("posterior p", at_posterior), ("prior", at_prior)):
    print(f"error of log r under the {where:>11}: PRE {rms_error(local, x):.2f}, logistic {rms_error(global_, x):.2f}")
assert rms_error(local, at_posterior) < 0.5 * rms_error(global_, at_posterior)
means = local.mu_ @ big_q[:, 0], global_.mu_ @ big_q[:, 0]
print(f"mean under the weights (truth 0.8): PRE {means[0]:.3f}, logistic {means[1]:.3f}")
assert abs(means[0] - 0.8) < 0.05
assert means[1] > 1.5

fig, ax = plt.subplots(figsize=(6.6, 3.8), layout="constrained")
x = np.linspace(-2.5, 3.0, 300)
ax.plot(x, true_log_ratio(x), color=GREY, label="true log ratio")
ax.plot(x, local.log_ratio(x[:, None]), color=ORANGE, label="PRE")
ax.plot(x, global_.log_ratio(x[:, None]), color=BLUE, label="logistic")
ax.fill_between(x, -8.0, -8.0 + 5.0 * np.exp(-2.5 * (x - 0.8) ** 2), color=GREEN, alpha=0.3, label="posterior p")
ax.fill_between(x, -8.0, -8.0 + 2.0 * np.exp(-0.5 * x**2), color=GREY, alpha=0.3, label="prior")
ax.set(xlabel="x", ylabel="log r", ylim=(-8.0, 6.0), title="A straight line through a parabola")
ax.legend()
plt.show()

# %%
# The weights of logistic regression miss the mean of p by more than its standard deviation, and nothing in its
# standard errors says so: they are small around the wrong line. PRE gets the mean right, because that is its
# constraint: whatever the model, the weights have the moments of the posterior p. This locality is what the efficient
# estimator gives up.
#
# How do you know?
# ----------------
#
# The two estimates differ by more than noise only if the model is wrong. Every row has an influence :math:`\varphi_i`
# on each estimate, the change when it is left out (:doc:`lesson 09 <09_uncertainty>`). The variance of the difference
# is the sum of :math:`(\varphi^P_i - \varphi^L_i)^2`, and the squared difference over it is :math:`\chi^2` if the model
# is right. This is the Hausman test [SPEC]. It costs one more fit, so the summary has it:

wrong = pre.LogisticRatio().fit(x_p, x_q, l_p, l_q_wide)
print(wrong.summary())
test = wrong.specification_test()
assert test.p_value < 1e-4
assert len(wrong.summary().warnings) == 1
right = pre.LogisticRatio("polynomial").fit(x_p, x_q, l_p, l_q_wide)
print("with squares:", right.specification_test())
assert right.specification_test().p_value > 0.01
assert abs(right.delta_[0] - 4.0) < 3.0 * right.conf_int().std_error[0]
assert abs(right.delta_[1] + 1.5) < 3.0 * right.conf_int().std_error[1]

# %%
# With the square in the model the test no longer rejects, and the efficient fit is again the better one. Does the test
# keep its level, and how small a misfit can it detect? We vary the second precision; at 4 the straight line is right.

rejected = {}
for tau_q in (4.0, 3.5, 3.0, 2.0):
    likelihoods = l_p, pre.Gaussian([0.0], precision=tau_q)
    p_values = []
    for _ in range(150):
        samples = rng.normal(size=(600, 1)), rng.normal(size=(800, 1))
        p_values.append(pre.specification_test(pre.LogisticProblem.from_samples(*samples, *likelihoods)).p_value)
    rejected[tau_q] = np.mean(np.array(p_values) < 0.05)
    print(f"precisions 4 and {tau_q}: rejected in {100 * rejected[tau_q]:.0f} % of the samples")
assert rejected[4.0] < 0.11
assert rejected[2.0] > 0.9

# %%
# Which one to use:
#
# * *logistic regression*, if you want :math:`\delta` or a test of it, trust the model, or have sharp likelihoods and
#   little data; check with the specification test;
# * *PRE*, if you want weights, moments or the ratio near the posteriors, or if the model is a convenience; also if
#   each likelihood is known only at its own sample, or if the data do not fit in memory.

# %%
# Exercises
# ---------
#
# **Exercise 1.** One binary feature, no likelihoods: 30 of 100 p rows and 10 of 50 q rows are 1. What is :math:`\delta`
# for both estimators? Why is there nothing to gain?
#
# Solution 1
# ^^^^^^^^^^
#
# PRE gives the q rows with :math:`x = 1` the weight 0.3 instead of 0.2, so :math:`e^\delta = (0.3/0.2)/(0.7/0.8)`. The
# logistic regression is saturated, two parameters for two values of :math:`x`: among the ones 30 of 40 are p rows,
# among the zeros 70 of 110, and :math:`\delta = \log(30/10) - \log(70/40)`. That is the same log odds ratio. With a
# saturated model every estimator that makes sense is the same function of the counts.

binary_p, binary_q = np.repeat([[1.0], [0.0]], [30, 70], axis=0), np.repeat([[1.0], [0.0]], [10, 40], axis=0)
by_hand = np.log((30 / 10) / (70 / 40))
for fit in (pre.KLIEP().fit(binary_p, binary_q), pre.LogisticRatio().fit(binary_p, binary_q)):
    print(f"{type(fit).__name__:>14}: {fit.delta_[0]:.6f}, by hand {by_hand:.6f}")
    assert np.isclose(fit.delta_[0], by_hand, atol=1e-6)

# %%
# **Exercise 2.** Likelihoods are often known up to a constant only. Add 700 to :math:`\log l_p`. What changes in
# :math:`\delta`, :math:`\alpha` and the ratio?
#
# Solution 2
# ^^^^^^^^^^
#
# All offsets fall by 700, and :math:`\alpha = \log Z_p - \dots` grows by 700: it contains the normaliser.
# :math:`\delta` and the ratio, which is normalised, do not change.

moved = pre.LogisticRatio().fit(x_p, x_q, lambda x: l_p(x) + 700.0, l_q)
print("alpha:", round(efficient.intercept_, 6), "->", round(moved.intercept_, 6))
assert np.isclose(moved.intercept_ - efficient.intercept_, 700.0)
assert np.allclose(moved.delta_, efficient.delta_, rtol=1e-8)
assert np.allclose(moved.log_ratio(x_p), efficient.log_ratio(x_p), atol=1e-7)

# %%
# **Exercise 3.** PRE has no solution if the target is outside the hull of the q rows (:doc:`lesson 05 <05_hull>`), and
# logistic regression has none if a hyperplane separates the samples. Show that samples that are separated leave PRE
# without a finite :math:`\delta` too. Find samples for which only logistic regression has a solution.
#
# Solution 3
# ^^^^^^^^^^
#
# If :math:`\langle v, f\rangle \ge c` on all p rows and :math:`\le c` on all q rows, every weighted mean of p rows has
# :math:`\langle v, b\rangle \ge c`, and every weighted mean of q rows is on the other side. So the target is not inside
# the hull, on its boundary at best. The converse fails: one p row far out moves the mean out of the hull, while the
# other rows still overlap.

far = np.array([[0.0], [1.0], [10.0]]), np.array([[0.0], [1.0], [2.0]])
try:
    pre.KLIEP().fit(*far)
    raise AssertionError
except pre.InfeasibleError:
    print("PRE: infeasible, the mean of p is", far[0].mean().round(2))
print("logistic regression:", pre.LogisticRatio().fit(*far).delta_.round(3))
assert pre.LogisticRatio().fit(*far).solution_.status.ok

apart = np.array([[3.0], [4.0]]), np.array([[0.0], [1.0], [2.0]])
try:
    pre.LogisticRatio().fit(*apart)
    raise AssertionError
except pre.SeparationError as error:
    print("separable: threshold", error.threshold, "in direction", error.direction)
    threshold = error.threshold
assert 2.0 <= threshold <= 3.0
