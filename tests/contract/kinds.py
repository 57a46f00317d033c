"""Kinds of bad input, and the rows that one call gives for all of them.

A maker takes the entry point, the argument, a call that puts a value there, a good value where one is needed, and
``says``: other words for a kind, or ``None`` where a kind is no mistake there. Values are made when a row is run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse

from .rows import OwnError, Row, Taken

Change = Callable[[np.ndarray], Any]
Call = Callable[[Any], Any]
Words = Mapping[str, str | None]


class ArrayLike:
    """What tensors of other packages look like to NumPy: it can be made an array, and may refuse."""

    def __init__(self, values: np.ndarray, refuses: bool = False) -> None:
        self.values, self.refuses = values, refuses

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        """The numbers."""
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
        for place in np.ndindex(bad.shape):  # as they are: a fill makes Python's dates of NumPy's
            bad[place] = value
        return bad

    return change


REFUSED = "; drop those rows or fill them in first"
REAL = "; pass real numbers"
NO_TABLE = " is not an array of numbers; pass an array, a list or a data frame"
#: kind: what is done to good numbers of any shape, and what is said of it after the argument's name
ANY: dict[str, tuple[Change, str]] = {
    "complex": (lambda x: x + 1j, f": holds complex numbers{REAL}"),
    "text": (lambda x: x.astype(str), f": holds dtype <U…{REAL}"),
    "dates": (lambda x: x.astype("datetime64[s]"), f": holds dtype datetime64[s]{REAL}"),
    "lengths of time": (lambda x: x.astype("timedelta64[s]"), f": holds dtype timedelta64[s]{REAL}"),
    "records": (_structured, f": holds dtype [(…)]{REAL}"),
    "objects": (_objects(object()), f": holds values that are not numbers (…){REAL}"),
    "objects of text": (lambda x: x.astype(str).astype(object), f": holds text{REAL}"),
    "objects of dates": (_objects(np.datetime64(0, "s")), f": holds dates or times{REAL}"),
    "whole numbers beyond floats": (_objects(10**400), f": holds values that are not numbers (…){REAL}"),
    "ragged": (lambda x: [[1.0], [1.0, 2.0]], ": cannot be read as an array of numbers (…)"),
    "tensor that refuses": (lambda x: ArrayLike(x, refuses=True), ": cannot be read as an array of numbers (…)"),
    "generator": (lambda x: (row for row in x), f": generator{NO_TABLE}"),
    "dictionary": (lambda x: {"a": 1.0}, f": dict{NO_TABLE}"),
    "set": (lambda x: {1.0, 2.0}, f": set{NO_TABLE}"),
    "name of a file": (lambda x: "x.npy", ": is text or a path; pass an array of numbers (…)"),
    "None": (lambda x: None, ": is None; pass an array of numbers"),
    "masked": (_masked, ": has masked entries; fill them or drop their rows"),
    "sparse": (lambda x: scipy.sparse.csr_array(np.atleast_2d(x)), ": sparse matrices are not taken; pass x.toarray()"),
}
MATRIX: dict[str, tuple[Change, str]] = {
    "NaN": (with_value(np.nan), f": row 1, column … is nan{REFUSED}"),
    "+inf": (with_value(np.inf), f": row 1, column … is inf{REFUSED}"),
    "-inf": (with_value(-np.inf), f": row 1, column … is -inf{REFUSED}"),
    "no rows": (lambda x: x[:0], ": is empty, shape (0, …); at least one row and one column are needed"),
    "no columns": (lambda x: x[:, :0], ": is empty, shape (…, 0); at least one row and one column are needed"),
    "one number": (lambda x: 1.0, ": has 0 dimensions; pass one row for each sample, shape (n, d)"),
    "three dimensions": (lambda x: x[None], ": has 3 dimensions; pass one row for each sample, shape (n, d)"),
    **ANY,
}
_VECTOR: dict[str, tuple[Change, str]] = {
    "empty": (lambda x: x[:0], ": is empty; at least one number is needed"),
    "too short": (lambda x: x[:-1], ": has … entries where … are needed, one for each row"),
    "too long": (lambda x: np.append(x, x[-1]), ": has … entries where … are needed, one for each row"),
    "matrix": (lambda x: np.column_stack([x, x]), ": has shape (…, 2); pass one number for each row"),
    "one number": (lambda x: 1.0, ": has shape (); pass one number for each row"),
    **ANY,
}
VECTOR: dict[str, tuple[Change, str]] = {
    "NaN": (with_value(np.nan), ": entry 1 is nan; it must be finite"),
    "+inf": (with_value(np.inf), ": entry 1 is inf; it must be finite"),
    "-inf": (with_value(-np.inf), ": entry 1 is -inf; it must be finite"),
    **_VECTOR,
}
_LIKELY = "; a log-likelihood is a finite number, or -inf for a row that cannot occur"
LOG_WEIGHTS: dict[str, tuple[Change, str]] = {
    "NaN": (with_value(np.nan), f": row 1 is nan{_LIKELY}"),
    "+inf": (with_value(np.inf), f": row 1 is inf{_LIKELY}"),
    "all -inf": (
        lambda x: np.full(x.shape, -np.inf),
        ": every row is -inf, so no row can occur; check the likelihood and its observation",
    ),
    **_VECTOR,
}
NUMBER: dict[str, tuple[Any, str]] = {
    "NaN": (np.nan, ": is nan; pass a finite number"),
    "+inf": (np.inf, ": is inf; pass a finite number"),
    "-inf": (-np.inf, ": is -inf; pass a finite number"),
    "text": ("0.5", ": '0.5' is not a number; pass a finite number"),
    "None": (None, ": None is not a number; pass a finite number"),
    "complex": (1j, ": 1j is not a number; pass a finite number"),
    "truth value": (True, ": True is not a number; pass a finite number"),
    "list": ([0.5], ": [0.5] is not a number; pass a finite number"),
    "array of two": (np.array([0.5, 0.5]), ": array([0.5, 0.5]) is not a number; pass a finite number"),
    "date": (np.datetime64("2026-01-01"), ": … is not a number; pass a finite number"),
    "beyond floats": (10**400, ": 1000…… is not a number; pass a finite number"),
}
COUNT: dict[str, tuple[Any, str]] = {
    "fraction": (2.5, ": 2.5 is not a whole number of at least …"),
    "whole float": (2.0, ": 2.0 is not a whole number of at least …"),
    "NaN": (np.nan, ": nan is not a whole number of at least …"),
    "negative": (-1, ": -1 is not a whole number of at least …"),
    "zero": (0, ": 0 is not a whole number of at least …"),
    "text": ("2", ": '2' is not a whole number of at least …"),
    "None": (None, ": None is not a whole number of at least …"),
    "truth value": (True, ": True is not a whole number of at least …"),
    "list": ([2], ": [2] is not a whole number of at least …"),
}
CHOICE: dict[str, tuple[Any, str]] = {
    "unknown name": ("nonsense", ": 'nonsense' is not known; use …"),
    "empty text": ("", ": '' is not known; use …"),
    "number": (7, ": 7 is not known; use …"),
    "None": (None, ": None is not known; use …"),
    "list": (["nonsense"], ": ['nonsense'] is not known; use …"),
    "array": (np.zeros(2), ": array([0., 0.]) is not known; use …"),
}
FLAG: dict[str, tuple[Any, str]] = {
    "text": ("no", ": 'no' is neither True nor False"),
    "None": (None, ": None is neither True nor False"),
    "fraction": (0.5, ": 0.5 is neither True nor False"),
    "list": ([], ": [] is neither True nor False"),
    "array": (np.zeros(2), ": array([0., 0.]) is neither True nor False"),
}
_SEEDS = "is no seed; pass a whole number of at least 0, several of them, None, or a numpy.random.Generator"
SEED: dict[str, tuple[Any, str]] = {
    "text": ("0", f": '0' {_SEEDS}"),
    "fraction": (0.5, f": 0.5 {_SEEDS}"),
    "negative": (-1, f": -1 {_SEEDS}"),
    "truth value": (True, f": True {_SEEDS}"),
    "empty": ([], f": [] {_SEEDS}"),
    "NumPy's old interface": (
        np.random.RandomState(0),
        ": RandomState is NumPy's old interface; pass numpy.random.default_rng(seed)",
    ),
}
#: kind: what a function does instead of what it should
FUNCTION: dict[str, tuple[Callable[[Any], Any], str]] = {
    "returns None": (lambda x: None, ": is None; pass an array of numbers"),
    "returns text": (lambda x: ["a"] * len(x), f": holds dtype <U1{REAL}"),
    "returns complex numbers": (lambda x: np.zeros(len(x)) + 1j, f": holds complex numbers{REAL}"),
    "returns one number": (lambda x: 1.0, ": has shape (); pass one number for each row"),
    "returns too few rows": (lambda x: np.zeros(len(x) - 1), ": has … entries where … are needed, one for each row"),
    "returns three dimensions": (lambda x: np.zeros((len(x), 1, 1)), ": has shape (…); pass one number for each row"),
    "returns NaN": (lambda x: np.full(len(x), np.nan), ": row 0 is nan (…"),
}
NAMES: dict[str, tuple[Any, str]] = {
    "one text": ("ab", ": must be a sequence of names, not one text"),
    "number": (3, ": must be a sequence of names, not int"),
    "too few": (["a"], ": 1 names for 2 columns…"),
    "too many": (["a", "b", "c"], ": 3 names for 2 columns…"),
    "a name twice": (["a", "a"], ": 'a' stands there twice"),
    "no order": ({"a", "b"}, ": must be a sequence of names, not set"),
    "a list as a name": ([["a"], "b"], ": entry 0 is ['a'], which is no name; pass texts"),
}
PROBLEM: dict[str, tuple[Any, str]] = {
    "array": (np.zeros((3, 2)), ": must be a RatioProblem, not ndarray"),
    "None": (None, ": must be a RatioProblem, not NoneType"),
    "text": ("problem.npz", ": must be a RatioProblem, not str"),
    "list": ([1.0], ": must be a RatioProblem, not list"),
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
    "tensor": ArrayLike,
}
#: kind: numbers of another type, which are taken for what they are worth as floats
TYPES: dict[str, Change] = {
    "float16": lambda x: x.astype(np.float16),
    "float32": lambda x: x.astype(np.float32),
    "longdouble": lambda x: x.astype(np.longdouble),
    "whole numbers": lambda x: np.round(10 * x).astype(np.int64),
    "truth values": lambda x: x > 0,
    "fractions": lambda x: np.vectorize(lambda v: Fraction(round(100 * v), 100), otypes=[object])(x),
    "decimals": lambda x: np.vectorize(lambda v: Decimal(str(round(v, 2))), otypes=[object])(x),
}
#: kind: one number in another form
SCALARS: dict[str, Callable[[float], Any]] = {
    "float32": np.float32,
    "0-dimensional array": np.array,
    "fraction": Fraction,
    "decimal": Decimal,
}
#: sets of forms in which good input may come, by what they are called
FORMS: dict[str, Mapping[str, Any]] = {
    "other layouts": LAYOUTS,
    "other types": TYPES,
    "other types of one number": SCALARS,
    "frames": dict.fromkeys(("pandas frame", "pandas frame with an index", "polars frame")),
}


def _rows(
    entry: str, argument: str, call: Call, changes: Mapping[str, tuple[Callable[[], Any], str]], says: Words | None
) -> list[Row]:
    says = says or {}
    unknown = set(says) - set(changes)
    assert not unknown, f"{entry}({argument}) has words for {unknown}"
    return [
        Row(entry, argument, kind, lambda make=make: call(make()), says.get(kind, argument + words) or "")
        for kind, (make, words) in changes.items()
        if says.get(kind, "") is not None
    ]


def _changed(kinds: Mapping[str, tuple[Change, str]], good: Any) -> dict[str, tuple[Callable[[], Any], str]]:
    return {kind: (lambda change=change: change(good), words) for kind, (change, words) in kinds.items()}


def _values(kinds: Mapping[str, tuple[Any, str]]) -> dict[str, tuple[Callable[[], Any], str]]:
    return {kind: (lambda value=value: value, words) for kind, (value, words) in kinds.items()}


def matrix(entry: str, argument: str, call: Call, good: np.ndarray, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is a matrix of finite numbers."""
    return _rows(entry, argument, call, _changed(MATRIX, good), says)


