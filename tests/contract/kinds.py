"""Kinds of bad input, and functions that make the rows of an argument from them.

Each function takes the entry point, the argument, and a call that passes a value for it; for arrays also a good value,
which is changed when a row is run. ``skip`` has the kinds that are valid there; ``named`` is what the error names where
that is not the argument: one name, or a name for each kind.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

import pre_convex as pre

from .rows import OwnError, Row, Taken

Change = Callable[[np.ndarray], Any]
Call = Callable[[Any], Any]
Kinds = Collection[str]
Named = str | Mapping[str, str]


class ArrayLike:
    """An array-like object, as the tensors of other packages are; it may refuse to become an array."""

    def __init__(self, values: np.ndarray, refuses: bool = False) -> None:
        self.values, self.refuses = values, refuses

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """Return the numbers."""
        if self.refuses:
            raise RuntimeError("call detach() first")
        return np.asarray(self.values, dtype=dtype)


def with_value(value: float, place: int = 1) -> Change:
    """One entry of a good array replaced, in its first column."""

    def change(good: np.ndarray) -> np.ndarray:
        bad = np.array(good, dtype=float)
        bad[(place, *(0,) * (bad.ndim - 1))] = value
        return bad

    return change


def _masked(good: np.ndarray) -> Any:
    masked = np.ma.array(good, mask=np.zeros(np.shape(good), dtype=bool))
    masked[0] = np.ma.masked
    return masked


def _structured(good: np.ndarray) -> Any:
    return np.zeros(len(good), dtype=[("a", float), ("b", float)])


def _objects(value: Any) -> Change:
    def change(good: np.ndarray) -> np.ndarray:
        bad = np.empty(np.shape(good), dtype=object)
        for place in np.ndindex(bad.shape):  # one by one: fill would turn NumPy's dates into Python's
            bad[place] = value
        return bad

    return change


#: bad arrays of any shape, as changes of a good one
ANY: dict[str, Change] = {
    "complex": lambda x: x + 1j,
    "text": lambda x: x.astype(str),
    "dates": lambda x: x.astype("datetime64[s]"),
    "timedeltas": lambda x: x.astype("timedelta64[s]"),
    "structured array": _structured,
    "objects": _objects(object()),
    "objects of text": lambda x: x.astype(str).astype(object),
    "objects of dates": _objects(np.datetime64(0, "s")),
    "integers beyond floats": _objects(10**400),
    "ragged": lambda x: [[1.0], [1.0, 2.0]],
    "tensor that refuses": lambda x: ArrayLike(x, refuses=True),
    "generator": lambda x: (row for row in x),
    "dictionary": lambda x: {"a": 1.0},
    "set": lambda x: {1.0, 2.0},
    "file name": lambda x: "x.npy",
    "None": lambda x: None,
    "masked": _masked,
    "sparse": lambda x: scipy.sparse.csr_array(np.atleast_2d(x)),
}
_NOT_FINITE: dict[str, Change] = {"NaN": with_value(np.nan), "+inf": with_value(np.inf), "-inf": with_value(-np.inf)}
MATRIX: dict[str, Change] = {
    **_NOT_FINITE,
    "no rows": lambda x: x[:0],
    "no columns": lambda x: x[:, :0],
    "one number": lambda x: 1.0,
    "three dimensions": lambda x: x[None],
    **ANY,
}
_VECTOR: dict[str, Change] = {
    "empty": lambda x: x[:0],
    "too short": lambda x: x[:-1],
    "too long": lambda x: np.append(x, x[-1]),
    "matrix": lambda x: np.column_stack([x, x]),
    "one number": lambda x: 1.0,
    **ANY,
}
VECTOR: dict[str, Change] = {**_NOT_FINITE, **_VECTOR}
LOG_WEIGHTS: dict[str, Change] = {
    "NaN": with_value(np.nan),
    "+inf": with_value(np.inf),
    "all -inf": lambda x: np.full(x.shape, -np.inf),
    **_VECTOR,
}
NUMBER: dict[str, Any] = {
    "NaN": np.nan,
    "+inf": np.inf,
    "-inf": -np.inf,
    "text": "0.5",
    "None": None,
    "complex": 1j,
    "bool": True,
    "list": [0.5],
    "array of two": np.array([0.5, 0.5]),
    "date": np.datetime64("2026-01-01"),
    "integer beyond floats": 10**400,
}
SHARE: dict[str, Any] = {**NUMBER, "zero": 0.0, "one": 1.0, "percent": 95.0, "negative": -0.5}
COUNT: dict[str, Any] = {
    "fraction": 2.5,
    "whole float": 2.0,
    "NaN": np.nan,
    "negative": -1,
    "zero": 0,
    "text": "2",
    "None": None,
    "bool": True,
    "list": [2],
}
CHOICE: dict[str, Any] = {
    "unknown name": "nonsense",
    "empty text": "",
    "number": 7,
    "None": None,
    "list": ["nonsense"],
    "array": np.zeros(2),
}
FLAG: dict[str, Any] = {"text": "no", "None": None, "fraction": 0.5, "list": [], "array": np.zeros(2)}
SEED: dict[str, Any] = {
    "text": "0",
    "fraction": 0.5,
    "negative": -1,
    "bool": True,
    "empty": [],
    "legacy RandomState": np.random.RandomState(0),
}
#: functions that should return one number for each row
FUNCTION: dict[str, Callable[[Any], Any]] = {
    "returns None": lambda x: None,
    "returns text": lambda x: ["a"] * len(x),
    "returns complex numbers": lambda x: np.zeros(len(x)) + 1j,
    "returns one number": lambda x: 1.0,
    "returns too few rows": lambda x: np.zeros(len(x) - 1),
    "returns three dimensions": lambda x: np.zeros((len(x), 1, 1)),
    "returns NaN": lambda x: np.full(len(x), np.nan),
}
#: names of two columns
NAMES: dict[str, Any] = {
    "one text": "ab",
    "number": 3,
    "too few": ["a"],
    "too many": ["a", "b", "c"],
    "duplicate": ["a", "a"],
    "set": {"a", "b"},
    "a list as a name": [["a"], "b"],
}
SETTINGS: dict[str, Any] = {"dictionary": {"tol": 1e-6}, "class": pre.Settings, "number": 1e-6, "text": "fast"}
PROBLEM: dict[str, Any] = {"array": np.zeros((3, 2)), "None": None, "text": "problem.npz", "list": [1.0]}


def _frames() -> dict[str, Callable[[], Any]]:
    """Data frames that should have the numeric columns a and b."""
    import pandas as pd
    import polars as pl

    a, b = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 1.0]
    return {
        "missing value (pandas)": lambda: pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": b}),
        "nullable type (pandas)": lambda: pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": b}),
        "text (pandas)": lambda: pd.DataFrame({"a": a, "b": list("xyzx")}),
        "category (pandas)": lambda: pd.DataFrame({"a": a, "b": pd.Categorical(list("xyzx"))}),
        "dates (pandas)": lambda: pd.DataFrame({"a": a, "b": pd.date_range("2026", periods=4)}),
        "duplicate column (pandas)": lambda: pd.DataFrame(np.column_stack([a, b]), columns=["a", "a"]),
        "missing value (polars)": lambda: pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": b}),
        "text (polars)": lambda: pl.DataFrame({"a": a, "b": list("xyzx")}),
        "not collected (polars)": lambda: pl.DataFrame({"a": a, "b": b}).lazy(),
    }


#: what an argument may be: the kinds of bad input that follow from it
FAMILIES: dict[str, Mapping[str, Any]] = {
    "matrix": MATRIX,
    "vector": VECTOR,
    "log weights": LOG_WEIGHTS,
    "data frame": _frames(),
    "number": NUMBER,
    "number between 0 and 1": SHARE,
    "whole number": COUNT,
    "choice": CHOICE,
    "flag": FLAG,
    "function": FUNCTION,
    "names": NAMES,
    "problem": PROBLEM,
    "settings": SETTINGS,
    "seed": SEED,
}
#: the same numbers in another form
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
    "tensor": ArrayLike,
}
#: numbers of another type, which stand for the floats that they convert to
TYPES: dict[str, Change] = {
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "whole numbers": lambda x: np.round(10 * x).astype(np.int64),
    "booleans": lambda x: x > 0,
    "fractions": lambda x: np.vectorize(lambda v: Fraction(round(100 * v), 100), otypes=[object])(x),
    "decimals": lambda x: np.vectorize(lambda v: Decimal(str(round(v, 2))), otypes=[object])(x),
}
#: one number in another form
SCALARS: dict[str, Callable[[float], Any]] = {
    "float32": np.float32,
    "0-dimensional array": np.array,
    "fraction": Fraction,
    "decimal": Decimal,
}
#: forms in which valid input may come
FORMS: dict[str, Mapping[str, Any]] = {
    "other layouts": LAYOUTS,
    "other types": TYPES,
    "other types of one number": SCALARS,
    "frames": dict.fromkeys(("pandas frame", "pandas frame with an index", "polars frame")),
}


def _rows(
    family: str, entry: str, argument: str, call: Call, make: Callable[[Any], Any], skip: Kinds, named: Named
) -> list[Row]:
    kinds = FAMILIES[family]
    other = dict.fromkeys(kinds, named) if isinstance(named, str) else dict(named)
    unknown = {*skip, *other} - set(kinds)
    assert not unknown, f"{entry}({argument}): no {family} has the kinds {unknown}"
    return [
        Row(
            entry,
            argument,
            kind,
            lambda value=value: call(make(value)),
            named=other.get(kind, ""),
            family=family,
        )
        for kind, value in kinds.items()
        if kind not in skip
    ]


def _as_is(value: Any) -> Any:
    return value


def _arrays(
    family: str, entry: str, argument: str, call: Call, good: np.ndarray, skip: Kinds, named: Named
) -> list[Row]:
    return _rows(family, entry, argument, call, lambda change: change(good), skip, named)


def matrix(entry: str, argument: str, call: Call, good: np.ndarray, skip: Kinds = (), named: Named = "") -> list[Row]:
    """Rows for an argument that is a matrix of finite numbers."""
    return _arrays("matrix", entry, argument, call, good, skip, named)


def vector(entry: str, argument: str, call: Call, good: np.ndarray, skip: Kinds = (), named: Named = "") -> list[Row]:
    """Rows for an argument that has one finite number for each row or column."""
    return _arrays("vector", entry, argument, call, good, skip, named)


def log_weights(entry: str, argument: str, call: Call, good: np.ndarray, skip: Kinds = ()) -> list[Row]:
    """Rows for logarithms of weights, one for each row; some may be −inf."""
    return _arrays("log weights", entry, argument, call, good, skip, "")


def frames(entry: str, argument: str, call: Call) -> list[Row]:
    """Rows for a data frame with the columns a and b."""
    return _rows("data frame", entry, argument, call, lambda make: make(), (), "")


def number(entry: str, argument: str, call: Call, skip: Kinds = ()) -> list[Row]:
    """Rows for an argument that is one finite number."""
    return _rows("number", entry, argument, call, _as_is, skip, "")


def share(entry: str, argument: str, call: Call, skip: Kinds = ()) -> list[Row]:
    """Rows for a number strictly between zero and one."""
    return _rows("number between 0 and 1", entry, argument, call, _as_is, skip, "")


def tolerance(entry: str, call: Call) -> list[Row]:
    """Rows for ``tol``; None means that of the settings."""
    return share(entry, "tol", call, skip=("None",))


def count(entry: str, argument: str, call: Call, skip: Kinds = ()) -> list[Row]:
    """Rows for an argument that is a positive whole number."""
    return _rows("whole number", entry, argument, call, _as_is, skip, "")


def choice(entry: str, argument: str, call: Call, skip: Kinds = ()) -> list[Row]:
    """Rows for an argument that is one of a few names."""
    return _rows("choice", entry, argument, call, _as_is, skip, "")


def flag(entry: str, argument: str, call: Call) -> list[Row]:
    """Rows for an argument that is True or False."""
    return _rows("flag", entry, argument, call, _as_is, (), "")


def settings(entry: str, call: Call) -> list[Row]:
    """Rows for ``settings``."""
    return _rows("settings", entry, "settings", call, _as_is, (), "")


def seed(entry: str, argument: str, call: Call) -> list[Row]:
    """Rows for a seed or generator of random numbers."""
    return _rows("seed", entry, argument, call, _as_is, (), "")


def names(entry: str, argument: str, call: Call, skip: Kinds = ()) -> list[Row]:
    """Rows for the names of two columns."""
    return _rows("names", entry, argument, call, _as_is, skip, "")


def problem(entry: str, argument: str, call: Call) -> list[Row]:
    """Rows for an argument that is a RatioProblem."""
    return _rows("problem", entry, argument, call, _as_is, (), "")


def fails(*_: Any) -> Any:
    """A user's function that raises."""
    raise OwnError("my own words")


