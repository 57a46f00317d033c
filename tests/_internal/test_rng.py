import numpy as np
import pytest

from pre_convex._internal.rng import as_generator, as_seed, spawn_generators, storable_seed
from pre_convex.errors import DataError


@pytest.mark.parametrize(
    "bad", [-1, 1.0, "1", b"1", True, np.True_, [], [-1], [1.5], [True], ["3"], [[1, 2]], {1}, {"seed": 1}, object()]
)
def test_bad_seeds_are_refused(bad):
    with pytest.raises(DataError) as error:
        as_generator(bad, "random_state")
    assert error.value.argument == "random_state"


@pytest.mark.parametrize("legacy", [np.random.RandomState(0), np.random], ids=["RandomState", "np.random"])
def test_the_legacy_interface_is_refused_with_its_replacement(legacy):
    with pytest.raises(DataError) as error:
        as_generator(legacy)
    assert "default_rng" in error.value.remedy


def test_a_seed_gives_the_stream_of_numpy():
    assert as_generator(5).integers(2**60) == np.random.default_rng(5).integers(2**60)
    generator = np.random.default_rng(5)
    assert as_generator(generator) is generator
    assert as_seed([1, 2]) == [1, 2]


def test_spawned_streams_depend_on_seed_and_position_only():
    numbers = [task.integers(2**60) for task in spawn_generators(5, 4)]
    assert numbers[:2] == [task.integers(2**60) for task in spawn_generators(5, 2)]
    assert numbers == [task.integers(2**60) for task in spawn_generators(np.random.default_rng(5), 4)]
    assert len(set(numbers)) == 4


def test_only_ints_are_stored_as_seeds():
    assert storable_seed(np.int64(3)) == 3
    assert storable_seed(np.array([1, 2])) == [1, 2]
    assert storable_seed(np.random.default_rng(0)) is None
