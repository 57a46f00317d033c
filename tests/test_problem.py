import numpy as np
import pytest
from zoo import gaussian, planted

import pre_convex as pre


def test_value_gradient_and_hessian_agree():
    problem, delta = planted(strength=1.0)
    step = 1e-6
    for i in range(problem.k):
        e = step * np.eye(problem.k)[i]
        slope = (problem.value(delta + e) - problem.value(delta - e)) / (2 * step)
        assert problem.gradient(delta)[i] == pytest.approx(slope, abs=1e-8)
        bend = (problem.gradient(delta + e) - problem.gradient(delta - e)) / (2 * step)
        np.testing.assert_allclose(problem.hessian(delta)[i], bend, atol=1e-8)


def test_value_at_zero_is_zero_and_the_link_gives_weights():
    problem, delta = planted()
    assert problem.value(np.zeros(3)) == pytest.approx(0.0, abs=1e-14)
    mu = np.exp(problem.log_mu(delta))
    assert mu.sum() == pytest.approx(1.0, abs=1e-13)
    np.testing.assert_allclose(problem.moment(mu), -problem.gradient(delta), atol=1e-13)
    # the identity of [LINK]: value minus dual value is minus the product of residual and δ
    assert problem.value(delta) - problem.dual_value(mu) == pytest.approx(-problem.moment(mu) @ delta, abs=1e-12)


def test_everything_is_read_only_and_frozen():
    problem, _ = planted()
    for name in ("target", "features_q", "log_base"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(problem, name)[0] = 1.0
    with pytest.raises(AttributeError):
        problem.radius = 1.0


def test_another_radius_leaves_the_problem_alone():
    problem, _ = planted(radius=0.1)
    other = problem.with_radius(0.2, np.inf)
    assert (other.radius, other.norm, problem.radius, problem.norm) == (0.2, np.inf, 0.1, 2)
    assert other.features_q is problem.features_q
    for radius, norm in ((-1.0, 2), (0.1, 7)):
        with pytest.raises(pre.DataError):
            problem.with_radius(radius, norm)


def test_a_float64_array_is_not_copied():
    F = np.random.default_rng(0).normal(size=(50, 2))
    assert np.shares_memory(pre.RatioProblem([0.0, 0.0], F).features_q, F)


@pytest.mark.parametrize("offset", [-900.0, 1e4])
def test_offsets_of_log_likelihoods_change_nothing(offset):
    x_p, x_q, l_p, l_q, _ = gaussian(400, 0, precision=4.0)
    plain = pre.solve(pre.RatioProblem.from_samples(x_p, x_q, l_p, l_q))
    for move_p, move_q in ((offset, 0.0), (0.0, offset), (offset, -offset)):
        moved = pre.solve(
            pre.RatioProblem.from_samples(x_p, x_q, lambda x, c=move_p: l_p(x) + c, lambda x, c=move_q: l_q(x) + c)
        )
        np.testing.assert_allclose(moved.delta, plain.delta, atol=1e-10)
        np.testing.assert_allclose(moved.mu, plain.mu, atol=1e-10)
        assert moved.primal_value == pytest.approx(plain.primal_value, abs=1e-10)


@pytest.mark.parametrize("solver", pre.installed_solvers())
def test_rows_with_likelihood_zero_carry_no_weight(solver):
    problem, _ = planted(n=120, radius=0.05)
    log_base = problem.log_base.copy()
    log_base[::3] = -np.inf
    alive = log_base > -np.inf
    with_dead = pre.solve(pre.RatioProblem(problem.target, problem.features_q, log_base, radius=0.05), "dual", solver)
    without = pre.solve(pre.RatioProblem(problem.target, problem.features_q[alive], log_base[alive], radius=0.05))
    assert np.all(with_dead.mu[~alive] == 0.0)
    np.testing.assert_allclose(with_dead.mu[alive], without.mu, atol=1e-8)
    np.testing.assert_allclose(with_dead.delta, without.delta, atol=1e-6)


def test_rows_of_likelihood_zero_are_not_part_of_the_hull():
    problem = pre.RatioProblem([0.9], [[0.0], [0.5], [1.0]], [0.0, 0.0, -np.inf])
    with pytest.raises(pre.InfeasibleError) as error:
        pre.solve(problem)
    assert error.value.minimal_radius == pytest.approx(0.4)


def test_flat_likelihoods_are_kliep():
    x_p, x_q, *_ = gaussian(200, 1)
    kliep = pre.RatioProblem.from_samples(x_p, x_q)
    flat = pre.RatioProblem.from_samples(x_p, x_q, np.full(200, 3.0), lambda x: np.full(len(x), -2.0))
    np.testing.assert_allclose(kliep.target, x_p.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(pre.solve(flat).delta, pre.solve(kliep).delta, atol=1e-12)


def test_frames_keep_their_names_and_order():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    x_p, x_q, *_ = gaussian(60, 2)
    arrays = pre.RatioProblem.from_samples(x_p, x_q, features="polynomial")
    for frame in (pd.DataFrame, lambda data: pl.DataFrame(data)):
        p = frame({"age": x_p[:, 0], "dose": x_p[:, 1]})
        q = frame({"dose": x_q[:, 1], "age": x_q[:, 0]})  # another order: columns go by name
        problem = pre.RatioProblem.from_samples(p, q, features="polynomial")
        assert problem.feature_names == ("age", "dose", "age^2", "dose^2")
        np.testing.assert_array_equal(problem.features_q, arrays.features_q)


def test_a_memory_map_is_taken_as_it_is(tmp_path):
    F = np.random.default_rng(0).normal(size=(300, 2))
    np.save(tmp_path / "F.npy", F)
    mapped = np.load(tmp_path / "F.npy", mmap_mode="r")
    a, b = pre.RatioProblem([0.1, 0.2], mapped), pre.RatioProblem([0.1, 0.2], F)
    np.testing.assert_array_equal(pre.solve(a).delta, pre.solve(b).delta)
