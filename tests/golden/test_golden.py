"""Golden values at 50 digits: the file is verified, and every solver agrees with it."""

import json
from pathlib import Path

import numpy as np
import pytest
from engines import CONE, OWN, cone
from exact import Exact, dot, mp, mpf, norm_of

import pre_convex as pre

GOLDEN = json.loads(Path(__file__).with_name("values.json").read_text(encoding="utf-8"))
EPS = np.finfo(float).eps


def of_kind(kind):
    """Entries of one kind, as pytest parameters."""
    return [pytest.param(entry, id=entry["name"]) for entry in GOLDEN if entry["kind"] == kind]


def data(entry):
    """Target, features, log base weights, radius and norm, in float64."""
    log_base = np.array([float(x) for x in entry["log_base"]])
    return np.array(entry["target"]), np.array(entry["features_q"]), log_base, entry["radius"], float(entry["norm"])


def problem_of(entry):
    target, features, log_base, radius, norm = data(entry)
    return pre.RatioProblem(target, features, log_base, radius=radius, norm=norm)


def digits(entry, name):
    """The stored digits."""
    found = entry[name]
    return [mpf(x) for x in found] if isinstance(found, list) else mpf(found)


def engines():
    """All Newton solvers, and the cone solvers in both formulations."""
    return {**OWN, **{f"{name} {form}": cone(name, form) for name, form in CONE}}


def test_every_kind_is_in_the_file():
    assert {entry["kind"] for entry in GOLDEN} == {"OPTIMAL", "BOUNDARY", "INFEASIBLE"}
    assert len(GOLDEN) >= 12
    assert any(min(data(entry)[2]) == -700.0 and max(data(entry)[2]) == 700.0 for entry in GOLDEN)


@pytest.mark.parametrize("entry", of_kind("OPTIMAL"))
def test_optimality_conditions_hold_at_fifty_digits(entry):
    exact, delta = Exact(*data(entry)), digits(entry, "delta")
    size = 1 + norm_of(delta, 2) * max(norm_of(f, 2) for f in exact.F)
    assert exact.kkt(delta) < mpf(10) ** -44 * size
    base = exact.tilt([mpf(0)] * len(delta))[0]
    assert abs(exact.value(delta) - base - digits(entry, "value")) < mpf(10) ** -44 * size


@pytest.mark.parametrize("entry", of_kind("BOUNDARY"))
def test_weights_on_the_face_are_optimal_at_fifty_digits(entry):
    exact, mu, slope = Exact(*data(entry)), digits(entry, "weights"), digits(entry, "face_delta")
    rows, v = [exact.of_row[j] for j in entry["on_face"]], [mpf(x) for x in entry["normal"]]
    heights = [dot(v, f) - dot(v, exact.b) for f in exact.F]
    assert all(heights[j] == 0 for j in rows)
    assert all(h < 0 for j, h in enumerate(heights) if j not in rows)
    # tilted base weights on the face with the right moment are optimal
    assert abs(mp.fsum(mu) - 1) < 1e-48
    for i, b in enumerate(exact.b):
        assert abs(mp.fsum(m * exact.F[j][i] for m, j in zip(mu, rows, strict=True)) - b) < 1e-48
    logs = [mp.log(m) - exact.a[j] - dot(slope, exact.F[j]) for m, j in zip(mu, rows, strict=True)]
    assert max(logs) - min(logs) < 1e-48
    value = mp.fsum(m * (exact.a[j] - mp.log(m)) for m, j in zip(mu, rows, strict=True))
    assert abs(value - exact.tilt([mpf(0)] * len(v))[0] - digits(entry, "value")) < 1e-48


@pytest.mark.parametrize("entry", of_kind("INFEASIBLE"))
def test_the_distance_has_two_proofs_at_fifty_digits(entry):
    exact, mu = Exact(*data(entry)), digits(entry, "weights")
    rows = [exact.of_row[j] for j in entry["on_face"]]
    nearest = [mp.fsum(m * exact.F[j][i] for m, j in zip(mu, rows, strict=True)) for i in range(len(exact.b))]
    distance = norm_of([b - p for b, p in zip(exact.b, nearest, strict=True)], exact.norm)
    assert min(mu) >= 0
    assert abs(mp.fsum(mu) - 1) < 1e-48
    assert abs(distance - digits(entry, "minimal_radius")) < 1e-48
    assert abs(exact.separation(entry["normal"]) - distance) < 1e-48
    assert distance > exact.R


@pytest.mark.parametrize("entry", of_kind("OPTIMAL"))
def test_every_solver_finds_the_golden_answer(entry):
    """Value and δ are as close to the golden ones as the gap says."""
    problem = problem_of(entry)
    delta, value = np.array([float(x) for x in entry["delta"]]), digits(entry, "value")
    # round-off of normalising the base weights
    rounding = 4 * EPS * (1.0 + np.abs(problem.log_base[problem.log_base > -np.inf]).max())
    for name, engine in engines().items():
        solution = engine(problem)
        assert solution.status is pre.Status.OPTIMAL, name
        assert -rounding - solution.certificate.noise <= solution.primal_value - value <= solution.gap + rounding, name
        assert solution.dual_value <= value + rounding, name
        off = solution.delta - delta
        # to second order, δ off the minimum costs half its square in the Hessian, and the gap is no smaller
        assert 0.5 * off @ problem.hessian(delta) @ off <= 1.01 * (solution.gap + rounding), name


@pytest.mark.parametrize("entry", of_kind("BOUNDARY"))
def test_every_solver_finds_the_golden_weights(entry):
    problem = problem_of(entry)
    mu = np.zeros(problem.n_q)
    mu[entry["on_face"]] = [float(x) for x in entry["weights"]]
    for name, engine in engines().items():
        solution = engine(problem)
        assert solution.status is pre.Status.BOUNDARY, name
        np.testing.assert_allclose(solution.mu, mu, atol=1e-9, err_msg=name)
        assert solution.dual_value == pytest.approx(float(entry["value"]), abs=1e-8), name
        assert solution.dual_value <= digits(entry, "value") + 1e-15, name
        v = np.array(entry["normal"]) / np.linalg.norm(entry["normal"])
        direction = sum(one.sign * np.eye(problem.k)[one.feature] for one in solution.recession)
        np.testing.assert_array_equal(direction, v, err_msg=name)


@pytest.mark.parametrize("entry", of_kind("INFEASIBLE"))
def test_every_solver_finds_the_golden_distance(entry):
    problem = problem_of(entry)
    for name, engine in engines().items():
        solution = engine(problem)
        assert solution.status is pre.Status.INFEASIBLE, name
        distance = float(entry["minimal_radius"])
        assert solution.hull.lower <= distance * (1 + 1e-15), name
        assert solution.hull.radius >= distance * (1 - 1e-15), name
        assert solution.hull.radius - solution.hull.lower <= 1e-7 * distance, name  # the accuracy that was asked for
