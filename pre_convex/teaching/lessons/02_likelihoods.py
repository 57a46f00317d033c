r"""
02 Likelihoods: from KLIEP to posterior ratios
==============================================

Often the quantity of interest is not observed. One observes :math:`y`, a noisy reading of a latent :math:`x`, and knows
how likely each reading is: the likelihood :math:`l(x) = p(y\,|\,x)`. What is known about :math:`x` before the reading
is a prior, and often there is no formula for it, only samples from a simulator. We want the ratio of two posteriors,

.. math::

   r(x) = \frac{p(x\,|\,y_p)}{q(x\,|\,y_q)} .

We have no sample from either posterior. This lesson shows that weights are enough.

After this lesson you will know

* how samples from priors and values of likelihoods replace samples from posteriors,
* why the package works with logarithms of weights,
* what the effective sample size tells you, and what logarithms cannot fix,
* how a joint fit differs from plugging a prior ratio into Bayes' rule.

Symbols, in addition to those of lesson :doc:`01_two_samples`: likelihoods :math:`l_p` and :math:`l_q`; weights
:math:`w_i` on the p sample; base weights :math:`e^{a_j}` on the q sample, where
:math:`a_j = \log l_q(x_{q,j}) - \log\sum_i l_q(x_{q,i})`.
"""

# %%
# Bayes' rule turns means into weighted means
# -------------------------------------------
#
# Lesson 01 needed two means: one of the features under :math:`p`, and one of :math:`e^{\langle\delta,f\rangle}` under
# :math:`q`. Now both are means under posteriors. By Bayes' rule :math:`p(x\,|\,y) = l_p(x)\,p(x)/p(y)`, and
# :math:`p(y)` is the mean of :math:`l_p` under the prior. So for any function :math:`g`
#
# .. math::
#
#    \mathrm E[g(x)\,|\,y_p] = \frac{\mathrm E_p[l_p(x)\,g(x)]}{\mathrm E_p[l_p(x)]}
#    \approx \sum_i w_i\,g(x_{p,i}),
#    \qquad w_i = \frac{l_p(x_{p,i})}{\sum_m l_p(x_{p,m})} .
#
# The weights sum to one because both means are taken over the same sample; such weights are called self-normalised. The
# q side works the same way, with base weights :math:`e^{a_j}`. Insert both into the loss of lesson 01:
#
# .. math::
#
#    b = \sum_i w_i f(x_{p,i}), \qquad
#    \ell(\delta) = -\langle b,\delta\rangle + \log\sum_j e^{a_j + \langle\delta,F_j\rangle} .
#
# The likelihood of p enters the target :math:`b`, the likelihood of q the base weights :math:`a`. If both likelihoods
# are constant, then :math:`w_i = 1/n_p` and :math:`a_j = -\log n_q`, and the loss is that of KLIEP.

# %%
# An example that can be done on paper
# ------------------------------------
#
# Priors: :math:`p` is normal with mean 1 and variance 1, :math:`q` is standard normal. Readings: :math:`y_p = 2` with
# precision (inverse variance) 3, and :math:`y_q = 1` with precision 1. For normal distributions precisions add, and
# means are averaged with the precisions as weights:
#
# * posterior of p: precision :math:`1+3 = 4`, mean :math:`(1\cdot1 + 3\cdot2)/4 = \tfrac74`;
# * posterior of q: precision :math:`1+1 = 2`, mean :math:`(1\cdot0 + 1\cdot1)/2 = \tfrac12`.
#
# Subtract the two log-densities:
#
# .. math::
#
#    \log r(x) = -2\left(x-\tfrac74\right)^2 + \left(x-\tfrac12\right)^2 + \text{const}
#    = 6x - x^2 + \text{const} ,
#
# so with :math:`f(x) = (x, x^2)` the true parameter is :math:`\delta^* = (6, -1)`. The divergence of the posteriors is
#
# .. math::
#
#    \tfrac12\left(\tfrac{1/4}{1/2} + \tfrac{(5/4)^2}{1/2} - 1 + \log 2\right) = \tfrac{21}{16} + \tfrac12\log 2
#    \approx 1.659 .

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.stats import norm

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

rng = np.random.default_rng(1)
x_p = rng.normal(1.0, 1.0, size=4000)
x_q = rng.normal(0.0, 1.0, size=4000)


def log_l_p(x):
    return -0.5 * 3.0 * (2.0 - x) ** 2


