"""Files that broke a reader once, and files with random damage: the package's own errors, or an answer."""

import sys
from pathlib import Path

import numpy as np
import pytest

FUZZ = Path(__file__).parent / "fuzz"
sys.path.insert(0, str(FUZZ))
from targets import TARGETS, attempt  # noqa: E402

CRASHES = sorted((FUZZ / "crashes").iterdir())


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
def test_what_broke_a_reader_once_does_not_break_it_again(path, tmp_path):
    assert not attempt(TARGETS[path.name.partition("--")[0]], path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read_and_their_damage_breaks_nothing(name, tmp_path):
    target, rng = TARGETS[name], np.random.default_rng(len(name))
    for data in target.seeds():
        whole = attempt(target, data, tmp_path)
        assert whole or name in ("set", "idx", "npz-part"), "a seed that shows how far a good file gets"
        for _ in range(15):
            spoilt = np.frombuffer(data, dtype=np.uint8).copy()
            where = rng.integers(len(spoilt), size=rng.integers(1, 4))
            spoilt[where] = rng.integers(256, size=where.size)
            attempt(target, spoilt.tobytes(), tmp_path)
