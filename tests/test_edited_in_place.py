"""Arrays that are edited in place after a fit: small ones have no effect, large ones raise."""

import copy
import pickle

import numpy as np
import pytest
from zoo import samples

import pre_convex as pre
from pre_convex._internal import snapshots
from pre_convex.applications.detection import Detector

KINDS = (pre.PosteriorRatio, pre.KLIEP, pre.PluginRatio, pre.RatioClassifier)


@pytest.fixture
def large(monkeypatch):
    """Treat all arrays as too large to copy."""
    monkeypatch.setattr(snapshots, "COPIED_BYTES", 0)


def fitted(kind, x_p, x_q):
    if kind is pre.RatioClassifier:
        return kind().fit(np.concatenate([x_p, x_q]), np.repeat([1, 0], [len(x_p), len(x_q)]))
    return kind().fit(x_p, x_q)


#: everything that reads the samples again after a fit
QUESTIONS = {
    "log_ratio": lambda fit: fit.log_ratio(np.zeros((2, 2))),
    "mu": lambda fit: fit.mu_,
    "solution mu": lambda fit: fit.solution_.mu,
    "summary": lambda fit: str(fit.summary()),
    "diagnostics": lambda fit: str(fit.diagnostics()),
    "bootstrap": lambda fit: fit.bootstrap(3),
    "certify": lambda fit: pre.certify(fit.problem_, fit.delta_).gap,
    "solve": lambda fit: pre.solve(fit.problem_).delta,
    "value": lambda fit: fit.problem_.value(fit.delta_),
    "residual": lambda fit: fit.problem_.residual(np.full(fit.problem_.n_q, 1.0 / fit.problem_.n_q)),
    "ranges": lambda fit: fit.problem_.ranges,
    "pickle": lambda fit: pickle.loads(pickle.dumps(fit)).delta_,
    "shallow copy": lambda fit: copy.copy(fit.problem_).value(fit.delta_),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_edits_after_a_fit_change_no_answer(kind, question):
    x_p, x_q, *_ = samples(60)
    ask = QUESTIONS[question]
    want = ask(fitted(kind, x_p, x_q))
    fit = fitted(kind, x_p, x_q)
    x_p *= 3.0
    x_q -= 1.0
    np.testing.assert_array_equal(ask(fit), want)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("kind", [pre.PosteriorRatio, pre.KLIEP])
def test_edits_of_large_arrays_raise(kind, question, large):
    x_p, x_q, *_ = samples(60)
    ask = QUESTIONS[question]
    for edited, name in ((x_q, "x_q"), (x_p, "x_p")):
        fit = fitted(kind, x_p, x_q)
        before = edited[7, 1]
        edited[7, 1] += 1e-12
        with pytest.raises(pre.DataError, match="changed in place") as error:
            ask(fit)
        assert error.value.argument == name
        edited[7, 1] = before
        ask(fit)  # undone: the same data again


def test_saving_a_fit_whose_data_was_edited_raises(large, tmp_path):
    x_p, x_q, *_ = samples(60)
    fit = pre.KLIEP().fit(x_p, x_q)
    x_p[0, 0] += 1.0
    with pytest.raises(pre.DataError, match="changed in place"):
        pre.save(fit, tmp_path / "fit.npz")
    assert list(tmp_path.iterdir()) == []


def test_answers_that_need_no_rows_are_not_affected(large):
    x_p, x_q, *_ = samples(60)
    fit = pre.KLIEP().fit(x_p, x_q)
    ratio, delta = fit.log_ratio(x_q), fit.delta_.copy()
    new = x_q.copy()
    x_q[:] = 0.0
    np.testing.assert_array_equal(fit.log_ratio(new), ratio)
    np.testing.assert_array_equal(fit.delta_, delta)


def test_every_array_of_a_problem_is_protected(large):
    rng = np.random.default_rng(0)
    arrays = {
        "features_q": rng.normal(size=(40, 2)),
        "log_base": np.log(rng.dirichlet(np.ones(40))),  # normalised, so that it would be kept as it is
        "features_p": rng.normal(size=(30, 2)),
        "log_weights_p": np.log(np.full(30, 1.0 / 30)),
    }
    target = arrays["features_p"].mean(axis=0)
    problem = pre.RatioProblem(target, **arrays)
    target[:] = 9.0
    value = problem.value([0.1, 0.2])
    for name, array in arrays.items():
        kept = array.copy()
        array[0] += 0.5
        with pytest.raises(pre.DataError, match="changed in place") as error:
            problem.value([0.1, 0.2])
        assert error.value.argument == name
        array[:] = kept
        assert problem.value([0.1, 0.2]) == value


def test_blocks_of_arrays_are_copies():
    x_p, x_q, *_ = samples(60)
    problem = pre.RatioProblem.from_blocks(x_p, x_q)
    value = problem.value([0.1, 0.2])
    x_q *= 2.0
    assert problem.value([0.1, 0.2]) == value


def test_likelihoods_and_kernels_keep_their_own_arrays():
    y, tau, x = np.array([1.0, 2.0]), [1.0, 2.0], np.zeros((1, 2))
    gaussian = pre.Gaussian(y, tau)
    before = gaussian(x)
    y[0], tau[1] = 7.0, 9.0
    np.testing.assert_array_equal(gaussian(x), before)
    assert (gaussian.observation[0], gaussian.precision) == (1.0, [1.0, 2.0])
    points, factor = np.ones((1, 2)), np.ones((1, 1))
    kernel = pre.Kernel(length_scale=1.0, points=points, factor=factor)
    before = kernel(x)
    points *= 3.0
    factor *= 2.0
    np.testing.assert_array_equal(kernel(x), before)


def test_a_detector_keeps_its_own_priors():
    rng = np.random.default_rng(0)
    prior_p, prior_q = rng.normal(0.0, 1.0, (300, 4)), rng.normal(0.0, 2.0, (300, 4))
    detector = Detector(prior_p, prior_q, noise=1.0, features="linear")
    before = detector.score(np.zeros(4), np.full(4, 1.0)).score
    prior_p *= 2.0
    prior_q += 1.0
    assert detector.score(np.zeros(4), np.full(4, 1.0)).score == before
    series = rng.normal(size=40)
    scan = detector.scan(series, warn=False)
    series[:] = 0.0
    assert scan.series.std() > 0.5
