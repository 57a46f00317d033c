r"""
10 Kernels
==========

So far you chose the features, and they determined which shapes the ratio could have. A kernel amounts to infinitely
many features at once. After this lesson you will know

* why a linear or quadratic log-ratio can match its moments exactly and still have the wrong shape;
* how the duality works when the features are never written down: all it needs is the Gram matrix;
* why a kernel needs a radius :math:`R > 0`, and that :math:`R` is a distance between two smoothed samples;
* that the solution is a difference of two kernel sums, which follows from the optimality conditions;
* how to choose the radius and the length scale, how much data a kernel needs, and what landmarks are.

Symbols: kernel :math:`k(x, y) = \langle \varphi(x), \varphi(y) \rangle` with length scale :math:`s`, its space of
functions :math:`\mathcal{H}` with norm :math:`\|\cdot\|_{\mathcal{H}}`, Gram matrix :math:`K`, and
:math:`h(x) = \langle \delta, \varphi(x)\rangle`, the log-ratio before it is normalised. Otherwise as before:
:math:`w`, :math:`b`, :math:`\mu`, :math:`e^{a}`, :math:`R`.
"""

# %%
# A ratio with two bumps
# ----------------------
#
# The p side is a mixture of two normal distributions, the q side one wide normal distribution. There are no
# likelihoods: this is KLIEP, :math:`w_i = 1/n_p` and :math:`e^{a_j} = 1/n_q`.

import textwrap

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.plots.canvas import AMBER, BLUE, GREEN, GREY, ORANGE, PINK


def normal(x, mean, sd):
    return np.exp(-0.5 * ((x - mean) / sd) ** 2) / sd / np.sqrt(2.0 * np.pi)


def density_p(x):
    return 0.5 * normal(x, -1.5, 0.45) + 0.5 * normal(x, 1.2, 0.6)


def true_log_ratio(x):
    return np.log(density_p(x)) - np.log(normal(x, 0.0, 1.6))


def draw(n, rng):
    first = rng.random(n) < 0.5
    x_p = np.where(first, rng.normal(-1.5, 0.45, n), rng.normal(1.2, 0.6, n))
    return x_p[:, None], rng.normal(0.0, 1.6, (n, 1))


rng = np.random.default_rng(1)
n = 400
x_p, x_q = draw(n, rng)
grid = np.linspace(-3.2, 3.2, 321)[:, None]
linear = pre.KLIEP("linear").fit(x_p, x_q)
quadratic = pre.KLIEP("polynomial").fit(x_p, x_q)

fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
ax.plot(grid, true_log_ratio(grid), "--", color="black", label="truth")
ax.plot(grid, linear.log_ratio(grid), color=AMBER, label="linear")
ax.plot(grid, quadratic.log_ratio(grid), color=GREEN, label="quadratic")
ax.plot(x_p[:, 0], np.full(n, -5.6), "|", color=ORANGE, markersize=7, alpha=0.6)
ax.plot(x_q[:, 0], np.full(n, -6.2), "|", color=BLUE, markersize=7, alpha=0.6)
ax.text(3.47, -5.75, "p", color=ORANGE)
ax.text(3.47, -6.35, "q", color=BLUE)
ax.set(xlabel="$x$", ylabel="$\\log r(x)$", ylim=(-6.6, 2.4), xlim=(-3.4, 3.4))
ax.legend(loc="lower center", ncols=3, bbox_to_anchor=(0.5, 0.14))
plt.show()

# %%
# How good is a fit? We judge it by the score :math:`E_p[h] - \log E_q[e^h]` on new data, with :math:`E_p` and
# :math:`E_q` the means under the two distributions and :math:`h` the fitted log-ratio. It is at most the divergence
# :math:`\mathrm{KL}(p\,\|\,q) = E_p[\log(p/q)]`, and reaches it only for the true log-ratio, up to a constant. Since we
# know both distributions here, we need no new data: integrals give the score on infinitely many points.

fine = np.linspace(-8.0, 8.0, 1601)[:, None]
mass_p, mass_q = density_p(fine[:, 0]) * 0.01, normal(fine[:, 0], 0.0, 1.6) * 0.01


def worth(h):
    """Score of a log-ratio, given on the fine grid, on infinitely many new points."""
    return mass_p @ h - np.log(mass_q @ np.exp(h - h.max())) - h.max()


