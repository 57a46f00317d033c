"""Kernel density estimates against SciPy."""

import numpy as np
from scipy.stats import gaussian_kde, multivariate_normal

from pre_convex.applications.detection.kernel_density import fit_kernel_density


def test_densities_are_those_of_scipy_with_and_without_a_rows_own_kernel():
    rng = np.random.default_rng(0)
    F, at = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)), rng.normal(size=(20, 3))
    density = fit_kernel_density(F)
    np.testing.assert_allclose(density.log(at), gaussian_kde(F.T).logpdf(at.T), rtol=1e-6)
    terms = [multivariate_normal(F[j], gaussian_kde(F.T).covariance).pdf(F[7]) for j in range(300) if j != 7]
    np.testing.assert_allclose(density.log(F, leave_one_out=True)[7], np.log(np.mean(terms)), rtol=1e-6)
