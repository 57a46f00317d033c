"""A fit that fails leaves the estimator as it was."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from zoo import samples

import pre_convex as pre

KINDS = (pre.PosteriorRatio, pre.KLIEP, pre.PluginRatio, pre.RatioClassifier)


def data(kind, x_p, x_q):
    if kind is pre.RatioClassifier:
        return np.concatenate([x_p, x_q]), np.repeat([1, 0], [len(x_p), len(x_q)])
    return x_p, x_q


def infeasible(kind, x_p, x_q):
    return data(kind, x_p + 100.0, x_q)


def infeasible_and_narrower(kind, x_p, x_q):
    return data(kind, x_p[:, :1] + 100.0, x_q[:, :1])


def with_nan(kind, x_p, x_q):
    return data(kind, x_p, np.where(np.arange(len(x_q))[:, None] == 3, np.nan, x_q))


def failing_at_the_end(kind, x_p, x_q):
    """Likelihoods or weights that are refused; those of a plug-in only after its problem has been solved."""
    if kind is pre.PluginRatio:
        return x_p, x_q, None, lambda x: x[:3, 0]
    if kind is pre.RatioClassifier:
        return (*data(kind, x_p, x_q), np.full(len(x_p) + len(x_q), -1.0))
    return x_p, x_q, lambda x: x[:3, 0]


@pytest.mark.parametrize("change", [infeasible, infeasible_and_narrower, with_nan, failing_at_the_end])
@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_fit_changes_nothing(kind, change):
    x_p, x_q, *_ = samples(80)
    new, fitted = kind(), kind().fit(*data(kind, x_p, x_q))
    before, ratio, text = dict(vars(fitted)), fitted.log_ratio(x_q), str(fitted.summary())
    for estimator in (new, fitted):
        with pytest.raises((pre.PreConvexError, TypeError)):
            estimator.fit(*change(kind, x_p, x_q))
    assert vars(fitted).keys() == before.keys()
    assert all(vars(fitted)[name] is value for name, value in before.items())
    np.testing.assert_array_equal(fitted.log_ratio(x_q), ratio)
    assert str(fitted.summary()) == text
    assert vars(new) == new.get_params()
    with pytest.raises(NotFittedError):
        new.log_ratio(x_q)


def test_attributes_of_others_survive_a_fit():
    x_p, x_q, *_ = samples(80)

    class Own(pre.KLIEP):
        def fit(self, x_p, x_q):
            self.seen_ = len(x_p)
            return super().fit(x_p, x_q)

    fit = Own().set_params(radius=0.1)
    fit.note = "mine"
    assert fit.fit(x_p, x_q) is fit
    assert (fit.note, fit.seen_, fit.radius_) == ("mine", len(x_p), 0.1)