best = worth(true_log_ratio(fine[:, 0]))
residual = quadratic.problem_.target - quadratic.mu_ @ quadratic.problem_.features_q
print(f"moments matched to {np.abs(residual).max():.0e}")
for name, fit in (("linear", linear), ("quadratic", quadratic)):
    print(f"{name:10s} score {worth(fit.log_ratio(fine)):.3f}")
print(f"truth      score {best:.3f}, the divergence")
assert abs(mass_p.sum() - 1.0) < 1e-5
assert abs(mass_q.sum() - 1.0) < 1e-5
assert abs(best - mass_p @ true_log_ratio(fine[:, 0])) < 1e-4
assert np.abs(residual).max() < 1e-6
assert worth(quadratic.log_ratio(fine)) < 0.2 * best

# %%
# The quadratic fit reproduces the mean of :math:`x` and of :math:`x^2`, but reaches only a small part of the
# divergence. It cannot do better: a parabola has only one hump.
#
# Features that are never written down
# ------------------------------------
#
# Take :math:`k(x, y) = e^{-(x - y)^2 / 2 s^2}`. There is a space :math:`\mathcal{H}` and a map :math:`\varphi` into it
# with :math:`k(x, y) = \langle\varphi(x), \varphi(y)\rangle`; its dimension is infinite. Use :math:`\varphi` as
# features. Then :math:`\langle\delta, \varphi(x)\rangle = h(x)` is a function, the target is
# :math:`b = \sum_i w_i \varphi(x_{p,i})`, and the two programs are
#
# .. math::
#
#    \begin{aligned}
#    \min_{h \in \mathcal{H}}\; & -\sum_i w_i h(x_{p,i}) + \log \sum_j e^{a_j + h(x_{q,j})} \\
#    & + R\,\|h\|_{\mathcal{H}},
#    \end{aligned}
#
# .. math::
#
#    \max_{\mu}\; \sum_j -\mu_j \log \mu_j + \mu_j a_j
#    \quad\text{subject to}
#
# .. math::
#
#    \Bigl\| \sum_i w_i \varphi(x_{p,i}) - \sum_j \mu_j \varphi(x_{q,j}) \Bigr\|_{\mathcal{H}} \le R,
#
# with :math:`\mu \ge 0` and :math:`\sum_j \mu_j = 1`. The norm in the dual is computable: stack the points of both
# sides, let :math:`K` be the Gram matrix of all of them and :math:`c = (w, -\mu)`; then the squared norm is
# :math:`c^\top K c`. The dual never needs :math:`\varphi`.
#
# Any factor :math:`K = C C^\top` gives finite coordinates: row :math:`i` of :math:`C` stands for :math:`\varphi(x_i)`,
# since inner products of rows equal values of the kernel. In these coordinates the norm of :math:`\mathcal{H}` is the
# Euclidean norm, and we are back at the problem of the lessons before, with ``norm=2``. ``pre.Kernel`` makes such
# coordinates.

s = 0.5
points = np.concatenate([x_p, x_q])
K = np.exp(-0.5 * (points - points.T) ** 2 / s**2)
kernel = pre.Kernel(length_scale=s).fitted(points)
C = kernel(points)
error = np.abs(C @ C.T - K).max()
print(f"{len(points)} points, {C.shape[1]} coordinates, largest error of C C' {error:.1e}")
assert error < 1e-7

values = np.linalg.eigvalsh(K)[::-1]
for i in (1, 10, 20, 30, 40):
    print(f"eigenvalue {i:2d} of K: {values[i - 1]:8.1e}")
assert values[39] < 1e-7 * values[0]

# %%
# A few coordinates are enough, because the eigenvalues decay fast: points close to each other have nearly the same
# features.
#
# Why the radius must be positive
# -------------------------------
#
# For distinct points the Gram matrix of this kernel is positive definite. So :math:`c^\top K c = 0` only for
# :math:`c = 0`. But :math:`c = (w, -\mu)` has the entries :math:`w`. No weights on the q points reproduce the target:
# it is outside the hull for every sample, however large (:doc:`05_hull`). With :math:`R = 0` the dual has no feasible
# point and the primal is unbounded, along a function whose mean over the p points is larger than its value at every q
# point.
#
# The distance from the hull shrinks quickly as the length scale grows, and soon cannot be distinguished from zero in
# floating point. That does not help: the solution would then be wild instead of infinite.

