"""Fits on disk: what comes back, and what is refused."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from zoo import samples

import pre_convex as pre


def test_a_loaded_fit_is_the_saved_one(tmp_path):
    x_p, x_q, l_p, l_q = samples(100)
    fit = pre.PosteriorRatio("polynomial", norm=np.inf, radius=0.05, solver="CLARABEL").fit(x_p, x_q, l_p, l_q)
    copy = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert str(copy.summary()) == str(fit.summary())
    assert copy.get_params()["norm"] == np.inf
    assert list(tmp_path.iterdir()) == [tmp_path / "fit.npz"]
    labelled = pre.RatioClassifier().fit(np.concatenate([x_p, x_q]), np.repeat([1, 0], 100))
    twin = pre.load(pre.save(labelled, tmp_path / "classifier.npz"))
    np.testing.assert_array_equal(twin.predict_proba(x_q), labelled.predict_proba(x_q))


def test_a_plugin_with_gaussian_likelihoods_can_be_saved(tmp_path):
    x_p, x_q, *_ = samples(60)
    likelihood = pre.Gaussian([0.2, 0.1], covariance=[[1.0, 0.3], [0.3, 2.0]])
    fit = pre.PluginRatio().fit(x_p, x_q, likelihood, None)
    copy = pre.load(pre.save(fit, tmp_path / "plugin.npz"))
    np.testing.assert_array_equal(copy.log_ratio(x_q), fit.log_ratio(x_q))
    assert copy.divergence_ == fit.divergence_


def test_a_loaded_kernel_takes_new_landmarks_when_it_is_refitted(tmp_path):
    x_p, x_q = (x[:, :1] for x in samples(40)[:2])
    fit = pre.KLIEP("kernel", radius="cv", cv=3).fit(x_p, x_q)
    copy = pre.load(pre.save(fit, tmp_path / "kernel.npz"))
    np.testing.assert_array_equal(copy.radius_choice_.mean, fit.radius_choice_.mean)
    again = clone(copy).fit(x_p + 50.0, x_q + 50.0)
    assert again.features_.points.min() > 40.0


def no_npz(path):
    path.write_bytes(b"not a file of ours")


def pickled_object(path):
    np.savez(path, header=np.array([object()], dtype=object))


def compressed(path):
    np.savez_compressed(path, header=np.zeros(10**6))


def absent(path):
    """Write nothing."""


@pytest.mark.parametrize("write", [no_npz, pickled_object, compressed, absent])
def test_files_that_are_not_fits_are_refused(tmp_path, write):
    path = tmp_path / "bad.npz"
    write(path)
    with pytest.raises(pre.DataError) as error:
        pre.load(path)
    assert error.value.argument == "path"


def test_fits_with_functions_cannot_be_saved(tmp_path):
    x_p, x_q, *_ = samples(50)
    for fit in (
        pre.PluginRatio().fit(x_p, x_q, lambda x: x[:, 0]),
        pre.KLIEP(penalty=lambda d: cp.norm1(d)).fit(x_p, x_q),
    ):
        with pytest.raises(pre.DataError, match="function") as error:
            pre.save(fit, tmp_path / "fit.npz")
        assert error.value.argument == "fit"
    with pytest.raises(pre.DataError) as error:
        pre.save(pre.KLIEP().fit(x_p, x_q), tmp_path / "no" / "folder.npz")
    assert error.value.argument == "path"
    assert list(tmp_path.iterdir()) == []
