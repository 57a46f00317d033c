import numpy as np
import pytest

import pre_convex as pre
from pre_convex.data.features import FromCallable, feature_classes, from_state, make_features, to_state

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


def test_a_function_cannot_be_written_to_a_file():
    with pytest.raises(pre.DataError) as error:
        to_state(FromCallable(lambda x: x))
    assert error.value.argument == "features"


def test_an_unknown_map_in_a_file_is_refused():
    with pytest.raises(pre.DataError, match="'spline'") as error:
        from_state({"name": "spline"})
    assert error.value.argument == "features"


def test_autocorrelation_follows_its_definition():
    x = np.random.default_rng(1).normal(size=50)
    got = pre.Autocorrelation(20)(x[None])[0]
    d = x - x.mean()
    expected = [np.sum(d[: 50 - lag] * d[lag:]) / np.sum(d * d) for lag in range(1, 21)]
    np.testing.assert_allclose(got, expected, atol=1e-14)
    assert np.all(pre.Autocorrelation(3)(np.ones((2, 10))) == 0.0)


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("lags", lambda: pre.Autocorrelation(20)(X[:, :10])),
        ("lags", lambda: pre.Autocorrelation(0)),
        ("lag", lambda: pre.LagProducts(10)(X[:, :10])),
        ("degree", lambda: pre.Polynomial(2.5)),
        ("parts", lambda: pre.Concatenation([])),
        ("features", lambda: make_features("nope")),
        ("features", lambda: make_features(pre.Linear)),
        ("features", lambda: make_features(3)),
        ("kind", lambda: pre.Kernel("cosine")),
        ("features", lambda: pre.Kernel()(X)),
    ],
)
def test_bad_maps_and_samples_are_refused(argument, call):
    with pytest.raises(pre.DataError) as error:
        call()
    assert error.value.argument == argument


def test_every_map_has_a_name():
    for name, kind in feature_classes().items():
        assert type(make_features(name)) is getattr(kind, "func", kind)  # "quadratic" sets a parameter


def test_columns_are_named_in_the_summary():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X[:, :2], columns=["age", "dose"])
    fit = pre.PosteriorRatio("polynomial").fit(frame + 0.2, frame)
    assert "dose^2" in str(fit.summary())
