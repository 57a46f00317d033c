"""The radius in standard deviations: what it means, where it is not used, and that all that belongs to a fit agrees."""

import cvxpy as cp
import numpy as np
import pytest
from zoo import samples

import pre_convex as pre

UNIT = np.array([1.0, 1e4])


def sides(unit=1.0):
    x_p, x_q, l_p, l_q = samples()
    return x_p * unit, x_q * unit, l_p(x_p), l_q(x_q)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("radius", [0.1, "auto", "cv", {"x1": 0.2}])
def test_a_standardised_fit_does_not_depend_on_the_units_of_the_columns(norm, radius):
    fit = pre.PosteriorRatio(radius=radius, norm=norm).fit(*sides())
    scaled = pre.PosteriorRatio(radius=radius, norm=norm).fit(*sides(UNIT))
    np.testing.assert_allclose(scaled.delta_ * UNIT, fit.delta_, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(scaled.mu_, fit.mu_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(scaled.radius_, fit.radius_, rtol=1e-9)
    raw = pre.PosteriorRatio(radius=radius, norm=norm, standardise=False).fit(*sides(UNIT))
    assert not np.allclose(raw.mu_, fit.mu_, rtol=1e-3)


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("divergence", ["kl", "chi2"])
def test_the_radius_bounds_the_standardised_differences(norm, divergence):
    x_p, x_q, l_p, l_q = sides(UNIT)
    fit = pre.PosteriorRatio(radius=0.3, norm=norm, divergence=divergence).fit(x_p, x_q, l_p, l_q)
    base = np.exp(l_q) / np.exp(l_q).sum()
    spread = np.sqrt(base @ np.square(x_q - base @ x_q))
    np.testing.assert_allclose(fit.scale_, spread, rtol=1e-12)
    after = fit.diagnostics().balance_after
    np.testing.assert_allclose(after, (np.exp(l_p) / np.exp(l_p).sum() @ x_p - fit.mu_ @ x_q) / spread, atol=1e-9)
    assert np.linalg.norm(after, norm) == pytest.approx(0.3, rel=1e-6)


def test_all_that_belongs_to_a_fit_is_in_the_units_of_the_features(tmp_path):
    x_p, x_q, l_p, l_q = sides(UNIT)
    fit = pre.PosteriorRatio(radius=0.1).fit(x_p, x_q, l_p, l_q)
    np.testing.assert_allclose(fit.delta_ * fit.scale_, fit.solution_.delta)
    assert pre.certify(fit.problem_, fit.solution_.delta).gap <= 1e-8
    np.testing.assert_allclose(np.diff(fit.log_ratio(x_q[:2])), np.diff(x_q[:2] @ fit.delta_), rtol=1e-9)
    np.testing.assert_allclose(fit.ratio(x_q) * np.exp(fit.problem_.log_base), fit.mu_, rtol=1e-9)
    report = fit.summary()
    np.testing.assert_array_equal(report.values[:, 0], fit.delta_)
    assert dict(report.notes)["radius"] == "0.1 standard deviations in norm 2"
    near = fit.bootstrap(40, rng=1)
    assert np.all(np.abs(near.mean(axis=0) - fit.delta_) < 3.0 * near.std(axis=0))
    again = pre.load(pre.save(fit, tmp_path / "fit.npz"))
    for name in ("delta_", "scale_", "mu_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(fit, name))
    np.testing.assert_array_equal(again.log_ratio(x_q), fit.log_ratio(x_q))
    assert again.get_params()["standardise"] is True


@pytest.mark.parametrize("radius", [0.0, [0.0, np.inf]])
def test_without_a_radius_nothing_is_scaled(radius):
    given, raw = (pre.PosteriorRatio(radius=radius, standardise=s).fit(*sides(UNIT)) for s in (True, False))
    np.testing.assert_array_equal(given.delta_, raw.delta_)
    np.testing.assert_array_equal(given.problem_.features_q, raw.problem_.features_q)
    assert np.all(given.scale_ == 1.0)


def test_penalties_and_constraints_are_of_the_coefficients_in_the_units_of_the_features():
    x_p, x_q, *_ = sides(UNIT)
    fit = pre.KLIEP(radius=0.05, constraints=lambda d: [d[1] >= 1e-5]).fit(x_p, x_q)
    assert fit.delta_[1] == pytest.approx(1e-5, rel=1e-4)
    fit = pre.KLIEP(radius=0.05, penalty=lambda d: cp.sum_squares(d)).fit(x_p, x_q)
    problem = fit.problem_
    value = pre.solve(problem, penalty=lambda d: cp.sum_squares(d / fit.scale_)).primal_value
    assert fit.solution_.primal_value == pytest.approx(value, abs=1e-7)


def test_kernel_features_keep_their_norm():
    x_p, x_q, *_ = samples(80)
    kernel = pre.Kernel(length_scale=1.0, landmarks=5)
    one, other = (pre.KLIEP(kernel, radius=0.1, standardise=s).fit(x_p, x_q) for s in (True, False))
    np.testing.assert_array_equal(one.delta_, other.delta_)
    both = pre.KLIEP(pre.Polynomial() + kernel, radius=0.1).fit(x_p, x_q)
    assert np.all(both.scale_[-5:] == 1.0)
    np.testing.assert_allclose(both.scale_[:4], np.std(np.hstack([x_q, x_q**2]), axis=0))


def test_a_column_that_is_constant_on_the_q_side_has_the_unit_of_the_p_side():
    x_p, x_q, *_ = samples()
    p, q = (np.column_stack([x, c]) for x, c in ((x_p, np.arange(len(x_p)) % 2), (x_q, np.ones(len(x_q)))))
    fit = pre.KLIEP(radius=2.0).fit(p, q)
    assert fit.scale_[2] == pytest.approx(0.5)
    constant = pre.KLIEP(radius=0.1).fit(np.column_stack([x_p, np.ones(len(x_p))]), q)
    assert constant.scale_[2] == 1.0


def test_rows_read_block_by_block_have_the_same_units():
    dask_array = pytest.importorskip("dask.array")
    x_p, x_q, l_p, l_q = sides(UNIT)
    x_p = x_p + [0.0, 3e6]  # far from zero
    x_q = x_q + [0.0, 3e6]
    blocks = [dask_array.from_array(x, chunks=(150, 2)) for x in (x_p, x_q)]
    near = pre.PosteriorRatio("linear", radius=0.1).fit(x_p, x_q, l_p, l_q)
    far = pre.PosteriorRatio("linear", radius=0.1).fit(*blocks, l_p, l_q)
    np.testing.assert_allclose(far.scale_, near.scale_, rtol=1e-9)
    np.testing.assert_allclose(far.delta_, near.delta_, rtol=1e-6)
    np.testing.assert_allclose(far.mu_, near.mu_, rtol=1e-6)
    np.testing.assert_allclose(far.log_ratio(x_q), near.log_ratio(x_q), atol=1e-6)
    assert "standard deviations" in str(far.summary())


def test_float32_columns_stay_float32():
    x_p, x_q, *_ = sides(UNIT)
    narrow = pre.KLIEP(radius=0.1).fit(x_p.astype(np.float32), x_q.astype(np.float32))
    assert narrow.problem_.features_q.dtype == np.float32
    np.testing.assert_allclose(narrow.delta_, pre.KLIEP(radius=0.1).fit(x_p, x_q).delta_, rtol=1e-4)


def test_the_name_of_a_penalty_picks_the_norm(tmp_path):
    x_p, x_q, *_ = samples()
    for name, norm in (("l1", np.inf), ("l2", 2)):
        fit = pre.KLIEP(radius=0.2, penalty=name).fit(x_p, x_q)
        np.testing.assert_array_equal(fit.delta_, pre.KLIEP(radius=0.2, norm=norm).fit(x_p, x_q).delta_)
        np.testing.assert_array_equal(fit.delta_, pre.KLIEP(radius=0.2, norm=norm, penalty=name).fit(x_p, x_q).delta_)
        again = pre.load(pre.save(fit, tmp_path / f"{name}.npz"))
        assert again.get_params()["penalty"] == name
        np.testing.assert_array_equal(again.fit(x_p, x_q).delta_, fit.delta_)
        assert "radius" in str(pre.LSIF(radius=0.2, penalty=name).fit(x_p, x_q).summary())
    assert pre.KLIEP(penalty="l1").fit(x_p, x_q).conf_int().lower.size == 2
