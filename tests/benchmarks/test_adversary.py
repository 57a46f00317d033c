"""The search for false certificates: genomes, and that it finds a fault that is there."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import pre_convex as pre

ROOT = Path(__file__).parents[2]
#: problems with a norm as the user's own term, for which OPTIMAL was false by factors of 999, 5 and 12
OWN_NORMS = [
    {
        "seed": 927884.5406284004,
        "rows": 1.608272902609953,
        "columns": 3.582172064907709,
        "origin": 0.27080708508972173,
        "offset": 14.582594078221781,
        "offset_share": 0.17115186019459872,
        "whole": 0.9978225058277651,
        "unit": 5.84678912043244,
        "unit_spread": 1.4347983662299792,
        "depth": -1.3310937808540146,
        "heavy": -33.1292844526899,
        "collinear": -8.403415298742775,
        "constant": 0.6786894657231466,
        "close": -2.8316750970598523,
        "tilt": -1.3819314845369153,
        "target": 0.07406293618351156,
        "round": 0.9319730577595229,
        "radius": -9.451860385260034,
        "relaxed": 0.4562965870423672,
        "norm": 1.9977550377484738,
        "way": 0.9741969617445212,
    },
    {
        "seed": 660135.2805139034,
        "rows": 1.7565651386636325,
        "columns": 2.087428755857578,
        "origin": 4.4837064707788485,
        "offset": -1.269651358768587,
        "offset_share": 0.06376176308486525,
        "whole": 0.21264589110230891,
        "unit": 1.2645338304285136,
        "unit_spread": 3.32546734318505,
        "depth": 0.36888988555660385,
        "heavy": -38.37730893386755,
        "collinear": -9.308019487288746,
        "constant": 0.07486390793656572,
        "close": -13.71464522233644,
        "tilt": 0.6398667256394326,
        "target": 1.3148588370643122,
        "round": 0.02565034175016323,
        "radius": -7.075768888356317,
        "relaxed": 0.15853931911014207,
        "norm": 1.1706571726048223,
        "way": 0.8452088657871555,
    },
    {
        "seed": 620676.6879609375,
        "rows": 1.7226755235393527,
        "columns": 5.462908161081285,
        "origin": 5.444845659489662,
        "offset": 3.455207650892296,
        "offset_share": 0.3769756760155859,
        "whole": 0.1893079941413055,
        "unit": -4.8644811384413895,
        "unit_spread": 3.3832465003775662,
        "depth": -0.8676271047921149,
        "heavy": 141.29290809966955,
        "collinear": -15.163663200685335,
        "constant": 0.6572242432741875,
        "close": -6.517108271103025,
        "tilt": -1.5629770154966809,
        "target": 0.10598746026485639,
        "round": 0.28712116080581807,
        "radius": -1.57075382533964,
        "relaxed": 1.2647630303216746,
        "norm": 2.7906756400278243,
        "way": 0.34813712891240467,
    },
]


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


@pytest.mark.parametrize("genome", OWN_NORMS)
def test_certificates_with_own_terms_that_were_false(genome):
    from adversary import express, penalised
    from ball_judge import verdict

    problem, rng = express(genome)
    (answer,) = penalised(problem, rng)
    assert not verdict(answer).false
