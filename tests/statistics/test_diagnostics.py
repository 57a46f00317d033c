"""Diagnostics: warnings, effective sample sizes, tail index."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.statistics.diagnostics import pareto_k


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
def test_sharp_likelihoods_and_free_directions_warn():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(size=(500, 2)), rng.normal(size=(500, 2))
    sharp = pre.Gaussian([0.3, 0.1], precision=500.0)
    fit = pre.PosteriorRatio().fit(x_p, x_q, sharp, None)
    notes = fit.diagnostics().warnings
    assert any(n.startswith("ESS of the p side is ") and "sharper than the prior sample" in n for n in notes)
    doubled = np.column_stack([x_q, x_q[:, 0]])
    free = pre.KLIEP().fit(doubled + [0.1, 0.1, 0.1], doubled).diagnostics()
    assert free.free_directions == 1
    assert any("free direction" in n for n in free.warnings)
    calm = pre.KLIEP().fit(x_p, x_q).diagnostics()
    assert calm.warnings == ()
    assert calm.ess_p == pytest.approx(500)
    assert np.abs(calm.balance_after).max() < 1e-8


def test_collinear_features_warn_unless_a_radius_makes_them_unique():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (300, 1)), rng.normal(0.0, 1.0, (300, 1))
    p, q = (np.hstack([x, x + 1e-5 * rng.normal(size=x.shape)]) for x in (x_p, x_q))

    def warned(**settings):
        warnings = pre.KLIEP(**settings).fit(p, q).diagnostics().warnings
        return any("collinear" in text for text in warnings)

    assert warned()
    assert warned(radius=0.1, norm=np.inf)
    assert not warned(radius=0.1)


def test_the_tail_index_of_known_distributions():
    pytest.importorskip("arviz_stats")
    rng = np.random.default_rng(0)
    assert pareto_k(np.log(rng.uniform(size=3000))) < 0.3
    assert pareto_k(np.log(rng.pareto(1.0, size=3000))) == pytest.approx(1.0, abs=0.25)