print("length scale   distance of b from the hull")
distances = []
for scale in (0.1, 0.15, 0.2):
    map_ = pre.Kernel(length_scale=scale).fitted(points)
    problem = pre.RatioProblem.from_samples(x_p, x_q, features=map_)
    distances.append(pre.minimal_radius(problem).radius)
    print(f"{scale:12.2f}   {distances[-1]:.1e}")
assert np.all(np.diff(distances) < 0)
assert distances[0] > 2 * distances[-1] > 0.0

try:
    pre.KLIEP(pre.Kernel(length_scale=s), radius=0.0).fit(x_p, x_q)
except pre.DataError as refusal:
    print(textwrap.fill(f"refused: {refusal}", 72))
else:
    raise AssertionError("a kernel without a radius should have been refused")

# %%
# The kernel dual by hand
# -----------------------
#
# Now take :math:`R = 0.02`, in cvxpy, with a factor of :math:`K` from its eigenvectors:

R = 0.02
sizes, vectors = np.linalg.eigh(K)
keep = sizes > 1e-12 * sizes.max()
A = vectors[:, keep] * np.sqrt(sizes[keep])  # A A' = K
w, a = np.full(n, 1.0 / n), np.full(n, -np.log(n))

mu = cp.Variable(n)
ball = cp.norm(A[:n].T @ w - A[n:].T @ mu) <= R
entropy = cp.sum(cp.entr(mu)) + mu @ a
program = cp.Problem(cp.Maximize(entropy), [ball, cp.sum(mu) == 1])
program.solve(solver=cp.CLARABEL)
length = float(ball.dual_value)  # the multiplier of the ball: the norm of h

fit = pre.KLIEP(pre.Kernel(length_scale=s), radius=R).fit(x_p, x_q)
c = np.concatenate([w, -fit.mu_])
norm, distance = np.linalg.norm(fit.delta_), np.sqrt(c @ K @ c)
print(f"value      cvxpy {program.value:.5f}, package {-fit.divergence_:.5f}")
print(f"norm of h  cvxpy {length:.3f}, package {norm:.3f}")
print(f"distance of the two smoothed samples {distance:.6f}, radius {R}")
assert abs(program.value + fit.divergence_) < 1e-5
assert abs(length - norm) < 1e-2
assert abs(distance - R) < 1e-6

# %%
# What the solution looks like
# ----------------------------
#
# The Lagrangian of the ball shows that :math:`\delta` is parallel to the residual: with
# :math:`t = \|h\|_{\mathcal{H}} / R`,
#
# .. math::
#
#    \delta = t \Bigl( \sum_i w_i \varphi(x_{p,i}) - \sum_j \mu_j \varphi(x_{q,j}) \Bigr),
#
# .. math::
#
#    h(x) = t \Bigl( \sum_i w_i\, k(x_{p,i}, x) - \sum_j \mu_j\, k(x_{q,j}, x) \Bigr).
#
# This is the representer theorem, with explicit coefficients: :math:`t w_i` at each p point, :math:`-t \mu_j` at each q
# point. :math:`h` is the difference of two smoothed samples, the p sample and the tilted q sample. The radius keeps
# them :math:`R` apart; the smaller it is, the larger the factor :math:`t` that magnifies the difference.

at = np.exp(-0.5 * (points - grid.T) ** 2 / s**2)  # k(point, x)
smooth_p, smooth_q, smooth_mu = w @ at[:n], np.exp(a) @ at[n:], fit.mu_ @ at[n:]
t = norm / R
h = t * (smooth_p - smooth_mu)
on_q = t * (w @ K[:n, n:] - fit.mu_ @ K[n:, n:])
by_hand = h - np.log(np.mean(np.exp(on_q)))
assert np.abs(by_hand - fit.log_ratio(grid)).max() < 1e-4

fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
left.plot(grid, smooth_q, ":", color=GREY, label="q sample")
left.plot(grid, smooth_p, color=ORANGE, label="p sample")
left.plot(grid, smooth_mu, "--", color=BLUE, label="q sample, tilted")
left.set(xlabel="$x$", ylabel="weights times kernel", ylim=(0, 0.68))
left.set_title("smoothed samples")
left.legend(fontsize=9)
right.plot(grid, true_log_ratio(grid), "--", color="black", label="truth")
right.plot(grid, quadratic.log_ratio(grid), color=GREEN, lw=1, label="quadratic")
right.plot(grid, by_hand, color=BLUE, label="kernel")
right.set(xlabel="$x$", ylabel="$\\log r(x)$", ylim=(-6, 3))
right.set_title(f"their difference, times {t:.0f}")
right.legend(fontsize=9, loc="lower center")
plt.show()
gained, before = (worth(each.log_ratio(fine)) for each in (fit, quadratic))
print(f"share of the divergence: kernel {gained / best:.0%}, quadratic {before / best:.0%}")
assert gained > 0.8 * best

