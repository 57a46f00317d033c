"""The pass over the rows that the summary, inference and diagnostics of a fit share."""

import pickle

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.blocks import BlockRows
from pre_convex.data.rows import Rows
from pre_convex.statistics import tilted
from pre_convex.statistics.diagnostics import diagnose_tilted
from pre_convex.statistics.inference import Inference, infer
from pre_convex.statistics.tilted import TiltedProblem


def samples(shift=0.0):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 1.0, (300, 3)) + shift, rng.normal(0.0, 1.0, (500, 3)) + shift
    return x_p, x_q, pre.Gaussian(np.full(3, 0.2 + shift), precision=0.7), pre.Gaussian(np.full(3, 0.1 + shift))


def passes(monkeypatch):
    """Numbers of rows in every pass from now on."""
    counted = []
    for kind in (Rows, BlockRows):
        original = kind.reduce

        def reduce(self, *arguments, original=original):
            counted.append(self.shape[0])
            return original(self, *arguments)

        monkeypatch.setattr(kind, "reduce", reduce)
    return counted


def test_summary_inference_and_diagnostics_share_one_pass(monkeypatch):
    x_p, x_q, l_p, l_q = samples()
    fit = pre.PosteriorRatio().fit(x_p, x_q, l_p(x_p), l_q(x_q))
    counted = passes(monkeypatch)
    fit.summary()
    fit.inference("hc3").divergence()
    fit.inference().log_ratio(x_q)
    fit.diagnostics()
    fit.log_ratio(x_q)
    assert fit.mu_.sum() == pytest.approx(1.0)
    assert counted == [500]


def test_rows_in_blocks_are_read_once_on_each_side(monkeypatch):
    problem = pre.RatioProblem.from_blocks(*samples())
    solution = pre.solve(problem)
    at = TiltedProblem(problem, solution.delta)
    counted = passes(monkeypatch)
    infer(at).divergence_p_value()
    diagnose_tilted(at, solution)
    assert counted == [500, 300]


def test_moments_are_those_of_the_problem():
    problem = pre.RatioProblem.from_samples(*samples(), features=lambda x: x + 1e4)  # rows with an origin
    delta = pre.solve(problem).delta
    at = TiltedProblem(problem, delta)
    assert at.value == pytest.approx(problem.value(delta), abs=1e-12)
    np.testing.assert_allclose(at.mu, np.exp(problem.log_mu(delta)), rtol=1e-12)
    np.testing.assert_allclose(at.hessian, problem.hessian(delta), rtol=1e-10)
    np.testing.assert_allclose(at.residual, -problem.gradient(delta), atol=1e-12)
    copy = pickle.loads(pickle.dumps(at))
    assert copy.log_z == at.log_z


@pytest.mark.parametrize("shift", [0.0, 300.0])
def test_variances_from_sums_are_those_from_rows(monkeypatch, shift):
    problem = pre.RatioProblem.from_samples(*samples(shift))
    delta = pre.solve(problem).delta
    by_row = Inference(problem, delta)
    monkeypatch.setattr(tilted, "MAX_ENTRIES_BY_ROW", 0)
    by_sums = Inference(problem, delta)
    points = np.array([[0.0, 0.5, 1.0], [2.0, 0.0, -1.0]]) + shift
    np.testing.assert_allclose(by_sums.covariance, by_row.covariance, rtol=1e-8)
    np.testing.assert_allclose(by_sums.log_ratio(points).std_error, by_row.log_ratio(points).std_error, rtol=1e-8)
    np.testing.assert_allclose(by_sums.divergence().std_error, by_row.divergence().std_error, rtol=1e-8)
    assert by_sums.divergence_p_value() == pytest.approx(by_row.divergence_p_value(), rel=1e-6)


def test_blocks_give_the_numbers_of_rows_in_memory():
    near, far = (make(*samples()) for make in (pre.RatioProblem.from_samples, pre.RatioProblem.from_blocks))
    here, there = (pre.diagnose(problem, pre.solve(problem)) for problem in (near, far))
    for name in ("ess_p", "ess_base", "ess_mu", "largest_p", "largest_mu", "balance_before", "condition"):
        np.testing.assert_allclose(getattr(there, name), getattr(here, name), rtol=1e-6)
    assert np.isnan(there.pareto_k_mu)
