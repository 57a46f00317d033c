"""The same seed gives the same bytes, with any number of threads and processes; ``rng`` follows SPEC 7."""

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from pre_convex_lab.paper import Setting, perform
from threadpoolctl import threadpool_info, threadpool_limits

import pre_convex as pre
from pre_convex.applications.detection import Detector
from pre_convex.applications.explanation import explain
from pre_convex.cli.demo_problem import make_demo
from pre_convex.statistics.selection import automatic_radius, cross_validated_radius
from pre_convex.statistics.theory import min_eigenvalue_in_ball, weyl_bound

DRAWN = np.random.default_rng(0)
X_P, X_Q = DRAWN.normal(0.3, 1.0, (80, 2)), DRAWN.normal(0.0, 1.2, (90, 2))
PROBLEM = pre.RatioProblem.from_samples(X_P, X_Q)
FIT = pre.PosteriorRatio().fit(X_P, X_Q)


def landmarks(rng):
    """Landmarks among more points than are looked at, so that the choice is random."""
    points = np.random.default_rng(1).normal(size=(8_200, 1))
    return pre.Kernel(length_scale=1.0, landmarks=5).fitted(points, rng).points


def state():
    """Global state of NumPy's legacy interface."""
    _, key, *rest = np.random.get_state()  # noqa: NPY002
    return key.tobytes(), rest


#: everything public that draws random numbers, as a function of rng that returns an array
RANDOM = {
    "bootstrap": lambda rng: FIT.bootstrap(3, rng=rng),
    "automatic_radius": lambda rng: np.array([automatic_radius(PROBLEM, rng=rng, draws=100).radius]),
    "cross_validated_radius": lambda rng: cross_validated_radius(PROBLEM, rng=rng, folds=2, steps=3).mean,
    "Kernel.fitted": landmarks,
    "background": lambda rng: Detector(X_P, X_Q, noise=1.0, features="linear").background(3, rng=rng).scores,
    "explain": lambda rng: explain(lambda x: 1 / (1 + x[:, 0] ** 2), [0.3, 0.1], 1.0, 30, n_test=0, rng=rng).coef,
    "make_demo": lambda rng: make_demo(5, rng).x,
    "random_state": lambda rng: pre.KLIEP(radius="cv", cv=2, random_state=rng).fit(X_P, X_Q).radius_choice_.mean,
}
#: searches that give the same answer from most starting points
SEARCHES = {
    "conditions": lambda rng: pre.conditions(PROBLEM, [0.3, 0.1], 0.4, starts=1, rng=rng).weyl,
    "min_eigenvalue_in_ball": lambda rng: min_eigenvalue_in_ball(PROBLEM, [0.3, 0.1], 0.4, starts=1, rng=rng)[0],
    "weyl_bound": lambda rng: weyl_bound(PROBLEM, [0.3, 0.1], 0.4, starts=1, rng=rng),
}
every = pytest.mark.parametrize("draw", [*RANDOM.values(), *SEARCHES.values()], ids=[*RANDOM, *SEARCHES])


@pytest.mark.parametrize("draw", RANDOM.values(), ids=RANDOM)
def test_every_kind_of_rng_is_accepted_and_only_a_generator_advances(draw):
    before, one = state(), draw(1)
    for seed in (np.int64(1), [1], (1,), np.array([1], dtype=np.uint8), np.random.SeedSequence(1)):
        np.testing.assert_array_equal(draw(seed), one)  # the same seed for NumPy
    assert not np.array_equal(draw(2), one)
    assert not np.array_equal(draw([1, 2]), one)
    assert not np.array_equal(draw(None), draw(None))  # fresh entropy
    for make in (np.random.default_rng, np.random.PCG64):
        used, again = make(1), make(1)
        first = draw(used)
        np.testing.assert_array_equal(first, draw(again))
        assert not np.array_equal(first, draw(used))
    assert state() == before


