"""Stored crashes and randomly corrupted files: readers return a result or raise the package's own errors."""

import sys
from pathlib import Path

import numpy as np
import pytest

FUZZ = Path(__file__).parent
sys.path.insert(0, str(FUZZ))
from targets import TARGETS, attempt  # noqa: E402

CRASHES = sorted((FUZZ / "crashes").iterdir())


@pytest.mark.parametrize("path", CRASHES, ids=lambda path: path.name)
def test_stored_crashes_are_refused(path, tmp_path):
    assert not attempt(TARGETS[path.name.partition("--")[0]], path.read_bytes(), tmp_path)


@pytest.mark.parametrize("name", TARGETS)
def test_seeds_are_read_and_corrupted_ones_raise_only_our_errors(name, tmp_path):
    target, rng = TARGETS[name], np.random.default_rng(len(name))
    for data in target.seeds():
        accepted = attempt(target, data, tmp_path)
        assert accepted or name in ("set", "idx", "npz-part")  # some of their seeds are incomplete on purpose
        for _ in range(15):
            corrupt = np.frombuffer(data, dtype=np.uint8).copy()
            where = rng.integers(len(corrupt), size=rng.integers(1, 4))
            corrupt[where] = rng.integers(256, size=where.size)
            attempt(target, corrupt.tobytes(), tmp_path)
