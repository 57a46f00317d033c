import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.likelihoods import log_likelihood


@pytest.mark.parametrize("kind", ["scalar", "diagonal", "full"])
def test_gaussian_likelihoods_are_the_density_up_to_a_constant(kind):
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=3)
    A = rng.normal(size=(3, 3))
    covariance = {"scalar": np.eye(3) / 2.5, "diagonal": np.diag([1.0, 0.5, 2.0]), "full": A @ A.T + np.eye(3)}[kind]
    options = {
        "scalar": {"precision": 2.5},
        "diagonal": {"precision": [1.0, 2.0, 0.5]},
        "full": {"covariance": covariance},
    }[kind]
    got = pre.Gaussian(y, **options)(x)
    expected = np.array([multivariate_normal.logpdf(y, row, covariance) for row in x])
    np.testing.assert_allclose(got - got[0], expected - expected[0], atol=1e-10)
    several = np.stack([y, y + 1.0])
    total = pre.Gaussian(several, **options)(x)
    np.testing.assert_allclose(total, got + pre.Gaussian(y + 1.0, **options)(x), atol=1e-9)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("precision", lambda: pre.Gaussian([0.0, 1.0], precision=[1.0, 2.0, 3.0])),
        ("precision", lambda: pre.Gaussian([0.0], precision=0.0)),
        ("covariance", lambda: pre.Gaussian([0.0, 1.0], covariance=np.ones((2, 2)))),
        ("covariance", lambda: pre.Gaussian([0.0], covariance=np.eye(2))),
        ("precision", lambda: pre.Gaussian([0.0], precision=1.0, covariance=[[1.0]])),
        ("observation", lambda: pre.Gaussian([np.nan])),
        ("observation", lambda: pre.Gaussian([0.0])(np.zeros((2, 3)))),
    ],
)
def test_bad_gaussians_are_refused(argument, call):
    with pytest.raises(pre.DataError) as error:
        call()
    assert error.value.argument == argument


def test_class_probabilities_are_clipped_before_the_log():
    proba = lambda x: np.column_stack([x[:, 0], 1.0 - x[:, 0]])  # noqa: E731
    values = pre.ClassProbability(proba, 1)(np.array([[0.25], [1.0], [1.0 + 1e-9]]))
    np.testing.assert_allclose(values, [np.log(0.75), np.log(1e-12), np.log(1e-12)], rtol=1e-6)
    with pytest.raises(pre.DataError) as error:
        pre.ClassProbability(proba, 5)(np.ones((2, 1)))
    assert error.value.argument == "predict_proba"


def test_likelihoods_are_evaluated_in_blocks(monkeypatch):
    monkeypatch.setattr("pre_convex.data.likelihoods.BLOCK_ROWS", 16)
    x, sizes = np.random.default_rng(0).normal(size=(40, 3)), []

    def likelihood(x):
        sizes.append(len(x))
        return np.full(len(x), -np.inf) if len(sizes) == 1 else x[:, 0]  # all rows of a block may be impossible

    values = log_likelihood(likelihood, x, "l")
    assert sizes == [16, 16, 8]
    np.testing.assert_array_equal(values[16:], x[16:, 0])


def test_a_saved_fit_with_likelihoods_predicts_the_same_bits(tmp_path):
    rng = np.random.default_rng(0)
    x_p, x_q = rng.normal(0.3, 0.6, (20, 2)), rng.normal(size=(40, 2))
    for seed in range(10):
        lik = pre.Gaussian(np.random.default_rng(seed).normal(size=2), precision=0.5)
        fit = pre.PosteriorRatio(radius=0.1).fit(x_p, x_q, lik, lik)
        again = pre.load(pre.save(fit, tmp_path / "fit.npz"))
        np.testing.assert_array_equal(again.log_ratio(x_q), fit.log_ratio(x_q))