@pytest.mark.parametrize("draw", SEARCHES.values(), ids=SEARCHES)
def test_searches_use_rng(draw):
    moved = np.random.default_rng(1)
    assert draw(1) == draw([1]) == draw(np.random.SeedSequence(1)) == draw(np.random.default_rng(1))
    draw(moved)
    assert moved.integers(2**60) != np.random.default_rng(1).integers(2**60)
    draw(None)


@every
def test_a_bad_seed_is_refused(draw):
    for bad in (-1, np.random.RandomState(0)):
        with pytest.raises(pre.DataError) as error:
            draw(bad)
        assert error.value.argument in ("rng", "random_state")


def test_a_bootstrap_runs_on_a_generator_that_cannot_spawn():
    """Legacy bit generators have no seed sequence, so NumPy cannot spawn from them."""

    def legacy():
        return np.random.Generator(np.random.RandomState(3)._bit_generator)

    first, again = FIT.bootstrap(3, rng=legacy()), FIT.bootstrap(3, rng=legacy())
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first[:, 0])) == 3


def test_the_seed_of_an_experiment_is_an_int():
    for bad in (-1, 1.0, True, None, np.random.default_rng(0)):
        with pytest.raises(pre.DataError) as error:
            Setting(seed=bad)
        assert error.value.argument == "seed"


def test_estimators_with_a_generator_can_be_cloned_and_saved(tmp_path):
    from sklearn.base import clone

    fit = pre.KLIEP(radius="cv", cv=2, random_state=np.random.default_rng(3))
    twin = clone(fit)
    assert fit.fit(X_P, X_Q).radius_ == twin.fit(X_P, X_Q).radius_
    assert copy.deepcopy(fit).radius_ == fit.radius_
    assert pre.load(pre.save(fit, tmp_path / "fit.npz")).random_state is None
    for seed, kept in ((3, 3), (np.int64(3), 3), ([1, 2], [1, 2]), (None, None)):
        fit = pre.KLIEP(random_state=seed).fit(X_P, X_Q)
        assert pre.load(pre.save(fit, tmp_path / "fit.npz")).random_state == kept


def test_threads_and_processes_change_no_bit(tmp_path):
    """Fresh processes with other numbers of BLAS threads and other hash seeds."""
    digests = []
    for threads, salt in (("1", "1"), ("4", "2")):
        settings = {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads, "PYTHONHASHSEED": salt}
        command = [sys.executable, str(Path(__file__).parent / "helpers" / "repeated.py"), str(tmp_path)]
        run = subprocess.run(command, env={**os.environ, **settings}, check=True, capture_output=True, timeout=300)
        digests.append(json.loads(run.stdout))
    assert len(digests[0]) > 15
    assert digests[0] == digests[1]


class RecordingThreads(Setting):
    """A setting that records the number of BLAS threads whenever an experiment asks it for a size."""

    seen: ClassVar[set[int]] = set()

    def pick(self, full, quick):
        self.seen.add(blas_threads())
        return super().pick(full, quick)


def blas_threads(_=None):
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


def test_experiments_run_with_one_blas_thread():
    """Their baselines, such as scikit-learn's networks, would otherwise depend on the number of threads."""
    with threadpool_limits(2, user_api="blas"):
        perform("consistency", RecordingThreads(quick=True))
        assert RecordingThreads.seen == {1}
        assert Setting(quick=True).each(blas_threads, [0, 1], "") == [1, 1]
        assert blas_threads() == 2


def test_a_loaded_fit_equals_the_saved_one_bit_for_bit(tmp_path):
    x_p, x_q = np.random.default_rng(2).normal(size=(2, 3_000, 2))
    for log_lik in (None, lambda x: -(x[:, 0] ** 2)):
        fit = pre.PosteriorRatio("polynomial").fit(x_p + 0.1, x_q, log_lik, log_lik)
        copied = pre.load(pre.save(fit, tmp_path / "fit.npz"))
        np.testing.assert_array_equal(copied.problem_.log_base, fit.problem_.log_base)
        np.testing.assert_array_equal(copied.log_ratio(x_q), fit.log_ratio(x_q))
        np.testing.assert_array_equal(copied.bootstrap(2, rng=1), fit.bootstrap(2, rng=1))
