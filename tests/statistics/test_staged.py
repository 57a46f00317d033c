"""``features="auto"``: what it chooses, how well it does, and that it never raises because of its own search."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex.statistics.staged import staged_features


def correlated(seed, n=400):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    x_p[:, 1] = 0.7 * x_p[:, 0] + np.sqrt(0.51) * x_p[:, 1]
    return x_p, x_q


def bumps(seed, n=400, d=1):
    rng = np.random.default_rng(seed)
    x_p, x_q = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    x_p[:, 0] = 0.5 * x_p[:, 0] + 1.5 * rng.choice([-1.0, 1.0], size=n)
    x_q[:, 0] *= 1.5
    return x_p, x_q


def test_a_change_of_correlation_needs_products_and_a_shift_does_not():
    rng = np.random.default_rng(0)
    assert "quadratic" in pre.KLIEP("auto").fit(*correlated(1)).feature_choice_.chosen
    x_p, x_q = rng.normal(0.5, 1.0, (500, 3)), rng.normal(size=(500, 3))
    shifted = pre.KLIEP("auto").fit(x_p, x_q)
    assert shifted.feature_choice_.chosen == "linear"
    slope = shifted.log_ratio(np.eye(3)) - shifted.log_ratio(np.zeros((1, 3)))
    np.testing.assert_allclose(slope, pre.KLIEP().fit(x_p, x_q).delta_, atol=0.03)


@pytest.mark.parametrize("d", [1, 8])
def test_two_bumps_need_a_kernel(d):
    fit = pre.KLIEP("auto").fit(*bumps(2, d=d))
    assert ("rbf" if d == 1 else "additive") in fit.feature_choice_.chosen
    held = bumps(3, 2000, d=d)
    assert fit.score(*held) > pre.KLIEP("polynomial").fit(*bumps(2, d=d)).score(*held) + 0.1
    assert fit.solution_.status is pre.Status.OPTIMAL


@pytest.mark.parametrize("loss", ["kl", "logistic"])
def test_equal_samples_need_no_features(loss):
    x = np.random.default_rng(4).normal(size=(300, 2))
    features, choice = staged_features(x[:150], x[:150], loss=loss)
    assert choice.chosen == "none"
    fit = pre.KLIEP(features, radius=choice.radius).fit(x[:150], x[:150])
    np.testing.assert_array_equal(fit.ratio(x), 1.0)


def test_likelihoods_take_part_in_the_search():
    rng = np.random.default_rng(5)
    x_p, x_q = rng.normal(size=(2, 600, 2))  # equal priors; the posteriors differ by a shift of one
    fit = pre.PosteriorRatio("auto").fit(x_p, x_q, lambda x: 1.0 * x[:, 0], np.zeros(600))
    np.testing.assert_allclose(fit.log_ratio([[1.0, 0.0]]) - fit.log_ratio([[0.0, 0.0]]), 1.0, atol=0.25)
    never = np.where(x_q[:, 1] > 0.0, -np.inf, 0.0)
    cut = pre.PosteriorRatio("auto").fit(x_p, x_q, None, never)
    assert np.all(cut.mu_[x_q[:, 1] > 0.0] == 0.0)


def draws(seed):
    rng = np.random.default_rng(seed)
    yield rng.standard_cauchy((60, 2)) + 1.0, rng.standard_cauchy((70, 2))
    yield rng.lognormal(0.3, 1.0, (50, 1)), rng.lognormal(0.0, 1.0, (50, 1))
    yield rng.integers(0, 3, (40, 3)).astype(float), rng.integers(0, 4, (60, 3)).astype(float)
    yield rng.normal(0.2, 1.0, (100, 20)), rng.normal(size=(100, 20))
    yield rng.normal(8.0, 1.0, (40, 1)), rng.normal(size=(40, 1))
    yield np.column_stack([rng.normal(size=30), np.ones(30)]), np.column_stack([rng.normal(size=30), np.ones(30)])
    yield 1e9 + rng.normal(size=(40, 1)), 1e9 + rng.normal(size=(40, 1))
    yield 1e-9 * rng.normal(size=(40, 1)), 1e-9 * rng.normal(size=(40, 1))


@pytest.mark.filterwarnings("ignore::pre_convex.PreConvexWarning")
@pytest.mark.parametrize("seed", range(2))
def test_no_draw_raises(seed):
    for x_p, x_q in draws(seed):
        fit = pre.KLIEP("auto").fit(x_p, x_q)
        assert fit.solution_.status.ok
        assert np.all(np.isfinite(fit.log_ratio(np.concatenate([x_p, x_q, 1e3 * x_q]))))


def test_shifted_and_scaled_columns_give_the_same_ratio():
    x_p, x_q = bumps(6, 150, d=2)
    unit, origin = np.array([3.0, 0.01]), np.array([5.0, -2.0])
    one, other = pre.KLIEP("auto").fit(x_p, x_q), pre.KLIEP("auto").fit(x_p * unit + origin, x_q * unit + origin)
    np.testing.assert_allclose(one.log_ratio(x_q), other.log_ratio(x_q * unit + origin), atol=1e-4)


def test_the_table_names_the_chosen_candidate():
    choice = pre.KLIEP("auto").fit(*correlated(7, 100)).feature_choice_
    assert sum(line.endswith("chosen") for line in str(choice).splitlines()) == 1
    chosen = next(one for one in choice.candidates if one.name == choice.chosen)
    assert chosen.std_error == 0.0
    assert choice.candidates[0].loss == pytest.approx(2.0 * np.log(2.0))


def test_the_logistic_estimator_takes_its_own_loss():
    x_p, x_q = correlated(8)
    fit = pre.LogisticRatio("auto").fit(x_p, x_q)
    assert "quadratic" in fit.feature_choice_.chosen
    assert fit.solution_.status is pre.Status.OPTIMAL
    np.testing.assert_allclose(
        fit.log_ratio(x_q), pre.LogisticRatio("quadratic").fit(x_p, x_q).log_ratio(x_q), atol=1.0
    )
    with pytest.raises(pre.DataError) as caught:
        pre.LogisticRatio("auto", radius=1.0).fit(x_p, x_q)
    assert caught.value.argument == "radius"


@pytest.mark.parametrize("estimator", [pre.KLIEP, pre.LogisticRatio])
def test_beyond_the_rows_that_the_loss_sees_the_ratio_is_constant(estimator):
    x_p, x_q = bumps(9, 200, d=2)
    seen = x_q if estimator is pre.KLIEP else np.concatenate([x_p, x_q])
    fit, low, high = estimator("auto").fit(x_p, x_q), seen.min(axis=0), seen.max(axis=0)
    far = 4.0 * np.random.default_rng(0).normal(size=(50, 2))
    np.testing.assert_allclose(fit.log_ratio(far), fit.log_ratio(np.clip(far, low, high)), atol=1e-9)
