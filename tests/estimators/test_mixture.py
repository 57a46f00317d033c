"""Mixture KLIEP as an estimator."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import pre_convex as pre


def bumps(seed, n=300):
    """Two bumps against one, with the true ratio at the q rows."""
    rng = np.random.default_rng(seed)
    x_p = np.concatenate([rng.normal(m, 0.5, (n, 1)) for m in (-1.5, 1.5)])
    x_q = rng.normal(0.0, 1.5, (2 * n, 1))

    def density(x, m, s):
        return np.exp(-np.square(x - m) / (2.0 * s**2)) / s

    truth = (density(x_q, -1.5, 0.5) + density(x_q, 1.5, 0.5)) / 2.0 / density(x_q, 0.0, 1.5)
    return x_p, x_q, truth[:, 0]


def test_two_bumps_are_found():
    x_p, x_q, truth = bumps(0)
    fit = pre.KLIEP(model="mixture").fit(x_p, x_q)
    assert isinstance(fit, pre.MixtureKLIEP)
    assert np.corrcoef(fit.ratio(x_q), truth)[0, 1] > 0.97
    assert fit.solution_.status is pre.Status.OPTIMAL
    assert fit.mu_.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(fit.sample_weight(), fit.ratio(x_q), rtol=1e-9)
    assert fit.score(*bumps(1)[:2]) > 0.25


def test_its_program_has_the_value_of_the_fit():
    x_p, x_q, _ = bumps(2, 40)
    fit = pre.MixtureKLIEP(0.4).fit(x_p, x_q)
    program = fit.program()
    program.cvxpy.solve(solver="CLARABEL")
    assert program.cvxpy.value == pytest.approx(fit.divergence_, abs=1e-6)


def test_likelihoods_weight_both_sides():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 500, 1))
    fit = pre.MixtureKLIEP().fit(x[0], x[1], lambda x: x[:, 0], None)  # the posterior of p is N(1, 1)
    np.testing.assert_allclose(fit.mu_ @ x[1], 1.0, atol=0.25)
    doubled = pre.MixtureKLIEP(0.7, centres=1000).fit(np.repeat(x[0], 2, axis=0), x[1])
    weighted = pre.MixtureKLIEP(0.7, centres=1000).fit(x[0], x[1], np.full(500, 3.0))
    np.testing.assert_allclose(doubled.ratio(x[1]), weighted.ratio(x[1]), atol=1e-3)


def test_it_follows_a_change_of_units_and_the_names_of_columns():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    x_p, x_q = rng.normal(0.4, 1.0, (80, 2)), rng.normal(size=(90, 2))
    frame_p, frame_q = (pd.DataFrame(x, columns=["u", "v"]) for x in (x_p, x_q))
    fit = pre.MixtureKLIEP(0.8).fit(frame_p * [10.0, 0.1] + 5.0, (frame_q * [10.0, 0.1] + 5.0)[["v", "u"]])
    plain = pre.MixtureKLIEP(0.8).fit(x_p, x_q)
    np.testing.assert_allclose(fit.ratio((frame_q * [10.0, 0.1] + 5.0)[["v", "u"]]), plain.ratio(x_q), atol=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_no_draw_raises(seed):
    rng = np.random.default_rng(seed)
    for x_p, x_q in (
        (rng.standard_cauchy((60, 2)) + 1.0, rng.standard_cauchy((70, 2))),
        (rng.normal(20.0, 1.0, (40, 1)), rng.normal(size=(40, 1))),
        (rng.integers(0, 3, (40, 3)).astype(float), rng.integers(0, 4, (60, 3)).astype(float)),
        (np.ones((10, 1)), np.ones((12, 1))),
    ):
        fit = pre.MixtureKLIEP().fit(x_p, x_q)
        assert fit.solution_.status is pre.Status.OPTIMAL
        assert np.all(np.isfinite(fit.ratio(np.concatenate([x_p, x_q]))))


def test_it_is_an_estimator_of_scikit_learn():
    x_p, x_q, _ = bumps(5, 40)
    fit = pre.MixtureKLIEP(0.5)
    with pytest.raises(pre.UnfittedError):
        fit.sample_weight()
    fit.fit(x_p, x_q)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fit)).ratio(x_q), fit.ratio(x_q))
    np.testing.assert_array_equal(clone(fit).fit(x_p, x_q).ratio(x_q), fit.ratio(x_q))
    assert "gap" in fit.summary()
    assert "model" not in pre.KLIEP().get_params()


def test_a_mixture_reads_files_and_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(4)
    x_p, x_q = rng.normal(0.5, 1.0, (60, 2)), rng.normal(0.0, 1.0, (80, 2))
    for name, x in {"p": x_p, "q": x_q}.items():
        np.savetxt(tmp_path / f"{name}.csv", x, delimiter=",", header="age,dose", comments="", fmt="%.17g")
    fit = pre.KLIEP(model="mixture", length_scale=1.0).fit(x_p, x_q)
    other = pre.KLIEP(model="mixture", length_scale=1.0).fit(tmp_path / "p.csv", tmp_path / "q.csv")
    assert other.ratio(tmp_path / "q.csv") == pytest.approx(fit.ratio(x_q))
    assert other.plot().get_ylabel() == "dose"
    assert pre.plots.plot_ratio(fit, x_q, columns=1).get_xlabel() == "x1"


def test_samples_too_far_apart_for_any_kernel_have_a_ratio_of_one():
    """Every kernel at a p row is zero at all q rows, so only the constant is left."""
    rng = np.random.default_rng(5)
    fit = pre.KLIEP(model="mixture", length_scale=0.1).fit(rng.normal(60.0, 1.0, (40, 3)), rng.normal(size=(50, 3)))
    np.testing.assert_allclose(fit.log_ratio(rng.normal(size=(5, 3))), 0.0, atol=1e-12)