# %%
# Too much freedom, too little, and too little data
# -------------------------------------------------
#
# As :math:`R` decreases, the score :math:`-\ell(\delta_R)` on the sample itself keeps growing. On new data it first
# grows and then falls: the fit begins to describe this sample instead of the distribution behind it. How early and how
# far it falls depends on the number of samples, and on luck. So draw eight samples of each of three sizes and look at
# the median.

radii = np.geomspace(0.2, 0.002, 5)
wide = pre.Kernel(length_scale=s).fitted(grid[::5] * 2)  # coordinates that fit every sample
on_grid = wide(fine)


def along_path(x_p, x_q):
    """Scores on the sample and on new data for each radius, as shares of the divergence."""
    problem = pre.RatioProblem.from_samples(x_p, x_q, features=wide)
    path = pre.radius_path(problem, radii)
    old = [-problem.value(found.delta) / best for found in path]
    new = [worth(on_grid @ found.delta) / best for found in path]
    # no solution where b is further than R from the hull
    return old, np.where([found.status.ok for found in path], new, -np.inf)


draws, shares = 8, {}
old, _ = along_path(x_p, x_q)
assert np.all(np.diff(old) > 0)  # on the sample itself the score only grows
print(f"share of the divergence on new data, {draws} draws of each size")
print("samples   best R   median there   worst there   median at the smallest R")
for size in (100, 400, 1600):
    new = np.array([along_path(*draw(size, rng))[1] for _ in range(draws)])
    shares[size] = middle = np.median(new, axis=0)
    top = int(np.argmax(middle))
    ends = f"{new[:, top].min():11.2f}   {middle[-1]:24.2f}"
    print(f"{size:7d}   {radii[top]:6.4f}   {middle[top]:12.2f}   {ends}")

few_p, few_q = x_p[:100], x_q[:100]
small = pre.RatioProblem.from_samples(few_p, few_q, features=kernel)
fig, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.6), layout="constrained")
for (size, middle), look in zip(shares.items(), ("s:", "o-", "^--"), strict=True):
    left.semilogx(radii, middle, look, color=BLUE, ms=4, label=f"{size} samples")
left.axhline(1.0, color="black", lw=1)
left.set(xlabel="radius $R$", ylabel="share of the divergence", ylim=(-0.05, 1.08))
left.set_title("score on new data")
left.legend(fontsize=9, loc="lower center")
right.plot(grid, true_log_ratio(grid), "--", color="black", label="truth")
for radius, colour in ((0.2, AMBER), (0.06, BLUE), (0.004, PINK)):
    found = pre.solve(small.with_radius(radius))
    log_z = np.log(np.mean(np.exp(kernel(few_q) @ found.delta)))
    curve = kernel(grid) @ found.delta - log_z
    right.plot(grid, curve, color=colour, label=f"R = {radius}")
right.set(xlabel="$x$", ylabel="$\\log r(x)$", ylim=(-8.5, 3.0))
right.set_title("100 samples: stiff, fair, wild")
right.legend(fontsize=9, loc="lower center", ncols=2)
plt.show()

peak = {size: middle.max() for size, middle in shares.items()}
at = {size: radii[np.argmax(middle)] for size, middle in shares.items()}
assert peak[100] < 0.85 < peak[400] < peak[1600]
assert peak[1600] > 0.94
assert at[100] > 3 * at[1600]  # more data allow a smaller radius
assert shares[100][-1] < peak[100] - 0.15

# %%
# A kernel is flexible, and the price is data. For this ratio a hundred samples per side reach about three quarters of
# the divergence at the best radius, and an unlucky hundred much less. A radius that is too small loses much of that, in
# some draws all of it: the trivial fit :math:`h = 0` has score zero. Four hundred samples reach about nine tenths, and
# with sixteen hundred even the smallest of these radii does little harm. All this is in one dimension; in higher
# dimensions samples are sparser and a kernel needs many more.
#
# In practice neither distribution is known. ``radius="cv"`` holds out folds of the samples you have. By default it
# takes the largest radius within one standard error of the best, which errs on the smooth side. ``one_se=False`` takes
# the best itself.

