"""What callers hand in, as validated float64 arrays; every complaint names the argument and the place."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .entropy import Array
from .errors import DataError, PreConvexError

__all__ = [
    "as_block",
    "as_choice",
    "as_count",
    "as_flag",
    "as_matrix",
    "as_names",
    "as_numbers",
    "as_scalar",
    "as_vector",
    "called",
    "check_type",
    "column_names",
    "first_line",
    "frozen",
    "shown",
]


#: the largest count of anything that is taken
MOST = 2**31 - 1


def shown(x: Any) -> str:
    """A refused value in a message, in one line; it may be a whole array."""
    text = " ".join(repr(x).split())
    return text if len(text) <= 60 else f"{text[:60]}…"


def first_line(error: BaseException) -> str:
    """What an error of another package says, or what it is called."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def frozen(x: Array) -> Array:
    """Read-only view of x."""
    view = x.view()
    view.flags.writeable = False
    return view


def column_names(x: Any) -> tuple[str, ...] | None:
    """Column names of a data frame, ``None`` for anything else."""
    if hasattr(x, "collect"):  # a lazy frame, which warns when it is asked
        return None
    columns = getattr(x, "columns", None)
    return None if columns is None else tuple(str(c) for c in columns)


def as_numbers(x: Any, name: str) -> Array:
    """Real float64 array of any shape; memory maps and float64 arrays are not copied."""
    if x is None:
        raise DataError(f"{name}: is None; pass an array of numbers")
    if isinstance(x, str | bytes | bytearray | os.PathLike):
        raise DataError(f"{name}: is text or a path; pass an array of numbers (RatioProblem.from_blocks reads files)")
    if hasattr(x, "collect"):
        raise DataError(f"{name}: {type(x).__name__} is computed only when asked for; pass x.collect()")
    if column_names(x) is not None or hasattr(x, "to_frame"):
        x = _from_frame(x, name)
    if hasattr(x, "toarray") and hasattr(x, "nnz"):
        raise DataError(f"{name}: sparse matrices are not taken; pass x.toarray()")
    if isinstance(x, np.ma.MaskedArray):
        if np.ma.is_masked(x):
            raise DataError(f"{name}: has masked entries; fill them or drop their rows")
        x = x.data
    try:
        values = np.asarray(x)
    except Exception as error:  # what is not an array itself may raise anything when it is made one
        raise DataError(f"{name}: cannot be read as an array of numbers ({first_line(error)})") from error
    if values.dtype.kind == "O":
        values = _from_objects(values, name)
    else:
        check_type(values.dtype, name)
    if values.dtype == float:
        return values
    with np.errstate(over="ignore"):  # a wider type: inf is found and named later
        return np.asarray(values, dtype=float)


def check_type(dtype: Any, name: str) -> None:
    """Raise unless numbers of this type are real."""
    if dtype.kind not in "fiub":
        raise DataError(
            f"{name}: holds {'complex numbers' if dtype.kind == 'c' else f'dtype {dtype}'}; pass real numbers"
        )


def _from_objects(values: Any, name: str) -> Array:
    """Numbers that Python holds one by one, such as fractions and decimals."""
    if values.ndim == 0:
        kind = type(values.item()).__name__
        raise DataError(f"{name}: {kind} is not an array of numbers; pass an array, a list or a data frame")
    for value in values.flat:
        if isinstance(value, str | bytes):
            raise DataError(f"{name}: holds text; pass real numbers")
        if isinstance(value, np.datetime64 | np.timedelta64):  # they turn into a count of some unit
            raise DataError(f"{name}: holds dates or times; pass real numbers")
    try:
        return np.asarray(values, dtype=float)
    except Exception as error:
        raise DataError(
            f"{name}: holds values that are not numbers ({first_line(error)}); pass real numbers"
        ) from error


