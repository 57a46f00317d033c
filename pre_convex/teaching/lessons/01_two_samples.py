r"""
01 From two samples to a ratio: KLIEP
=====================================

Two samples were drawn, one from a density :math:`p`, one from a density :math:`q`. Neither density is known. How much
likelier is a point :math:`x` under :math:`p` than under :math:`q`?

.. math::

   r(x) = \frac{p(x)}{q(x)}

The ratio shows where two groups differ, corrects a sample that was drawn from the wrong population, and measures how
far apart two distributions are. KLIEP (Kullback–Leibler importance estimation procedure) estimates it by solving one
convex problem.

After this lesson you will know

* why one should not divide two density estimates,
* why fitting :math:`r` means minimising a log-sum-exp function :math:`\ell(\delta)`,
* that the optimum gives the q sample weights that reproduce moments of the p sample exactly,
* how to do it in ten lines of NumPy, and with ``pre.KLIEP``.

Symbols: samples :math:`x_{p,1},\dots,x_{p,n_p}` and :math:`x_{q,1},\dots,x_{q,n_q}`; features :math:`f(x)`, a vector
of :math:`k` numbers; :math:`b`, the mean of :math:`f` over the p sample; :math:`F`, the matrix with rows
:math:`F_j = f(x_{q,j})`; the parameter :math:`\delta`; weights :math:`\mu_j` on the q sample.
"""

# %%
# Two samples whose ratio is known
# --------------------------------
#
# To judge an estimate we need an example with a known answer. Let :math:`p` be the normal density with mean 1 and
# variance 1/2, and :math:`q` the standard normal density. Subtract the two log-densities:
#
# .. math::
#
#    \log r(x) = \tfrac12\log 2 - (x-1)^2 + \tfrac12 x^2 = 2x - \tfrac12 x^2 + \tfrac12\log 2 - 1 .
#
# So the logarithm of the ratio is a polynomial. We hide it from the estimators, which see only 1,000 numbers from each
# density.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import gaussian_kde, norm

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, GREEN, GREY, ORANGE

rng = np.random.default_rng(11)
x_p = rng.normal(1.0, np.sqrt(0.5), size=1000)
x_q = rng.normal(0.0, 1.0, size=1000)


def true_log_ratio(x):
    return 2.0 * x - 0.5 * x**2 + 0.5 * np.log(2.0) - 1.0


# the formula above against the two densities
true_p, true_q = norm(1.0, np.sqrt(0.5)), norm(0.0, 1.0)
assert np.isclose(true_log_ratio(0.3), true_p.logpdf(0.3) - true_q.logpdf(0.3))

# %%
# The obvious way, and why it fails
# ---------------------------------
#
# Estimate :math:`p` from one sample, :math:`q` from the other, and divide. Here both are kernel density estimates: a
# small bump on every sample point.

density_p, density_q = gaussian_kde(x_p), gaussian_kde(x_q)
grid = np.linspace(-3.0, 4.2, 300)
divided = np.log(density_p(grid)) - np.log(density_q(grid))

fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.5), layout="constrained")
for density, truth, colour, name in (
    (density_p, true_p, ORANGE, "p"),
    (density_q, true_q, BLUE, "q"),
):
    left.plot(grid, density(grid), color=colour, label=f"estimate of {name}")
    left.plot(grid, truth.pdf(grid), color=colour, linestyle=":", label=f"{name}")
left.set(xlabel="x", ylabel="density", title="Two good estimates …", ylim=(0, 0.8))
left.legend(fontsize=9, ncols=2, loc="upper center")
right.plot(grid, true_log_ratio(grid), color=GREY, linestyle=":", label="log r")
right.plot(grid, divided, color=GREEN, label="one divided by the other")
right.set(xlabel="x", ylabel="log-ratio", title="… make a bad ratio", ylim=(-14, 9))
right.legend(fontsize=9, loc="upper left")
plt.show()

