"""Protection against arrays that the caller edits in place: small ones are copied, large ones get a checksum."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

import numpy as np

from ..errors import DataError
from .threads import map_threads
from .typing import Array
from .validation import read_only

__all__ = ["COPIED_BYTES", "Snapshot", "checksum", "freeze", "is_frozen", "unchecked"]

#: arrays of at most this size are copied, which takes less time than a checksum and spares later calls the check
COPIED_BYTES = 1 << 28
#: 64-bit words of a row of sums of a checksum; an odd number, so that a column of a matrix is spread over all sums
LANES = 2047
#: bytes that a thread reads at a time for a checksum
PIECE_BYTES = 256 * 8 * LANES


def freeze(x: Array) -> Array:
    """Make an array of our own read-only for good; returns it."""
    x.flags.writeable = False
    return x


def is_frozen(x: Array) -> bool:
    """Whether the array that owns the memory of x is read-only, so that no view of it can be edited."""
    owner = x
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return not owner.flags.writeable


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The caller's array as it is now.

    Attributes
    ----------
    array : ndarray
        Read-only: a copy of at most ``COPIED_BYTES``, or a view. Read-only arrays that own their memory are taken to
        stay as they are.
    name : str
        Name of the argument.
    checksum : int or None
        Checksum of a view; ``None`` if the array cannot change.
    """

    array: Array = field(repr=False)
    name: str
    checksum: int | None = None

    @classmethod
    def of(cls, x: Array, name: str) -> Snapshot:
        """Copy an array, or note its checksum if it is large."""
        if is_frozen(x):
            return cls(x, name)
        if x.ndim == 1 and x.strides == (0,):  # one number repeated, which a copy would hide
            return cls(np.broadcast_to(x[:1].copy(), x.shape), name)
        if x.nbytes <= COPIED_BYTES:
            return cls(freeze(np.array(x, order="K")), name)
        return cls(read_only(x), name, checksum(x))

    def check(self) -> None:
        """Raise if the array has been edited since."""
        if self.checksum is None or any(self is snapshot for snapshot in _UNCHECKED.get()):
            return
        if checksum(self.array) != self.checksum:
            raise DataError(
                self.name, "was changed in place after it was passed", "start again with the new data, or pass a copy"
            )


_UNCHECKED: ContextVar[tuple[Snapshot, ...]] = ContextVar("unchecked", default=())


@contextmanager
def unchecked(snapshots: tuple[Snapshot, ...]) -> Iterator[None]:
    """Do not check these again inside: they have just been checked, and no code of the caller runs in between."""
    token = _UNCHECKED.set(_UNCHECKED.get() + snapshots)
    try:
        yield
    finally:
        _UNCHECKED.reset(token)


def checksum(x: Array) -> int:
    """Checksum of the numbers of a matrix or vector, read in threads at the speed of memory.

    The array is cut into pieces of 4 MB, these into rows of 2,047 words of 64 bits, whose bits are added modulo 2⁶⁴
    column by column; CRC-32 joins the sums of all pieces, and what is left over at the ends. That takes a fifth of
    the time of CRC-32 of all numbers, and less than half of a pass. It changes with any single number, and unless
    sums collide by accident with any edit that is not made to escape it: scaling, negating, sorting or shuffling the
    rows or columns, or overwriting any part. It would miss two rows exchanged within a piece if they are a multiple of
    2,047 words apart.

    Examples
    --------
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> checksum(x) == checksum(x.copy()), checksum(x) == checksum(x[::-1])
    (True, False)
    """
    rows = x.T if x.flags.fnc else x
    step = max(1, PIECE_BYTES * len(rows) // max(rows.nbytes, 1))
    pieces = [rows[start : start + step] for start in range(0, len(rows), step)]
    return zlib.crc32(np.array(map_threads(_checksum_of_piece, pieces), dtype=np.uint32).data)


def _checksum_of_piece(piece: Array) -> int:
    """CRC-32 of rows of words, added up, and of the other bytes; an odd number, so that flipped signs do not cancel."""
    numbers = np.ascontiguousarray(piece).reshape(-1).view(np.uint8)
    rows = numbers.size // (8 * LANES)
    rows -= rows > 0 and rows % 2 == 0
    summed = 8 * LANES * rows
    sums = np.add.reduce(numbers[:summed].view(np.uint64).reshape(rows, LANES), axis=0)
    return zlib.crc32(numbers[summed:].data, zlib.crc32(sums.data))