def vector(entry: str, argument: str, call: Call, good: np.ndarray, says: Words | None = None) -> list[Row]:
    """Rows for an argument that has one finite number for each row or column."""
    return _rows(entry, argument, call, _changed(VECTOR, good), says)


def log_weights(entry: str, argument: str, call: Call, good: np.ndarray, says: Words | None = None) -> list[Row]:
    """Rows for logarithms of weights, one for each row; some may be −inf."""
    return _rows(entry, argument, call, _changed(LOG_WEIGHTS, good), says)


def number(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is one finite number."""
    return _rows(entry, argument, call, _values(NUMBER), says)


def number_within(entry: str, argument: str, call: Call, bad: Mapping[str, Any], words: str) -> list[Row]:
    """Rows for one number with limits: ``bad`` are numbers beyond them, and ``words`` follow each."""
    limits = {f"{kind} ({value!r})": (value, f": {value!r} {words}") for kind, value in bad.items()}
    return [*number(entry, argument, call), *_rows(entry, argument, call, _values(limits), None)]


def count(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is a whole number."""
    return _rows(entry, argument, call, _values(COUNT), says)


def share(entry: str, argument: str, call: Call) -> list[Row]:
    """Rows for a number strictly between zero and one."""
    return [
        *number(entry, argument, call),
        *(
            Row(entry, argument, kind, lambda v=value: call(v), f"{argument}: … is not between 0 and 1")
            for kind, value in {"zero": 0.0, "one": 1.0, "percent": 95.0, "negative": -0.5}.items()
        ),
    ]


def choice(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is one of some names; the message lists them."""
    return _rows(entry, argument, call, _values(CHOICE), says)


def flag(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is True or False."""
    return _rows(entry, argument, call, _values(FLAG), says)


def seed(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that random numbers are made from."""
    return _rows(entry, argument, call, _values(SEED), says)


def fails(*_: Any) -> Any:
    """A function of the user that raises."""
    raise OwnError("my own words")


def function(entry: str, argument: str, call: Call, says: Words | None = None, named: str = "") -> list[Row]:
    """Rows for a function of samples that returns one number for each; ``named`` is what messages call it.

    What the function raises comes through as it is: the traceback shows the user's own line.
    """
    changes = {kind: (lambda f=f: f, words) for kind, (f, words) in FUNCTION.items()}
    changed = {kind: f"{named}{words}" for kind, (_, words) in changes.items()} if named else {}
    return [
        Row(entry, argument, "raises", lambda: call(fails), "my own words", OwnError),
        *_rows(entry, argument, call, changes, {**changed, **(says or {})}),
    ]


def names(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for the names of two columns."""
    return _rows(entry, argument, call, _values(NAMES), says)


def problem(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for an argument that is a RatioProblem."""
    return _rows(entry, argument, call, _values(PROBLEM), says)


def _frame_kinds() -> dict[str, tuple[Callable[[], Any], str]]:
    """Kind: a frame with the columns a and b, and what is said of it."""
    import pandas as pd
    import polars as pl

    a, b = [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 1.0]
    return {
        "pandas, missing value": (
            lambda: pd.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": b}),
            f": row 1, column 'a' is nan{REFUSED}",
        ),
        "pandas, nullable type": (
            lambda: pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": b}),
            f": row 1, column 'a' is nan{REFUSED}",
        ),
        "pandas, text": (
            lambda: pd.DataFrame({"a": a, "b": list("xyzx")}),
            ": column 'b' has type String; encode it as numbers",
        ),
        "pandas, category": (
            lambda: pd.DataFrame({"a": a, "b": pd.Categorical(list("xyzx"))}),
            ": column 'b' has type Categorical; encode it as numbers",
        ),
        "pandas, dates": (
            lambda: pd.DataFrame({"a": a, "b": pd.date_range("2026", periods=4)}),
            ": column 'b' has type Datetime…; encode it as numbers",
        ),
        "pandas, a name twice": (
            lambda: pd.DataFrame(np.column_stack([a, b]), columns=["a", "a"]),
            ": the column 'a' stands there twice",
        ),
        "polars, missing value": (
            lambda: pl.DataFrame({"a": [1.0, None, 3.0, 4.0], "b": b}),
            f": row 1, column 'a' is nan{REFUSED}",
        ),
        "polars, text": (
            lambda: pl.DataFrame({"a": a, "b": list("xyzx")}),
            ": column 'b' has type String; encode it as numbers",
        ),
        "polars, not collected": (
            lambda: pl.DataFrame({"a": a, "b": b}).lazy(),
            ": LazyFrame is computed only when asked for; pass x.collect()",
        ),
    }


def frames(entry: str, argument: str, call: Call, says: Words | None = None) -> list[Row]:
    """Rows for a data frame with the columns a and b."""
    return _rows(entry, argument, call, _frame_kinds(), says)


#: what an argument may be: the kinds of bad input that follow from it, and what is said after the argument's name
FAMILIES: dict[str, Mapping[str, tuple[Any, str]]] = {
    "matrix": MATRIX,
    "vector": VECTOR,
    "log weights": LOG_WEIGHTS,
    "frame": _frame_kinds(),
    "number": NUMBER,
    "whole number": COUNT,
    "choice": CHOICE,
    "flag": FLAG,
    "function": FUNCTION,
    "names": NAMES,
    "problem": PROBLEM,
    "seed": SEED,
}


def layouts(entry: str, argument: str, call: Call, good: np.ndarray) -> list[Taken]:
    """Rows for the forms in which the same numbers may come."""
    return [
        Taken(entry, argument, kind, call, lambda change=change: change(good), lambda: good)
        for kind, change in LAYOUTS.items()
    ]


def types(entry: str, argument: str, call: Call, good: np.ndarray) -> list[Taken]:
    """Rows for other types of numbers; ``call`` must bear numbers that are not those of ``good``."""
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
    """Rows for other types of one number, which should be a power of two."""
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