def log_l_q(x):
    return -0.5 * 1.0 * (1.0 - x) ** 2


# check by SciPy: a parabola through three points, and the divergence as an integral
post_p, post_q = norm(7 / 4, np.sqrt(1 / 4)), norm(1 / 2, np.sqrt(1 / 2))


def exact_log_ratio(x):
    return post_p.logpdf(x) - post_q.logpdf(x)


points = np.array([-1.0, 0.0, 2.0])
assert np.allclose(np.polyfit(points, exact_log_ratio(points), 2)[:2], [-1.0, 6.0])
exact_divergence = 21 / 16 + 0.5 * np.log(2.0)
assert np.isclose(post_p.expect(exact_log_ratio), exact_divergence)

# %%
# By hand: the weights, the target, and a minimiser from SciPy.

l_p, l_q = np.exp(log_l_p(x_p)), np.exp(log_l_q(x_q))
w, base = l_p / l_p.sum(), l_q / l_q.sum()


def features(x):
    return np.column_stack([x, x**2])


b, F, a = w @ features(x_p), features(x_q), np.log(base)


def loss(delta):
    return -b @ delta + np.log(np.sum(np.exp(a + F @ delta)))


found = minimize(loss, np.zeros(2), method="BFGS", options={"gtol": 1e-6})
print(f"mean of the p sample {x_p.mean():.3f}, weighted {w @ x_p:.3f}, exact 1.75")
print("delta by hand    ", found.x.round(3), " true [6, -1]")

# %%
# The package takes likelihoods as functions of the rows of a matrix, as arrays of logarithms, or as one of its classes;
# ``pre.Gaussian(y, precision)`` is the reading of this example.

rows_p, rows_q = x_p[:, None], x_q[:, None]
read_p = pre.Gaussian([2.0], precision=3.0)
read_q = pre.Gaussian([1.0], precision=1.0)
fit = pre.PosteriorRatio("polynomial").fit(rows_p, rows_q, read_p, read_q)
print("delta by package ", fit.delta_.round(3))
low, high = fit.divergence_interval()
print(f"divergence {fit.divergence_:.3f}, exact {exact_divergence:.3f}")
print(f"95 % interval [{low:.3f}, {high:.3f}]")
assert np.abs(found.x - fit.delta_).max() < 1e-3
assert fit.in_region([6.0, -1.0])  # the joint 95 % region around the estimate
assert low < exact_divergence < high

# %%
# The figure shows what the weights do. Left: prior samples become posterior samples. Right: the fitted log-ratio and
# :math:`6x - x^2 + \text{const}`.

grid = np.linspace(-3.0, 4.5, 300)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
bins = np.linspace(-3, 4.5, 46)
for name, sample, weights, by, posterior, colour in (
    ("p", x_p, w, "w", post_p, ORANGE),
    ("q", x_q, base, "exp a", post_q, BLUE),
):
    prior = {"density": True, "histtype": "step", "alpha": 0.5}
    left.hist(sample, bins, color=colour, label=f"{name} prior sample", **prior)
    shaded = {"weights": weights, "density": True, "alpha": 0.3}
    left.hist(sample, bins, color=colour, label=f"weighted by {by}", **shaded)
    left.plot(grid, posterior.pdf(grid), color=colour, label="posterior")
left.set(xlabel="x", ylabel="density", ylim=(0, 1.25), title="Weights make posteriors")
left.legend(fontsize=8.5, ncols=2, loc="upper center")
grid = grid[(grid > -1.0) & (grid < 3.8)]  # where at least one posterior has mass
band = fit.log_ratio_interval(grid[:, None])
shade = {"color": ORANGE, "alpha": 0.2, "linewidth": 0}
right.fill_between(grid, band.lower, band.upper, label="95 % interval", **shade)
right.plot(grid, fit.log_ratio(grid[:, None]), color=ORANGE, label="fitted")
right.plot(grid, exact_log_ratio(grid), color="black", linestyle=":", label="exact")
right.set(xlabel="x", ylabel="log-ratio", title="The ratio of the posteriors")
right.legend(fontsize=9)
plt.show()

# %%
# Constants do not matter
# -----------------------
#
# A likelihood is often known only up to a factor. The factor cancels in :math:`w` and in :math:`a`, so the fit is the
# same.

