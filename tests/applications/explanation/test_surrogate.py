"""The local classifier: standard errors, coverage and the roles of the two classes."""

import numpy as np
import pytest
from black_boxes import SLOPES, X, bent, linear
from scipy.special import expit
from scipy.stats import binom

from pre_convex.applications.explanation import OnOff, explain
from pre_convex.applications.explanation.surrogate import fit_surrogate
from pre_convex.statistics.inference import Inference


@pytest.mark.parametrize("kind", ["hc3", "centred"])
@pytest.mark.parametrize("swap", [False, True])
def test_standard_errors_agree_with_inference(kind, swap):
    fit = explain(bent, [0.1, 0.0], 1.0, 150, kind=kind, swap=swap).fit
    expected = Inference(fit.problem, fit.solution.delta, kind=kind).std_error
    # apart from the solver's error, which is counted here and is much smaller than the noise
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance))[1:], fit.std_error, rtol=1e-12)
    np.testing.assert_allclose(fit.std_error, expected, rtol=1e-8)


def test_round_off_is_not_mistaken_for_an_effect():
    found = explain(linear, X, OnOff(), 300, label=1)
    frame = found.to_frame()
    assert abs(frame["z"][2]) < 2.0  # the third slope is zero
    assert np.all(np.abs(frame["coef"] - SLOPES * X) < 2.0 * frame["std_error"])
    assert found.std_error.max() < 1e-5


@pytest.mark.parametrize("swap", [False, True])
def test_errors_of_the_log_odds_agree_with_the_jackknife(swap):
    u = np.random.default_rng(2).uniform(-1.0, 1.0, (80, 2))
    plus = bent(u)
    whole = fit_surrogate(u, plus, 1 - plus, ("a", "b"), swap=swap, tol=1e-12)
    at = np.array([[0.0, 0.0], [1.0, -1.0]])
    changes = []
    for i in range(len(u)):
        rows = np.delete(np.arange(len(u)), i)
        changes.append(
            fit_surrogate(u[rows], plus[rows], 1 - plus[rows], ("a", "b"), swap=swap, tol=1e-12).log_odds(at)
        )
    jackknife = np.sqrt(np.square(np.array(changes) - whole.log_odds(at)).sum(axis=0))
    np.testing.assert_allclose(whole.log_odds_error(at), jackknife, rtol=0.05)


def outlier(side):
    """Points of a linear black box and an outlier far on one side, with the opposite probability."""
    z = np.random.default_rng(5).uniform(-1.0, 1.0, (300, 2))
    z = np.concatenate([z, [[3.0 * side, 0.0]]])
    plus = expit(2.0 * z[:, 0])
    plus[-1] = 0.02 if side > 0 else 0.98
    return z, plus


@pytest.mark.parametrize("side", [1, -1])
def test_outliers_on_one_side_matter_more_than_on_the_other(side):
    z, plus = outlier(side)
    off = {swap: abs(fit_surrogate(z, plus, 1 - plus, ("a", "b"), swap=swap).coef[0] - 2.0) for swap in (False, True)}
    # unswapped, the residual p₋ − p₊e^η is bounded where the local odds favour the label, and unbounded elsewhere
    bounded, unbounded = off[side < 0], off[side > 0]
    assert unbounded > 3.0 * bounded


def test_intervals_cover_the_coefficients_of_infinitely_many_points():
    nodes, weights = np.polynomial.legendre.leggauss(80)
    grid = np.array([[a, b] for a in nodes for b in nodes])
    plus = bent(grid)
    truth = fit_surrogate(grid, plus, 1 - plus, ("a", "b"), log_weights=np.log(np.outer(weights, weights).ravel()))
    runs, hits = 300, np.zeros(3)
    for seed in range(runs):
        found = explain(bent, [0.0, 0.0], 1.0, 300, label=1, n_test=0, rng=seed)
        interval, at_x = found.conf_int(), found.decision_interval()
        hits[:2] += (interval.lower <= truth.coef) & (truth.coef <= interval.upper)
        hits[2] += at_x.lower[0] <= truth.offset <= at_x.upper[0]
    for count in hits:
        assert 2 * min(binom.cdf(count, runs, 0.95), binom.sf(count - 1, runs, 0.95)) > 1e-3
