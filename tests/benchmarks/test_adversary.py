"""The search for false certificates: genomes, and that it finds a fault that is there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pre_convex as pre

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


def test_genes_stay_in_their_ranges_and_describe_the_same_problem_again():
    from adversary import GENES, child, express, random_genome

    rng = np.random.default_rng(0)
    for _ in range(50):
        genome = child(random_genome(rng), random_genome(rng), rng)
        assert all(low <= genome[name] < high for name, (low, high) in GENES.items())
        one, other = express(genome)[0], express(genome)[0]
        assert np.array_equal(one.features_q, other.features_q)
        assert np.array_equal(one.target, other.target)


def test_a_certificate_that_promises_too_much_at_large_offsets_is_found():
    from adversary import search
    from hard_problems import Answer

    def careless(problem, rng):
        """The gap of δ = 0 is understated, but only far from zero."""
        zero = np.zeros(problem.k)
        true = pre.verify(problem, zero)
        share = 0.5 if np.abs(problem.target).max() > 1e9 else 2.0
        return [Answer(problem, zero, replace(pre.certify(problem, zero), gap=share * true.gap))]

    found = search(60.0, seed=1, ways={"careless": careless}, most=150)
    assert found.counts["careless"]["false"] > 0
    assert max(worst for worst, _, _ in found.elites.values()) == pytest.approx(np.log10(2.0), abs=1e-6)


def test_the_penalty_of_a_norm_is_judged_as_the_radius_that_it_is():
    from adversary import penalised
    from ball_judge import verdict
    from zoo import planted

    for norm in (2, np.inf, 1):
        problem, delta = planted(40, 3, seed=2, radius=0.05, norm=norm)
        (answer,) = penalised(problem, np.random.default_rng(0))
        assert answer.status == "OPTIMAL"
        assert answer.delta == pytest.approx(delta, abs=1e-3)
        assert not verdict(answer).false
