"""Kinds of bad input, and the rows that one call gives for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import scipy.sparse

from .rows import Row, Taken

Change = Callable[[np.ndarray], Any]
Words = Mapping[str, str | None]


def _with(value: float, place: int = 1) -> Change:
    def change(good: np.ndarray) -> np.ndarray:
        bad = np.array(good, dtype=float)
        bad[(place, *(0,) * (bad.ndim - 1))] = value
        return bad

    return change


def _masked(good: np.ndarray) -> Any:
    masked = np.ma.array(good, mask=np.zeros(np.shape(good), dtype=bool))
    masked[0] = np.ma.masked
    return masked


REFUSED = "; drop those rows or fill them in first"
#: kind: what is done to a good matrix, and what is said of it after the argument's name
MATRIX: dict[str, tuple[Change, str]] = {
    "NaN": (_with(np.nan), f": row 1, column … is nan{REFUSED}"),
    "+inf": (_with(np.inf), f": row 1, column … is inf{REFUSED}"),
    "-inf": (_with(-np.inf), f": row 1, column … is -inf{REFUSED}"),
    "no rows": (lambda x: x[:0], ": is empty, shape (0, …); at least one row and one column are needed"),
    "no columns": (lambda x: x[:, :0], ": is empty, shape (…, 0); at least one row and one column are needed"),
    "three dimensions": (lambda x: x[None], ": has 3 dimensions; pass one row for each sample, shape (n, d)"),
    "complex": (lambda x: x + 1j, ": holds complex numbers; pass real numbers"),
    "text": (lambda x: x.astype(str), ": holds dtype <U…; pass real numbers"),
    "dates": (lambda x: x.astype("datetime64[s]"), ": holds dtype datetime64[s]; pass real numbers"),
    "objects": (
        lambda x: np.array([[object()] * x.shape[1]] * len(x)),
        ": holds values that are not numbers (…)",
    ),
    "objects of text": (lambda x: x.astype(str).astype(object), ": holds text; pass real numbers"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], ": cannot be read as an array of numbers (…)"),
    "None": (lambda x: None, ": is None; pass an array of numbers"),
    "masked": (_masked, ": has masked entries; fill them or drop their rows"),
    "sparse": (scipy.sparse.csr_array, ": sparse matrices are not taken; pass x.toarray()"),
}
NUMBER: dict[str, tuple[Any, str]] = {
    "NaN": (np.nan, ": is nan; pass a finite number"),
    "+inf": (np.inf, ": is inf; pass a finite number"),
    "text": ("many", ": 'many' is not a number"),
    "None": (None, ": None is not a number"),
    "complex": (1j, ": 1j is not a number"),
}
#: kind: the same numbers in another form
LAYOUTS: dict[str, Change] = {
    "read-only": lambda x: np.frombuffer(x.tobytes()).reshape(x.shape),
    "Fortran order": np.asfortranarray,
    "non-contiguous": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed stride": lambda x: x[::-1].copy()[::-1],
    "huge stride": lambda x: np.repeat(x, 4096, axis=-1)[..., ::4096],
    "list": lambda x: x.tolist(),
    "objects that are numbers": lambda x: x.astype(object),
    "masked array without a mask": np.ma.asarray,
    "big-endian": lambda x: x.astype(">f8"),
}


def _rows(
    entry: str,
    argument: str,
    call: Callable[[Any], Any],
    changes: Mapping[str, tuple[Callable[[], Any], str]],
    says: Words,
) -> list[Row]:
    unknown = set(says) - set(changes)
    assert not unknown, f"{entry}({argument}) has words for {unknown}"
    return [
        Row(entry, argument, kind, lambda make=make: call(make()), says.get(kind, argument + words) or "")
        for kind, (make, words) in changes.items()
        if says.get(kind, "") is not None
    ]


def matrix(
    entry: str,
    argument: str,
    call: Callable[[Any], Any],
    good: np.ndarray,
    says: Words | None = None,
) -> list[Row]:
    """Rows for an argument that is a matrix; ``says`` has other words for a kind, or None where it does not apply."""
    changes = {kind: (lambda change=change: change(good), words) for kind, (change, words) in MATRIX.items()}
    return _rows(entry, argument, call, changes, says or {})


def number(entry: str, argument: str, call: Callable[[Any], Any], says: Words | None = None) -> list[Row]:
    """Rows for an argument that is one finite number."""
    changes = {kind: (lambda value=value: value, words) for kind, (value, words) in NUMBER.items()}
    return _rows(entry, argument, call, changes, says or {})


def layouts(entry: str, argument: str, call: Callable[[Any], Any], good: np.ndarray) -> list[Taken]:
    """Rows for the forms in which the same numbers may come."""
    return [
        Taken(entry, argument, kind, call, lambda change=change: change(good), lambda: good)
        for kind, change in LAYOUTS.items()
    ]