worst_density = np.abs(density_q(grid) - true_q.pdf(grid)).max()
at_4 = np.log(density_p(4.0) / density_q(4.0))[0]
worst_log_ratio = np.abs(divided - true_log_ratio(grid)).max()
print(f"largest error of the density q: {worst_density:.3f}")
print(f"largest error of the log-ratio: {worst_log_ratio:.1f}")
print(f"ratio at x = 4: {np.exp(true_log_ratio(4.0)):.2f}, divided: {np.exp(at_4):.2f}")
assert worst_density < 0.06
assert worst_log_ratio > 5.0
assert true_q.pdf(4.0) < worst_density

# %%
# Both densities look right: the eye does not notice an error of a few hundredths. But the ratio divides by
# :math:`q(x)`, and in the tails :math:`q(x)` is smaller than that error. A density estimate is accurate where there are
# many points; a ratio needs it to be accurate where there are few. And it gets worse in higher dimensions, as the end
# of this lesson shows.
#
# Vapnik's advice applies: do not solve a harder problem as a step towards an easier one. Two densities determine the
# ratio, but the ratio does not determine the densities. So estimate the ratio itself.

# %%
# A model of the ratio
# --------------------
#
# Choose features :math:`f(x)` and let the logarithm of the ratio be linear in them:
#
# .. math::
#
#    \log r(x;\delta) = \langle\delta, f(x)\rangle - \log Z(\delta).
#
# The exponential keeps :math:`r` positive, whatever :math:`\delta` is. The number :math:`Z` keeps it normalised:
# :math:`r\,q` should be a density, :math:`\int r(x)\,q(x)\,dx = 1`. The integral is a mean under :math:`q`, and we have
# a sample from :math:`q`:
#
# .. math::
#
#    Z(\delta) = \frac1{n_q}\sum_j e^{\langle\delta,F_j\rangle} .
#
# For our example :math:`f(x) = (x, x^2)` is enough, and the true parameter is :math:`\delta^* = (2, -\tfrac12)`.


def features(x):
    return np.column_stack([x, x**2])


F = features(x_q)
b = features(x_p).mean(axis=0)
n_q = len(F)
print("b =", b.round(4))

# %%
# From a distance to an objective
# -------------------------------
#
# The model says that :math:`p` equals :math:`r_\delta\,q`. Choose the :math:`\delta` for which this is least wrong,
# measured by the Kullback–Leibler divergence:
#
# .. math::
#
#    \mathrm{KL}(p\,\|\,r_\delta q) = \int p\log\frac{p}{r_\delta\,q}
#    = \underbrace{\int p\log\frac pq}_{\text{no }\delta} - \int p(x)\log r(x;\delta)\,dx .
#
# The first part does not depend on :math:`\delta`. The second is a mean under :math:`p`, and we have a sample from
# :math:`p`. So: **maximise the mean log-ratio over the p sample**. Insert the model and change the sign:
#
# .. math::
#
#    \min_\delta\ \ell(\delta) = -\langle b,\delta\rangle + \log\sum_j e^{a_j+\langle\delta,F_j\rangle},
#    \qquad a_j = -\log n_q .
#
# This is the primal program [P] of the package, without a radius. Without the normalisation we could make the mean
# log-ratio arbitrarily large by making :math:`r` large everywhere; :math:`\log Z` is the price of that.
#
# The function :math:`\log\sum_j e^{z_j}` is called log-sum-exp. It is convex, so every local minimum is global; lesson
# :doc:`03_primal` shows why. Its derivative is a set of weights:
#
# .. math::
#
#    \nabla\ell(\delta) = \sum_j \mu_j(\delta) F_j - b, \qquad
#    \mu_j(\delta) = \frac{e^{a_j+\langle\delta,F_j\rangle}}{\sum_i e^{a_i+\langle\delta,F_i\rangle}} .
#
# The weights are positive and sum to one. The second derivative is the covariance of the rows :math:`F_j` under these
# weights, and a covariance matrix is positive semidefinite: this is the convexity again.
#
# Ten lines of Newton's method
# ----------------------------