chosen = pre.KLIEP(kernel, radius="cv", cv=3, one_se=False).fit(x_p, x_q)
choice = chosen.radius_choice_
i = int(np.argmax(choice.mean))
careful = choice.radii[choice.mean >= choice.mean[i] - choice.std_error[i]].max()
smooth = pre.KLIEP(kernel, radius=careful).fit(x_p, x_q)
by_cv = [worth(each.log_ratio(fine)) / best for each in (chosen, smooth)]
print("share of the divergence on new data")
print(f"best held-out score  R = {chosen.radius_:.4f}  {by_cv[0]:.0%}")
print(f"one standard error   R = {smooth.radius_:.4f}  {by_cv[1]:.0%}")
assert choice.radius == choice.radii[i] <= careful
assert by_cv[0] > 0.8
assert by_cv[1] > 0.4

# %%
# The length scale
# ----------------
#
# With a short length scale the features of neighbours differ, and :math:`h` can follow every point. With a long one
# :math:`h` is stiff, and the same curvature needs a larger :math:`\|h\|`. For each length scale we compute the best
# score along a path of radii. ``length_scale="median"``, the default, is the median distance between points; ``"cv"``
# tries multiples of it by cross-validation. Between the two extremes the choice matters little. The shortest length
# scale follows single points at every radius that lets it bend; the longest is still too stiff at the smallest radius
# tried.

print("length scale   best radius   share of the divergence")
scores, tried = {}, np.geomspace(0.1, 0.0003, 6)
for scale in (0.1, 0.5, 1.0, 5.0):
    other = pre.Kernel(length_scale=scale).fitted(points)
    problem = pre.RatioProblem.from_samples(x_p, x_q, features=other)
    path = pre.radius_path(problem, tried, stop=True)  # stops where no solution exists
    there = other(fine)
    found = [worth(there @ each.delta) / best for each in path if each.status.ok]
    scores[scale] = max(found)
    print(f"{scale:12.1f}   {tried[np.argmax(found)]:11.4f}   {max(found):23.2f}")
print(f"median distance {pre.Kernel().fitted(points).length_scale:.2f}")
assert scores[0.1] < scores[0.5] - 0.02
assert scores[5.0] < scores[1.0] - 0.02

# %%
# Landmarks
# ---------
#
# The factor is computed greedily: take the point whose :math:`\varphi` is represented worst by those taken so far, add
# a column, repeat. Stopping early gives :math:`m` *landmarks*, and only :math:`k(x, \text{landmark})` is ever computed:
# :math:`n \times m` numbers instead of :math:`n \times n`. With more than 4,000 points the package does this
# automatically, with 500 landmarks.

print("landmarks   share of the trace left   largest change of log r")
changes = []
for m in (5, 15, 30):
    reduced = pre.Kernel(length_scale=s, landmarks=m)
    left_over = 1.0 - np.square(reduced.fitted(points)(points)).sum() / np.trace(K)
    approximate = pre.KLIEP(reduced, radius=R).fit(x_p, x_q)
    changes.append(np.abs(approximate.log_ratio(grid) - fit.log_ratio(grid)).max())
    print(f"{m:9d}   {left_over:23.1e}   {changes[-1]:.1e}")
assert changes[0] > 0.3
assert changes[-1] < 1e-2

# %%
# Exercises
# ---------
#
# **Exercise 1.** Two q points, 0 and 1, and one p sample at 1, with :math:`\rho = k(0, 1)`. Find :math:`\mu` and
# :math:`\|h\|_{\mathcal{H}}` as functions of :math:`R` by hand. From which :math:`R` on is :math:`h = 0`? Evaluate for
# :math:`s = 1`, :math:`R = 0.2`.
#
# Solution 1
# ^^^^^^^^^^
#
# The residual :math:`\varphi(1) - \mu_0 \varphi(0) - \mu_1 \varphi(1)` is :math:`\mu_0 (\varphi(1) - \varphi(0))`, of
# length :math:`\mu_0 \sqrt{2 - 2\rho}`. The entropy is largest at :math:`\mu_0 = 1/2`; the ball allows
# :math:`\mu_0 \le R / \sqrt{2 - 2\rho}`. So :math:`\mu_0` is the smaller of the two, and :math:`h = 0` from
# :math:`R = \tfrac12\sqrt{2 - 2\rho}` on. For smaller :math:`R`, [LINK] gives :math:`h(1) - h(0) = \log(\mu_1/\mu_0)`,
# and since :math:`\delta` is parallel to :math:`\varphi(1) - \varphi(0)`,
# :math:`\|h\|_{\mathcal{H}} = \log(\mu_1/\mu_0) / \sqrt{2 - 2\rho}`.

