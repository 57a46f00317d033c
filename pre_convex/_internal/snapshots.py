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
#: bytes that a thread reads at a time for a checksum
PIECE_BYTES = 1 << 22


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
    """CRC-32 of the numbers of a matrix or vector, read in threads.

    It changes with any single number. Of other edits, such as permutations of rows, it misses one in four billion.

    Examples
    --------
    >>> x = np.arange(6.0).reshape(3, 2)
    >>> checksum(x) == checksum(x.copy()), checksum(x) == checksum(x[::-1])
    (True, False)
    """
    rows = x.T if x.flags.fnc else x
    step = max(1, PIECE_BYTES * len(rows) // max(rows.nbytes, 1))
    pieces = [rows[start : start + step] for start in range(0, len(rows), step)]
    parts = map_threads(lambda piece: zlib.crc32(np.ascontiguousarray(piece).data), pieces)
    return zlib.crc32(np.array(parts, dtype=np.uint32).data)