def _from_frame(x: Any, name: str) -> Any:
    """NumPy array of a pandas, polars or other frame or series, through narwhals."""
    import narwhals as nw

    names = column_names(x) or ()
    if len(set(names)) != len(names):
        twice = next(c for c in names if names.count(c) > 1)
        raise DataError(f"{name}: the column {twice!r} stands there twice")
    try:
        frame = nw.from_native(x, eager_only=True, allow_series=True)
    except TypeError as error:
        if hasattr(x, "__array__"):
            return np.asarray(x)
        raise DataError(f"{name}: {type(x).__name__} is not a table this package can read") from error
    series = [frame] if isinstance(frame, nw.Series) else list(frame.iter_columns())
    for column in series:
        if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
            raise DataError(f"{name}: column {column.name!r} has type {column.dtype}; encode it as numbers")
    if not series:
        return np.zeros((len(frame), 0))
    columns = [np.asarray(column.cast(nw.Float64).to_numpy(), dtype=float) for column in series]
    return columns[0] if isinstance(frame, nw.Series) else np.column_stack(columns)


def _square_sum(x: Array) -> float:
    """Σ x², or inf where that overflows; nan and inf show in it."""
    with np.errstate(over="ignore", invalid="ignore"):
        if not x.flags.forc:  # ravel would copy
            return float(np.square(x).sum())
        flat = x.ravel(order="K")
        return float(flat.dot(flat))


def _finite(x: Array, name: str, columns: Sequence[str] | None = None, start: int = 0, limit: float = np.inf) -> Array:
    """The array itself when all its entries are finite and within a limit; otherwise an error says which is not."""
    # one sweep without a temporary; the exact look follows only if it fails
    squares = _square_sum(x)
    if squares <= limit * limit and squares < np.inf:
        return x
    if not np.isfinite(x).all():
        where = np.argwhere(~np.isfinite(x))
        place = f"row {start + where[0][0]}"
        if x.ndim == 2:
            place += f", column {columns[where[0][1]]!r}" if columns else f", column {where[0][1]}"
        more = _more(len(where))
        if x.ndim == 1:
            raise DataError(f"{name}: entry {where[0][0]} is {x[where[0][0]]}{more}; it must be finite")
        raise DataError(f"{name}: {place} is {x[tuple(where[0])]}{more}; drop those rows or fill them in first")
    largest = x.flat[np.argmax(np.abs(x))]
    if abs(largest) > limit:
        raise DataError(f"{name}: holds {largest:g}, and numbers beyond {limit:g} overflow; rescale it")
    return x


def as_matrix(x: Any, name: str, columns: Sequence[str] | None = None, start: int = 0, limit: float = np.inf) -> Array:
    """(n, d) array of finite numbers; a vector becomes one column, and ``start`` is the number of the first row.

    Examples
    --------
    >>> as_matrix([1, 2], "x_p").shape
    (2, 1)
    >>> as_matrix([[1.0, float("nan")]], "x_p")
    Traceback (most recent call last):
    pre_convex.errors.DataError: x_p: row 0, column 1 is nan; drop those rows or fill them in first
    """
    values = as_numbers(x, name)
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2:
        raise DataError(f"{name}: has {values.ndim} dimensions; pass one row for each sample, shape (n, d)")
    if values.shape[0] == 0 or values.shape[1] == 0:
        raise DataError(f"{name}: is empty, shape {values.shape}; at least one row and one column are needed")
    return _finite(values, name, columns or column_names(x), start, limit)


def as_block(x: Any, name: str = "x") -> Array:
    """A block of rows; one that is an array of floats already costs nothing, and what is not finite shows later."""
    plain = isinstance(x, np.ndarray) and not isinstance(x, np.ma.MaskedArray | np.matrix)
    return x if plain and x.ndim == 2 and x.dtype == float else as_matrix(x, name)


