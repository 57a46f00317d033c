"""Copies of small arrays, checksums of large ones."""

import numpy as np
import pytest

import pre_convex as pre
from pre_convex._internal import snapshots
from pre_convex._internal.snapshots import Snapshot, checksum, is_frozen


def matrices():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(700, 6))
    return {
        "rows": x,
        "columns": np.asfortranarray(x),
        "strided": rng.normal(size=(1400, 9))[::2, 1:7],
        "float32": x.astype(np.float32),
        "indicators": (x > 0.5).astype(float),
        "vector": x[:, 0].copy(),
    }


def edits(x):
    """Views of x that are edited in place, one way each."""
    yield lambda: x.__imul__(2)
    yield lambda: x.__imul__(-1)
    yield lambda: x[..., -1:].__imul__(-1)
    yield lambda: x[3:5].__iadd__(1)
    yield lambda: x.__setitem__(slice(None), x[::-1].copy())
    yield lambda: x.__setitem__(slice(None), np.sort(x, axis=0))
    yield lambda: np.random.default_rng(1).shuffle(x)
    yield lambda: x.__setitem__(len(x) - 1, np.nextafter(x[-1], np.inf, dtype=x.dtype))


@pytest.mark.parametrize("piece", [1 << 6, 1 << 12, 1 << 22])
@pytest.mark.parametrize("name", matrices())
def test_a_checksum_sees_every_edit(name, piece, monkeypatch):
    monkeypatch.setattr(snapshots, "PIECE_BYTES", piece)
    for i in range(8):
        x = matrices()[name]
        before, same = checksum(x), checksum(x.copy(order="K"))
        list(edits(x))[i]()
        assert before == same != checksum(x), i


def test_a_checksum_sees_every_single_number():
    x = np.zeros((30, 4))
    plain = checksum(x)
    for i in range(x.size):
        x.flat[i] = 5e-324
        assert checksum(x) != plain
        x.flat[i] = 0.0
    assert checksum(x) == plain


def test_two_swapped_rows_of_indicators_are_seen():
    x = np.zeros((5000, 4))
    x[np.arange(5000), np.arange(5000) % 4] = 1.0
    plain = checksum(x)
    for other in range(1, 5000, 7):
        if other % 4:
            x[[0, other]] = x[[other, 0]]
            assert checksum(x) != plain
            x[[0, other]] = x[[other, 0]]


@pytest.mark.parametrize("columns", [1, 2, 3, 4, 20, 23, 51])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_flipped_signs_do_not_cancel(columns, dtype):
    x = np.random.default_rng(2).normal(size=(1_100_000 // columns, columns)).astype(dtype)
    plain = checksum(x)
    for some in (np.s_[:], np.s_[:, -1], np.s_[::2], np.s_[: len(x) // 2], np.s_[100:356]):
        x[some] *= -1
        assert checksum(x) != plain
        x[some] *= -1
    assert checksum(x) == plain


def test_small_arrays_are_copied_and_large_ones_checked(monkeypatch):
    x = np.ones((20, 2))
    small = Snapshot.of(x, "x")
    monkeypatch.setattr(snapshots, "COPIED_BYTES", 8)
    large = Snapshot.of(x, "x")
    assert not np.shares_memory(small.array, x)
    assert is_frozen(small.array)
    assert np.shares_memory(large.array, x)
    large.check()
    x[3, 1] = 2.0
    small.check()
    assert small.array[3, 1] == 1.0
    with pytest.raises(pre.DataError, match="changed in place") as error:
        large.check()
    assert error.value.argument == "x"
    with snapshots.unchecked((large,)):
        large.check()
    x[3, 1] = 1.0
    large.check()


def test_a_read_only_view_of_an_array_that_can_be_edited_is_not_frozen():
    x = np.ones(5)
    view = x[1:]
    view.flags.writeable = False
    assert not is_frozen(view)
    x.flags.writeable = False
    assert is_frozen(x[1:])


def test_repeated_numbers_stay_repeated():
    number = np.array([2.0])
    snapshot = Snapshot.of(np.broadcast_to(number, (5,)), "x")
    number[0] = 3.0
    assert snapshot.array.strides == (0,)
    assert snapshot.array.tolist() == [2.0] * 5