shifted = pre.PosteriorRatio("polynomial").fit(
    rows_p,
    rows_q,
    log_lik_p=log_l_p(x_p) + 1000.0,
    log_lik_q=log_l_q(x_q) - 1000.0,
)
print("difference below 1e-6:", np.abs(shifted.delta_ - fit.delta_).max() < 1e-6)
assert np.abs(shifted.delta_ - fit.delta_).max() < 1e-6

# and constant likelihoods give KLIEP
constant = np.zeros(4000)
flat = pre.PosteriorRatio("polynomial").fit(rows_p, rows_q, constant, constant)
kliep = pre.KLIEP("polynomial").fit(rows_p, rows_q)
assert np.abs(flat.delta_ - kliep.delta_).max() < 1e-6

# %%
# Note that the package was given logarithms: :math:`e^{1000}` is more than double precision can hold.
#
# What breaks in plain arithmetic
# -------------------------------
#
# Now take 3,000 readings of the same :math:`x`, each with precision 1. Log-likelihoods add up. The smallest positive
# number in double precision is about :math:`e^{-744}`, and even the best point of the sample has a log-likelihood below
# that.

readings = np.random.default_rng(5).normal(1.8, 1.0, size=3000)
log_l = -0.5 * np.sum((readings[None, :] - x_p[:, None]) ** 2, axis=1)
print(f"largest log-likelihood {log_l.max():.1f}, exponential {np.exp(log_l.max())}")
assert log_l.max() < -745.2
with np.errstate(invalid="ignore"):
    broken = np.exp(log_l) / np.exp(log_l).sum()  # 0 / 0
print("plain arithmetic:", broken[:3])
assert np.isnan(broken).all()

# %%
# One subtraction fixes this. Since constants do not matter, subtract the largest logarithm first. The largest term
# becomes :math:`e^0 = 1`, and terms that still underflow are less than :math:`e^{-744}` times it. The same trick makes
# log-sum-exp safe:
#
# .. math::
#
#    \log\sum_j e^{z_j} = m + \log\sum_j e^{z_j - m}, \qquad m = \max_j z_j .


def log_sum_exp(z):
    m = z.max()
    return m + np.log(np.sum(np.exp(z - m)))


log_w = log_l - log_sum_exp(log_l)
exact_mean = (1.0 + readings.sum()) / 3001.0
print(f"sum of the weights {np.exp(log_w).sum():.12f}")
print(f"posterior mean {np.exp(log_w) @ x_p:.4f}, exact {exact_mean:.4f}")
assert abs(np.exp(log_w).sum() - 1.0) < 1e-10
assert abs(np.exp(log_w) @ x_p - exact_mean) < 0.01

# %%
# How many samples are left?
# --------------------------
#
# Logarithms fix the arithmetic, but they do not create samples. If one weight is near 1, the weighted sample is worth
# one point. The usual measure is the effective sample size
#
# .. math::
#
#    \mathrm{ESS} = \frac{1}{\sum_i w_i^2},
#
# which is :math:`n` for equal weights and 1 if one point has all the weight. For a normal prior with mean 1 and
# variance 1, a reading at :math:`y` with precision :math:`\tau`, and many samples, two Gaussian integrals give
#
# .. math::
#
#    \frac{\mathrm{ESS}}{n} \approx \frac{(\mathrm E\,l)^2}{\mathrm E\,l^2}
#    = \frac{\sqrt{1+2\tau}}{1+\tau}\;
#    \exp\left(-(y-1)^2\left[\frac{\tau}{1+\tau}-\frac{\tau}{1+2\tau}\right]\right) .


def ess(log_weights):
    return np.exp(-log_sum_exp(2.0 * (log_weights - log_sum_exp(log_weights))))


def ess_formula(n, y, tau):
    exponent = -((y - 1) ** 2) * (tau / (1 + tau) - tau / (1 + 2 * tau))
    return n * np.sqrt(1 + 2 * tau) / (1 + tau) * np.exp(exponent)


print("of 4,000 samples       ESS  formula")
for name, logs, y, tau in (
    ("one reading, τ = 3", log_l_p(x_p), 2.0, 3.0),
    ("3,000 readings", log_w, readings.mean(), 3000.0),
):
    print(f"{name:20s} {ess(logs):5.0f} {ess_formula(4000, y, tau):8.0f}")
    assert abs(ess(logs) / ess_formula(4000, y, tau) - 1.0) < 0.25
assert abs(ess(log_l_p(x_p)) - fit.diagnostics().ess_p) < 1e-6 * 4000

