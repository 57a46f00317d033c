"""PluginRatio: the prior ratio times the likelihood ratio."""

import numpy as np
import pytest
from zoo import samples

import pre_convex as pre


def test_with_constant_likelihoods_all_estimators_are_kliep():
    x_p, x_q, *_ = samples()
    kliep = pre.KLIEP().fit(x_p, x_q)
    flat = pre.PosteriorRatio().fit(x_p, x_q, lambda x: np.full(len(x), 2.0), np.full(len(x_q), -7.0))
    plugin = pre.PluginRatio().fit(x_p, x_q, lambda x: np.full(len(x), 2.0), None)
    for other in (flat, plugin):
        np.testing.assert_allclose(other.delta_, kliep.delta_, atol=1e-10)
        np.testing.assert_allclose(other.log_ratio(x_q), kliep.log_ratio(x_q), atol=1e-10)
        assert other.divergence_ == pytest.approx(kliep.divergence_, abs=1e-10)


def test_it_gives_no_intervals():
    x_p, x_q, l_p, l_q = samples(100)
    plugin = pre.PluginRatio().fit(x_p, x_q, l_p, l_q)
    with pytest.raises(pre.DataError) as error:
        plugin.log_ratio_interval(x_q)
    assert error.value.argument == "PluginRatio"
    assert "not shown" in str(plugin.summary())
    assert f"{plugin.divergence_:.6g}" in str(plugin.summary())


def test_it_is_the_prior_ratio_times_the_likelihood_ratio():
    x_p, x_q, l_p, l_q = samples()
    plugin, prior = pre.PluginRatio().fit(x_p, x_q, l_p, l_q), pre.KLIEP().fit(x_p, x_q)
    difference = plugin.log_ratio(x_q) - prior.log_ratio(x_q) - l_p(x_q) + l_q(x_q)
    np.testing.assert_allclose(difference, difference[0], atol=1e-10)
    base = np.exp(l_q(x_q))
    assert base / base.sum() @ plugin.ratio(x_q) == pytest.approx(1.0)
    with pytest.raises(pre.DataError) as error:
        pre.PluginRatio().fit(x_p, x_q, np.zeros(len(x_p)))
    assert error.value.argument == "log_lik_p"
