r"""
01 From two samples to a ratio: KLIEP
=====================================

Two samples, one question: how much likelier is a point under :math:`p` than under :math:`q`?

.. math::

   r(x) = \frac{p(x)}{q(x)}
"""

# %%
# The samples
# -----------
#
# Text between code, in reStructuredText.

import matplotlib.pyplot as plt
import numpy as np

import pre_convex as pre
from pre_convex.plots.canvas import BLUE, ORANGE

rng = np.random.default_rng(1)
x_p = rng.normal(1.0, 1.0, size=(500, 1))
x_q = rng.normal(0.0, 1.0, size=(500, 1))
fit = pre.KLIEP("linear").fit(x_p, x_q)
print(f"delta = {fit.delta_[0]:.3f}, gap {fit.solution_.gap:.1e}")

# %%
fig, ax = plt.subplots()
ax.hist(x_p[:, 0], bins=30, color=ORANGE, alpha=0.6, label="p")
ax.hist(x_q[:, 0], bins=30, color=BLUE, alpha=0.6, label="q")
ax.legend()
plt.show()

# %%
# Exercises
# ---------
#
# **Exercise 1.** What is :math:`\delta` for :math:`p = N(1, 1)` and :math:`q = N(0, 1)`?
#
# Solution 1
# ^^^^^^^^^^
#
# It is 1.

print(fit.delta_)
