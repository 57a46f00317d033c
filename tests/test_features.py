"""Feature maps and likelihoods."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.features import FromCallable, from_state, make_features, to_state
from pre_convex.likelihoods import log_likelihood

X = np.random.default_rng(0).normal(size=(40, 30))
MAPS = {
    "linear": pre.Linear(),
    "polynomial": pre.Polynomial(3),
    "interactions": pre.Polynomial(2, interactions=True),
    "autocorrelation": pre.Autocorrelation(5),
    "lag products": pre.LagProducts(2),
    "sum": pre.Linear() + pre.LagProducts() + pre.Autocorrelation(3),
    "kernel": pre.Kernel(length_scale=2.0).fitted(X),
    "kernel and linear": pre.Linear() + pre.Kernel("polynomial", length_scale=3.0, degree=2).fitted(X),
}


@pytest.mark.parametrize("name", MAPS)
def test_a_map_works_on_blocks_and_names_every_column(name):
    f = MAPS[name]
    whole = f(X)
    np.testing.assert_allclose(np.concatenate([f(X[:7]), f(X[7:])]), whole, atol=1e-10)
    names = f.names([f"x{i}" for i in range(30)])
    assert len(names) == whole.shape[1]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", MAPS)
def test_a_map_survives_a_round_trip(name, tmp_path):
    f = MAPS[name]
    copy = from_state(to_state(f))
    np.testing.assert_array_equal(copy(X), f(X))
    fit = pre.PosteriorRatio(f, radius="auto").fit(X + 0.1, X)
    loaded = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    np.testing.assert_array_equal(loaded.log_ratio(X), fit.log_ratio(X))


def test_a_function_cannot_be_written():
    with pytest.raises(pre.DataError, match="function of your own"):
        to_state(FromCallable(lambda x: x))


def test_autocorrelation_is_the_definition_of_matlab():
    x = np.random.default_rng(1).normal(size=50)
    got = pre.Autocorrelation(20)(x[None])[0]
    d = x - x.mean()
    expected = [np.sum(d[: 50 - lag] * d[lag:]) / np.sum(d * d) for lag in range(1, 21)]
    np.testing.assert_allclose(got, expected, atol=1e-14)
    assert np.all(pre.Autocorrelation(3)(np.ones((2, 10))) == 0.0)


def test_maps_refuse_what_they_cannot_do():
    with pytest.raises(pre.DataError, match="lags: 20 lags need rows of more than 20"):
        pre.Autocorrelation(20)(X[:, :10])
    with pytest.raises(pre.DataError, match="lags: 0"):
        pre.Autocorrelation(0)
    with pytest.raises(pre.DataError, match="features: 'nope' is not known"):
        make_features("nope")
    with pytest.raises(pre.DataError, match="kind: 'cosine'"):
        pre.Kernel("cosine")
    with pytest.raises(pre.DataError, match="no landmarks yet"):
        pre.Kernel()(X)


def test_columns_are_named_in_the_summary():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["age", "dose"])
    fit = pre.PosteriorRatio("polynomial").fit(frame + 0.2, frame)
    assert "dose^2" in str(fit.summary())


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
    ("call", "message"),
    [
        (lambda: pre.Gaussian([0.0, 1.0], precision=[1.0, 2.0, 3.0]), "precision: must be one number or 2"),
        (lambda: pre.Gaussian([0.0], precision=0.0), "precision: 0.0 is not positive"),
        (lambda: pre.Gaussian([0.0, 1.0], covariance=np.ones((2, 2))), "covariance: is not positive definite"),
        (lambda: pre.Gaussian([0.0], covariance=np.eye(2)), "covariance: must be a symmetric matrix"),
        (lambda: pre.Gaussian([0.0], precision=1.0, covariance=[[1.0]]), "either a precision or a covariance"),
        (lambda: pre.Gaussian([np.nan]), "observation: must be finite"),
        (lambda: pre.Gaussian([0.0])(np.zeros((2, 3))), "observation: has 1 entries, the samples have 3"),
    ],
)
def test_gaussian_refusals(call, message):
    with pytest.raises(pre.DataError, match=message):
        call()


def test_class_probabilities_are_clipped_in_the_log_domain():
    proba = lambda x: np.column_stack([x[:, 0], 1.0 - x[:, 0]])  # noqa: E731
    values = pre.ClassProbability(proba, 1)(np.array([[0.25], [1.0], [1.0 + 1e-9]]))
    np.testing.assert_allclose(values, [np.log(0.75), np.log(1e-12), np.log(1e-12)], rtol=1e-6)
    with pytest.raises(pre.DataError, match="predict_proba: returned shape"):
        pre.ClassProbability(proba, 5)(np.ones((2, 1)))


def test_likelihoods_are_evaluated_in_blocks(monkeypatch):
    import pre_convex.likelihoods as module

    monkeypatch.setattr(module, "BLOCK_ROWS", 16)
    sizes = []

    def likelihood(x):
        sizes.append(len(x))
        return np.full(len(x), -np.inf) if len(sizes) == 1 else x[:, 0]  # a whole block may be impossible

    values = log_likelihood(likelihood, X, "l")
    assert sizes == [16, 16, 8]
    np.testing.assert_array_equal(values[16:], X[16:, 0])
