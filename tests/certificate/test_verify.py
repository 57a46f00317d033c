"""verify: bounds in ball arithmetic that contain the known answer, and refute a certificate that is false."""

from dataclasses import replace

import numpy as np
import pytest
from zoo import BOUNDARY, INFEASIBLE, OPTIMAL, of_kind, planted

import pre_convex as pre

NORMS = [2, np.inf, 1]
SMALL = [animal for animal in of_kind(OPTIMAL, BOUNDARY) if animal.small]


@pytest.mark.parametrize("animal", SMALL, ids=str)
def test_the_bounds_contain_the_known_optimum_and_are_tight(animal):
    proof = pre.verify(animal.problem, pre.solve(animal.problem, check=False))
    assert proof.dual <= animal.optimum <= proof.best
    assert proof.best - proof.dual <= 1e-15 * (1 + abs(animal.value))
    assert 0.0 <= proof.least_gap <= proof.gap
    assert proof.primal[0] <= proof.primal[1] <= proof.primal[0] + 1e-15 * (1 + abs(animal.value))
    assert proof.proves(1e-8)


@pytest.mark.parametrize("animal", [a for a in of_kind(OPTIMAL) if a.small], ids=str)
def test_true_certificates_are_not_refuted(animal):
    solution = pre.solve(animal.problem)
    assert not pre.verify(animal.problem, solution).refutes(solution.certificate)


@pytest.mark.parametrize("animal", of_kind(INFEASIBLE), ids=str)
def test_without_a_solution_every_certificate_with_a_finite_gap_is_false(animal):
    honest = pre.certify(animal.problem, np.zeros(animal.problem.k))
    proof = pre.verify(animal.problem, np.zeros(animal.problem.k))
    assert (proof.gap, proof.least_gap, proof.best) == (np.inf, np.inf, -np.inf)
    assert proof.refutes(replace(honest, gap=1.0, dual_value=-1.0))
    assert not proof.proves(0.5)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("radius", [0.0, 0.05])
@pytest.mark.parametrize("off", [1e-1, 1e-4, 1e-6])
def test_a_certificate_that_belongs_to_a_better_answer_is_refuted(norm, radius, off):
    problem, delta = planted(60, 3, seed=4, radius=radius, norm=norm)
    faked = pre.solve(problem, tol=1e-12).certificate
    moved = delta * (1 + off) + off * np.array([1.0, -1.0, 0.5])
    proof = pre.verify(problem, moved)
    assert proof.refutes(faked)
    assert proof.gap <= proof.least_gap * (1 + 1e-5)
    assert not proof.refutes(pre.certify(problem, moved))


def test_negative_gaps_are_refuted():
    problem, delta = planted(40, 2, seed=1)
    honest = pre.certify(problem, delta)
    proof = pre.verify(problem, delta)
    assert not proof.refutes(honest)
    assert proof.refutes(replace(honest, gap=-1e-300))


def test_offsets_and_depths_cost_no_digits():
    # whole microseconds since 1970 beside two nearly equal columns, and base weights over e^±300
    rng = np.random.default_rng(7)
    x = rng.normal(size=60)
    F = np.column_stack([1.7e15 + rng.integers(0, 100, 60), x, x + 1e-5 * rng.normal(size=60)])
    problem = pre.RatioProblem(F[:20].mean(axis=0), F, 300.0 * rng.normal(size=60))
    proof = pre.verify(problem, np.zeros(3))
    assert proof.gap - proof.least_gap <= 1e-6 * proof.gap
    assert np.abs(proof.mu @ (F - problem.target)).max() <= 1e-12
    assert abs(proof.mu.sum() - 1) <= 1e-12


def test_the_weights_behind_the_bound_are_those_of_the_closed_form():
    # one-hot features, one level absent from the target: within a level, weights are proportional to the base weights
    rng = np.random.default_rng(3)
    level = rng.integers(0, 4, 50)
    F, a = (level[:, None] == np.arange(4)).astype(float), 5.0 * rng.normal(size=50)
    target = np.array([0.5, 0.25, 0.25, 0.0])
    weights = np.exp(a - a.max())
    expected = target[level] * weights / np.bincount(level, weights, 4)[level]
    problem = pre.RatioProblem(target, F, a)
    proof = pre.verify(problem, np.zeros(4))
    assert proof.mu == pytest.approx(expected, abs=1e-12)
    assert proof.best - proof.dual <= 1e-12


def test_a_target_off_the_span_by_its_rounding_has_an_optimum_within_one_unit():
    # Celsius and Fahrenheit, rounded: the target misses the plane of the rows by its last digit
    rng = np.random.default_rng(0)
    celsius = rng.normal(20.0, 5.0, 40)
    F = np.column_stack([celsius, celsius])
    target = np.array([21.0, np.nextafter(21.0, 22.0)])
    problem = pre.RatioProblem(target, F)
    exact, rounded = (pre.verify(problem, np.zeros(2), target_ulps=u) for u in (0, 1))
    single = pre.verify(pre.RatioProblem([21.0], F[:, :1]), [0.0])
    assert exact.least_gap == np.inf
    assert rounded.gap == pytest.approx(single.gap, rel=1e-12)
    assert rounded.least_gap == pytest.approx(single.gap, rel=1e-12)


def test_blocks_and_float32_are_verified_as_the_numbers_they_hold():
    rng = np.random.default_rng(2)
    F = rng.normal(size=(50, 2)).astype(np.float32)
    in_memory = pre.RatioProblem([0.1, 0.2], F)
    blocked = pre.RatioProblem.from_blocks(None, [lambda: F[:20], lambda: F[20:]], target=[0.1, 0.2])
    delta = pre.solve(in_memory).delta
    one, other = pre.verify(in_memory, delta), pre.verify(blocked, delta)
    assert one.gap == pytest.approx(other.gap, rel=1e-9)


def test_answers_with_the_users_own_terms_are_refused():
    problem, _ = planted(40, 2, seed=1)
    solution = pre.solve(problem, constraints=lambda d: [d >= 0], check=False)
    with pytest.raises(pre.DataError, match="of your own") as raised:
        pre.verify(problem, solution)
    assert raised.value.argument == "solution"


def test_the_precision_of_the_caller_is_left_alone():
    flint = pytest.importorskip("flint")
    before = flint.ctx.prec
    problem, delta = planted(20, 1, seed=0)
    pre.verify(problem, delta)
    assert flint.ctx.prec == before