taus = np.geomspace(0.01, 1e6, 60)
fig, ax = plt.subplots(layout="constrained")
for y, colour in ((2.0, ORANGE), (4.0, BLUE)):
    measured = np.array([ess(-0.5 * tau * (y - x_p) ** 2) for tau in taus])
    ax.loglog(taus, measured, ".", color=colour, label=f"y = {y:g}, 4,000 samples")
    formula = ess_formula(4000, y, taus)
    ax.loglog(taus, formula, color=colour, linewidth=1, label=f"y = {y:g}, formula")
    many = formula > 100.0
    assert np.abs(measured[many] / formula[many] - 1.0).max() < 0.3
    assert measured.min() > 1.0 - 1e-9
ax.axhline(1.0, color=GREY, linestyle=":")
ax.set(xlabel="precision τ of the reading", ylabel="effective sample size")
ax.set_title("Sharp likelihoods leave few samples")
ax.legend()
plt.show()

# %%
# The points follow the formula, which holds for many samples, until only a few are left. Then they depart from it,
# because an effective sample size is never below 1. The reading at 4 is worse: it is three standard deviations from
# the prior mean, where there are few prior samples. ``fit.diagnostics()`` and ``fit.summary()`` report the effective
# sample sizes of both sides and of the fitted weights, with a warning when they are small.

# %%
# Plug in, or fit jointly?
# ------------------------
#
# There is another way. By Bayes' rule the posterior ratio is the prior ratio times the likelihood ratio, up to a
# constant:
#
# .. math::
#
#    \log r(x) = \log\frac{p(x)}{q(x)} + \log l_p(x) - \log l_q(x) + \text{const} .
#
# So estimate the prior ratio by KLIEP and plug it in; ``pre.PluginRatio`` does that. If the model of the prior ratio is
# right, both approaches converge to the truth. If it is not, they differ: KLIEP fits the model where the *priors* have
# their mass, the joint fit where the *posteriors* have theirs.
#
# Let the prior of p have two humps, at -2 and at 2, and let the prior of q be normal with standard deviation 2. The log
# prior ratio is then not a polynomial. Both sides get a reading at 2 with precision 2, so only the hump at 2 matters,
# and the true log posterior ratio equals the log prior ratio, up to a constant.

sides = rng.choice([-2.0, 2.0], size=4000)
two_p = (sides + rng.normal(0.0, 0.7, size=4000))[:, None]
two_q = rng.normal(0.0, 2.0, size=(4000, 1))
reading = pre.Gaussian([2.0], precision=2.0)
joint = pre.PosteriorRatio("polynomial").fit(two_p, two_q, reading, reading)
plugin = pre.PluginRatio("polynomial").fit(two_p, two_q, reading, reading)

x = np.linspace(-0.5, 4.5, 200)
likelihood = np.exp(-((x - 2.0) ** 2))
mass = (0.5 * norm(-2.0, 0.7).pdf(x) + 0.5 * norm(2.0, 0.7).pdf(x)) * likelihood
mass_q = norm(0.0, 2.0).pdf(x) * likelihood
mass, mass_q = mass / mass.sum(), mass_q / mass_q.sum()  # posteriors
exact = np.log(mass) - np.log(mass_q)
errors = {}
for name, other in (("joint", joint), ("plugin", plugin)):
    errors[name] = np.sqrt(mass @ (other.log_ratio(x[:, None]) - exact) ** 2)
    print(f"{name:7s} root mean square error under the p posterior {errors[name]:.3f}")
assert errors["joint"] < 0.5 * errors["plugin"]

fig, ax = plt.subplots(layout="constrained")
hump = 8 * mass / mass.max() - 8
ax.fill_between(x, hump, -8, color=GREY, alpha=0.15, lw=0, label="posterior of p (scaled)")
ax.plot(x, joint.log_ratio(x[:, None]), color=ORANGE, label="joint fit")
ax.plot(x, plugin.log_ratio(x[:, None]), color=GREEN, label="plugin")
ax.plot(x, exact, color="black", linestyle=":", label="exact")
ax.set(xlabel="x", ylabel="log posterior ratio", ylim=(-8, 3))
ax.set_title("A wrong model, fitted where it matters")
ax.legend(loc="upper left", ncols=2)
plt.show()

# %%
# The two priors have the same mean, 0, and nearly the same variance, :math:`2^2 + 0.7^2` against :math:`2^2`. So KLIEP,
# which compares :math:`x` and :math:`x^2` under the priors, sees hardly any difference. The joint fit compares them
# under the posteriors, and sees the hump.