delta = np.zeros(2)
for step in range(20):
    z = -np.log(n_q) + F @ delta
    log_z = np.log(np.sum(np.exp(z)))
    mu = np.exp(z - log_z)
    gradient = mu @ F - b
    hessian = (F - mu @ F).T @ (mu[:, None] * (F - mu @ F))
    slope = np.abs(gradient).max()
    print(f"step {step}: loss {log_z - b @ delta:9.6f}   largest slope {slope:7.0e}")
    if slope < 1e-10:
        break
    delta = delta - np.linalg.solve(hessian, gradient)

print("delta =", delta.round(4), " true: [2, -0.5]")
loss = log_z - b @ delta
assert step < 10
assert np.abs(delta - [2.0, -0.5]).max() < 0.4  # about four standard errors

# %%
# Near the minimum each error of Newton's method is about the square of the one before, so a handful of steps are
# enough. The estimate differs from the true :math:`\delta^*`, because a sample of 1,000 is not the density itself;
# lesson :doc:`09_uncertainty` shows how far off it may be.
#
# What the optimum means: moments are matched
# -------------------------------------------
#
# At the optimum the gradient is zero, which means
#
# .. math::
#
#    \sum_j \mu_j\,f(x_{q,j}) = \frac1{n_p}\sum_i f(x_{p,i}) .
#
# The q sample, weighted by :math:`\mu`, has the same mean of every feature as the p sample. Since the features are
# :math:`x` and :math:`x^2`, mean and variance agree, to the last digit.

rows = [
    ("p sample", x_p.mean(), x_p.var()),
    ("q sample", x_q.mean(), x_q.var()),
    ("q sample, weighted", mu @ x_q, mu @ x_q**2 - (mu @ x_q) ** 2),
]
for name, mean, variance in rows:
    print(f"{name:20s} mean {mean:7.4f}   variance {variance:.4f}")
assert abs(mu @ x_q - x_p.mean()) < 1e-9
assert abs(rows[2][2] - x_p.var()) < 1e-9
assert mu.min() > 0.0
assert abs(mu.sum() - 1.0) < 1e-12

# %%
bins = np.linspace(-3.3, 3.6, 24)
fig, (top, bottom) = plt.subplots(2, 1, figsize=(7, 4.8), sharex=True, layout="constrained")
line = {"density": True, "histtype": "step", "linewidth": 1.8}
top.hist(x_q, bins, density=True, color=BLUE, alpha=0.35, label="q sample")
top.hist(x_q, bins, weights=mu, color=BLUE, label="q sample, weighted by μ", **line)
top.hist(x_p, bins, color=ORANGE, label="p sample", **line)
top.set(ylabel="density", ylim=(0, 0.98))
top.set_title("Weights turn the q sample into one like p")
top.legend(fontsize=9, loc="upper left")
bottom.vlines(x_q, 0.0, n_q * mu, color=BLUE, linewidth=0.5, alpha=0.4)
bottom.plot(x_q, n_q * mu, ".", color=BLUE, markersize=4, label="n μ")
inside = grid[grid < 3.6]
bottom.plot(inside, np.exp(true_log_ratio(inside)), ":", color="black", label="true ratio")
bottom.legend(fontsize=9, loc="upper left")
bottom.set(xlabel="x", ylabel="n μ", title="Weights of the q points, times n")
plt.show()

# %%
# Why is :math:`n_q\mu_j` the ratio at :math:`x_{q,j}`? Compare the formula for the weights with the model:
# :math:`n_q\,\mu_j = e^{\langle\delta,F_j\rangle}/Z = r(x_{q,j};\delta)`.

log_r = F @ delta - log_z
assert np.allclose(n_q * mu, np.exp(log_r))
print(f"mean of the ratio over the q sample: {np.exp(log_r).mean():.12f}")
assert abs(np.exp(log_r).mean() - 1.0) < 1e-12

# %%
# The same with the package
# -------------------------
#
# ``pre.KLIEP`` takes the samples as matrices with one row per point. ``"polynomial"`` is :math:`(x, x^2)`. The package
# proves each answer: the *gap* bounds how far the loss is from its minimum. Lesson :doc:`04_dual` shows where such a
# proof comes from.