def as_vector(
    x: Any,
    name: str,
    length: int | None = None,
    *,
    log_weights: bool | str = False,
    start: int = 0,
    limit: float = np.inf,
) -> Array:
    """(n,) array of finite numbers; logarithms of weights may be −inf, but not all of them unless ``"any"``."""
    values = as_numbers(x, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise DataError(f"{name}: has shape {values.shape}; pass one number for each row")
    if values.size == 0:
        raise DataError(f"{name}: is empty; at least one number is needed")
    if length is not None and values.size != length:
        raise DataError(f"{name}: has {values.size} entries where {length} are needed, one for each row")
    if not log_weights:
        return _finite(values, name, limit=limit)
    bad = np.flatnonzero(~(values < np.inf))  # +inf and nan; −inf is a row of zero weight
    if bad.size:
        raise DataError(
            f"{name}: row {start + bad[0]} is {values[bad[0]]}{_more(bad.size)}; "
            "a log-likelihood is a finite number, or -inf for a row that cannot occur"
        )
    if log_weights != "any" and not np.any(values > -np.inf):
        raise DataError(f"{name}: every row is -inf, so no row can occur; check the likelihood and its observation")
    return values


def _more(count: int) -> str:
    """How many entries are like the first one, if there are others."""
    return f" ({count} such entries)" if count > 1 else ""


def as_scalar(x: Any, name: str) -> float:
    """One finite real number; neither text nor a truth value is one.

    Examples
    --------
    >>> as_scalar(np.float32(0.5), "radius")
    0.5
    """
    if type(x) is float and -np.inf < x < np.inf:  # the common case, many times in every solve
        return x
    try:
        if np.ndim(x) or isinstance(x, str | bytes | bool | np.bool_ | np.datetime64 | np.timedelta64):
            raise TypeError
        value = float("nan" if x is np.ma.masked else x)
    except Exception:  # as many types of error as there are types that are not numbers
        raise DataError(f"{name}: {shown(x)} is not a number; pass a finite number") from None
    if not np.isfinite(value):
        raise DataError(f"{name}: is {value}; pass a finite number")
    return value


def as_count(x: Any, name: str, least: int = 1) -> int:
    """A whole number of at least ``least``; neither a float nor a truth value is one.

    Examples
    --------
    >>> as_count(np.int64(3), "degree")
    3
    >>> as_count(2.5, "degree")
    Traceback (most recent call last):
    pre_convex.errors.DataError: degree: 2.5 is not a whole number of at least 1
    """
    if not isinstance(x, int | np.integer) or isinstance(x, bool) or x < least:
        raise DataError(f"{name}: {shown(x)} is not a whole number of at least {least}")
    if x > MOST:
        raise DataError(f"{name}: {shown(x)} is more than a computer can count out; at most {MOST} are taken")
    return int(x)


def as_names(x: Any, name: str) -> tuple[str, ...]:
    """Names as texts; none for ``None``. What has no order has no first name."""
    if isinstance(x, str):
        raise DataError(f"{name}: must be a sequence of names, not one text")
    try:
        if isinstance(x, set | frozenset | Mapping):
            raise TypeError
        names = list(() if x is None else x)
    except Exception:
        raise DataError(f"{name}: must be a sequence of names, not {type(x).__name__}") from None
    for i, c in enumerate(names):
        if not isinstance(c, str | int | float | tuple | np.generic):
            raise DataError(f"{name}: entry {i} is {shown(c)}, which is no name; pass texts")
    return tuple(str(c) for c in names)


def as_flag(x: Any, name: str) -> bool:
    """True or False; a text or an array is neither, whatever Python makes of it."""
    if not isinstance(x, bool | np.bool_ | int | np.integer):
        raise DataError(f"{name}: {shown(x)} is neither True nor False")
    return bool(x)


def called(function: Callable[..., Any], name: str, *arguments: Any) -> Any:
    """What a function of the user returns; what it raises comes through as it is, with a note that names it."""
    try:
        return function(*arguments)
    except PreConvexError:
        raise
    except Exception as error:
        error.add_note(f"{name}: this was raised by the function that was passed")
        raise


def as_choice(x: Any, name: str, known: Iterable[str]) -> str:
    """One of the known names.

    Examples
    --------
    >>> as_choice("dual", "formulation", ["primal", "dual"])
    'dual'
    >>> as_choice("mixed", "formulation", ["primal", "dual"])
    Traceback (most recent call last):
    pre_convex.errors.DataError: formulation: 'mixed' is not known; use one of 'primal', 'dual'
    """
    known = tuple(known)
    if not isinstance(x, str) or x not in known:
        raise DataError(f"{name}: {shown(x)} is not known; use one of {', '.join(map(repr, known))}")
    return x