# %%
# Exercises
# ---------
#
# **Exercise 1.** Keep the two normal priors of this lesson, with means 1 and 0 and variance 1, and let both readings
# have precision 1 and :math:`y_q = 1`. For which :math:`y_p` are the two posteriors equal? What are :math:`\delta^*`
# and the divergence then?
#
# Solution 1
# ^^^^^^^^^^
#
# Both posteriors have precision 2. Their means are :math:`(1+y_p)/2` and :math:`(0+1)/2`, equal for :math:`y_p = 0`.
# Then :math:`r = 1` everywhere: :math:`\delta^* = 0`, divergence 0. Two different priors and two different readings
# lead to the same posterior. The fit agrees up to noise: the hypothesis :math:`\delta = 0` is not rejected at the 5 %
# level.

at_0, at_1 = pre.Gaussian([0.0]), pre.Gaussian([1.0])  # with precision 1
same = pre.PosteriorRatio("polynomial").fit(rows_p, rows_q, at_0, at_1)
print("delta", same.delta_.round(3), f" divergence {same.divergence_:.5f}")
print(f"p-value of delta = 0: {same.wald_test().p_value:.2f}")
assert same.wald_test().p_value > 0.05
assert same.divergence_ < 0.005

# %%
# **Exercise 2.** The instrument on the p side reads 2 a second time, with the same precision 3. Compute the new
# :math:`\delta^*` by hand, change the fit, and compare effective sample sizes. (``pre.Gaussian`` takes several readings
# as several rows.)
#
# Solution 2
# ^^^^^^^^^^
#
# Precision :math:`1+3+3 = 7`, mean :math:`(1 + 6 + 6)/7 = \tfrac{13}7`. The log-ratio is
# :math:`-\tfrac72 x^2 + 13x + x^2 - x = 12x - \tfrac52x^2` plus a constant: :math:`\delta^* = (12, -\tfrac52)`. The
# sharper likelihood leaves fewer effective samples.

read_twice = pre.Gaussian([[2.0], [2.0]], precision=3.0)
twice = pre.PosteriorRatio("polynomial").fit(rows_p, rows_q, read_twice, read_q)
print("delta", twice.delta_.round(2), " true [12, -2.5]")
once_ess, twice_ess = fit.diagnostics().ess_p, twice.diagnostics().ess_p
print(f"ESS of p: {once_ess:.0f} with one reading, {twice_ess:.0f} with two")
assert twice.in_region([12.0, -2.5])
assert twice_ess < once_ess

# %%
# **Exercise 3.** Let both samples come from the *same* standard normal prior. The reading of p is 1 with Laplace noise,
# :math:`\log l_p(x) = -4|x-1|`, and q has no reading at all. Fit jointly and by plugin, with ``"linear"`` features.
# Which one is closer to the exact log-ratio now?
#
# Solution 3
# ^^^^^^^^^^
#
# The plugin wins. The prior ratio is 1, which any features can represent exactly, and the likelihood ratio, with its
# kink, is known and used as it is. The joint fit has to model the kink with :math:`\delta x`, which is impossible: it
# only gets the posterior mean right. So neither approach is always better. A joint fit needs features that can express
# the log posterior ratio; a plugin needs features that can express the log prior ratio.


def laplace(rows):
    return -4.0 * np.abs(rows[:, 0] - 1.0)


again_p, again_q = rng.normal(size=(4000, 1)), rng.normal(size=(4000, 1))
joint_3 = pre.PosteriorRatio("linear").fit(again_p, again_q, laplace)
plugin_3 = pre.PluginRatio("linear").fit(again_p, again_q, laplace)
x = np.linspace(-1.0, 3.0, 200)
posterior = norm.pdf(x) * np.exp(laplace(x[:, None]))
posterior /= posterior.sum()
exact_3 = laplace(x[:, None])
for name, other in (("joint", joint_3), ("plugin", plugin_3)):
    difference = other.log_ratio(x[:, None]) - exact_3
    difference = difference - posterior @ difference  # ignore the constant
    spread = np.sqrt(posterior @ difference**2)
    print(f"{name:7s} error of log r, up to a constant: {spread:.3f}")
    errors[name] = spread
assert errors["plugin"] < 0.2 * errors["joint"]
assert abs(joint_3.mu_ @ again_q[:, 0] - joint_3.problem_.target[0]) < 1e-5