fit = pre.KLIEP("polynomial").fit(x_p[:, None], x_q[:, None])
print("delta =", fit.delta_.round(4))
print(f"gap below 1e-12: {fit.solution_.gap < 1e-12}")
assert np.abs(fit.delta_ - delta).max() < 1e-5
assert np.abs(fit.mu_ - mu).max() < 1e-7
assert fit.solution_.gap < 1e-12

# %%
band = fit.log_ratio_interval(grid[:, None])
fig, ax = plt.subplots(layout="constrained")
shade = {"color": ORANGE, "alpha": 0.2, "linewidth": 0}
ax.fill_between(grid, band.lower, band.upper, label="95 % interval", **shade)
ax.plot(grid, fit.log_ratio(grid[:, None]), color=ORANGE, label="KLIEP")
ax.plot(grid, divided, color=GREEN, linewidth=1, label="divided density estimates")
ax.plot(grid, true_log_ratio(grid), color="black", linestyle=":", label="truth")
ax.set(xlabel="x", ylabel="log-ratio", ylim=(-14, 5), title="The ratio, estimated at once")
ax.legend(loc="lower center")
plt.show()

# %%
# The divergence comes for free
# -----------------------------
#
# The mean log-ratio over the p sample is :math:`-\ell(\delta)`. At the optimum :math:`\hat\delta` it estimates, by the
# formula above, :math:`\int p\log\frac pq = \mathrm{KL}(p\,\|\,q)`, the divergence of :math:`p` from :math:`q`,
# provided that the model is correct. For our normals
#
# .. math::
#
#    \mathrm{KL}(p\,\|\,q) = \tfrac12\left(\tfrac12 + 1^2 - 1 - \log\tfrac12\right) = \tfrac14 + \tfrac12\log 2
#    \approx 0.5966 .

mean_log_ratio = fit.log_ratio(x_p[:, None]).mean()
low, high = fit.divergence_interval()
print(f"-loss {-loss:.4f}   mean log-ratio over p {mean_log_ratio:.4f}   true 0.5966")
print(f"95 % interval [{low:.3f}, {high:.3f}]")
assert abs(mean_log_ratio + loss) < 1e-10
assert abs(fit.divergence_ + loss) < 1e-10
assert low < 0.25 + 0.5 * np.log(2.0) < high

# %%
# More dimensions
# ---------------
#
# Now take :math:`d` independent coordinates of the same kind. Both methods get 1,000 points from each density, and are
# judged at 2,000 new points from :math:`p` by the root mean square error of the log-ratio.

new = np.random.default_rng(8)
print(" d   divided   KLIEP")
for d in (1, 2, 4, 8):
    train_p = new.normal(1.0, np.sqrt(0.5), size=(1000, d))
    train_q = new.normal(0.0, 1.0, size=(1000, d))
    test = new.normal(1.0, np.sqrt(0.5), size=(2000, d))
    truth = true_log_ratio(test).sum(axis=1)
    density_p, density_q = gaussian_kde(train_p.T), gaussian_kde(train_q.T)
    divided = density_p.logpdf(test.T) - density_q.logpdf(test.T)
    error_kde = np.sqrt(np.mean((divided - truth) ** 2))
    try:
        kliep = pre.KLIEP("polynomial").fit(train_p, train_q).log_ratio(test)
    except pre.InfeasibleError:
        print(f"{d:2d} {error_kde:9.2f}   no answer: out of the q sample's reach")
        assert d == 8
    else:
        error_kliep = np.sqrt(np.mean((kliep - truth) ** 2))
        print(f"{d:2d} {error_kde:9.2f} {error_kliep:7.2f}")
        assert error_kliep < error_kde
        assert d < 8

# %%
# The comparison is not fair to the density estimates: KLIEP has the right model here, and they have none. That is the
# point: the features bring in what you know about the ratio. KLIEP suffers from the dimension too, because fewer and
# fewer q points lie where :math:`p` has its mass. With eight coordinates no weights on these q points have the moments
# of the p sample. Then there is no minimum, and the package raises an error instead of returning arbitrary numbers;
# see lesson :doc:`05_hull`.