rho = np.exp(-0.5)
apart = np.sqrt(2.0 - 2.0 * rho)
mu_0 = 0.2 / apart
size = np.log((1.0 - mu_0) / mu_0) / apart
unit = pre.Kernel(length_scale=1.0)
two = pre.KLIEP(unit, radius=0.2).fit([[1.0]], [[0.0], [1.0]])
print(f"by hand mu_0 = {mu_0:.4f}, |h| = {size:.4f}, h = 0 from R = {apart / 2:.4f}")
print(f"package mu_0 = {two.mu_[0]:.4f}, |h| = {np.linalg.norm(two.delta_):.4f}")
assert abs(two.mu_[0] - mu_0) < 1e-6
assert abs(np.linalg.norm(two.delta_) - size) < 1e-4
none = pre.KLIEP(unit, radius=apart / 2 + 1e-6).fit([[1.0]], [[0.0], [1.0]])
assert np.linalg.norm(none.delta_) < 1e-6

# %%
# **Exercise 2.** Change the kernel to :math:`(xy/s^2 + 1)^2`, ``pre.Kernel("polynomial", degree=2)``. How many
# coordinates does it have here? Solve with :math:`R = 0`, which is possible now: why? Which fit of this lesson is it?
#
# Solution 2
# ^^^^^^^^^^
#
# :math:`(xy/s^2 + 1)^2 = 1 + 2xy/s^2 + x^2y^2/s^4` is the inner product of :math:`(1, \sqrt2\, x/s, x^2/s^2)` with the
# same vector for :math:`y`: three coordinates, one of them constant. The Gram matrix has rank three and is not
# definite, so the target may lie inside the hull. The solution is the quadratic fit; the constant changes nothing,
# because it cancels in the ratio. (The estimators reject :math:`R = 0` for every kernel; ``pre.solve`` accepts it.)

polynomial = pre.Kernel("polynomial", length_scale=1.0, degree=2).fitted(points)
problem = pre.RatioProblem.from_samples(x_p, x_q, features=polynomial)
solution = pre.solve(problem)
log_z = np.log(np.mean(np.exp(polynomial(x_q) @ solution.delta)))
curve = polynomial(grid) @ solution.delta - log_z
difference = np.abs(curve - quadratic.log_ratio(grid)).max()
print(f"{problem.k} coordinates; largest difference to the quadratic fit {difference:.0e}")
assert problem.k == 3
assert difference < 1e-5

# %%
# **Exercise 3.** What does the kernel fit say at :math:`x = 50`, far from all samples? Compare with the truth and
# with the quadratic fit. Which of the two would you trust there?
#
# Solution 3
# ^^^^^^^^^^
#
# Every :math:`k(x_i, 50)` is zero, so :math:`h(50) = 0` and :math:`\log r(50) = -\log Z`, a number that has nothing to
# do with :math:`x`: it claims that 50 is about half as likely under p as under q, while the true logarithm is below
# :math:`-2000`. Where it has no data, a kernel fit knows nothing but still returns a number. The parabola of the
# quadratic fit opens downwards in most samples, as in this one. Then it is less wrong, thanks to its shape. Neither
# fit has data there, so trust neither: look at where the samples are before you read a ratio.

far = np.array([[50.0]])
# densities at 50 underflow to zero, their exponents do not
exponent = -0.5 * ((50.0 - 1.2) / 0.6) ** 2 + 0.5 * (50.0 / 1.6) ** 2
said = fit.log_ratio(far)[0], quadratic.log_ratio(far)[0]
print(f"log r(50): truth {exponent:.0f}, kernel {said[0]:.3f}, quadratic {said[1]:.0f}")
log_z = np.log(np.mean(np.exp(on_q)))
assert abs(fit.log_ratio(far)[0] + log_z) < 1e-4
assert -1.2 < said[0] < -0.3
assert said[1] < said[0]
assert exponent < -2000