def function(entry: str, argument: str, call: Call, named: Named = "") -> list[Row]:
    """Rows for a function that should return one number for each row; what it raises comes through unchanged."""
    return [
        Row(entry, argument, "raises", lambda: call(fails), error=OwnError),
        *_rows("function", entry, argument, call, _as_is, (), named),
    ]


def layouts(entry: str, argument: str, call: Call, good: np.ndarray) -> list[Taken]:
    """Rows for the same numbers in other forms."""
    return [
        Taken(entry, argument, kind, call, lambda change=change: change(good), lambda: good)
        for kind, change in LAYOUTS.items()
    ]


def types(entry: str, argument: str, call: Call, good: np.ndarray) -> list[Taken]:
    """Rows for other types of numbers; ``call`` must accept numbers other than those of ``good``."""
    return [
        Taken(
            entry,
            argument,
            kind,
            call,
            lambda change=change: change(good),
            lambda change=change: np.array(change(good), dtype=float),
        )
        for kind, change in TYPES.items()
    ]


def scalars(entry: str, argument: str, call: Call, good: float) -> list[Taken]:
    """Rows for other types of one number, a power of two."""
    return [
        Taken(entry, argument, kind, call, lambda change=change: change(good), lambda: good)
        for kind, change in SCALARS.items()
    ]


def tables(entry: str, argument: str, call: Call, good: np.ndarray) -> list[Taken]:
    """Rows for data frames of the same numbers."""
    import pandas as pd
    import polars as pl

    columns = [f"x{i}" for i in range(good.shape[1])]
    made: dict[str, Callable[[], Any]] = {
        "pandas frame": lambda: pd.DataFrame(good, columns=columns),
        "pandas frame with an index": lambda: pd.DataFrame(good, columns=columns, index=range(7, 7 + len(good))),
        "polars frame": lambda: pl.DataFrame(good, schema=columns),
    }
    return [Taken(entry, argument, kind, call, make, lambda: good) for kind, make in made.items()]