# %%
# Exercises
# ---------
#
# **Exercise 1.** Let :math:`p` be normal with mean 1 and variance 1, let :math:`q` be standard normal, and let
# :math:`f(x) = x`. Replace both sample means by their expectations. What is :math:`\ell(\delta)`? Find its minimum and
# the divergence by hand. (The mean of :math:`e^{\delta x}` under a standard normal is :math:`e^{\delta^2/2}`.)
#
# Solution 1
# ^^^^^^^^^^
#
# :math:`b = 1` and :math:`\log Z = \delta^2/2`, so :math:`\ell(\delta) = -\delta + \delta^2/2`. The minimum is at
# :math:`\delta = 1` with :math:`\ell = -\tfrac12`, so the divergence is 1/2, and :math:`\log r(x) = x - \tfrac12`, in
# agreement with the difference of the two log-densities. A large sample agrees:

many = np.random.default_rng(3)
many_p = many.normal(1.0, 1.0, size=(100_000, 1))
many_q = many.normal(0.0, 1.0, size=(100_000, 1))
large = pre.KLIEP("linear").fit(many_p, many_q)
print(f"delta {large.delta_[0]:.3f}, divergence {large.divergence_:.3f}")
assert abs(large.delta_[0] - 1.0) < 0.03
assert abs(large.divergence_ - 0.5) < 0.02

# %%
# **Exercise 2.** Fit the samples of this lesson with ``"linear"`` features. Which moments of the weighted q sample
# agree with the p sample now, and which do not? Does the divergence become larger or smaller, and must it?
#
# Solution 2
# ^^^^^^^^^^
#
# Only the mean is matched; the variance stays near that of :math:`q`. The divergence becomes smaller, and it must: a
# linear model is a polynomial model with :math:`\delta_2 = 0`, and a minimum over fewer parameters cannot be lower. A
# poorer model detects less of the difference. In the limit of large samples the divergence is 1/2 instead of 0.5966:
# the densities :math:`e^{\delta x}q(x)/Z` are normal with variance 1, and the fit chooses the one with mean 1.

linear = pre.KLIEP("linear").fit(x_p[:, None], x_q[:, None])
w = linear.mu_
variance = w @ x_q**2 - (w @ x_q) ** 2
print(f"mean     {w @ x_q:.4f}, p {x_p.mean():.4f}")
print(f"variance {variance:.4f}, p {x_p.var():.4f}, q {x_q.var():.4f}")
print(f"divergence {linear.divergence_:.4f}, with x² {fit.divergence_:.4f}")
assert abs(w @ x_q - x_p.mean()) < 1e-5
assert abs(variance - x_q.var()) < 0.5 * abs(variance - x_p.var())
assert linear.divergence_ < fit.divergence_

# %%
# **Exercise 3.** Since :math:`q/p = 1/r`, we could fit :math:`q/p` by swapping the two samples. Should the new
# :math:`\delta` be minus the old one? Try it, and look at the largest weight of both fits.
#
# Solution 3
# ^^^^^^^^^^
#
# The truth is :math:`-\delta^*`, but the estimates are not negatives of each other: each direction matches different
# moments, with different weights. And one direction is much harder. The new weights are large where q points are likely
# and p points are rare: there, a few p points stand for many q points. The true :math:`q(x)/p(x)` grows without bound
# on both sides, and :math:`\int (q/p)^2\,p\,dx` is infinite: the weights stay uneven however large the samples are.

swapped = pre.KLIEP("polynomial").fit(x_q[:, None], x_p[:, None])
print("p/q:", fit.delta_.round(3), f" largest weight {fit.mu_.max():.1%}")
print("q/p:", swapped.delta_.round(3), f" largest weight {swapped.mu_.max():.1%}")
assert np.abs(swapped.delta_ + fit.delta_).max() > 0.02
assert swapped.mu_.max() > 5.0 * fit.mu_.max()
