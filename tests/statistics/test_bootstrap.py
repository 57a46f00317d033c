"""The bootstrap: refits of resampled rows."""

import numpy as np
import pytest
from zoo import gaussian

import pre_convex as pre
from pre_convex.statistics.bootstrap import bootstrap


def resampled(problem, rng):
    """The problem of one resample, drawn as the bootstrap draws it: first the q rows, then the p rows."""
    n_p, n_q = len(problem.features_p), problem.n_q
    rows_q = rng.integers(0, n_q, n_q)
    rows_p = rng.integers(0, n_p, n_p)
    w = np.exp(problem.log_weights_p[rows_p])
    target = w @ problem.features_p[rows_p] / w.sum()
    return pre.RatioProblem(target, problem.features_q[rows_q], problem.log_base[rows_q])


def test_it_is_reproducible_and_agrees_with_the_formula():
    x_p, x_q, l_p, l_q, _ = gaussian(200, 0)
    fit = pre.PosteriorRatio().fit(x_p, x_q, l_p, l_q)
    deltas = fit.bootstrap(150, rng=1)
    np.testing.assert_array_equal(deltas, fit.bootstrap(150, rng=1, jobs=2))
    np.testing.assert_allclose(deltas.std(axis=0), fit.conf_int().std_error, rtol=0.25)
    with pytest.raises(pre.DataError) as error:
        fit.bootstrap(1)
    assert error.value.argument == "replicates"


def test_refits_are_those_of_single_solves():
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (150, 2)), rng.normal(size=(200, 2))
    problem = pre.RatioProblem.from_samples(x_p, x_q, None, -0.2 * (x_q**2).sum(axis=1))
    deltas = bootstrap(problem, pre.solve(problem).delta, 60, rng=4)
    for generator, delta in zip(np.random.default_rng(4).spawn(60), deltas, strict=True):
        np.testing.assert_allclose(delta, pre.solve(resampled(problem, generator)).delta, atol=1e-6)


def test_resamples_without_a_solution_are_nan():
    rng = np.random.default_rng(1)
    problem = pre.RatioProblem.from_samples(rng.normal(0.6, 1.0, (12, 2)), rng.normal(size=(14, 2)))
    deltas = bootstrap(problem, np.zeros(2), 40)
    for generator, delta in zip(np.random.default_rng(0).spawn(40), deltas, strict=True):
        solution = pre.solve(resampled(problem, generator), check=False)
        assert np.isnan(delta).all() == (not solution.status.ok)
    assert 0 < np.isnan(deltas[:, 0]).sum() < 40


def test_a_penalised_fit_is_refitted_with_its_penalty():
    cp = pytest.importorskip("cvxpy")
    x_p, x_q, *_ = gaussian(80, 0)
    fit = pre.KLIEP(penalty=lambda delta: 50.0 * cp.sum_squares(delta)).fit(x_p, x_q)
    deltas = fit.bootstrap(4)
    assert np.abs(deltas).max() < 0.2
    assert np.all(np.isfinite(deltas))


@pytest.mark.parametrize("terms", [{"divergence": "chi2"}, {"bounds": (0.2, 3.0)}, {"radius": [0.0, 0.05]}], ids=str)
def test_refits_of_the_family_are_those_of_single_solves(terms):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.2, 1.0, (150, 2)), rng.normal(size=(200, 2))
    problem = pre.RatioProblem.from_samples(x_p, x_q, **terms)
    deltas = bootstrap(problem, pre.solve(problem).delta, 5, rng=4)
    for generator, delta in zip(np.random.default_rng(4).spawn(5), deltas, strict=True):
        drawn = resampled(problem, generator)
        again = pre.RatioProblem(drawn.target, drawn.features_q, drawn.log_base, **terms)
        np.testing.assert_allclose(delta, pre.solve(again).delta, atol=1e-6)


def test_a_largest_weight_is_that_of_a_row_that_is_drawn_once():
    rng = np.random.default_rng(3)
    problem = pre.RatioProblem.from_samples(
        rng.normal(0.1, 1.0, (40, 1)), rng.normal(size=(30, 1)), max_weight=1.2 / 30
    )
    deltas = bootstrap(problem, pre.solve(problem).delta, 30)
    assert np.isfinite(deltas).any()
